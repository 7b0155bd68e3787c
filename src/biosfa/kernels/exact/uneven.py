"""Moments of a series at uneven times: derivatives with respect to time, and integrals over it.

A pair of consecutive rows that are Δt apart adds ΔxΔxᵀ/Δt to the sum of the differences, and Δt to its weight. The
weight of a row is the mean of the steps beside it, or the only one. An episode of one row has no step: its weight is
one unit of time. The unit is the median of the first steps. Sums are in the times as they are given, and the unit is
applied to them at the end, so that it may become known at any time.
"""

from typing import NamedTuple

import numpy as np

from biosfa.kernels.exact.moments import Moments, block_rows
from biosfa.typing import Arrays, Float64Array, FloatArray

UNIT_STEPS = 1000  # steps at the beginning, whose median is the unit of time


class Waiting(NamedTuple):
    """What the moments of a series do not contain yet, because it depends on steps that are still to come."""

    row: FloatArray  # (0 or 1, m): the last row, whose weight depends on the next step
    step: float  # from the row before it; NaN if it begins an episode
    alone: Moments  # of episodes of one row, each with the weight 1
    first_steps: Float64Array  # (at most UNIT_STEPS,)

    @classmethod
    def empty(cls, n_features: int) -> "Waiting":
        """Return what waits before the first row."""
        return cls(np.empty((0, n_features)), np.nan, Moments(n_features), np.empty(0))

    @classmethod
    def of(cls, arrays: Arrays) -> "Waiting":
        """Return what :meth:`arrays` returned."""
        alone = Moments.of(
            {
                "mean": arrays["alone_mean"],
                "scatter": arrays["alone_scatter"],
                "difference": np.zeros_like(arrays["alone_scatter"]),
            },
            int(arrays["n_alone"][0]),
            0,
        )
        step = float(arrays["step"][0]) if len(arrays["step"]) else np.nan
        return cls(arrays["row"], step, alone, arrays["first_steps"])

    def arrays(self) -> Arrays:
        """Return everything as arrays, for :meth:`of`."""
        return {
            "row": self.row,
            "step": np.array([] if np.isnan(self.step) else [self.step]),
            "n_alone": np.array([self.alone.n_samples]),
            "alone_mean": self.alone.mean,
            "alone_scatter": self.alone.scatter,
            "first_steps": self.first_steps,
        }

    @property
    def unit(self) -> float | None:
        """The unit of time; None before the first step."""
        return float(np.median(self.first_steps)) if len(self.first_steps) else None


def accumulate_uneven(moments: Moments, X: FloatArray, steps: Float64Array, waiting: Waiting) -> Waiting:
    """Take rows at uneven times into ``moments``, and return what waits for the next rows.

    Parameters
    ----------
    moments : Moments
        Changed in place.
    X : (n, m)
        Consecutive samples.
    steps : (n,)
        Time from the row before to each row; NaN if a row begins an episode.
    waiting : Waiting
        What was returned for the rows before.
    """
    block = block_rows(X.shape[1])
    for begin in range(0, len(X), block):
        x, step = X[begin : begin + block], steps[begin : begin + block]
        paired = ~np.isnan(step)
        joined = np.concatenate([waiting.row, x])
        later, length = np.flatnonzero(paired) + len(waiting.row), step[paired]
        waiting = accumulate_samples_at(moments, x, step, waiting)
        change = np.subtract(joined[later], joined[later - 1], dtype=np.float64)
        moments.add_differences(change, 1.0 / length, pair_weight=float(length.sum()))
    return waiting


def accumulate_samples_at(moments: Moments, X: FloatArray, steps: Float64Array, waiting: Waiting) -> Waiting:
    """Take rows at uneven times into mean and scatter only; see :func:`accumulate_uneven`."""
    if len(X) == 0:
        return waiting
    rows = np.concatenate([waiting.row, X])
    around = np.concatenate([[waiting.step] * len(waiting.row), steps])
    weights = _beside(around[:-1], around[1:])
    alone = np.isnan(weights)
    moments.add_samples(rows[:-1][~alone], weights[~alone])
    known = steps[~np.isnan(steps)][: UNIT_STEPS - len(waiting.first_steps)]
    return Waiting(
        rows[-1:].copy(),
        float(around[-1]),
        _with_rows(waiting.alone, rows[:-1][alone]),
        np.concatenate([waiting.first_steps, known]),
    )


def completed(moments: Moments, waiting: Waiting, unit: float | None = None) -> Moments:
    """Return the moments of a series that has ended, in its unit of time, or in a given one."""
    unit = waiting.unit if unit is None else unit
    alone, last = waiting.alone, Moments(moments.n_features)
    if np.isnan(waiting.step):
        alone = _with_rows(alone, waiting.row)
    else:
        last.add_samples(waiting.row, np.full(len(waiting.row), waiting.step))
    every = moments.merged(last).merged(alone.weighted(1.0 if unit is None else unit))
    every.time_unit = unit
    return every


def slowness_at(Y: FloatArray, steps: Float64Array, unit: float) -> Float64Array:
    """Return the slowness of each column of Y, for time in a given unit."""
    moments = Moments(Y.shape[1])
    moments = completed(moments, accumulate_uneven(moments, Y, steps, Waiting.empty(Y.shape[1])), unit)
    with np.errstate(divide="ignore", invalid="ignore"):
        delta: Float64Array = np.diag(moments.difference_covariance) / np.diag(moments.covariance)
    return delta


def _beside(before: Float64Array, after: Float64Array) -> Float64Array:
    """Return the mean of the steps before and after each row, or the only one; NaN if there is none."""
    return np.where(np.isnan(before), after, np.where(np.isnan(after), before, 0.5 * (before + after)))


def _with_rows(alone: Moments, rows: FloatArray) -> Moments:
    """Return moments with more rows, each with the weight 1."""
    if len(rows) == 0:
        return alone
    more = Moments(alone.n_features)
    more.add_samples(rows)
    return alone.merged(more)
