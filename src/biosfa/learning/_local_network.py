"""The paper's network while it learns: its state, which kernel moves it on, and the rates that follow the stream."""

import math
from collections.abc import Mapping
from types import ModuleType
from typing import NoReturn

import numpy as np
from numpy.typing import DTypeLike

from biosfa.exceptions import DivergenceError
from biosfa.kernels.local import (
    CURRENT,
    MEAN_POWER,
    PEAK_POWER,
    STABLE_TAU,
    VARIANCE,
    Mode,
    State,
    blocked,
    initial_state,
    sequential,
    streams,
)
from biosfa.learning._events import next_event
from biosfa.learning._network import Network, steps_within
from biosfa.learning._pace import adapted, stable_tau
from biosfa.learning._readout import Readout, read_out
from biosfa.learning._units import Units
from biosfa.typing import Arrays, BoolArray, Float64Array, FloatArray

# Weights above which the blocked kernel is the faster one, and rows below which it is not worth its set-up (measured).
BLOCKED_WEIGHTS = 4096
BLOCKED_ROWS = 16

# With automatic rates the variance of the input along the weights is kept within these limits.
VARIANCE_MIN, VARIANCE_MAX = 1e-6, 100.0
TAU_MAX = 1e9  # in place of infinity, which files cannot hold
LATERAL_MAX = 0.3  # of the automatic rate of M, times the root of the number of streams, which 1 would make unstable


# A sample larger than this, in units that are not known yet, has a square that overflows, or nearly so.
LARGEST = 1e140


