"""Direct lateral synapses: Hebbian weights L, and the activities x̃ = L⁻¹u at which the fast dynamics rest.

    L ← L + ρ(uuᵀ − L),    dx̃/ds = u − Lx̃

Done sample by sample, this reads and writes L and L⁻¹ once per sample, at the speed of memory. A block of B samples
needs three matrix products instead. With the weights d_t = ρ_t/c_t, c_t = Π_{s≤t}(1 − ρ_s), and D = diag(d), the
lateral weights after sample t of the block are L_t = c_t(L + U_tᵀD_tU_t). Let RRᵀ = D⁻¹ + UPUᵀ be a Cholesky
decomposition, with P = L⁻¹ before the block, and V = R⁻¹UP. Woodbury's formula then gives, for all samples at once,

    x̃_t = V_t/(c_t d_t R_tt),    P ← (P − VᵀV)/c_B,    L ← c_B(L + UᵀDU).
"""

import math
from typing import NamedTuple

import numpy as np

from biosfa.kernels.input_layer.receptors import rate_of_lateral_weights, receive
from biosfa.kernels.jit import jit
from biosfa.typing import Float64Array, FloatArray

# Samples per block, and the number of columns from which matrix products are faster than single samples (measured).
BLOCK = 64
MANY_COLUMNS = 48

# Rounding errors of P grow by 1/(1 − ρ) per sample. P is computed from L before they have grown by e^1.5.
REFRESH_GROWTH = 1.5

# The fast dynamics have come to rest when u − Lx̃ is this small, relative to u, or is this many rounding errors of Lx̃.
# Then x̃ is L⁻¹u to nine digits, if the condition number of L is at most 1e6. They may take this number of steps, which
# is enough up to a condition number of about 1e7.
AT_REST, ROUNDING = 1e-13, 2.0
MOST_STEPS = 100_000
EPSILON = float(np.finfo(np.float64).eps)


class LateralState(NamedTuple):
    """An input layer of m neurons with direct lateral synapses. What adds up small changes is float64."""

    mean: Float64Array  # (m,) running mean of the unscaled input
    variance: Float64Array  # (m,) running ⟨u²⟩ of each neuron, the diagonal of L
    prior: Float64Array  # (1,) weight of the initial L = I in the present L
    seen: Float64Array  # (1,) samples learned from
    L: Float64Array  # (m, m) lateral weights
    P: Float64Array  # (m, m) L⁻¹
    staleness: Float64Array  # (1,) logarithm of the growth of rounding errors since P was last computed from L


def initial_state(m: int) -> LateralState:
    """Return an input layer with L = I."""
    return LateralState(np.zeros(m), np.ones(m), np.ones(1), np.zeros(1), np.eye(m), np.eye(m), np.zeros(1))


@jit
def learn(
    raw: FloatArray,
    n_seen: int,
    center: bool,
    window: float,
    scale: Float64Array,
    relaxes: bool,
    state: LateralState,
    U: FloatArray,
    X: FloatArray,
) -> bool:
    """Learn from samples of shape (n, m); write their inputs to U, and the settled activities to X.

    ``scale`` brings the columns to unit variance. The mean is that of ``n_seen`` rows. ``relaxes`` runs the fast
    dynamics instead of x̃ = L⁻¹u. Return whether they came to rest for every sample.
    """
    n, m = raw.shape
    rested = True
    inputs, activities, rho = np.empty((BLOCK, m)), np.empty((BLOCK, m)), np.empty(BLOCK)
    for begin in range(0, n, BLOCK):
        end = min(n, begin + BLOCK)
        length = end - begin
        for t in range(length):
            rho[t] = rate_of_lateral_weights(state.seen[0] + t + 1.0, window, m)
            state.prior[0] *= 1.0 - rho[t]
        u, x = inputs[:length], activities[:length]
        receive(raw[begin:end], n_seen + begin, center, window, state.mean, scale, rho, state.variance, u)
        if relaxes:
            rested = relax(u, rho, state.L, x) and rested
            state.staleness[0] = 2.0 * REFRESH_GROWTH  # P is not kept up
        else:
            if state.staleness[0] > REFRESH_GROWTH:
                refresh(state)
            if m < MANY_COLUMNS or length == 1:
                settle_each(u, rho, state.L, state.P, state.staleness, x)
            else:
                settle(u, rho, state.L, state.P, state.staleness, x)
        state.seen[0] += length
        for t in range(length):
            for j in range(m):
                U[begin + t, j] = u[t, j]
                X[begin + t, j] = x[t, j]
    return rested


