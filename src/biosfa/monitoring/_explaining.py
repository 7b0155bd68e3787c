"""Which columns contribute to the statistics, and which are to blame for an alarm."""

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from biosfa.estimators import Projection
from biosfa.io import Stream
from biosfa.monitoring._columns import Attribution
from biosfa.monitoring._fitted import Fitted
from biosfa.typing import Float64Array


class Explaining(Fitted):
    """Gives a monitor :meth:`contributions` and :meth:`causes`."""

    _attribution: Attribution | None = None

    @property
    def explains(self) -> bool:
        """Whether contributions are known for the expansion of the model."""
        check_is_fitted(self)
        return self._attributing().known

    def contributions(self, X: ArrayLike | Stream, *, lengths: ArrayLike | None = None) -> Float64Array:
        """Return the share of each input column in each statistic. The shares add up to the statistic.

        They are reconstruction-based contributions (Alcala & Qin 2009), brought to the sum of the statistic. All delays
        of a column count together. With ``expansion="quadratic"``, a monomial counts for each of its columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Stream
            Rows in order of time. The result has ``4 * n_features`` numbers per row.
        lengths : array-like of int, optional
            Number of rows of each episode in X.

        Returns
        -------
        array of shape (n_samples, 4, n_features)
            NaN where there is no statistic.
        """
        read = self._read(X, lengths)
        return self._attributing().shares(self._normal, read)

    def causes(self, X: ArrayLike | Stream, *, lengths: ArrayLike | None = None) -> Float64Array:
        """Return the share of each input column in what is beyond its limit.

        Statistics that are beyond their limits count with their contributions, divided by the limit. So the column with
        the largest share is the first to look at. Sum the result over the rows of an alarm. In rows where only T² of
        the slow features is beyond its limit, the columns vary together as usual, and contributions differ little. So
        each is multiplied by the distance of the column from its mean, in standard deviations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Stream
            Rows in order of time.
        lengths : array-like of int, optional
            Number of rows of each episode in X.

        Returns
        -------
        array of shape (n_samples, n_features)
            Rows add up to 1, or are 0 if no statistic is beyond its limit, or if contributions are not known for the
            expansion.
        """
        read = self._read(X, lengths)
        return self._attributing().causes(self._normal, read, self.limits_)

    def _attributing(self) -> Attribution:
        if self._attribution is None:
            self._attribution = Attribution(Projection.of(self.model_))
        return self._attribution
