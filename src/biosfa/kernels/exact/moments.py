"""Moments of a stream for exact SFA: mean, covariance, and second moment of the difference. They can be merged."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from biosfa.typing import Arrays, BoolArray, Float64Array, FloatArray

BLOCK_BYTES = 2**20


def block_rows(n_features: int) -> int:
    """Samples to take at a time: a block of about a megabyte, which stays in the second-level cache.

    From some hundred features on it is more, so that the product of a block outweighs its addition to the sums.
    """
    return max(BLOCK_BYTES // (8 * max(1, n_features)), n_features // 2)


@dataclass
class Moments:
    """Sums from which exact SFA is solved: over all rows, and over all pairs of rows within an episode."""

    n_features: int
    n_samples: int = 0
    n_pairs: int = 0
    product_dtype: type[np.floating[Any]] = np.float64
    """Precision of the products of a block: float32 is twice as fast, and exact enough for weakly correlated input."""
    mean: Float64Array = field(init=False)
    scatter: Float64Array = field(init=False)
    """Σ(x − mean)(x − mean)ᵀ."""
    difference: Float64Array = field(init=False)
    """Σẋẋᵀ, not centred."""

    def __post_init__(self) -> None:
        self.mean = np.zeros(self.n_features)
        self.scatter = np.zeros((self.n_features, self.n_features))
        self.difference = np.zeros((self.n_features, self.n_features))

    @classmethod
    def of(cls, arrays: Arrays, n_samples: int, n_pairs: int) -> "Moments":
        """Return moments from the arrays that :meth:`arrays` returned."""
        moments = cls.__new__(cls)
        moments.n_features, moments.n_samples, moments.n_pairs = len(arrays["mean"]), n_samples, n_pairs
        moments.product_dtype = np.float64
        moments.mean, moments.scatter, moments.difference = arrays["mean"], arrays["scatter"], arrays["difference"]
        return moments

    def arrays(self) -> Arrays:
        """Return mean, scatter and difference, for :meth:`of`."""
        return {"mean": self.mean, "scatter": self.scatter, "difference": self.difference}

    @property
    def covariance(self) -> Float64Array:
        """Covariance C_xx over all samples."""
        return self.scatter / max(1, self.n_samples)

    @property
    def difference_covariance(self) -> Float64Array:
        """Second moment C_ẋẋ of the difference over all pairs, not centred."""
        return self.difference / max(1, self.n_pairs)

    def add_samples(self, X: FloatArray) -> None:
        """Take the rows of X into mean and scatter."""
        n = len(X)
        if n == 0:
            return
        # relative to a sample: a constant column then has no variance at all, not that of rounding
        origin = X[0].astype(self.product_dtype)
        centred = X - origin
        offset = centred.mean(axis=0, dtype=np.float64)
        centred -= offset.astype(self.product_dtype)
        self._merge_scatter(n, origin + offset, centred.T @ centred)

    def add_differences(self, X_dot: FloatArray) -> None:
        """Take the rows of X_dot into the second moment of the difference."""
        self.n_pairs += len(X_dot)
        products = X_dot.astype(self.product_dtype, copy=False)
        self.difference += products.T @ products

    def merged(self, other: "Moments") -> "Moments":
        """New sums over what both have seen.

        Raises
        ------
        ValueError
            If they overflow.
        """
        both = Moments(self.n_features, self.n_samples, self.n_pairs + other.n_pairs, self.product_dtype)
        both.mean[:], both.scatter[:] = self.mean, self.scatter
        both.difference[:] = self.difference + other.difference
        both._merge_scatter(other.n_samples, other.mean, other.scatter)
        if not (np.isfinite(both.scatter.sum()) and np.isfinite(both.difference.sum())):
            raise ValueError("the (expanded) samples are too large, so that their squares overflow: scale the input")
        return both

    def _merge_scatter(self, n: int, mean: Float64Array, scatter: Float64Array) -> None:
        # Chan, Golub & LeVeque (1979): the pairwise update, which cancels nothing
        total = self.n_samples + n
        if total == 0:
            return
        shift = mean - self.mean
        self.scatter += scatter
        self.scatter += np.outer(shift, shift * (self.n_samples * n / total))
        self.mean += shift * (n / total)
        self.n_samples = total


def accumulate(moments: Moments, X: FloatArray, starts: BoolArray, lag: int, tail: FloatArray) -> FloatArray:
    """Take the rows of X into ``moments`` and return the new tail.

    Parameters
    ----------
    moments : Moments
        Changed in place.
    X : (n, m)
        Consecutive samples.
    starts : (n,)
        Whether a row begins an episode.
    lag : int
        Distance of the two samples of a difference.
    tail : (at most lag, m)
        Last rows of the episode that the first row continues; empty if it begins one.
    """
    block = max(lag, block_rows(X.shape[1]))
    for begin in range(0, len(X), block):
        rows = slice(begin, begin + block)
        moments.add_samples(X[rows])
        if begin == 0:  # later blocks find the rows before them in X itself
            context, first = np.concatenate([tail, X[rows]]), np.concatenate([np.zeros(len(tail), bool), starts[rows]])
        else:
            context, first = X[begin - lag : begin + block], starts[begin - lag : begin + block]
        moments.add_differences(differences(context, first, lag))
    joined = np.concatenate([tail, X[-lag:]]) if len(X) < lag else X[-lag:]
    cuts = np.flatnonzero(starts[-lag:]) + (len(joined) - len(X[-lag:]))
    return joined[max(cuts[-1] if len(cuts) else 0, len(joined) - lag) :].copy()


def differences(X: FloatArray, starts: BoolArray, lag: int) -> Float64Array:
    """x_t − x_{t−lag} for all t whose partner is in X and in the same episode."""
    if not starts[1:].any():
        return np.subtract(X[lag:], X[:-lag], dtype=np.float64)
    index = np.arange(len(X))
    origin = np.maximum.accumulate(np.where(starts, index, 0))
    later = index[index - origin >= lag]
    return np.subtract(X[later], X[later - lag], dtype=np.float64)
