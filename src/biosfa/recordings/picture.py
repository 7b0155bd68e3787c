"""A picture of what a model finds in a recording: features over time, how slow they are by chance, weights."""

import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from biosfa import metrics
from biosfa.episodes import episode_lengths
from biosfa.estimators import SFA, Projection, SlowFeatureEstimator
from biosfa.exceptions import (
    ConditioningWarning,
    GiveAwayWarning,
    InputError,
    RankDeficiencyWarning,
    ShortEpisodeWarning,
)
from biosfa.io import Chunk, Stream
from biosfa.kernels.surrogates import phase_randomised
from biosfa.presentation.progress import Progress
from biosfa.presentation.style import COLORS, figure, write_figure
from biosfa.typing import BoolArray, Float64Array, FloatArray
from biosfa.wording import printable

ROWS = 100_000  # of the input that are looked at
FEWEST = 10
SURROGATES = 20
CLEARLY = 0.95  # of the least slowness that chance gives: where chance varies little, less is no difference
SHUFFLED, ROWS_A_COLUMN = 10_000, 20  # samples of a shuffled input, at least: in all, and for each expanded column
FEATURES = 6  # drawn over time
COLUMNS = 40  # drawn of the weights, those of largest weight
POINTS = 4000  # along the time axis


class Found(NamedTuple):
    """What the picture shows. Surrogates have one row for each made input, features in order of slowness."""

    delta_values: Float64Array  # slowness of the features
    own_spectra: Float64Array  # of features of inputs whose columns keep their spectra, and share nothing
    shuffled: Float64Array  # of features of inputs that were shuffled in time
    shared: BoolArray  # which features are slower than any with the columns' own spectra
    slow: BoolArray  # which features are slower than any of shuffled inputs


def plot(model: SlowFeatureEstimator, stream: Stream, out: Path, *, seed: int = 0) -> Found:
    """Draw the picture."""
    chunk = _first_rows(stream)
    projection = Projection.of(model)
    rows = projection.signal.reduce(chunk.samples)
    plan = projection.signal.plan(rows, chunk.starts, continued=False)
    Y = projection.project(plan)
    delta = _slowness(model, projection, chunk)
    compared = _beginning(chunk, max(SHUFFLED, ROWS_A_COLUMN * len(projection.mean)))
    own_spectra, shuffled = surrogates(model, projection, compared, seed)
    there = _slowness(model, projection, compared)  # on the rows that the made inputs come from
    found = Found(delta, own_spectra, shuffled, slower(there, own_spectra), slower(there, shuffled))
    with figure(9.5, 8.5) as drawn:
        top, bottom = np.asarray(drawn.subfigures(2, 1, height_ratios=[1.3, 1.0], squeeze=False))[:, 0]
        shown = min(FEATURES, Y.shape[1])
        _draw_features(top.subplots(shown, 1, sharex=True, squeeze=False)[:, 0], Y, plan.starts, delta)
        left, right = bottom.subplots(1, 2, width_ratios=[1.0, 1.2])
        _draw_slowness(left, found)
        spread = next(projection.signal.pieces(plan))[0].std(axis=0)
        _draw_weights(right, model.expanded_feature_names(), projection.components * spread, found.shared)
        write_figure(drawn, out, dpi=150)
    return found


def slower(delta: Float64Array, by_chance: Float64Array) -> BoolArray:
    """Which features, from the slowest on, are clearly slower than the feature of their rank in all surrogates."""
    clearly = np.sort(delta) < CLEARLY * by_chance.min(axis=0)
    return np.logical_and.accumulate(clearly)[np.argsort(np.argsort(delta))]


def _beginning(chunk: Chunk, n: int) -> Chunk:
    return chunk._replace(samples=chunk.samples[:n], starts=chunk.starts[:n])


def _slowness(model: SlowFeatureEstimator, projection: Projection, chunk: Chunk) -> Float64Array:
    """Slowness of a model's features on some rows."""
    plan = projection.signal.plan(projection.signal.reduce(chunk.samples), chunk.starts, continued=False)
    return metrics.slowness(projection.project(plan), episode_lengths(plan.starts), getattr(model, "lag", 1))


def surrogates(
    model: SlowFeatureEstimator, projection: Projection, chunk: Chunk, seed: int
) -> tuple[Float64Array, Float64Array]:
    """Slowness of features of made inputs: columns with their own spectra and random phases; rows in random order.

    The first ask whether columns share what is slow; the second, whether anything is slower than noise.
    """
    k = len(projection.components)
    samples, lengths = chunk.samples, episode_lengths(chunk.starts)
    rng = np.random.default_rng(seed)

    def slowness(made: FloatArray) -> Float64Array:
        sfa = SFA(k, n_delays=model.n_delays, expansion=model.expansion_, lag=getattr(model, "lag", 1))
        return sfa.fit(projection.signal.reduce(made), lengths=lengths).delta_values_

    found: tuple[list[Float64Array], list[Float64Array]] = ([], [])
    with warnings.catch_warnings(), Progress("made inputs", total=SURROGATES, unit="inputs") as progress:
        for known in (RankDeficiencyWarning, ShortEpisodeWarning, ConditioningWarning, GiveAwayWarning):
            warnings.simplefilter("ignore", known)  # was said when the model was fitted
        for _ in range(SURROGATES):
            found[0].append(slowness(phase_randomised(samples, lengths, rng)))
            found[1].append(slowness(rng.permutation(samples)))
            progress.advance(1)
    return np.array(found[0]), np.array(found[1])


