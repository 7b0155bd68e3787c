"""The expanded signal: rows of the input after principal components, delays and expansion, in this order."""

from biosfa.signal._embedding import TimeEmbedding, delayed_names
from biosfa.signal._expansion import QuadraticExpansion
from biosfa.signal._path import Plan, SignalPath, begins_with_input, expanded_size, name_of_expansion
from biosfa.signal._reduction import Reduction

__all__ = [
    "Plan",
    "QuadraticExpansion",
    "Reduction",
    "SignalPath",
    "TimeEmbedding",
    "begins_with_input",
    "delayed_names",
    "expanded_size",
    "name_of_expansion",
]
