"""Reduction of the samples to principal components: the first step of the signal path."""

from dataclasses import dataclass

import numpy as np

from biosfa.kernels.exact import Moments, principal_directions
from biosfa.kernels.precision import precision_for
from biosfa.typing import Float64Array, FloatArray


@dataclass(frozen=True, eq=False)
class Reduction:
    """A projection of samples on their principal components, each of unit variance."""

    mean: Float64Array  # (d,)
    components: Float64Array  # (number of components, d)

    @classmethod
    def of(cls, moments: Moments, n_components: int) -> "Reduction":
        """Return the reduction to the first principal components, from moments."""
        if n_components > moments.n_features:
            raise ValueError(f"pca={n_components} exceeds the number of features, n_features = {moments.n_features}")
        components = principal_directions(moments.covariance, n_components)
        if len(components) < n_components:
            raise ValueError(
                f"pca={n_components} exceeds the rank of the input, {len(components)}: ask for fewer components"
            )
        return cls(moments.mean, components)

    @classmethod
    def of_rows(cls, X: FloatArray, n_components: int, weights: Float64Array | None = None) -> "Reduction":
        """Return the reduction to the first principal components of samples X, which may have weights."""
        moments = Moments(X.shape[1])
        moments.add_samples(X, weights)
        return cls.of(moments, n_components)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Reduction)
            and np.array_equal(self.mean, other.mean)
            and np.array_equal(self.components, other.components)
        )

    def check(self, n_features: int, n_components: int | None) -> None:
        """Raise ValueError if this does not reduce ``n_features`` columns to ``n_components``."""
        if self.mean.shape != (n_features,) or self.components.shape != (n_components, n_features):
            raise ValueError(f"its principal components have the wrong shape, {self.components.shape}")

    def apply(self, X: FloatArray) -> FloatArray:
        """Return the principal components of samples."""
        dtype = precision_for(self.components, X.dtype)
        centred = np.subtract(X, self.mean).astype(dtype, copy=False)  # in float64: a large mean has more digits
        reduced: FloatArray = centred @ self.components.T.astype(dtype)
        return reduced.astype(X.dtype, copy=False)
