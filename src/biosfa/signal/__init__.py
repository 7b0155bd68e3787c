"""From rows of input to rows of the expanded signal: principal components, then delays, then the expansion."""

from biosfa.signal._embedding import TimeEmbedding, delayed_names
from biosfa.signal._expansion import QuadraticExpansion
from biosfa.signal._path import Plan, SignalPath
from biosfa.signal._reduction import Reduction

__all__ = ["Plan", "QuadraticExpansion", "Reduction", "SignalPath", "TimeEmbedding", "delayed_names"]
