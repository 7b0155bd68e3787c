"""The paper's network behind an input layer while it learns."""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import DTypeLike

from biosfa.exceptions import DivergenceError
from biosfa.kernels.local import Mode, State, has_interneurons, initial_state, settled
from biosfa.learning._input_layer import InputLayer
from biosfa.learning._rates import Rates, RowRates, SettledRates
from biosfa.learning._settled_network import SettledNetwork
from biosfa.typing import BoolArray, Float64Array, FloatArray

# So many samples say little about units. In units that are much too small, inputs are huge, and M would take long to
# forget them. So outputs begin anew when units change that early, or by more than this factor: their weights only keep
# their directions.
FEWEST, LARGEST_CHANGE = 64, 10.0


class SettledLocalNetwork(SettledNetwork):
    """The paper's network, whose synapses learn from the settled activities of an input layer.

    See :mod:`biosfa.kernels.local.settled`.
    """

    advice = "Give more samples, or use LocalSFA (--solver local), which needs fewer"

    def __init__(
        self,
        k: int,
        m: int,
        n_streams: int,
        mode: Mode,
        dtype: DTypeLike,
        rng: np.random.RandomState,
        rates: Rates,
        input_layer: str | int,
    ) -> None:
        self.state: State = initial_state(k, m, n_streams, dtype, rng, interneurons=has_interneurons(mode.rule))
        self.power_prev = np.zeros(n_streams)
        super().__init__(k, m, n_streams, mode, dtype, rates, InputLayer(input_layer, m, n_streams, dtype, rng))

    def configure(self, mode: Mode, rates: Rates) -> None:
        """Continue in another mode and with other rates, which take over what the old ones know about the stream."""
        if isinstance(self.rates, SettledRates) and isinstance(rates, SettledRates):
            rates.take_over(self.rates)
        super().configure(mode, rates)

    @property
    def W(self) -> FloatArray:
        """Feedforward weights for the unscaled input, without padding."""
        W = self.state.W[:, : self.n_features]
        return W * self.layer.units.scale.astype(W.dtype)

    @property
    def M(self) -> Float64Array:
        """Lateral weights M, or LLᵀ for a network with interneurons between its outputs."""
        return self.state.L @ self.state.L.T if has_interneurons(self.mode.rule) else self.state.M

    def _own_arrays(self) -> Mapping[str, np.ndarray]:
        used = ("W", "L" if has_interneurons(self.mode.rule) else "M", "M_inv", "x_prev", "y_prev", "peak_power")
        arrays = {f"output.{name}": getattr(self.state, name) for name in (*used, "staleness")}
        rates = self.rates.arrays() if isinstance(self.rates, SettledRates) else {}
        return {**arrays, **rates, "power_prev": self.power_prev}

    def _learn_outputs(self, U: FloatArray, X: FloatArray, starts: BoolArray, count: float, rates: RowRates) -> None:
        share = 1.0 / math.sqrt(self.n_streams)  # the updates of P streams are summed and divided by √P
        eta, rate = (share * each for each in rates.now())
        done = settled.learn(U, X, starts, eta, rate, count, self.mode, self.state, self.power_prev)
        if done < len(U):
            self.layer.state.seen[0] = count + done
            power = float((U[: done + 1].astype(np.float64) * X[: done + 1]).sum(axis=1).max())  # u·x̃ in place of ‖x‖²
            raise DivergenceError(self.n_updates + 1, float(eta[: done + 1].max()) / share, 1.0 / (share * power))

    def _look(self) -> None:
        super()._look()
        if isinstance(self.rates, SettledRates):
            self.rates.look_at_M(np.linalg.eigvalsh(self.M), self._n_learned())

    def _next_look(self) -> int:
        return self.rates.next_look(self._n_learned()) if isinstance(self.rates, SettledRates) else super()._next_look()

    def _rescale(self, ratio: Float64Array) -> None:
        state, m = self.state, self.n_features
        for weights in (state.W, state.x_prev):
            weights[:, :m] = weights[:, :m] / ratio
        if self._n_learned() <= FEWEST or ratio.min() * LARGEST_CHANGE < 1.0:
            state.W[:] /= np.linalg.norm(state.W, axis=1, keepdims=True)
            for lateral in (state.M, state.M_inv, state.L):
                lateral[:] = np.eye(len(lateral))
            for last in (state.x_prev, state.y_prev, self.power_prev):
                last[:] = 0.0

    def effective_rate(self) -> float:
        """Return the last η, or η/(1 + 2η⟨u·x̃⟩) for the normalised step."""
        eta = self.last_rate()
        return eta / (1.0 + 2.0 * eta * self.n_features) if self.mode.normalized else eta
