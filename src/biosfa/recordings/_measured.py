"""How slow and how white a model's features are on the input that it was fitted to."""

from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from biosfa.estimators import Projection, SlowFeatureEstimator
from biosfa.io import Stream
from biosfa.kernels.exact import Moments, accumulate
from biosfa.typing import FloatArray

MOST_ROWS = 100_000  # that are looked at


@dataclass(frozen=True)
class Measured:
    """Numbers for the weights that are used, in place of a network's own running estimates; JSON data."""

    n_rows: int  # of the beginning of the input
    delta_values: list[float]
    constraint_error: float  # ‖⟨yyᵀ⟩ − I‖²/k of the features y

    @classmethod
    def of(cls, model: SlowFeatureEstimator, stream: Stream) -> Self:
        """Measure a model on the beginning of a stream."""
        projection = Projection.of(model)
        moments, n_rows = Moments(len(projection.components)), 0
        tail: FloatArray = np.empty((0, moments.n_features))
        for chunk in stream:
            tail = accumulate(moments, *projection.found(chunk), 1, tail)
            n_rows = chunk.position.n_rows
            if n_rows >= MOST_ROWS:
                break
        covariance, change = moments.covariance, moments.difference_covariance
        error = float(np.square(covariance - np.eye(len(covariance))).sum() / len(covariance))
        return cls(n_rows, (np.diag(change) / np.diag(covariance)).tolist(), error)

    def to_json(self) -> dict[str, Any]:
        """As JSON data."""
        return asdict(self)
