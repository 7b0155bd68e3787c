"""The lines of Algorithms 1 and 2 that every learning kernel shares, one small compiled function each."""

import math

import numpy as np

from biosfa.kernels.jit import jit
from biosfa.kernels.local.state import CURRENT, DIFFERENCE, MEAN_POWER, PEAK_POWER, STALENESS, Mode
from biosfa.typing import FloatArray

# M⁻¹ is carried by Sherman–Morrison for at most this many steps, and for so many that (1 − η/τ)^−t, the growth of its
# rounding errors, stays below e² ≈ 7: then all but two digits survive, and it is computed afresh from M.
REFRESH_STEPS = 512
REFRESH_GROWTH = 2.0

# A current this many times larger than any that start weights could give (|a| ≲ ‖x‖) or a white output needs (a = My,
# M ≤ 4) is that of a network that diverges.
RUNAWAY = 1e4
OVERFLOW = 1e300

# The running moments look back over a third of the stream, or over ten windows τ/η of M where that is shorter.
LOOK_BACK = 3.0
WINDOWS = 0.1

# The fast dynamics stop when no neuron moves by more than this, relative to the largest, in units of the precision.
SETTLED = 16.0
MAX_STEPS = 100_000

# An output that cannot be negative and is silent inhibits itself less and less. It stops here, well below the M_ii of
# order 1 that active outputs have: else the first sample that wakes it would make it explode.
LEAST_INHIBITION = 0.05


@jit
def centre(
    raw: FloatArray, n_seen: int, center: bool, window: float, mean: FloatArray, X: FloatArray, power: FloatArray
) -> None:
    """X ← raw − the running mean through each row, and power ← ‖x‖²; ``n_seen`` rows came before.

    Inside the block the mean is carried as a sum of deviations from where it began: a row waits for one addition only,
    and a float32 X loses little to a large offset. A mean that forgets has to go row by row.
    """
    n, m = raw.shape
    if n == 0:
        return
    if center and n_seen == 0:
        for j in range(m):
            mean[j] = raw[0, j]
    if center and n_seen + n > window:
        for t in range(n):
            share = 1.0 / min(float(n_seen + t + 1), window)
            total = 0.0
            for j in range(m):
                mean[j] += share * (raw[t, j] - mean[j])
                X[t, j] = raw[t, j] - mean[j]
                total += X[t, j] * X[t, j]
            power[t] = total
        return
    if raw.itemsize == 4 and X.itemsize == 4:
        subtract(raw, mean.astype(np.float32), X)
    else:
        subtract(raw, mean, X)
    drift = np.zeros(mean.shape[0], X.dtype)
    for t in range(n):
        inverse = X.dtype.type(1.0 / (n_seen + t + 1) if center else 0.0)
        square = X.dtype.type(0.0)
        for j in range(drift.shape[0]):
            drift[j] += X[t, j]
            x = X[t, j] - inverse * drift[j]
            X[t, j] = x
            square += x * x
        power[t] = square
    if center:
        for j in range(m):
            mean[j] += drift[j] / (n_seen + n)


@jit
def subtract(raw: FloatArray, offset: FloatArray, X: FloatArray) -> None:
    """X ← raw − offset, in the precision of these two."""
    for t in range(raw.shape[0]):
        for j in range(raw.shape[1]):
            X[t, j] = raw[t, j] - offset[j]


@jit
def add_scatter_of_columns(rows: FloatArray, count: float, mean: FloatArray, scatter: FloatArray) -> float:
    """Mean and Σ(x − mean)² of each column (Welford 1962), ``count`` rows being in them; returns how many are then.

    As long as nothing varies, all rows count as one.
    """
    silent = count == 0.0 or not scatter.any()
    for t in range(len(rows)):
        if silent and count > 0.0:
            silent = True
            for j in range(len(mean)):
                silent = silent and rows[t, j] == mean[j]
            if silent:
                continue
        count += 1.0
        for j in range(len(mean)):
            deviation = rows[t, j] - mean[j]
            mean[j] += deviation / count
            scatter[j] += deviation * (rows[t, j] - mean[j])
    return count


