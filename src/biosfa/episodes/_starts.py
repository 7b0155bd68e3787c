"""Episodes: parts of a stream in which consecutive rows are consecutive in time."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from biosfa.floats import unmasked
from biosfa.typing import BoolArray, FloatArray, IntArray


def episode_starts(n_rows: int, lengths: ArrayLike | None, *, open_episode: bool) -> BoolArray:
    """Return which rows begin an episode.

    ``lengths`` has the number of rows of each episode. Without it all rows are one episode, which continues the last
    one if ``open_episode``.
    """
    starts = np.zeros(n_rows, dtype=np.bool_)
    if lengths is None:
        starts[:1] = not open_episode
        return starts
    sizes = unmasked(lengths)
    if sizes.ndim != 1 or (len(sizes) and not np.issubdtype(sizes.dtype, np.integer)):
        raise ValueError(f"lengths must be a list of whole numbers, one per episode; got {lengths!r}")
    if len(sizes) == 0 or (sizes < 1).any():
        raise ValueError(f"every episode needs at least one row; got lengths={sizes.tolist()}")
    if sizes.sum() != n_rows:
        raise ValueError(f"lengths add up to {sizes.sum()} rows, but X has {n_rows}")
    starts[np.append(0, np.cumsum(sizes)[:-1])] = True
    return starts


def episode_lengths(starts: BoolArray) -> IntArray:
    """Return the number of rows of each episode; ``starts`` says which rows begin one, and the first must."""
    return np.diff(np.append(np.flatnonzero(starts), len(starts)))


def rows_with_nan(X: FloatArray) -> BoolArray:
    """Return which rows contain a NaN; these rows are missing."""
    return np.asarray(np.isnan(X).any(axis=1))


class Unbroken(NamedTuple):
    """Rows without the missing ones."""

    samples: FloatArray
    starts: BoolArray  # which samples begin an episode
    kept: BoolArray  # which rows are samples
    broken: bool  # whether the last row is missing, so that the next row begins an episode
    n_broken: int  # number of pairs of consecutive rows that a gap has separated


def without_missing(X: FloatArray, starts: BoolArray, missing: BoolArray, *, broken: bool) -> Unbroken:
    """Return X without its missing rows, and end the episode at each. ``broken``: the row before X was missing."""
    kept = ~missing
    begins = (starts | np.append(broken, missing[:-1]))[kept]
    n_broken = int(np.count_nonzero(~starts)) - int(np.count_nonzero(~begins))
    return Unbroken(X[kept], begins, kept, bool(missing[-1]), n_broken)
