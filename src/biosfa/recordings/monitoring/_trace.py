"""Statistics over time for a picture, in constant memory."""

from typing import Any

import numpy as np

from biosfa.io import Chunk
from biosfa.monitoring import Watched
from biosfa.typing import Float64Array

POINTS = 2000  # at least so many points are drawn, if there are as many rows
BY_SEVERITY = ("no data", "normal", "moved", "abnormal")
SEVERITY = {verdict: i for i, verdict in enumerate(BY_SEVERITY)}


class Trace:
    """The largest statistics, and the worst verdict, of runs of rows. Runs become longer as rows come."""

    def __init__(self, limits: Float64Array) -> None:
        self._limits = np.maximum(limits, np.finfo(float).tiny)
        self._size = 1  # rows per point
        self._left = 0  # rows that the last point still takes
        self._n_rows = 0
        self._ratios: list[Float64Array] = []
        self._severity: list[int] = []
        self._rows: list[int] = []  # number of the first row of each point
        self._times: list[Any] = []  # its time, if the input has times; it may be missing

    @property
    def ratios(self) -> Float64Array:
        """Statistics of each point, as multiples of their limits."""
        return np.array(self._ratios)

    @property
    def severity(self) -> Float64Array:
        """The worst verdict of each point, as its number in ``BY_SEVERITY``."""
        return np.array(self._severity)

    @property
    def timed(self) -> bool:
        """Whether places are times."""
        return any(time == time for time in self._times)  # a missing time is not itself

    @property
    def places(self) -> np.ndarray[Any, Any]:
        """Time of the first row of each point, or its number. Missing times are interpolated."""
        rows = np.array(self._rows)
        if not self.timed:
            return rows
        times = np.array(self._times)
        missing = times != times
        if missing.any():
            known = times[~missing].astype(np.float64)
            times[missing] = np.interp(rows[missing], rows[~missing], known).astype(times.dtype)
        return times

    def add(self, chunk: Chunk, watched: Watched) -> None:
        """Take the next rows."""
        ratios = watched.statistics / self._limits
        severity = [SEVERITY[str(verdict)] for verdict in watched.verdicts]
        begin = 0
        while begin < len(ratios):
            if self._left == 0:
                self._begin_point(self._n_rows + begin, ratios.shape[1])
                if chunk.times is not None:
                    self._times.append(chunk.times[begin])
            end = min(len(ratios), begin + self._left)
            self._ratios[-1] = np.fmax(self._ratios[-1], np.fmax.reduce(ratios[begin:end]))
            self._severity[-1] = max(self._severity[-1], *severity[begin:end])
            self._left -= end - begin
            begin = end
        self._n_rows += len(ratios)

    def _begin_point(self, row: int, n_statistics: int) -> None:
        if len(self._ratios) == 2 * POINTS:  # join every two points
            self._ratios = [np.fmax(*pair) for pair in zip(self._ratios[::2], self._ratios[1::2], strict=True)]
            self._severity = [max(pair) for pair in zip(self._severity[::2], self._severity[1::2], strict=True)]
            self._rows, self._times = self._rows[::2], self._times[::2]
            self._size *= 2
        self._ratios.append(np.full(n_statistics, np.nan))
        self._severity.append(0)
        self._rows.append(row)
        self._left = self._size
