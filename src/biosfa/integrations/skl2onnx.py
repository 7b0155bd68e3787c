"""skl2onnx: pipelines of scikit-learn that contain our estimators, as ONNX graphs. Needs the extra ``skl2onnx``."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from biosfa.estimators import CuBICA, OfflineBioSFA
from biosfa.extras import imported
from biosfa.hierarchy import HierarchicalSFA
from biosfa.integrations.onnx._graph import DOUBLE, OPSET, SINGLE, Graph
from biosfa.integrations.onnx._models import part_of
from biosfa.integrations.onnx._rows import Rows
from biosfa.registry import MODELS, Choice
from biosfa.signal import QuadraticExpansion

__all__ = ["register"]


def register() -> None:
    """Tell skl2onnx how to convert the transformers of biosfa.

    Call it once, before ``skl2onnx.to_onnx``. A graph takes all rows of X as one episode, as ``transform`` does: with
    ``n_delays`` > 1, its first rows are NaN. :func:`biosfa.integrations.onnx.to_onnx` also makes graphs that take
    windows, or a stream.

    Raises
    ------
    MissingExtraError
        If skl2onnx is not installed, or too old.

    Examples
    --------
    >>> import numpy as np
    >>> import skl2onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from biosfa import SFA
    >>> from biosfa.integrations.skl2onnx import register
    >>> X = np.random.default_rng(0).standard_normal((1000, 5)).cumsum(axis=0).astype(np.float32)
    >>> pipeline = make_pipeline(StandardScaler(), SFA(2)).fit(X)
    >>> register()
    >>> graph = skl2onnx.to_onnx(pipeline, X[:1])
    """
    skl2onnx = imported("skl2onnx", "skl2onnx", least="1.18")
    for kind in _transformers():
        skl2onnx.update_registered_converter(kind, f"Biosfa{kind.__name__}", _describe_output, _convert)


def _transformers() -> Iterator[type]:
    """Yield the classes of estimators that have ``transform``."""
    for kind, home in MODELS.items():
        estimator = Choice(home, kind, "").load()
        if hasattr(estimator, "transform"):
            yield estimator
    yield from (CuBICA, OfflineBioSFA, QuadraticExpansion)


def _precision(operator: Any) -> np.dtype[Any]:
    """Return the precision of the features: float64 if an input has it, and the model computes in float64."""
    doubles = any(type(each.type).__name__ == "DoubleTensorType" for each in operator.inputs)
    return DOUBLE if doubles and not isinstance(operator.raw_operator, HierarchicalSFA) else SINGLE


def _describe_output(operator: Any) -> None:
    """Set the type and the shape of the output of a model in a graph of skl2onnx."""
    types = imported("skl2onnx.common.data_types", "skl2onnx")
    kind = types.DoubleTensorType if _precision(operator) == DOUBLE else types.FloatTensorType
    n_rows = operator.inputs[0].type.shape[0]
    operator.outputs[0].type = kind([n_rows, part_of(operator.raw_operator).width])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a model to a graph of skl2onnx."""
    part, precision = part_of(operator.raw_operator), _precision(operator)
    graph = Graph(precision, scope.get_unique_operator_name("biosfa") + "_")
    columns = [graph.cast(each.full_name, precision) for each in operator.inputs]  # a frame has one input per column
    given = columns[0] if len(columns) == 1 else graph.node("Concat", *columns, axis=1)
    nothing = np.full((part.n_rows - 1, *part.shape), np.nan)  # before the first row
    rows = Rows.following(graph, nothing, given, part.n_rows - 1)
    graph.rename(part.compute(graph, rows), operator.outputs[0].full_name)
    for constant in graph.constants:
        container.add_initializer(constant.name, constant.data_type, None, constant)
    for node in graph.nodes:
        attributes = {each.name: graph.onnx.helper.get_attribute_value(each) for each in node.attribute}
        container.add_node(node.op_type, list(node.input), list(node.output), op_version=OPSET, **attributes)
