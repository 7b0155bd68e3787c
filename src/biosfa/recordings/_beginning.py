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

    def seconds(self) -> Float64Array:
        """Return the places as numbers: dates in seconds since the first sample."""
        if self.places.dtype.kind != "M":
            return self.places.astype(np.float64)
        seconds: Float64Array = (self.places - self.places[0]).astype(np.int64) * 1e-9
        return seconds

    def first(self, n: int) -> Self:
        """Return the first n samples."""
        return type(self)(self.samples[:n], self.starts[:n], self.places[:n], self.axis)


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
    times = None if chunks[0].times is None else np.concatenate([_times(chunk) for chunk in chunks])[:ROWS]
    name = stream.reading.time
    if times is None or name is None or not (np.diff(times) > np.zeros_like(np.diff(times))).all():
        times, name = rows, "row"
    samples = np.concatenate([chunk.samples for chunk in chunks])[:ROWS]
    return Beginning(samples, np.concatenate([chunk.starts for chunk in chunks])[:ROWS], times, name)


def _times(chunk: Chunk) -> np.ndarray[Any, Any]:
    """Return the times of the samples of a chunk."""
    assert chunk.times is not None
    times: np.ndarray[Any, Any] = chunk.times[chunk.rows]
    return times
