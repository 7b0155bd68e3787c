"""Chunks of a stream, and positions in it."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from biosfa.episodes import Times
from biosfa.io.tables import Cursor
from biosfa.typing import BoolArray, Float64Array, FloatArray, IntArray


@dataclass(frozen=True)
class Position:
    """A position in a stream, from which reading can resume. It can be saved as JSON data.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.io import open_stream
    >>> stream = open_stream(np.arange(10.0)[:, None], chunk_size=4)
    >>> position = next(stream.chunks()).position
    >>> [chunk.samples[0, 0].item() for chunk in stream.chunks(position)]
    [4.0, 8.0]
    """

    table: int = 0  # number of the file
    cursor: Cursor = ()  # place in the file
    row: int = 0  # number of the row in the file
    time: int | float | None = None  # time of the last row; in nanoseconds, as a whole number, for dates and durations
    step: float | None = None  # median step in time, at the beginning
    max_step: float | None = None  # longest step in time that is not a gap
    label: str | None = None  # episode of the last row
    broken: bool = False  # whether the last row was missing
    n_rows: int = 0  # number of rows read so far, in all files
    n_skipped: int = 0  # number of missing rows among them
    n_broken: int = 0  # number of pairs of consecutive rows that a gap has separated
    n_jumps: int = 0  # number of gaps in time
    longest_jump: float = 0.0  # the longest of them, in seconds if times are dates
    dated: bool = False  # whether times are dates

    def to_json(self) -> dict[str, Any]:
        """Return the position as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Return the position from JSON data.

        Raises
        ------
        ValueError
            If it is not a position in a stream.
        """
        position = cls(**{**content, "cursor": tuple(content["cursor"])})
        table, row, n_jumps = position.table, position.row, position.n_jumps
        counts = (table, row, n_jumps, position.n_rows, position.n_skipped, position.n_broken)
        times = [time for time in (position.time, position.step, position.max_step) if time is not None]
        if not (
            all(type(number) is int and number >= 0 for number in (*counts, *position.cursor))
            and all(type(time) in (int, float) for time in [*times, position.longest_jump])
            and (type(position.time) is not int or abs(position.time) < 2**63)
            and isinstance(position.label, str | None)
            and isinstance(position.broken, bool)
            and isinstance(position.dated, bool)
        ):
            raise ValueError(f"{content!r} is not a position in a stream")
        return position


class Chunk(NamedTuple):
    """Consecutive samples of a stream, without missing rows. You can pass a chunk to ``partial_fit``.

    Attributes
    ----------
    samples : array of shape (n_samples, n_features)
        The samples.
    starts : bool array of shape (n_samples,)
        Which samples begin an episode.
    kept : bool array of shape (n_rows,), or None
        Which rows of the input are samples. The others are missing. None if no row is missing.
    position : Position
        Position in the stream after this chunk.
    times : array of shape (n_rows,), or None
        Times of the rows of the input, as numbers or as datetime64[ns]; durations are in seconds. None if the stream
        has no column of time.
    steps : array of shape (n_rows,), or None
        Time from the row before to each row, in seconds for dates. It has more digits than a difference of two times
        that are far from 0. NaN if it is not known. None if the stream has no column of time.
    weights : array of shape (n_samples,), or None
        Weights of the samples. None if all are 1.
    n_rows : int
        Number of rows of the input, with missing ones.
    rows : int array of shape (n_samples,)
        Numbers of the rows that are samples, counted from 0 in this chunk.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.io import open_stream
    >>> X = np.array([[0.0], [1.0], [np.nan], [3.0]])
    >>> chunk = next(iter(open_stream(X, missing="break")))
    >>> chunk.starts, chunk.kept
    (array([ True, False,  True]), array([ True,  True, False,  True]))
    """

    samples: FloatArray
    starts: BoolArray
    kept: BoolArray | None
    position: Position
    times: Times | None = None
    steps: Float64Array | None = None
    weights: Float64Array | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows of the input, with missing ones."""
        return len(self.samples) if self.kept is None else len(self.kept)

    @property
    def rows(self) -> IntArray:
        """Numbers of the rows that are samples, counted from 0 in this chunk."""
        return np.arange(len(self.samples)) if self.kept is None else np.flatnonzero(self.kept)
