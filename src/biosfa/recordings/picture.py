"""Draws what a model finds in a recording: features, their slowness compared with chance, patterns and weights."""

import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from biosfa import metrics
from biosfa.episodes import episode_lengths
from biosfa.estimators import SFA, GraphSFA, Projection, SlowFeatureEstimator, input_names
from biosfa.exceptions import (
    ConditioningWarning,
    GiveAwayWarning,
    InputError,
    RankDeficiencyWarning,
    ShortEpisodeWarning,
)
from biosfa.io import Stream
from biosfa.kernels.exact import as_correlations, slowness_at
from biosfa.kernels.surrogates import SignRandomised
from biosfa.presentation.progress import Progress
from biosfa.presentation.style import figure, write_figure
from biosfa.recordings._beginning import Beginning, beginning_of
from biosfa.recordings._panels import draw_features, draw_patterns, draw_slowness, draw_weights
from biosfa.recordings.notes import LONG_SECONDS, note
from biosfa.typing import BoolArray, Float64Array, FloatArray
from biosfa.wording import duration

SURROGATES = 20  # random inputs of each kind to compare with
CLEARLY = 0.95  # a feature counts as slower than chance if its δ is below this share of the smallest δ by chance
SHUFFLED, ROWS_A_COLUMN = 10_000, 20  # length of the random inputs: at least so many rows, and so many per column
FEATURES = 6  # features that are drawn over time


class Found(NamedTuple):
    """The numbers in the picture: slowness of the features, and of features of random inputs (one row per input)."""

    delta_values: Float64Array  # slowness of the features
    own_spectra: Float64Array  # slowness for independent columns with the same spectra
    shuffled: Float64Array  # slowness for the same samples in random order
    shared: BoolArray  # which features are slower than those of the same rank of independent columns
    slow: BoolArray  # which features are slower than those of the same rank of samples in random order


def plot(model: SlowFeatureEstimator, stream: Stream, out: Path, *, seed: int = 0) -> Found:
    """Draw the picture, write it to ``out``, and return its numbers.

    Raises
    ------
    InputError
        If the model has no features over time, or needs times that the input does not have.
    """
    _check_drawable(model, stream)
    recording = beginning_of(stream)
    projection = Projection.of(model)
    rows = projection.signal.reduce(recording.samples)
    plan = projection.signal.plan(rows, recording.starts, continued=False)
    Y = projection.project(plan)
    delta = _slowness(model, projection, recording)
    compared = recording.first(max(SHUFFLED, ROWS_A_COLUMN * len(projection.mean)))
    own_spectra, shuffled = surrogates(model, projection, compared, seed)
    there = _slowness(model, projection, compared)  # on the rows that the random inputs are made from
    found = Found(delta, own_spectra, shuffled, slower(there, own_spectra), slower(there, shuffled))
    with figure(10.5, 8.5) as drawn:
        top, bottom = np.asarray(drawn.subfigures(2, 1, height_ratios=[1.3, 1.0], squeeze=False))[:, 0]
        shown = min(FEATURES, Y.shape[1])
        x = recording.places if plan.index is None else recording.places[plan.index]
        axes = top.subplots(shown, 1, sharex=True, squeeze=False)[:, 0]
        draw_features(axes, x, Y, plan.starts, delta, recording.axis)
        left, middle, right = bottom.subplots(1, 3, width_ratios=[1.3, 1.0, 1.0])
        draw_slowness(left, delta, found.shared, own_spectra=own_spectra, shuffled=shuffled)
        drawn.legend(*left.get_legend_handles_labels(), loc="outside lower center", fontsize=7, ncols=4)
        spread = next(projection.signal.pieces(plan))[0].std(axis=0)
        sources = recording.samples if plan.index is None else recording.samples[plan.index]
        draw_patterns(middle, np.asarray(input_names(model), object), correlations(Y, sources), found.shared)
        image = draw_weights(right, model.expanded_feature_names(), projection.components * spread, found.shared)
        bottom.colorbar(image, ax=[middle, right], shrink=0.8, pad=0.02)
        write_figure(drawn, out, dpi=150)
    return found


def correlations(Y: FloatArray, X: FloatArray) -> Float64Array:
    """Return the correlation of each column of Y with each column of X; 0 for columns that do not vary.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.recordings.picture import correlations
    >>> correlations(np.array([[0.0], [1.0]]), np.array([[3.0, 5.0, 1.0], [4.0, 2.0, 1.0]]))
    array([[ 1., -1.,  0.]])
    """
    y, x = (np.asarray(each, dtype=np.float64) - each.mean(axis=0, dtype=np.float64) for each in (Y, X))
    return as_correlations(y.T @ x, np.square(y).sum(axis=0), np.square(x).sum(axis=0))


