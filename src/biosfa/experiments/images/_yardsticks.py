"""The solutions that networks are compared with, exact SFA and two controls, and the analysis of units."""

import numpy as np

from biosfa.analysis import analyse_unit, summarise_units
from biosfa.experiments.engine import Task
from biosfa.experiments.images._config import ImagesConfig, load
from biosfa.experiments.images._patches import Patches
from biosfa.kernels.exact import Moments
from biosfa.typing import Advance, Arrays, Float64Array

MOMENTS = ("mean", "scatter", "difference", "n_samples", "n_pairs")  # stored to compute the errors of networks; large


def yardsticks(config: ImagesConfig) -> list[Task]:
    """Return the tasks for exact SFA and for two controls that do not use the order of the frames."""
    frames = load(config).signal.shape[0]
    return [
        Task("exact", frames, run_exact, (config,)),
        Task("shuffled", frames, run_shuffled, (config,)),
        Task("random", 0, run_random, (config,)),
    ]


def run_exact(config: ImagesConfig, report: Advance) -> Arrays:
    """Solve exact SFA; return its features and the moments of the signal."""
    patches = load(config)
    moments = patches.moments(report)
    solution = moments.slow_directions(config.units)
    return {
        **moment_arrays(moments),
        "components": solution.directions,
        "delta_values": solution.delta_values,
        **analyse(patches, solution.directions, moments.mean),
    }


def moment_arrays(moments: Moments) -> Arrays:
    """Return moments as arrays."""
    counts = {"n_samples": np.asarray(moments.n_samples), "n_pairs": np.asarray(moments.n_pairs)}
    return {**moments.arrays(), **counts}


def moments_of(arrays: Arrays) -> Moments:
    """Restore moments from their arrays."""
    return Moments.of(arrays, int(arrays["n_samples"]), int(arrays["n_pairs"]))


def run_shuffled(config: ImagesConfig, report: Advance) -> Arrays:
    """Solve exact SFA for the same patches in random order."""
    patches = load(config)
    order = np.random.default_rng(config.seed).permutation(len(patches.signal))
    moments = patches.moments(report, order)
    solution = moments.slow_directions(config.units)
    return {"components": solution.directions, **analyse(patches, solution.directions, moments.mean)}


def run_random(config: ImagesConfig, report: Advance) -> Arrays:
    """Draw random quadratic forms."""
    patches = load(config)
    components = np.random.default_rng(config.seed).standard_normal((config.units, patches.n_expanded))
    return {"components": components, **analyse(patches, components, np.zeros(patches.n_expanded))}


def analyse(patches: Patches, components: Float64Array, mean: Float64Array) -> Arrays:
    """Return the optimal stimuli of units, and measures of how similar they are to complex cells."""
    units = [analyse_unit(form, patches.axes, patches.norm) for form in patches.forms(components, mean)]
    return {
        **{name: np.array(value) for name, value in summarise_units(units).items()},
        "gabor_r2": np.array([unit.gabor.r_squared for unit in units]),
        "f2_f0": np.array([unit.tuning.phase_dependence for unit in units]),
        "invariance_cosine": np.array([unit.invariance_cosine for unit in units]),
        "excitatory": np.array([unit.excitatory for unit in units]),
        "inhibitory": np.array([unit.inhibitory for unit in units]),
        "invariance": np.array([unit.invariance for unit in units]),
        "orientation_curve": np.array([unit.tuning.orientation_curve for unit in units]),
        "frequency_curve": np.array([unit.tuning.frequency_curve for unit in units]),
    }
