"""The lines of Algorithms 1 and 2 that all learning kernels share, each as a small compiled function."""

import math

import numpy as np

from biosfa.kernels.jit import jit
from biosfa.kernels.local.state import Mode
from biosfa.typing import FloatArray

# M⁻¹ is carried by Sherman–Morrison for at most this many steps, and for so many that (1 − η/τ)^−t, the growth of its
# rounding errors, stays below e² ≈ 7: then all but two digits survive, and it is computed afresh from M.
REFRESH_STEPS = 512
REFRESH_GROWTH = 2.0

# A current this many times larger than any that start weights could give (|a| ≲ ‖x‖) or a white output needs (a = My,
# M ≤ 4) is that of a network that diverges.
RUNAWAY = 1e4
OVERFLOW = 1e300

# The running power of currents looks back over a third of the stream, or ten windows τ/η of M where that is shorter.
LOOK_BACK = 3.0
WINDOWS = 0.1


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
    raw: FloatArray,
    n_seen: int,
    mode: Mode,
    mean: FloatArray,
    mean_power: FloatArray,
    peak_power: FloatArray,
    X: FloatArray,
    power: FloatArray,
) -> int:
    """Rows as the network sees them: centred, and in relative mode divided by the running root mean square.

    ``power`` is ‖x‖² of these rows. The mean and the powers of the state move on past them. Returns how many rows come
    before one that overflows.
    """
    centre(raw, n_seen, mode.center, mode.window, mean, X, power)
    n, total = len(raw), mean_power[0] * min(float(n_seen), mode.window)
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
            mean_power[0] += (power[t] - mean_power[0]) / count
            power[t] *= rescale(X[t], mean_power[0], raw.shape[1]) ** 2
    elif n > 0:  # here it only serves messages
        mean_power[0] = (total + block) / (min(float(n_seen), mode.window) + n)
    if n > 0:
        peak_power[0] = max(peak_power[0], power[:n].max())
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
def update_inverse(
    M_inv: FloatArray, y_bar: FloatArray, keep: float, gain: float, staleness: FloatArray, z: FloatArray
) -> None:
    """M⁻¹ after M ← keep · M + gain · ȳȳᵀ, by Sherman–Morrison; ``z`` is scratch."""
    multiply(M_inv, y_bar, z)
    u = 0.0
    for i in range(y_bar.shape[0]):
        u += y_bar[i] * z[i]
    blend(M_inv, 1.0 / keep, -gain / (keep * (keep + gain * u)), z)
    staleness[0] += 1.0 / REFRESH_STEPS + (1.0 / keep - 1.0) / REFRESH_GROWTH


@jit
def refresh(M: FloatArray, M_inv: FloatArray, staleness: FloatArray) -> None:
    """M⁻¹ afresh from M, symmetrised, when it is due."""
    if staleness[0] < 1.0:
        return
    inverse = np.linalg.inv(M)
    for i in range(M.shape[0]):
        for j in range(M.shape[0]):
            M_inv[i, j] = 0.5 * (inverse[i, j] + inverse[j, i])
    staleness[0] = 0.0


@jit
def track_power(square: float, n_seen: int, rate: float, window: float, current_power: FloatArray) -> None:
    """Take ‖a‖² of sample ``n_seen`` into its running mean."""
    rho = min(1.0, max(LOOK_BACK / min(float(n_seen), window), WINDOWS * rate))
    current_power[0] += rho * (square - current_power[0])
    current_power[1] += rho * (1.0 - current_power[1])


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
