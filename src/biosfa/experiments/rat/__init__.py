"""Experiment 3 (Sec. 6.3): what a rat sees on its walk, a hierarchy of slow features, and place cells."""

from biosfa.experiments.rat._config import PRESETS, RatConfig, chosen, preset
from biosfa.experiments.rat._experiment import reproduce
from biosfa.experiments.rat._networks import hierarchy

__all__ = ["PRESETS", "RatConfig", "chosen", "hierarchy", "preset", "reproduce"]
