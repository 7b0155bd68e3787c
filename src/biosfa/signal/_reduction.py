"""Principal components of the samples, found before anything else is done to them."""

from dataclasses import dataclass

import numpy as np

from biosfa.kernels.exact import Moments, principal_directions
from biosfa.kernels.precision import precision_for
from biosfa.typing import Float64Array, FloatArray


@dataclass(frozen=True, eq=False)
class Reduction:
    """Projection of samples on their principal components, each of unit variance."""

    mean: Float64Array  # (d,)
    components: Float64Array  # (number of components, d)

    @classmethod
    def of(cls, moments: Moments, n_components: int) -> "Reduction":
        """The first principal components of what was summed up."""
        if n_components > moments.n_features:
            raise ValueError(f"pca={n_components} exceeds the number of features, n_features = {moments.n_features}")
        components = principal_directions(moments.covariance, n_components)
        if len(components) < n_components:
            raise ValueError(f"pca={n_components} exceeds the rank of the input, {len(components)}: ask for fewer")
        return cls(moments.mean, components)

    @classmethod
    def of_rows(cls, X: FloatArray, n_components: int) -> "Reduction":
        """Those of some samples."""
        moments = Moments(X.shape[1])
        moments.add_samples(X)
        return cls.of(moments, n_components)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Reduction)
            and np.array_equal(self.mean, other.mean)
            and np.array_equal(self.components, other.components)
        )

    def check(self, n_features: int, n_components: int | None) -> None:
        """Raise ValueError if this is not a reduction from so many columns to so many."""
        if self.mean.shape != (n_features,) or self.components.shape != (n_components, n_features):
            raise ValueError(f"its principal components have the shape {self.components.shape}")

    def apply(self, X: FloatArray) -> FloatArray:
        """Samples in the basis of the components."""
        dtype = precision_for(self.components, X.dtype)
        reduced: FloatArray = (X - self.mean.astype(dtype)) @ self.components.T.astype(dtype)
        return reduced.astype(X.dtype, copy=False)
