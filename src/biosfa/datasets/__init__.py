"""Signals to learn from. Each is made from a seed, so that it can be made again."""

from biosfa.datasets._chaotic import DrivenLogisticMap, Variant, driven_logistic_map
from biosfa.datasets._image_sequences import ImageSequences, image_sequences
from biosfa.datasets._image_sources import dead_leaves, pink_noise
from biosfa.datasets._stirred_tank import StirredTank, stirred_tank
from biosfa.datasets._synthetic import HeadDirection, SlowMixture, head_direction, slow_mixture
from biosfa.datasets.rat import rat_stream

__all__ = [
    "DrivenLogisticMap",
    "HeadDirection",
    "ImageSequences",
    "SlowMixture",
    "StirredTank",
    "Variant",
    "dead_leaves",
    "driven_logistic_map",
    "head_direction",
    "image_sequences",
    "pink_noise",
    "rat_stream",
    "slow_mixture",
    "stirred_tank",
]
