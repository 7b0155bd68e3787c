"""Hierarchies of slow features: receptive fields, modules that share their weights, layers trained one by one."""

from biosfa.hierarchy._hierarchical_sfa import HierarchicalSFA
from biosfa.hierarchy._layers import Layer, Learner

__all__ = ["HierarchicalSFA", "Layer", "Learner"]
