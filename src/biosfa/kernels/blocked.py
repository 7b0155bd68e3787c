"""Algorithms 1 and 2 in blocks, with the result of the sequential kernel: for large networks.

Within a block W changes only along the block's own samples, W_t = W_0 + PᵀX, where the rows of X are x_{t0−1} and the
block's samples, and the rows of P collect the coefficients of ``along``. So a_t = W_0 x_t + Pᵀ(X x_t): one product of
the stacked [W; X] with the samples gives W_0 x_t and the Gram matrix together, a recurrence on k-vectors gives P, and a
second product folds P back into W. Memory-bound work on W becomes two matrix products.
"""

import numpy as np
from scipy.linalg.blas import get_blas_funcs

from biosfa.kernels._jit import jit
from biosfa.kernels.lines import (
    REFRESH_GROWTH,
    absolute,
    along,
    blend_rows,
    centre,
    combine,
    forgetting,
    multiply,
    refresh,
    runs_away,
    shortening,
    update_inverse,
    watch,
)
from biosfa.kernels.state import CURRENT, DIFFERENCE, MEAN_POWER, PEAK_POWER, Mode, State
from biosfa.typing import BoolArray, FloatArray

# Samples in a block: the Gram matrix costs BLOCK/2k of the two products with W, and small blocks use the BLAS poorly.
BLOCK = 32


def learn(
    raw: FloatArray, starts: BoolArray, eta: FloatArray, rate: FloatArray, n_seen: int, mode: Mode, state: State
) -> int:
    """Learn from the rows of ``raw``; as :func:`biosfa.kernels.sequential.learn`, without ``mode.euler``."""
    k, width = state.W.shape
    dtype = state.W.dtype
    gemm = get_blas_funcs("gemm", dtype=dtype)
    Z = np.zeros((k + 1 + BLOCK, width), dtype)  # W, x_{t0−1}, and the block's samples
    W, X = Z[:k], Z[k:]
    W[:] = state.W
    X[0] = state.x_prev[0]
    P = np.empty((1 + BLOCK, k))
    power = np.empty(BLOCK)
    done, diverged = 0, False
    while done < len(raw) and not diverged:
        block = slice(done, done + _length(rate[done : done + BLOCK]))
        rows = raw[block]
        n = len(rows)
        mean_before = state.mean.copy()
        centre(rows, n_seen, mode.center, state.mean, X[1:], power)
        # BLAS works on columns: these transposes are views, and Zᵀ is to it what Z is to us
        products = gemm(1.0, X[1 : n + 1].T, Z[: k + 1 + n].T, trans_a=True).T
        learned = _recur(products, starts[block], eta[block], rate[block], n_seen, mode, state, power, P)
        gemm(1.0, X[: learned + 1].T, P[: learned + 1].astype(dtype), beta=1.0, c=W.T, overwrite_c=True)
        diverged = learned < n
        if diverged:
            state.mean[:] = mean_before
            centre(rows[:learned], n_seen, mode.center, state.mean, X[1:], power)
        X[0] = X[learned]
        done += learned
        n_seen += learned
    state.W[:] = W
    state.x_prev[0] = X[0]
    return done


def _length(rate: FloatArray) -> int:
    """Samples before the rounding errors of Sherman–Morrison grow too large: all, unless η/τ comes near 1."""
    if rate.max() * len(rate) < REFRESH_GROWTH / 2:
        return len(rate)
    growth = -np.log1p(-rate).cumsum()
    return max(1, int(np.searchsorted(growth, REFRESH_GROWTH)))


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
    P: FloatArray,
) -> int:
    """The recurrence of one block: fills P, moves M and the outputs on; returns the samples learned from.

    Row i < k of ``products`` is (W_0 x_t)_i; row k + s is x_{t0−1+s}·x_t. M and the moments, which nothing in the
    block needs, are left to its end.
    """
    M_inv, gauge, a_prev = state.M_inv, state.gauge, state.a_prev
    y_prev = state.y_prev[0]
    k, n = len(M_inv), len(starts)
    A = np.empty((n, k))
    A_dot = np.empty((n, k))
    Y_bar = np.zeros((n, k))
    lateral = np.zeros(n)
    rho = np.empty(n)
    y = np.empty(k)
    scratch = np.empty(k)
    P[:] = 0.0
    for t in range(n):
        a, y_bar = A[t], Y_bar[t]
        watch(power[t], n_seen + t + 1, gauge)
        for i in range(k):
            a[i] = products[i, t]
        combine(P[: t + 1], products[k : k + t + 1, t], a)
        square = 0.0
        for i in range(k):
            square += a[i] * a[i]
        if runs_away(square, gauge[PEAK_POWER]):
            n = t
            break
        for i in range(k):
            A_dot[t, i] = a[i] - a_prev[i]
            a_prev[i] = a[i]
        multiply(M_inv, a, y)
        rho[t] = forgetting(n_seen + t + 1, rate[t])
        eta_t = 0.0 if starts[t] else absolute(eta[t], gauge[MEAN_POWER], mode.relative)
        if eta_t > 0.0:
            short = shortening(eta_t, power[t], mode.normalized)
            overlap = products[k + t, t]
            for i in range(k):
                y_bar[i] = y[i] + y_prev[i]
                along_x, along_x_prev = along(y_bar[i], a[i], 2.0 * eta_t * short, mode.reversible)
                P[t + 1, i] += along_x
                P[t, i] += along_x_prev
                a_prev[i] += along_x * power[t] + along_x_prev * overlap
            lateral[t] = rate[t] * short
            update_inverse(M_inv, y_bar, 1.0 - lateral[t], lateral[t], gauge, scratch)
        y_prev[:] = y
    blend_rows(state.M, Y_bar[:n], lateral)
    refresh(state.M, M_inv, gauge)
    keep = blend_rows(state.S, A[:n], rho)
    state.weights[CURRENT] = 1.0 - keep * (1.0 - state.weights[CURRENT])
    rho[starts] = 0.0  # an episode's first sample has no difference
    keep = blend_rows(state.D, A_dot[:n], rho)
    state.weights[DIFFERENCE] = 1.0 - keep * (1.0 - state.weights[DIFFERENCE])
    return n
