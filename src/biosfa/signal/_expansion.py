"""The quadratic expansion as a scikit-learn transformer."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from biosfa.kernels.expansion import quadratic, quadratic_size
from biosfa.typing import FloatArray
from biosfa.validation import check_samples


class QuadraticExpansion(TransformerMixin, BaseEstimator):
    """Transformer that expands each sample to all monomials of degree one and two.

    The result is that of scikit-learn's ``PolynomialFeatures(2, include_bias=False)``, computed faster, and in float32
    if the input is float32.

    Attributes
    ----------
    n_features_in_ : int
        Number d of input columns.
    n_output_features_ : int
        Number of output columns, d + d(d + 1)/2.

    Examples
    --------
    >>> from biosfa import QuadraticExpansion
    >>> QuadraticExpansion().fit_transform([[2.0, 3.0]])
    array([[2., 3., 4., 6., 9.]])
    """

    @staticmethod
    def size(n_features: int) -> int:
        """Return the number of output columns for d input columns: d + d(d + 1)/2."""
        return quadratic_size(n_features)

    def fit(self, X: ArrayLike, y: object = None) -> "QuadraticExpansion":
        """Store the number of columns of X. The values are not used."""
        check_samples(self, X, reset=True)
        self.n_output_features_ = self.size(self.n_features_in_)
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return the expanded samples, rows (s_1, …, s_d, s_1², s_1s_2, …, s_d²)."""
        check_is_fitted(self)
        return quadratic(check_samples(self, X, reset=False))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray[Any, Any]:
        """Return the names of the output columns, such as ``x0``, ``x0^2`` and ``x0 x1``."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        pairs = [
            f"{names[i]}^2" if i == j else f"{names[i]} {names[j]}"
            for i in range(len(names))
            for j in range(i, len(names))
        ]
        return np.asarray([*names, *pairs], dtype=object)
