"""Graphs that say which samples should have similar features: classes, ordered labels, neighbours, transitions."""

from biosfa.graphs._builders import clustered_graph, nearest_neighbour_graph, serial_graph, transition_graph
from biosfa.graphs._graph import Graph, as_graph

__all__ = ["Graph", "as_graph", "clustered_graph", "nearest_neighbour_graph", "serial_graph", "transition_graph"]
