"""Recorded paths: checked, stretched to fill a room, and resampled."""

import numpy as np
from numpy.typing import ArrayLike

from biosfa.datasets.rat._motion import Trajectory
from biosfa.typing import Float64Array


def resampled(path: ArrayLike, n_frames: int, low: Float64Array, high: Float64Array) -> Trajectory:
    """Return ``n_frames`` positions and headings of a recorded path, evenly spaced in time.

    Parameters
    ----------
    path : array-like of shape (n, 3) or (n, 4)
        Rows of time, x, y and, if it was recorded, the heading.
    n_frames : int
        Number of frames.
    low, high : array of shape (2,)
        The least and the greatest position in the room. x and y are each stretched to reach from one to the other.

    Raises
    ------
    ValueError
        If the path cannot be used.
    """
    rows = _checked(path)
    time, recorded = rows[:, 0] - rows[0, 0], rows[:, 1:3]
    least, extent = recorded.min(axis=0), np.ptp(recorded, axis=0)
    frames = np.linspace(0.0, time[-1], n_frames)
    position = low + (high - low) * ((_interpolated(recorded, time, frames) - least) / extent)
    if rows.shape[1] == 4:
        angle = np.radians(_interpolated(np.unwrap(rows[:, 3:], period=360.0, axis=0), time, frames)[:, 0])
        direction = np.stack([np.cos(angle), np.sin(angle)], axis=1) * (high - low) / extent  # stretched, too
    else:
        direction = _movement(position)
    heading = np.degrees(np.arctan2(direction[:, 1], direction[:, 0])) % 360.0
    return Trajectory(position, heading % 360.0)  # the first remainder is 360.0 for angles just below zero


def _checked(path: ArrayLike) -> Float64Array:
    """Return the rows of a path, or raise the error that says why it cannot be used."""
    rows = np.asarray(path, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] not in (3, 4) or len(rows) < 2:
        raise ValueError(
            "path must be a pair (positions, headings), or at least two rows of time, x, y and, if it was recorded, "
            f"the heading; got an array of shape {rows.shape}"
        )
    broken = ~np.isfinite(rows).all(axis=1)
    if broken.any():
        raise ValueError(f"row {broken.argmax()} of the path has missing or infinite values: leave such rows out")
    time = rows[:, 0]
    late = np.diff(time) <= 0.0
    if late.any():
        i = int(late.argmax()) + 1
        raise ValueError(f"the times of the path must increase, but row {i} has {time[i]} after {time[i - 1]}")
    if not np.ptp(rows[:, 1:3], axis=0).all():
        raise ValueError("the path must extend along x and along y, because it is stretched to fill the room")
    return rows


def _interpolated(columns: Float64Array, time: Float64Array, at: Float64Array) -> Float64Array:
    return np.stack([np.interp(at, time, column) for column in columns.T], axis=1)


def _movement(position: Float64Array) -> Float64Array:
    """Return the last step at each position. A rat that stands still keeps its direction."""
    steps = np.diff(position, axis=0, prepend=position[:1])
    moved = steps.any(axis=1)
    last = np.maximum.accumulate(np.where(moved, np.arange(len(steps)), moved.argmax()))
    return steps[last]
