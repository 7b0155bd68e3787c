"""Experiment 2 (Sec. 6.2): networks learn complex cells from patches that move over natural images."""

from biosfa.experiments.images._config import RULES, ImagesConfig, preset
from biosfa.experiments.images._experiment import Images, reproduce
from biosfa.experiments.images._patches import FRAMES, load_patches
from biosfa.experiments.images._sweep import ImagesSweepConfig, sweep

__all__ = [
    "FRAMES",
    "RULES",
    "Images",
    "ImagesConfig",
    "ImagesSweepConfig",
    "load_patches",
    "preset",
    "reproduce",
    "sweep",
]
