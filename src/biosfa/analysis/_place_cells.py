"""Firing maps of units over a grid of positions and headings, and measures of place cells."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import label
from sklearn.linear_model import RidgeCV

from biosfa.kernels.exact import reciprocal
from biosfa.typing import BoolArray, Float64Array, IntArray

# A place unit has exactly one field, and position explains most of its variance. A field is a connected region above
# half the peak, neither tiny nor large.
HALF_PEAK = 0.5
SMALLEST_FIELD = 8  # bins
LARGEST_SHARE = 0.25  # share of the grid
LEAST_EXPLAINED = 0.8  # share of a unit's variance

DECODER_PENALTIES = np.logspace(-6, 3, 10)


@dataclass(frozen=True)
class FiringMaps:
    """Responses of k units on a grid of positions and headings, as made by :func:`firing_maps`.

    Attributes
    ----------
    responses : array of shape (k, rows, columns, headings)
        The responses. Their signs are chosen so that the strongest mean response of each unit is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.analysis import firing_maps
    >>> maps = firing_maps(np.random.default_rng(0).standard_normal((10 * 12 * 8, 2)), (10, 12, 8))
    >>> maps.maps.shape, maps.direction_tuning.shape
    ((2, 10, 12), (2, 8))
    """

    responses: Float64Array

    @property
    def maps(self) -> Float64Array:
        """Mean response over headings, of shape (k, rows, columns)."""
        mean: Float64Array = self.responses.mean(axis=3)
        return mean

    @property
    def rates(self) -> Float64Array:
        """The maps with negative values set to 0."""
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
        """Spatial information in bits (Skaggs et al. 1993): mean of q log2 q over positions, q = rate / mean rate."""
        q = self.rates * reciprocal(self.rates.mean(axis=(1, 2), keepdims=True))
        information: Float64Array = (q * np.log2(q, out=np.zeros_like(q), where=q > 0)).mean(axis=(1, 2))
        return information

    @property
    def sparsity(self) -> Float64Array:
        """Sparsity ⟨r⟩²/⟨r²⟩ of the rates: small for units that fire in few places (Treves & Rolls 1991)."""
        sparsity: Float64Array = self.rates.mean(axis=(1, 2)) ** 2 * reciprocal(np.square(self.rates).mean(axis=(1, 2)))
        return sparsity

    def fields(self, unit: int) -> list[IntArray]:
        """Return the fields of a unit, the largest first.

        A field is an array of bins (row, column) that are connected and above half of the peak.
        """
        rate = self.maps[unit]
        labels, count = label(rate > HALF_PEAK * rate.max())
        found = [np.argwhere(labels == i + 1) for i in range(count)]
        return sorted((bins for bins in found if len(bins) >= SMALLEST_FIELD), key=len, reverse=True)

    @property
    def is_place_unit(self) -> BoolArray:
        """Which units have exactly one field, smaller than a quarter of the grid, and S_pos > 0.8."""
        bins = self.maps[0].size
        single = np.zeros(len(self.responses), dtype=np.bool_)
        for unit in range(len(single)):
            fields = self.fields(unit)
            single[unit] = len(fields) == 1 and len(fields[0]) < LARGEST_SHARE * bins
        return single & (self.s_pos > LEAST_EXPLAINED)

    @property
    def is_direction_unit(self) -> BoolArray:
        """Which units are head-direction units: S_dir > 0.8."""
        return self.s_dir > LEAST_EXPLAINED

    @property
    def is_mixed_unit(self) -> BoolArray:
        """Which units depend on position and heading together: neither S_pos nor S_dir is above 0.8."""
        return (self.s_pos <= LEAST_EXPLAINED) & (self.s_dir <= LEAST_EXPLAINED)

    def summary(self) -> dict[str, Any]:
        """Return the numbers of units of each kind, and medians of the other measures over the units."""
        return {
            "place_units": int(np.count_nonzero(self.is_place_unit)),
            "direction_units": int(np.count_nonzero(self.is_direction_unit)),
            "mixed_units": int(np.count_nonzero(self.is_mixed_unit)),
            "s_pos_median": float(np.median(self.s_pos)),
            "s_dir_median": float(np.median(self.s_dir)),
            "spatial_information_median": float(np.median(self.spatial_information)),
            "sparsity_median": float(np.median(self.sparsity)),
        }


def firing_maps(features: ArrayLike, shape: tuple[int, int, int]) -> FiringMaps:
    """Return the firing maps of features on a grid of positions and headings.

    Parameters
    ----------
    features : array-like of shape (rows × columns × headings, k)
        One row per place and heading, in the order of :meth:`biosfa.datasets.rat.Room.grid`.
    shape : (rows, columns, headings)
        Shape of the grid.

    Returns
    -------
    FiringMaps

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
        raise ValueError(
            f"features must be two-dimensional and have one row for each of the {' × '.join(map(str, shape))} points "
            f"of the grid; got the shape {values.shape}"
        )
    responses = np.moveaxis(values.reshape(*shape, -1), 3, 0).copy()
    maps = responses.mean(axis=3)
    flipped = np.abs(maps.min(axis=(1, 2))) > np.abs(maps.max(axis=(1, 2)))
    responses[flipped] *= -1.0
    return FiringMaps(responses)


def decode_position(
    features: ArrayLike, position: ArrayLike, test_features: ArrayLike, test_position: ArrayLike
) -> float:
    """Return the median error of a linear decoder that reads positions from features, in the units of the positions.

    The decoder is ridge regression. Its penalty is chosen by cross-validation.

    Parameters
    ----------
    features, position : array-like of shape (n, k) and (n, 2)
        Samples that the decoder is fitted to.
    test_features, test_position : array-like of shape (m, k) and (m, 2)
        Samples that the decoder is tested on.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.analysis import decode_position
    >>> rng = np.random.default_rng(0)
    >>> position = rng.uniform(0, 10, (200, 2))
    >>> features = position @ rng.standard_normal((2, 5))
    >>> round(decode_position(features[:100], position[:100], features[100:], position[100:]), 4)
    0.0
    """
    decoder = RidgeCV(DECODER_PENALTIES).fit(np.asarray(features), np.asarray(position))
    error = decoder.predict(np.asarray(test_features)) - np.asarray(test_position)
    return float(np.median(np.linalg.norm(error, axis=1)))
