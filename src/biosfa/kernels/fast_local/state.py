"""The state of the output layer while it learns: arrays that the kernels change in place."""

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from biosfa.kernels.padding import padded
from biosfa.typing import Float64Array, FloatArray

# Output neurons beside the k that were asked for: they find the slowest directions that the outputs leave.
GUARDS = 4

# Averages that a neuron keeps of its own activity: ⟨y²⟩, ⟨ẏ²⟩, ⟨ys⟩, ⟨s²⟩, ⟨ṡ²⟩, ⟨e²⟩, ⟨ė²⟩.
N_AVERAGES = 7


class OutputState(NamedTuple):
    """K = k + guards output neurons, and P parallel streams. m is padded to ``width``; padding stays zero.

    What adds up small changes is float64.
    """

    W: FloatArray  # (K, width) feedforward weights
    W_slow: FloatArray  # (K, width) their slow parts, which are read out
    u_prev: FloatArray  # (P, width) last input of each stream
    x_prev: FloatArray  # (P, width) last settled activity x̃ of each stream
    y_prev: Float64Array  # (P, K) last outputs y = Wu
    s_prev: Float64Array  # (P, K) last outputs of the slow weights
    averages: Float64Array  # (K, 7) averages that each output neuron keeps of its own activity
    S: Float64Array  # (K, K) running ⟨ssᵀ⟩ of the outputs of the slow weights, for the readout
    D: Float64Array  # (K, K) running ⟨ṡṡᵀ⟩
    weights: Float64Array  # (2,) total weights of S and D


def initial_state(k: int, m: int, n_streams: int, dtype: DTypeLike, rng: np.random.RandomState) -> OutputState:
    """Return outputs with W ~ N(0, 1/m), everything else at rest."""
    K, width = min(m, k + GUARDS), padded(m)
    W = np.zeros((K, width), dtype)
    W[:, :m] = rng.standard_normal((K, m)) / np.sqrt(m)
    return OutputState(
        W=W,
        W_slow=W.copy(),
        u_prev=np.zeros((n_streams, width), dtype),
        x_prev=np.zeros((n_streams, width), dtype),
        y_prev=np.zeros((n_streams, K)),
        s_prev=np.zeros((n_streams, K)),
        averages=np.zeros((K, N_AVERAGES)),
        S=np.zeros((K, K)),
        D=np.zeros((K, K)),
        weights=np.zeros(2),
    )
