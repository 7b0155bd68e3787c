"""What a monitor reads from rows: features, their statistics, and constant columns that have moved."""

from collections.abc import Iterable
from typing import NamedTuple, Self

import numpy as np

from biosfa.io import Chunk
from biosfa.monitoring._charts import REST
from biosfa.monitoring._detectors import Detector, Features
from biosfa.monitoring._normal import Normal
from biosfa.typing import Float64Array, FloatArray, IntArray

NO_ROWS = np.empty(0, np.int64)


class Moved(NamedTuple):
    """Where columns that were constant in normal operation have another value."""

    rows: IntArray
    columns: IntArray

    @classmethod
    def among(cls, samples: FloatArray, constants: dict[int, float]) -> Self:
        """Return the samples and columns that differ from the constants."""
        if not constants:
            return cls(NO_ROWS, NO_ROWS)
        columns, values = np.array(list(constants), np.int64), np.array(list(constants.values()))
        sample, which = np.nonzero(np.abs(samples[:, columns] - values) > 1e-9 * np.abs(values))
        return cls(sample, columns[which])


class Read(NamedTuple):
    """Rows, as a monitor sees them."""

    features: Features  # of the model
    moved: Moved
    statistics: Float64Array  # (rows, charts)

    @classmethod
    def of(cls, features: Features, moved: Moved, normal: Normal) -> Self:
        """Return rows with their statistics. A constant column that has moved is out of any limit."""
        statistics = normal.charts.statistics(normal.apply(features.now), normal.apply(features.before))
        if len(moved.rows):
            statistics[moved.rows[:, None], REST] = np.inf
        return cls(features, moved, statistics)

    @classmethod
    def next(cls, detector: Detector, chunk: Chunk, normal: Normal, constants: dict[int, float]) -> Self:
        """Return the rows of a chunk that follow those that the detector has seen."""
        sample, columns = Moved.among(chunk.samples, constants)
        return cls.of(detector.features(chunk), Moved(chunk.rows[sample], columns), normal)

    @classmethod
    def joined(cls, parts: Iterable["Read"]) -> Self:
        """Return consecutive parts as one."""
        features, moved, statistics = zip(*parts, strict=True)
        ends = np.cumsum([0, *(len(part) for part in statistics)])
        rows = np.concatenate([part.rows + begin for part, begin in zip(moved, ends, strict=False)])
        columns = np.concatenate([part.columns for part in moved])
        whole = Features(*(np.concatenate(each) for each in zip(*features, strict=True)))
        return cls(whole, Moved(rows, columns), np.concatenate(statistics))

    def only(self, rows: IntArray) -> "Read":
        """Return some of the rows."""
        inside = np.isin(self.moved.rows, rows)
        moved = Moved(np.searchsorted(rows, self.moved.rows[inside]), self.moved.columns[inside])
        now, before, begins = self.features
        return Read(Features(now[rows], before[rows], begins[rows]), moved, self.statistics[rows])
