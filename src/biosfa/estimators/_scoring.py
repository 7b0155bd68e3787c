"""The slowness of features on other samples."""

import numpy as np
from numpy.typing import ArrayLike

from biosfa import metrics
from biosfa.episodes import episode_lengths, episode_starts, rows_with_nan, steps_within, without_missing
from biosfa.kernels.exact import slowness_at
from biosfa.typing import BoolArray, FloatArray

ROUNDING = 64.0  # a feature that varies by less than this, times its size and the precision, counts as constant


def mean_slowness(
    Y: FloatArray,
    lengths: ArrayLike | None,
    *,
    lag: int = 1,
    time: ArrayLike | None = None,
    unit: float = 1.0,
) -> float:
    """Return the mean slowness of features, given the number of rows of each episode of the input.

    ``time`` has the times of rows that are not evenly spaced; the slowness is then in the ``unit`` of time.

    Raises
    ------
    ValueError
        If a feature is constant, or if no two rows are ``lag`` apart.
    """
    starts = episode_starts(len(Y), lengths, open_episode=False)
    rest = without_missing(Y, starts, rows_with_nan(Y), broken=False)
    if not varies(rest.samples).all():
        raise ValueError("the features do not vary on X, so they have no slowness: give more varied samples")
    sizes = episode_lengths(rest.starts)
    if not (sizes > lag).any():
        raise ValueError(f"X has no two samples {lag} apart in one episode: give longer episodes")
    if time is not None:
        return float(np.mean(slowness_at(rest.samples, steps_within(time, rest.starts, rest.kept), unit)))
    return float(np.mean(metrics.slowness(rest.samples, lengths=sizes, lag=lag)))


def varies(Y: FloatArray) -> BoolArray:
    """Return which features vary by more than rounding errors."""
    spread = np.ptp(Y, axis=0) if len(Y) else np.zeros(Y.shape[1])
    rounding = ROUNDING * float(np.finfo(Y.dtype).eps)
    return np.asarray(spread > rounding * np.abs(Y).max(initial=0.0, axis=0))
