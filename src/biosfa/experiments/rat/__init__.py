"""Experiment 3 (Sec. 6.3): a hierarchy learns place cells from what a rat sees on its walk."""

from biosfa.experiments.rat._config import RatConfig, chosen, preset
from biosfa.experiments.rat._experiment import Rat, reproduce

__all__ = ["Rat", "RatConfig", "chosen", "preset", "reproduce"]
