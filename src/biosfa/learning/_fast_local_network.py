"""The local and fast network while it learns: it centres and scales the samples, and calls the kernel."""

from collections.abc import Mapping
from typing import NoReturn

import numpy as np
from numpy.typing import DTypeLike

from biosfa.exceptions import DivergenceError
from biosfa.kernels import fast_local
from biosfa.kernels.exact import reciprocal
from biosfa.kernels.local import Mode, centre
from biosfa.kernels.precision import precision_for
from biosfa.learning._events import next_event
from biosfa.learning._network import Network, steps_within
from biosfa.learning._rates import KernelRates, RowRates
from biosfa.learning._readout import read_out
from biosfa.learning._units import Units
from biosfa.typing import Arrays, BoolArray, Float64Array, FloatArray

# Units are renewed at the second sample, then at twice the number of samples each time, until they are final.
FIRST_UNITS, UNITS_GRID = 2, 1024

# A guard that fades may be a weak copy of an output. The averages belong to weights that have moved since, and say
# nothing about the small difference between the two. Directions with less than this share of the largest eigenvalue of
# the correlations of the outputs are not read out.
LEAST_SHARE = 0.01


class FastLocalNetwork(Network):
    """A network with local rules that learns as fast as the natural gradient; see :mod:`biosfa.kernels.fast_local`.

    Each input neuron scales its input to unit variance, which it knows from the first samples (:class:`Units`).
    """

    advice = "Give more samples, use forget= for a stream that changes, and look for outliers"

    def __init__(
        self, k: int, m: int, n_streams: int, mode: Mode, dtype: DTypeLike, rng: np.random.RandomState
    ) -> None:
        super().__init__(k, m, n_streams, mode, dtype, KernelRates(n_streams=n_streams))
        self.state: fast_local.FastLocalState = fast_local.initial_state(k, m, n_streams, dtype, rng)
        self.units = Units(m, n_streams)
        self._mean = np.zeros(m)
        self.skipped = np.zeros(1)  # constant steps before the stream began to vary
        self._due = self._next_units()  # samples at which the units are renewed next

    @property
    def W(self) -> FloatArray:
        """Weights of the k slowest features in the span of the slow weights, each of unit variance."""
        state, scale = self.state, self.units.scale
        components = read_out(self.k, state, state.W_slow, LEAST_SHARE).components
        # the moments belong to earlier weights; L has the variance of the present ones
        variance = ((components @ state.L) * components).sum(axis=1)
        components = components * reciprocal(np.sqrt(variance))[:, None] * scale
        return components.astype(precision_for(components, self.dtype))

    @property
    def M(self) -> Float64Array:
        """The identity: the features are Wx, without lateral weights between outputs."""
        return np.eye(self.k)

    @property
    def mean(self) -> Float64Array:
        """Running mean of the input."""
        return self._mean

    @property
    def weights(self) -> FloatArray:
        """Feedforward weights of the outputs, then of the guards, for the unscaled input."""
        return self.state.W * self.units.scale

    @property
    def slow_weights(self) -> FloatArray:
        """Slow parts of these weights."""
        return self.state.W_slow * self.units.scale

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the arrays of the state (no copies)."""
        return {**self.state._asdict(), **self.units.arrays(), "mean": self._mean, "skipped": self.skipped}

    def restore(self, arrays: Arrays, n_samples: int, n_updates: int) -> None:
        """Restore a state; see :meth:`Network.restore`."""
        super().restore(arrays, n_samples, n_updates)
        self._due = self._next_units()

    def _next_units(self) -> int:
        return next_event(self._n_learned(), first=FIRST_UNITS, grid=UNITS_GRID, growth=1.0, window=np.inf)

    def advance(self, raw: FloatArray, starts: BoolArray, rates: RowRates) -> None:
        """Learn from samples; see :meth:`Network.advance`. The neurons choose their own rates."""
        begin = self._skip_silence(raw, starts)
        while begin < len(raw):
            piece = slice(begin, min(len(raw), begin + self._due - self._n_learned()))
            fits = self._steps_before_overflow(raw[piece])
            self._learn(raw[piece][:fits], starts[piece][:fits])
            begin += fits
            if begin < piece.stop:
                self.raise_divergence(raw[begin], self.last_rate())

    def _n_learned(self) -> int:
        """Return the number of samples, or steps, since the stream began to vary."""
        return self.n_samples - int(self.skipped[0])

    def _skip_silence(self, raw: FloatArray, starts: BoolArray) -> int:
        """Count the constant steps at the beginning of the stream, and return their number. They are not learned."""
        if self._n_learned() > 0 or not len(raw):
            return 0
        rows = raw.reshape(-1, self.n_features)
        if self.n_samples == 0:
            self._mean[:] = rows[0]
        varies = (rows != self._mean).any(axis=1)
        silent = int(np.argmax(varies)) // self.n_streams if varies.any() else len(raw)
        self.skipped[0] += silent
        self._count(silent, silent - int(np.count_nonzero(starts[:silent])))
        return silent

    def _steps_before_overflow(self, raw: FloatArray) -> int:
        """Return the number of steps before the first sample that could overflow."""
        scale = self.units.scale
        if not scale.any():
            return steps_within(raw, float(np.sqrt(np.finfo(self.dtype).max / self.n_features)) * 1e-3)
        with np.errstate(over="ignore"):
            return steps_within(raw * scale, self._limit())

    def _limit(self) -> float:
        """Return the largest input, in the network's units, whose fourth power does not overflow.

        While units are not final, a huge input makes them small and W large, and W³ is needed.
        """
        return float((np.finfo(self.dtype).max / self.n_features) ** 0.25) * 1e-2

    def _learn(self, raw: FloatArray, starts: BoolArray) -> None:
        n_steps, P = len(raw), self.n_streams
        rows = raw.reshape(-1, self.n_features)
        n_seen, center, window = self._n_learned() * P, self.mode.center, self.mode.window * P
        if self.units.scale.any():
            begins = np.repeat(starts, P)
            if self.state.seen[0] == 0.0:  # the last input is not known
                begins[:P] = True
            fast_local.advance(
                rows, begins, n_seen, center, window, self._mean, self.units.scale, self.k, self.mode.euler, self.state
            )
        else:
            centre(rows, n_seen, center, window, self._mean, np.empty(rows.shape), np.empty(len(rows)))
        self.units.observe(raw)
        self._count(n_steps, n_steps - int(np.count_nonzero(starts)))

    def _count(self, n_samples: int, n_updates: int) -> None:
        """Count samples and updates, and renew the units if that is due."""
        self.n_samples += n_samples
        self.n_updates += n_updates
        if self._n_learned() == self._due:
            self._due = self._next_units()
            if not self.units.settled():
                self._renew_units()

    def _renew_units(self) -> None:
        """Change to units from all samples seen so far, without changing the outputs of the network."""
        state, before = self.state, self.units.scale.copy()
        self.units.renew(center=self.mode.center)
        if not before.any():  # the network still has its initial state
            return
        ratio = self.units.scale / before
        for weights in (state.W, state.W_slow, state.x_prev):
            weights[:] = weights / ratio
        state.u_prev[:] = state.u_prev * ratio
        # what is left of the initial L = I is the identity in the new units, too
        state.L[:] *= np.outer(ratio, ratio)
        state.L[np.diag_indices(self.n_features)] += state.prior[0] * (1.0 - ratio**2)
        fast_local.invert(state)

    def advance_one(self, sample: FloatArray) -> bool:
        """Learn from one sample; see :meth:`Network.advance_one`."""
        state, scale = self.state, self.units.scale
        if state.seen[0] == 0.0:  # the units are not known yet, or the last input is not
            continues = np.zeros(1, np.bool_)
            if not np.isfinite(sample).all():
                return False
            try:
                self.advance(sample[None], continues, self.plan(continues))
            except DivergenceError:
                return False
            return True
        mode = self.mode
        if not fast_local.advance_one(
            sample,
            self._n_learned(),
            mode.center,
            mode.window,
            self._limit(),
            self._mean,
            scale,
            self.k,
            mode.euler,
            state,
        ):
            return False
        self.units.observe(sample[None])
        self._count(1, 1)
        return True

    def raise_divergence(self, sample: FloatArray, eta: float) -> NoReturn:
        """Raise DivergenceError for a sample whose square would overflow."""
        raise DivergenceError(self.n_updates + 1, eta, np.inf)

    def last_rate(self) -> float:
        """Return the largest η of the output neurons at the last update."""
        return float(fast_local.rates(self.state, self.mode.window * self.n_streams).max())

    def effective_rate(self) -> float:
        """Return the largest η as the divisive normalisation of the input layer shortens it for a usual sample."""
        eta = self.last_rate()
        return eta / (1.0 + 2.0 * fast_local.DIVISION * eta * self.n_features)
