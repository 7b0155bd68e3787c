"""What slow features respond to: optimal stimuli, Gabor fits and gratings for images; firing maps for places."""

from biosfa.analysis._complex_cells import Unit as Unit
from biosfa.analysis._complex_cells import analyse_unit as analyse_unit
from biosfa.analysis._complex_cells import summarise_units as summarise_units
from biosfa.analysis._gabor import GaborFit as GaborFit
from biosfa.analysis._gabor import fit_gabor as fit_gabor
from biosfa.analysis._gratings import GratingTuning as GratingTuning
from biosfa.analysis._gratings import grating_harmonics as grating_harmonics
from biosfa.analysis._gratings import grating_tuning as grating_tuning
from biosfa.analysis._place_cells import FiringMaps as FiringMaps
from biosfa.analysis._place_cells import decode_position as decode_position
from biosfa.analysis._place_cells import firing_maps as firing_maps
from biosfa.analysis._quadratic_forms import QuadraticForm as QuadraticForm
from biosfa.analysis._quadratic_forms import Stimulus as Stimulus
from biosfa.analysis._quadratic_forms import invariances as invariances
from biosfa.analysis._quadratic_forms import optimal_stimulus as optimal_stimulus
from biosfa.analysis._quadratic_forms import quadratic_form as quadratic_form
