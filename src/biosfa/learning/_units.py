"""Scaling of the input columns to unit variance, so that automatic rates do not depend on their units."""

import numpy as np

from biosfa.kernels.local import add_scatter_of_columns
from biosfa.typing import Arrays, Float64Array, FloatArray

# Columns are scaled by their variance over this number of samples, from the beginning of the stream.
UNITS_SAMPLES = 4096


class Units:
    """One factor per column, which scales it to unit variance. The factors are 0 until a column has varied.

    A quadratic expansion has columns in units of x and of x². Without scaling, their relative weight would depend on
    the units of x.
    """

    def __init__(self, n_features: int, n_streams: int) -> None:
        self.enough = UNITS_SAMPLES * n_streams
        self.scale = np.zeros(n_features)
        self.column_mean = np.zeros(n_features)
        self.column_scatter = np.zeros(n_features)
        self.rows = np.zeros(2)  # number of rows in these sums: now, and when the factors were last computed

    def settled(self) -> bool:
        """Return whether the factors are final."""
        return bool(self.rows[1] >= self.enough)

    def observe(self, raw: FloatArray) -> None:
        """Add samples, or steps of parallel streams, to the sums, unless the factors are final."""
        if not self.settled():
            rows = raw.reshape(-1, len(self.scale))
            self.rows[0] = add_scatter_of_columns(rows, self.rows[0], self.column_mean, self.column_scatter)

    def apply(self, raw: FloatArray) -> FloatArray:
        """Return samples scaled by the factors."""
        return raw * self.scale.astype(raw.dtype, copy=False)

    def undo(self, mean: Float64Array) -> Float64Array:
        """Return the mean of the unscaled input from a mean of scaled samples."""
        return mean / self.scale if self.scale.any() else self.column_mean

    def renew(self, *, center: bool) -> float:
        """Compute the factors from the sums, and return the mean power of the scaled input, centred or not."""
        variance = self.column_scatter / max(1.0, self.rows[0])
        varies = variance > 0.0
        if varies.any():
            self.scale[varies] = 1.0 / np.sqrt(variance[varies])
            self.scale[~varies] = self.scale[varies].min()  # the scale of columns that have not varied yet
            self.rows[1] = self.rows[0]
        offset = 0.0 if center else float(np.square(self.column_mean * self.scale).sum())
        return float(np.count_nonzero(varies)) + offset

    def arrays(self) -> Arrays:
        """Return the arrays of the state (no copies)."""
        return {
            "scale": self.scale,
            "column_mean": self.column_mean,
            "column_scatter": self.column_scatter,
            "column_rows": self.rows,
        }
