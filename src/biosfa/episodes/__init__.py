"""Episodes, in which consecutive rows are consecutive in time: where they begin, missing rows, and times of rows."""

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
    "episode_lengths",
    "episode_starts",
    "in_numbers",
    "last_time",
    "lengths_of",
    "read_times",
    "rows_with_nan",
    "steps_of",
    "steps_within",
    "without_missing",
]
