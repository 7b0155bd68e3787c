"""Features of a stream, computed chunk by chunk."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.base import BaseEstimator

from biosfa.io import Chunk, Stream
from biosfa.kernels.precision import precision_for
from biosfa.signal import Plan, SignalPath
from biosfa.typing import BoolArray, Float64Array, FloatArray, IntArray
from biosfa.wording import listed

if TYPE_CHECKING:
    from biosfa.estimators._base import SlowFeatureEstimator


@dataclass
class Projection:
    """Computes the features of a stream with a fitted model, chunk by chunk."""

    signal: SignalPath
    components: Float64Array
    mean: Float64Array

    @classmethod
    def of(cls, estimator: "SlowFeatureEstimator") -> Self:
        """Return the projection of a fitted estimator. It has its own memory of past samples, which is empty."""
        mean, components = estimator._map()
        return cls(replace(estimator._signal), components, mean)

    def features(self, chunk: Chunk) -> FloatArray:
        """Return one row of features per row of a chunk that follows the last chunk; NaN where there is no feature."""
        Y, _ = self.placed(chunk)
        return Y

    def placed(self, chunk: Chunk) -> tuple[FloatArray, IntArray]:
        """Return the same as :meth:`features`, and the numbers of the rows that have features."""
        plan, n_past = self._follow(chunk)
        rows = chunk.rows if plan.index is None else chunk.rows[plan.index - n_past]
        Y = np.full((chunk.n_rows, len(self.components)), np.nan, chunk.samples.dtype)
        Y[rows] = self.project(plan)
        return Y, rows

    def found(self, chunk: Chunk) -> tuple[FloatArray, BoolArray]:
        """Return the features of the rows of a chunk that have any, and which of them begin an episode."""
        plan, _ = self._follow(chunk)
        return self.project(plan), plan.starts

    def _follow(self, chunk: Chunk) -> tuple[Plan, int]:
        """Return the plan of a chunk, and how many of its rows come from earlier chunks."""
        rows = self.signal.reduce(chunk.samples)
        plan = self.signal.plan(rows, chunk.starts, continued=True)
        self.signal.remember(rows, chunk.starts)
        return plan, len(plan.rows) - len(rows)

    def project(self, plan: Plan) -> FloatArray:
        """Return (h(x) − mean) componentsᵀ in the dtype of the samples, where h(x) is the expanded signal."""
        dtype = precision_for(self.components, plan.rows.dtype)
        weights = self.components.T.astype(dtype)
        Y = np.empty((len(plan.starts), len(self.components)), plan.rows.dtype)
        for x, piece in self.signal.pieces(plan):
            Y[piece] = np.subtract(x, self.mean).astype(dtype, copy=False) @ weights
        return Y


def check_columns(estimator: BaseEstimator, stream: Stream) -> None:
    """Raise ValueError if a stream does not have the columns that a model was fitted to.

    If both have names, these must be the same, in the same order. But columns that were chosen for the stream may have
    other names.
    """
    if stream.n_features != estimator.n_features_in_:
        raise ValueError(
            f"the stream has {stream.n_features} columns, but the model was fitted to {estimator.n_features_in_}: "
            "choose columns (--columns), or name the columns of time and episodes (--time, --episodes)"
        )
    names = [str(name) for name in getattr(estimator, "feature_names_in_", [])]
    if not (names and stream.named) or stream.feature_names == names:
        return
    if not stream.chosen or sorted(stream.feature_names) == sorted(names):
        raise ValueError(
            f"the stream has the columns {listed(stream.feature_names)}, but the model was fitted to {listed(names)}: "
            "open the stream with columns= (--columns), in the order of the fit"
        )
