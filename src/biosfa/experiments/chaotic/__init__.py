"""Experiment 1 (Sec. 6.1): a network finds the slow force that drives a chaotic series."""

from biosfa.experiments.chaotic._baseline import numpy_loop
from biosfa.experiments.chaotic._config import ChaoticConfig, preset
from biosfa.experiments.chaotic._experiment import Chaotic, reproduce
from biosfa.experiments.chaotic._sweep import ChaoticSweepConfig, sweep

__all__ = ["Chaotic", "ChaoticConfig", "ChaoticSweepConfig", "numpy_loop", "preset", "reproduce", "sweep"]