@jit
def prepare(
    raw: FloatArray, n_seen: int, mode: Mode, mean: FloatArray, gauge: FloatArray, X: FloatArray, power: FloatArray
) -> int:
    """Rows as the network sees them: centred, and in relative mode divided by the running root mean square.

    ``power`` is ‖x‖² of these rows; mean and gauge move on past them. Returns how many come before one that overflows.
    """
    centre(raw, n_seen, mode.center, mode.window, mean, X, power)
    n, total = len(raw), gauge[MEAN_POWER] * min(float(n_seen), mode.window)
    usable = n
    block = 0.0
    for t in range(n):
        block += power[t]
    if not total + block < OVERFLOW:
        usable = 0
        while usable < n and power[usable] < OVERFLOW:
            usable += 1
    if mode.relative:
        for t in range(n):
            count = min(float(n_seen + t + 1), mode.window)
            gauge[MEAN_POWER] += (power[t] - gauge[MEAN_POWER]) / count
            power[t] *= rescale(X[t], gauge[MEAN_POWER], raw.shape[1]) ** 2
    elif n > 0:  # here it only serves messages
        gauge[MEAN_POWER] = (total + block) / (min(float(n_seen), mode.window) + n)
    if n > 0:
        gauge[PEAK_POWER] = max(gauge[PEAK_POWER], power[:n].max())
    return usable


@jit
def rescale(x: FloatArray, mean_power: float, m: float) -> float:
    """Bring a sample to unit mean variance, in place; returns the factor, 0 as long as the input has been silent."""
    factor = math.sqrt(m / mean_power) if mean_power > 0.0 else 0.0
    scale = x.dtype.type(factor)
    for j in range(len(x)):
        x[j] *= scale
    return factor


@jit
def shortening(eta: float, power: float, normalized: bool) -> float:
    """Factor by which the normalised step shortens what is learned along a sample: 1/(1 + 2η‖x‖²).

    It belongs to the sample, whether that is x_t or x_{t−1}: what x_s adds to W over two updates is then
    2η(ȳ_s + ȳ_{s+1} − a_s) times one factor, and where y is slow this difference nearly vanishes, x_s large or not.
    """
    return 1.0 / (1.0 + 2.0 * eta * power) if normalized else 1.0


@jit
def shares(reversible: bool) -> tuple[float, float]:
    """How often ȳ enters ΔW along x_t and along x_{t−1}.

    ΔW = 2η(ȳx̄ᵀ − axᵀ) = 2η[(ȳ − a)x_tᵀ + ȳx_{t−1}ᵀ], or 2η(2ȳ − a)x_tᵀ for reversible processes.
    """
    return (2.0, 0.0) if reversible else (1.0, 1.0)


@jit
def runs_away(square: float, peak_power: float) -> bool:
    """Whether a dendritic current of this ‖a‖² shows divergence; true for NaN and overflow as well."""
    return not square <= min(RUNAWAY * RUNAWAY * (1.0 + peak_power), OVERFLOW)


