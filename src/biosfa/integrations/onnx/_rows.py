"""The rows that a graph takes: windows of rows, or a stream with a memory of its last rows."""

from dataclasses import dataclass, replace

from biosfa.integrations.onnx._graph import NO_END, Graph, Value
from biosfa.typing import FloatArray

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
    def windowed(cls, graph: Graph, n_rows: int, shape: tuple[int, ...]) -> "Rows":
        """Add an input of windows of ``n_rows`` rows, the oldest first."""
        return cls(graph, graph.input("window", ("n", n_rows, *shape)), n_rows - 1, windows=True)

    @classmethod
    def stream(cls, graph: Graph, name: str, n_rows: int, shape: tuple[int, ...]) -> "Rows":
        """Add an input of rows, and if an output needs ``n_rows`` > 1 of them, an input of the last rows before."""
        given = graph.input(name, ("n", *shape))
        if n_rows == 1:
            return cls(graph, given)
        return cls.following(graph, graph.input(STATE, (n_rows - 1, *shape)), given, n_rows - 1)

    @classmethod
    def following(cls, graph: Graph, before: Value | FloatArray, given: Value, past: int) -> "Rows":
        """Return rows that follow ``past`` rows."""
        return cls(graph, graph.node("Concat", before, given, axis=0) if past else given, past)

    def replaced(self, values: Value) -> "Rows":
        """Return other values for the same rows."""
        return replace(self, values=values)

    def last(self) -> Value:
        """Return the rows that the next rows of the stream need."""
        return self._slice(-self.past, NO_END)

    def delayed(self, n_delays: int, ago: int = 0) -> Value:
        """Return delay vectors (n, n_delays × columns), the newest first. They end ``ago`` rows before each row."""
        newest = self.past - ago
        if self.windows:
            parts = [self.graph.node("Gather", self.values, newest - delay, axis=1) for delay in range(n_delays)]
        elif self.past == 0:
            return self.values
        else:
            parts = [self._slice(newest - delay, -(delay + ago) or NO_END) for delay in range(n_delays)]
        return parts[0] if n_delays == 1 else self.graph.node("Concat", *parts, axis=1)

    def _slice(self, begin: int, end: int) -> Value:
        return self.graph.node("Slice", self.values, [begin], [end], [0])