def _first_rows(stream: Stream) -> Chunk:
    """The beginning of a stream, as one chunk."""
    chunks: list[Chunk] = []
    for chunk in stream:
        chunks.append(chunk)
        if sum(len(each.samples) for each in chunks) >= ROWS:
            break
    if sum(len(each.samples) for each in chunks) < FEWEST:
        raise InputError(f"there are fewer than {FEWEST} samples to draw")
    samples = np.concatenate([each.samples for each in chunks])[:ROWS]
    return chunks[-1]._replace(samples=samples, starts=np.concatenate([each.starts for each in chunks])[:ROWS])


def _draw_features(axes: list[Axes], Y: FloatArray, begins: BoolArray, delta: Float64Array) -> None:
    every = max(1, len(Y) // POINTS)
    cuts = [*np.flatnonzero(begins), len(Y)]
    for i, each in enumerate(axes):
        for begin, end in pairwise(cuts):
            each.plot(np.arange(begin, end, every), Y[begin:end:every, i], color=COLORS["bio-sfa"], lw=0.8)
        each.set_ylabel(f"slow{i}", rotation=0, ha="right", va="center")
        each.set_title(f"δ = {delta[i]:.3g}", loc="right", fontsize=8, pad=2)
        each.spines["bottom"].set_visible(i == len(axes) - 1)
        each.tick_params(bottom=i == len(axes) - 1)
        each.margins(x=0.01)
    axes[0].set_title("slow features", loc="left")
    axes[-1].set_xlabel("sample")


def _draw_slowness(axes: Axes, found: Found) -> None:
    delta, number, color = found.delta_values, np.arange(len(found.delta_values)), COLORS["bio-sfa"]
    chances = {
        "shuffled in time": (found.shuffled, COLORS["series"], "--"),
        "columns with their own spectra": (found.own_spectra, COLORS["force"], ":"),
    }
    for label, (by_chance, shade, dashes) in chances.items():
        axes.vlines(number, by_chance.min(axis=0), by_chance.max(axis=0), color=shade, alpha=0.3, lw=4)
        axes.plot(number, by_chance.mean(axis=0), color=shade, lw=1, ls=dashes, marker="_", label=label)
    axes.plot(number, delta, color=color, lw=1, zorder=1)
    axes.scatter(number, delta, s=28, zorder=2, edgecolor=color, facecolor=np.where(found.shared, color, "white"))
    axes.scatter([], [], s=28, color=color, label="slower than any of both")
    axes.scatter([], [], s=28, edgecolor=color, facecolor="white", label="no slower than columns by themselves")
    axes.set(xlabel="feature", ylabel="slowness δ", title="how slow, and how slow by chance", yscale="log")
    _integers(axes, len(delta))
    axes.legend(loc="best", fontsize=7)


def _draw_weights(axes: Axes, names: np.ndarray[Any, Any], weights: Float64Array, real: BoolArray) -> None:
    """Weights of each feature, of the columns that matter most to those that are slower than chance."""
    largest = np.abs(weights).max(axis=1, keepdims=True)
    shares = weights / np.where(largest > 0.0, largest, 1.0)
    weight = np.abs(shares[real] if real.any() else shares).max(axis=0)
    strongest = np.sort(np.argsort(-weight, kind="stable")[:COLUMNS])
    image = axes.imshow(
        shares[:, strongest].T, aspect="auto", cmap="RdBu_r", vmin=-1.0, vmax=1.0, interpolation="nearest"
    )
    # names are no formulas, though they may have dollars in them
    labels, size = [printable(name) for name in names[strongest]], max(4.5, min(8.0, 160 / len(strongest)))
    axes.set_yticks(range(len(strongest)), labels, fontsize=size, parse_math=False)
    which = f", {COLUMNS} of {len(names):,} columns" if len(strongest) < len(names) else ""
    axes.set(xlabel="feature", title=f"weights × spread of the column{which}; the largest is 1", aspect="auto")
    axes.title.set_fontsize(8)
    _integers(axes, len(weights))
    axes.spines[:].set_visible(False)
    axes.figure.colorbar(image, ax=axes, shrink=0.8)


def _integers(axes: Axes, n_features: int) -> None:
    """Ticks at features, not between them."""
    axes.set_xlim(-0.5, n_features - 0.5)
    axes.set_xticks(range(0, n_features, 1 + n_features // 11))
