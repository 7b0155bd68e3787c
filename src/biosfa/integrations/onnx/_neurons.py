"""The activity of output neurons, which may be unable to be negative."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve

from biosfa.estimators import BioSFA
from biosfa.integrations.onnx._features import Features
from biosfa.integrations.onnx._graph import DOUBLE, Graph, Value
from biosfa.integrations.onnx._rows import Rows
from biosfa.kernels.local import Rule
from biosfa.kernels.local.dynamics import MAX_STEPS, SETTLED
from biosfa.typing import Float64Array


class NeuralOutput(Features):
    """The activity y = M⁻¹Wx."""

    output = "neural_output"

    @classmethod
    def of(cls, model: BioSFA) -> "NeuralOutput":
        """Return the activity of the output neurons of a fitted network."""
        signal, mean, W, M = Features.of(model).signal, model.mean_, model.W_.astype(np.float64), model.M_
        if not Rule.named(model.rule).is_nonnegative:
            return cls(signal, mean, solve(M, W, assume_a="pos"))
        diagonal = np.diag(M)[:, None]
        return NonnegativeOutput(signal, mean, W / diagonal, M / diagonal)


@dataclass(frozen=True)
class NonnegativeOutput(NeuralOutput):
    """The minimum y of ½yᵀMy − yᵀWx over y ≥ 0. The rows of W and M are divided by the diagonal of M."""

    lateral: Float64Array

    def compute(self, graph: Graph, rows: Rows) -> Value:
        """Add the nodes that compute the output, and return it.

        The loop is in float64 in any case: with the rounding of float32, the outputs might never come to rest.
        """
        currents = graph.cast(super().compute(graph, rows), DOUBLE)
        silent = graph.node("Sub", currents, currents)  # NaN stays NaN
        settled = graph.loop(MAX_STEPS, _sweep(graph.body("sweep", DOUBLE), currents, self.lateral), silent)
        return graph.cast(settled, graph.dtype)


def _sweep(graph: Graph, currents: Value, M: Float64Array) -> Graph:
    """Change one neuron after the other, and go on while outputs change: the body of a loop."""
    turn = graph.begin_loop(("n", len(M)))
    settled = graph.loop(len(M), _step(graph.body("step", DOUBLE), currents, M), turn.value)
    moved = graph.node("Sub", settled, turn.value)
    change, size = (graph.node("ReduceSum", graph.node("Mul", y, y), [1]) for y in (moved, settled))
    restless = graph.node("Greater", change, graph.node("Mul", size, (SETTLED * np.finfo(np.float64).eps) ** 2))
    n_restless = graph.node("ReduceSum", graph.cast(restless, DOUBLE), keepdims=0)
    return graph.end_loop(turn, settled, graph.node("Greater", n_restless, 0.0))


def _step(graph: Graph, currents: Value, M: Float64Array) -> Graph:
    """Change the neuron of this turn so that it comes to rest while the others do not move: the body of a loop."""
    turn = graph.begin_loop(("n", len(M)))
    neuron = graph.node("Reshape", turn.number, [1])
    inhibition = graph.node("MatMul", turn.value, graph.node("Gather", M.T, neuron, axis=1))
    net = graph.node("Sub", graph.node("Gather", currents, neuron, axis=1), inhibition)
    # the output is the larger of output + net and 0
    change = graph.node("Max", net, graph.node("Neg", graph.node("Gather", turn.value, neuron, axis=1)))
    changes = graph.node("Mul", change, graph.node("Gather", np.eye(len(M)), neuron, axis=0))
    return graph.end_loop(turn, graph.node("Add", turn.value, changes), turn.goes_on)
