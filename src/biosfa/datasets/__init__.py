"""Signals to learn from, each made from a seed."""

from biosfa.datasets._chaotic import DrivenLogisticMap as DrivenLogisticMap
from biosfa.datasets._chaotic import driven_logistic_map as driven_logistic_map
from biosfa.datasets._image_sequences import ImageSequences as ImageSequences
from biosfa.datasets._image_sequences import image_sequences as image_sequences
from biosfa.datasets._image_sources import dead_leaves as dead_leaves
from biosfa.datasets._image_sources import pink_noise as pink_noise
from biosfa.datasets.rat import rat_stream as rat_stream
