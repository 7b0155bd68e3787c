"""Graphs that say which samples should have similar features: classes, ordered labels, neighbours, transitions."""

from biosfa.graphs._builders import classes_of, clustered_graph, nearest_neighbour_graph, serial_graph, transition_graph
from biosfa.graphs._graph import Graph, as_graph

__all__ = [
    "Graph",
    "as_graph",
    "classes_of",
    "clustered_graph",
    "nearest_neighbour_graph",
    "serial_graph",
    "transition_graph",
]
