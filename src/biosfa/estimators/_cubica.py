"""CuBICA: independent components from third- and fourth-order cumulants."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from biosfa.episodes import labelled_like, rows_of
from biosfa.kernels.cumulants import independent_rotation
from biosfa.kernels.exact import principal_axes, to_unit_variance
from biosfa.typing import Float64Array, FloatArray
from biosfa.validation import check_count, check_positive, check_samples


class CuBICA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Independent component analysis by joint diagonalisation of third- and fourth-order cumulants.

    CuBICA (Blaschke & Wiskott 2004) whitens the samples. It then rotates pairs of components until the contrast
    Σ C_iii²/3! + Σ C_iiii²/4! stops growing. You do not have to choose a nonlinearity, a starting point or a step size.
    It separates skewed sources as well as heavy- or light-tailed ones. Applied to slow features, it gives place cells.

    Parameters
    ----------
    n_components : int, optional
        Number of independent components. Every column is first scaled to unit variance. Then the samples are reduced to
        this number of principal components, and these are rotated. By default the rank of X.
    max_sweeps : int, default=100
        Largest number of sweeps. A sweep rotates every pair of components once.
    tol : float, default=1e-4
        Stop when no pair is rotated by more than this angle, in radians.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The unmixing matrix. Its product with x − ``mean_`` gives the independent components, which have unit variance
        and positive skew.
    mixing_ : array of shape (n_features, n_components)
        The mixing matrix. Its product with the independent components, plus ``mean_``, gives x if no components were
        left out.
    mean_ : array of shape (n_features,)
        Mean of the samples.
    n_sweeps_ : int
        Number of sweeps made.

    References
    ----------
    T. Blaschke, L. Wiskott. CuBICA: Independent component analysis by simultaneous third- and fourth-order cumulant
    diagonalization. IEEE Transactions on Signal Processing 52, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import CuBICA
    >>> rng = np.random.default_rng(0)
    >>> sources = np.stack([rng.exponential(size=5000), rng.uniform(size=5000)], axis=1)
    >>> found = CuBICA().fit_transform(sources @ [[2.0, 1.0], [1.0, 3.0]])
    >>> np.abs(np.corrcoef(found.T, sources.T)[:2, 2:]).max(axis=1).round(2)
    array([1., 1.])
    """

    components_: Float64Array

    def __init__(self, n_components: int | None = None, *, max_sweeps: int = 100, tol: float = 1e-4) -> None:
        self.n_components = n_components
        self.max_sweeps = max_sweeps
        self.tol = tol

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Find the independent components of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in any order.
        y : ignored

        Returns
        -------
        self

        Warns
        -----
        ConvergenceWarning
            If pairs still rotate by more than ``tol`` after ``max_sweeps``.
        """
        check_count("max_sweeps", self.max_sweeps)
        check_positive("tol", self.tol)
        rows = rows_of(X, ordered=False).samples
        samples = check_samples(self, rows, reset=True, min_samples=2).astype(np.float64, copy=False)
        self.mean_ = samples.mean(axis=0)
        centred = samples - self.mean_
        covariance = centred.T @ centred / len(centred)
        scale = to_unit_variance(covariance)  # units must not decide what counts as rank
        tolerance = len(covariance) * float(np.finfo(float).eps)
        principal = principal_axes(covariance * np.outer(scale, scale), tolerance=tolerance)
        rank = len(principal.variance)
        kept = rank if self.n_components is None else self.n_components
        if self.n_components is not None:
            check_count("n_components", self.n_components)
        if not 0 < kept <= rank:
            raise ValueError(
                f"n_components={kept}, but X has rank {rank}: ask for fewer components, or give more varied samples"
            )
        whitening = scale[:, None] * principal.whitening[:, :kept]
        Z = centred @ whitening
        R, self.n_sweeps_, converged = independent_rotation(Z, self.max_sweeps, float(self.tol))
        if not converged:
            warnings.warn(
                f"CuBICA has not converged: after {self.max_sweeps} sweeps, pairs still rotate by more than "
                f"tol={self.tol}. Use a larger max_sweeps or a larger tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        skew = np.mean((Z @ R.T) ** 3, axis=0)
        self.components_ = np.where(skew < 0, -1.0, 1.0)[:, None] * (R @ whitening.T)
        self.mixing_ = covariance @ self.components_.T  # the components are white: their covariance with the columns
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return the independent components of X, an array of shape (n_samples, n_components)."""
        check_is_fitted(self)
        samples = check_samples(self, rows_of(X, ordered=False).samples, reset=False)
        features: FloatArray = ((samples - self.mean_) @ self.components_.T).astype(samples.dtype, copy=False)
        return labelled_like(X, features, self.get_feature_names_out)  # type: ignore[no-any-return]

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
