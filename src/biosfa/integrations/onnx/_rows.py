"""The rows that a graph takes: samples, windows of samples, or a stream with a memory of its last rows."""

from dataclasses import dataclass, replace

import numpy as np

from biosfa.integrations.onnx._graph import NO_END, Graph, Value

# Names of the memory of a stream: an input and an output.
STATE, NEXT_STATE = "state", "next_state"


@dataclass(frozen=True)
class Rows:
    """Rows of a graph, each with some rows before it."""

    graph: Graph
    values: Value  # (past + n, …); as windows, (n, past + 1, …)
    past: int = 0  # number of rows before each row
    windows: bool = False

    @classmethod
    def samples(cls, graph: Graph, name: str, n_rows: int, shape: tuple[int, ...]) -> "Rows":
        """Add the input of a graph whose outputs need ``n_rows`` rows each: samples, or windows of samples."""
        if n_rows == 1:
            return cls(graph, graph.input(name, ("n", *shape)))
        return cls(graph, graph.input("window", ("n", n_rows, *shape)), n_rows - 1, windows=True)

    @classmethod
    def stream(cls, graph: Graph, name: str, n_rows: int, shape: tuple[int, ...]) -> "Rows":
        """Add the inputs of a graph that is fed row by row, or chunk by chunk: rows, and the last rows before them."""
        given = graph.input(name, ("n", *shape))
        if n_rows == 1:
            return cls(graph, given)
        before = graph.input(STATE, (n_rows - 1, *shape))
        return cls(graph, graph.node("Concat", before, given, axis=0), n_rows - 1)

    @classmethod
    def episode(cls, graph: Graph, given: Value, n_rows: int, shape: tuple[int, ...]) -> "Rows":
        """Return the rows of a whole episode. There are none before the first."""
        if n_rows == 1:
            return cls(graph, given)
        before = np.full((n_rows - 1, *shape), np.nan)
        return cls(graph, graph.node("Concat", before, given, axis=0), n_rows - 1)

    def replaced(self, values: Value) -> "Rows":
        """Return other values for the same rows."""
        return replace(self, values=values)

    def last(self) -> Value:
        """Return the rows that the next rows of the stream need."""
        return self._slice(self.values, -self.past, NO_END, axis=0)

    def delayed(self, n_delays: int, ago: int = 0) -> Value:
        """Return delay vectors (n, n_delays × columns), the newest first. They end ``ago`` rows before each row."""
        newest = self.past - ago
        if self.windows:
            end = newest - n_delays
            backward = self._slice(self.values, newest, end if end >= 0 else -NO_END, axis=1, step=-1)
            return self.graph.node("Reshape", backward, [0, -1])
        if self.past == 0:
            return self.values
        parts = [
            self._slice(self.values, newest - delay, -(delay + ago) or NO_END, axis=0) for delay in range(n_delays)
        ]
        return parts[0] if n_delays == 1 else self.graph.node("Concat", *parts, axis=1)

    def _slice(self, values: Value, begin: int, end: int, *, axis: int, step: int = 1) -> Value:
        return self.graph.node("Slice", values, [begin], [end], [axis], [step])
