"""Algorithms 1 and 2, one sample after the other: for small networks, and for single samples of any network."""

from typing import Any

import numpy as np

from biosfa.kernels.jit import jit
from biosfa.kernels.local.lines import prepare, runs_away, shortening, track_power
from biosfa.kernels.local.rules import come_to_rest, is_direct, learn_lateral, shares
from biosfa.kernels.local.state import Mode, State
from biosfa.typing import BoolArray, FloatArray

# Rows centred at a time: enough to amortise the call, few enough to stay in the first-level cache.
BLOCK = 64


def learn(
    raw: FloatArray,
    starts: BoolArray,
    eta: FloatArray,
    rate: FloatArray,
    n_seen: int,
    mode: Mode,
    state: State,
) -> int:
    """Learn from the rows of ``raw``, changing ``state`` in place.

    Parameters
    ----------
    raw : (n, m)
        Samples, not centred.
    starts : (n,)
        Whether a row begins an episode: it is stored, and no update is made.
    eta, rate : (n,)
        η and η/τ of each row.
    n_seen : int
        Rows seen before.
    mode, state
        See :mod:`biosfa.kernels.local.state`.

    Returns
    -------
    int
        Rows learned from: n, or fewer if the network diverged there. The state is then the one before that row.
    """
    kernel = _learn_single if is_single(mode, state) else _learn
    return kernel(raw, starts, eta, rate, n_seen, mode, state)


def learn_one(sample: FloatArray, eta: float, rate: float, n_seen: int, mode: Mode, state: State) -> bool:
    """:func:`learn` for one sample that continues an episode; False if it was not learned from."""
    # plain tuples pass into compiled code twice as fast as named ones
    return _learn_one(sample, eta, rate, n_seen, tuple(mode), tuple(state))


@jit
def is_single(mode: Mode, state: State) -> bool:
    """Whether the network is one linear output that inhibits itself directly."""
    return len(state.M) == 1 and is_direct(mode.rule)


@jit
def _learn(
    raw: FloatArray, starts: BoolArray, eta: FloatArray, rate: FloatArray, n_seen: int, mode: Mode, state: State
) -> int:
    W, y_prev = state.W, state.y_prev[0]
    M, M_inv, L, staleness = state.M, state.M_inv, state.L, state.staleness
    k, width = W.shape
    zero = W.dtype.type(0.0)
    share_x, share_x_prev = shares(mode.rule)
    X = np.zeros((min(BLOCK, len(raw)) + 1, width), W.dtype)
    X[0] = state.x_prev[0]
    power = np.empty(BLOCK)
    power_prev = float(np.square(X[0]).sum())
    a, y, y_bar, scratch = np.empty_like(y_prev), np.empty_like(y_prev), np.empty_like(y_prev), np.empty_like(y_prev)
    along_x, along_x_prev = np.empty_like(y_prev), np.empty_like(y_prev)
    mean_before = np.empty_like(state.mean)
    for begin in range(0, len(raw), BLOCK):
        rows = raw[begin : begin + BLOCK]
        mean_before[:] = state.mean
        power_before, peak_before = state.mean_power[0], state.peak_power[0]
        usable = prepare(rows, n_seen, mode, state.mean, state.mean_power, state.peak_power, X[1:], power)
        peak = peak_before
        awake = not mode.relative or power_before > 0.0
        for b in range(len(rows)):
            t = begin + b
            x, x_prev = X[b + 1], X[b]
            peak = max(peak, power[b])
            awake = awake or power[b] > 0.0
            square, square_after, overlap = 0.0, 0.0, zero
            for i in range(k):
                current = zero
                for j in range(width):
                    current += W[i, j] * x[j]
                a[i] = current
                square += a[i] * a[i]
            for j in range(width):
                overlap += x[j] * x_prev[j]
            come_to_rest(a, y_prev, mode, M, M_inv, L, y)
            learns = awake and not starts[t]
            rise = 2.0 * eta[t] if learns else 0.0
            step = rise * shortening(eta[t], power[b], mode.normalized)
            step_prev = rise * share_x_prev * shortening(eta[t], power_prev, mode.normalized)
            for i in range(k):
                y_bar[i] = y[i] + y_prev[i]
                along_x[i] = step * (share_x * y_bar[i] - a[i])
                along_x_prev[i] = step_prev * y_bar[i]
                a_after = a[i] + along_x[i] * power[b] + along_x_prev[i] * overlap
                square_after += a_after * a_after
            if b == usable or runs_away(square + square_after, peak):
                state.x_prev[0] = x_prev
                state.mean[:] = mean_before
                state.mean_power[0], state.peak_power[0] = power_before, peak_before
                prepare(rows[:b], n_seen, mode, state.mean, state.mean_power, state.peak_power, X[1:], power)
                return t
            track_power(square, n_seen + b + 1, rate[t], mode.window, state.current_power)
            if learns:
                for i in range(k):
                    for j in range(width):
                        W[i, j] += along_x[i] * x[j] + along_x_prev[i] * x_prev[j]
                learn_lateral(y, y_bar, rate[t], mode.rule, M, M_inv, L, staleness, scratch)
            y_prev[:] = y
            power_prev = power[b]
        n_seen += len(rows)
        X[0] = X[len(rows)]
    state.x_prev[0] = X[0]
    return len(raw)


