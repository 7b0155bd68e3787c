"""Monitors: the statistics of each row."""

from dataclasses import dataclass

import numpy as np

from biosfa.integrations.onnx._features import ExpandedSignal, Features
from biosfa.integrations.onnx._graph import DOUBLE, Graph, Value
from biosfa.integrations.onnx._maps import expanded, linear
from biosfa.integrations.onnx._rows import Rows
from biosfa.monitoring import (
    REST,
    SAME_VALUE,
    SLOW_AND_REST,
    WILDEST,
    Charts,
    SlowFeatureMonitor,
    in_single,
    normal_of,
)
from biosfa.typing import Float64Array

# Larger features are not told apart, so that their squares are finite in float32.
WILDEST_SINGLE = 1e15


@dataclass(frozen=True)
class Statistics(ExpandedSignal):
    """The four statistics of a monitor, for what is normal at present."""

    mean: Float64Array
    weights: Float64Array  # of the features that the charts watch
    offset: Float64Array
    charts: Charts
    constants: dict[int, float]  # columns that had only one value in normal operation

    output = "statistics"

    @classmethod
    def of(cls, monitor: SlowFeatureMonitor) -> "Statistics":
        """Return the statistics of a fitted monitor."""
        features, normal = Features.of(monitor.model_), normal_of(monitor)
        offset = normal.apply(np.zeros((1, features.width)))[0]
        weights = normal.turned(features.weights)
        return cls(features.signal, features.mean, weights, offset, normal.charts, monitor.constant_columns_)

    @property
    def n_rows(self) -> int:
        """Number of consecutive rows that a row of the output needs. S² compares a row with the one before it."""
        return self.signal.n_delays + 1

    @property
    def width(self) -> int:
        """Number of columns of the output."""
        return len(SLOW_AND_REST)

    def compute(self, graph: Graph, rows: Rows) -> Value:
        """Add the nodes that compute the output, and return it."""
        now, before = (self._features(graph, rows, ago) for ago in (0, 1))
        change = graph.node("Sub", now, before)
        sums = [
            graph.node("MatMul", graph.node("Mul", y, y), weights.T)
            for y, weights in ((now, self.charts.levels), (change, self.charts.changes))
        ]
        statistics = graph.node("Concat", *sums, axis=1)
        return self._with_moved(graph, rows, statistics) if self.constants else statistics

    def _features(self, graph: Graph, rows: Rows, ago: int) -> Value:
        signal = expanded(graph, self.signal, rows, ago)
        features = linear(graph, signal, self.mean, self.weights, self.offset)
        wildest = WILDEST if graph.dtype == DOUBLE else WILDEST_SINGLE
        return graph.node("Clip", features, -wildest, wildest)

    def _with_moved(self, graph: Graph, rows: Rows, statistics: Value) -> Value:
        """Return infinite statistics of the rest where a column has another value than in normal operation."""
        columns, values = np.array(list(self.constants)), np.array(list(self.constants.values()))
        newest = rows.delayed(1)
        held = graph.node("Gather", newest, columns, axis=1)
        distances = [
            graph.node("Abs", graph.node("Sub", held, graph.rounded(same))) for same in (values, in_single(values))
        ]
        moved = graph.node("Greater", graph.node("Min", *distances), SAME_VALUE * np.abs(values))
        n_moved = graph.node("ReduceSum", graph.cast(moved, graph.dtype), [1])
        is_complete = graph.node("Not", graph.node("IsNaN", graph.node("ReduceSum", newest, [1])))
        infinite = graph.node("And", graph.node("Greater", n_moved, 0.0), is_complete)
        rest = np.isin(np.arange(self.width), REST)
        return graph.node("Where", graph.node("And", infinite, rest), np.inf, statistics)