@jit
def multiply(matrix: FloatArray, vector: FloatArray, out: FloatArray) -> None:
    """Out ← matrix · vector, four rows at a time to share the loads of the vector."""
    k = vector.shape[0]
    whole = k // 4 * 4
    zero = matrix.dtype.type(0.0)
    for i in range(0, whole, 4):
        row_0, row_1, row_2, row_3 = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        sum_0, sum_1, sum_2, sum_3 = zero, zero, zero, zero
        for j in range(k):
            sum_0 += row_0[j] * vector[j]
            sum_1 += row_1[j] * vector[j]
            sum_2 += row_2[j] * vector[j]
            sum_3 += row_3[j] * vector[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = sum_0, sum_1, sum_2, sum_3
    for i in range(whole, k):
        total = zero
        for j in range(k):
            total += matrix[i, j] * vector[j]
        out[i] = total


@jit
def combine(rows: FloatArray, coefficients: FloatArray, out: FloatArray) -> None:
    """Out ← out + Σ coefficient · row, four rows at a time to share the loads and stores of ``out``."""
    n, k = len(rows), len(out)
    whole = n // 4 * 4
    for s in range(0, whole, 4):
        row_0, row_1, row_2, row_3 = rows[s], rows[s + 1], rows[s + 2], rows[s + 3]
        c_0, c_1, c_2, c_3 = coefficients[s], coefficients[s + 1], coefficients[s + 2], coefficients[s + 3]
        for i in range(k):
            out[i] += c_0 * row_0[i] + c_1 * row_1[i] + c_2 * row_2[i] + c_3 * row_3[i]
    for s in range(whole, n):
        for i in range(k):
            out[i] += coefficients[s] * rows[s, i]


@jit
def blend(matrix: FloatArray, keep: float, gain: float, vector: FloatArray) -> None:
    """Matrix ← keep · matrix + gain · vector vectorᵀ."""
    kept = matrix.dtype.type(keep)
    for i in range(vector.shape[0]):
        scale = matrix.dtype.type(gain * vector[i])
        for j in range(vector.shape[0]):
            matrix[i, j] = kept * matrix[i, j] + scale * vector[j]


@jit
def iterates(mode: Mode) -> bool:
    """Whether it takes iterations to find where the fast dynamics rest; else y = M⁻¹a."""
    return mode.euler or mode.nonnegative


@jit
def iterate(a: FloatArray, M: FloatArray, L: FloatArray, y_prev: FloatArray, mode: Mode, y: FloatArray) -> None:
    """Y ← where the fast dynamics come to rest that begin at the outputs before: M⁻¹a, or the best y ≥ 0."""
    y[:] = y_prev
    if not mode.euler:
        descend(M, a, y)
    elif mode.interneurons:
        settle_interneurons(L, a, y)
    else:
        settle(M, a, y, mode.nonnegative)


@jit
def learn_nonnegative(M: FloatArray, y_bar: FloatArray, rate: float) -> None:
    """M ← M + (η/τ)(ȳȳᵀ − M), the diagonal not below its least."""
    blend(M, 1.0 - rate, rate, y_bar)
    keep_inhibition(M)


@jit
def keep_inhibition(M: FloatArray) -> None:
    """Every output inhibits itself at least a little."""
    for i in range(len(M)):
        M[i, i] = max(M[i, i], LEAST_INHIBITION)


@jit
def settle(M: FloatArray, a: FloatArray, y: FloatArray, nonnegative: bool) -> None:
    """Run dy/dγ = a − My from ``y`` to equilibrium by Euler steps of 1/‖M‖∞, below the limit 2/λ_max(M), in place.

    Where outputs may not be negative, every step ends at 0 at the lowest.
    """
    k = a.shape[0]
    norm = 0.0
    for i in range(k):
        norm = max(norm, np.abs(M[i]).sum())
    gamma = 1.0 / norm
    tolerance = SETTLED * np.finfo(y.dtype).eps
    drive = np.empty_like(a)
    for _ in range(MAX_STEPS):
        multiply(M, y, drive)
        moved = 0.0
        largest = 0.0
        for i in range(k):
            before = y[i]
            y[i] += gamma * (a[i] - drive[i])
            if nonnegative:
                y[i] = max(y[i], 0.0)
            moved = max(moved, abs(y[i] - before))
            largest = max(largest, abs(y[i]))
        if not moved > tolerance * largest:
            return


@jit
def settle_interneurons(L: FloatArray, a: FloatArray, y: FloatArray) -> None:
    """Run dy/dγ = a − Lz, dz/dγ = Lᵀy − z from ``y`` and its z to equilibrium, in place: y = (LLᵀ)⁻¹a.

    A mode of L with the singular value σ turns and decays by |1 + γλ|² = 1 − γ + γ²σ² a step, or decays for σ < ½:
    steps of 1/2(1 + ‖L‖²) are stable.
    """
    k = a.shape[0]
    gamma = 0.5 / (1.0 + np.square(L).sum())
    tolerance = SETTLED * np.finfo(y.dtype).eps
    z = np.zeros(k)
    drive = np.zeros(k)
    for i in range(k):
        for n in range(k):
            z[n] += L[i, n] * y[i]
    for _ in range(MAX_STEPS):
        drive[:] = -z
        moved = 0.0
        largest = 0.0
        for i in range(k):
            inhibition = 0.0
            for n in range(k):
                inhibition += L[i, n] * z[n]
                drive[n] += L[i, n] * y[i]
            change = gamma * (a[i] - inhibition)
            y[i] += change
            moved = max(moved, abs(change))
            largest = max(largest, abs(y[i]))
        for n in range(k):
            z[n] += gamma * drive[n]
            moved = max(moved, abs(gamma * drive[n]))
        if not moved > tolerance * largest:
            return


@jit
def descend(M: FloatArray, a: FloatArray, y: FloatArray) -> None:
    """Minimise ½yᵀMy − aᵀy over y ≥ 0 from ``y``, one neuron after the other, in place."""
    tolerance = SETTLED * np.finfo(y.dtype).eps
    for _ in range(MAX_STEPS):
        moved = 0.0
        largest = 0.0
        for i in range(len(a)):
            before = y[i]
            net = a[i] + M[i, i] * before
            for j in range(len(a)):
                net -= M[i, j] * y[j]
            y[i] = max(net / M[i, i], 0.0)
            moved = max(moved, abs(y[i] - before))
            largest = max(largest, y[i])
        if not moved > tolerance * largest:
            return


@jit
def respond_to_all(A: FloatArray, M: FloatArray) -> FloatArray:
    """The minima of ½yᵀMy − aᵀy over y ≥ 0, for the rows of A."""
    Y = np.zeros_like(A)
    for t in range(len(A)):
        descend(M, A[t], Y[t])
    return Y


@jit
def update_inverse(
    M_inv: FloatArray, y_bar: FloatArray, keep: float, gain: float, gauge: FloatArray, z: FloatArray
) -> None:
    """M⁻¹ after M ← keep · M + gain · ȳȳᵀ, by Sherman–Morrison; ``z`` is scratch."""
    multiply(M_inv, y_bar, z)
    u = 0.0
    for i in range(y_bar.shape[0]):
        u += y_bar[i] * z[i]
    blend(M_inv, 1.0 / keep, -gain / (keep * (keep + gain * u)), z)
    gauge[STALENESS] += 1.0 / REFRESH_STEPS + (1.0 / keep - 1.0) / REFRESH_GROWTH


@jit
def learn_interneurons(
    L: FloatArray, M_inv: FloatArray, y: FloatArray, rho: float, gauge: FloatArray, q: FloatArray
) -> None:
    """L ← L + ρ(yzᵀ − L), ρ = η/2τ, with the interneurons' z = Lᵀy, and M⁻¹ with it; ``q`` is scratch.

    Half the rate of M is enough: M = LLᵀ changes with both its factors. L is multiplied by G = (1 − ρ)I + ρyyᵀ, so that
    M becomes GMG, and M⁻¹ becomes G⁻¹M⁻¹G⁻¹ with G⁻¹ = (I − c yyᵀ)/(1 − ρ), c = ρ/(1 − ρ + ρ‖y‖²).
    """
    k = y.shape[0]
    z = np.zeros(k)
    for i in range(k):
        for n in range(k):
            z[n] += L[i, n] * y[i]
    for i in range(k):
        for n in range(k):
            L[i, n] += rho * (y[i] * z[n] - L[i, n])
    multiply(M_inv, y, q)
    square, overlap = 0.0, 0.0
    for i in range(k):
        square += y[i] * y[i]
        overlap += y[i] * q[i]
    keep = 1.0 - rho
    c = rho / (keep + rho * square)
    for i in range(k):
        for j in range(k):
            change = c * (y[i] * q[j] + q[i] * y[j]) - c * c * overlap * y[i] * y[j]
            M_inv[i, j] = (M_inv[i, j] - change) / (keep * keep)
    gauge[STALENESS] += 1.0 / REFRESH_STEPS + 2.0 * (1.0 / keep - 1.0) / REFRESH_GROWTH
    if gauge[STALENESS] >= 1.0:
        refresh(L @ L.T, M_inv, gauge)


@jit
def refresh(M: FloatArray, M_inv: FloatArray, gauge: FloatArray) -> None:
    """M⁻¹ afresh from M, symmetrised, when it is due."""
    if gauge[STALENESS] < 1.0:
        return
    inverse = np.linalg.inv(M)
    for i in range(M.shape[0]):
        for j in range(M.shape[0]):
            M_inv[i, j] = 0.5 * (inverse[i, j] + inverse[j, i])
    gauge[STALENESS] = 0.0


@jit
def forgetting(n_seen: int, rate: float, window: float) -> float:
    """Weight of the newest sample in the running moments."""
    return min(1.0, max(LOOK_BACK / min(float(n_seen), window), WINDOWS * rate))


@jit
def track(
    a: FloatArray, a_dot: FloatArray, start: bool, rho: float, S: FloatArray, D: FloatArray, weights: FloatArray
) -> None:
    """Running moments S of a and D of its difference, which an episode's first sample has not."""
    blend(S, 1.0 - rho, rho, a)
    weights[CURRENT] += rho * (1.0 - weights[CURRENT])
    if not start:
        blend(D, 1.0 - rho, rho, a_dot)
        weights[DIFFERENCE] += rho * (1.0 - weights[DIFFERENCE])


@jit
def blend_rows(matrix: FloatArray, rows: FloatArray, rates: FloatArray) -> float:
    """:func:`blend` with 1 − rate and rate for one row after the other, as one product; returns Π(1 − rate)."""
    n, k = rows.shape
    weighted = np.empty((n, k), rows.dtype)
    keep = 1.0  # what the rows after this one leave of it
    for t in range(n - 1, -1, -1):
        gain = keep * rates[t]
        for i in range(k):
            weighted[t, i] = gain * rows[t, i]
        keep *= 1.0 - rates[t]
    matrix *= keep
    matrix += weighted.T @ rows
    return keep
