"""Suspicious stretches: rows of normal operation that look as if something had happened.

A fault in the training data makes limits wide, and the model learns it. So the statistics of all rows say little. Here
they are compared with a model of the half of the blocks that is most alike (concentration steps, as in the minimum
covariance determinant of Rousseeuw & Van Driessen, Technometrics 41, 1999).
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from biosfa.estimators import SFA
from biosfa.exceptions import SuspiciousRowsWarning
from biosfa.io import Stream
from biosfa.monitoring._calibration import cross_fitted, learn_blocks, pieces
from biosfa.monitoring._columns import Attribution
from biosfa.monitoring._detectors import Detector, SlowFeatures, of_model
from biosfa.monitoring._normal import Normal
from biosfa.monitoring._parameters import patterns_of
from biosfa.monitoring._reading import Read
from biosfa.typing import Float64Array, IntArray
from biosfa.wording import listed, time_text

STEPS = 2  # concentration steps
WINDOW = 50  # rows that are judged together: the median of a statistic counts, so single rows do not
QUANTILE = 0.9  # of the statistics in the good half
# A window is suspicious if its median of T² slow, T² rest, S² slow or S² rest is so many times this quantile. On 50
# plants of 12,000 rows and 100 processes with 33 and 100 correlation times, all without faults, the largest values were
# 3.3, 2.0, 1.2 and 1.0. T² needs more, because an operating point wanders. On 270 others without faults there was no
# warning. With a fault in the last third of 12,000 rows there were warnings in 9 or 10 of 10 runs (7 for a lost
# controller), with the same noise in 500 rows only in 4 of 10.
SUSPICIOUS = np.array([5.0, 5.0, 1.5, 1.5])
LEAST_WINDOWS = 40  # of all rows; fewer say little
ROWS_PER_FEATURE = 10  # in the good half; with fewer, a model says little about rows that it has not learned
# Fewer suspicious rows, as a share of those that may be beyond a limit, do not change the limits much.
SHARE = 0.1
JOINED = 500  # rows between two stretches that are reported as one
LISTED = 5  # stretches in the warning
NAMED = 3  # columns per stretch


@dataclass
class Stretch:
    """Suspicious rows."""

    first: int
    last: int
    causes: Float64Array
    times: list[Any] = field(default_factory=list)  # of the first and the last row, if there are any

    def described(self, names: Sequence[str]) -> str:
        """Return rows, times and columns in words."""
        times = [time_text(time) for time in self.times]
        when = f" ({times[0]} to {times[-1]})" if times and all(times) else ""
        order = np.argsort(-self.causes, kind="stable")[:NAMED]
        columns = [names[column] for column in order if self.causes[column] > 0.0]
        return f"rows {self.first:,} to {self.last:,}{when}{': ' if columns else ''}{listed(columns)}"


@dataclass
class Compared:
    """What was learned from each block of the training data, and the statistics of rows by cross-fitting.

    The features must be linear: after an expansion, normal rows have statistics with long tails.
    """

    method: SlowFeatures
    parts: list[SFA]
    size: int  # rows per block
    statistics: Float64Array

    @classmethod
    def of(cls, method: SlowFeatures, stream: Stream, size: int) -> Self:
        """Learn from the blocks of a stream."""
        parts = learn_blocks(method, stream, size)
        return cls(method, parts, size, cross_fitted(method, stream, parts, size))


def is_enough(known: int, n_features: int) -> bool:
    """Return whether so many rows can be compared with one another."""
    return known >= max(2 * ROWS_PER_FEATURE * n_features, LEAST_WINDOWS * WINDOW)


def warn_if_suspicious(stream: Stream, compared: Compared, rate: float, *, stacklevel: int) -> None:
    """Warn if stretches of the training data look as if something had happened."""
    method, parts, size, statistics = compared.method, compared.parts, compared.size, compared.statistics
    n_rows = len(statistics)
    n_good = -(-len(parts) // 2)
    for _ in range(STEPS):
        model = method.merged([parts[block] for block in most_alike(statistics, size, n_good)])
        detector = of_model(model, method.slow_share)
        statistics = np.concatenate([detector.statistics(piece) for _, piece in pieces(stream, size)])
    good = np.isin(np.arange(n_rows) // size, most_alike(statistics, size, n_good))
    limits = limits_of_windows(statistics[good])
    wild = np.flatnonzero(np.any(_medians(statistics, WINDOW) > limits, axis=1))
    if len(wild) * WINDOW < max(1.0, SHARE * rate * n_rows):
        return
    stretches = _stretches(wild, n_rows, stream.n_features)
    normal = Normal.of_training(model.delta_values_, n_rows, method.slow_share, patterns_of(model))
    _explain(stream, stretches, size, detector, normal, limits)
    shown = "; ".join(stretch.described(stream.feature_names) for stretch in stretches[:LISTED])
    more = f"; and {len(stretches) - LISTED} more stretches" if len(stretches) > LISTED else ""
    warnings.warn(
        f"some rows of normal operation are not like the others: {shown}{more}. If there is a fault or a change among "
        "them, limits are too wide and such faults are not found: fit again without these rows",
        SuspiciousRowsWarning,
        stacklevel=stacklevel + 1,
    )


def most_alike(statistics: Float64Array, size: int, n_good: int) -> IntArray:
    """Return the numbers of those blocks whose statistics are smallest, each compared with the other blocks."""
    medians = _medians(statistics, size)
    usual = np.nanmedian(medians, axis=0)
    scores = np.nanmax(np.divide(medians, usual, out=np.zeros_like(medians), where=usual > 0.0), axis=1, initial=0.0)
    scores[np.isnan(medians).all(axis=1)] = np.inf  # without data
    return np.sort(np.argsort(scores, kind="stable")[:n_good])


def limits_of_windows(statistics: Float64Array) -> Float64Array:
    """Return the medians beyond which a window is suspicious, from the statistics of rows that are alike."""
    limits: Float64Array = SUSPICIOUS * np.nanquantile(statistics, QUANTILE, axis=0)
    return limits


def _medians(statistics: Float64Array, size: int) -> Float64Array:
    """Return the median of each statistic in each block; NaN where there is none."""
    n_blocks = -(-len(statistics) // size)
    padded = np.full((n_blocks * size, statistics.shape[1]), np.nan)
    padded[: len(statistics)] = statistics
    if size == WINDOW:
        padded[len(statistics) // size * size :] = np.nan  # a part of a window says less
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of blocks without data
        return np.asarray(np.nanmedian(padded.reshape(n_blocks, size, -1), axis=1))


def _stretches(windows: IntArray, n_rows: int, n_columns: int) -> list[Stretch]:
    found: list[Stretch] = []
    for window in windows:
        first, last = int(window) * WINDOW, min(n_rows, (int(window) + 1) * WINDOW) - 1
        if found and first - found[-1].last <= JOINED:
            found[-1].last = last
        else:
            found.append(Stretch(first, last, np.zeros(n_columns)))
    return found


def _explain(
    stream: Stream, stretches: list[Stretch], size: int, detector: Detector, normal: Normal, limits: Float64Array
) -> None:
    """Find the columns and the times of stretches."""
    attribution, begin = Attribution(detector.projection), 0
    detector.end_episode()
    for _, piece in pieces(stream, size):
        end = begin + piece.n_rows
        read = Read.next(detector, piece, normal, {})
        for stretch in stretches:
            if stretch.last < begin or stretch.first >= end:
                continue
            rows = np.arange(max(stretch.first, begin), min(stretch.last + 1, end)) - begin
            stretch.causes += attribution.causes(normal, read.only(rows), limits).sum(axis=0)
            if piece.times is not None:
                stretch.times = [*stretch.times[:1], *piece.times[rows[[0, -1]]]]
        begin = end
