"""Learning from one sample, with as little overhead as possible."""

from typing import Any

import numpy as np

from biosfa.kernels.fast_local import outputs
from biosfa.kernels.fast_local.state import OutputState
from biosfa.kernels.input_layer import LateralState, lateral
from biosfa.kernels.jit import jit
from biosfa.typing import Float64Array, FloatArray


def learn_one(
    sample: FloatArray,
    n_seen: int,
    center: bool,
    window: float,
    limit: float,
    scale: Float64Array,
    k: int,
    layer: LateralState,
    state: OutputState,
) -> bool:
    """Let both layers learn from one sample that continues an episode.

    Return False, and learn nothing, if an input is beyond ``limit`` or not finite.
    """
    # plain tuples pass into compiled code twice as fast as named ones
    return bool(_learn_one(sample, n_seen, center, window, limit, scale, k, tuple(layer), tuple(state)))


@jit
def _learn_one(
    sample: FloatArray,
    n_seen: int,
    center: bool,
    window: float,
    limit: float,
    scale: Float64Array,
    k: int,
    layer_fields: tuple[Any, ...],
    fields: tuple[Any, ...],
) -> bool:
    raw = np.empty((1, len(sample)), sample.dtype)
    raw[0] = sample  # which may be a column of a matrix
    for j in range(len(sample)):
        if not abs(raw[0, j] * scale[j]) <= limit:
            return False
    layer, state = LateralState(*layer_fields), OutputState(*fields)
    U, X = np.empty((1, len(sample)), state.W.dtype), np.empty((1, len(sample)), state.W.dtype)
    count = layer.seen[0]
    lateral.learn(raw, n_seen, center, window, scale, False, layer, U, X)
    outputs.learn(U, X, np.zeros(1, np.bool_), count, window, k, state)
    return True
