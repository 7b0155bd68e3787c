"""The units of the input's columns, which automatic rates must not depend on."""

import numpy as np

from biosfa.estimators._events import next_event
from biosfa.io.model_file import Arrays
from biosfa.kernels.lines import add_scatter_of_columns
from biosfa.typing import Float64Array, FloatArray

# Columns are brought to unit variance by what the first so many samples show.
UNITS_SAMPLES = 4096


def next_look(n_seen: int) -> int:
    """The number of samples at which rates and units are next looked at."""
    return next_event(n_seen, first=2, grid=1024, growth=1 / 16)


class Units:
    """A factor for each column, so that all of them vary alike; 0 as long as nothing has varied.

    A quadratic expansion has columns in units of x and of x²: without this, their weight would depend on how x is
    measured.
    """

    def __init__(self, n_features: int) -> None:
        self.scale = np.zeros(n_features)
        self.column_mean = np.zeros(n_features)
        self.column_scatter = np.zeros(n_features)

    def observe(self, raw: FloatArray, n_seen: int) -> None:
        """Take samples, or steps of parallel streams, into account, as long as they count."""
        if n_seen < UNITS_SAMPLES:
            rows = raw.reshape(-1, len(self.scale))
            n_streams = len(rows) // max(1, len(raw))
            add_scatter_of_columns(rows, n_seen * n_streams, self.column_mean, self.column_scatter)

    def apply(self, raw: FloatArray) -> FloatArray:
        """Samples in these units."""
        return raw * self.scale.astype(raw.dtype)

    def undo(self, mean: Float64Array) -> Float64Array:
        """A mean of samples in these units, in those of the input."""
        return mean / self.scale if self.scale.any() else self.column_mean

    def renew(self, n_rows: int) -> float:
        """Choose the factors by what was seen; returns the mean power of the input in these units."""
        variance = self.column_scatter / n_rows
        varies = variance > 0.0
        if varies.any():
            self.scale[varies] = 1.0 / np.sqrt(variance[varies])
            self.scale[~varies] = self.scale[varies].min()  # a column that has not varied yet counts as the others do
        return float(np.count_nonzero(varies))

    def arrays(self) -> Arrays:
        """The state: these very arrays."""
        return {"scale": self.scale, "column_mean": self.column_mean, "column_scatter": self.column_scatter}
