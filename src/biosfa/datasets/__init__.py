"""Signals to learn from, each made from a seed."""

from biosfa.datasets._chaotic import DrivenLogisticMap as DrivenLogisticMap
from biosfa.datasets._chaotic import driven_logistic_map as driven_logistic_map
