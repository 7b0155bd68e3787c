"""An ONNX graph that is being built: inputs, constants, nodes and outputs."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from biosfa.extras import imported
from biosfa.typing import FloatArray

# Old versions, so that old runtimes can read the file. Later opsets do not change the operators that are used here.
OPSET, IR_VERSION = 17, 8
NO_END = np.iinfo(np.int64).max  # the end of a slice that has no end

DType: TypeAlias = np.dtype[Any]
SINGLE, DOUBLE, WHOLE, TRUTH = (np.dtype(kind) for kind in (np.float32, np.float64, np.int64, np.bool_))

Value: TypeAlias = str  # the name of a result in the graph
Shape: TypeAlias = tuple[str | int, ...]  # a word is the name of a size that is not fixed


class Turn(NamedTuple):
    """What the body of a loop is given in each turn."""

    number: Value
    goes_on: Value
    value: Value
    shape: Shape  # of the value


class Graph:
    """Collects the parts of an ONNX graph that computes in one precision.

    Parameters
    ----------
    dtype : float32 or float64
        Precision of all numbers.
    prefix : str, default=""
        Beginning of all names that the graph gives.
    """

    def __init__(self, dtype: DType, prefix: str = "") -> None:
        self.onnx = imported("onnx", "onnx", least="1.17")
        self.dtype = dtype
        self.constants: list[Any] = []
        self.nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._prefix = prefix

    def input(self, name: str, shape: Shape, dtype: DType | None = None) -> Value:
        """Add an input."""
        self._inputs.append(self._described(name, shape, dtype))
        return name

    def output(self, name: str, value: Value, shape: Shape, dtype: DType | None = None) -> None:
        """Make a result an output of this name."""
        self.rename(value, name)
        self._outputs.append(self._described(name, shape, dtype))

    def rename(self, value: Value, name: str) -> None:
        """Give a result another name."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))

    def constant(self, numbers: ArrayLike) -> Value:
        """Add a constant. Whole numbers stay whole; others get the precision of the graph."""
        exact = np.asarray(numbers)
        kept = self.rounded(exact) if np.issubdtype(exact.dtype, np.floating) else exact
        name = f"{self._prefix}constant{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(kept, name))
        return name

    def rounded(self, numbers: ArrayLike) -> FloatArray:
        """Return numbers in the precision of the graph.

        Raises
        ------
        ValueError
            If they are too large for it.
        """
        exact = np.asarray(numbers)
        with np.errstate(over="ignore"):
            kept: FloatArray = exact.astype(self.dtype)
        if np.any(np.isinf(kept) & np.isfinite(exact)):
            raise ValueError(
                f"the model has numbers that are too large for {self.dtype}: export it with dtype=np.float64 (--dtype "
                "float64)"
            )
        return kept

    def node(self, operator: str, *inputs: Value | ArrayLike, **attributes: Any) -> Value:
        """Add a node. Its inputs are results, or numbers, which become constants."""
        names = [given if isinstance(given, str) else self.constant(given) for given in inputs]
        output = f"{self._prefix}{operator.lower()}{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [output], **attributes))
        return output

    def cast(self, value: Value, dtype: DType) -> Value:
        """Convert a result to another type."""
        return self.node("Cast", value, to=self._type(dtype))

    def body(self, name: str, dtype: DType) -> "Graph":
        """Return an empty graph for the body of a loop of this graph. It may use results of this graph."""
        return Graph(dtype, f"{self._prefix}{name}_")

    def begin_loop(self, shape: Shape) -> Turn:
        """Make this graph the body of a loop that changes a value of this shape."""
        number, goes_on = (
            self.input(f"{self._prefix}{name}", (), dtype) for name, dtype in (("number", WHOLE), ("goes_on", TRUTH))
        )
        return Turn(number, goes_on, self.input(f"{self._prefix}value", shape), shape)

    def end_loop(self, turn: Turn, value: Value, goes_on: Value) -> "Graph":
        """End the body of a loop: with the changed value, and whether there is another turn."""
        self.output(f"{self._prefix}goes_on_then", goes_on, (), TRUTH)
        self.output(f"{self._prefix}value_then", value, turn.shape)
        return self

    def loop(self, most: int, body: "Graph", value: Value) -> Value:
        """Change a value by the body of a loop, at most ``most`` times."""
        return self.node("Loop", most, "", value, body=body.content("body"))

    def content(self, name: str) -> Any:
        """Return the graph as a GraphProto."""
        return self.onnx.helper.make_graph(self.nodes, name, self._inputs, self._outputs, self.constants)

    def model(self, name: str, version: str, notes: dict[str, str]) -> Any:
        """Return the graph as a ModelProto with notes, after checking it."""
        helper = self.onnx.helper
        model = helper.make_model(
            self.content(name),
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="biosfa",
            producer_version=version,
        )
        helper.set_model_props(model, notes)
        self.onnx.checker.check_model(model, full_check=True)
        return model

    def _described(self, name: str, shape: Shape, dtype: DType | None) -> Any:
        return self.onnx.helper.make_tensor_value_info(name, self._type(dtype or self.dtype), shape)

    def _type(self, dtype: DType) -> int:
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(dtype))
