"""Whitening of a stream with a covariance that is learned from it: all of C_xx, or its diagonal and a few directions.

Both forms first scale each column to unit variance, u = x · scale, and then whiten the correlations, z = Bu. They
whiten samples and add them to sums (:meth:`take`). From time to time they compute B from these sums (:meth:`refresh`).
Weights of the old z are then converted to weights of the new z, so that the outputs of the network do not change.
"""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import DTypeLike
from scipy.linalg import cholesky, solve_triangular

from biosfa.kernels.exact import reciprocal, to_unit_variance
from biosfa.kernels.natural import LARGEST_BLOCK, add_product, add_scatter, add_squares, whiten_full, whiten_low_rank
from biosfa.learning._events import next_event
from biosfa.typing import Arrays, Float64Array, FloatArray

# Largest number of columns for which all of C_xx is learned by default. Beyond it, a cost of m² per sample is too much.
FULL_COLUMNS = 512
DEFAULT_RANK = 32


class Whitening(ABC):
    """Base class: an estimate of C_xx^−½, and the sums from which it is computed."""

    interval: float  # samples between refreshes, as a share of those seen

    def __init__(self, n_features: int, dtype: DTypeLike, window: float) -> None:
        self.n_features = n_features
        self.window = window  # samples that count
        self.scale = np.zeros(n_features)
        self.total = np.zeros(1)  # weight of the samples in the sums
        self.dtype = np.dtype(dtype)

    def next_refresh(self, n_seen: int) -> int:
        """Return the number of samples at which the next refresh is due."""
        return next_event(n_seen, first=2, grid=LARGEST_BLOCK, growth=self.interval, window=self.window)

    def take(self, X: FloatArray, Z: FloatArray) -> None:
        """Write the whitened samples to Z, and add the samples to the sums. X is used as scratch space."""
        keep = 1.0 - 1.0 / self.window
        left = keep ** len(X)
        self.total *= left
        self.total += len(X) if keep == 1.0 else (1.0 - left) * self.window  # Σ keepⁱ
        self._take(X, Z, keep)

    @property
    def rounding(self) -> float:
        """Variance of a direction, relative to that of a column, below which it counts as a rounding error."""
        return 100 * self.n_features * max(float(np.finfo(self.dtype).eps) ** 2, float(np.finfo(np.float64).eps))

    @abstractmethod
    def _take(self, X: FloatArray, Z: FloatArray, keep: float) -> None:
        """Do the work of :meth:`take`; each sample multiplies the sums by ``keep`` before it is added."""

    @abstractmethod
    def apply(self, X: FloatArray) -> FloatArray:
        """Return whitened samples."""

    def covariance(self) -> Float64Array | None:
        """Return C_xx, if all of it is learned."""
        return None

    @abstractmethod
    def weights_of_input(self, W: FloatArray) -> Float64Array:
        """Return weights of x that give the same outputs as weights W of z."""

    @abstractmethod
    def refresh(self) -> None:
        """Compute the estimate from the sums."""

    @abstractmethod
    def weights_of_white(self, W: Float64Array) -> FloatArray:
        """Return weights of z that give the same outputs as weights W of x, 0 along directions without variance."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """Return the arrays of the state (no copies); they can be written to."""


class FullWhitening(Whitening):
    """All of C_xx, at a cost of O(m²) per sample, the same as the moments of exact SFA."""

    interval = 0.125

    def __init__(self, n_features: int, dtype: DTypeLike, window: float) -> None:
        super().__init__(n_features, dtype, window)
        self.scatter = np.zeros((n_features, n_features))
        self.factor = np.eye(n_features)  # lower triangular: correlations = factor factorᵀ
        self.whitener = np.eye(n_features, dtype=dtype)  # its inverse

    def _take(self, X: FloatArray, Z: FloatArray, keep: float) -> None:
        add_scatter(X, keep, self.scatter)
        whiten_full(X, self.scale, self.whitener, Z)

    def apply(self, X: FloatArray) -> FloatArray:
        Z = np.empty_like(X)
        whiten_full(X.copy(), self.scale, self.whitener, Z)
        return Z

    def covariance(self) -> Float64Array:
        return self.scatter / max(1.0, float(self.total[0]))

    def weights_of_input(self, W: FloatArray) -> Float64Array:
        return (W.astype(np.float64) @ self.whitener) * self.scale

    def refresh(self) -> None:
        covariance = self.covariance()
        self.scale[:] = to_unit_variance(covariance)
        correlation = covariance * np.outer(self.scale, self.scale)
        # Few samples give no information about small eigenvalues: shrink towards the diagonal, less with more samples.
        m, n = self.n_features, float(self.total[0])
        shrinkage = max(min(1.0, (m / n) ** 3), self.rounding)
        shrunk = (1.0 - shrinkage) * correlation
        shrunk[np.diag_indices(m)] += shrinkage
        np.fill_diagonal(shrunk, np.where(self.scale > 0.0, np.diag(shrunk), 1.0))
        self.factor[:] = cholesky(shrunk, lower=True)
        self.whitener[:] = solve_triangular(self.factor, np.eye(m), lower=True)

    def weights_of_white(self, W: Float64Array) -> FloatArray:
        n = float(self.total[0])
        if n < 2 * self.n_features:  # too few samples to know in which directions x does not vary
            weights = (W * reciprocal(self.scale)) @ self.factor
        else:  # times the covariance of z, which is 0 in directions in which x does not vary, and 1 in all others
            weights = (((W * (self.scale > 0.0)) @ self.scatter) * self.scale / n) @ self.whitener.T
        return weights.astype(self.dtype)

    def arrays(self) -> Arrays:
        return {
            "scale": self.scale,
            "total": self.total,
            "scatter": self.scatter,
            "factor": self.factor,
            "whitener": self.whitener,
        }


class LowRankWhitening(Whitening):
    """The diagonal of C_xx and ``rank`` directions of largest variance, at a cost of O(m · rank) per sample.

    The directions come from a power iteration: at a refresh, the old directions are multiplied with the covariance of
    the samples since the last refresh (Nyström's approximation), which gives the new directions.
    """

    interval = 0.5

    def __init__(self, n_features: int, dtype: DTypeLike, window: float, rank: int, rng: np.random.RandomState) -> None:
        super().__init__(n_features, dtype, window)
        self.squares = np.zeros(n_features)
        start, _ = np.linalg.qr(rng.standard_normal((n_features, rank)))
        self.basis = np.ascontiguousarray(start.T, dtype=dtype)  # (rank, m) orthonormal rows
        self.product = np.zeros((rank, n_features))  # Σ basis u uᵀ since the last refresh
        self.since = np.zeros(1)  # samples in it
        self.gain = np.zeros(rank)  # z = base · (u + basisᵀ (gain · basis u))
        self.base = np.ones(1)

    def _take(self, X: FloatArray, Z: FloatArray, keep: float) -> None:
        add_squares(X, keep, self.squares)
        p = whiten_low_rank(X, self.scale, self.basis, self.gain, float(self.base[0]), Z)
        add_product(p, X, self.product)
        self.since += len(X)

    def apply(self, X: FloatArray) -> FloatArray:
        Z = np.empty_like(X)
        whiten_low_rank(X.copy(), self.scale, self.basis, self.gain, float(self.base[0]), Z)
        return Z

    def weights_of_input(self, W: FloatArray) -> Float64Array:
        return self._symmetric(W.astype(np.float64), self.gain, float(self.base[0])) * self.scale

    def weights_of_white(self, W: Float64Array) -> FloatArray:
        scaled = W * reciprocal(self.scale)
        return self._symmetric(scaled, 1.0 / (1.0 + self.gain) - 1.0, 1.0 / float(self.base[0])).astype(self.dtype)

    def _symmetric(self, W: Float64Array, gain: Float64Array, base: float) -> Float64Array:
        """Return W (I + basisᵀ diag(gain) basis) times base."""
        basis = self.basis.astype(np.float64)
        return base * (W + ((W @ basis.T) * gain) @ basis)

    def refresh(self) -> None:
        before = self.scale.copy()
        variance = self.squares / max(1.0, float(self.total[0]))
        self.scale[:] = reciprocal(np.sqrt(variance))
        # with few samples per direction, or without a scale, the product gives no information
        if float(self.since[0]) >= 4 * len(self.basis) and before.any():
            product = self.product * (self.scale * reciprocal(before)) / float(self.since[0])
            inner = product @ self.basis.T.astype(np.float64)
            variances, mixing = np.linalg.eigh(0.5 * (inner + inner.T))
            kept = variances > self.rounding * max(float(variances[-1]), 0.0)
            sketch = (mixing[:, kept] / np.sqrt(variances[kept])).T @ product
            _, singular, basis = np.linalg.svd(sketch, full_matrices=False)
            self.basis[:] = self._completed(basis)
            spectrum = np.zeros(len(self.basis))
            spectrum[: len(basis)] = singular**2
            active = int(np.count_nonzero(self.scale))
            rest = max((active - spectrum.sum()) / max(1, active - len(basis)), 1.0 / max(1, active))
            stronger = spectrum > rest
            self.gain[:] = np.where(stronger, np.sqrt(rest / np.where(stronger, spectrum, 1.0)) - 1.0, 0.0)
            self.base[0] = 1.0 / np.sqrt(rest)
        self.product[:] = 0.0
        self.since[0] = 0.0

    def _completed(self, basis: Float64Array) -> Float64Array:
        """Return the basis, completed with random directions: the input may vary along them later."""
        missing = len(self.basis) - len(basis)
        rng = np.random.RandomState(int(self.total[0]) % 2**32)
        rows = np.concatenate([basis, rng.standard_normal((missing, self.n_features))])
        Q, R = np.linalg.qr(rows.T)
        return (Q * np.sign(np.diag(R))).T

    def arrays(self) -> Arrays:
        return {
            "scale": self.scale,
            "total": self.total,
            "squares": self.squares,
            "basis": self.basis,
            "product": self.product,
            "since": self.since,
            "gain": self.gain,
            "base": self.base,
        }


def build_whitening(
    n_features: int, dtype: DTypeLike, window: float, rank: str | int, rng: np.random.RandomState
) -> Whitening:
    """Return the whitening for a ``whitening_rank`` of :class:`OnlineSFA`."""
    kept = _directions(n_features, rank)
    if kept is None:
        return FullWhitening(n_features, dtype, window)
    return LowRankWhitening(n_features, dtype, window, kept, rng)


def whitening_size(n_features: int, rank: str | int) -> int:
    """Return how many numbers the matrices of the whitening for a ``whitening_rank`` have."""
    kept = _directions(n_features, rank)
    return 3 * n_features**2 if kept is None else 2 * kept * n_features


def _directions(n_features: int, rank: str | int) -> int | None:
    """Return the number of directions of the low-rank form; None for all of C_xx."""
    if rank == "full" or (rank == "auto" and n_features <= FULL_COLUMNS):
        return None
    return min(DEFAULT_RANK if isinstance(rank, str) else rank, n_features)
