"""Algorithms 1 and 2 in blocks, with the result of the sequential kernel: for large networks.

Within a block W changes only along the block's own samples, W_t = W_0 + PᵀX, where the rows of X are x_{t0−1} and the
block's samples, and the rows of P collect the coefficients of ΔW. So a_t = W_0 x_t + Pᵀ(X x_t): one product of
the stacked [W; X] with the samples gives W_0 x_t and the Gram matrix together, a recurrence on k-vectors gives P, and a
second product folds P back into W. Memory-bound work on W becomes two matrix products.
"""

import math

import numpy as np
from scipy.linalg.blas import get_blas_funcs

from biosfa.kernels.jit import jit
from biosfa.kernels.local.lines import (
    REFRESH_GROWTH,
    blend_rows,
    combine,
    prepare,
    refresh,
    runs_away,
    shortening,
    track_power,
    update_inverse,
)
from biosfa.kernels.local.rules import come_to_rest, is_direct, learn_lateral, shares
from biosfa.kernels.local.state import Mode, State
from biosfa.typing import BoolArray, FloatArray

# Samples in a block: the Gram matrix costs BLOCK/2k of the two products with W, and small blocks use the BLAS poorly.
BLOCK = 32


def learn(
    raw: FloatArray, starts: BoolArray, eta: FloatArray, rate: FloatArray, n_seen: int, mode: Mode, state: State
) -> int:
    """Learn from the rows of ``raw``; as :func:`biosfa.kernels.local.sequential.learn`, without ``mode.euler``."""
    k, width = state.W.shape
    gemm = get_blas_funcs("gemm", dtype=state.W.dtype)
    Z = np.zeros((k + 1 + BLOCK, width), state.W.dtype)  # W, x_{t0−1}, and the block's samples
    W, X = Z[:k], Z[k:]
    W[:] = state.W
    X[0] = state.x_prev[0]
    power = np.empty(BLOCK)
    power_prev = float(np.square(X[0]).sum())
    P = np.empty((1 + BLOCK, k), state.W.dtype)
    mean_before = np.empty_like(state.mean)
    done = 0
    while done < len(raw):
        n = _length(rate[done : done + BLOCK])
        block = slice(done, done + n)
        mean_before[:] = state.mean
        before = (float(state.mean_power[0]), float(state.peak_power[0]))
        usable = prepare(raw[block], n_seen, mode, state.mean, state.mean_power, state.peak_power, X[1:], power)
        # BLAS works on columns: to it, the transposed views are what the arrays are to us
        products = gemm(1.0, X[1 : n + 1].T, Z[: k + 1 + n].T, trans_a=True).T
        learned = _recur(
            products, starts[block], eta[block], rate[block], n_seen, mode, state, power, power_prev, usable, before, P
        )
        if learned > 0:
            power_prev = power[learned - 1]
        gemm(1.0, X[: learned + 1].T, P[: learned + 1], beta=1.0, c=W.T, overwrite_c=True)
        done += learned
        X[0] = X[learned]
        if learned < n:
            state.mean[:] = mean_before
            state.mean_power[0], state.peak_power[0] = before
            prepare(raw[block][:learned], n_seen, mode, state.mean, state.mean_power, state.peak_power, X[1:], power)
            break
        n_seen += learned
    state.W[:] = W
    state.x_prev[0] = X[0]
    return done


@jit
def _length(rate: FloatArray) -> int:
    """Samples before the rounding errors of Sherman–Morrison grow too large: all, unless η/τ comes near 1."""
    growth = 0.0
    for t in range(len(rate)):
        growth -= math.log(1.0 - rate[t])
        if growth > REFRESH_GROWTH:
            return max(1, t)
    return len(rate)


@jit
def _recur(
    products: FloatArray,
    starts: BoolArray,
    eta: FloatArray,
    rate: FloatArray,
    n_seen: int,
    mode: Mode,
    state: State,
    power: FloatArray,
    power_prev: float,
    usable: int,
    before: tuple[float, float],
    P: FloatArray,
) -> int:
    """The recurrence of one block: fills P, moves M and the outputs on; returns the samples learned from.

    Row i < k of ``products`` is (W_0 x_t)_i; row k + s is x_{t0−1+s}·x_t. M, which nothing in the block needs, is
    left to its end. Circuits whose outputs need M itself learn it at once.
    """
    M, M_inv, L, staleness = state.M, state.M_inv, state.L, state.staleness
    y_prev = state.y_prev[0]
    k, n = len(M_inv), len(starts)
    x_share, x_prev_share = shares(mode.rule)
    share_x, share_x_prev = products.dtype.type(x_share), products.dtype.type(x_prev_share)
    # within a block sums are in the precision of W; M, which they are added to, is float64
    Y_bar = np.zeros((n, k), products.dtype)
    lateral = np.zeros(n)
    a, y, a_after, scratch = np.empty_like(y_prev), np.empty_like(y_prev), np.empty_like(y_prev), np.empty_like(y_prev)
    P[:] = 0.0
    mean_power, peak = before
    awake = not mode.relative or mean_power > 0.0
    for t in range(n):
        y_bar = Y_bar[t]
        peak = max(peak, power[t])
        awake = awake or power[t] > 0.0
        for i in range(k):
            a[i] = products[i, t]
        combine(P[: t + 1], products[k:, t], a)
        come_to_rest(a, y_prev, mode, M, M_inv, L, y)
        learns = awake and not starts[t]
        rise = 2.0 * eta[t] if learns else 0.0
        step = a.dtype.type(rise * shortening(eta[t], power[t], mode.normalized))
        step_prev = a.dtype.type(rise * shortening(eta[t], power_prev, mode.normalized)) * share_x_prev
        own, overlap = a.dtype.type(power[t]), products[k + t, t] * step_prev
        along_x, along_x_prev = P[t + 1], P[t]
        square, square_after = 0.0, 0.0
        for i in range(k):
            y_bar[i] = y[i] + y_prev[i]
            along_x[i] = step * (share_x * y_bar[i] - a[i])
        for i in range(k):
            a_after[i] = a[i] + own * along_x[i] + overlap * y_bar[i]
            square += a[i] * a[i]
            square_after += a_after[i] * a_after[i]
        if t == usable or runs_away(square + square_after, peak):
            n = t
            break
        for i in range(k):
            along_x_prev[i] += step_prev * y_bar[i]
        track_power(square, n_seen + t + 1, rate[t], mode.window, state.current_power)
        if learns:
            if is_direct(mode.rule):
                lateral[t] = rate[t]
                update_inverse(M_inv, y_bar, 1.0 - rate[t], rate[t], staleness, scratch)
            else:
                learn_lateral(y, y_bar, rate[t], mode.rule, M, M_inv, L, staleness, scratch)
        y_prev[:] = y
        power_prev = power[t]
    if is_direct(mode.rule):
        blend_rows(M, Y_bar[:n], lateral)
        refresh(M, M_inv, staleness)
    return n
