"""The generalized eigenproblem of slow feature analysis, also for rank-deficient input."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh, qr

from biosfa.typing import Float64Array, FloatArray

LEAST_VARIANCE = 1e-12  # of a principal component, relative to the largest: below, it is rounding
PART = 1e-4  # of a unit vector: what has less does not take part in it


class SlowDirections(NamedTuple):
    """Solution of min tr VᵀC_ẋẋV subject to VᵀC_xxV = I, in order of slowness."""

    directions: Float64Array  # (number found, m), unit variance each
    delta_values: Float64Array  # their slowness
    rank: int  # numerical rank of C_xx
    condition: float = 1.0  # largest over smallest eigenvalue of the correlations that count


def slow_directions(
    C_xx: Float64Array, C_dot: Float64Array, *, n_components: int | None = None, tolerance: float | None = None
) -> SlowDirections:
    """Solve C_ẋẋ v = δ C_xx v on the range of C_xx: the pseudo-inverse of the paper's appendix A.

    Columns are brought to unit variance first, so that units do not decide what counts as rank. Eigenvalues below
    ``tolerance`` (by default rounding, m · ε) times the largest do not count.
    """
    if not (np.isfinite(C_xx).all() and np.isfinite(C_dot).all()):
        raise ValueError("the covariances are not finite: the (expanded) samples are too large, or there are no pairs")
    if tolerance is None:
        tolerance = len(C_xx) * float(np.finfo(np.float64).eps)
    scale = to_unit_variance(C_xx)
    correlations = C_xx * scale
    correlations *= scale[:, None]
    # in place, here and below: with thousands of columns these matrices are what memory is needed for
    variance, U = eigh(correlations.T, driver="evd", overwrite_a=True, check_finite=False)
    rank = int(np.count_nonzero(variance > tolerance * max(float(variance[-1]), 0.0)))  # they are in order
    if rank == 0:
        return SlowDirections(np.empty((0, len(C_xx))), np.empty(0), 0)
    whitening = U[:, len(U) - rank :]
    whitening *= scale[:, None]
    whitening /= np.sqrt(variance[len(U) - rank :])
    n_found = rank if n_components is None else min(rank, n_components)
    whitened = whitening.T @ C_dot @ whitening
    delta_values, V = np.linalg.eigh(whitened) if n_found == rank else eigh(whitened, subset_by_index=[0, n_found - 1])
    condition = float(variance[-1] / variance[len(U) - rank])
    return SlowDirections(fixed_signs((whitening @ V).T), np.maximum(delta_values, 0.0), rank, condition)


def slow_directions_within(W: FloatArray, C_xx: Float64Array, C_dot: Float64Array) -> SlowDirections:
    """Solve the same problem among the features that the rows of W span."""
    W = W.astype(np.float64, copy=False)
    within = slow_directions(W @ C_xx @ W.T, W @ C_dot @ W.T)
    return within._replace(directions=within.directions @ W)


class PrincipalAxes(NamedTuple):
    """Directions of largest variance, the largest first."""

    variance: Float64Array  # (number found,)
    axes: Float64Array  # (m, number found) of unit length

    @property
    def whitening(self) -> Float64Array:
        """(m, number found): brings samples to these axes, with variance 1 along each."""
        return self.axes / np.sqrt(self.variance)


def principal_axes(
    C_xx: Float64Array, n_components: int | None = None, *, tolerance: float = LEAST_VARIANCE
) -> PrincipalAxes:
    """Principal axes of a covariance, all or the first few.

    Axes with less than ``tolerance`` times the largest variance are rounding, and left out.
    """
    m = len(C_xx)
    if n_components is None:
        variance, axes = eigh(C_xx, driver="evd")
    else:
        variance, axes = eigh(C_xx, subset_by_index=[max(0, m - n_components), m - 1])
    found = variance > tolerance * max(float(variance[-1]), 0.0)
    return PrincipalAxes(variance[found][::-1], axes[:, found][:, ::-1])


def principal_directions(C_xx: Float64Array, n_components: int) -> Float64Array:
    """Directions of largest variance, each made to give variance 1; fewer than asked for if the rank is less."""
    return fixed_signs(principal_axes(C_xx, n_components).whitening.T)


def redundant_columns(C_xx: Float64Array, rank: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Columns without which the rest still has the full rank, by pivoting on the correlations."""
    if rank == len(C_xx):
        return np.empty(0, dtype=np.intp)
    scale = to_unit_variance(C_xx)
    _, order = qr(C_xx * np.outer(scale, scale), mode="r", pivoting=True)
    columns: np.ndarray[Any, np.dtype[np.intp]] = np.sort(order[rank:]).astype(np.intp)
    return columns


def dependent_columns(C_xx: Float64Array, rank: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Columns that vary and take part in a linear dependence, from the null space of the correlations."""
    varies = np.flatnonzero(np.diag(C_xx) > 0.0)
    C = C_xx[np.ix_(varies, varies)]
    scale = to_unit_variance(C)
    _, V = eigh(C * np.outer(scale, scale))
    null = V[:, : len(varies) - rank]
    return varies[np.abs(null).max(axis=1) > PART] if null.size else varies[:0]


def to_unit_variance(C_xx: Float64Array) -> Float64Array:
    """Factors that bring each column to unit variance; 0 for those that have none."""
    return reciprocal(np.sqrt(np.diag(C_xx)))


def reciprocal(values: Float64Array) -> Float64Array:
    """1/value, and 0 for 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0.0)


def fixed_signs(directions: Float64Array) -> Float64Array:
    """Directions turned such that the entry of largest magnitude of each is positive."""
    largest = directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)]
    return directions * np.where(largest < 0, -1.0, 1.0)[:, None]
