"""Episodes: stretches of a stream within which consecutive rows are consecutive in time."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from biosfa.typing import BoolArray, FloatArray, IntArray


def episode_starts(n_rows: int, lengths: ArrayLike | None, *, open_episode: bool) -> BoolArray:
    """Which rows begin an episode: those that ``lengths`` says, or the first unless it continues an open one."""
    starts = np.zeros(n_rows, dtype=np.bool_)
    if lengths is None:
        starts[:1] = not open_episode
        return starts
    sizes = np.asarray(lengths)
    if sizes.ndim != 1 or (len(sizes) and not np.issubdtype(sizes.dtype, np.integer)):
        raise ValueError(f"lengths must be a list of whole numbers, one an episode; got {lengths!r}")
    if len(sizes) == 0 or (sizes < 1).any():
        raise ValueError(f"every episode needs at least one row; got lengths={sizes.tolist()}")
    if sizes.sum() != n_rows:
        raise ValueError(f"lengths add up to {sizes.sum()} rows, but X has {n_rows}")
    starts[np.append(0, np.cumsum(sizes)[:-1])] = True
    return starts


def episode_lengths(starts: BoolArray) -> IntArray:
    """Rows of each episode, from which rows begin one; the first does."""
    return np.diff(np.append(np.flatnonzero(starts), len(starts)))


def rows_with_nan(X: FloatArray) -> BoolArray:
    """Which rows are missing: those with a NaN."""
    return np.asarray(np.isnan(X).any(axis=1))


class Unbroken(NamedTuple):
    """Rows without those that are missing."""

    samples: FloatArray
    starts: BoolArray
    kept: BoolArray  # which rows these are
    broken: bool  # whether the row that follows begins an episode, because the last one is missing
    n_broken: int  # pairs of consecutive rows that are none any more


def without_missing(X: FloatArray, starts: BoolArray, missing: BoolArray, *, broken: bool) -> Unbroken:
    """Leave rows out and end the episode at each; ``broken`` says that the row before these was left out."""
    kept = ~missing
    begins = (starts | np.append(broken, missing[:-1]))[kept]
    n_broken = int(np.count_nonzero(~starts)) - int(np.count_nonzero(~begins))
    return Unbroken(X[kept], begins, kept, bool(missing[-1]), n_broken)
