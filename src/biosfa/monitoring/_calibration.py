"""Calibration: the statistics that rows of normal operation have for a model that has not learned from them."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from biosfa.estimators import ConstantColumns
from biosfa.exceptions import ShortCalibrationWarning
from biosfa.io import Chunk, Stream
from biosfa.monitoring._charts import SLOW_AND_REST
from biosfa.monitoring._detectors import Detector, Method
from biosfa.monitoring._limits import BEYOND, correlation_time
from biosfa.monitoring._reading import as_decimal
from biosfa.typing import Float64Array
from biosfa.validation import check_count, check_positive
from biosfa.wording import counted

Part = TypeVar("Part")

# Training data are cut into blocks, each at least so many correlation times long, and into so many blocks.
BLOCK_TIMES, FEWEST, MOST = 10.0, 5, 20
# With so many correlation times of training data, false alarms are as frequent as asked for. On 200 simulated processes
# a warning below 60 estimated times was given for 2% of those with 100 true times, and for 98% of those with 33.
ENOUGH_TIMES, FEW_TIMES = 100.0, 60.0
FEW_BEYOND = 3  # rows that may be beyond a limit; fewer are too few to extrapolate from
ROWS_PER_COLUMN = 5  # training rows per column and delay
TIMED_ROWS = 200_000  # the correlation time is measured on the first rows


class Survey(NamedTuple):
    """What the data are like."""

    n_rows: int
    constants: dict[int, float]  # columns with only one value
    correlation_time: float  # of the slowest feature, in rows


@dataclass(frozen=True)
class Calibration:
    """What limits were computed from.

    Attributes
    ----------
    n_rows : int
        Number of rows of normal operation.
    n_blocks : int
        Number of blocks. The statistics of each block are those of a model that has learned from the others. 0 if the
        model was given.
    correlation_time : float
        Number of rows after which the correlation of the slowest feature has fallen to 1/e.
    rows_needed : int
        Number of rows that are recommended, at least. With more rows, slower features may be found, which need more.
    false_alarms : array of shape (n_statistics,)
        Share of these rows beyond each limit.
    """

    n_rows: int
    n_blocks: int
    correlation_time: float
    rows_needed: int
    false_alarms: Float64Array

    def to_json(self) -> dict[str, Any]:
        """Return the calibration as JSON data."""
        return {**self.__dict__, "false_alarms": self.false_alarms.tolist()}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "Calibration":
        """Restore the calibration from JSON data.

        Raises
        ------
        ValueError
            If it is not the calibration of a monitor.
        """
        n_blocks, false_alarms = content["n_blocks"], [float(share) for share in content["false_alarms"]]
        check_positive("correlation_time", content["correlation_time"])
        if len(false_alarms) != len(SLOW_AND_REST) or not all(0.0 <= share <= 1.0 for share in false_alarms):
            raise ValueError(f"false_alarms are not {len(SLOW_AND_REST)} shares: {false_alarms}")
        return cls(
            n_rows=check_count("n_rows", content["n_rows"]),
            n_blocks=0 if n_blocks == 0 else check_count("n_blocks", n_blocks),
            correlation_time=float(content["correlation_time"]),
            rows_needed=check_count("rows_needed", content["rows_needed"]),
            false_alarms=np.array(false_alarms),
        )


def survey(stream: Stream, detector: Detector) -> Survey:
    """Read the stream once, and return what it is like; ``detector`` computes the features."""
    n_rows, constants = 0, ConstantColumns()
    kind: type[np.floating[Any]] = np.float64
    features, starts = [], []
    for chunk in stream:
        if len(chunk.samples):
            constants.add(chunk.samples)
            kind = chunk.samples.dtype.type
        if n_rows < TIMED_ROWS:
            seen = detector.features(chunk)
            features.append(seen.now[:, detector.charts.levels[0] > 0.0].astype(np.float32))  # half of the memory
            starts.append(seen.begins)
        n_rows += chunk.n_rows
    if not n_rows:
        raise ValueError("there are no rows of normal operation")
    time = correlation_time(np.concatenate(features), np.concatenate(starts))
    values = {column: as_decimal(kind(value)) for column, value in (constants.values or {}).items()}
    return Survey(n_rows, values, time)


def blocks_for(n_rows: int, correlation_time: float) -> int:
    """Return the number of blocks into which training data are cut."""
    return int(np.clip(n_rows // (BLOCK_TIMES * correlation_time), FEWEST, MOST))


def learn_blocks(method: Method[Part], stream: Stream, size: int) -> list[Part]:
    """Return what is learned from each block of so many rows."""
    parts: list[Part] = []
    for block, chunk in pieces(stream, size):
        if block == len(parts):
            parts.append(method.empty(stream))
        method.learn(parts[block], chunk)
    return parts


def cross_fitted(method: Method[Part], stream: Stream, parts: list[Part], size: int) -> Float64Array:
    """Return the statistics of each row, for a detector that has learned from all blocks but its own."""
    found, at = [], -1
    detector: Detector | None = None
    for block, chunk in pieces(stream, size):
        if detector is None or block != at:
            detector, at = method.detector(parts[:block] + parts[block + 1 :]), block
        found.append(detector.statistics(chunk))
    return np.concatenate(found)


def pieces(stream: Stream, size: int) -> Iterator[tuple[int, Chunk]]:
    """Yield the stream in pieces of one block each, with the number of the block. Every block begins an episode."""
    n_rows = 0
    for chunk in stream:
        begin = 0
        while begin < chunk.n_rows:
            end = min(chunk.n_rows, begin + size - n_rows % size)
            piece = rows_of(chunk, begin, end)
            if n_rows % size == 0:
                piece.starts[:1] = True
            yield n_rows // size, piece
            n_rows += end - begin
            begin = end


def rows_of(chunk: Chunk, begin: int, end: int) -> Chunk:
    """Return some rows of a chunk."""
    first, last = np.searchsorted(chunk.rows, [begin, end])
    kept = None if chunk.kept is None else chunk.kept[begin:end]
    times = None if chunk.times is None else chunk.times[begin:end]
    return Chunk(chunk.samples[first:last], chunk.starts[first:last].copy(), kept, chunk.position, times)


def rows_needed(correlation_time: float, n_features: int, rate: float) -> int:
    """Return the number of rows of normal operation that a monitor needs."""
    needed = max(ENOUGH_TIMES * correlation_time, ROWS_PER_COLUMN * n_features, BEYOND / rate)
    return int(10 ** np.floor(np.log10(needed) - 1) * np.ceil(needed / 10 ** np.floor(np.log10(needed) - 1)))


def warn_if_short(found: Survey, n_features: int, rate: float, *, stacklevel: int) -> None:
    """Warn if there are too few rows for limits that hold, and say how many are needed."""
    n, time = found.n_rows, found.correlation_time
    if n < FEW_TIMES * time:
        reason = f"they are {n / time:.0f} correlation times ({time:.3g} rows) of the slowest feature"
    elif n < ROWS_PER_COLUMN * n_features:
        reason = f"they are fewer than {ROWS_PER_COLUMN} per column and delay"
    elif n * rate < FEW_BEYOND:
        reason = f"at an alarm rate of {rate:g} only {n * rate:.2g} of them are beyond a limit"
    else:
        return
    needed = rows_needed(time, n_features, rate)
    warnings.warn(
        f"{counted(n, 'row')} of normal operation are too few for limits that hold: {reason}. False alarms may be more "
        f"frequent than asked for; use at least about {needed:,} rows",
        ShortCalibrationWarning,
        stacklevel=stacklevel + 1,
    )
