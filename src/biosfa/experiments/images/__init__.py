"""Experiment 2 (Sec. 6.2): networks learn complex cells from patches that move over natural images."""

from biosfa.experiments.images._config import ImagesConfig, chosen, learners_of, preset
from biosfa.experiments.images._experiment import Images, reproduce
from biosfa.experiments.images._patches import FRAMES, load_patches
from biosfa.experiments.images._sweep import ImagesSweepConfig, sweep

__all__ = [
    "FRAMES",
    "Images",
    "ImagesConfig",
    "ImagesSweepConfig",
    "chosen",
    "learners_of",
    "load_patches",
    "preset",
    "reproduce",
    "sweep",
]
