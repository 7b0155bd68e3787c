"""The generalized eigenproblem of slow feature analysis, also for rank-deficient input."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh, qr

from biosfa.typing import Float64Array, FloatArray
from biosfa.wording import counted

LEAST_VARIANCE = 1e-12  # of a principal component, relative to the largest: below, it is rounding
EPSILON = float(np.finfo(np.float64).eps)
# Rounding errors in units of ε. In 2,300 random inputs with one-hot columns of 2 to 100 values, the variance along the
# null direction was at most 65 ε of that of the columns, and the squared difference at most 8 ε.
OF_SAMPLES, OF_DIFFERENCES = 128.0, 32.0  # of sums over a block: samples repeat numbers more often than differences
OF_SOLVER = 2.0  # of an eigenvalue, relative to the largest
PART = 1e-4  # of a unit vector: what has less does not take part in it


class Rounding(NamedTuple):
    """Rounding errors of the variances in a covariance, relative to them."""

    of_sums: Float64Array  # (m,)
    of_differences: Float64Array  # (m,): of the second moment of the difference
    of_samples: Float64Array  # (m,): samples of float32 are rounded themselves, differently in each row


class SlowDirections(NamedTuple):
    """Solution of min tr VᵀC_ẋẋV subject to VᵀC_xxV = I, in order of slowness."""

    directions: Float64Array  # (number found, m), unit variance each
    delta_values: Float64Array  # their slowness
    rank: int  # numerical rank of C_xx
    condition: float = 1.0  # largest over smallest eigenvalue of the correlations that count


def slow_directions(
    C_xx: Float64Array,
    C_dot: Float64Array,
    *,
    n_components: int | None = None,
    rounding: Rounding | None = None,
    tolerance: float = 0.0,
) -> SlowDirections:
    """Solve C_ẋẋ v = δ C_xx v on the range of C_xx: the pseudo-inverse of the paper's appendix A.

    Columns are brought to unit variance first, so that units do not decide what counts as rank.

    Parameters
    ----------
    C_xx, C_dot : (m, m)
        Covariance, and second moment of the difference.
    n_components : int, optional
        Number of directions to return.
    rounding : Rounding, optional
        By default that of a sum over few samples.
    tolerance : float, default=0
        Directions with less than this share of the largest variance do not count, whatever the rounding.
    """
    if not (np.isfinite(C_xx).all() and np.isfinite(C_dot).all()):
        raise ValueError("the covariances are not finite: the (expanded) samples are too large, or there are no pairs")
    m = len(C_xx)
    scale = to_unit_variance(C_xx)
    correlations = C_xx * scale
    correlations *= scale[:, None]
    # in place, here and below: with thousands of columns these matrices are what memory is needed for
    variance, U = eigh(correlations.T, driver="evd", overwrite_a=True, check_finite=False)
    largest = max(float(variance[-1]), 0.0)
    if rounding is None:
        rounding = rounding_of_sums(np.ones(m), 1.0)
    error = _along(U, rounding.of_sums + rounding.of_samples)
    small = variance <= error + m * EPSILON * largest
    if small.any():
        changing, their_variance = _changing(U[:, small], variance[small], C_dot, scale, rounding)
        U = np.column_stack([changing, U[:, ~small]])
        variance = np.concatenate([their_variance, variance[~small]])
    counts = variance > max(OF_SOLVER * EPSILON, tolerance) * largest
    rank = int(np.count_nonzero(counts))
    if rank == 0:
        return SlowDirections(np.empty((0, m)), np.empty(0), 0)
    variance = variance[counts]
    whitening = U if counts.all() else U[:, counts]
    whitening *= scale[:, None]
    whitening /= np.sqrt(variance)
    n_found = rank if n_components is None else min(rank, n_components)
    whitened = whitening.T @ C_dot @ whitening
    delta_values, V = np.linalg.eigh(whitened) if n_found == rank else eigh(whitened, subset_by_index=[0, n_found - 1])
    condition = float(variance.max() / variance.min())
    return SlowDirections(fixed_signs((whitening @ V).T), np.maximum(delta_values, 0.0), rank, condition)


def rounding_of_sums(times: Float64Array, n_samples: float) -> Rounding:
    """Return the usual rounding errors of sums over samples.

    Blocks of samples are added up one after the other. Their errors are random, and grow with the square root of the
    number of blocks. Within a block, errors are not random where numbers repeat, as in one-hot columns: they are
    rounded in the same direction each time.

    Parameters
    ----------
    times : (m,)
        How many times as large as the variance the sums of squares are, because they are relative to something else
        than the mean.
    n_samples : float
        Number of samples.
    """
    of_blocks = np.sqrt(n_samples) / 4.0
    of_differences = np.full(len(times), (OF_DIFFERENCES + of_blocks) * EPSILON)
    return Rounding(times * ((OF_SAMPLES + of_blocks) * EPSILON), of_differences, np.zeros(len(times)))


def _along(U: Float64Array, errors: Float64Array) -> Float64Array:
    """Return the mean of the errors of all columns along each of some directions, the columns of U."""
    along: Float64Array = np.einsum("i,ij,ij->j", errors, U, U)  # without another matrix
    return along


def _changing(
    U: Float64Array, variance: Float64Array, C_dot: Float64Array, scale: Float64Array, rounding: Rounding
) -> tuple[Float64Array, Float64Array]:
    """Return those of some directions, whose variance may be nothing but rounding, along which samples change.

    Along a null direction samples do not change. The sums over differences have rounding errors of their own, which are
    smaller than those of the covariance where columns are slow, and zero where columns are whole numbers: they decide.
    The directions are turned, such that samples change along some and not along others, and those that are returned are
    uncorrelated. Their variances are returned, too.
    """
    change = C_dot * scale
    change *= scale[:, None]
    changes, turn = eigh(U.T @ change @ U, driver="evd")
    error = _along(U @ turn, rounding.of_differences * np.diag(change) + 2.0 * rounding.of_samples)
    turn = turn[:, changes > error + len(changes) * EPSILON * np.diag(change).max()]
    their_variance, within = eigh(turn.T * variance @ turn, driver="evd")
    return U @ (turn @ within), their_variance


def slow_directions_within(W: FloatArray, C_xx: Float64Array, C_dot: Float64Array) -> SlowDirections:
    """Solve the same problem among the features that the rows of W span."""
    W = W.astype(np.float64, copy=False)
    within = slow_directions(W @ C_xx @ W.T, W @ C_dot @ W.T)
    return within._replace(directions=within.directions @ W)


def why_undetermined(n_pairs: int, rank: int) -> str | None:
    """Return why pairs of samples do not determine slow features, and what to do; None if they do.

    ``rank`` is the number of dimensions in which the (expanded) samples vary. Fewer differences than this vanish along
    some direction whatever the signal is, so that its slowness is 0.
    """
    if n_pairs >= rank:
        return None
    return (
        f"{counted(n_pairs, 'usable pair')} of samples cannot determine slow features: the (expanded) samples vary in "
        f"{counted(rank, 'dimension')}, so some features change in no pair (δ = 0), whatever the signal is. Give at "
        f"least {rank:,} pairs, leave out columns, or reduce them with pca=N (--pca N)"
    )


def check_determined(n_pairs: int, rank: int) -> None:
    """Raise ValueError if pairs of samples do not determine slow features; see :func:`why_undetermined`."""
    why = why_undetermined(n_pairs, rank)
    if why is not None:
        raise ValueError(why)


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
