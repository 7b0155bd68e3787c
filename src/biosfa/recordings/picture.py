"""Draws what a model finds in a recording: features, their slowness compared with chance, patterns and weights."""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from biosfa import metrics
from biosfa.episodes import episode_lengths
from biosfa.estimators import SFA, GraphSFA, Projection, SlowFeatureEstimator, input_names
from biosfa.exceptions import InputError
from biosfa.io import Stream
from biosfa.kernels.exact import as_correlations, slowness_at
from biosfa.presentation.progress import Progress
from biosfa.presentation.style import figure, write_figure
from biosfa.recordings._beginning import Beginning, beginning_of
from biosfa.recordings._panels import draw_features, draw_patterns, draw_slowness, draw_weights
from biosfa.recordings.notes import note
from biosfa.selection import Significance
from biosfa.selection.chance import Found, rows_for
from biosfa.typing import BoolArray, Float64Array, FloatArray, IntArray
from biosfa.wording import counted, duration

FEATURES = 6  # features that are drawn over time
LONG_COMPARISON = 60.0  # seconds; a longer comparison with random inputs is mentioned


class Drawn(NamedTuple):
    """The numbers in the picture."""

    delta_values: Float64Array  # slowness of the features
    significance: Significance  # of the features, the slowest first
    real: BoolArray  # which features are slower than those of columns that share nothing
    slow: BoolArray  # which features are slower than those of samples in random order


def plot(model: SlowFeatureEstimator, stream: Stream, out: Path, *, seed: int = 0) -> Drawn:
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
    delta = _slowness(model, Y, plan.starts, recording.steps)
    compared = recording.first(rows_for(len(projection.mean)))
    order, significance = _compared_with_chance(model, projection, compared, seed)
    found = Drawn(delta, significance, significance.real[np.argsort(order)], significance.slow[np.argsort(order)])
    with figure(10.5, 8.5) as drawn:
        top, bottom = np.asarray(drawn.subfigures(2, 1, height_ratios=[1.3, 1.0], squeeze=False))[:, 0]
        shown = min(FEATURES, Y.shape[1])
        x = recording.places if plan.index is None else recording.places[plan.index]
        axes = top.subplots(shown, 1, sharex=True, squeeze=False)[:, 0]
        draw_features(axes, x, Y, plan.starts, delta, recording.axis)
        left, middle, right = bottom.subplots(1, 3, width_ratios=[1.3, 1.0, 1.0])
        draw_slowness(left, delta, found.real, significance.chance_by_feature[np.argsort(order)], significance)
        drawn.legend(*left.get_legend_handles_labels(), loc="outside lower center", fontsize=7, ncols=4)
        spread = next(projection.signal.pieces(plan))[0].std(axis=0)
        sources = recording.samples if plan.index is None else recording.samples[plan.index]
        draw_patterns(middle, np.asarray(input_names(model), object), correlations(Y, sources), found.real)
        image = draw_weights(right, model.expanded_feature_names(), projection.components * spread, found.real)
        bottom.colorbar(image, ax=[middle, right], shrink=0.8, pad=0.02)
        write_figure(drawn, out, dpi=150)
    return found


def in_words(drawn: Drawn) -> list[str]:
    """Return what the comparison with chance says about the features, in two sentences."""
    found, rows = drawn.significance, f"first {counted(drawn.significance.n_rows, 'row')}"
    if found.n_columns < 2:
        shared = "Only one column varies. It can share no signal with others, so no feature is slower than chance."
    elif drawn.real.any():
        shared = (
            f"{_those(drawn.real)} slower than chance (p ≤ {found.level:g}, {rows}): several columns share a signal."
        )
    else:
        p = f"slow0: p = {found.p_spectrum[0]:.2g}, {rows}"
        shared = f"No feature is slower than chance ({p}): the columns may be as slow by themselves."
    if drawn.slow.any():
        return [shared, f"{_those(drawn.slow)} slower than features of rows in random order."]
    return [shared, "No feature is slower than features of rows in random order: nothing here may be slow."]


def _those(which: BoolArray) -> str:
    """Return how many features these are, with the verb."""
    if len(which) == 1:
        return "The feature is"
    n = int(which.sum())
    return f"{n} of {counted(len(which), 'feature')} {'is' if n == 1 else 'are'}"


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


def _slowness(
    model: SlowFeatureEstimator, Y: FloatArray, starts: BoolArray, steps: Float64Array | None
) -> Float64Array:
    """Return the slowness of a model's features, from the features of a recording."""
    unit = _time_unit(model)
    if unit is not None and steps is not None:
        return slowness_at(Y, steps, unit)
    return metrics.slowness(Y, episode_lengths(starts), getattr(model, "lag", 1))


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


def _compared_with_chance(
    model: SlowFeatureEstimator, projection: Projection, recording: Beginning, seed: int
) -> tuple[IntArray, Significance]:
    """Return the numbers of the features in the order of their slowness, and whether they are slower than chance.

    The test is that of ``biosfa.selection.significance`` for exact SFA with the settings of the model.
    """
    samples, lengths, unit = recording.samples, episode_lengths(recording.starts), _time_unit(model)
    times = None if unit is None or recording.steps is None else np.cumsum(np.nan_to_num(recording.steps))
    lag = getattr(model, "lag", 1)
    plan = projection.signal.plan(projection.signal.reduce(samples), recording.starts, continued=False)
    features = projection.project(plan)
    delta = _slowness(model, features, plan.starts, recording.steps)
    order = np.argsort(delta)
    linear = model.n_delays == 1 and model.expansion is None

    def slowness(made: FloatArray, feature: int) -> float:
        sfa = SFA(feature + 1, pca=model.pca, n_delays=model.n_delays, expansion=model.expansion_, lag=lag)
        if times is None:  # as significance does
            sfa.partial_fit(made, lengths=lengths)
        else:
            sfa.fit(made, lengths=lengths, time=times)
        in_own_unit = 1.0 if unit is None or sfa.time_unit_ is None else unit / sfa.time_unit_
        return float(sfa.delta_values_[feature] * in_own_unit**2)

    found = Found(samples, lengths, features[:, order], delta[order], slowness, linear, lag == 1 and times is None)
    begin, announced = time.monotonic(), False
    with Progress("random inputs", total=None, unit="%") as progress:

        def report(share: float) -> None:
            nonlocal announced
            progress.reach(share, round(100 * share))
            if not announced:
                announced = True
                _note_of_time((1.0 / share - 1.0) * (time.monotonic() - begin))

        return order, found.significance(random_state=seed, report=report)


def _note_of_time(seconds: float) -> None:
    """Print how long the other random inputs will take, if that is long: not everybody sees the progress bar."""
    if seconds > LONG_COMPARISON:
        note(f"comparing the features with those of random inputs will take up to about {duration(seconds)}")
