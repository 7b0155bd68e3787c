"""The state of the network while it learns: arrays that the kernels change in place."""

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from biosfa.kernels.fast_local.output_layer import GUARDS, N_AVERAGES
from biosfa.kernels.jit import jit
from biosfa.typing import Float64Array, FloatArray

# The lateral weights average over a third of the stream. At first they change as if 3m samples had come: fewer give no
# information about m directions.
LATERAL_SHARE = 3.0


class FastLocalState(NamedTuple):
    """The network: m input neurons, K = k + guards output neurons, P parallel streams.

    Inputs are u, centred and of unit variance. What adds up small changes is float64.
    """

    L: Float64Array  # (m, m) lateral weights of the input neurons
    P: Float64Array  # (m, m) L⁻¹
    staleness: Float64Array  # (1,) logarithm of the growth of rounding errors since P was last computed from L
    prior: Float64Array  # (1,) weight of the initial L = I in the present L
    W: FloatArray  # (K, m) feedforward weights
    W_slow: FloatArray  # (K, m) their slow parts, which are read out
    u_prev: FloatArray  # (P, m) last input of each stream
    x_prev: FloatArray  # (P, m) last settled activity x̃ of each stream
    y_prev: Float64Array  # (P, K) last outputs y = Wu
    s_prev: Float64Array  # (P, K) last outputs of the slow weights
    averages: Float64Array  # (K, 7) averages that each output neuron keeps of its own activity
    S: Float64Array  # (K, K) running ⟨ssᵀ⟩ of the outputs of the slow weights, for the readout
    D: Float64Array  # (K, K) running ⟨ṡṡᵀ⟩
    weights: Float64Array  # (2,) total weights of S and D
    seen: Float64Array  # (1,) samples learned from


def initial_state(k: int, m: int, n_streams: int, dtype: DTypeLike, rng: np.random.RandomState) -> FastLocalState:
    """Return a network with W ~ N(0, 1/m) and L = I, everything else at rest."""
    K = min(m, k + GUARDS)
    W = (rng.standard_normal((K, m)) / np.sqrt(m)).astype(dtype)
    return FastLocalState(
        L=np.eye(m),
        P=np.eye(m),
        staleness=np.zeros(1),
        prior=np.ones(1),
        W=W,
        W_slow=W.copy(),
        u_prev=np.zeros((n_streams, m), dtype),
        x_prev=np.zeros((n_streams, m), dtype),
        y_prev=np.zeros((n_streams, K)),
        s_prev=np.zeros((n_streams, K)),
        averages=np.zeros((K, N_AVERAGES)),
        S=np.zeros((K, K)),
        D=np.zeros((K, K)),
        weights=np.zeros(2),
        seen=np.zeros(1),
    )


@jit
def rate_of_lateral_weights(count: float, window: float, m: int) -> float:
    """Return ρ for sample number ``count``; ``window`` is the number of samples that count."""
    return LATERAL_SHARE / (min(count, window) + LATERAL_SHARE * m)
