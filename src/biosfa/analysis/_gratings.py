"""Responses of quadratic forms to gratings, in closed form.

To A(cos φ · c + sin φ · s), a grating at phase φ, a quadratic form responds with a constant and two harmonics of φ:
F0 = A²/4 (cᵀHc + sᵀHs), F1 = A √((fᵀc)² + (fᵀs)²), F2 = A²/4 √((cᵀHc − sᵀHs)² + 4(cᵀHs)²). A complex cell has F0 alone.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from biosfa.analysis._quadratic_forms import QuadraticForm
from biosfa.typing import Float64Array

ORIENTATIONS = np.linspace(0.0, np.pi, 72, endpoint=False)
FREQUENCIES = np.linspace(0.5, 7.5, 29)  # periods a side


@dataclass(frozen=True)
class GratingTuning:
    """The grating that drives a form most, and how much it matters."""

    orientation: float  # direction of its wave, radians in [0, π)
    frequency: float  # periods a side
    f0: float
    f1: float
    f2: float
    orientation_half_width: float  # radians, at half the response to the best
    orientation_curve: Float64Array = field(repr=False)  # F0 against ORIENTATIONS at the best frequency
    frequency_curve: Float64Array = field(repr=False)  # F0 against FREQUENCIES at the best orientation

    @property
    def phase_dependence(self) -> float:
        """F2/|F0| at the best grating: 0 for a complex cell."""
        return self.f2 / abs(self.f0)


def grating_pairs(
    side: int, orientations: Float64Array, frequencies: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Cosine and sine gratings of shape (number of orientations, number of frequencies, side²)."""
    y, x = np.mgrid[-0.5 : 0.5 : side * 1j, -0.5 : 0.5 : side * 1j]
    along = np.cos(orientations)[:, None] * x.ravel() + np.sin(orientations)[:, None] * y.ravel()
    phase = 2 * np.pi * frequencies[None, :, None] * along[:, None, :]
    return np.cos(phase), np.sin(phase)


def patch_side(projection: Float64Array) -> int:
    """Pixels along the side of the patches that a projection is of; raises ValueError if it cannot be one."""
    side = math.isqrt(len(projection))
    if side**2 != len(projection):
        raise ValueError(f"patches must be square: projection has {len(projection)} rows, which is no square number")
    if not np.allclose(projection.T @ projection, np.eye(projection.shape[1]), atol=1e-3):
        raise ValueError("projection must have orthonormal columns, such as pca.components_.T")
    return side


def grating_harmonics(
    form: QuadraticForm, cosine: Float64Array, sine: Float64Array, amplitude: float = 1.0
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """F0, F1 and F2 for gratings with these cosine and sine parts, whose last axis is the form's input."""
    cc = np.einsum("...i,ij,...j->...", cosine, form.H, cosine, optimize=True)
    ss = np.einsum("...i,ij,...j->...", sine, form.H, sine, optimize=True)
    cs = np.einsum("...i,ij,...j->...", cosine, form.H, sine, optimize=True)
    quarter = amplitude**2 / 4
    f1 = amplitude * np.hypot(cosine @ form.f, sine @ form.f)
    return quarter * (cc + ss), f1, quarter * np.sqrt((cc - ss) ** 2 + 4 * cs**2)


def grating_tuning(form: QuadraticForm, projection: Float64Array, norm: float) -> GratingTuning:
    """How a form responds to gratings of all orientations and frequencies.

    Parameters
    ----------
    form : QuadraticForm
        A form of n coordinates.
    projection : array of shape (side², n)
        Orthonormal columns: where the coordinates are in the space of pixels.
    norm : float
        Length of the gratings before they are projected.
    """
    side = patch_side(projection)
    cosine, sine = grating_pairs(side, ORIENTATIONS, FREQUENCIES)
    amplitude = norm / np.sqrt(side**2 / 2)
    f0, f1, f2 = grating_harmonics(form, cosine @ projection, sine @ projection, amplitude)
    best = np.unravel_index(int(f0.argmax()), f0.shape)
    curve = f0[:, best[1]]
    return GratingTuning(
        orientation=float(ORIENTATIONS[best[0]]),
        frequency=float(FREQUENCIES[best[1]]),
        f0=float(f0[best]),
        f1=float(f1[best]),
        f2=float(f2[best]),
        orientation_half_width=half_width(np.roll(curve, -best[0])),
        orientation_curve=curve,
        frequency_curve=f0[best[0]],
    )


def half_width(curve: Float64Array) -> float:
    """Half the width at half height, in radians, of a peak at the first of evenly spaced angles round half a turn."""
    if curve[0] <= 0:  # nothing drives it
        return np.pi / 2
    half = curve[0] / 2

    def reach(values: Float64Array) -> float:
        below = np.flatnonzero(values < half)
        if len(below) == 0:
            return len(values) / 2
        i = int(below[0])
        return float(i - 1 + (values[i - 1] - half) / (values[i - 1] - values[i]))

    other_way = np.roll(curve[::-1], 1)
    return (reach(curve) + reach(other_way)) / 2 * np.pi / len(curve)
