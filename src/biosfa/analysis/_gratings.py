"""Computes the responses of quadratic forms to gratings, in closed form.

A grating at phase φ is A(cos φ · c + sin φ · s). The response of a quadratic form to it is a constant F0 plus two
harmonics of φ with the amplitudes F1 and F2: F0 = A²/4 (cᵀHc + sᵀHs), F1 = A √((fᵀc)² + (fᵀs)²),
F2 = A²/4 √((cᵀHc − sᵀHs)² + 4(cᵀHs)²). For a complex cell, F1 and F2 are 0.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from biosfa.analysis._quadratic_forms import QuadraticForm
from biosfa.typing import Float64Array

ORIENTATIONS = np.linspace(0.0, np.pi, 72, endpoint=False)
FREQUENCIES = np.linspace(0.5, 7.5, 29)  # periods per side


@dataclass(frozen=True)
class GratingTuning:
    """The grating to which a form responds most, and the tuning around it.

    Attributes
    ----------
    orientation : float
        Direction of the grating's wave, in radians from 0 to π.
    frequency : float
        Frequency of the grating, in periods per side.
    f0, f1, f2 : float
        Mean response over the phases of the grating, and amplitudes of the first two harmonics of the phase.
    orientation_half_width : float
        Half the width of the tuning to orientation at half of its height, in radians.
    orientation_curve : array
        F0 at each of ``ORIENTATIONS``, at the best frequency.
    frequency_curve : array
        F0 at each of ``FREQUENCIES``, at the best orientation.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.analysis import FREQUENCIES, QuadraticForm, grating_tuning
    >>> H = np.random.default_rng(0).standard_normal((16, 16))
    >>> tuning = grating_tuning(QuadraticForm(H + H.T, np.zeros(16), 0.0), np.eye(16), norm=1.0)
    >>> tuning.frequency == FREQUENCIES[tuning.frequency_curve.argmax()]
    np.True_
    """

    orientation: float
    frequency: float
    f0: float
    f1: float
    f2: float
    orientation_half_width: float
    orientation_curve: Float64Array = field(repr=False)
    frequency_curve: Float64Array = field(repr=False)

    @property
    def phase_dependence(self) -> float:
        """Ratio of F2 to the absolute value of F0 for the best grating: 0 for a complex cell."""
        return self.f2 / abs(self.f0)


def grating_pairs(
    side: int, orientations: Float64Array, frequencies: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Return cosine and sine gratings, each of shape (number of orientations, number of frequencies, side²)."""
    y, x = np.mgrid[-0.5 : 0.5 : side * 1j, -0.5 : 0.5 : side * 1j]
    along = np.cos(orientations)[:, None] * x.ravel() + np.sin(orientations)[:, None] * y.ravel()
    phase = 2 * np.pi * frequencies[None, :, None] * along[:, None, :]
    return np.cos(phase), np.sin(phase)


def patch_side(projection: Float64Array) -> int:
    """Return the side of the patches of a projection in pixels; raise ValueError if the projection is not valid."""
    side = math.isqrt(len(projection))
    if side**2 != len(projection):
        raise ValueError(f"patches must be square, but projection has {len(projection)} rows, not a square number")
    if not np.allclose(projection.T @ projection, np.eye(projection.shape[1]), atol=1e-3):
        raise ValueError("projection must have orthonormal columns, such as pca.components_.T")
    return side


def grating_harmonics(
    form: QuadraticForm, cosine: Float64Array, sine: Float64Array, amplitude: float = 1.0
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return F0, F1 and F2, the mean response of a form to gratings and the amplitudes of its two harmonics of phase.

    Parameters
    ----------
    form : QuadraticForm
        A form of n coordinates.
    cosine, sine : arrays of shape (…, n)
        The gratings at the phases 0° and 90°.
    amplitude : float, default=1.0
        Amplitude of the gratings.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.analysis import QuadraticForm, grating_harmonics
    >>> form = QuadraticForm(np.eye(2), np.zeros(2), 0.0)
    >>> [float(harmonic) for harmonic in grating_harmonics(form, np.array([1.0, 0.0]), np.array([0.0, 1.0]))]
    [0.5, 0.0, 0.0]
    """
    cc = np.einsum("...i,ij,...j->...", cosine, form.H, cosine, optimize=True)
    ss = np.einsum("...i,ij,...j->...", sine, form.H, sine, optimize=True)
    cs = np.einsum("...i,ij,...j->...", cosine, form.H, sine, optimize=True)
    quarter = amplitude**2 / 4
    f1 = amplitude * np.hypot(cosine @ form.f, sine @ form.f)
    return quarter * (cc + ss), f1, quarter * np.sqrt((cc - ss) ** 2 + 4 * cs**2)


def grating_tuning(form: QuadraticForm, projection: Float64Array, norm: float) -> GratingTuning:
    """Find the grating to which a form responds most, among all ``ORIENTATIONS`` and ``FREQUENCIES``.

    Parameters
    ----------
    form : QuadraticForm
        A form of n coordinates.
    projection : array of shape (side², n)
        Orthonormal columns that map the n coordinates to pixels, such as ``pca.components_.T``.
    norm : float
        Length of the gratings before they are projected.

    Returns
    -------
    GratingTuning

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.analysis import QuadraticForm, grating_tuning
    >>> y, x = np.mgrid[-0.5:0.5:12j, -0.5:0.5:12j]
    >>> filters = np.exp(-(x**2 + y**2) / 0.08 + 2j * np.pi * 3 * x).ravel()
    >>> cosine, sine = filters.real, filters.imag
    >>> form = QuadraticForm(np.outer(cosine, cosine) + np.outer(sine, sine), np.zeros(144), 0.0)
    >>> tuning = grating_tuning(form, np.eye(144), norm=1.0)
    >>> tuning.orientation, tuning.frequency, round(tuning.phase_dependence, 2)
    (0.0, 3.0, 0.01)
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
    """Return half the width at half height, in radians, of a peak at the first of evenly spaced angles from 0 to π."""
    if curve[0] <= 0:  # no grating excites the form
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
