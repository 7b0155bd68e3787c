"""Models as ONNX graphs."""

import json
import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from biosfa import __version__
from biosfa.estimators import input_names
from biosfa.hierarchy import HierarchicalSFA
from biosfa.integrations.onnx._graph import Graph
from biosfa.integrations.onnx._models import part_of
from biosfa.integrations.onnx._rows import NEXT_STATE, Rows
from biosfa.monitoring import SLOW_AND_REST, SlowFeatureMonitor
from biosfa.typing import Float64Array
from biosfa.validation import FLOATS


def to_onnx(model: Any, *, output: str = "features", stream: bool = False, dtype: DTypeLike = np.float32) -> Any:
    """Return a fitted model as an ONNX graph, which other programs can run without Python.

    Parameters
    ----------
    model : estimator
        A fitted model: any learner of slow features, a rival, :class:`~biosfa.CuBICA`,
        :class:`~biosfa.HierarchicalSFA`, :class:`~biosfa.monitoring.SlowFeatureMonitor` or
        :class:`~biosfa.QuadraticExpansion`.
    output : {"features", "neural_output"}, default="features"
        What the graph computes. "features" is the result of ``transform``, or of ``statistics`` for a monitor.
        "neural_output" is that of :meth:`biosfa.BioSFA.neural_output`.
    stream : bool, default=False
        Matters only if an output depends on several rows: with ``n_delays`` > 1, and for monitors. The graph then takes
        windows of rows. With ``stream=True`` it takes rows and the last rows before them.
    dtype : float32 or float64, default=float32
        Precision of inputs, outputs and numbers.

    Returns
    -------
    onnx.ModelProto
        The checked graph. ``model.SerializeToString()`` is the content of a file. Its metadata have the version of
        biosfa, the kind of model, the names of the columns and δ; those of a monitor also have the limits.

        ==============  ========================  ====================================================================
        name            shape                     content
        ==============  ========================  ====================================================================
        ``X``           (n, columns)              input: rows
        ``frames``      (n, rows, columns, …)     input of a hierarchy
        ``window``      (n, rows, columns)        input: for each output the last rows, the oldest first
        ``state``       (rows before, columns)    input of a stream: ``next_state`` of the last call; NaN at first
        ``next_state``  (rows before, columns)    output of a stream
        ``features``    (n, number of features)   output; also ``neural_output``, ``statistics``
        ==============  ========================  ====================================================================

    Raises
    ------
    MissingExtraError
        If onnx is not installed, or too old.
    TypeError
        If models of this kind cannot be exported.
    ValueError
        If the model has an expansion that you wrote, or numbers that are too large for the precision.

    Examples
    --------
    >>> import numpy as np
    >>> import onnxruntime
    >>> from biosfa import SFA
    >>> from biosfa.integrations.onnx import to_onnx
    >>> X = np.random.default_rng(0).standard_normal((1000, 5)).cumsum(axis=0).astype(np.float32)
    >>> sfa = SFA(2).fit(X)
    >>> session = onnxruntime.InferenceSession(to_onnx(sfa).SerializeToString())
    >>> [features] = session.run(None, {"X": X})
    >>> bool(np.abs(features - sfa.transform(X)).max() < 1e-5)
    True
    """
    precision = np.dtype(dtype)
    if precision not in FLOATS:
        raise ValueError(f"dtype must be float32 or float64; got {dtype!r}")
    part = part_of(model, output)
    graph = Graph(precision)
    if stream or part.n_rows == 1:
        rows = Rows.stream(graph, part.input, part.n_rows, part.shape)
    else:
        rows = Rows.windowed(graph, part.n_rows, part.shape)
    graph.output(part.output, part.compute(graph, rows), ("n", part.width))
    if rows.past and not rows.windows:
        graph.output(NEXT_STATE, rows.last(), (rows.past, *part.shape))
    return graph.model(type(model).__name__, __version__, _notes(model))


def _notes(model: Any) -> dict[str, str]:
    """Return the metadata of a graph. Lists are JSON."""
    notes = {"biosfa": __version__, "model": type(model).__name__}
    if hasattr(model, "n_features_in_"):
        notes["columns"] = json.dumps(input_names(model))
    if hasattr(model, "delta_values_"):
        delta = model.delta_values_[-1][1] if isinstance(model, HierarchicalSFA) else model.delta_values_
        notes["delta_values"] = _numbers(delta)
    if isinstance(model, SlowFeatureMonitor):
        notes |= {"statistics": json.dumps(SLOW_AND_REST), "limits": _numbers(model.limits_)}
    return notes


def _numbers(array: Float64Array) -> str:
    """Return numbers as JSON; null where they are not known."""
    return json.dumps([number if math.isfinite(number) else None for number in array.tolist()])
