"""The units of the input's columns, which automatic rates must not depend on."""

import numpy as np

from biosfa.kernels.local import add_scatter_of_columns
from biosfa.typing import Arrays, Float64Array, FloatArray

# Columns are brought to unit variance by what the first so many samples show, from the first on that varies.
UNITS_SAMPLES = 4096


class Units:
    """A factor for each column, so that all of them vary alike; 0 as long as nothing has varied.

    A quadratic expansion has columns in units of x and of x²: without this, their weight would depend on how x is
    measured.
    """

    def __init__(self, n_features: int, n_streams: int) -> None:
        self.enough = UNITS_SAMPLES * n_streams
        self.scale = np.zeros(n_features)
        self.column_mean = np.zeros(n_features)
        self.column_scatter = np.zeros(n_features)
        self.rows = np.zeros(2)  # that are in these sums, and that were when the factors were last chosen

    def settled(self) -> bool:
        """Whether the factors are chosen for good."""
        return bool(self.rows[1] >= self.enough)

    def observe(self, raw: FloatArray) -> None:
        """Take samples, or steps of parallel streams, into account, as long as they count."""
        if not self.settled():
            rows = raw.reshape(-1, len(self.scale))
            self.rows[0] = add_scatter_of_columns(rows, self.rows[0], self.column_mean, self.column_scatter)

    def apply(self, raw: FloatArray) -> FloatArray:
        """Samples in these units."""
        return raw * self.scale.astype(raw.dtype, copy=False)

    def undo(self, mean: Float64Array) -> Float64Array:
        """A mean of samples in these units, in those of the input."""
        return mean / self.scale if self.scale.any() else self.column_mean

    def renew(self, *, center: bool) -> float:
        """Choose the factors by what was seen; returns the mean power of the input, centred or not, in these units."""
        variance = self.column_scatter / max(1.0, self.rows[0])
        varies = variance > 0.0
        if varies.any():
            self.scale[varies] = 1.0 / np.sqrt(variance[varies])
            self.scale[~varies] = self.scale[varies].min()  # a column that has not varied yet counts as the others do
            self.rows[1] = self.rows[0]
        offset = 0.0 if center else float(np.square(self.column_mean * self.scale).sum())
        return float(np.count_nonzero(varies)) + offset

    def arrays(self) -> Arrays:
        """The state: these very arrays."""
        return {
            "scale": self.scale,
            "column_mean": self.column_mean,
            "column_scatter": self.column_scatter,
            "column_rows": self.rows,
        }
