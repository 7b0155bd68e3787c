"""What all models have in common when they are exported."""

from abc import ABC, abstractmethod

from biosfa.integrations.onnx._graph import Graph, Value
from biosfa.integrations.onnx._rows import Rows


class Part(ABC):
    """What is exported of a model: an output that is computed from rows."""

    input = "X"
    output = "features"

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of a row of the input."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of consecutive rows that a row of the output needs."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of columns of the output."""

    @abstractmethod
    def compute(self, graph: Graph, rows: Rows) -> Value:
        """Add the nodes that compute the output, and return it."""
