"""Moments of a time series: samples in order of time, and pairs of samples that are ``lag`` rows apart."""

from typing import NamedTuple

import numpy as np

from biosfa.kernels.exact.moments import Moments, block_rows
from biosfa.typing import BoolArray, Float64Array, FloatArray, IntArray


class Tail(NamedTuple):
    """The last rows of the open episode, with which the next rows make pairs."""

    rows: FloatArray  # (at most lag, m)
    weights: Float64Array | None = None  # of these rows; None if all are 1

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
    every = _every_weight(weights, len(X), tail)
    roots = None if every is None else np.sqrt(every)  # a product of two weights could underflow
    block = max(lag, block_rows(X.shape[1]))
    # allocated once: where the system takes memory back at once, as on Dask's workers, it would take half of the time
    workspace = np.empty((min(block, len(X)) + lag, X.shape[1]))
    for begin in range(0, len(X), block):
        rows = slice(begin, begin + block)
        moments.add_samples(X[rows], None if weights is None else weights[rows], workspace=workspace)
        if begin == 0:  # later blocks find the rows before them in X itself
            context, first = np.concatenate([tail.rows, X[rows]]), _continued(starts[rows], len(tail.rows))
        else:
            context, first = X[begin - lag : begin + block], starts[begin - lag : begin + block]
        if roots is None:
            moments.add_differences(differences(context, first, lag, workspace))
        else:
            r, later = roots[max(0, len(tail.rows) + begin - lag) :], later_rows(first, lag)
            change = np.subtract(context[later], context[later - lag], dtype=np.float64)
            moments.add_differences(change, r[later] * r[later - lag])
    joined = np.concatenate([tail.rows, X[-lag:]]) if len(X) < lag else X[-lag:]
    cuts = np.flatnonzero(starts[-lag:]) + (len(joined) - len(X[-lag:]))
    kept = slice(max(cuts[-1] if len(cuts) else 0, len(joined) - lag), None)
    return Tail(joined[kept].copy(), None if every is None else every[-len(joined) :][kept].copy())


def _every_weight(weights: Float64Array | None, n: int, tail: Tail) -> Float64Array | None:
    """Return the weights of the rows of ``tail``, then of ``n`` more; None if all are 1."""
    if weights is None and tail.weights is None:
        return None
    past = np.ones(len(tail.rows)) if tail.weights is None else tail.weights
    return np.concatenate([past, np.ones(n) if weights is None else weights])


def differences(X: FloatArray, starts: BoolArray, lag: int, workspace: Float64Array | None = None) -> Float64Array:
    """x_t − x_{t−lag} for all t whose partner is in X and in the same episode; in ``workspace``, if it is given."""
    if not starts[1:].any():
        out = None if workspace is None else workspace[: max(0, len(X) - lag)]
        return np.subtract(X[lag:], X[:-lag], out=out, dtype=np.float64)
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
