"""Delay embedding as a scikit-learn transformer."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from biosfa.episodes import episode_starts
from biosfa.kernels.embedding import delay_index, gather_delays
from biosfa.typing import FloatArray
from biosfa.validation import check_count, check_samples


class TimeEmbedding(TransformerMixin, BaseEstimator):
    """Transformer that replaces each sample by its delay vector (x_t, x_{t−1}, …, x_{t−n_delays+1}).

    The first ``n_delays`` − 1 rows of an episode have no complete delay vector: they are NaN in the output. The same is
    true for the features of :class:`SFA` and the other learners with ``n_delays``.

    Parameters
    ----------
    n_delays : int, default=2
        Number of consecutive samples in a delay vector, the newest first.

    Attributes
    ----------
    n_features_in_ : int
        Number of input columns.

    Examples
    --------
    >>> from biosfa import TimeEmbedding
    >>> TimeEmbedding(n_delays=2).fit_transform([[1.0], [2.0], [3.0]])
    array([[nan, nan],
           [ 2.,  1.],
           [ 3.,  2.]])
    """

    def __init__(self, n_delays: int = 2) -> None:
        self.n_delays = n_delays

    def fit(self, X: ArrayLike, y: object = None) -> "TimeEmbedding":
        """Store the number of columns of X. The values are not used."""
        check_count("n_delays", self.n_delays)
        check_samples(self, X, reset=True)
        return self

    def transform(self, X: ArrayLike, *, lengths: ArrayLike | None = None) -> FloatArray:
        """Return the delay vectors of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples in order of time.
        lengths : array-like of int, optional
            Number of rows of each episode in X. By default X is one episode.

        Returns
        -------
        array of shape (n_samples, n_delays × n_features)
        """
        check_is_fitted(self)
        samples = check_samples(self, X, reset=False)
        starts = episode_starts(len(samples), lengths, open_episode=False)
        index, _ = delay_index(starts, self.n_delays)
        embedded: FloatArray = np.full((len(samples), self.n_delays * samples.shape[1]), np.nan, samples.dtype)
        embedded[index] = gather_delays(samples, index, self.n_delays)
        return embedded

    def fit_transform(self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None) -> FloatArray:
        """Fit to X and return its delay vectors."""
        return self.fit(X).transform(X, lengths=lengths)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray[Any, Any]:
        """Return the names of the output columns, such as ``x0`` and ``x0[t-1]``."""
        check_is_fitted(self)
        return delayed_names(_check_feature_names_in(self, input_features), self.n_delays)


def delayed_names(names: np.ndarray[Any, Any], n_delays: int) -> np.ndarray[Any, Any]:
    """Return the names of the columns of delay vectors."""
    delayed = [name if delay == 0 else f"{name}[t-{delay}]" for delay in range(n_delays) for name in names]
    return np.asarray(delayed, dtype=object)
