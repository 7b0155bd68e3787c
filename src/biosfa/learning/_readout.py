"""Slow features from moments of the outputs of a network: running moments, or moments over pairs of samples."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import DTypeLike

from biosfa.kernels.exact import fixed_signs, slow_directions
from biosfa.kernels.running import CURRENT, DIFFERENCE
from biosfa.typing import Float64Array, FloatArray


class Readout(NamedTuple):
    """Slow features of a network, the slowest first."""

    components: Float64Array  # (k, m)
    delta_values: Float64Array  # (k,), NaN if the rank of the input is too low for this feature, or nothing varies


class OutputMoments(Protocol):
    """Weighted sums over the outputs a of a network, and over their differences."""

    @property
    def S(self) -> Float64Array:
        """Weighted sum Σaaᵀ."""

    @property
    def D(self) -> Float64Array:
        """Weighted sum Σȧȧᵀ over the differences ȧ."""

    @property
    def weights(self) -> Float64Array:
        """Total weights of S and D."""


class PairMoments(NamedTuple):
    """Moments of outputs over pairs of consecutive samples; see :class:`OutputMoments`."""

    S: Float64Array
    D: Float64Array
    weights: Float64Array

    @classmethod
    def of(cls, Y: FloatArray) -> "PairMoments":
        """Return the moments of outputs Y of shape (2R, k): the first samples of R pairs, then the second ones."""
        n_pairs = len(Y) // 2
        Y = Y.astype(np.float64, copy=False)
        change = Y[n_pairs:] - Y[:n_pairs]
        return cls(0.5 * (Y.T @ Y), change.T @ change, np.full(2, float(n_pairs)))

    def within(self, W: FloatArray) -> "PairMoments":
        """Return the moments of the outputs W y."""
        W = W.astype(np.float64, copy=False)
        return PairMoments(W @ self.S @ W.T, W @ self.D @ W.T, self.weights)


def solve_readout(k: int, state: OutputMoments, dtype: DTypeLike, least_share: float = 0.0) -> Readout:
    """Return the k slowest mixtures of outputs, from the moments of the outputs; ``dtype`` is that of the weights.

    Directions count if the correlations of the outputs have more than ``least_share`` of their largest eigenvalue
    there.
    """
    S, D, weights = state.S, state.D, state.weights
    mixtures, delta_values = np.zeros((k, len(S))), np.full(k, np.nan)
    # rounding errors of W, which are squared in S, or of the eigenvalues in float64
    rounding = 100 * len(S) * max(float(np.finfo(dtype).eps) ** 2, float(np.finfo(np.float64).eps))
    loud = np.diag(S) > rounding * np.diag(S).max(initial=0.0)  # the other outputs are rounding errors
    if loud.any() and weights[DIFFERENCE] > 0.0:
        S, D = S[np.ix_(loud, loud)] / weights[CURRENT], D[np.ix_(loud, loud)] / weights[DIFFERENCE]
        solution = slow_directions(S, D, n_components=k, tolerance=max(rounding, least_share))
        found = len(solution.directions)
        mixtures[:found, loud] = solution.directions
        delta_values[:found] = solution.delta_values
    return Readout(mixtures, delta_values)


def read_out(k: int, state: OutputMoments, W: FloatArray, least_share: float = 0.0) -> Readout:
    """Return the k slowest directions in the span of W, as read-only arrays; see :func:`solve_readout`."""
    mixtures, delta_values = solve_readout(k, state, W.dtype, least_share)
    return _read_only(mixtures @ W, delta_values)


def as_they_are(W: FloatArray) -> Readout:
    """Return the rows of W as features of unknown slowness, as read-only arrays."""
    return _read_only(W.astype(np.float64), np.full(len(W), np.nan))


def _read_only(components: Float64Array, delta_values: Float64Array) -> Readout:
    components = fixed_signs(components)
    for array in (components, delta_values):
        array.setflags(write=False)
    return Readout(components, delta_values)
