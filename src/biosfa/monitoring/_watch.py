"""Watches rows as they come: statistics, verdicts, and what is learned from them."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from biosfa.estimators import Projection, SlowFeatureEstimator
from biosfa.io import Chunk
from biosfa.monitoring._calibration import rows_of
from biosfa.monitoring._columns import Attribution
from biosfa.monitoring._detectors import WILDEST, Detector, Features, tamed
from biosfa.monitoring._normal import Normal
from biosfa.monitoring._reading import Read
from biosfa.monitoring._verdicts import VERDICTS, Persistence, codes
from biosfa.typing import BoolArray, Float64Array, FloatArray, IntArray

# Rows are learned in blocks: the model follows 20 times while it forgets, and each block has at least 50 rows.
BLOCKS_PER_MEMORY, LEAST_BLOCK = 20, 50
# A block is learned if at most this share of its rows is not normal: a fault that has begun is not.
LEARNED_ALARMS = 0.5
# Rows whose features are kept for accept().
RECENT_ROWS = 2000
NONE_HELD = np.empty((1, 0))  # values of no constant columns in a row
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
    """The last rows, for :meth:`SlowFeatureMonitor.accept`."""

    features: Float64Array
    begins: BoolArray  # which begin an episode
    held: FloatArray  # values of constant columns

    @classmethod
    def of(cls, n_features: int, n_constants: int) -> Self:
        """Return memory that is empty."""
        held = np.full((RECENT_ROWS, n_constants), np.nan)
        return cls(np.full((RECENT_ROWS, n_features), np.nan), np.zeros(RECENT_ROWS, np.bool_), held)

    def add(self, n_rows: int, read: Read) -> None:
        """Add rows, of which the first has the number ``n_rows``. The oldest rows are dropped."""
        if self.held.dtype != read.held.dtype:
            self.held = self.held.astype(read.held.dtype)
        Y, begins, held = read.features.now, read.features.begins, read.held
        size = len(self.features)
        if len(Y) == 1:
            place = n_rows % size
            self.features[place], self.begins[place], self.held[place] = Y[0], begins[0], held[0]
            return
        places = (n_rows + np.arange(len(Y)))[-size:] % size
        self.features[places], self.begins[places], self.held[places] = Y[-size:], begins[-size:], held[-size:]

    def between(self, first: int, end: int) -> tuple[Float64Array, BoolArray, FloatArray]:
        """Return the rows from the number ``first`` to ``end``, as far as they are kept."""
        places = np.arange(max(first, end - len(self.features)), end) % len(self.features)
        return self.features[places], self.begins[places], self.held[places]


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
        self.normal = normal  # what is normal at present
        self.limits = limits
        self.constants = constants
        self.n_rows = 0
        self._detector = Detector(Projection.of(model), normal.charts)
        self._attribution = Attribution(self._detector.projection)
        self._n_delays = model.n_delays
        self._memory = forget
        self._block = None if forget is None else max(LEAST_BLOCK, int(forget / BLOCKS_PER_MEMORY))
        n_features = len(normal.moments.mean)
        self._persistence = Persistence.begin(persistence, len(limits))
        self._open = False  # whether the next row follows the last one
        self._recent = Recent.of(n_features, len(constants))
        self._gathered: list[tuple[Features, BoolArray]] = []  # rows of the present block, and which were in alarm

    def accept(self, normal: Normal, constants: dict[int, float]) -> None:
        """Change what is normal. Constant columns have other values, or are no longer watched."""
        still = [i for i, column in enumerate(self.constants) if column in constants]
        self._recent.held = self._recent.held[:, still]
        self.normal, self.constants = normal, constants

    def end_episode(self) -> None:
        """Say that the next row does not follow the last one."""
        self._open = False
        self._detector.end_episode()

    def row(self, x: FloatArray, *, known: bool) -> Status:
        """Take one row; ``known`` says that no value is missing."""
        begins = np.array([not self._open])
        if not known:
            self.end_episode()
            nothing = self._detector.last[None]
            held = np.full((1, len(self.constants)), np.nan)
            read = Read.of(Features(nothing, nothing, begins), held, self.normal, self.constants)
        else:
            self._open = True
            features = Features(self._features_of_row(x), self._detector.last[None], begins)
            held = x[None, list(self.constants)] if self.constants else NONE_HELD
            read = Read.of(features, held, self.normal, self.constants)
            self._detector.last = features.now[0]
        code = self._judged(read)[0]
        return Status(self.n_rows - 1, VERDICTS[code], read.statistics[0])

    def _features_of_row(self, x: FloatArray) -> Float64Array:
        """Return the features of the next row, as ``Projection.features`` does for chunks, but faster."""
        projection = self._detector.projection
        signal, mean, components = projection.signal, projection.mean, projection.components
        if signal.is_identity:
            return _features(components, x - mean)
        rows = np.concatenate([signal.history[1 - self._n_delays :], signal.reduce(x[None])])
        if self._n_delays > 1:
            signal.history = np.concatenate([signal.history[-self._n_delays :], rows[-1:]])[-self._n_delays :]
        if len(rows) < self._n_delays:
            return np.full((1, len(components)), np.nan)
        expanded = signal.expand(rows[-self._n_delays :][::-1].reshape(1, -1))[0]
        return _features(components, expanded - mean)

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
        read = Read.next(self._detector, chunk, self.normal, self.constants)
        causes = self._attribution.causes(self.normal, read, self.limits)
        if not chunk.n_rows:
            return Watched(read.statistics, np.empty(0, NAMES.dtype), causes)
        verdicts = NAMES[self._judged(read)]
        self._open = chunk.kept is None or bool(chunk.kept[-1])
        if not self._open:
            self.end_episode()
        return Watched(read.statistics, verdicts, causes)

    def _judged(self, read: Read) -> IntArray:
        """Return the verdicts of the next rows, and learn from them."""
        out = read.statistics > self.limits
        found = codes(read.statistics, self._persistence.apply(out), len(self.normal.charts.levels))
        self._recent.add(self.n_rows, read)
        self.n_rows += len(out)
        if self._memory is not None and self._block is not None:
            self._gathered.append((read.features, (found != 0) | out.any(axis=1)))
            if self.n_rows % self._block == 0:
                self._learn(self._memory)
        return found

    def _learn(self, memory: float) -> None:
        """Learn from the rows of a block that are normal, unless too many of them are not."""
        Y, previous = (np.concatenate([each[i] for each, _ in self._gathered]) for i in range(2))
        alarmed = np.concatenate([each for _, each in self._gathered])
        self._gathered = []
        known = np.isfinite(Y).all(axis=1)
        usable = known & ~alarmed
        if self.normal.follows and usable.any() and alarmed[known].mean() <= LEARNED_ALARMS:
            self.normal = self.normal.following(Y[usable], previous[usable], memory)

    def recent(self, since: int) -> tuple[Float64Array, BoolArray, FloatArray]:
        """Return what is kept of the last rows, from the row ``since`` on."""
        return self._recent.between(since, self.n_rows)


def _features(components: Float64Array, centred: Float64Array) -> Float64Array:
    """Return the features of one row."""
    with np.errstate(over="ignore", invalid="ignore"):
        Y = np.asarray(components @ centred)
        return Y[None] if Y @ Y <= WILDEST**2 else tamed(Y[None])
