"""Detectors: a map to features and charts of them. Each kind is learned from normal operation, part by part."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from biosfa.estimators import SFA, Projection, SlowFeatureEstimator, begin_stream, has_started, learn_chunk
from biosfa.io import Chunk, Stream
from biosfa.kernels.exact import Moments, principal_axes
from biosfa.monitoring._charts import Charts, previous_rows
from biosfa.signal import SignalPath
from biosfa.typing import BoolArray, Float64Array

Part = TypeVar("Part")

# Larger features are not told apart: with the largest weight of a chart, their squares are still finite.
WILDEST = 1e70
# Share of the variance that the principal components of a monitor by PCA keep.
KEPT_VARIANCE = 0.9


def tamed(Y: Float64Array) -> Float64Array:
    """Return features of rows. Where values of the input are so wild that squares overflow, features are scaled down.

    So every statistic of such a row is finite, and far beyond its limit.
    """
    wild = ~(np.abs(Y).max(axis=1, initial=0.0) <= WILDEST)
    if not wild.any():
        return Y
    with np.errstate(invalid="ignore"):  # infinity that is divided by infinity
        scaled = WILDEST * (Y[wild] / np.abs(Y[wild]).max(axis=1, keepdims=True))
    tame = Y.copy()
    tame[wild] = np.nan_to_num(scaled, nan=WILDEST)
    return tame


class Features(NamedTuple):
    """Features of rows; NaN where there are none."""

    now: Float64Array  # (rows, features)
    before: Float64Array  # those of the row before each
    begins: BoolArray  # which rows begin an episode


@dataclass
class Detector:
    """A map to features, charts of them, and a memory of the last row."""

    projection: Projection
    charts: Charts
    last: Float64Array = field(init=False)  # features of the last row; NaN if there are none

    def __post_init__(self) -> None:
        self.end_episode()

    def end_episode(self) -> None:
        """Say that the next row does not follow the last one."""
        self.projection.signal.forget()
        self.last = np.full(len(self.projection.components), np.nan)

    def features(self, chunk: Chunk) -> Features:
        """Return features of the rows that follow the last chunk."""
        with np.errstate(over="ignore", invalid="ignore"):
            features, rows = self.projection.placed(chunk)
        Y = features.astype(np.float64, copy=False)
        Y[rows] = tamed(Y[rows])
        begins = np.zeros(len(Y), np.bool_)
        begins[chunk.rows[chunk.starts]] = True
        found = Features(Y, previous_rows(Y, begins, self.last), begins)
        if len(Y):
            self.last = Y[-1]
        return found

    def statistics(self, chunk: Chunk) -> Float64Array:
        """Return the statistics of the rows that follow the last chunk; NaN where there are none."""
        found = self.features(chunk)
        return self.charts.statistics(found.now, found.before)


class Method(Protocol[Part]):
    """A way to learn a detector."""

    def empty(self, stream: Stream) -> Part:
        """Return a part that has learned nothing."""

    def learn(self, part: Part, chunk: Chunk) -> None:
        """Learn from the next rows of a part. The first row of a part begins an episode."""

    def detector(self, parts: Sequence[Part]) -> Detector:
        """Return the detector that has learned from all of these parts."""


@dataclass(frozen=True)
class SlowFeatures:
    """Learns exact slow features, and watches the slow ones and the rest."""

    n_delays: int
    expansion: Any
    slow_share: float

    def empty(self, stream: Stream) -> SFA:
        """Return a model that has learned nothing."""
        sfa = SFA(n_delays=self.n_delays, expansion=self.expansion, missing="break")
        begin_stream(sfa, stream)
        return sfa

    def learn(self, part: SFA, chunk: Chunk) -> None:
        """Learn from the next rows."""
        learn_chunk(part, chunk)

    def detector(self, parts: Sequence[SFA]) -> Detector:
        """Return the detector of the merged models."""
        return of_model(self.merged(parts), self.slow_share)

    def merged(self, parts: Sequence[SFA]) -> SFA:
        """Return the merged models. Parts of which all rows are missing have nothing to merge."""
        first, *others = [part for part in parts if has_started(part)] or parts
        merged = copy.deepcopy(first)
        for part in others:
            merged.merge(part)
        check_enough(merged)
        return merged


def check_enough(sfa: SFA) -> None:
    """Raise ValueError if a model has learned from too few rows, or too few pairs of rows."""
    if has_started(sfa) and sfa.n_samples_seen_ <= len(sfa.mean_):
        raise ValueError(
            f"{sfa.n_samples_seen_} rows are too few for {len(sfa.mean_)} columns and delays: the covariance is "
            "singular. Give more rows, or fewer columns or delays"
        )
    why = sfa.why_too_little()
    if why is not None:
        raise ValueError(why)


def of_model(model: SlowFeatureEstimator, slow_share: float) -> Detector:
    """Return the detector of a fitted model of slow features."""
    return Detector(Projection.of(model), Charts.slow_and_rest(model.delta_values_, slow_share))


@dataclass
class Gathered:
    """Moments of the delay vectors of a part."""

    signal: SignalPath
    moments: Moments


@dataclass(frozen=True)
class Principal:
    """Learns principal components of the columns at unit variance, and watches T² of the first ones, and the rest.

    The rest is the squared prediction error (SPE, Q). With ``n_delays`` above 1 this is dynamic PCA.
    """

    n_delays: int

    def empty(self, stream: Stream) -> Gathered:
        """Return empty moments."""
        signal = SignalPath.restore(self.n_delays, None, stream.n_features, None)
        return Gathered(signal, Moments(signal.n_features_out))

    def learn(self, part: Gathered, chunk: Chunk) -> None:
        """Add the next rows to the moments."""
        plan = part.signal.plan(chunk.samples, chunk.starts, continued=True)
        for rows, _ in part.signal.pieces(plan):
            part.moments.add_samples(rows)
        part.signal.remember(chunk.samples, chunk.starts)

    def detector(self, parts: Sequence[Gathered]) -> Detector:
        """Return the detector from all moments."""
        signal, moments = _summed(parts)
        covariance, scale = moments.covariance, _unit_variance(moments)
        axes = principal_axes(covariance * scale * scale[:, None])
        n_kept = int(np.searchsorted(np.cumsum(axes.variance), KEPT_VARIANCE * axes.variance.sum())) + 1
        kept = np.arange(len(axes.variance)) < n_kept
        levels = np.array([kept / axes.variance, ~kept], dtype=np.float64)
        components = axes.axes.T * scale
        charts = Charts(("T²", "SPE"), levels, np.empty((0, len(components))))
        return Detector(Projection(signal, components, moments.mean), charts)


@dataclass(frozen=True)
class Distance(Principal):
    """Watches the Mahalanobis distance to the mean of normal operation."""

    def detector(self, parts: Sequence[Gathered]) -> Detector:
        """Return the detector from all moments."""
        signal, moments = _summed(parts)
        scale = _unit_variance(moments)
        axes = principal_axes(moments.covariance * scale * scale[:, None])
        components = axes.whitening.T * scale
        charts = Charts(("Mahalanobis",), np.ones((1, len(components))), np.empty((0, len(components))))
        return Detector(Projection(signal, components, moments.mean), charts)


def _summed(parts: Sequence[Gathered]) -> tuple[SignalPath, Moments]:
    moments = parts[0].moments
    for part in parts[1:]:
        moments = moments.merged(part.moments)
    signal = copy.copy(parts[0].signal)
    signal.forget()
    return signal, moments


def _unit_variance(moments: Moments) -> Float64Array:
    variance = np.diag(moments.covariance)
    return np.divide(1.0, np.sqrt(variance), out=np.zeros_like(variance), where=variance > 0.0)