@jit
def _learn_single(
    raw: FloatArray, starts: BoolArray, eta: FloatArray, rate: FloatArray, n_seen: int, mode: Mode, state: State
) -> int:
    """K = 1: M is a number (its fast dynamics settle in one step), and the chain of dependent operations is cut short.

    W is applied one update late, W_{t−1} = W_{t−2} + c xᵀ_{t−1} + d xᵀ_{t−2}, so that the products with x_t need not
    wait for the output before: a_t = W_{t−2}x_t + c(x_{t−1}·x_t) + d(x_{t−2}·x_t).
    """
    w = state.W[0]
    width = len(w)
    zero = w.dtype.type(0.0)
    share_x, share_x_prev = shares(mode.rule)
    X = np.zeros((min(BLOCK, len(raw)) + 2, width), w.dtype)
    X[1] = state.x_prev[0]
    power = np.empty(BLOCK)
    power_prev = float(np.square(X[1]).sum())
    mean_before = np.empty_like(state.mean)
    m, y_prev = state.M[0, 0], state.y_prev[0, 0]
    late_1, late_2 = 0.0, 0.0
    done = 0
    diverged = False
    while done < len(raw) and not diverged:
        rows = raw[done : done + BLOCK]
        mean_before[:] = state.mean
        power_before, peak_before = state.mean_power[0], state.peak_power[0]
        usable = prepare(rows, n_seen, mode, state.mean, state.mean_power, state.peak_power, X[2:], power)
        peak = peak_before
        awake = not mode.relative or power_before > 0.0
        n = len(rows)
        for b in range(n):
            t = done + b
            x, x_1, x_2 = X[b + 2], X[b + 1], X[b]
            peak = max(peak, power[b])
            awake = awake or power[b] > 0.0
            late_x_1, late_x_2 = w.dtype.type(late_1), w.dtype.type(late_2)
            current, overlap, overlap_2 = zero, zero, zero
            for j in range(width):
                current += w[j] * x[j]
                overlap += x_1[j] * x[j]
                overlap_2 += x_2[j] * x[j]
            for j in range(width):
                w[j] += late_x_1 * x_1[j] + late_x_2 * x_2[j]
            a = current + late_1 * overlap + late_2 * overlap_2
            y = a / m
            y_bar = y + y_prev
            learns = awake and not starts[t]
            rise = 2.0 * eta[t] if learns else 0.0
            late_1 = rise * shortening(eta[t], power[b], mode.normalized) * (share_x * y_bar - a)
            late_2 = rise * shortening(eta[t], power_prev, mode.normalized) * share_x_prev * y_bar
            a_after = a + late_1 * power[b] + late_2 * overlap
            if b == usable or runs_away(a * a + a_after * a_after, peak):
                diverged = True
                late_1, late_2 = 0.0, 0.0
                n = b
                state.mean[:] = mean_before
                state.mean_power[0], state.peak_power[0] = power_before, peak_before
                prepare(rows[:b], n_seen, mode, state.mean, state.mean_power, state.peak_power, X[2:], power)
                break
            track_power(a * a, n_seen + b + 1, rate[t], mode.window, state.current_power)
            if learns:
                m += rate[t] * (y_bar * y_bar - m)
            y_prev = y
            power_prev = power[b]
        done += n
        n_seen += n
        X[0] = X[n]
        X[1] = X[n + 1]
    for j in range(width):
        w[j] += late_1 * X[1, j] + late_2 * X[0, j]
    state.x_prev[0] = X[1]
    state.M[0, 0], state.M_inv[0, 0] = m, 1.0 / m
    state.y_prev[0, 0] = y_prev
    return done


@jit
def _learn_one(
    sample: FloatArray, eta: float, rate: float, n_seen: int, mode: tuple[Any, ...], state: tuple[Any, ...]
) -> bool:
    row = np.ascontiguousarray(sample).reshape(1, -1)
    continues, etas, rates = np.zeros(1, np.bool_), np.full(1, eta), np.full(1, rate)
    network = State(*state)
    variant = Mode(*mode)
    if is_single(variant, network):
        return _learn_single(row, continues, etas, rates, n_seen, variant, network) == 1
    return _learn(row, continues, etas, rates, n_seen, variant, network) == 1
