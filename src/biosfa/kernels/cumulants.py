"""Joint diagonalisation of third- and fourth-order cumulants by plane rotations: CuBICA (Blaschke & Wiskott 2004)."""

import numpy as np

from biosfa.typing import Float64Array

# Angles, within a quarter turn, that the contrast is evaluated at. It repeats after a quarter turn and has two
# harmonics, so that 8 values have all of it; then its largest value is searched for on a grid, and polished.
_ANGLES = np.arange(8) * (np.pi / 2) / 8
_GRID = np.arange(64) * (np.pi / 2) / 64
_HARMONICS = np.array([4.0, 8.0])


def independent_rotation(Z: Float64Array, *, max_sweeps: int, tolerance: float) -> tuple[Float64Array, int, bool]:
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
    Y = np.ascontiguousarray(Z.T)
    k = len(Y)
    R = np.eye(k)
    for sweep in range(1, max_sweeps + 1):
        largest = 0.0
        for i in range(k - 1):
            for j in range(i + 1, k):
                angle = best_angle(Y[i], Y[j])
                largest = max(largest, abs(angle))
                if abs(angle) > tolerance:
                    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
                    Y[[i, j]] = turn @ Y[[i, j]]
                    R[[i, j]] = turn @ R[[i, j]]
        if largest <= tolerance:
            return R, sweep, True
    return R, max_sweeps, False


def best_angle(a: Float64Array, b: Float64Array) -> float:
    """The angle in (−π/4, π/4] at which a cos φ + b sin φ and b cos φ − a sin φ are most independent."""
    aa, ab, bb = a * a, a * b, b * b
    n = len(a)
    third = np.array([aa @ a, 3 * (aa @ b), 3 * (a @ bb), bb @ b]) / n
    # fourth cumulants of white samples: those of a normal distribution, 3, 0, 1, 0 and 3, subtracted
    fourth = np.array([aa @ aa / n - 3, 4 * (aa @ ab) / n, 6 * (aa @ bb / n - 1), 4 * (ab @ bb) / n, bb @ bb / n - 3])

    def contrast(angles: Float64Array) -> Float64Array:
        total = np.zeros_like(angles)
        for turned in (angles, angles + np.pi / 2):
            c, s = np.cos(turned), np.sin(turned)
            total += _powers(c, s, third) ** 2 / 6 + _powers(c, s, fourth) ** 2 / 24
        return total

    spectrum = np.fft.rfft(contrast(_ANGLES))[1:3] / len(_ANGLES) * 2
    phases = _HARMONICS * _GRID[:, None]
    values = np.cos(phases) @ spectrum.real - np.sin(phases) @ spectrum.imag
    angle = _GRID[values.argmax()]
    for _ in range(4):  # Newton's method on the derivative
        c, s = np.cos(_HARMONICS * angle), np.sin(_HARMONICS * angle)
        slope = -_HARMONICS @ (spectrum.real * s + spectrum.imag * c)
        curvature = -(_HARMONICS**2) @ (spectrum.real * c - spectrum.imag * s)
        if curvature < 0.0:
            angle -= slope / curvature
    return float((angle + np.pi / 4) % (np.pi / 2) - np.pi / 4)


def _powers(c: Float64Array, s: Float64Array, coefficients: Float64Array) -> Float64Array:
    """Σ_i coefficients_i c^(p−i) s^i: a moment of a cos φ + b sin φ from the moments of a and b."""
    p = len(coefficients) - 1
    total = np.zeros_like(c)
    for i, value in enumerate(coefficients):
        total += value * c ** (p - i) * s**i
    return total
