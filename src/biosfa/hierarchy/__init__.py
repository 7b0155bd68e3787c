"""Hierarchies of slow features: layers of modules that share their weights, trained one layer after the other."""

from biosfa.hierarchy._hierarchical_sfa import HierarchicalSFA, trained_layers
from biosfa.hierarchy._layers import Layer, Learner
from biosfa.hierarchy._modules import Step

__all__ = ["HierarchicalSFA", "Layer", "Learner", "Step", "trained_layers"]