def slower(delta: Float64Array, by_chance: Float64Array) -> BoolArray:
    """Return which features are clearly slower than chance: than the feature of the same rank in all random inputs.

    Each rank is judged by itself. A feature of rank i that is slower says that chance does not give i features that are
    so slow.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.recordings.picture import slower
    >>> slower(np.array([1.8, 0.1, 2.0]), by_chance=np.array([[0.1, 1.9, 2.0], [0.1, 2.0, 2.1]]))
    array([ True, False, False])
    """
    clearly: BoolArray = np.sort(delta) < CLEARLY * by_chance.min(axis=0)
    return clearly[np.argsort(np.argsort(delta))]


def _slowness(model: SlowFeatureEstimator, projection: Projection, recording: Beginning) -> Float64Array:
    """Return the slowness of a model's features on a recording."""
    plan = projection.signal.plan(projection.signal.reduce(recording.samples), recording.starts, continued=False)
    Y, unit = projection.project(plan), _time_unit(model)
    if unit is not None and recording.steps is not None:
        return slowness_at(Y, recording.steps, unit)
    return metrics.slowness(Y, episode_lengths(plan.starts), getattr(model, "lag", 1))


def _check_drawable(model: SlowFeatureEstimator, stream: Stream) -> None:
    """Raise InputError if the features of a model cannot be drawn over the time of an input."""
    if isinstance(model, GraphSFA):
        raise InputError(
            "plot draws features over time, but the samples of GraphSFA have no order in time: biosfa inspect shows "
            "slowness and patterns"
        )
    if _time_unit(model) is not None and stream.reading.time is None:
        raise InputError(
            "the model was fitted with times (--uneven), but the input has no column of time: name it with --time"
        )


def _time_unit(model: SlowFeatureEstimator) -> float | None:
    """Return the unit of time of a model that was fitted with times; None for other models."""
    return model.time_unit_ if isinstance(model, SFA) else None


def surrogates(
    model: SlowFeatureEstimator, projection: Projection, recording: Beginning, seed: int
) -> tuple[Float64Array, Float64Array]:
    """Return the slowness of features of random inputs of two kinds.

    The first kind keeps the spectrum of each column but draws random signs, so that the columns are independent: a
    feature that is slower is shared by several columns. The second kind has the same rows in random order: a feature
    that is slower is slower than noise.
    """
    k = len(projection.components)
    samples, lengths, unit = recording.samples, episode_lengths(recording.starts), _time_unit(model)
    times = None if unit is None or recording.steps is None else np.cumsum(np.nan_to_num(recording.steps))
    rng = np.random.default_rng(seed)

    def slowness(made: FloatArray) -> Float64Array:
        sfa = SFA(k, n_delays=model.n_delays, expansion=model.expansion_, lag=getattr(model, "lag", 1))
        sfa.fit(projection.signal.reduce(made), lengths=lengths, time=times)
        in_own_unit = 1.0 if unit is None or sfa.time_unit_ is None else unit / sfa.time_unit_
        return sfa.delta_values_ * in_own_unit**2

    signs = SignRandomised(samples, lengths)
    found: tuple[list[Float64Array], list[Float64Array]] = ([], [])
    begin = time.monotonic()
    with warnings.catch_warnings(), Progress("random inputs", total=2 * SURROGATES, unit="inputs") as progress:
        for known in (RankDeficiencyWarning, ShortEpisodeWarning, ConditioningWarning, GiveAwayWarning):
            warnings.simplefilter("ignore", known)  # reported when the model was fitted
        for made in range(SURROGATES):
            found[0].append(slowness(signs.draw(rng)))
            progress.advance(1)
            found[1].append(slowness(rng.permutation(samples)))
            progress.advance(1)
            if made == 0:
                _note_of_time((SURROGATES - 1) * (time.monotonic() - begin))
    return np.array(found[0]), np.array(found[1])


def _note_of_time(seconds: float) -> None:
    """Print how long the other random inputs will take, if that is long: not everybody sees the progress bar."""
    if seconds > LONG_SECONDS:
        note(f"comparing the features with those of {2 * SURROGATES} random inputs will take about {duration(seconds)}")
