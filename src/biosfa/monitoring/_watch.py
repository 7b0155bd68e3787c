"""Watches rows as they come: statistics, verdicts, and what is learned from them."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from biosfa.estimators import Projection, SlowFeatureEstimator
from biosfa.io import Chunk
from biosfa.monitoring._calibration import rows_of
from biosfa.monitoring._charts import REST, previous_rows
from biosfa.monitoring._columns import Attribution, causes
from biosfa.monitoring._normal import Normal
from biosfa.monitoring._verdicts import VERDICTS, Persistence, codes
from biosfa.typing import BoolArray, Float64Array, FloatArray, IntArray

# Rows are learned in blocks: the model follows 20 times while it forgets, and each block has at least 50 rows.
BLOCKS_PER_MEMORY, LEAST_BLOCK = 20, 50
# A block is learned if at most this share of its rows is not normal: a fault that has begun is not.
LEARNED_ALARMS = 0.5
# Rows whose features are kept for accept().
RECENT_ROWS = 2000
ROW = np.zeros(1, np.int64)  # the only row
NAMES = np.array(VERDICTS)


class Status(NamedTuple):
    """What :meth:`SlowFeatureMonitor.update` says about a row.

    Attributes
    ----------
    row : int
        Number of the row, counted from 0.
    verdict : {"normal", "moved", "abnormal", "no data"}
        The verdict.
    statistics : array of shape (4,)
        The four statistics; NaN where there is none.

    Examples
    --------
    >>> from biosfa.datasets import stirred_tank
    >>> from biosfa.monitoring import SlowFeatureMonitor
    >>> monitor = SlowFeatureMonitor().fit(stirred_tank(10_000, random_state=0).samples)
    >>> status = monitor.update(stirred_tank(1, random_state=1).samples[0])
    >>> status.row, status.verdict
    (0, 'normal')
    """

    row: int
    verdict: str
    statistics: Float64Array


class Watched(NamedTuple):
    """What :meth:`SlowFeatureMonitor.watch_chunk` says about the rows of a chunk.

    Attributes
    ----------
    statistics : array of shape (n_rows, 4)
        The four statistics.
    verdicts : array of str of shape (n_rows,)
        The verdicts.
    causes : array of shape (n_rows, n_features)
        Share of each column in what is beyond its limit.
    """

    statistics: Float64Array
    verdicts: np.ndarray[Any, Any]
    causes: Float64Array


@dataclass
class Recent:
    """Features of the last rows, and which of them begin an episode, for :meth:`SlowFeatureMonitor.accept`."""

    features: Float64Array
    begins: BoolArray

    def add(self, n_rows: int, Y: Float64Array, begins: BoolArray) -> None:
        """Add rows, of which the first has the number ``n_rows``. The oldest rows are dropped."""
        size = len(self.features)
        if len(Y) == 1:
            self.features[n_rows % size], self.begins[n_rows % size] = Y[0], begins[0]
            return
        places = (n_rows + np.arange(len(Y)))[-size:] % size
        self.features[places], self.begins[places] = Y[-size:], begins[-size:]

    def between(self, first: int, end: int) -> tuple[Float64Array, BoolArray]:
        """Return the rows from the number ``first`` to ``end``, as far as they are kept."""
        places = np.arange(max(first, end - len(self.features)), end) % len(self.features)
        return self.features[places], self.begins[places]


class Watch:
    """Follows a stream of rows in constant memory. Rows may come one by one or in chunks: the results are the same."""

    def __init__(
        self,
        model: SlowFeatureEstimator,
        normal: Normal,
        limits: Float64Array,
        persistence: tuple[int, int],
        constants: dict[int, float],
        forget: float | None,
    ) -> None:
        self.normal = normal
        self.limits = limits
        self.constants = constants
        self.n_rows = 0
        self._projection = Projection.of(model)
        self._attribution = Attribution(self._projection)
        self._n_delays = model.n_delays
        self._memory = forget
        self._block = None if forget is None else max(LEAST_BLOCK, int(forget / BLOCKS_PER_MEMORY))
        n_features = len(normal.moments.mean)
        self._persistence = Persistence.begin(persistence, len(limits))
        self._open = False  # whether the next row follows the last one
        self._last = np.full(n_features, np.nan)  # features of the last row
        self._recent = Recent(np.full((RECENT_ROWS, n_features), np.nan), np.zeros(RECENT_ROWS, np.bool_))
        self._gathered: list[tuple[Float64Array, Float64Array, BoolArray]] = []  # rows of the present block

    @property
    def normal(self) -> Normal:
        """What is normal at present."""
        return self._normal

    @normal.setter
    def normal(self, normal: Normal) -> None:
        self._normal, self._charts = normal, normal.charts

    def end_episode(self) -> None:
        """Say that the next row does not follow the last one."""
        self._open = False
        self._projection.signal.forget()
        self._last = np.full_like(self._last, np.nan)

    def row(self, x: FloatArray) -> Status:
        """Take one row."""
        begins = np.array([not self._open])
        if np.isnan(x.sum()):
            self.end_episode()
            Y = self._last[None]
            statistics = np.full((1, len(self.limits)), np.nan)
        else:
            self._open = True
            Y = self._features_of_row(x)
            statistics = self._statistics(Y, self._last[None], x[None], ROW)
        code = self._judged(Y, self._last[None], begins, statistics)[0]
        return Status(self.n_rows - 1, VERDICTS[code], statistics[0])

    def _features_of_row(self, x: FloatArray) -> Float64Array:
        """Return the features of the next row, as ``Projection.features`` does for chunks, but faster."""
        signal, mean, components = self._projection.signal, self._projection.mean, self._projection.components
        if signal.is_identity:
            return np.asarray(components @ (x - mean))[None]
        rows = np.concatenate([signal.history[1 - self._n_delays :], signal.reduce(x[None])])
        if self._n_delays > 1:
            signal.history = np.concatenate([signal.history[-self._n_delays :], rows[-1:]])[-self._n_delays :]
        if len(rows) < self._n_delays:
            return np.full((1, len(components)), np.nan)
        expanded = signal.expand(rows[-self._n_delays :][::-1].reshape(1, -1))[0]
        return np.asarray(components @ (expanded - mean))[None]

    def chunk(self, chunk: Chunk) -> Watched:
        """Take the next rows of a stream."""
        found, begin = [self._rows(rows_of(chunk, 0, 0))], 0
        while begin < chunk.n_rows:
            # up to the end of the block, because the model changes there
            left = chunk.n_rows if self._block is None else self._block - self.n_rows % self._block
            end = min(chunk.n_rows, begin + left)
            found.append(self._rows(rows_of(chunk, begin, end)))
            begin = end
        return Watched(*(np.concatenate(each) for each in zip(*found, strict=True)))

    def _rows(self, chunk: Chunk) -> Watched:
        Y = self._projection.features(chunk).astype(np.float64, copy=False)
        begins = np.zeros(len(Y), np.bool_)
        begins[chunk.rows[chunk.starts]] = True
        previous = previous_rows(Y, begins, self._last)
        statistics = self._statistics(Y, previous, chunk.samples, chunk.rows)
        shares = self._causes(Y, previous, statistics, chunk)
        if not len(Y):
            return Watched(statistics, np.empty(0, NAMES.dtype), shares)
        self._open = chunk.kept is None or bool(chunk.kept[-1])
        return Watched(statistics, NAMES[self._judged(Y, previous, begins, statistics)], shares)

    def _causes(self, Y: Float64Array, previous: Float64Array, statistics: Float64Array, chunk: Chunk) -> Float64Array:
        """Return the share of each column in what is out of its limit."""
        found = np.zeros((len(Y), chunk.samples.shape[1]))
        out = np.flatnonzero(np.any(statistics > self.limits, axis=1))
        sample, column = moved_constants(chunk.samples, self.constants)
        inside = np.isin(chunk.rows[sample], out)
        moved = np.searchsorted(out, chunk.rows[sample][inside]), column[inside]
        shares = self._attribution.shares(self._normal, Y[out], previous[out], moved)
        found[out] = causes(shares, statistics[out], self.limits)
        return found

    def _statistics(self, Y: Float64Array, previous: Float64Array, samples: FloatArray, rows: IntArray) -> Float64Array:
        """Return the statistics of features; ``rows`` says in which rows the samples are."""
        statistics = self._charts.statistics(self._normal.apply(Y), self._normal.apply(previous))
        if self.constants:
            sample, _ = moved_constants(samples, self.constants)
            statistics[rows[sample][:, None], REST] = np.inf
        return statistics

    def _judged(self, Y: Float64Array, previous: Float64Array, begins: BoolArray, statistics: Float64Array) -> IntArray:
        """Return the verdicts of the next rows, and learn from them."""
        out = statistics > self.limits
        found = codes(statistics, self._persistence.apply(out), len(self._charts.levels))
        self._recent.add(self.n_rows, Y, begins)
        self._last = Y[-1]
        self.n_rows += len(Y)
        if self._memory is not None and self._block is not None:
            self._gathered.append((Y, previous, (found != 0) | out.any(axis=1)))
            if self.n_rows % self._block == 0:
                self._learn(self._memory)
        return found

    def _learn(self, memory: float) -> None:
        """Learn from the rows of a block that are normal, unless too many of them are not."""
        Y, previous, alarmed = (np.concatenate(each) for each in zip(*self._gathered, strict=True))
        self._gathered = []
        known = np.isfinite(Y).all(axis=1)
        usable = known & ~alarmed
        if self._normal.follows and usable.any() and alarmed[known].mean() <= LEARNED_ALARMS:
            self.normal = self._normal.following(Y[usable], previous[usable], memory)

    def recent(self, since: int) -> tuple[Float64Array, BoolArray]:
        """Return features of the last rows from ``since`` on, and which begin an episode."""
        return self._recent.between(since, self.n_rows)


def moved_constants(samples: FloatArray, constants: dict[int, float]) -> tuple[IntArray, IntArray]:
    """Return samples and columns where a column that was constant in normal operation has another value."""
    columns, values = np.array(list(constants), np.int64), np.array(list(constants.values()))
    sample, which = np.nonzero(np.abs(samples[:, columns] - values) > 1e-9 * np.abs(values))
    return sample, columns[which]
