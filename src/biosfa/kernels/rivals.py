"""The rivals that the paper names, sample by sample: Incremental SFA, online generalized eigenvectors, the trace rule.

All of them keep running moments of their outputs: S of the outputs a, and D of their differences under the same
weights. The order and the slowness of the features are computed from these.
"""

import math
from typing import NamedTuple

import numpy as np

from biosfa.kernels.jit import jit
from biosfa.kernels.running import CURRENT, DIFFERENCE
from biosfa.typing import BoolArray, Float64Array

RECENT = 3.0  # moments look back over this part of the stream: a third

# Weng, Zhang & Hwang (2003): the amnesic average forgets how the components began. The samples between which it begins
# to, and how much more a new sample counts from then on.
AMNESIC_BEGIN, AMNESIC_END, AMNESIC = 20.0, 200.0, 3.0


LEAST_REST = 1e-20  # of a sample's power: what is left of it beyond that is rounding, and no new direction
DEFLATION = 4.0  # no generalized eigenvalue of (C_x̄x̄, C_xx) is larger


class IncrementalState(NamedTuple):
    """Incremental SFA: K principal components for whitening, then k minor components of the whitened difference."""

    mean: Float64Array  # (m,)
    x_prev: Float64Array  # (m,) the last sample, not centred
    V: Float64Array  # (K, m) principal components; their lengths are the variances
    W: Float64Array  # (k, K) minor components, of unit length
    G: Float64Array  # (K,) first principal component of the difference; its length is γ
    S: Float64Array  # (k, k)
    D: Float64Array  # (k, k)
    weights: Float64Array  # (2,) total weights of S and D


class GevState(NamedTuple):
    """The online generalized eigenvector of (C_x̄x̄, C_xx), a unit after the other."""

    mean: Float64Array  # (m,)
    x_prev: Float64Array  # (m,)
    W: Float64Array  # (k, m)
    P: Float64Array  # (k, m) running ⟨y x⟩ = C_xx w, which the units that follow are kept away from
    ratio: Float64Array  # (k, 2) running ⟨ȳ²⟩ and ⟨y²⟩
    power: Float64Array  # (1,) running mean of ‖x‖²
    S: Float64Array
    D: Float64Array
    weights: Float64Array


class TraceState(NamedTuple):
    """Földiák's network: weights, and traces of the activities."""

    mean: Float64Array  # (m,)
    x_prev: Float64Array  # (m,)
    W: Float64Array  # (k, m)
    trace: Float64Array  # (k,) ȳ
    y_prev: Float64Array  # (k,)
    S: Float64Array
    D: Float64Array
    weights: Float64Array


@jit
def amnesic_rate(n: float) -> float:
    """Share of the n-th sample in an amnesic average: (1 + μ)/n, μ rising from 0 to AMNESIC."""
    mu = AMNESIC * min(1.0, max(0.0, (n - AMNESIC_BEGIN) / (AMNESIC_END - AMNESIC_BEGIN)))
    return min(1.0, (1.0 + mu) / n)


@jit
def _take_moments(
    S: Float64Array, D: Float64Array, weights: Float64Array, a: Float64Array, a_prev: Float64Array, n: float, pair: bool
) -> None:
    """S and D as averages over the last third, with the weight that they have so far."""
    rate = min(1.0, RECENT / n)
    k = a.shape[0]
    for i in range(k):
        for j in range(k):
            S[i, j] += rate * (a[i] * a[j] - S[i, j])
            if pair:
                D[i, j] += rate * ((a[i] - a_prev[i]) * (a[j] - a_prev[j]) - D[i, j])
    weights[CURRENT] += rate * (1.0 - weights[CURRENT])
    if pair:
        weights[DIFFERENCE] += rate * (1.0 - weights[DIFFERENCE])


@jit
def _length(v: Float64Array) -> float:
    return math.sqrt(np.dot(v, v))


