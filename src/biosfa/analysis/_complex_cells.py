"""How far units are like complex cells, as numbers."""

from dataclasses import dataclass, field

import numpy as np

from biosfa.analysis._gabor import GaborFit, fit_gabor
from biosfa.analysis._gratings import GratingTuning, grating_tuning, patch_side
from biosfa.analysis._quadratic_forms import QuadraticForm, invariances, optimal_stimulus
from biosfa.typing import Float64Array


@dataclass(frozen=True)
class Unit:
    """A quadratic unit on image patches and what it responds to; stimuli are patches."""

    form: QuadraticForm = field(repr=False)  # responds more to what excites it than to what inhibits it
    excitatory: Float64Array = field(repr=False)
    inhibitory: Float64Array = field(repr=False)
    invariance: Float64Array = field(repr=False)  # the change of the excitatory one that has least effect
    gabor: GaborFit  # of the excitatory one
    invariance_cosine: float  # |cos| of the angle between the invariance and the Gabor fit shifted by 90°
    tuning: GratingTuning


def analyse_unit(form: QuadraticForm, projection: Float64Array, norm: float) -> Unit:
    """What a quadratic form on image patches responds to.

    Parameters
    ----------
    form : QuadraticForm
        A form of n coordinates.
    projection : array of shape (side², n)
        Orthonormal columns: where the coordinates are in the space of pixels.
    norm : float
        Length of the stimuli.
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
    """Medians over units of what tells complex cells from other quadratic forms."""
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
