"""Signals to learn from, each made from a seed."""

from biosfa.datasets._chaotic import DrivenLogisticMap as DrivenLogisticMap
from biosfa.datasets._chaotic import driven_logistic_map as driven_logistic_map
from biosfa.datasets._image_sequences import ImageSequences as ImageSequences
from biosfa.datasets._image_sequences import image_sequences as image_sequences
from biosfa.datasets._image_sources import dead_leaves as dead_leaves
from biosfa.datasets._image_sources import pink_noise as pink_noise
from biosfa.datasets._synthetic import HeadDirection as HeadDirection
from biosfa.datasets._synthetic import SlowMixture as SlowMixture
from biosfa.datasets._synthetic import head_direction as head_direction
from biosfa.datasets._synthetic import slow_mixture as slow_mixture
from biosfa.datasets.rat import rat_stream as rat_stream
