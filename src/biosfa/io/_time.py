"""The column of time: numbers, dates and durations as seconds, and words for gaps."""

import warnings
from typing import Any

import numpy as np

from biosfa.exceptions import InputError
from biosfa.typing import Float64Array
from biosfa.wording import duration, shortened

Times = np.ndarray[Any, Any]  # of type float64, or datetime64[ns]


def to_seconds(times: Times) -> Float64Array:
    """Return the times of :func:`read_times` as numbers: dates in seconds since 1970."""
    if times.dtype.kind != "M":
        return times
    seconds = times.astype(np.int64).astype(np.float64) * 1e-9
    return np.where(np.isnat(times), np.nan, seconds)


def read_times(time: np.ndarray[Any, Any]) -> Times:
    """Return a column of times as dates, of type datetime64[ns], or as numbers; durations are numbers of seconds."""
    if time.dtype.kind == "m":  # durations
        return np.where(np.isnat(time), np.nan, time.astype("timedelta64[ns]").astype(np.int64) * 1e-9)
    if time.dtype.kind == "M":
        return time.astype("datetime64[ns]")
    try:
        return time.astype(np.float64)
    except (ValueError, TypeError):
        pass
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # NumPy reads time zones, and warns that it does not keep them
        dates = np.array([_date(value) for value in time], dtype="datetime64[ns]")
    if np.isnat(dates).all():
        first = shortened(repr(time[0]))
        raise InputError(
            f"the column of time has {first}, which is neither a number nor a date such as 2026-11-16 12:30:00"
        )
    return dates


def _date(value: Any) -> np.datetime64:
    """A word as a date; one that is none is a missing time, and so are words such as now that NumPy knows."""
    try:
        return np.datetime64(value if str(value)[:1].isdecimal() else "NaT", "ns")
    except (ValueError, TypeError, OverflowError):
        return np.datetime64("NaT", "ns")


def describe_jump(step: float, max_step: float | None, *, dates: bool) -> str:
    """Return a message for a step in time that is a gap."""
    written = duration if dates else "{:.4g}".format
    if np.isnan(step):
        return "the time is missing"
    if step <= 0.0:
        return f"time goes back by {written(-step)}" if step < 0.0 else "the time is the same as in the row before"
    usual = "" if max_step is None else f", where steps up to {written(max_step)} are usual (max_step, --max-step)"
    return f"time jumps by {written(step)}{usual}"


class JumpError(InputError):
    """There is a gap in time before a row of a block."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row
