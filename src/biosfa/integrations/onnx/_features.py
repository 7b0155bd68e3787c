"""The expanded signal, and features that are linear in it."""

from dataclasses import dataclass

from biosfa.estimators import Projection, SlowFeatureEstimator
from biosfa.integrations.onnx._graph import Graph, Value
from biosfa.integrations.onnx._maps import expanded, linear
from biosfa.integrations.onnx._part import Part
from biosfa.integrations.onnx._rows import Rows
from biosfa.signal import SignalPath
from biosfa.typing import Float64Array


@dataclass(frozen=True)
class ExpandedSignal(Part):
    """The expanded signal h(x)."""

    signal: SignalPath

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a row of the input."""
        return (self.signal.n_features_in,)

    @property
    def n_rows(self) -> int:
        """Number of consecutive rows that a row of the output needs."""
        return self.signal.n_delays

    @property
    def width(self) -> int:
        """Number of columns of the output."""
        return self.signal.n_features_out

    def compute(self, graph: Graph, rows: Rows) -> Value:
        """Add the nodes that compute the output, and return it."""
        return expanded(graph, self.signal, rows)


@dataclass(frozen=True)
class Features(ExpandedSignal):
    """(h(x) − mean) weightsᵀ."""

    mean: Float64Array
    weights: Float64Array

    @classmethod
    def of(cls, model: SlowFeatureEstimator) -> "Features":
        """Return the features of a fitted model."""
        projection = Projection.of(model)
        return cls(projection.signal, projection.mean, projection.components)

    @property
    def width(self) -> int:
        """Number of columns of the output."""
        return len(self.weights)

    def compute(self, graph: Graph, rows: Rows) -> Value:
        """Add the nodes that compute the output, and return it."""
        return linear(graph, expanded(graph, self.signal, rows), self.mean, self.weights)
