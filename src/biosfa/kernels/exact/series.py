"""Moments of a time series: samples in order of time, and pairs of samples that are ``lag`` rows apart."""

from typing import NamedTuple

import numpy as np

from biosfa.kernels.exact.moments import Moments, block_rows
from biosfa.typing import BoolArray, Float64Array, FloatArray, IntArray


class Tail(NamedTuple):
    """The last rows of the open episode, with which the next rows make pairs."""

    rows: FloatArray  # (at most lag, m)
    weights: Float64Array | None = None  # of these rows; None if all are 1
    time: float = np.nan  # of the last row, if the series has times
    step: float = np.nan  # from the row before it; NaN if it begins an episode

    @classmethod
    def empty(cls, n_features: int) -> "Tail":
        """Return the tail at the beginning of an episode."""
        return cls(np.empty((0, n_features)))


def accumulate(
    moments: Moments, X: FloatArray, starts: BoolArray, lag: int, tail: Tail, weights: Float64Array | None = None
) -> Tail:
    """Take the rows of X into ``moments`` and return the new tail.

    A pair of rows with the weights v and v′ has the weight √(vv′).

    Parameters
    ----------
    moments : Moments
        Changed in place.
    X : (n, m)
        Consecutive samples.
    starts : (n,)
        Whether a row begins an episode.
    lag : int
        Distance of the two samples of a difference.
    tail : Tail
        Last rows of the episode that the first row continues, at most ``lag``; none if it begins one.
    weights : (n,), optional
        Weights of the rows.
    """
    if weights is None and tail.weights is not None:
        weights = np.ones(len(X))
    past = None if weights is None else np.ones(len(tail.rows)) if tail.weights is None else tail.weights
    block = max(lag, block_rows(X.shape[1]))
    for begin in range(0, len(X), block):
        rows = slice(begin, begin + block)
        moments.add_samples(X[rows], None if weights is None else weights[rows])
        if begin == 0:  # later blocks find the rows before them in X itself
            context, first = np.concatenate([tail.rows, X[rows]]), _continued(starts[rows], len(tail.rows))
        else:
            context, first = X[begin - lag : begin + block], starts[begin - lag : begin + block]
        if weights is None or past is None:
            moments.add_differences(differences(context, first, lag))
        else:
            v = np.concatenate([past, weights[rows]]) if begin == 0 else weights[begin - lag : begin + block]
            later = later_rows(first, lag)
            moments.add_differences(context[later] - context[later - lag], np.sqrt(v[later] * v[later - lag]))
    joined = np.concatenate([tail.rows, X[-lag:]]) if len(X) < lag else X[-lag:]
    cuts = np.flatnonzero(starts[-lag:]) + (len(joined) - len(X[-lag:]))
    kept = slice(max(cuts[-1] if len(cuts) else 0, len(joined) - lag), None)
    if weights is None or past is None:
        return Tail(joined[kept].copy())
    return Tail(joined[kept].copy(), np.concatenate([past, weights])[-len(joined) :][kept].copy())


def accumulate_uneven(moments: Moments, X: FloatArray, starts: BoolArray, times: Float64Array, tail: Tail) -> Tail:
    """Take rows at uneven times into ``moments``: derivatives with respect to time, and integrals over it.

    A pair of consecutive rows that are Δt apart adds ΔxΔxᵀ/Δt to the sum of the differences, and Δt to its weight. The
    weight of a row is the mean of the steps beside it, or the only one, or 1 for an episode of one row. The last row
    gets the weight that it would have at the end of an episode; the next row, if it comes, changes it.
    """
    block = block_rows(X.shape[1])
    for begin in range(0, len(X), block):
        rows = slice(begin, begin + block)
        tail = _accumulate_uneven(moments, X[rows], starts[rows], times[rows], tail)
    return tail


def _accumulate_uneven(moments: Moments, X: FloatArray, starts: BoolArray, times: Float64Array, tail: Tail) -> Tail:
    past = len(tail.rows)  # one row, or none
    context, t = np.concatenate([tail.rows, X]), np.concatenate([[tail.time] * past, times])
    steps = np.diff(t)
    steps[_continued(starts, past)[1:]] = np.nan  # no pair
    before, after = np.append(tail.step if past else np.nan, steps), np.append(steps, np.nan)
    beside = np.where(np.isnan(before), after, np.where(np.isnan(after), before, 0.5 * (before + after)))
    weights = np.where(np.isnan(beside), 1.0, beside)
    if tail.weights is not None and past and weights[0] != tail.weights[0]:
        moments.reweigh(tail.rows[0], float(weights[0] - tail.weights[0]))
    moments.add_samples(X, weights[past:])
    later = np.flatnonzero(np.isfinite(steps)) + 1
    length = steps[later - 1]
    moments.add_differences(context[later] - context[later - 1], 1.0 / length, pair_weight=float(length.sum()))
    return Tail(X[-1:].copy(), weights[-1:].copy(), float(t[-1]), float(before[-1]))


def differences(X: FloatArray, starts: BoolArray, lag: int) -> Float64Array:
    """x_t − x_{t−lag} for all t whose partner is in X and in the same episode."""
    if not starts[1:].any():
        return np.subtract(X[lag:], X[:-lag], dtype=np.float64)
    later = later_rows(starts, lag)
    return np.subtract(X[later], X[later - lag], dtype=np.float64)


def later_rows(starts: BoolArray, lag: int) -> IntArray:
    """Return the rows whose partner, ``lag`` rows before, is in the same episode."""
    index = np.arange(len(starts))
    origin = np.maximum.accumulate(np.where(starts, index, 0))
    return index[index - origin >= lag]


def _continued(starts: BoolArray, past: int) -> BoolArray:
    """Return ``starts`` after ``past`` rows of the open episode."""
    return np.concatenate([np.zeros(past, np.bool_), starts])
