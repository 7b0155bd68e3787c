"""Normal operation: where it is, and how its features vary. It can follow a process that changes slowly."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from biosfa.kernels.exact import Moments
from biosfa.monitoring._charts import Charts
from biosfa.typing import Arrays, Float64Array

# A level that moves by more than one standard deviation of a column while the monitor forgets is not followed.
FASTEST_TREND = 1.0
# The level needs fewer rows than the covariances: a share of the memory. The trend is measured over all of it.
LEVEL_SHARE = 0.25
# The variance of Brown's double exponential smoothing of independent rows is 1.25 / memory.
SMOOTHING_VARIANCE = 1.25


@dataclass(frozen=True)
class Normal:
    """The level of a model's features in normal operation, and the moments around it.

    At first the moments are those of the training data: mean 0, covariance I, and second moments of the differences δ.
    """

    moments: Moments  # around the level
    slow_share: float
    delta_values: Float64Array  # of the present features
    columns: Float64Array | None  # the model's features in the columns, in standard deviations; None if not known
    turn: Float64Array | None = None  # from the model's features to the present ones; None if nothing has changed
    level: Float64Array | None = None  # of the model's features
    smooth: Float64Array | None = None  # two averages for the level, two for its trend; None if there is none
    follows: bool = True  # whether the level can be followed
    doubt: float = 0.0  # variance of the level if rows were independent; 0 for the training data, as limits include it

    @classmethod
    def of_training(
        cls, delta_values: Float64Array, n_rows: int, slow_share: float, patterns: Float64Array | None
    ) -> Self:
        """Return the normal operation of the training data of a model. Without patterns it cannot follow a drift."""
        k = len(delta_values)
        arrays = {"mean": np.zeros(k), "scatter": n_rows * np.eye(k), "difference": n_rows * np.diag(delta_values)}
        columns = None
        if patterns is not None:  # of features with unit variance: their squares add up to the variance of the column
            deviation = np.sqrt(np.square(patterns).sum(axis=0))
            columns = np.divide(patterns, deviation, out=np.zeros_like(patterns), where=deviation > 0.0)
        return cls(Moments.of(arrays, n_rows, n_rows), slow_share, delta_values, columns)

    @cached_property
    def charts(self) -> Charts:
        """The four charts of the present features. Where the level is not known well, T² counts less."""
        times = -1.0 / np.log1p(-np.minimum(self.delta_values, 1.9) / 2.0 - 1e-12)  # correlation times
        return Charts.slow_and_rest(self.delta_values, self.slow_share, 1.0 + self.doubt * np.maximum(1.0, 2.0 * times))

    def apply(self, Y: Float64Array) -> Float64Array:
        """Return the present features from those of the model."""
        return Y if self.turn is None or self.level is None else (Y - self.level) @ self.turn.T

    def turned(self, components: Float64Array) -> Float64Array:
        """Return the directions of the present features from those of the model's."""
        return components if self.turn is None else self.turn @ components

    def deviations(self, Y: Float64Array) -> Float64Array:
        """Return how far the columns are from their level, in standard deviations, from features of the model.

        With delays, those of the row come first, then those of the rows before it.
        """
        assert self.columns is not None
        return (Y if self.level is None else Y - self.level) @ self.columns

    def following(self, Y: Float64Array, previous: Float64Array, memory: float) -> Self:
        """Return the normal operation after more rows, of which about the last ``memory`` count.

        The level follows by Brown's double exponential smoothing, which has no lag behind a level that changes at a
        constant rate. ``Y`` and ``previous`` are features of the model: those of rows, and those of the row before
        each, or NaN.
        """
        level, n = np.zeros(Y.shape[1]) if self.level is None else self.level, len(Y)
        quick, long = np.split(np.stack([level] * 4) if self.smooth is None else self.smooth, 2)
        quick, trend = _smoothed(quick, Y.mean(axis=0), n / (LEVEL_SHARE * memory))
        long, _ = _smoothed(long, Y.mean(axis=0), n / memory)
        # behind a level with a constant trend, the two averages are what it moves within the memory apart
        if self.columns is None or np.abs((long[0] - long[1]) @ self.columns).max() > FASTEST_TREND:
            return replace(self, follows=False)
        seen = _moments_around(level, Y, previous)
        kept = min(1.0, max(0.0, memory - seen.weight) / self.moments.weight)
        level = 2.0 * quick[0] - quick[1] + trend  # in the middle of the next block
        doubt = SMOOTHING_VARIANCE / (LEVEL_SHARE * memory)
        return self._solved(self.moments.weighted(kept).merged(seen), level, np.concatenate([quick, long]), doubt)

    def at(self, Y: Float64Array, previous: Float64Array) -> Self:
        """Return the normal operation around the mean of these rows. They also count in the covariances."""
        level = Y.mean(axis=0)
        seen = _moments_around(level, Y, previous)
        return self._solved(self.moments.merged(seen), level, None, 1.0 / len(Y))

    def _solved(self, moments: Moments, level: Float64Array, smooth: Float64Array | None, doubt: float) -> Self:
        found = moments.slow_directions()
        return replace(
            self,
            moments=moments,
            delta_values=found.delta_values,
            turn=found.directions,
            level=level,
            smooth=smooth,
            doubt=doubt,
            follows=True,
        )

    def arrays(self) -> Arrays:
        """Return the arrays of a model file."""
        changed = {"level": self.level, "smooth": self.smooth, "turn": self.turn, "columns": self.columns}
        kept = {name: array for name, array in changed.items() if array is not None}
        return {**self.moments.arrays(), "delta_values": self.delta_values, **kept}


def _moments_around(level: Float64Array, Y: Float64Array, previous: Float64Array) -> Moments:
    """Return moments of rows whose mean is taken to be the level."""
    centred, differences = Y - level, Y - previous
    differences = differences[np.isfinite(differences).all(axis=1)]
    k, n, n_pairs = Y.shape[1], len(Y), len(differences)
    arrays = {"mean": np.zeros(k), "scatter": centred.T @ centred, "difference": differences.T @ differences}
    return Moments.of(arrays, n, n_pairs)


def _smoothed(averages: Float64Array, mean: Float64Array, blocks: float) -> tuple[Float64Array, Float64Array]:
    """Return Brown's two averages after a block with this mean, and the trend per block.

    ``blocks`` is the length of the block as a share of the memory.
    """
    share = -np.expm1(-blocks)
    first = averages[0] + share * (mean - averages[0])
    second = averages[1] + share * (first - averages[1])
    return np.stack([first, second]), share * (first - averages[1])  # = share / (1 − share) × (first − second)
