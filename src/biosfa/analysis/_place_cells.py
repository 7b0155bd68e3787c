"""Where and in which direction units fire: firing maps over a grid of positions and headings, and what they tell."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import label
from sklearn.linear_model import RidgeCV

from biosfa.kernels.exact import reciprocal
from biosfa.typing import BoolArray, Float64Array, IntArray

# A place unit has one field (connected, above half the peak, not tiny), which is not large, and fires by position.
HALF_PEAK = 0.5
SMALLEST_FIELD = 8  # bins
LARGEST_SHARE = 0.25  # of the grid
LEAST_S_POS = 0.8

DECODER_PENALTIES = np.logspace(-6, 3, 10)


@dataclass(frozen=True)
class FiringMaps:
    """Responses of k units on a grid of positions and headings, signs such that the strongest response is positive."""

    responses: Float64Array  # (k, rows, columns, headings)

    @property
    def maps(self) -> Float64Array:
        """Mean response over headings, of shape (k, rows, columns)."""
        mean: Float64Array = self.responses.mean(axis=3)
        return mean

    @property
    def rates(self) -> Float64Array:
        """The maps, rectified: a rate is not negative."""
        return np.maximum(self.maps, 0.0)

    @property
    def s_pos(self) -> Float64Array:
        """Share of a unit's variance that position explains."""
        share: Float64Array = self.maps.var(axis=(1, 2)) * reciprocal(self.responses.var(axis=(1, 2, 3)))
        return share

    @property
    def s_dir(self) -> Float64Array:
        """Share of a unit's variance that heading explains."""
        share: Float64Array = self.direction_tuning.var(axis=1) * reciprocal(self.responses.var(axis=(1, 2, 3)))
        return share

    @property
    def direction_tuning(self) -> Float64Array:
        """Mean response over positions, of shape (k, headings)."""
        mean: Float64Array = self.responses.mean(axis=(1, 2))
        return mean

    @property
    def spatial_information(self) -> Float64Array:
        """Σ p q log2 q in bits, q a rate over its mean, all positions alike (Skaggs et al. 1993)."""
        q = self.rates * reciprocal(self.rates.mean(axis=(1, 2), keepdims=True))
        information: Float64Array = (q * np.log2(q, out=np.zeros_like(q), where=q > 0)).mean(axis=(1, 2))
        return information

    @property
    def sparsity(self) -> Float64Array:
        """⟨r⟩²/⟨r²⟩ of the rates: small for units that fire in few places (Treves & Rolls 1991)."""
        sparsity: Float64Array = self.rates.mean(axis=(1, 2)) ** 2 * reciprocal(np.square(self.rates).mean(axis=(1, 2)))
        return sparsity

    def fields(self, unit: int) -> list[IntArray]:
        """Fields of a unit, the largest first: bins, as (row, column), that are connected and above half the peak."""
        rate = self.maps[unit]
        labels, count = label(rate > HALF_PEAK * rate.max())
        found = [np.argwhere(labels == i + 1) for i in range(count)]
        return sorted((bins for bins in found if len(bins) >= SMALLEST_FIELD), key=len, reverse=True)

    @property
    def is_place_unit(self) -> BoolArray:
        """Which units have one field, of less than a quarter of the grid, and fire by position (S_pos > 0.8)."""
        bins = self.maps[0].size
        single = np.zeros(len(self.responses), dtype=np.bool_)
        for unit in range(len(single)):
            fields = self.fields(unit)
            single[unit] = len(fields) == 1 and len(fields[0]) < LARGEST_SHARE * bins
        return single & (self.s_pos > LEAST_S_POS)

    def summary(self) -> dict[str, Any]:
        """Number of place units, and medians over units."""
        return {
            "place_units": int(np.count_nonzero(self.is_place_unit)),
            "s_pos_median": float(np.median(self.s_pos)),
            "s_dir_median": float(np.median(self.s_dir)),
            "spatial_information_median": float(np.median(self.spatial_information)),
            "sparsity_median": float(np.median(self.sparsity)),
        }


def firing_maps(features: ArrayLike, shape: tuple[int, int, int]) -> FiringMaps:
    """Firing maps from features on a grid.

    Parameters
    ----------
    features : array-like of shape (rows × columns × headings, k)
        In the order of :meth:`biosfa.datasets.rat.Room.grid`.
    shape : (rows, columns, headings)
        Of the grid.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.analysis import firing_maps
    >>> y, x, _ = np.meshgrid(np.arange(31), np.arange(51), np.arange(8), indexing="ij")
    >>> bump = np.exp(-((x - 20) ** 2 + (y - 10) ** 2) / 30)
    >>> found = firing_maps(bump.reshape(-1, 1), (31, 51, 8))
    >>> found.is_place_unit, found.s_pos
    (array([ True]), array([1.]))
    """
    values = np.asarray(features, dtype=np.float64)
    if values.ndim != 2 or len(values) != np.prod(shape):
        raise ValueError(f"features must have a row for each of {' × '.join(map(str, shape))}; got {values.shape}")
    responses = np.moveaxis(values.reshape(*shape, -1), 3, 0).copy()
    maps = responses.mean(axis=3)
    flipped = np.abs(maps.min(axis=(1, 2))) > np.abs(maps.max(axis=(1, 2)))
    responses[flipped] *= -1.0
    return FiringMaps(responses)


def decode_position(
    features: ArrayLike, position: ArrayLike, test_features: ArrayLike, test_position: ArrayLike
) -> float:
    """Median distance between positions and those that a linear decoder reads from features, in units of the room.

    Parameters
    ----------
    features, position : array-like of shape (n, k) and (n, 2)
        To fit the decoder to: ridge regression, its penalty chosen by cross-validation.
    test_features, test_position : array-like of shape (m, k) and (m, 2)
        To test it on.
    """
    decoder = RidgeCV(DECODER_PENALTIES).fit(np.asarray(features), np.asarray(position))
    error = decoder.predict(np.asarray(test_features)) - np.asarray(test_position)
    return float(np.median(np.linalg.norm(error, axis=1)))
