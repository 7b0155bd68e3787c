"""Analyses of what slow features respond to: optimal stimuli, Gabor functions and gratings; firing maps over places."""

from biosfa.analysis._complex_cells import Unit, analyse_unit, summarise_units
from biosfa.analysis._gabor import GaborFit, fit_gabor
from biosfa.analysis._gratings import FREQUENCIES, ORIENTATIONS, GratingTuning, grating_harmonics, grating_tuning
from biosfa.analysis._place_cells import FiringMaps, decode_position, firing_maps
from biosfa.analysis._quadratic_forms import QuadraticForm, Stimulus, invariances, optimal_stimulus, quadratic_form

__all__ = [
    "FREQUENCIES",
    "ORIENTATIONS",
    "FiringMaps",
    "GaborFit",
    "GratingTuning",
    "QuadraticForm",
    "Stimulus",
    "Unit",
    "analyse_unit",
    "decode_position",
    "firing_maps",
    "fit_gabor",
    "grating_harmonics",
    "grating_tuning",
    "invariances",
    "optimal_stimulus",
    "quadratic_form",
    "summarise_units",
]
