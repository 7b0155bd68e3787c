"""Algorithms 1 and 2 with P parallel streams that share W and M, one memory each: updates are summed and divided by √P.

A step has P samples, so that its products are matrix products already. ``power`` is Σ‖x‖²/√P throughout: what limits
the step is (2η/√P) Σ‖x‖².
"""

import math

import numpy as np

from biosfa.kernels.jit import jit
from biosfa.kernels.local.lines import (
    OVERFLOW,
    forgetting,
    iterate,
    iterates,
    keep_inhibition,
    refresh,
    rescale,
    runs_away,
    shares,
    shortening,
    track,
    update_inverse,
)
from biosfa.kernels.local.state import MEAN_POWER, PEAK_POWER, STALENESS, Mode, State
from biosfa.typing import BoolArray, FloatArray


@jit
def learn(
    raw: FloatArray, starts: BoolArray, eta: FloatArray, rate: FloatArray, n_seen: int, mode: Mode, state: State
) -> int:
    """Learn from ``raw`` of shape (n, P, m); as :func:`biosfa.kernels.sequential.learn`, a row being a step.

    The running moments follow one stream a step, each in turn.
    """
    n, n_streams = len(raw), raw.shape[1]
    root = math.sqrt(n_streams)
    W, M, M_inv, gauge = state.W, state.M, state.M_inv, state.gauge
    k, width = W.shape
    share_x, _ = shares(mode.reversible)
    X = np.zeros((n_streams, width), W.dtype)
    along_x = np.empty((n_streams, k), W.dtype)
    Y_bar = np.empty_like(state.y_prev)
    scratch = np.empty_like(state.a_prev)
    mean_before, gauge_before = np.empty_like(state.mean), np.empty_like(gauge)
    power_prev = float(np.square(state.x_prev).sum()) / root
    for t in range(n):
        mean_before[:], gauge_before[:] = state.mean, gauge
        power = _prepare(raw[t], n_seen, mode, state.mean, gauge, X)
        A = X @ W.T
        learns = not starts[t] and (gauge[MEAN_POWER] > 0.0 or not mode.relative)
        short = shortening(eta[t], power, mode.normalized)
        # the update may multiply a current by as much as 1 + 2η‖x‖²
        growth = 1.0 + 2.0 * eta[t] * short * power if learns else 1.0
        if not power < OVERFLOW or runs_away(np.square(A).sum() * growth**2, gauge[PEAK_POWER]):
            state.mean[:] = mean_before
            gauge[:STALENESS] = gauge_before[:STALENESS]
            return t
        n_seen += 1
        followed = n_seen % n_streams
        track(
            A[followed],
            A[followed] - state.a_prev,
            starts[t],
            forgetting(n_seen, rate[t], mode.window),
            state.S,
            state.D,
            state.weights,
        )
        if iterates(mode):
            Y = np.empty_like(state.y_prev)
            for p in range(n_streams):
                iterate(A[p], M, state.L, state.y_prev[p], mode, Y[p])
        else:
            Y = A @ M_inv
        if learns:
            Y_bar[:] = Y + state.y_prev
            rise = 2.0 * eta[t] / root
            step = rise * short
            along_x[:] = step * (share_x * Y_bar - A)
            W += along_x.T @ X
            if not mode.reversible:
                along_x[:] = rise * shortening(eta[t], power_prev, mode.normalized) * Y_bar
                W += along_x.T @ state.x_prev
            keep, gain = 1.0 - rate[t] * root, rate[t] / root
            if mode.interneurons:
                # ΔL = (η/2τ√P) Σ(yzᵀ − L)
                state.L[:] += 0.5 * gain * ((Y.T @ Y).astype(np.float64) @ state.L - n_streams * state.L)
                gauge[STALENESS] = 1.0
                refresh(state.L @ state.L.T, M_inv, gauge)
            else:
                # M += (η/τ√P) Σ(ȳȳᵀ − M)
                M[:] = keep * M + gain * (Y_bar.T @ Y_bar)
                if mode.nonnegative:  # which does without M⁻¹, so that it is never due
                    keep_inhibition(M)
                elif 2 * n_streams < k:
                    for p in range(n_streams):
                        update_inverse(M_inv, Y_bar[p], keep if p == 0 else 1.0, gain, gauge, scratch)
                else:  # an inverse costs less than P updates of it
                    gauge[STALENESS] = 1.0
                refresh(M, M_inv, gauge)
        state.x_prev[:] = X
        power_prev = power
        state.y_prev[:] = Y
        state.a_prev[:] = W @ X[(n_seen + 1) % n_streams]
    return n


@jit
def _prepare(raw: FloatArray, n_seen: int, mode: Mode, mean: FloatArray, gauge: FloatArray, X: FloatArray) -> float:
    """The samples of a step as the network sees them, the mean being that over all streams; returns Σ‖x‖²/√P."""
    n_streams, m = raw.shape
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
    gauge[MEAN_POWER] += (power - gauge[MEAN_POWER]) / count
    if mode.relative:
        factor = rescale(X.reshape(-1), gauge[MEAN_POWER], m * math.sqrt(n_streams))
        power *= factor**2
    gauge[PEAK_POWER] = max(gauge[PEAK_POWER], power)
    return power
