"""The local and fast network while it learns."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import DTypeLike

from biosfa.kernels import fast_local
from biosfa.kernels.exact import reciprocal
from biosfa.kernels.input_layer import LateralState
from biosfa.kernels.local import Mode
from biosfa.kernels.precision import precision_for
from biosfa.kernels.running import CURRENT
from biosfa.learning._input_layer import InputLayer
from biosfa.learning._rates import KernelRates, RowRates
from biosfa.learning._readout import PairMoments, Readout, read_out
from biosfa.learning._settled_network import SettledNetwork
from biosfa.typing import BoolArray, Float64Array, FloatArray

# Two outputs may be copies of each other but for a small difference, about which the averages say nothing: they belong
# to weights that have moved since. Directions with less than this share of the largest eigenvalue of the correlations
# of the outputs say nothing about slowness.
LEAST_SHARE = 0.01

# Guards are read out only if the sum of the slowness values then is smaller by this factor: their weights fluctuate
# more than those of the outputs. And the averages of a guard belong to earlier weights if its covariances differ from
# those that the input layer knows for the present weights by this share of the variances. Both numbers were chosen on
# the twenty problems of benchmarks/convergence.py and on the chaotic series.
CLEARLY_SLOWER = 0.95
STALE = 0.7

TINY = 1e-300  # in place of 0, by which nothing can be divided


class FastLocalNetwork(SettledNetwork):
    """A network with local rules that learns as fast as the natural gradient; see :mod:`biosfa.kernels.fast_local`."""

    learns_whiteness = False

    def __init__(
        self,
        k: int,
        m: int,
        n_streams: int,
        mode: Mode,
        dtype: DTypeLike,
        rng: np.random.RandomState,
        input_layer: str | int,
    ) -> None:
        self.state: fast_local.OutputState = fast_local.initial_state(k, m, n_streams, dtype, rng)
        layer = InputLayer(input_layer, m, n_streams, dtype, rng)
        super().__init__(k, m, n_streams, mode, dtype, KernelRates(n_streams=n_streams), layer)

    @property
    def advice(self) -> str:
        """What users may do whose network does not converge."""
        may_have_more = 0 < self.layer.n_interneurons < self.n_features
        more = ", use more interneurons (input_layer=)" if may_have_more else ""
        return f"Give more samples{more}, use forget= for a stream that changes, and look for outliers"

    @property
    def W(self) -> FloatArray:
        """Weights of the k slowest features in the span of the slow weights, each of unit variance."""
        components = self._readout().components
        # the moments belong to earlier weights; the input layer knows the variance of the present ones
        variance = np.diag(self.layer.covariance_along(components))
        components = components * reciprocal(np.sqrt(variance))[:, None] * self.layer.units.scale
        return components.astype(precision_for(components, self.dtype))

    def _readout(self) -> Readout:
        """Return the features within the outputs, or within outputs and guards if these are clearly slower."""
        state, k = self.state, self.k
        alone = self._read(np.arange(len(state.S)) < k)
        averaged = state.S / max(float(state.weights[CURRENT]), TINY)
        present = self.layer.covariance_along(state.W_slow[:, : self.n_features])
        size = np.sqrt(np.maximum(np.diag(averaged), np.diag(present)))
        moved = np.abs(averaged - present) > STALE * np.outer(size, size)
        together = self._read((np.arange(len(moved)) < k) | ~moved.any(axis=1))
        if not np.isnan(alone.delta_values).any():
            slower = together.delta_values.sum() < CLEARLY_SLOWER * alone.delta_values.sum()
            return together if slower else alone
        copies = bool(np.isnan(together.delta_values).any())  # of one another, as the outputs are
        return self._completed(alone) if copies else together

    def _completed(self, readout: Readout) -> Readout:
        """Return a readout with directions in place of features that the averages say nothing about.

        Each is the part of an output that is not correlated with the features before, if the input varies along it.
        Its slowness stays unknown: it is measured on pairs of samples.
        """
        found = int(np.isfinite(readout.delta_values).sum())
        if found in (0, self.k):
            return readout
        components = np.zeros((self.k, self.n_features))  # uncorrelated and of unit variance
        used = 0
        for candidate in [*readout.components[:found], *self.state.W_slow[:, : self.n_features]]:
            both = np.concatenate([components[:used], candidate[None].astype(np.float64)])
            apart = both[-1] - self.layer.covariance_along(both)[-1, :-1] @ components[:used]
            variance = self.layer.variance_along(apart)
            if used < self.k and variance > 0.0:
                components[used] = apart / np.sqrt(variance)
                used += 1
        return readout._replace(components=components)

    def _read(self, chosen: BoolArray) -> Readout:
        """Return the features within some of the outputs and guards."""
        state, both = self.state, np.ix_(chosen, chosen)
        moments = PairMoments(state.S[both], state.D[both], state.weights)
        return read_out(self.k, moments, state.W_slow[chosen, : self.n_features], LEAST_SHARE)

    @property
    def M(self) -> Float64Array:
        """The identity: the features are Wx, without lateral weights between outputs."""
        return np.eye(self.k)

    @property
    def weights(self) -> FloatArray:
        """Feedforward weights of the outputs, then of the guards, for the unscaled input."""
        return self.state.W[:, : self.n_features] * self.layer.units.scale

    @property
    def slow_weights(self) -> FloatArray:
        """Slow parts of these weights."""
        return self.state.W_slow[:, : self.n_features] * self.layer.units.scale

    def _own_arrays(self) -> Mapping[str, np.ndarray]:
        return self.state._asdict()

    def _learn_outputs(self, U: FloatArray, X: FloatArray, starts: BoolArray, count: float, rates: RowRates) -> None:
        """Let outputs learn. They choose their own rates."""
        fast_local.learn(U, X, starts, count, self.mode.window * self.n_streams, self.k, self.state)

    def _rescale(self, ratio: Float64Array) -> None:
        state, m = self.state, self.n_features
        for weights in (state.W, state.W_slow, state.x_prev):
            weights[:, :m] = weights[:, :m] / ratio
        state.u_prev[:, :m] = state.u_prev[:, :m] * ratio

    def advance_one(self, sample: FloatArray) -> bool:
        """Learn from one sample; see :meth:`Network.advance_one`."""
        layer, mode = self.layer, self.mode
        # at first, the units are not known yet, or the last input is not
        if layer.seen() == 0.0 or mode.euler or not isinstance(layer.state, LateralState):
            return super().advance_one(sample)
        arguments = (self._n_learned(), mode.center, mode.window, self._limit(), layer.units.scale, self.k)
        if not fast_local.learn_one(sample, *arguments, layer.state, self.state):
            return False
        layer.units.observe(sample[None])
        self._count(1, 1)
        return True

    def last_rate(self) -> float:
        """Return the largest η of the output neurons at the last update."""
        window = self.mode.window * self.n_streams
        return float(fast_local.rates(self.state, self.n_features, self.layer.seen(), window).max())

    def effective_rate(self) -> float:
        """Return the largest η as the divisive normalisation of the input layer shortens it for a usual sample."""
        eta = self.last_rate()
        return eta / (1.0 + 2.0 * fast_local.DIVISION * eta * self.n_features)
