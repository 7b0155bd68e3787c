"""Hierarchies of slow features: layers of modules that share their weights, trained one layer after the other."""

from biosfa.hierarchy._hierarchical_sfa import HierarchicalSFA
from biosfa.hierarchy._layers import Layer, Learner

__all__ = ["HierarchicalSFA", "Layer", "Learner"]
