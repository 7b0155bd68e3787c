"""Measures how similar units are to complex cells."""

from dataclasses import dataclass, field

import numpy as np

from biosfa.analysis._gabor import GaborFit, fit_gabor
from biosfa.analysis._gratings import GratingTuning, grating_tuning, patch_side
from biosfa.analysis._quadratic_forms import QuadraticForm, invariances, optimal_stimulus
from biosfa.typing import Float64Array


@dataclass(frozen=True)
class Unit:
    """A quadratic unit on image patches, and the stimuli that it responds to.

    Attributes
    ----------
    form : QuadraticForm
        The unit. Its sign is chosen such that excitation is stronger than inhibition.
    excitatory : array of shape (side, side)
        The patch that excites the unit most.
    inhibitory : array of shape (side, side)
        The patch that inhibits the unit most.
    invariance : array of shape (side, side)
        The change of the excitatory patch that changes the response least.
    gabor : GaborFit
        The Gabor function that is closest to the excitatory patch.
    invariance_cosine : float
        Absolute cosine of the angle between the invariance and the Gabor function shifted by 90° of phase: 1 for a
        complex cell.
    tuning : GratingTuning
        The response to gratings.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.analysis import QuadraticForm, analyse_unit
    >>> H = np.random.default_rng(0).standard_normal((36, 36))
    >>> unit = analyse_unit(QuadraticForm(H + H.T, np.zeros(36), 0.0), np.eye(36), norm=1.0)
    >>> unit.excitatory.shape, bool(unit.form(unit.excitatory.ravel()) > unit.form(unit.inhibitory.ravel()))
    ((6, 6), True)
    """

    form: QuadraticForm = field(repr=False)
    excitatory: Float64Array = field(repr=False)
    inhibitory: Float64Array = field(repr=False)
    invariance: Float64Array = field(repr=False)
    gabor: GaborFit
    invariance_cosine: float
    tuning: GratingTuning


def analyse_unit(form: QuadraticForm, projection: Float64Array, norm: float) -> Unit:
    """Find the stimuli that a quadratic form on image patches responds to.

    Parameters
    ----------
    form : QuadraticForm
        A form of n coordinates.
    projection : array of shape (side², n)
        Orthonormal columns that map the n coordinates to pixels, such as ``pca.components_.T``.
    norm : float
        Length of the stimuli.

    Returns
    -------
    Unit

    Examples
    --------
    The energy model of a complex cell adds the squares of two Gabor filters that differ by 90° of phase:

    >>> import numpy as np
    >>> from biosfa.analysis import QuadraticForm, analyse_unit
    >>> y, x = np.mgrid[-0.5:0.5:8j, -0.5:0.5:8j]
    >>> filters = np.exp(-(x**2 + y**2) / 0.08 + 2j * np.pi * 2 * x).ravel()
    >>> cosine, sine = filters.real, filters.imag
    >>> form = QuadraticForm(np.outer(cosine, cosine) + np.outer(sine, sine), np.zeros(64), 0.0)
    >>> unit = analyse_unit(form, np.eye(64), norm=1.0)
    >>> round(unit.gabor.r_squared, 3), round(unit.gabor.frequency, 3), round(unit.invariance_cosine, 3)
    (1.0, 2.0, 1.0)
    """
    side = patch_side(projection)
    most, least = optimal_stimulus(form, norm), optimal_stimulus(-form, norm)
    if least.value > abs(most.value):  # |g(x⁻)| > g(x⁺)
        form, most, least = -form, least, most

    def patch(x: Float64Array) -> Float64Array:
        pixels: Float64Array = (projection @ x).reshape(side, side)
        return pixels

    invariance = patch(invariances(form, most)[0][0])
    excitatory = patch(most.x)
    gabor = fit_gabor(excitatory)
    shifted = projection @ (projection.T @ gabor.shifted.ravel())
    cosine = abs(shifted @ invariance.ravel()) / (np.linalg.norm(shifted) * np.linalg.norm(invariance))
    return Unit(
        form=form,
        excitatory=excitatory,
        inhibitory=patch(least.x),
        invariance=invariance,
        gabor=gabor,
        invariance_cosine=float(cosine),
        tuning=grating_tuning(form, projection, norm),
    )


def summarise_units(units: list[Unit]) -> dict[str, float]:
    """Return medians over units of the numbers that distinguish complex cells from other quadratic forms.

    Parameters
    ----------
    units : list of Unit
        Results of :func:`analyse_unit`.

    Returns
    -------
    dict of str to float
        Medians of R² of the Gabor fits, F2/F0, F1/F0, the invariance cosine and the half-width of the tuning to
        orientation in degrees; and the share of units with R² > 0.8.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.analysis import QuadraticForm, analyse_unit, summarise_units
    >>> H = np.random.default_rng(0).standard_normal((36, 36))
    >>> unit = analyse_unit(QuadraticForm(H + H.T, np.zeros(36), 0.0), np.eye(36), norm=1.0)
    >>> summarise_units([unit])["gabor_r2_above_0_8"]  # a random form is not a complex cell
    0.0
    """
    r_squared = np.array([unit.gabor.r_squared for unit in units])
    return {
        "gabor_r2_median": float(np.median(r_squared)),
        "gabor_r2_above_0_8": float(np.mean(r_squared > 0.8)),
        "f2_f0_median": float(np.median([unit.tuning.phase_dependence for unit in units])),
        "f1_f0_median": float(np.median([unit.tuning.f1 / abs(unit.tuning.f0) for unit in units])),
        "invariance_cosine_median": float(np.median([unit.invariance_cosine for unit in units])),
        "orientation_half_width_median": float(
            np.degrees(np.median([unit.tuning.orientation_half_width for unit in units]))
        ),
    }
