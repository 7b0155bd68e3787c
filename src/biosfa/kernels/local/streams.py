"""Algorithms 1 and 2 with P parallel streams that share W and M, one memory each: updates are summed and divided by √P.

A step has P samples, so that its products are matrix products already. ``power`` is Σ‖x‖²/√P throughout: what limits
the step is (2η/√P) Σ‖x‖².
"""

import math

import numpy as np

from biosfa.kernels.jit import jit
from biosfa.kernels.local.lines import OVERFLOW, rescale, runs_away, shortening, track_power
from biosfa.kernels.local.rules import come_to_rest, learn_lateral_together, needs_iterations, shares
from biosfa.kernels.local.state import Mode, State
from biosfa.typing import BoolArray, FloatArray


@jit
def learn(
    raw: FloatArray, starts: BoolArray, eta: FloatArray, rate: FloatArray, n_seen: int, mode: Mode, state: State
) -> int:
    """Learn from ``raw`` of shape (n, P, m); as :func:`biosfa.kernels.local.sequential.learn`, a row being a step.

    The power of the currents is followed in one stream per step, each in turn.
    """
    n, n_streams = len(raw), raw.shape[1]
    root = math.sqrt(n_streams)
    W = state.W
    k, width = W.shape
    share_x, share_x_prev = shares(mode.rule)
    X = np.zeros((n_streams, width), W.dtype)
    along_x = np.empty((n_streams, k), W.dtype)
    Y_bar = np.empty_like(state.y_prev)
    scratch = np.empty(k, W.dtype)
    mean_before = np.empty_like(state.mean)
    power_prev = float(np.square(state.x_prev).sum()) / root
    for t in range(n):
        mean_before[:] = state.mean
        power_before, peak_before = state.mean_power[0], state.peak_power[0]
        power = _prepare(raw[t], n_seen, mode, state, X)
        A = X @ W.T
        learns = not starts[t] and (state.mean_power[0] > 0.0 or not mode.relative)
        short = shortening(eta[t], power, mode.normalized)
        # the update may multiply a current by as much as 1 + 2η‖x‖²
        growth = 1.0 + 2.0 * eta[t] * short * power if learns else 1.0
        if not power < OVERFLOW or runs_away(np.square(A).sum() * growth**2, state.peak_power[0]):
            state.mean[:] = mean_before
            state.mean_power[0], state.peak_power[0] = power_before, peak_before
            return t
        n_seen += 1
        square = np.square(A[n_seen % n_streams]).sum()
        track_power(square, n_seen, rate[t], mode.window, state.current_power)
        if needs_iterations(mode):
            Y = np.empty_like(state.y_prev)
            for p in range(n_streams):
                come_to_rest(A[p], state.y_prev[p], mode, state.M, state.M_inv, state.L, Y[p])
        else:
            Y = A @ state.M_inv
        if learns:
            Y_bar[:] = Y + state.y_prev
            rise = 2.0 * eta[t] / root
            step = rise * short
            along_x[:] = step * (share_x * Y_bar - A)
            W += along_x.T @ X
            if share_x_prev > 0.0:
                along_x[:] = rise * share_x_prev * shortening(eta[t], power_prev, mode.normalized) * Y_bar
                W += along_x.T @ state.x_prev
            learn_lateral_together(Y, Y_bar, rate[t], mode.rule, state, scratch)
        state.x_prev[:] = X
        power_prev = power
        state.y_prev[:] = Y
    return n


@jit
def _prepare(raw: FloatArray, n_seen: int, mode: Mode, state: State, X: FloatArray) -> float:
    """The samples of a step as the network sees them, the mean being that over all streams; returns Σ‖x‖²/√P."""
    n_streams, m = raw.shape
    mean, mean_power = state.mean, state.mean_power
    if mode.center and n_seen == 0:
        mean[:m] = raw[0]
    drift = np.zeros(mean.shape[0])
    for p in range(n_streams):
        for j in range(m):
            X[p, j] = raw[p, j] - mean[j]
            drift[j] += X[p, j]
    count = min(float(n_seen + 1), mode.window)
    drift *= 1.0 / (n_streams * count) if mode.center else 0.0
    mean += drift
    power = 0.0
    for p in range(n_streams):
        for j in range(m):
            X[p, j] -= drift[j]
            power += X[p, j] * X[p, j]
    power /= math.sqrt(n_streams)
    mean_power[0] += (power - mean_power[0]) / count
    if mode.relative:
        factor = rescale(X.reshape(-1), mean_power[0], m * math.sqrt(n_streams))
        power *= factor**2
    state.peak_power[0] = max(state.peak_power[0], power)
    return power
