"""Implied timescales: how the timescales of features depend on the lag, with intervals."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from biosfa.exceptions import ShortRecordingWarning
from biosfa.kernels.exact import LaggedSums, check_determined
from biosfa.metrics import timescales
from biosfa.selection._blocks import FEWEST_BLOCKS, FIRST_ROWS, Blocks, blocks_of
from biosfa.selection._intervals import jackknife
from biosfa.selection._signal import Signal, opened
from biosfa.typing import Float64Array
from biosfa.validation import check_count

# Blocks have at least so many slowest timescales, if there are enough blocks of this length. With blocks of 10, the
# correlation between blocks makes intervals about 5% too short.
BLOCK_TIMES = 20.0
# With fewer slowest timescales of data, the timescale itself is too uncertain to choose blocks by it.
ENOUGH_TIMES = 200.0
# Features whose eigenproblem is solved again without each block. The others hardly change the slowest ones.
SOLVED = 50


@dataclass(frozen=True, eq=False)
class ImpliedTimescales:
    """Timescales of features at several lags.

    Attributes
    ----------
    lags : tuple of int
        The lags.
    timescales : array of shape (n_lags, n_components)
        Timescales −lag/ln λ, where λ is the correlation of a feature with itself one lag later. 0 if λ is not positive.
    lower, upper : array of shape (n_lags, n_components)
        Ends of the intervals.
    correlations : array of shape (n_lags, n_components)
        λ = 1 − δ/2 of each feature.
    confidence : float
        Probability with which an interval contains the true timescale.
    n_rows : int
        Number of rows of the expanded signal.
    n_blocks : int
        Number of blocks from which the intervals were computed.
    n_timescales : float
        Length of the recording, in units of the slowest timescale.
    """

    lags: tuple[int, ...]
    timescales: Float64Array
    lower: Float64Array
    upper: Float64Array
    correlations: Float64Array
    confidence: float
    n_rows: int
    n_blocks: int
    n_timescales: float


def implied_timescales(
    X: Any,
    lags: Sequence[int] | None = None,
    *,
    n_components: int = 5,
    lengths: ArrayLike | None = None,
    n_delays: int = 1,
    pca: int | None = None,
    expansion: Any = None,
    confidence: float = 0.9,
) -> ImpliedTimescales:
    """Return the timescales of slow features at several lags, with intervals.

    A true timescale does not depend on the lag. If timescales grow with the lag, there is noise without memory on top
    of the slow signals, or several timescales in one feature: choose a lag from which they are constant.

    Parameters
    ----------
    X : array, data frame, files or Stream
        Samples in order of time. Rows with missing values end episodes. It is read once, or twice with ``pca``, in
        constant memory.
    lags : sequence of int, optional
        Lags, in rows. By default 1, 2, 5, …, 1000, as far as there are 20 pairs of rows per lag.
    n_components : int, default=5
        Number of features, the slowest first.
    lengths : array-like of int, optional
        Number of rows of each episode in X.
    n_delays, pca, expansion
        As for :class:`~biosfa.SFA`.
    confidence : float, default=0.9
        Probability with which an interval contains the true timescale.

    Returns
    -------
    ImpliedTimescales

    Warns
    -----
    ShortRecordingWarning
        If the recording is shorter than 200 times the slowest timescale. Intervals are then too short.

    Notes
    -----
    Intervals come from a jackknife over blocks of consecutive rows, which also removes most of their bias. A block
    is at least 20 slowest timescales long, if there are 20 such blocks. The intervals are those of artanh λ, whose
    distribution is close to normal.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.signal import lfilter
    >>> from biosfa.selection import implied_timescales
    >>> noise = np.random.default_rng(0).standard_normal((100_000, 2))
    >>> X = np.column_stack([lfilter([1], [1, -np.exp(-1 / T)], e) for T, e in zip([20, 4], noise.T)])
    >>> implied_timescales(X, lags=[1, 5], n_components=1).timescales.round(-1)
    array([[20.],
           [20.]])
    """
    check_count("n_components", n_components)
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}")
    stream = opened(X, lengths)
    signal = Signal(stream, n_delays=n_delays, pca=pca, expansion=expansion)
    wanted = None if lags is None else checked_lags("lags", lags)
    found = timescales_of(blocks_of(signal, wanted), n_components, confidence)
    warn_if_short(found, stacklevel=2)
    return found


def timescales_of(blocks: Blocks, n_components: int, confidence: float) -> ImpliedTimescales:
    """Return implied timescales from the sums of blocks."""
    if len(blocks.sums) < 2:
        raise ValueError(f"{sum(blocks.n_rows)} rows are too few for intervals: give at least {4 * FIRST_ROWS}")
    slowest = blocks.slowest_timescale()
    blocks = blocks.coarsened(BLOCK_TIMES * slowest, FEWEST_BLOCKS)
    n_rows = np.array(blocks.n_rows, dtype=np.float64)
    found = [_at_lag(blocks, number, n_components, n_rows, confidence) for number in range(len(blocks.lags))]
    correlations = np.array([each[0] for each in found])
    times, lower, upper = (_timescale(np.array([each[i] for each in found]), blocks.lags) for i in range(3))
    return ImpliedTimescales(
        blocks.lags,
        times,
        lower,
        upper,
        correlations,
        confidence,
        int(n_rows.sum()),
        len(n_rows),
        float(n_rows.sum() / slowest),
    )


def _at_lag(
    blocks: Blocks, number: int, n_components: int, n_rows: Float64Array, confidence: float
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return the correlations λ of the features at one lag, and the ends of their intervals."""
    total = blocks.total.at([number])
    found = total.slow_directions(0, SOLVED)
    check_determined(int(total.n_pairs[0]), found.rank)
    k = min(n_components, len(found.directions))
    near = [each.at([number]).along(found.directions) for each in blocks.sums]
    whole = total.along(found.directions)
    angle = _angles(whole, k)
    interval = jackknife(angle, np.array([_angles(whole - each, k) for each in near]), n_rows, confidence)
    return np.tanh(angle), np.tanh(interval.lower), np.tanh(interval.upper)


