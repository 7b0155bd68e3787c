"""Experiment 2 (Sec. 6.2): patches that move over natural images become complex cells."""

from biosfa.experiments.images._config import PRESETS, RULES, ImagesConfig, preset
from biosfa.experiments.images._experiment import reproduce
from biosfa.experiments.images._patches import FRAMES, Patches, load_patches
from biosfa.experiments.images._sweep import GRID, ImagesSweepConfig, sweep

__all__ = [
    "FRAMES",
    "GRID",
    "PRESETS",
    "RULES",
    "ImagesConfig",
    "ImagesSweepConfig",
    "Patches",
    "load_patches",
    "preset",
    "reproduce",
    "sweep",
]
