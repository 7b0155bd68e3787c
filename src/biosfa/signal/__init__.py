"""From rows of input to rows of the expanded signal: principal components, then delays, then the expansion."""

from biosfa.signal._embedding import TimeEmbedding, delayed_names
from biosfa.signal._expansion import QuadraticExpansion
from biosfa.signal._path import Plan, SignalPath, expanded_size, name_of_expansion
from biosfa.signal._reduction import Reduction

__all__ = [
    "Plan",
    "QuadraticExpansion",
    "Reduction",
    "SignalPath",
    "TimeEmbedding",
    "delayed_names",
    "expanded_size",
    "name_of_expansion",
]
