"""Hierarchies: receptive fields as convolutions, frame by frame."""

from dataclasses import dataclass

from biosfa.hierarchy import HierarchicalSFA, Step, trained_layers
from biosfa.integrations.onnx._graph import SINGLE, Graph, Value
from biosfa.integrations.onnx._maps import monomials
from biosfa.integrations.onnx._part import Part
from biosfa.integrations.onnx._rows import Rows


@dataclass(frozen=True)
class Hierarchy(Part):
    """The features of the top layer."""

    network: HierarchicalSFA

    input = "frames"
    n_rows = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a frame."""
        return self.network.shape_in_

    @property
    def width(self) -> int:
        """Number of columns of the output."""
        return len(self.network.get_feature_names_out())

    def compute(self, graph: Graph, rows: Rows) -> Value:
        """Add the nodes that compute the output, and return it.

        Frames are computed one after the other: the monomials of a frame fit into the cache, those of many do not.
        """
        if graph.dtype != SINGLE:
            raise ValueError("HierarchicalSFA computes in float32: export it with dtype=np.float32 (--dtype float32)")
        body = graph.body("frame", SINGLE)
        frame = body.input("frame", self.shape)
        body.output("frame_features", self._of_frame(body, frame), (self.width,))
        return graph.node("Scan", rows.values, body=body.content("frame"), num_scan_inputs=1)

    def _of_frame(self, graph: Graph, frame: Value) -> Value:
        network = self.network
        channels = self.shape[2] if len(self.shape) == 3 else 1
        pixels = graph.node("Mul", graph.node("Sub", frame, network.pixel_mean_), network.pixel_scale_)
        maps = graph.node("Reshape", pixels, [1, *self.shape[:2], channels])
        maps = graph.node("Transpose", maps, perm=[0, 3, 1, 2])  # (1, channels, rows, columns)
        for layer, (linear, quadratic) in trained_layers(network):
            maps = _convolved(graph, maps, linear, layer.field, layer.strides)
            expanded = monomials(graph, maps, layer.n_reduced, axis=1)
            maps = _convolved(graph, expanded, quadratic, (1, 1), (1, 1))
        return graph.node("Reshape", graph.node("Transpose", maps, perm=[0, 2, 3, 1]), [-1])


def _convolved(graph: Graph, maps: Value, step: Step, field: tuple[int, int], strides: tuple[int, int]) -> Value:
    """Return the features of a step on all its fields, clipped."""
    weights = step.components.reshape(len(step.components), *field, -1).transpose(0, 3, 1, 2)
    features = graph.node("Conv", maps, weights, -(step.components @ step.mean), strides=list(strides))
    return graph.node("Clip", features, -step.clip, step.clip)
