"""What a fitted model computes, chunk by chunk of a stream."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from biosfa.io import Chunk, Stream
from biosfa.kernels.precision import precision_for
from biosfa.signal import Plan, SignalPath
from biosfa.typing import BoolArray, Float64Array, FloatArray

if TYPE_CHECKING:
    from biosfa.estimators._base import SlowFeatureEstimator


@dataclass
class Projection:
    """What a model computes, chunk by chunk of a stream."""

    signal: SignalPath
    components: Float64Array
    mean: Float64Array

    @classmethod
    def of(cls, estimator: "SlowFeatureEstimator") -> Self:
        """That of a fitted estimator, with a memory of its own that knows no sample yet."""
        mean, components = estimator._map()
        return cls(replace(estimator._signal), components, mean)

    def features(self, chunk: Chunk) -> FloatArray:
        """A row for each row of a chunk that follows the last one; NaN where there is no feature."""
        plan, n_past = self._follow(chunk)
        Y = np.full((chunk.n_rows, len(self.components)), np.nan, chunk.samples.dtype)
        Y[chunk.rows if plan.index is None else chunk.rows[plan.index - n_past]] = self.project(plan)
        return Y

    def found(self, chunk: Chunk) -> tuple[FloatArray, BoolArray]:
        """The features that there are, and which of them begin an episode."""
        plan, _ = self._follow(chunk)
        return self.project(plan), plan.starts

    def _follow(self, chunk: Chunk) -> tuple[Plan, int]:
        """What a chunk will give, and how many rows of those before it that needs."""
        rows = self.signal.reduce(chunk.samples)
        plan = self.signal.plan(rows, chunk.starts, continued=True)
        self.signal.remember(rows, chunk.starts)
        return plan, len(plan.rows) - len(rows)

    def project(self, plan: Plan) -> FloatArray:
        """(h(x) − mean) componentsᵀ in the dtype of the samples."""
        dtype = precision_for(self.components, plan.rows.dtype)
        weights = self.components.T.astype(dtype)
        Y = np.empty((len(plan.starts), len(self.components)), plan.rows.dtype)
        for x, piece in self.signal.pieces(plan):
            Y[piece] = np.subtract(x, self.mean).astype(dtype, copy=False) @ weights
        return Y


def check_columns(estimator: "SlowFeatureEstimator", stream: Stream) -> None:
    """Raise ValueError if a stream has not as many columns as a model was fitted to."""
    if stream.n_features != estimator.n_features_in_:
        raise ValueError(
            f"the stream has {stream.n_features} columns, and the model was fitted to {estimator.n_features_in_}: "
            "choose them with columns (--columns), or say which are time and episodes (--time, --episodes)"
        )