@jit
def _take_component(v: Float64Array, rest: Float64Array, u: Float64Array, rate: float) -> None:
    """A component after one sample, of which ``rest`` is left; what the component explains is taken from it.

    In three passes over both vectors: with all components, this is what Incremental SFA spends its time on.
    """
    square, along, power = 0.0, 0.0, 0.0
    for j in range(v.shape[0]):
        square += v[j] * v[j]
        along += rest[j] * v[j]
        power += rest[j] * rest[j]
    if square == 0.0:
        if power > LEAST_REST * np.dot(u, u):
            v[:] = rest
            rest[:] = 0.0
        return
    keep, gain = 1.0 - rate, rate * along / math.sqrt(square)
    square, along = 0.0, 0.0
    for j in range(v.shape[0]):
        v[j] = keep * v[j] + gain * rest[j]
        square += v[j] * v[j]
        along += rest[j] * v[j]
    share = along / square if square > 0.0 else 0.0
    for j in range(v.shape[0]):
        rest[j] -= share * v[j]


@jit
def learn_incremental(
    state: IncrementalState, X: Float64Array, starts: BoolArray, n_seen: int, eta: Float64Array
) -> None:
    """Incremental SFA (Kompella, Luciw & Schmidhuber 2012); ``eta`` is the rate of the minor components."""
    mean, x_prev, V, W, G, S, D, weights = state
    K, k = V.shape[0], W.shape[0]
    z, z_prev = np.zeros(K), np.zeros(K)
    a, a_prev = np.zeros(k), np.zeros(k)
    for t in range(X.shape[0]):
        n = n_seen + t + 1.0
        rate = amnesic_rate(n)
        x = X[t]
        for j in range(mean.shape[0]):
            mean[j] += rate * (x[j] - mean[j])
        u = x - mean
        # candid covariance-free PCA: v ← (1 − r)v + r(u·v/‖v‖)u, and what v explains is taken from u for the next
        rest = u.copy()
        for i in range(min(K, n_seen + t + 1)):
            _take_component(V[i], rest, u, rate)
        # whitening: a component of length λ has variance λ
        u_prev = x_prev - mean
        for i in range(K):
            square, along, along_prev = 0.0, 0.0, 0.0
            for j in range(mean.shape[0]):
                square += V[i, j] * V[i, j]
                along += V[i, j] * u[j]
                along_prev += V[i, j] * u_prev[j]
            scale = square**-0.75 if square > 0.0 else 0.0
            z[i] = scale * along
            z_prev[i] = scale * along_prev
        pair = not starts[t]
        if pair:
            z_dot = z - z_prev
            length = _length(G)
            G[:] = (1.0 - rate) * G + rate * (np.dot(z_dot, G) / length if length > 0.0 else 1.0) * z_dot
            gamma = _length(G)
            # normalised, so that no large sample turns a component over
            step = eta[t] / (1.0 + eta[t] * np.dot(z_dot, z_dot))
            for i in range(k):
                # minor components: w ← (1 − η)w − η[(ż·w)ż + γΣ_{j<i}(w_j·w)w_j], of unit length
                push = np.dot(z_dot, W[i]) * z_dot
                for j in range(i):
                    push = push + gamma * np.dot(W[j], W[i]) * W[j]
                W[i] = (1.0 - step) * W[i] - step * push
                W[i] /= _length(W[i])
        for i in range(k):
            a[i], a_prev[i] = np.dot(W[i], z), np.dot(W[i], z_prev)
        _take_moments(S, D, weights, a, a_prev, n, pair)
        x_prev[:] = x


