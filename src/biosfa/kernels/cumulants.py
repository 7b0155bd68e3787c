"""Joint diagonalisation of third- and fourth-order cumulants by plane rotations: CuBICA (Blaschke & Wiskott 2004)."""

import math

import numpy as np

from biosfa.kernels.jit import jit
from biosfa.typing import Float64Array

# Angles, within a quarter turn, that the contrast is evaluated at. It repeats after a quarter turn and has two
# harmonics, so that 8 values have all of it; then its largest value is searched for on a grid, and polished.
ANGLES, GRID, NEWTON_STEPS = 8, 64, 4
QUARTER = math.pi / 2


@jit
def independent_rotation(Z: Float64Array, max_sweeps: int, tolerance: float) -> tuple[Float64Array, int, bool]:
    """The rotation R for which the columns of Z Rᵀ are as independent as third and fourth cumulants tell.

    Maximises Σ C_iii²/3! + Σ C_iiii²/4!, pair of components by pair, until no rotation exceeds ``tolerance`` radians.

    Parameters
    ----------
    Z : (n, k)
        White samples.

    Returns
    -------
    R, the number of sweeps over all pairs, and whether they converged.
    """
    Y = np.ascontiguousarray(Z.T).copy()
    k = len(Y)
    R = np.eye(k)
    for sweep in range(1, max_sweeps + 1):
        largest = 0.0
        for i in range(k - 1):
            for j in range(i + 1, k):
                angle = best_angle(Y[i], Y[j])
                largest = max(largest, abs(angle))
                if abs(angle) > tolerance:
                    _rotate(Y[i], Y[j], angle)
                    _rotate(R[i], R[j], angle)
        if largest <= tolerance:
            return R, sweep, True
    return R, max_sweeps, False


@jit
def _rotate(a: Float64Array, b: Float64Array, angle: float) -> None:
    """Rotate: a cos φ + b sin φ and b cos φ − a sin φ, in place."""
    c, s = math.cos(angle), math.sin(angle)
    for t in range(len(a)):
        a[t], b[t] = c * a[t] + s * b[t], c * b[t] - s * a[t]


@jit
def best_angle(a: Float64Array, b: Float64Array) -> float:
    """The angle in [−π/4, π/4) at which a cos φ + b sin φ and b cos φ − a sin φ are most independent."""
    third, fourth = _cumulants(a, b)
    real, imaginary = np.zeros(2), np.zeros(2)  # of the harmonics of 4φ and 8φ
    for i in range(ANGLES):
        angle = QUARTER * i / ANGLES
        value = _contrast(angle, third, fourth) * 2.0 / ANGLES
        for h in range(2):
            real[h] += value * math.cos(4.0 * (h + 1) * angle)
            imaginary[h] += value * math.sin(4.0 * (h + 1) * angle)
    best, most = 0.0, -np.inf
    for i in range(GRID):
        angle = QUARTER * i / GRID
        value = _derivative(0, angle, real, imaginary)
        if value > most:
            best, most = angle, value
    for _ in range(NEWTON_STEPS):
        curvature = _derivative(2, best, real, imaginary)
        if curvature < 0.0:
            best -= _derivative(1, best, real, imaginary) / curvature
    return (best + QUARTER / 2) % QUARTER - QUARTER / 2


@jit
def _cumulants(a: Float64Array, b: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Third and fourth cumulants of two white signals, times the binomial coefficients they come with in a rotation."""
    third, fourth = np.zeros(4), np.zeros(5)
    for t in range(len(a)):
        aa, ab, bb = a[t] * a[t], a[t] * b[t], b[t] * b[t]
        third[0] += aa * a[t]
        third[1] += aa * b[t]
        third[2] += a[t] * bb
        third[3] += bb * b[t]
        fourth[0] += aa * aa
        fourth[1] += aa * ab
        fourth[2] += aa * bb
        fourth[3] += ab * bb
        fourth[4] += bb * bb
    # less the moments of a normal distribution, 3, 0, 1, 0 and 3
    third = third / len(a) * np.array([1.0, 3.0, 3.0, 1.0])
    fourth = (fourth / len(a) - np.array([3.0, 0.0, 1.0, 0.0, 3.0])) * np.array([1.0, 4.0, 6.0, 4.0, 1.0])
    return third, fourth


@jit
def _contrast(angle: float, third: Float64Array, fourth: Float64Array) -> float:
    """Σ C_iii²/3! + Σ C_iiii²/4! of both signals after a rotation."""
    total = 0.0
    for turn in (0.0, QUARTER):
        c, s = math.cos(angle + turn), math.sin(angle + turn)
        skew, tails = 0.0, 0.0
        for i in range(4):
            skew += third[i] * c ** (3 - i) * s**i
        for i in range(5):
            tails += fourth[i] * c ** (4 - i) * s**i
        total += skew**2 / 6.0 + tails**2 / 24.0
    return total


@jit
def _derivative(order: int, angle: float, real: Float64Array, imaginary: Float64Array) -> float:
    """The contrast, less its mean, from its harmonics; or its first or second derivative."""
    total = 0.0
    for h in range(2):
        frequency = 4.0 * (h + 1)
        c, s = math.cos(frequency * angle), math.sin(frequency * angle)
        if order == 1:
            total += frequency * (imaginary[h] * c - real[h] * s)
        else:
            value = real[h] * c + imaginary[h] * s
            total += value if order == 0 else -(frequency**2) * value
    return total
