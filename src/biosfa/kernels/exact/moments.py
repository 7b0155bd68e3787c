"""Moments of samples and of differences for exact SFA: mean, covariance, second moment. They can be merged.

Samples x with weights v, and pairs (x, x′) with weights γ, give

    C_xx = Σ v(x − μ)(x − μ)ᵀ / Σv,    μ = Σ vx / Σv,    C_ẋẋ = Σ γ(x′ − x)(x′ − x)ᵀ / Σγ.

In a time series all weights are 1, and the pairs are consecutive rows.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from biosfa.kernels.exact.eigen import Rounding, SlowDirections, reciprocal, rounding_of_sums, slow_directions
from biosfa.typing import Arrays, Float64Array, FloatArray

BLOCK_BYTES = 2**20


def block_rows(n_features: int) -> int:
    """Samples to take at a time: a block of about a megabyte, which stays in the second-level cache.

    From some hundred features on it is more, so that the product of a block outweighs its addition to the sums.
    """
    return max(BLOCK_BYTES // (8 * max(1, n_features)), n_features // 2)


def row_epsilon(X: FloatArray) -> float:
    """Return the rounding error of samples themselves, relative to them: 0 if they have the precision of the sums."""
    return float(np.finfo(X.dtype).eps) if X.dtype == np.float32 else 0.0


@dataclass
class Moments:
    """Sums from which exact SFA is solved: over all samples, and over all pairs of samples."""

    n_features: int
    n_samples: int = 0
    n_pairs: int = 0
    product_dtype: type[np.floating[Any]] = np.float64
    """Precision of the products of a block: float32 is twice as fast, and exact enough for weakly correlated input."""
    time_unit: float | None = None
    """Unit of time of the differences, if they are derivatives with respect to time, and weights are times."""
    row_epsilon: float = 0.0
    """Rounding error of the samples themselves, relative to them: ε of float32 if any of them were, otherwise 0."""
    weight: float = field(init=False)
    """Σv: the number of samples, unless they have weights."""
    pair_weight: float = field(init=False)
    """Σγ: the number of pairs, unless they have weights."""
    mean: Float64Array = field(init=False)
    scatter: Float64Array = field(init=False)
    """Σv(x − mean)(x − mean)ᵀ."""
    difference: Float64Array = field(init=False)
    """Σγẋẋᵀ, not centred."""

    def __post_init__(self) -> None:
        self.weight, self.pair_weight = float(self.n_samples), float(self.n_pairs)
        self.mean = np.zeros(self.n_features)
        self.scatter = np.zeros((self.n_features, self.n_features))
        self.difference = np.zeros((self.n_features, self.n_features))

    def __reduce__(self) -> Any:
        if self.n_samples or self.n_pairs:
            return super().__reduce__()
        # zeros need not travel
        return type(self), (self.n_features, 0, 0, self.product_dtype, self.time_unit, self.row_epsilon)

    @classmethod
    def of(
        cls,
        arrays: Arrays,
        n_samples: int,
        n_pairs: int,
        *,
        weight: float | None = None,
        pair_weight: float | None = None,
        time_unit: float | None = None,
        row_epsilon: float = 0.0,
    ) -> "Moments":
        """Return moments from the arrays that :meth:`arrays` returned. Without weights, all of them are 1."""
        moments = cls.__new__(cls)
        moments.n_features, moments.n_samples, moments.n_pairs = len(arrays["mean"]), n_samples, n_pairs
        moments.weight = float(n_samples if weight is None else weight)
        moments.pair_weight = float(n_pairs if pair_weight is None else pair_weight)
        moments.product_dtype, moments.time_unit, moments.row_epsilon = np.float64, time_unit, row_epsilon
        moments.mean, moments.scatter, moments.difference = arrays["mean"], arrays["scatter"], arrays["difference"]
        return moments

    def arrays(self) -> Arrays:
        """Return mean, scatter and difference, for :meth:`of`."""
        return {"mean": self.mean, "scatter": self.scatter, "difference": self.difference}

    @property
    def covariance(self) -> Float64Array:
        """Covariance C_xx over all samples."""
        return self.scatter / (self.weight or 1.0)

    @property
    def difference_covariance(self) -> Float64Array:
        """Second moment C_ẋẋ of the difference over all pairs, not centred."""
        covariance = self.difference / (self.pair_weight or 1.0)
        return covariance if self.time_unit is None else covariance * self.time_unit**2

    @property
    def rounding(self) -> Rounding:
        """Rounding errors of the covariance, for :func:`~biosfa.kernels.exact.slow_directions`."""
        mean_in_spreads = np.square(self.mean) * reciprocal(np.diag(self.scatter) / (self.weight or 1.0))
        of_samples = self.row_epsilon**2 * (1.0 + mean_in_spreads)
        return rounding_of_sums(np.ones(self.n_features), self.n_samples)._replace(of_samples=of_samples)

    def slow_directions(self, n_components: int | None = None) -> SlowDirections:
        """Return the slow directions of the samples."""
        return slow_directions(
            self.covariance, self.difference_covariance, n_components=n_components, rounding=self.rounding
        )

    def add_samples(
        self, X: FloatArray, weights: Float64Array | None = None, *, workspace: FloatArray | None = None
    ) -> None:
        """Take the rows of X into mean and scatter, each with its weight (1 by default).

        ``workspace`` is overwritten: memory for as many rows, in the precision of the products.
        """
        n = len(X)
        if n == 0:
            return
        # relative to a sample: a constant column then has no variance at all, not that of rounding
        self.row_epsilon = max(self.row_epsilon, row_epsilon(X))
        origin = X[0].astype(self.product_dtype)
        centred = np.subtract(X, origin, out=None if workspace is None else workspace[:n])
        if weights is None:
            total = float(n)
            offset = centred.mean(axis=0, dtype=np.float64)
            centred -= offset.astype(self.product_dtype)
        else:
            total = float(weights.sum())
            if total == 0.0:
                self.n_samples += n
                return
            offset = weights @ centred / total
            centred -= offset.astype(self.product_dtype)
            centred *= np.sqrt(weights).astype(self.product_dtype)[:, None]
        self.n_samples += n
        self._merge_scatter(total, origin + offset, centred.T @ centred)

    def add_differences(
        self,
        X_dot: FloatArray,
        weights: Float64Array | None = None,
        *,
        n_pairs: int | None = None,
        pair_weight: float | None = None,
    ) -> None:
        """Take the rows of X_dot into the second moment of the difference, each with its weight (1 by default).

        By default a row is the difference of one pair. If rows stand for more pairs or fewer, ``n_pairs`` and
        ``pair_weight`` are the number of pairs and the sum of their weights.
        """
        self.n_pairs += len(X_dot) if n_pairs is None else n_pairs
        products = X_dot.astype(self.product_dtype, copy=False)
        if weights is not None:
            products = products * np.sqrt(weights).astype(self.product_dtype)[:, None]
        if pair_weight is None:
            pair_weight = float(len(X_dot)) if weights is None else float(weights.sum())
        self.pair_weight += pair_weight
        self.difference += products.T @ products

    def merged(self, other: "Moments") -> "Moments":
        """New sums over what both have seen.

        Raises
        ------
        ValueError
            If they overflow.
        """
        both = Moments(self.n_features, product_dtype=self.product_dtype, time_unit=self.time_unit)
        both.row_epsilon = max(self.row_epsilon, other.row_epsilon)
        both.n_samples, both.n_pairs = self.n_samples + other.n_samples, self.n_pairs + other.n_pairs
        both.weight, both.pair_weight = self.weight, self.pair_weight + other.pair_weight
        both.mean[:], both.scatter[:] = self.mean, self.scatter
        both.difference[:] = self.difference + other.difference
        both._merge_scatter(other.weight, other.mean, other.scatter)
        if not (np.isfinite(both.scatter.sum()) and np.isfinite(both.difference.sum())):
            raise ValueError("the (expanded) samples are too large, so that their squares overflow: scale the input")
        return both

    def weighted(self, factor: float) -> "Moments":
        """Return the moments with all weights multiplied by ``factor``."""
        arrays = {"mean": self.mean, "scatter": self.scatter * factor, "difference": self.difference * factor}
        weight, pair_weight = self.weight * factor, self.pair_weight * factor
        return Moments.of(
            arrays,
            self.n_samples,
            self.n_pairs,
            weight=weight,
            pair_weight=pair_weight,
            row_epsilon=self.row_epsilon,
        )

    def _merge_scatter(self, weight: float, mean: Float64Array, scatter: Float64Array) -> None:
        # Chan, Golub & LeVeque (1979): the pairwise update, which cancels nothing
        total = self.weight + weight
        if total == 0.0:
            return
        shift = mean - self.mean
        self.scatter += scatter
        self.scatter += np.outer(shift, shift * (self.weight * weight / total))
        self.mean += shift * (weight / total)
        self.weight = total


def as_correlations(covariance: Float64Array, of_rows: Float64Array, of_columns: Float64Array) -> Float64Array:
    """Return a covariance as correlations, for the variances of its rows and columns; 0 where one does not vary."""
    spread = np.sqrt(np.outer(of_rows, of_columns))
    return np.divide(covariance, spread, out=np.zeros_like(covariance), where=spread > 0.0)
