"""Samples at uneven times: checks of the times, and the unit of time."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from biosfa.io import Chunk, Stream, read_times
from biosfa.typing import Float64Array

if TYPE_CHECKING:
    from biosfa.estimators._base import SlowFeatureEstimator


def check_uneven(
    estimator: "SlowFeatureEstimator", X: Any, time: ArrayLike | bool | None, sample_weight: ArrayLike | None
) -> None:
    """Raise ValueError if an estimator cannot learn from this input with times."""
    for name in ("lag", "n_delays"):
        if getattr(estimator, name) != 1:
            raise ValueError(
                f"time needs {name}=1, because samples that are {name} rows apart are not always equally far apart in "
                f"time; got {name}={getattr(estimator, name)}"
            )
    if sample_weight is not None:
        raise ValueError("time and sample_weight cannot be used together: times give the samples their weights")
    if not isinstance(X, Stream):
        if time is True:
            raise ValueError("time=True takes the times of a stream, but X is an array: give the times of its rows")
        return
    if time is not True:
        raise ValueError("X is a stream, which has its own times: open it with time=COLUMN, and use time=True")
    if X.reading.time is None or X.reading.max_step is None:
        raise ValueError(
            "time=True needs a stream that was opened with time, the column of time, and with max_step, the longest "
            "step that is not a gap (numpy.inf: no step is a gap)"
        )


def with_times(chunk: Chunk, time: ArrayLike | bool) -> Chunk:
    """Return a chunk of an array with the times of its rows, and with their median step in its position.

    Raises
    ------
    ValueError
        If there is not one time per row, or if times do not increase within an episode.
    """
    given = np.asarray(time)
    if given.shape != (chunk.n_rows,):
        raise ValueError(f"time must be a list of {chunk.n_rows} times, one per row of X; got the shape {given.shape}")
    times = _elapsed(read_times(given))
    rows = chunk.rows
    steps = np.diff(times[rows], prepend=np.nan)
    within = ~chunk.starts
    wrong = np.flatnonzero(within & ~(steps > 0.0))
    lost = np.flatnonzero(np.isnan(times[rows]))
    if len(lost) or len(wrong):
        row = int(rows[lost[0] if len(lost) else wrong[0]])
        what = f"row {row} has no time" if len(lost) else f"row {row} has {given[row]} after {given[row - 1]}"
        raise ValueError(f"time must increase within each episode, but {what}: sort the rows, or give lengths")
    step = float(np.median(steps[within])) if within.any() else None
    return chunk._replace(times=times, position=replace(chunk.position, step=step))


def _elapsed(times: np.ndarray[Any, Any]) -> Float64Array:
    """Return times as numbers: dates in seconds since the first, so that no digits are lost."""
    if times.dtype.kind != "M":
        return times.astype(np.float64)
    seconds = (times - times[0]).astype(np.int64) * 1e-9
    return np.where(np.isnat(times), np.nan, seconds)
