"""The network while it learns: its state, which kernel moves it on, and what can be read from it."""

from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import DTypeLike

from biosfa.exceptions import DivergenceError
from biosfa.kernels import blocked, sequential, streams
from biosfa.kernels.eigen import fixed_signs, slow_directions
from biosfa.kernels.state import CURRENT, DIFFERENCE, MEAN_POWER, PEAK_POWER, Mode, State, initial_state
from biosfa.typing import BoolArray, Float64Array, FloatArray

# Weights above which the blocked kernel is the faster one, and rows below which it is not worth its set-up (measured).
BLOCKED_WEIGHTS = 4096
BLOCKED_ROWS = 16


class Readout(NamedTuple):
    """Slow features of a network, in order of slowness."""

    components: Float64Array  # (k, m)
    delta_values: Float64Array  # (k,), NaN where the input had no variance left


@dataclass
class Network:
    """Weights, memory and running moments of a network with k outputs and m inputs."""

    state: State
    mode: Mode
    n_features: int
    n_samples: int = 0  # rows seen, or steps of parallel streams
    n_updates: int = 0

    @classmethod
    def create(
        cls, k: int, m: int, n_streams: int, mode: Mode, dtype: DTypeLike, rng: np.random.RandomState
    ) -> "Network":
        """A network at rest, with random W and M = I."""
        return cls(initial_state(k, m, n_streams, dtype, rng), mode, m)

    @property
    def n_streams(self) -> int:
        """P, the number of parallel streams."""
        return len(self.state.x_prev)

    @property
    def W(self) -> FloatArray:
        """Feedforward weights of the input as it comes: without padding, and without the scale of relative mode."""
        W = self.state.W[:, : self.n_features]
        if not self.mode.relative:
            return W
        power = float(self.state.gauge[MEAN_POWER])
        scale = np.sqrt(self.n_features * np.sqrt(self.n_streams) / power) if power > 0.0 else 1.0
        return W * W.dtype.type(scale)

    @property
    def mean(self) -> Float64Array:
        """Running mean of the input, without padding."""
        return self.state.mean[: self.n_features]

    def advance(self, raw: FloatArray, starts: BoolArray, eta: Float64Array, rate: Float64Array) -> None:
        """Learn from samples of shape (n, m), or (n, P, m) for parallel streams.

        Raises
        ------
        DivergenceError
            If the network leaves its stable region; its state is then the one before that sample.
        """
        done = self._kernel(len(raw)).learn(raw, starts, eta, rate, self.n_samples, self.mode, self.state)
        self.n_samples += done
        self.n_updates += done - int(np.count_nonzero(starts[:done]))
        if done < len(raw):
            self.raise_divergence(raw[done], float(eta[: done + 1].max()))

    def advance_one(self, sample: FloatArray, eta: float, rate: float) -> bool:
        """Learn from one sample that continues the episode; False if the network would diverge, or it is not finite."""
        if not sequential.learn_one(sample, eta, rate, self.n_samples, self.mode, self.state):
            return False
        self.n_samples += 1
        self.n_updates += 1
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

    def readout(self) -> Readout:
        """Slow directions within the span of W.

        The running moments are those of the currents a = Wx and of their difference under one set of weights: M, which
        only mixes the outputs, cancels.
        """
        k = len(self.state.M)
        components, delta_values = np.zeros((k, self.n_features)), np.full(k, np.nan)
        weight = self.state.weights
        if weight[DIFFERENCE] > 0.0:
            # rounding of W in its own precision, squared as all in S, or of the eigenvalues in theirs
            rounding = max(float(np.finfo(self.state.W.dtype).eps) ** 2, float(np.finfo(np.float64).eps))
            S, D = self.state.S / weight[CURRENT], self.state.D / weight[DIFFERENCE]
            solution = slow_directions(S, D, tolerance=100 * k * rounding)
            components[: solution.rank] = fixed_signs(solution.directions @ self.W)
            delta_values[: solution.rank] = solution.delta_values
        return Readout(components, delta_values)

    def constraint_error(self) -> float:
        """‖⟨yyᵀ⟩ − I‖²/k from the running moments of the currents, y = M⁻¹a."""
        weight = float(self.state.weights[CURRENT])
        if weight == 0.0:
            return float("nan")
        M = self.state.M
        whitened = np.linalg.solve(M, np.linalg.solve(M, self.state.S / weight).T)
        return float(np.square(whitened - np.eye(len(M))).sum() / len(M))
