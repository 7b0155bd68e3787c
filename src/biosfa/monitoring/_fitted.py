"""A fitted monitor that reads rows."""

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from biosfa.estimators import Projection
from biosfa.io import Stream
from biosfa.monitoring._detectors import Detector
from biosfa.monitoring._normal import Normal
from biosfa.monitoring._parameters import Watchable
from biosfa.monitoring._reading import Read
from biosfa.monitoring._rows import opened
from biosfa.typing import Float64Array


class Fitted(BaseEstimator):
    """What a monitor has learned, and how it reads rows with it."""

    model_: Watchable
    limits_: Float64Array
    constant_columns_: dict[int, float]
    n_features_in_: int
    _normal: Normal

    def _read(self, X: ArrayLike | Stream, lengths: ArrayLike | None) -> Read:
        check_is_fitted(self)
        detector = Detector(Projection.of(self.model_), self._normal.charts)
        stream = opened(self, X, lengths)
        parts = [Read.next(detector, chunk, self._normal, self.constant_columns_) for chunk in stream]
        if not parts:
            raise ValueError("the input has no rows")
        return Read.joined(parts)


def normal_of(monitor: Fitted) -> Normal:
    """Return what is normal at present for a fitted monitor."""
    check_is_fitted(monitor)
    return monitor._normal
