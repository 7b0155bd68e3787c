"""A network that learns by the natural gradient: it centres and whitens the samples, and calls the kernel."""

from collections.abc import Mapping
from typing import NoReturn

import numpy as np
from numpy.typing import DTypeLike

from biosfa.exceptions import DivergenceError
from biosfa.kernels.exact import reciprocal
from biosfa.kernels.local import Mode, centre
from biosfa.kernels.natural import network as natural
from biosfa.kernels.precision import precision_for
from biosfa.learning._network import Network, steps_within
from biosfa.learning._rates import GivenRates, KernelRates, RowRates
from biosfa.learning._readout import read_out
from biosfa.learning._whitening import build_whitening
from biosfa.typing import BoolArray, Float64Array, FloatArray

# Bytes of samples that are centred and whitened at a time, few enough for the second-level cache.
PIECE_BYTES = 2**20

# Size of the weights of an output, relative to the largest, below which they are rounding.
LEAST_WEIGHTS = 1e-8


class NaturalNetwork(Network):
    """Bio-SFA on whitened input; see :mod:`biosfa.kernels.natural`."""

    learns_whiteness = False
    advice = "Give more samples, set forget if the stream changes, and look for outliers"

    def __init__(
        self,
        k: int,
        m: int,
        n_streams: int,
        mode: Mode,
        dtype: DTypeLike,
        rng: np.random.RandomState,
        rates: GivenRates | KernelRates,
        rank: str | int,
    ) -> None:
        super().__init__(k, m, n_streams, mode, dtype, rates)
        self.state: natural.NaturalState = natural.initial_state(k, m, n_streams, dtype, rng)
        self._mean = np.zeros(m)
        self.x_prev = np.zeros((n_streams, m), dtype)
        self.skipped = np.zeros(1)  # constant steps before the stream began to vary
        self.whitening = build_whitening(m, dtype, mode.window * n_streams, rank, rng)

    @property
    def W(self) -> FloatArray:
        """Feedforward weights of the k slowest outputs in the span of the averaged weights, each of unit variance."""
        average = self.whitening.weights_of_input(self.state.W_mean)
        dtype = precision_for(average, self.dtype)
        components = read_out(self.k, self._heard(average), average.astype(dtype)).components
        return components.astype(precision_for(components, dtype))

    def _heard(self, average: Float64Array) -> natural.NaturalState:
        """Return the state without moments of outputs that hear nothing of the input any more.

        These are outputs beyond the rank of the input. Their moments remember that they once had weights.
        """
        sizes = np.linalg.norm(average * reciprocal(self.whitening.scale), axis=1)
        heard = sizes >= LEAST_WEIGHTS * sizes.max()
        if heard.all():
            return self.state
        both = np.outer(heard, heard)
        return self.state._replace(S=self.state.S * both, D=self.state.D * both)

    @property
    def M(self) -> Float64Array:
        """The identity: the outputs are Wx, without lateral weights."""
        return np.eye(self.k)

    @property
    def mean(self) -> Float64Array:
        """Running mean of the input."""
        return self._mean

    def covariance(self) -> Float64Array | None:
        """Return the covariance of the input, which full whitening learns."""
        return self.whitening.covariance() if self.mode.center else None

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the arrays of the state (no copies)."""
        sums = {f"whitening.{name}": array for name, array in self.whitening.arrays().items()}
        return {**self.state._asdict(), "mean": self._mean, "x_prev": self.x_prev, "skipped": self.skipped, **sums}

    def advance(self, raw: FloatArray, starts: BoolArray, rates: RowRates) -> None:
        """Learn from samples; see :meth:`Network.advance`. M follows from the slowness: its rate is not used."""
        P, (eta, _) = self.n_streams, rates.now()
        rows = raw.reshape(-1, self.n_features)
        steps = self._steps_before_overflow(rows)
        silent = self._silent_steps(rows[: steps * P])
        self._learn(rows[silent * P : steps * P], np.repeat(starts[silent:steps], P), np.repeat(eta[silent:steps], P))
        self.n_samples += steps
        self.n_updates += steps - int(np.count_nonzero(starts[:steps]))
        if steps * P < len(rows):
            self.raise_divergence(rows[steps * P], float(eta[: steps + 1].max()))

    def _steps_before_overflow(self, rows: FloatArray) -> int:
        """Return the number of whole steps before the first sample whose square overflows in whitened units."""
        limit = float(np.sqrt(np.finfo(self.dtype).max / self.n_features)) * 1e-3
        loudest = max(1.0, float(self.whitening.scale.max(initial=0.0)))
        return steps_within(rows, limit / loudest) // self.n_streams

    def _silent_steps(self, rows: FloatArray) -> int:
        """Return the number of constant steps at the beginning of the stream. They are not learned and not counted."""
        P = self.n_streams
        if self.input_has_varied():
            return 0
        if self.n_samples == 0 and len(rows):
            self.x_prev[:] = rows[0]
        varies = (rows != self.x_prev[0]).any(axis=1)
        silent = int(np.argmax(varies)) // P if varies.any() else len(rows) // P
        self.skipped[0] += silent
        return silent

    def input_has_varied(self) -> bool:
        """Return whether some samples were not skipped."""
        return self.n_samples > int(self.skipped[0])

    def _learn(self, rows: FloatArray, starts: BoolArray, eta: Float64Array) -> None:
        seen = max(0, self.n_samples - int(self.skipped[0])) * self.n_streams  # steps of this call may be skipped
        size = max(1, PIECE_BYTES // (self.dtype.itemsize * self.n_features * natural.LARGEST_BLOCK))
        size *= natural.LARGEST_BLOCK
        buffers = np.empty((2, min(size, len(rows)), self.n_features), self.dtype)
        done, due = 0, self.whitening.next_refresh(seen)
        while done < len(rows):
            end = min(len(rows), done + size, done + due - seen)
            self._learn_piece(rows[done:end], starts[done:end], eta[done:end], seen, buffers)
            seen += end - done
            done = end
            if seen == due:
                self._refresh()
                due = self.whitening.next_refresh(seen)

    def _learn_piece(
        self, rows: FloatArray, starts: BoolArray, eta: Float64Array, seen: int, buffers: FloatArray
    ) -> None:
        X, Z = buffers[0, : len(rows)], buffers[1, : len(rows)]
        mode = self.mode._replace(window=self.whitening.window)
        centre(rows, seen, mode.center, mode.window, self._mean, X, np.empty(len(rows)))
        self.x_prev[:] = np.concatenate([self.x_prev, X[-self.n_streams :]])[-self.n_streams :]
        self.whitening.take(X, Z)
        natural.learn(Z, starts, eta, seen, self.k, mode, self.state)

    def _refresh(self) -> None:
        """Update the whitening from all samples seen so far, without changing the outputs of the network."""
        whitening, state = self.whitening, self.state
        average, current = whitening.weights_of_input(state.W_mean), whitening.weights_of_input(state.W)
        silent = not whitening.scale.any()
        whitening.refresh()
        if not whitening.scale.any():
            return
        if not silent:  # otherwise the weights still have their initial values
            state.W_mean[:] = whitening.weights_of_white(average)
            state.W[:] = whitening.weights_of_white(current)
        natural.orthogonalise(state.W, state.M)
        state.z_prev[:] = whitening.apply(self.x_prev)
        state.v_prev[:] = state.z_prev @ state.W_mean.T

    def advance_one(self, sample: FloatArray) -> bool:
        """Learn from one sample; see :meth:`Network.advance_one`."""
        if not np.isfinite(sample).all():  # checked here, before the sample is added to the sums
            return False
        continues = np.zeros(1, np.bool_)
        try:
            self.advance(sample[None], continues, self.plan(continues))
        except DivergenceError:
            return False
        return True

    def raise_divergence(self, sample: FloatArray, eta: float) -> NoReturn:
        """Raise DivergenceError for a sample whose square overflows, whatever η is."""
        raise DivergenceError(self.n_updates + 1, self.last_rate(), np.inf)

    def last_rate(self) -> float:
        """Return η of the last update, or of the current block."""
        return 1.0 / float(self.state.inverse_rate[0]) if self.mode.relative else super().last_rate()

    def effective_rate(self) -> float:
        """Return the last η, or η/(1 + 2η m) for the normalised step."""
        eta = self.last_rate()
        return eta / (1.0 + 2.0 * eta * self.n_features) if self.mode.normalized else eta
