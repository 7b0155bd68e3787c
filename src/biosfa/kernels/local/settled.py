"""Algorithms 1 and 2 behind an input layer: currents come from inputs u, and synapses learn from settled activities x̃.

With x̃ = L⁻¹u for x in ΔW, the mean change is that of the paper times L⁻¹: it vanishes at the same W, whatever L is. If
L is the covariance of u, the speed does not depend on the condition number. The normalised step divides by 1 + 2ηu·x̃.
"""

import numpy as np

from biosfa.kernels.jit import jit
from biosfa.kernels.local.lines import runs_away, shortening
from biosfa.kernels.local.rules import come_to_rest, learn_lateral, shares
from biosfa.kernels.local.state import Mode, State
from biosfa.typing import BoolArray, Float64Array, FloatArray


@jit
def learn(
    U: FloatArray,
    X: FloatArray,
    starts: BoolArray,
    eta: Float64Array,
    rate: Float64Array,
    count: float,
    mode: Mode,
    state: State,
    power_prev: Float64Array,
) -> int:
    """Learn from inputs U of shape (n, m) and settled activities X; ``count`` samples came before.

    The P streams of a step follow one another; ``power_prev`` of shape (P,) is u·x̃ of their last samples. Return the
    number of samples learned from: n, or fewer if the network diverged there.
    """
    W, M, M_inv, L, staleness = state.W, state.M, state.M_inv, state.L, state.staleness
    n, m = len(U), U.shape[1]
    n_streams, k = state.y_prev.shape
    share_x, share_x_prev = shares(mode.rule)
    a, y, y_bar, scratch = np.empty(k, W.dtype), np.empty(k, W.dtype), np.empty(k, W.dtype), np.empty(k, W.dtype)
    for t in range(n):
        p = int((count + t) % n_streams)  # the oldest of the last values belongs to this row
        u, x, x_prev, y_prev = U[t], X[t], state.x_prev[p], state.y_prev[p]
        power, loudness = 0.0, 0.0
        for j in range(m):
            power += u[j] * x[j]
            loudness += u[j] * u[j]
        power = max(power, 0.0)  # rounding
        state.peak_power[0] = max(state.peak_power[0], loudness)
        square = 0.0
        for i in range(k):
            current = W.dtype.type(0.0)
            for j in range(m):
                current += W[i, j] * u[j]
            a[i] = current
            square += a[i] * a[i]
        if runs_away(square, state.peak_power[0]):
            return t
        come_to_rest(a, y_prev, mode, M, M_inv, L, y)
        if not starts[t]:
            step = 2.0 * eta[t] * shortening(eta[t], power, mode.normalized)
            step_prev = 2.0 * eta[t] * share_x_prev * shortening(eta[t], power_prev[p], mode.normalized)
            for i in range(k):
                y_bar[i] = y[i] + y_prev[i]
                along_x, along_x_prev = step * (share_x * y_bar[i] - a[i]), step_prev * y_bar[i]
                for j in range(m):
                    W[i, j] += along_x * x[j] + along_x_prev * x_prev[j]
            learn_lateral(y, y_bar, rate[t], mode.rule, M, M_inv, L, staleness, scratch)
        y_prev[:] = y
        power_prev[p] = power
        for j in range(m):
            x_prev[j] = x[j]
    return n