@jit
def refresh(state: LateralState) -> None:
    """Compute P from L."""
    inverse = np.linalg.inv(state.L)
    state.P[:] = 0.5 * (inverse + inverse.T)
    state.staleness[0] = 0.0


@jit
def settle_each(
    U: Float64Array, rho: Float64Array, L: Float64Array, P: Float64Array, staleness: Float64Array, X: FloatArray
) -> None:
    """Do the same as :func:`settle` sample by sample, by the Sherman–Morrison formula: faster for few columns."""
    n, m = U.shape
    for t in range(n):
        u, x = U[t], X[t]
        power = 0.0
        for i in range(m):
            total = 0.0
            for j in range(m):
                total += P[i, j] * u[j]
            x[i] = total
            power += total * u[i]
        power = max(power, 0.0)  # rounding
        keep = 1.0 - rho[t]
        inverse = 1.0 / keep
        rest = 1.0 / (keep + rho[t] * power)
        for i in range(m):
            minus, plus = -rho[t] * rest * inverse * x[i], rho[t] * u[i]
            for j in range(m):
                P[i, j] = inverse * P[i, j] + minus * x[j]
                L[i, j] = keep * L[i, j] + plus * u[j]
        for i in range(m):
            x[i] *= rest
        staleness[0] += rho[t]


@jit
def settle(
    U: Float64Array, rho: Float64Array, L: Float64Array, P: Float64Array, staleness: Float64Array, X: FloatArray
) -> None:
    """Let L and P learn from a block of inputs, and write the settled activities to X."""
    n, m = U.shape
    V = np.dot(U, P)
    R = np.dot(V, U.T)
    d, scale = np.empty(n), np.empty(n)
    c = 1.0
    for t in range(n):
        c *= 1.0 - rho[t]
        d[t] = rho[t] / c
        scale[t] = 1.0 / rho[t]  # 1/(c d)
        R[t, t] += 1.0 / d[t]
        staleness[0] += rho[t]
    for t in range(n):  # Cholesky decomposition, and V ← R⁻¹V, row by row
        for s in range(t):
            total = R[t, s]
            for q in range(s):
                total -= R[t, q] * R[s, q]
            R[t, s] = total / R[s, s]
            for j in range(m):
                V[t, j] -= R[t, s] * V[s, j]
        total = R[t, t]
        for q in range(t):
            total -= R[t, q] * R[t, q]
        if total < 1.0 / d[t]:  # it is larger but for rounding errors of P, which has to be computed again
            total = 1.0 / d[t]
            staleness[0] = 2.0 * REFRESH_GROWTH
        R[t, t] = math.sqrt(total)
        inverse = 1.0 / R[t, t]
        for j in range(m):
            V[t, j] *= inverse
            X[t, j] = V[t, j] * (scale[t] * inverse)
    P -= np.dot(V.T, V)
    P /= c
    for t in range(n):
        for j in range(m):
            V[t, j] = d[t] * U[t, j]
    L += np.dot(V.T, U)
    L *= c


@jit
def relax(U: Float64Array, rho: Float64Array, L: Float64Array, X: Float64Array) -> bool:
    """Do the same with the dynamics themselves, sample by sample; return whether they always came to rest."""
    n, m = U.shape
    rested = True
    for t in range(n):
        for i in range(m):
            for j in range(m):
                L[i, j] += rho[t] * (U[t, i] * U[t, j] - L[i, j])
        rested = come_to_rest(U[t], L, X[t]) and rested
    return rested


@jit
def come_to_rest(u: Float64Array, L: Float64Array, x: Float64Array) -> bool:
    """Run dx̃/ds = u − Lx̃ with momentum until x̃ rests; return whether it does within the number of steps.

    Each neuron takes its step from the last one. The step is 1/λ with an upper bound λ of the eigenvalues of L: its
    largest row sum. The momentum grows as in Nesterov's method, and begins anew where the activity moves away from u.
    """
    bound = 0.0
    for i in range(len(u)):
        bound = max(bound, np.abs(L[i]).sum())
    size = math.sqrt(np.square(u).sum())
    x[:] = 0.0
    velocity = np.zeros_like(x)
    age = 0.0
    for _ in range(MOST_STEPS):
        momentum = age / (age + 3.0)
        ahead = x + momentum * velocity
        force = u - np.dot(L, ahead)
        rounding = ROUNDING * EPSILON * bound * math.sqrt(np.square(ahead).sum())
        if math.sqrt(np.square(force).sum()) <= max(AT_REST * size, rounding):
            x[:] = ahead
            return True
        velocity = ahead + force / bound - x
        age = 0.0 if np.dot(force, velocity) < 0.0 else age + 1.0
        x += velocity
    return False
