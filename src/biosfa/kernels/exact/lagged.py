"""Sums over pairs of samples at several lags, which blocks of a time series can add up and take away.

For the n pairs (x, x′) of a lag, with both samples relative to an origin,

    s = Σ(x + x′),    P = Σ(x + x′)(x + x′)ᵀ,    D = Σ(x′ − x)(x′ − x)ᵀ.

Both samples of each pair count in the mean μ = s/2n and in the covariance C₀ = (P + D)/4n − μμᵀ. So C₀ and
C_ẋẋ = D/n = 2(C₀ − C_lag) belong to the same pairs, which makes the correlation of a feature λ = 1 − δ/2 at most 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from biosfa.kernels.exact.eigen import SlowDirections, reciprocal, rounding_of_sums, slow_directions
from biosfa.kernels.exact.moments import block_rows
from biosfa.typing import BoolArray, Float64Array, FloatArray, IntArray


@dataclass
class LaggedSums:
    """The sums n, s, P and D for each lag."""

    n_pairs: Float64Array  # (n_lags,)
    total: Float64Array  # (n_lags, m): s
    plus: Float64Array  # (n_lags, m, m): P
    difference: Float64Array  # (n_lags, m, m): D
    row_error: Float64Array  # (m,): variance of the rounding errors of the samples themselves, see Moments.row_epsilon

    @classmethod
    def zeros(cls, n_lags: int, n_features: int) -> Self:
        """Return the sums over no pairs."""
        m = n_features
        plus, difference = np.zeros((n_lags, m, m)), np.zeros((n_lags, m, m))
        return cls(np.zeros(n_lags), np.zeros((n_lags, m)), plus, difference, np.zeros(m))

    def __add__(self, other: "LaggedSums") -> "LaggedSums":
        return LaggedSums(
            self.n_pairs + other.n_pairs,
            self.total + other.total,
            self.plus + other.plus,
            self.difference + other.difference,
            np.maximum(self.row_error, other.row_error),
        )

    def __sub__(self, other: "LaggedSums") -> "LaggedSums":
        return LaggedSums(
            self.n_pairs - other.n_pairs,
            self.total - other.total,
            self.plus - other.plus,
            self.difference - other.difference,
            self.row_error,
        )

    def add(self, number: int, first: FloatArray, second: FloatArray) -> None:
        """Take pairs of rows into the sums of one lag."""
        plus, difference = first + second, second - first
        self.n_pairs[number] += len(first)
        self.total[number] += plus.sum(axis=0)
        self.plus[number] += plus.T @ plus
        self.difference[number] += difference.T @ difference

    def covariance(self, number: int) -> Float64Array:
        """Return C₀ for one lag."""
        n = self.n_pairs[number]
        if n == 0.0:
            raise ValueError("there are no pairs of samples at this lag: give longer episodes with fewer gaps")
        mean = self.total[number] / (2.0 * n)
        found: Float64Array = (self.plus[number] + self.difference[number]) / (4.0 * n) - np.outer(mean, mean)
        np.fill_diagonal(found, np.maximum(np.diag(found), 0.0))  # a constant column has rounding errors
        return found

    def difference_covariance(self, number: int) -> Float64Array:
        """Return C_ẋẋ for one lag."""
        found: Float64Array = self.difference[number] / self.n_pairs[number]
        return found

    def at(self, numbers: Sequence[int]) -> "LaggedSums":
        """Return the sums for some of the lags, given by their numbers."""
        lags = list(numbers)
        return LaggedSums(self.n_pairs[lags], self.total[lags], self.plus[lags], self.difference[lags], self.row_error)

    def along(self, directions: Float64Array) -> "LaggedSums":
        """Return the sums of projections on the rows of ``directions``."""
        V = directions
        plus, difference = V @ self.plus @ V.T, V @ self.difference @ V.T
        return LaggedSums(self.n_pairs, self.total @ V.T, plus, difference, np.square(V) @ self.row_error)

    def slow_directions(self, number: int, n_components: int | None = None) -> SlowDirections:
        """Return the slow directions of the pairs of one lag."""
        C_xx, n = self.covariance(number), self.n_pairs[number]
        mean = self.total[number] / (2.0 * n)  # relative to the origin, as are the sums
        reciprocal_variance = reciprocal(np.diag(C_xx))
        rounding = rounding_of_sums(1.0 + np.square(mean) * reciprocal_variance, n)
        rounding = rounding._replace(of_samples=self.row_error * reciprocal_variance)
        return slow_directions(C_xx, self.difference_covariance(number), n_components=n_components, rounding=rounding)


def accumulate_lagged(
    sums: LaggedSums, X: FloatArray, starts: BoolArray, lags: Sequence[int], past: FloatArray
) -> FloatArray:
    """Take the pairs whose later row is in X into ``sums``, and return the rows that the next call needs.

    Parameters
    ----------
    sums : LaggedSums
        Changed in place.
    X : (n, m)
        Consecutive samples, relative to the origin.
    starts : (n,)
        Whether a row begins an episode.
    lags : sequence of int
        Lags, in increasing order.
    past : (at most the longest lag, m)
        Last rows of the episode that the first row continues.
    """
    longest = lags[-1]
    size = max(longest, block_rows(X.shape[1]))
    for begin in range(0, len(X), size):
        rows, begins = X[begin : begin + size], starts[begin : begin + size]
        context = np.concatenate([past, rows])
        index = np.arange(len(context))
        cuts = np.concatenate([np.zeros(len(past), np.bool_), begins])
        origin: IntArray = np.maximum.accumulate(np.where(cuts, index, 0))
        for number, lag in enumerate(lags):
            later = index[len(past) :][index[len(past) :] - origin[len(past) :] >= lag]
            if len(later) == 0:
                continue
            if later[-1] - later[0] == len(later) - 1:  # without gaps, slices need no copy
                sums.add(number, context[later[0] - lag : later[-1] + 1 - lag], context[later[0] : later[-1] + 1])
            else:
                sums.add(number, context[later - lag], context[later])
        past = context[max(int(origin[-1]), len(context) - longest) :]
    return past.copy()