def _angles(sums: LaggedSums, k: int) -> Float64Array:
    """Return artanh λ of the k slowest features; 0 for those that these pairs do not have."""
    found = np.zeros(k)
    if sums.n_pairs[0] > 0:
        delta = sums.slow_directions(0, k).delta_values
        found[: len(delta)] = np.arctanh(np.clip(1.0 - delta / 2.0, -1.0 + 1e-15, 1.0 - 1e-15))
    return found


def _timescale(correlations: Float64Array, lags: tuple[int, ...]) -> Float64Array:
    """Return the timescales of correlations λ at each lag; 0 where λ is not positive."""
    rows = [timescales(2.0 * (1.0 - each), lag) for each, lag in zip(correlations, lags, strict=True)]
    return np.nan_to_num(np.array(rows), nan=0.0, posinf=np.inf)


def warn_if_short(found: ImpliedTimescales, *, stacklevel: int) -> None:
    """Warn if the recording is too short for its intervals."""
    if found.n_timescales < ENOUGH_TIMES:
        needed = ENOUGH_TIMES * found.n_rows / found.n_timescales
        warnings.warn(
            f"{found.n_rows:,} rows are only {found.n_timescales:.0f} times the slowest timescale. Intervals are too "
            f"short then; about {needed:,.0f} rows would do",
            ShortRecordingWarning,
            stacklevel=stacklevel + 1,
        )


def checked_lags(name: str, lags: Sequence[int]) -> tuple[int, ...]:
    """Return lags in increasing order, after checking them."""
    if np.ndim(lags) != 1 or not len(lags):
        raise ValueError(f"{name} must be a list of at least one lag; got {lags!r}")
    return tuple(sorted({check_count(f"each of {name}", lag) for lag in lags}))
