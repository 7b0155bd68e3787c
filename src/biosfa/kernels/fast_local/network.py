"""Both layers together, block by block."""

from typing import Any

import numpy as np

from biosfa.kernels.fast_local.input_layer import REFRESH_GROWTH, receive, relax, settle, settle_each
from biosfa.kernels.fast_local.output_layer import inverse_rate, learn_outputs, slowness_and_gap
from biosfa.kernels.fast_local.state import FastLocalState, rate_of_lateral_weights
from biosfa.kernels.jit import jit
from biosfa.typing import BoolArray, Float64Array, FloatArray

# Samples per block, and the number of columns from which matrix products are faster than single samples (measured).
BLOCK = 64
MANY_COLUMNS = 48


@jit
def advance(
    raw: FloatArray,
    starts: BoolArray,
    n_seen: int,
    center: bool,
    window: float,
    mean: Float64Array,
    scale: Float64Array,
    k: int,
    relaxes: bool,
    state: FastLocalState,
) -> None:
    """Learn from samples of shape (n, m); ``mean`` and ``state`` are changed in place.

    Columns are multiplied with ``scale``, which brings them to unit variance. The P streams of a step follow one
    another. ``mean`` is that of ``n_seen`` rows.
    """
    n, m = raw.shape
    U, X, rho = np.empty((BLOCK, m)), np.empty((BLOCK, m)), np.empty(BLOCK)
    for begin in range(0, n, BLOCK):
        end = min(n, begin + BLOCK)
        length, seen = end - begin, state.seen[0]
        for t in range(length):
            rho[t] = rate_of_lateral_weights(seen + t + 1.0, window, m)
            state.prior[0] *= 1.0 - rho[t]
        block = U[:length]
        receive(raw[begin:end], n_seen + begin, center, window, mean, scale, rho, state.L, block)
        if relaxes:
            relax(block, rho, state.L, X)
            state.staleness[0] = 2.0 * REFRESH_GROWTH  # P is not kept up
        else:
            if state.staleness[0] > REFRESH_GROWTH:
                invert(state)
            if m < MANY_COLUMNS or length == 1:
                settle_each(block, rho, state.L, state.P, state.staleness, X)
            else:
                settle(block, rho, state.L, state.P, state.staleness, X)
        learn_outputs(
            block,
            X[:length],
            starts[begin:end],
            seen,
            window,
            k,
            state.W,
            state.W_slow,
            state.u_prev,
            state.x_prev,
            state.y_prev,
            state.s_prev,
            state.averages,
            state.S,
            state.D,
            state.weights,
        )
        state.seen[0] += length


def advance_one(
    sample: FloatArray,
    n_seen: int,
    center: bool,
    window: float,
    limit: float,
    mean: Float64Array,
    scale: Float64Array,
    k: int,
    relaxes: bool,
    state: FastLocalState,
) -> bool:
    """Learn from one sample that continues an episode.

    Return False, and learn nothing, if an input is beyond ``limit`` or not finite.
    """
    # plain tuples pass into compiled code twice as fast as named ones
    return bool(_advance_one(sample, n_seen, center, window, limit, mean, scale, k, relaxes, tuple(state)))


@jit
def _advance_one(
    sample: FloatArray,
    n_seen: int,
    center: bool,
    window: float,
    limit: float,
    mean: Float64Array,
    scale: Float64Array,
    k: int,
    relaxes: bool,
    fields: tuple[Any, ...],
) -> bool:
    raw = np.empty((1, len(sample)), sample.dtype)
    raw[0] = sample  # which may be a column of a matrix
    for j in range(len(sample)):
        if not abs(raw[0, j] * scale[j]) <= limit:
            return False
    advance(raw, np.zeros(1, np.bool_), n_seen, center, window, mean, scale, k, relaxes, FastLocalState(*fields))
    return True


@jit
def invert(state: FastLocalState) -> None:
    """Compute P from L."""
    inverse = np.linalg.inv(state.L)
    state.P[:] = 0.5 * (inverse + inverse.T)
    state.staleness[0] = 0.0


def rates(state: FastLocalState, window: float) -> Float64Array:
    """Return the present η of each output neuron."""
    t, m = min(float(state.seen[0]), window), state.W.shape[1]
    return np.array([1.0 / inverse_rate(*slowness_and_gap(averages), t, m) for averages in state.averages])
