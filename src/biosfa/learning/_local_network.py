"""The paper's network while it learns: its state, and the choice of the kernel that updates it."""

import math
from collections.abc import Mapping
from types import ModuleType
from typing import NoReturn

import numpy as np
from numpy.typing import DTypeLike

from biosfa.exceptions import DivergenceError
from biosfa.kernels.local import (
    Mode,
    State,
    blocked,
    has_interneurons,
    initial_state,
    is_nonnegative,
    sequential,
    streams,
)
from biosfa.learning._network import Network, steps_within
from biosfa.learning._rates import AutomaticRates, GivenRates, Rates, RowRates
from biosfa.learning._units import Units
from biosfa.typing import Arrays, BoolArray, Float64Array, FloatArray

# The blocked kernel is faster for at least this number of weights and of rows (measured).
BLOCKED_WEIGHTS = 4096
BLOCKED_ROWS = 16

# The square of a larger sample, in units that are not known yet, could overflow.
LARGEST = 1e140


class LocalNetwork(Network):
    """The paper's network, with local rules."""

    advice = "Give more samples, or use OnlineSFA (--solver online), which needs fewer"

    def __init__(
        self,
        k: int,
        m: int,
        n_streams: int,
        mode: Mode,
        dtype: DTypeLike,
        rng: np.random.RandomState,
        rates: GivenRates | AutomaticRates,
    ) -> None:
        super().__init__(k, m, n_streams, mode, dtype, rates)
        self.state: State = initial_state(k, m, n_streams, dtype, rng, interneurons=has_interneurons(mode.rule))
        self.automatic = rates if isinstance(rates, AutomaticRates) else None
        self._due = 0 if self.automatic is None else self.automatic.next_look(0)  # samples at the next look

    def configure(self, mode: Mode, rates: Rates) -> None:
        """Continue in another mode and with other rates, which take over what the old ones know about the stream."""
        super().configure(mode, rates)
        if self.automatic is not None and isinstance(rates, AutomaticRates):
            rates.take_over(self.automatic)
            self.automatic = rates

    @property
    def W(self) -> FloatArray:
        """Feedforward weights for the unscaled input, without padding."""
        W = self.state.W[:, : self.n_features]
        if self.automatic is None:
            return W
        return W * (self._loudness() * self.automatic.units.scale).astype(W.dtype)

    def _loudness(self) -> float:
        """Return the factor that scales the input to unit mean variance."""
        power = float(self.state.mean_power[0])
        return math.sqrt(self.n_features * math.sqrt(self.n_streams) / power) if power > 0.0 else 1.0

    @property
    def M(self) -> Float64Array:
        """Lateral weights M, or LLᵀ for a network with interneurons."""
        return self.state.L @ self.state.L.T if has_interneurons(self.mode.rule) else self.state.M

    @property
    def mean(self) -> Float64Array:
        """Running mean of the unscaled input, without padding."""
        mean = self.state.mean[: self.n_features]
        return mean if self.automatic is None or not self.mode.center else self.automatic.units.undo(mean)

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the arrays of the state (no copies)."""
        arrays = self.state._asdict()
        del arrays["M" if has_interneurons(self.mode.rule) else "L"]
        return arrays if self.automatic is None else {**arrays, **self.automatic.arrays()}

    def restore(self, arrays: Arrays, n_samples: int, n_updates: int) -> None:
        """Restore a state; see :meth:`Network.restore`."""
        super().restore(arrays, n_samples, n_updates)
        if self.automatic is not None:
            self._due = self.automatic.next_look(n_samples)

    def advance(self, raw: FloatArray, starts: BoolArray, rates: RowRates) -> None:
        """Learn from samples; see :meth:`Network.advance`."""
        if self.automatic is None:
            self._advance(raw, starts, *rates.now())
            return
        units, begin = self.automatic.units, 0
        while begin < len(raw):
            end = min(len(raw), begin + self._due - self.n_samples)
            part = slice(begin, end)
            eta, rate = rates.part(part).now()
            before = self.n_samples
            # a large sample is not yet scaled down if the units are not known
            fits = raw[part] if units.settled() else raw[part][: steps_within(raw[part], LARGEST)]
            try:
                self._advance(units.apply(fits), starts[part][: len(fits)], eta[: len(fits)], rate[: len(fits)])
                if len(fits) < end - begin:
                    self.raise_divergence(raw[begin + len(fits)], float(eta.max()))
            finally:
                units.observe(raw[part][: self.n_samples - before])
            if self.n_samples == self._due:
                self._look(self.automatic)
            begin = end

    def _advance(self, raw: FloatArray, starts: BoolArray, eta: Float64Array, rate: Float64Array) -> None:
        done = self._kernel(len(raw)).learn(raw, starts, eta, rate, self.n_samples, self.mode, self.state)
        self.n_samples += done
        self.n_updates += done - int(np.count_nonzero(starts[:done]))
        if done < len(raw):
            self.raise_divergence(raw[done], float(eta[: done + 1].max()))

    def _look(self, rates: AutomaticRates) -> None:
        """Measure the variance of each column and of the input along the weights, and adapt the automatic rates."""
        state = self.state
        self._due = rates.next_look(self.n_samples)
        if not rates.units.settled():
            self._renew_units(rates.units)
        M = self.M
        if is_nonnegative(self.mode.rule):
            power = float(state.current_power[0] / max(state.current_power[1], np.finfo(float).tiny))
        else:  # white y have M² = ⟨aaᵀ⟩ = WCWᵀ, and M has the longer memory
            power = float(np.square(np.diag(M)).sum())
        weights = float(np.square(state.W, dtype=np.float64).sum())
        rates.look(power, weights, np.linalg.eigvalsh(M), self.n_samples)

    def _renew_units(self, units: Units) -> None:
        """Change to units from all samples seen so far, without changing the outputs of the network."""
        state, m = self.state, self.n_features
        loudness, scale = self._loudness(), units.scale.copy()
        power = units.renew(center=self.mode.center)
        if power > 0.0:
            state.mean_power[0] = power * math.sqrt(self.n_streams)
        if scale.any():  # otherwise mean and weights still have their initial values
            ratio = units.scale / scale
            state.mean[:m] *= ratio
            ratio *= self._loudness() / loudness
            state.W[:, :m] /= ratio.astype(state.W.dtype)
            state.x_prev[:, :m] *= ratio.astype(state.W.dtype)
        elif self.mode.center:
            state.mean[:m] = units.column_mean * units.scale

    def advance_one(self, sample: FloatArray) -> bool:
        """Learn from one sample; see :meth:`Network.advance_one`."""
        eta, rate = self.rates.at(self.n_updates + 1)
        scaled = sample if self.automatic is None else self.automatic.units.apply(sample)
        if not sequential.learn_one(scaled, eta, rate, self.n_samples, self.mode, self.state):
            return False
        self.n_samples += 1
        self.n_updates += 1
        if self.automatic is not None:
            self.automatic.units.observe(sample[None])
            if self.n_samples == self._due:
                self._look(self.automatic)
        return True

    def input_has_varied(self) -> bool:
        """Return whether a sample had any power."""
        return float(self.state.peak_power[0]) > 0.0

    def raise_divergence(self, sample: FloatArray, eta: float) -> NoReturn:
        """Raise DivergenceError for a sample at which the network diverges."""
        if self.automatic is not None:  # the sample is so large that it dominates the mean power
            power = self.n_features * np.sqrt(self.n_streams) * (self.n_samples + 1)
        else:
            with np.errstate(over="ignore"):
                power = float(np.square(sample - self.mean, dtype=np.float64).sum()) / np.sqrt(self.n_streams)
        peak = max(float(self.state.peak_power[0]), power)
        raise DivergenceError(self.n_updates + 1, eta, 1.0 / peak if peak > 0.0 else np.inf)

    def _kernel(self, n_rows: int) -> ModuleType:
        if self.n_streams > 1:
            return streams
        if self.state.W.size < BLOCKED_WEIGHTS or n_rows < BLOCKED_ROWS or self.mode.euler:
            return sequential
        return blocked

    def effective_rate(self) -> float:
        """Return the last η, or η/(1 + 2η⟨‖x‖²⟩) for the normalised step."""
        eta = self.last_rate()
        power = float(self.state.mean_power[0]) if self.automatic is None else self.n_features
        return eta / (1.0 + 2.0 * eta * power) if self.mode.normalized else eta

    def strain(self) -> float:
        """Return 2η‖x‖² of the largest sample so far, or 0 for the normalised step, which is always stable."""
        return 0.0 if self.mode.normalized else 2.0 * self.last_rate() * float(self.state.peak_power[0])
