"""What a stream gives: consecutive samples, and where in the stream they end."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from biosfa.io.tables import Cursor
from biosfa.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Position:
    """Where in a stream one is, and what must be remembered of the rows before; JSON data."""

    table: int = 0
    cursor: Cursor = ()
    row: int = 0  # in the table
    time: float | None = None  # of the last row
    max_step: float | None = None  # in time
    label: str | None = None  # of the last row's episode
    broken: bool = False  # whether the last row was missing
    n_rows: int = 0  # of all tables so far
    n_skipped: int = 0  # missing ones among them
    n_broken: int = 0  # pairs of consecutive rows that a gap has parted

    def to_json(self) -> dict[str, Any]:
        """As JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Back from JSON data.

        Raises
        ------
        ValueError
            If it is not a place in a stream.
        """
        position = cls(**{**content, "cursor": tuple(content["cursor"])})
        counts = (position.table, position.row, position.n_rows, position.n_skipped, position.n_broken)
        times = [time for time in (position.time, position.max_step) if time is not None]
        if not (
            all(type(number) is int and number >= 0 for number in (*counts, *position.cursor))
            and all(type(time) in (int, float) for time in times)
            and isinstance(position.label, str | None)
            and isinstance(position.broken, bool)
        ):
            raise ValueError(f"{content!r} is not a place in a stream")
        return position


class Chunk(NamedTuple):
    """Consecutive samples, without those that are missing."""

    samples: FloatArray  # (n_samples, n_features)
    starts: BoolArray  # which of these begin an episode
    kept: BoolArray | None  # which rows of the input these are; None if all
    position: Position  # after it

    @property
    def n_rows(self) -> int:
        """Rows of the input, missing ones included."""
        return len(self.samples) if self.kept is None else len(self.kept)

    @property
    def rows(self) -> IntArray:
        """Numbers of the rows that the samples are, among these."""
        return np.arange(len(self.samples)) if self.kept is None else np.flatnonzero(self.kept)
