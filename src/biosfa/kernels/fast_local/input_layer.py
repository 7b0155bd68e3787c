"""The input layer: Hebbian lateral weights L, and the activities x̃ = L⁻¹u at which the fast dynamics rest.

    L ← L + ρ(uuᵀ − L),    dx̃/ds = u − Lx̃

Done sample by sample, this reads and writes L and L⁻¹ once per sample, at the speed of memory. A block of B samples
needs three matrix products instead. With the weights d_t = ρ_t/c_t, c_t = Π_{s≤t}(1 − ρ_s), and D = diag(d), the
lateral weights after sample t of the block are L_t = c_t(L + U_tᵀD_tU_t). Let RRᵀ = D⁻¹ + UPUᵀ be a Cholesky
decomposition, with P = L⁻¹ before the block, and V = R⁻¹UP. Woodbury's formula then gives, for all samples at once,

    x̃_t = V_t/(c_t d_t R_tt),    P ← (P − VᵀV)/c_B,    L ← c_B(L + UᵀDU).
"""

import math

import numpy as np

from biosfa.kernels.jit import jit
from biosfa.typing import Float64Array, FloatArray

# Rounding errors of P grow by 1/(1 − ρ) per sample. P is computed from L before they have grown by e^1.5.
REFRESH_GROWTH = 1.5

# Standard deviation of the private noise of the input neurons, which have unit variance. Along a direction in which the
# input does not vary, nothing else would keep L positive definite and W small. The noise must be far below the least
# variance that carries a signal: 1e-6 disturbs no signal in a mixture of condition number 1e9.
PRIVATE_NOISE = 1e-6

# An input neuron saturates at so many standard deviations of its input, which its own L_jj knows. Otherwise the
# rounding errors of one huge sample would make P indefinite.
SATURATION = 1000.0

# The fast dynamics have come to rest when u − Lx̃ is this small, relative to u.
AT_REST = 1e-11
MOST_STEPS = 100_000


@jit
def receive(
    raw: FloatArray,
    n_seen: int,
    center: bool,
    window: float,
    mean: Float64Array,
    scale: Float64Array,
    rho: Float64Array,
    L: Float64Array,
    U: Float64Array,
) -> None:
    """U ← inputs of a block: centred by the mean through each row, scaled, with private noise, and saturated.

    ``n_seen`` rows came before. Each neuron follows its own mean, and what is beyond saturation does not count in it.
    The noise is uniform: the first bits of a hash of the numbers of the row and of the neuron.
    """
    n, m = raw.shape
    unit = PRIVATE_NOISE * math.sqrt(12.0) / 2.0**32
    most = SATURATION * SATURATION
    variance = np.empty(m)
    for j in range(m):
        variance[j] = L[j, j]
    for t in range(n):
        row = n_seen + t
        share = 1.0 / min(row + 1.0, window) if center else 0.0
        keep, first = 1.0 - share, row == 0
        for j in range(m):
            moved = raw[t, j] - mean[j]
            bits = (np.uint64(row) * np.uint64(0x9E3779B97F4A7C15)) ^ (np.uint64(j + 1) * np.uint64(0xC2B2AE3D27D4EB4F))
            bits = (bits ^ (bits >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
            bits = (bits ^ (bits >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
            u = scale[j] * keep * moved + unit * (float(bits >> np.uint64(32)) - 2.0**31)
            square = u * u
            if square > most * variance[j] and not first:
                part = math.sqrt(most * variance[j] / square)
                u, moved, square = part * u, part * moved, most * variance[j]
            mean[j] += share * moved
            variance[j] += rho[t] * (square - variance[j])
            U[t, j] = u


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
def relax(U: Float64Array, rho: Float64Array, L: Float64Array, X: FloatArray) -> None:
    """Do the same with the dynamics themselves, sample by sample: steps with momentum until they come to rest.

    Each neuron takes its step from the last one. The step is 1/λ with an upper bound λ of the eigenvalues of L: its
    largest row sum. The momentum grows as in Nesterov's method, and begins anew where the activity moves away from u.
    """
    n, m = U.shape
    moved, velocity = np.zeros(m), np.zeros(m)
    for t in range(n):
        u = U[t]
        bound = 0.0
        for i in range(m):
            total = 0.0
            for j in range(m):
                L[i, j] += rho[t] * (u[i] * u[j] - L[i, j])
                total += abs(L[i, j])
            bound = max(bound, total)
        size = math.sqrt(np.square(u).sum())
        x = np.zeros(m)
        velocity[:] = 0.0
        age = 0.0
        for _ in range(MOST_STEPS):
            momentum = age / (age + 3.0)
            ahead = x + momentum * velocity
            force = u - np.dot(L, ahead)
            if math.sqrt(np.square(force).sum()) <= AT_REST * size:
                x = ahead
                break
            moved = ahead + force / bound
            age = 0.0 if np.dot(force, moved - x) < 0.0 else age + 1.0
            velocity = moved - x
            x = moved
        X[t] = x
