"""Episodes, in which consecutive rows are consecutive in time: where they begin, also in labelled arrays; times."""

from biosfa.episodes._frames import unread
from biosfa.episodes._labelled import begins_series, chunk_of, labelled_like, rows_of
from biosfa.episodes._labels import lengths_of
from biosfa.episodes._starts import (
    Unbroken,
    episode_lengths,
    episode_starts,
    rows_with_nan,
    without_missing,
)
from biosfa.episodes._times import JUMP, Times, in_numbers, last_time, read_times, steps_of, steps_within

__all__ = [
    "JUMP",
    "Times",
    "Unbroken",
    "begins_series",
    "chunk_of",
    "episode_lengths",
    "episode_starts",
    "in_numbers",
    "labelled_like",
    "last_time",
    "lengths_of",
    "read_times",
    "rows_of",
    "rows_with_nan",
    "steps_of",
    "steps_within",
    "unread",
    "without_missing",
]
