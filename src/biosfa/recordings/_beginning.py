"""The beginning of a recording, and the places of its samples along the axis of time."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from biosfa.exceptions import InputError
from biosfa.io import Chunk, Stream
from biosfa.presentation.progress import Progress
from biosfa.typing import BoolArray, Float64Array, FloatArray

ROWS = 100_000  # samples that are used
FEWEST = 10  # samples that are needed


@dataclass(frozen=True)
class Beginning:
    """The first samples of a stream."""

    samples: FloatArray
    starts: BoolArray  # which samples begin an episode
    places: np.ndarray[Any, Any]  # the time of each sample; or the number of its row, missing rows included
    axis: str  # what the places are
    steps: Float64Array | None = None  # time from the sample before; NaN where an episode begins

    def first(self, n: int) -> Self:
        """Return the first n samples."""
        steps = None if self.steps is None else self.steps[:n]
        return type(self)(self.samples[:n], self.starts[:n], self.places[:n], self.axis, steps)


def beginning_of(stream: Stream) -> Beginning:
    """Return the beginning of a stream.

    Places are numbers of rows if the stream has no column of time, or if its times repeat, as in files that each begin
    at 0.
    """
    chunks: list[Chunk] = []
    n_samples = 0
    with Progress("read", total=None, unit="samples") as progress:
        for chunk in stream:
            chunks.append(chunk)
            n_samples += len(chunk.samples)
            progress.reach(min(1.0, n_samples / ROWS), n_samples)
            if n_samples >= ROWS:
                break
    if n_samples < FEWEST:
        raise InputError(f"the input has fewer than {FEWEST} samples: too few for a picture")
    offsets = np.cumsum([0, *(chunk.n_rows for chunk in chunks)])
    rows = np.concatenate([chunk.rows + offset for chunk, offset in zip(chunks, offsets, strict=False)])[:ROWS]
    times = _of_samples([chunk.times for chunk in chunks], chunks)
    steps = _of_samples([chunk.steps for chunk in chunks], chunks)
    name = stream.reading.time
    if times is None or name is None or not (np.diff(times) > np.zeros_like(np.diff(times))).all():
        times, name = rows, "row"
    samples = np.concatenate([chunk.samples for chunk in chunks])[:ROWS]
    starts = np.concatenate([chunk.starts for chunk in chunks])[:ROWS]
    return Beginning(samples, starts, times, name, None if steps is None else np.where(starts, np.nan, steps))


def _of_samples(columns: list[np.ndarray[Any, Any] | None], chunks: list[Chunk]) -> np.ndarray[Any, Any] | None:
    """Return a column of all rows for the samples only, from its parts in each chunk; None if there is no column."""
    parts = [part[chunk.rows] for part, chunk in zip(columns, chunks, strict=True) if part is not None]
    return np.concatenate(parts)[:ROWS] if parts else None
