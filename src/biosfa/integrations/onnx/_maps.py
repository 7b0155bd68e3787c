"""The steps from rows to features as nodes: linear maps, monomials, the expanded signal."""

import numpy as np

from biosfa.integrations.onnx._graph import Graph, Value
from biosfa.integrations.onnx._rows import Rows
from biosfa.signal import SignalPath, name_of_expansion
from biosfa.typing import Float64Array


def linear(
    graph: Graph, values: Value, mean: Float64Array, weights: Float64Array, offset: Float64Array | float = 0.0
) -> Value:
    """Return (x − mean) weightsᵀ + offset for the rows x of ``values``.

    The mean is subtracted first, so that a large mean costs no digits. The offset includes what rounding the mean to
    the precision of the graph has changed.
    """
    near = graph.rounded(mean)
    centred = graph.node("Sub", values, near)
    product = graph.node("MatMul", centred, weights.astype(np.float64).T)
    return graph.node("Add", product, offset + weights @ (near - mean))


def monomials(graph: Graph, values: Value, n_values: int, axis: int) -> Value:
    """Return all monomials of degree one and two along an axis, in the order of ``QuadraticExpansion``."""
    first, second = np.triu_indices(n_values)
    products = graph.node(
        "Mul", graph.node("Gather", values, first, axis=axis), graph.node("Gather", values, second, axis=axis)
    )
    return graph.node("Concat", values, products, axis=axis)


def quadratic(graph: Graph, values: Value, n_columns: int) -> Value:
    """Return the quadratic expansion of rows. Gathering is quick along the first axis only, hence the transposes."""
    expanded = monomials(graph, graph.node("Transpose", values, perm=[1, 0]), n_columns, axis=0)
    return graph.node("Transpose", expanded, perm=[1, 0])


# The expansions of this package, by their names.
EXPANSIONS = {"quadratic": quadratic}


def expanded(graph: Graph, signal: SignalPath, rows: Rows, ago: int = 0) -> Value:
    """Return the expanded signal of the rows ``ago`` rows before each: principal components, delays, expansion.

    Raises
    ------
    ValueError
        If the expansion is none of this package.
    """
    if signal.reduction is not None:
        rows = rows.replaced(linear(graph, rows.values, signal.reduction.mean, signal.reduction.components))
    delayed = rows.delayed(signal.n_delays, ago)
    if signal.transformer is None:
        return delayed
    name = name_of_expansion(signal.transformer)
    if name not in EXPANSIONS:
        raise ValueError(
            f"the expansion {type(signal.transformer).__name__} cannot be exported, only "
            f"{', '.join(f'expansion={known!r}' for known in (None, *EXPANSIONS))}"
        )
    return EXPANSIONS[name](graph, delayed, signal.n_delays * signal.n_reduced)
