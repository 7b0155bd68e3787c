"""What a monitor reads from rows: features, their statistics, and constant columns that have moved."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np

from biosfa.io import Chunk
from biosfa.monitoring._charts import REST
from biosfa.monitoring._detectors import Detector, Features
from biosfa.monitoring._normal import Normal
from biosfa.typing import Float64Array, FloatArray, IntArray

SAME_VALUE = 1e-9  # relative difference of values that are the same
NO_ROWS = np.empty(0, np.int64)


class Moved(NamedTuple):
    """Where columns that were constant in normal operation have another value."""

    rows: IntArray
    columns: IntArray

    @classmethod
    def among(cls, held: FloatArray, constants: dict[int, float]) -> Self:
        """Return where the values of constant columns are not those of normal operation.

        They may have the precision of these values, or that of float32.
        """
        if not constants:
            return cls(NO_ROWS, NO_ROWS)
        columns, values = np.array(list(constants)), np.array(list(constants.values()))
        distances = [np.abs(held - same.astype(held.dtype)) for same in (values, in_single(values))]
        rows, which = np.nonzero(np.minimum(*distances) > (SAME_VALUE * np.abs(values)).astype(held.dtype))
        return cls(rows, columns[which])


class Read(NamedTuple):
    """Rows, as a monitor sees them."""

    features: Features  # of the model
    held: FloatArray  # (rows, constants): values of columns that were constant in normal operation; NaN where missing
    moved: Moved
    statistics: Float64Array  # (rows, charts)

    @classmethod
    def of(cls, features: Features, held: FloatArray, normal: Normal, constants: dict[int, float]) -> Self:
        """Return rows with their statistics. A constant column that has moved is out of any limit."""
        moved = Moved.among(held, constants)
        statistics = normal.charts.statistics(normal.apply(features.now), normal.apply(features.before))
        if len(moved.rows):
            statistics[moved.rows[:, None], REST] = np.inf
        return cls(features, held, moved, statistics)

    @classmethod
    def next(cls, detector: Detector, chunk: Chunk, normal: Normal, constants: dict[int, float]) -> Self:
        """Return the rows of a chunk that follow those that the detector has seen."""
        held = np.full((chunk.n_rows, len(constants)), np.nan, chunk.samples.dtype)
        held[chunk.rows] = chunk.samples[:, list(constants)]
        return cls.of(detector.features(chunk), held, normal, constants)

    @classmethod
    def joined(cls, parts: Iterable["Read"]) -> Self:
        """Return consecutive parts as one."""
        features, held, moved, statistics = zip(*parts, strict=True)
        ends = np.cumsum([0, *(len(part) for part in statistics)])
        rows = np.concatenate([part.rows + begin for part, begin in zip(moved, ends, strict=False)])
        columns = np.concatenate([part.columns for part in moved])
        whole = Features(*(np.concatenate(each) for each in zip(*features, strict=True)))
        return cls(whole, np.concatenate(held), Moved(rows, columns), np.concatenate(statistics))

    def only(self, rows: IntArray) -> "Read":
        """Return some of the rows."""
        inside = np.isin(self.moved.rows, rows)
        moved = Moved(np.searchsorted(rows, self.moved.rows[inside]), self.moved.columns[inside])
        now, before, begins = self.features
        return Read(Features(now[rows], before[rows], begins[rows]), self.held[rows], moved, self.statistics[rows])


def in_single(values: Float64Array) -> Float64Array:
    """Return values as rows have them that were float32 before they became float64."""
    with np.errstate(over="ignore", under="ignore"):
        return values.astype(np.float32).astype(np.float64)


def constants_of(held: FloatArray, constants: dict[int, float]) -> dict[int, float]:
    """Return constant columns with their values in these rows. Columns that vary are left out."""
    return {
        column: as_decimal(values[0])
        for column, values in zip(constants, held.T, strict=True)
        if np.all(np.abs(values - values[0]) <= SAME_VALUE * np.abs(values[0]))
    }


def as_decimal(value: Any) -> float:
    """Return a NumPy number as the decimal number that it is printed as: 0.1 in any precision is the same number."""
    return float(str(value))
