"""Charts: statistics that say how far a row is from normal operation, and which input columns contribute to them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from biosfa.typing import BoolArray, Float64Array, IntArray

SLOW_AND_REST = ("T² slow", "T² rest", "S² slow", "S² rest")
REST = [1, 3]  # those of the rest
SLOW_LEVEL = 0  # T² of the slow features


@dataclass(frozen=True)
class Charts:
    """Weighted sums of squares: of features (levels), then of their changes from one row to the next.

    Shang et al. (AIChE Journal 61:3666, 2015): with features y of unit variance and slowness δ,

        T² = Σ y²,    S² = Σ ẏ²/δ,

    each over the slow features, and over the rest.
    """

    names: tuple[str, ...]
    levels: Float64Array  # (charts of levels, features): weights of y²
    changes: Float64Array  # (charts of changes, features): weights of ẏ²

    @classmethod
    def slow_and_rest(cls, delta: Float64Array, slow_share: float, variance: Float64Array | float = 1.0) -> Self:
        """Return the four charts of features with the slowness ``delta`` and a variance, of which a share is slow."""
        slow = np.arange(len(delta)) < n_slow(len(delta), slow_share)
        parts = np.array([slow, ~slow], dtype=np.float64)
        # a feature that never changed in training has δ = 0: any change of it counts
        return cls(SLOW_AND_REST, parts / variance, parts / np.maximum(delta, np.finfo(np.float64).tiny ** 0.5))

    def statistics(self, Y: Float64Array, previous: Float64Array) -> Float64Array:
        """Return the statistics of rows of features; ``previous`` has the features of the row before each, or NaN."""
        return np.concatenate([np.square(Y) @ self.levels.T, np.square(Y - previous) @ self.changes.T], axis=1)

    def weights(self) -> Float64Array:
        """Return the weights of the features in all charts, one row per chart."""
        return np.concatenate([self.levels, self.changes])


def n_slow(n_features: int, slow_share: float) -> int:
    """Return how many of the features count as slow."""
    return max(1, math.ceil(slow_share * n_features - 1e-9))


def previous_rows(Y: Float64Array, begins: BoolArray, before: Float64Array) -> Float64Array:
    """Return the features of the row before each; NaN where there is none. ``before`` has those before the first."""
    previous = np.concatenate([before[None], Y[:-1]])[: len(Y)]
    previous[begins] = np.nan
    return previous


class Contributions:
    """Shares out the statistics among the input columns.

    With z, the features of a chart times the roots of their weights, a statistic is |z|². A column j reaches z through
    some columns B_j of the map from the expanded signal. |Q_jᵀz|², with an orthonormal basis Q_j of them, is the part
    of the statistic that another value of this column would remove: the reconstruction-based contribution (Alcala &
    Qin, Automatica 45, 2009). For a single faulty sensor it is largest for this sensor, which is not true of the terms
    of the sum. Parts of different columns overlap, so the statistic is shared out in proportion to them.
    """

    def __init__(self, weights: Float64Array, components: Float64Array, columns: list[IntArray]) -> None:
        self._shares = [_parts(row, components, columns) for row in weights]

    def of(self, values: Float64Array, differenced: Float64Array, n_levels: int) -> Float64Array:
        """Return the contributions (rows, charts, columns) to charts of levels, then to those of changes."""
        parts = [share(differenced if i >= n_levels else values) for i, share in enumerate(self._shares)]
        return np.stack(parts, axis=1)


def _parts(
    weights: Float64Array, components: Float64Array, columns: list[IntArray]
) -> Callable[[Float64Array], Float64Array]:
    """Return the function that shares out one statistic of rows of features among the columns."""
    inside = np.flatnonzero(weights)
    root = np.sqrt(weights[inside])
    bases = [_basis(root[:, None] * components[np.ix_(inside, own)]) for own in columns]
    together = np.hstack(bases) if bases else np.empty((len(inside), 0))
    ends = np.cumsum([basis.shape[1] for basis in bases])

    def share(Y: Float64Array) -> Float64Array:
        z = Y[:, inside] * root
        sums = np.cumsum(np.square(z @ together), axis=1)
        sums = np.hstack([np.zeros((len(z), 1)), sums])
        parts = np.diff(sums[:, np.concatenate([[0], ends])], axis=1)
        statistic, total = np.square(z).sum(axis=1), parts.sum(axis=1)
        scale = np.divide(statistic, total, out=np.zeros_like(total), where=total > 0.0)
        shared: Float64Array = parts * scale[:, None]
        shared[np.isnan(statistic)] = np.nan
        return shared

    return share


def _basis(B: Float64Array) -> Float64Array:
    """Return an orthonormal basis of the columns of B."""
    U, s, _ = np.linalg.svd(B, full_matrices=False)
    basis: Float64Array = U[:, s > 1e-10 * s.max(initial=0.0)]
    return basis
