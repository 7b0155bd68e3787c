"""The interface of scikit-learn's outlier detectors."""

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OutlierMixin

from biosfa.io import Stream
from biosfa.typing import Float64Array, IntArray


class Outliers(OutlierMixin):
    """Gives a monitor :meth:`score_samples`, :meth:`decision_function` and :meth:`predict`."""

    limits_: Float64Array
    offset_ = -1.0  # the score of a row at its limit

    @abstractmethod
    def statistics(self, X: ArrayLike | Stream, *, lengths: ArrayLike | None = None) -> Float64Array:
        """Return the statistics of each row."""

    def score_samples(self, X: ArrayLike, *, lengths: ArrayLike | None = None) -> Float64Array:
        """Return minus the largest ratio of a statistic to its limit: below −1 is an outlier, NaN has no data."""
        statistics = self.statistics(X, lengths=lengths)
        scores = np.full(len(statistics), np.nan)
        known = ~np.isnan(statistics).all(axis=1)
        scores[known] = -np.nanmax(statistics[known] / np.maximum(self.limits_, np.finfo(float).tiny), axis=1)
        return scores

    def decision_function(self, X: ArrayLike, *, lengths: ArrayLike | None = None) -> Float64Array:
        """Return :meth:`score_samples` plus 1: negative for outliers."""
        return self.score_samples(X, lengths=lengths) - self.offset_

    def predict(self, X: ArrayLike, *, lengths: ArrayLike | None = None) -> IntArray:
        """Return −1 for rows with a statistic beyond its limit, and 1 for the others, also for those without data.

        Persistence does not count. NaN in :meth:`score_samples` says which rows have no data.
        """
        return np.where(self.decision_function(X, lengths=lengths) < 0.0, -1, 1)
