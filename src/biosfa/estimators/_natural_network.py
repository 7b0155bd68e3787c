"""A network that learns by the natural gradient: centring, whitening, and the kernel behind them."""

from collections.abc import Mapping
from typing import NoReturn

import numpy as np
from numpy.typing import DTypeLike

from biosfa.estimators._network import Network, Readout, read_out
from biosfa.estimators._whitening import build_whitening
from biosfa.exceptions import DivergenceError
from biosfa.kernels import natural
from biosfa.kernels.lines import centre
from biosfa.kernels.state import CURRENT, Mode
from biosfa.typing import BoolArray, Float64Array, FloatArray

# Bytes of samples that are centred and whitened at a time: they stay in the second-level cache.
PIECE_BYTES = 2**20


class NaturalNetwork(Network):
    """Bio-SFA on input that is whitened on the way; see :mod:`biosfa.kernels.natural`."""

    def __init__(
        self,
        k: int,
        m: int,
        n_streams: int,
        mode: Mode,
        dtype: DTypeLike,
        rng: np.random.RandomState,
        rank: str | int,
    ) -> None:
        super().__init__(k, m, n_streams, mode, dtype)
        self.state = natural.initial_state(k, m, n_streams, dtype, rng)
        self._mean = np.zeros(m)
        self.x_prev = np.zeros((n_streams, m), dtype)
        self.whitening = build_whitening(m, dtype, mode.window, rank, rng)

    @property
    def W(self) -> FloatArray:
        """Feedforward weights of the k slow outputs, which are uncorrelated: M times the components."""
        return (self.M @ self.readout().components).astype(self.dtype)

    @property
    def M(self) -> Float64Array:
        """Lateral weights of the k slow outputs: at the optimum ⟨ȳȳᵀ⟩ = 4 − δ."""
        delta = self.readout().delta_values
        return np.diag(np.maximum(natural.M_MIN, 4.0 - np.nan_to_num(delta, nan=2.0)))

    @property
    def mean(self) -> Float64Array:
        """Running mean of the input."""
        return self._mean

    def arrays(self) -> Mapping[str, np.ndarray]:
        """The state: these very arrays."""
        sums = {f"whitening.{name}": array for name, array in self.whitening.arrays().items()}
        return {**self.state._asdict(), "mean": self._mean, "x_prev": self.x_prev, **sums}

    def advance(self, raw: FloatArray, starts: BoolArray, eta: Float64Array, rate: Float64Array) -> None:
        """Learn from samples; see :class:`Network`. M follows from the outputs' slowness: its rate is not used."""
        P = self.n_streams
        rows = raw.reshape(-1, self.n_features)
        size = max(
            natural.BLOCK, PIECE_BYTES // (self.dtype.itemsize * self.n_features) // natural.BLOCK * natural.BLOCK
        )
        buffers = np.empty((2, min(size, len(rows)), self.n_features), self.dtype)
        if P > 1:
            starts, eta = np.repeat(starts, P), np.repeat(eta, P)
        done, seen = 0, self.n_samples * P
        due = self.whitening.next_refresh(seen)
        while done < len(rows):
            end = min(len(rows), done + size, done + due - seen)
            learned = self._advance_piece(rows[done:end], starts[done:end], eta[done:end], seen, buffers)
            if learned < end - done:
                done += learned
                break
            done, seen = end, seen + learned
            if seen == due:
                self._refresh()
                due = self.whitening.next_refresh(seen)
        steps = done // P
        self.n_samples += steps
        self.n_updates += steps - int(np.count_nonzero(starts[: steps * P : P]))
        if done < len(rows):
            self.raise_divergence(rows[done], float(eta[: done + 1].max()))

    def _advance_piece(
        self, rows: FloatArray, starts: BoolArray, eta: Float64Array, seen: int, buffers: FloatArray
    ) -> int:
        X, Z, power = buffers[0, : len(rows)], buffers[1, : len(rows)], np.empty(len(rows))
        mode, mean = self.mode, self._mean.copy()
        centre(rows, seen, mode.center, mode.window, mean, X, power)
        usable = np.isfinite(power)
        if not usable.all():  # learn from the whole steps before the first sample whose square overflows
            first = int(np.argmin(usable)) // self.n_streams * self.n_streams
            return self._advance_piece(rows[:first], starts[:first], eta[:first], seen, buffers) if first else 0
        self._mean[:] = mean
        self.x_prev[:] = np.concatenate([self.x_prev, X[-self.n_streams :]])[-self.n_streams :]
        self.whitening.take(X, Z)
        natural.learn(
            Z,
            starts,
            eta,
            seen,
            self.k,
            mode.relative,
            mode.normalized,
            mode.reversible,
            mode.window,
            self.state,
        )
        return len(rows)

    def _refresh(self) -> None:
        """Whiten with what was seen by now; the network computes what it did, but for its M."""
        whitening, state = self.whitening, self.state
        average, current = whitening.weights_of_input(state.W_mean), whitening.weights_of_input(state.W)
        silent = not whitening.scale.any()
        whitening.refresh()
        if not whitening.scale.any():
            return
        if not silent:  # else the weights are those they began with
            state.W_mean[:] = whitening.weights_of_white(average)
            state.W[:] = whitening.weights_of_white(current)
        natural.orthogonalise(state.W, state.M)
        state.z_prev[:] = whitening.apply(self.x_prev)
        state.v_prev[:] = state.z_prev @ state.W_mean.T

    def advance_one(self, sample: FloatArray, eta: float, rate: float) -> bool:
        """Learn from one sample; see :class:`Network`."""
        if not np.isfinite(sample).all():
            return False
        try:
            self.advance(sample[None], np.zeros(1, np.bool_), np.full(1, eta), np.full(1, rate))
        except DivergenceError:
            return False
        return True

    def raise_divergence(self, sample: FloatArray, eta: float) -> NoReturn:
        """Raise DivergenceError for a sample whose square overflows."""
        raise DivergenceError(self.n_updates + 1, eta, 0.0)

    def effective_rate(self, eta: float) -> float:
        """η of the open block, or η/(1 + 2η m) for the normalised step."""
        eta = 1.0 / float(self.state.inverse_rate[0]) if self.mode.relative else eta
        return eta / (1.0 + 2.0 * eta * self.n_features) if self.mode.normalized else eta

    def readout(self) -> Readout:
        """The k slowest directions in the span of the averaged weights."""
        state = self.state
        W = self.whitening.weights_of_input(state.W_mean).astype(self.dtype)
        return read_out(self.k, state.S, state.D, state.weights, W)

    def constraint_error(self) -> float:
        """‖⟨yyᵀ⟩ − I‖²/K of all outputs, guards included, y = M⁻¹v with the currents v of the averaged weights."""
        weight = float(self.state.weights[CURRENT])
        if weight == 0.0:
            return float("nan")
        whitened = self.state.S / (weight * np.outer(self.state.M, self.state.M))
        return float(np.square(whitened - np.eye(len(whitened))).sum() / len(whitened))