@jit
def learn_gev(state: GevState, X: Float64Array, starts: BoolArray, n_seen: int, eta: Float64Array) -> None:
    """The rule w ← w + η(Aw − (wᵀAw/wᵀBw)Bw) for A = C_x̄x̄, B = C_xx, both from one sample; then deflation."""
    mean, x_prev, W, P, ratio, power, S, D, weights = state
    k = W.shape[0]
    a, a_prev = np.zeros(k), np.zeros(k)
    for t in range(X.shape[0]):
        n = n_seen + t + 1.0
        x = X[t]
        for j in range(mean.shape[0]):
            mean[j] += (x[j] - mean[j]) / n
        u, u_prev = x - mean, x_prev - mean
        power[0] += (np.dot(u, u) - power[0]) / n
        pair = not starts[t]
        rate = amnesic_rate(n)
        unit = mean.shape[0] / power[0] if power[0] > 0.0 else 0.0  # rates refer to input of unit variance
        for i in range(k):
            y, y_prev = np.dot(W[i], u), np.dot(W[i], u_prev)
            if pair:
                y_bar = y + y_prev
                ratio[i, 0] += rate * (y_bar * y_bar - ratio[i, 0])
                ratio[i, 1] += rate * (y * y - ratio[i, 1])
                # deflation: A − 4Σ_{j<i} p_j p_jᵀ/⟨y_j²⟩, p_j = C_xx w_j, has the earlier features last
                push = np.zeros(mean.shape[0])
                deflated = ratio[i, 0]
                for j in range(i):
                    if ratio[j, 1] > 0.0:
                        share = np.dot(P[j], W[i])
                        push += (DEFLATION * share / ratio[j, 1]) * P[j]
                        deflated -= DEFLATION * share * share / ratio[j, 1]
                quotient = deflated / ratio[i, 1] if ratio[i, 1] > 0.0 else 0.0
                step = eta[t] * unit
                step /= 1.0 + step * (abs(quotient) + DEFLATION) * np.dot(u, u)
                length = _length(W[i])
                W[i] += step * (y_bar * (u + u_prev) - push - (quotient * y) * u)
                # the rule does not care for the length of w: it is kept, or noise would make it grow, and set anew
                # where the variance of the output is far from 1
                W[i] *= length / _length(W[i])
                if ratio[i, 1] > 0.0 and not 0.5 < ratio[i, 1] < 2.0:
                    scale = ratio[i, 1] ** -0.5
                    W[i] *= scale
                    P[i] *= scale
                    ratio[i] *= scale * scale
                    for moments in (S, D):
                        moments[i, :] *= scale
                        moments[:, i] *= scale
                y, y_prev = np.dot(W[i], u), np.dot(W[i], u_prev)
            a[i], a_prev[i] = y, y_prev
            P[i] += rate * (y * u - P[i])
        _take_moments(S, D, weights, a, a_prev, n, pair)
        x_prev[:] = x


@jit
def learn_trace(
    state: TraceState, X: Float64Array, starts: BoolArray, n_seen: int, eta: Float64Array, delta: float, quoted: bool
) -> None:
    """Földiák's trace rule, w ← w + η ȳ(x − w), where the unit with the largest w·x is active, and no other.

    The trace is ȳ ← (1 − δ)ȳ + δy; as quoted in the paper it is ȳ_t = y_t + y_{t−1}. Input is not centred: activities
    have a mean, and the decay lives on it. Only the moments that features are read from are those of centred input.
    """
    mean, x_prev, W, trace, y_prev, S, D, weights = state
    k = W.shape[0]
    a, a_prev = np.zeros(k), np.zeros(k)
    for t in range(X.shape[0]):
        n = n_seen + t + 1.0
        x = X[t]
        for j in range(mean.shape[0]):
            mean[j] += (x[j] - mean[j]) / n
        u, u_prev = x - mean, x_prev - mean
        winner, largest = 0, -np.inf
        for i in range(k):
            response = np.dot(W[i], x)
            if response > largest:
                winner, largest = i, response
        pair = not starts[t]
        for i in range(k):
            y = 1.0 if i == winner else 0.0
            before = y_prev[i] if pair else 0.0
            trace[i] = y + before if quoted else (1.0 - delta) * (trace[i] if pair else 0.0) + delta * y
            step = eta[t] * trace[i]
            W[i] += min(step, 1.0) * (x - W[i])
            y_prev[i] = y
            a[i], a_prev[i] = np.dot(W[i], u), np.dot(W[i], u_prev)
        _take_moments(S, D, weights, a, a_prev, n, pair)
        x_prev[:] = x