class LocalNetwork(Network):
    """The paper's network, with local rules."""

    advice = "Give more samples, or use OnlineSFA, which needs fewer"

    def __init__(
        self, k: int, m: int, n_streams: int, mode: Mode, dtype: DTypeLike, rng: np.random.RandomState
    ) -> None:
        super().__init__(k, m, n_streams, mode, dtype)
        self.state: State = initial_state(k, m, n_streams, dtype, rng, interneurons=mode.interneurons)
        self.units = Units(m, n_streams)

    @property
    def W(self) -> FloatArray:
        """Feedforward weights of the input as it comes: without padding, and without the scales of relative mode."""
        W = self.state.W[:, : self.n_features]
        return W * (self._loudness() * self.units.scale).astype(W.dtype) if self.mode.relative else W

    def _loudness(self) -> float:
        """Factor that brings the input to unit mean variance."""
        power = float(self.state.gauge[MEAN_POWER])
        return math.sqrt(self.n_features * math.sqrt(self.n_streams) / power) if power > 0.0 else 1.0

    @property
    def M(self) -> Float64Array:
        """Lateral weights, or what the interneurons make of theirs."""
        return self.state.L @ self.state.L.T if self.mode.interneurons else self.state.M

    @property
    def mean(self) -> Float64Array:
        """Running mean of the input, without padding."""
        mean = self.state.mean[: self.n_features]
        return self.units.undo(mean) if self.mode.relative and self.mode.center else mean

    def arrays(self) -> Mapping[str, np.ndarray]:
        """The state: these very arrays."""
        arrays = {**self.state._asdict(), **self.units.arrays()}
        del arrays["M" if self.mode.interneurons else "L"]
        return arrays

    def restore(self, arrays: Arrays) -> None:
        """Take a state; one from before rates of M followed the stream has no number for it."""
        gauge = arrays.get("gauge")
        if gauge is not None and gauge.shape == (STABLE_TAU,):
            arrays = {**arrays, "gauge": np.append(gauge, 0.0)}
        super().restore(arrays)

    def advance(self, raw: FloatArray, starts: BoolArray, eta: Float64Array, rate: Float64Array) -> None:
        """Learn from samples; see :class:`Network`."""
        if not self.mode.relative:
            self._advance(raw, starts, eta, rate)
            return
        begin = 0
        while begin < len(raw):
            end = min(len(raw), begin + self._next_look(self.n_samples) - self.n_samples)
            part = slice(begin, end)
            rates = adapted(eta[part], float(self.state.gauge[VARIANCE]), self.n_streams)
            share, limit = self._least_lateral()
            lateral = np.maximum(rate[part], np.minimum(share * rates, limit))
            before = self.n_samples
            # where units are not known yet, they do not make a large sample harmless
            fits = raw[part] if self.units.settled() else raw[part][: steps_within(raw[part], LARGEST)]
            try:
                self._advance(self.units.apply(fits), starts[part][: len(fits)], rates[: len(fits)], lateral)
                if len(fits) < end - begin:
                    self.raise_divergence(raw[begin + len(fits)], float(rates.max()))
            finally:
                self.units.observe(raw[part][: self.n_samples - before])
            self._look()
            begin = end

    def _advance(self, raw: FloatArray, starts: BoolArray, eta: Float64Array, rate: Float64Array) -> None:
        done = self._kernel(len(raw)).learn(raw, starts, eta, rate, self.n_samples, self.mode, self.state)
        self.n_samples += done
        self.n_updates += done - int(np.count_nonzero(starts[:done]))
        if done < len(raw):
            self.raise_divergence(raw[done], float(eta[: done + 1].max()))

    def _look(self) -> None:
        """Where it is due, see how much each column of the input varies, and how much it does along the weights."""
        if self.n_samples != self._next_look(self.n_samples - 1):
            return
        state, m = self.state, self.n_features
        if not self.units.settled():
            loudness, scale = self._loudness(), self.units.scale.copy()
            power = self.units.renew(center=self.mode.center)
            if power > 0.0:
                state.gauge[MEAN_POWER] = power * math.sqrt(self.n_streams)
            if scale.any():  # else mean and weights are those they began with
                ratio = self.units.scale / scale
                state.mean[:m] *= ratio
                ratio *= self._loudness() / loudness
                state.W[:, :m] /= ratio.astype(state.W.dtype)
                state.x_prev[:, :m] *= ratio.astype(state.W.dtype)
            elif self.mode.center:
                state.mean[:m] = self.units.column_mean * self.units.scale
        if self.mode.nonnegative:
            power = float(np.trace(state.S) / max(state.weights[CURRENT], np.finfo(float).tiny))
        else:  # white y have M² = ⟨aaᵀ⟩ = WCWᵀ, and M has the longer memory
            power = float(np.square(np.diag(self.M)).sum())
        found = power / float(np.square(state.W, dtype=np.float64).sum())
        state.gauge[VARIANCE] = min(max(found, VARIANCE_MIN), VARIANCE_MAX)
        if self.automatic_lateral:
            state.gauge[STABLE_TAU] = min(stable_tau(np.linalg.eigvalsh(self.M), self.n_samples), TAU_MAX)

    def _least_lateral(self) -> tuple[float, float]:
        """What the rate of M must be at least, in units of that of W, for slow features to be stable; and its limit.

        Only where it is automatic, and once M has been looked at.
        """
        tau = float(self.state.gauge[STABLE_TAU])
        share = float(self.state.gauge[VARIANCE]) / tau if self.automatic_lateral and tau > 0.0 else 0.0
        return share, LATERAL_MAX / math.sqrt(self.n_streams)

    def _next_look(self, n_seen: int) -> int:
        return next_event(n_seen, first=2, grid=1024, growth=1 / 16, window=self.mode.window)

    def advance_one(self, sample: FloatArray, eta: float, rate: float) -> bool:
        """Learn from one sample; see :class:`Network`."""
        if self.mode.relative:
            eta = adapted(eta, float(self.state.gauge[VARIANCE]), self.n_streams)
            share, limit = self._least_lateral()
            rate = max(rate, min(share * eta, limit))
        scaled = self.units.apply(sample) if self.mode.relative else sample
        if not sequential.learn_one(scaled, eta, rate, self.n_samples, self.mode, self.state):
            return False
        self.n_samples += 1
        self.n_updates += 1
        if self.mode.relative:
            self.units.observe(sample[None])
            self._look()
        return True

    def raise_divergence(self, sample: FloatArray, eta: float) -> NoReturn:
        """Raise DivergenceError for a sample that was not learned from."""
        if self.mode.relative:  # a sample so large that it makes the mean itself
            power = self.n_features * np.sqrt(self.n_streams) * (self.n_samples + 1)
        else:
            with np.errstate(over="ignore"):
                power = float(np.square(sample - self.mean, dtype=np.float64).sum()) / np.sqrt(self.n_streams)
        peak = max(float(self.state.gauge[PEAK_POWER]), power)
        raise DivergenceError(self.n_updates + 1, eta, 1.0 / peak if peak > 0.0 else np.inf)

    def _kernel(self, n_rows: int) -> ModuleType:
        if self.n_streams > 1:
            return streams
        if self.state.W.size < BLOCKED_WEIGHTS or n_rows < BLOCKED_ROWS or self.mode.euler:
            return sequential
        return blocked

    def effective_rate(self, eta: float) -> float:
        """η, or η/(1 + 2η⟨‖x‖²⟩) for the normalised step."""
        if self.mode.relative:
            eta = adapted(eta, float(self.state.gauge[VARIANCE]), self.n_streams)
        power = self.n_features if self.mode.relative else float(self.state.gauge[MEAN_POWER])
        return eta / (1.0 + 2.0 * eta * power) if self.mode.normalized else eta

    def strain(self, eta: float) -> float:
        """2η‖x‖² of the largest sample so far, where it matters: 0 for the normalised step."""
        return 0.0 if self.mode.normalized else 2.0 * eta * float(self.state.gauge[PEAK_POWER])

    def readout(self) -> Readout:
        """Slow directions within the span of W.

        The running moments are those of the currents a = Wx and of their difference under one set of weights: M, which
        only mixes the outputs, cancels.
        """
        return read_out(self.k, self.state, self.W)

    def constraint_error(self) -> float:
        """‖⟨yyᵀ⟩ − I‖²/k from the running moments of the currents, y = M⁻¹a; NaN where y ≥ 0, which is never white."""
        weight = float(self.state.weights[CURRENT])
        if weight == 0.0 or self.mode.nonnegative:
            return float("nan")
        M = self.M
        whitened = np.linalg.solve(M, np.linalg.solve(M, self.state.S / weight).T)
        return float(np.square(whitened - np.eye(len(M))).sum() / len(M))
