"""Base class of networks whose outputs learn from the settled activities of an input layer."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import NoReturn

import numpy as np
from numpy.typing import DTypeLike

from biosfa.exceptions import DivergenceError
from biosfa.kernels.local import Mode
from biosfa.learning._events import next_event
from biosfa.learning._input_layer import InputLayer
from biosfa.learning._network import Network, steps_within
from biosfa.learning._rates import Rates, RowRates
from biosfa.typing import Arrays, BoolArray, Float64Array, FloatArray

# Units are renewed at the second sample, then at twice the number of samples each time, until they are final.
FIRST_UNITS, UNITS_GRID = 2, 1024

# Bytes of inputs that pass the layer at a time.
PIECE_BYTES = 2**20


class SettledNetwork(Network):
    """A network with an input layer; see :mod:`biosfa.kernels.input_layer`."""

    def __init__(
        self, k: int, m: int, n_streams: int, mode: Mode, dtype: DTypeLike, rates: Rates, layer: InputLayer
    ) -> None:
        super().__init__(k, m, n_streams, mode, dtype, rates)
        self.layer = layer
        self.skipped = np.zeros(1)  # constant steps before the stream began to vary
        self._due = self._next_look()  # samples at the next look

    @property
    def mean(self) -> Float64Array:
        """Running mean of the input."""
        return self.layer.state.mean

    def covariance(self) -> Float64Array | None:
        """Return the covariance of the input, which lateral synapses learn."""
        return self.layer.covariance() if self.mode.center else None

    @abstractmethod
    def _own_arrays(self) -> Mapping[str, np.ndarray]:
        """Return the arrays of the state without the input layer (no copies)."""

    @abstractmethod
    def _learn_outputs(self, U: FloatArray, X: FloatArray, starts: BoolArray, count: float, rates: RowRates) -> None:
        """Let outputs learn from inputs and settled activities, after ``count`` samples.

        The streams of a step follow one another; rates are those of the rows.
        """

    @abstractmethod
    def _rescale(self, ratio: Float64Array) -> None:
        """Change to inputs that are larger by these ratios, without changing the outputs of the network."""

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the arrays of the state (no copies)."""
        return {**self._own_arrays(), **self.layer.arrays(), "skipped": self.skipped}

    def restore(self, arrays: Arrays, n_samples: int, n_updates: int) -> None:
        """Restore a state; see :meth:`Network.restore`."""
        super().restore(arrays, n_samples, n_updates)
        self._due = self._next_look()

    def _next_look(self) -> int:
        """Return the number of samples, since the stream began to vary, at which the network looks at itself next."""
        return next_event(self._n_learned(), first=FIRST_UNITS, grid=UNITS_GRID, growth=1.0, window=np.inf)

    def _look(self) -> None:
        """Renew the units until they are final."""
        if not self.layer.units.settled():
            ratio = self.layer.renew_units(center=self.mode.center)
            if ratio is not None:
                self._rescale(ratio)

    def advance(self, raw: FloatArray, starts: BoolArray, rates: RowRates) -> None:
        """Learn from samples; see :meth:`Network.advance`."""
        begin = self._skip_silence(raw, starts)
        if begin > 0:  # rates do not count what was skipped
            raw, starts, begin = raw[begin:], starts[begin:], 0
            rates = self.plan(starts)
        while begin < len(raw):
            end = min(len(raw), begin + self._due - self._n_learned())
            fits = begin + self._steps_before_overflow(raw[begin:end])
            self._learn(raw[begin:fits], starts[begin:fits], rates.part(slice(begin, fits)))
            if fits < end:
                self.raise_divergence(raw[fits], self.last_rate())
            begin = end

    def advance_one(self, sample: FloatArray) -> bool:
        """Learn from one sample; see :meth:`Network.advance_one`."""
        if not np.isfinite(sample).all():
            return False
        continues = np.zeros(1, np.bool_)
        try:
            self.advance(sample[None], continues, self.plan(continues))
        except DivergenceError:
            return False
        return True

    def input_has_varied(self) -> bool:
        """Return whether some samples were not skipped."""
        return self._n_learned() > 0

    def _n_learned(self) -> int:
        """Return the number of samples, or steps, since the stream began to vary."""
        return self.n_samples - int(self.skipped[0])

    def n_updates_learned(self) -> int:
        """Return the number of updates since the stream began to vary."""
        return max(0, self.n_updates + 1 - max(1, int(self.skipped[0])))

    def _skip_silence(self, raw: FloatArray, starts: BoolArray) -> int:
        """Count the constant steps at the beginning of the stream, and return their number. They are not learned."""
        if self.input_has_varied() or not len(raw):
            return 0
        rows = raw.reshape(-1, self.n_features)
        if self.n_samples == 0:
            self.mean[:] = rows[0]
        varies = (rows != self.mean).any(axis=1)
        silent = int(np.argmax(varies)) // self.n_streams if varies.any() else len(raw)
        if varies.any() and not self.mode.center:
            self.mean[:] = 0.0  # it was only the constant value
        self.skipped[0] += silent
        self._count(silent, silent - int(np.count_nonzero(starts[:silent])))
        return silent

    def _steps_before_overflow(self, raw: FloatArray) -> int:
        """Return the number of steps before the first sample that could overflow."""
        scale = self.layer.units.scale
        if not scale.any():
            return steps_within(raw, float(np.sqrt(np.finfo(self.dtype).max / self.n_features)) * 1e-3)
        with np.errstate(over="ignore"):
            return steps_within(raw * scale, self._limit())

    def _limit(self) -> float:
        """Return the largest input, in the network's units, whose fourth power does not overflow.

        While units are not final, a huge input makes them small and W large, and W³ is needed.
        """
        return float((np.finfo(self.dtype).max / self.n_features) ** 0.25) * 1e-2

    def _learn(self, raw: FloatArray, starts: BoolArray, rates: RowRates) -> None:
        n_steps, P = len(raw), self.n_streams
        rows = raw.reshape(-1, self.n_features)
        n_seen, window = self._n_learned() * P, self.mode.window * P
        if self.layer.units.scale.any():
            begins, each = np.repeat(starts, P), rates.repeated(P)
            if self.layer.seen() == 0.0:  # the last input is not known
                begins[:P] = True
            size = max(1, PIECE_BYTES // (8 * self.n_features))
            for begin in range(0, len(rows), size):
                piece, count = slice(begin, begin + size), self.layer.seen()
                U, X = self.layer.learn(rows[piece], n_seen + begin, self.mode, window)
                self._learn_outputs(U, X, begins[piece], count, each.part(piece))
        else:
            self.layer.average(rows, n_seen, self.mode, window)
        self.layer.units.observe(raw)
        self._count(n_steps, n_steps - int(np.count_nonzero(starts)))

    def _count(self, n_samples: int, n_updates: int) -> None:
        """Count samples and updates, and look at the network if that is due."""
        self.n_samples += n_samples
        self.n_updates += n_updates
        if self._n_learned() == self._due:
            self._due = self._next_look()
            self._look()

    def raise_divergence(self, sample: FloatArray, eta: float) -> NoReturn:
        """Raise DivergenceError for a sample whose square would overflow, whatever η is."""
        raise DivergenceError(self.n_updates + 1, self.last_rate(), np.inf)
