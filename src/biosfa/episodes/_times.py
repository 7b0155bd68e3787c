"""Times of rows, and the steps between them, in their exact type: no digits are lost far from the first time."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from biosfa.exceptions import InputError
from biosfa.floats import to_floats, unmasked
from biosfa.typing import BoolArray, Float64Array
from biosfa.wording import shortened

Times = np.ndarray[Any, Any]  # of type int64, float64, datetime64[ns] or timedelta64[ns]
NANOSECOND = 1e-9
JUMP = 1.5  # a step in time that is longer than this multiple of the usual step is a gap


def read_times(time: np.ndarray[Any, Any]) -> Times:
    """Return a column of times as dates, durations (both in nanoseconds), whole numbers or floats."""
    if time.dtype.kind == "m":
        return time.astype("timedelta64[ns]")
    if time.dtype.kind == "M":
        return time.astype("datetime64[ns]")
    if time.dtype.kind in "iu" and (time <= np.iinfo(np.int64).max).all():
        return time.astype(np.int64)
    try:
        return to_floats(time, lambda row, _: f"the time of row {row}").astype(np.float64)
    except InputError:
        raise
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


def in_numbers(times: Times) -> Times:
    """Return times as numbers or dates: durations are numbers of seconds."""
    return _seconds(times) if times.dtype.kind == "m" else times


def last_time(times: Times) -> int | float:
    """Return the last time as a number for :func:`steps_of`: dates and durations in nanoseconds, which are exact."""
    last = times[-1:].view(np.int64) if times.dtype.kind in "mM" else times[-1:]
    number: int | float = last[0].item()
    return number


def steps_of(times: Times, before: int | float | None = None) -> Float64Array:
    """Return the time from the row before to each row, in seconds for dates and durations; NaN if it is not known.

    ``before`` is what :func:`last_time` returned for the rows before. A float before dates is a number of seconds, as
    in checkpoints of 0.2.
    """
    if before is not None:
        exact = np.array([before], np.int64 if isinstance(before, int) else np.float64)
        past = _nanoseconds(exact).view(times.dtype) if times.dtype.kind in "mM" else exact
        return steps_of(np.concatenate([past, times]))[1:]
    steps = np.full(len(times), np.nan)
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        steps[1:] = _seconds(np.diff(times)) if times.dtype.kind in "mM" else np.diff(times)
    return steps


def steps_within(time: ArrayLike, starts: BoolArray, kept: BoolArray | None = None) -> Float64Array:
    """Return the time from the sample before to each sample, for the times of all rows; NaN where an episode begins.

    Parameters
    ----------
    time : (n_rows,)
        Numbers, dates or durations.
    starts : (n_samples,)
        Which samples begin an episode.
    kept : (n_rows,), optional
        Which rows are samples. By default all.

    Raises
    ------
    ValueError
        If there is not one finite time per row, or if times do not increase within an episode.
    """
    given = unmasked(time)
    n_rows = len(starts) if kept is None else len(kept)
    if given.shape != (n_rows,):
        raise ValueError(f"time must be a list of {n_rows} times, one per row of X; got the shape {given.shape}")
    rows = np.arange(n_rows) if kept is None else np.flatnonzero(kept)
    times = read_times(given)[rows]
    lost = np.flatnonzero(np.isnat(times) if times.dtype.kind in "mM" else ~np.isfinite(times))
    if len(lost):
        value = times[lost[0]]
        what = f"is {value}" if value in (np.inf, -np.inf) else "is missing"
        raise ValueError(f"the time of row {rows[lost[0]]} {what}: give each row a time, or leave the row out")
    steps = steps_of(times)
    wrong = np.flatnonzero(~starts & ~(steps > 0.0))
    if len(wrong):
        row = int(rows[wrong[0]])
        raise ValueError(
            f"time must increase within each episode, but row {row} has {given[row]} after {given[row - 1]}: sort the "
            "rows, or give lengths"
        )
    steps[starts] = np.nan
    return steps


def _seconds(durations: Times) -> Float64Array:
    return np.where(np.isnat(durations), np.nan, durations.astype(np.int64) / 1e9)


def _nanoseconds(time: Times) -> Times:
    """Return seconds as whole numbers of nanoseconds, or those of NaT if they do not fit; whole numbers as they are."""
    if time.dtype.kind == "i":
        return time
    fits = np.abs(time) < 2**63 * NANOSECOND
    return np.where(fits, np.rint(np.where(fits, time, 0.0) / NANOSECOND), np.iinfo(np.int64).min).astype(np.int64)


def _date(value: Any) -> np.datetime64:
    """A word as a date; one that is none is a missing time, and so are words such as now that NumPy knows."""
    try:
        return np.datetime64(value if str(value)[:1].isdecimal() else "NaT", "ns")
    except (ValueError, TypeError, OverflowError):
        return np.datetime64("NaT", "ns")
