"""From features back to the sensors: what a feature looks like in the columns, and a reconstruction of the input."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from biosfa.kernels.exact import as_correlations
from biosfa.signal import SignalPath
from biosfa.typing import Float64Array, FloatArray
from biosfa.validation import FLOATS


class Joint(NamedTuple):
    """Covariances of features and of the columns before the expansion: principal components or inputs, and delays."""

    mean: Float64Array  # (columns,) of the columns
    columns: Float64Array  # (columns, columns) covariance of the columns
    with_columns: Float64Array  # (k, columns) covariance of each feature with each column
    features: Float64Array  # (k, k) covariance of the features


def joint_of(mean: Float64Array, covariance: Float64Array, components: Float64Array, n_columns: int) -> Joint:
    """Return covariances from that of an expanded signal, which begins with the columns before the expansion."""
    with_signal = components @ covariance
    return Joint(
        mean=mean[:n_columns],
        columns=covariance[:n_columns, :n_columns],
        with_columns=with_signal[:, :n_columns],
        features=with_signal @ components.T,
    )


class WayBack(ABC):
    """Gives an estimator :attr:`patterns_` and :meth:`inverse_transform`.

    With the covariances C_yx of features with columns and C_yy of features, the pattern of a feature is its row of C_yx
    (Haufe et al., NeuroImage 87, 2014), and the best linear reconstruction of x is μ + C_xy C_yy⁻¹ y.
    """

    n_components: int | None
    n_delays: int
    _signal: SignalPath

    @abstractmethod
    def _joint(self) -> Joint:
        """Return the covariances with the columns before the expansion."""

    @property
    def patterns_(self) -> Float64Array:
        """Covariance of each feature with each input column: what the feature looks like in the sensors."""
        return self._with_input().with_columns

    def inverse_transform(self, Y: ArrayLike) -> FloatArray:
        """Return the input that the features suggest: its best linear reconstruction.

        It is exact if there are as many features as input columns. With delays, it is the newest sample of each delay
        vector.

        Parameters
        ----------
        Y : array-like of shape (n_samples, n_components)
            Features, as :meth:`transform` returns them.

        Returns
        -------
        array of shape (n_samples, n_features)

        Raises
        ------
        ValueError
            If there is an expansion. Features are then not linear in the input.
        """
        check_is_fitted(self)
        if self._signal.transformer is not None:
            raise ValueError(
                "inverse_transform needs features that are linear in the input, but these come from an expansion: use "
                "patterns_, or fit without expansion"
            )
        features = np.asarray(Y)
        if features.dtype not in FLOATS:
            features = features.astype(np.float64)
        joint = self._with_input()
        if features.ndim != 2 or features.shape[1] != len(joint.features):
            raise ValueError(f"Y must have the shape (n_samples, {len(joint.features)}); got {features.shape}")
        newest = self._signal.n_features_in
        back = np.linalg.pinv(joint.features, hermitian=True) @ joint.with_columns[:, :newest]
        reconstructed: FloatArray = (joint.mean[:newest] + features @ back).astype(features.dtype, copy=False)
        return reconstructed

    def _with_input(self) -> Joint:
        """Return the covariances with the input columns: the newest sample first, then its delays."""
        check_is_fitted(self)
        signal, joint = self._signal, self._joint()
        if signal.reduction is None:
            return joint
        # z = A(x − μ) with the rows of A along the principal axes: the covariance with x is that with z, times A⁺
        back = np.kron(np.eye(signal.n_delays), np.linalg.pinv(signal.reduction.components).T)
        return Joint(
            mean=np.tile(signal.reduction.mean, signal.n_delays) + joint.mean @ back,
            columns=back.T @ joint.columns @ back,
            with_columns=joint.with_columns @ back,
            features=joint.features,
        )


def pattern_correlations(model: WayBack) -> Float64Array:
    """Return the correlation of each feature with each input column; 0 for columns that do not vary."""
    joint = model._with_input()
    return as_correlations(joint.with_columns, np.diag(joint.features), np.diag(joint.columns))
