"""Draws what a model finds in a recording: features over time, their slowness compared with chance, and weights."""

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

ROWS = 100_000  # rows of the input that are used
FEWEST = 10  # rows that are needed
SURROGATES = 20  # random inputs of each kind to compare with
CLEARLY = 0.95  # a feature counts as slower than chance if its δ is below this share of the smallest δ by chance
SHUFFLED, ROWS_A_COLUMN = 10_000, 20  # length of the random inputs: at least so many rows, and so many per column
FEATURES = 6  # features that are drawn over time
COLUMNS = 40  # columns whose weights are drawn, the largest weights first
POINTS = 4000  # points along the time axis


class Found(NamedTuple):
    """The numbers in the picture: slowness of the features, and of features of random inputs (one row per input)."""

    delta_values: Float64Array  # slowness of the features
    own_spectra: Float64Array  # slowness for independent columns with the same spectra
    shuffled: Float64Array  # slowness for the same samples in random order
    shared: BoolArray  # which features are slower than all those of independent columns
    slow: BoolArray  # which features are slower than all those of samples in random order


def plot(model: SlowFeatureEstimator, stream: Stream, out: Path, *, seed: int = 0) -> Found:
    """Draw the picture, write it to ``out``, and return its numbers."""
    chunk = _first_rows(stream)
    projection = Projection.of(model)
    rows = projection.signal.reduce(chunk.samples)
    plan = projection.signal.plan(rows, chunk.starts, continued=False)
    Y = projection.project(plan)
    delta = _slowness(model, projection, chunk)
    compared = _beginning(chunk, max(SHUFFLED, ROWS_A_COLUMN * len(projection.mean)))
    own_spectra, shuffled = surrogates(model, projection, compared, seed)
    there = _slowness(model, projection, compared)  # on the rows that the random inputs are made from
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
    """Return which features are clearly slower than chance: than the feature of the same rank in all random inputs.

    After the first feature that is not slower, all others count as not slower.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.recordings.picture import slower
    >>> slower(np.array([0.1, 1.9, 2.0]), by_chance=np.array([[1.7, 1.8, 1.9], [1.6, 1.8, 2.0]]))
    array([ True, False, False])
    """
    clearly = np.sort(delta) < CLEARLY * by_chance.min(axis=0)
    return np.logical_and.accumulate(clearly)[np.argsort(np.argsort(delta))]


def _beginning(chunk: Chunk, n: int) -> Chunk:
    return chunk._replace(samples=chunk.samples[:n], starts=chunk.starts[:n])


def _slowness(model: SlowFeatureEstimator, projection: Projection, chunk: Chunk) -> Float64Array:
    """Return the slowness of a model's features on a chunk."""
    plan = projection.signal.plan(projection.signal.reduce(chunk.samples), chunk.starts, continued=False)
    return metrics.slowness(projection.project(plan), episode_lengths(plan.starts), getattr(model, "lag", 1))


def surrogates(
    model: SlowFeatureEstimator, projection: Projection, chunk: Chunk, seed: int
) -> tuple[Float64Array, Float64Array]:
    """Return the slowness of features of random inputs of two kinds.

    The first kind keeps the spectrum of each column but draws random phases, so that the columns are independent: a
    feature that is slower is shared by several columns. The second kind has the same rows in random order: a feature
    that is slower is slower than noise.
    """
    k = len(projection.components)
    samples, lengths = chunk.samples, episode_lengths(chunk.starts)
    rng = np.random.default_rng(seed)

    def slowness(made: FloatArray) -> Float64Array:
        sfa = SFA(k, n_delays=model.n_delays, expansion=model.expansion_, lag=getattr(model, "lag", 1))
        return sfa.fit(projection.signal.reduce(made), lengths=lengths).delta_values_

    found: tuple[list[Float64Array], list[Float64Array]] = ([], [])
    with warnings.catch_warnings(), Progress("random inputs", total=SURROGATES, unit="inputs") as progress:
        for known in (RankDeficiencyWarning, ShortEpisodeWarning, ConditioningWarning, GiveAwayWarning):
            warnings.simplefilter("ignore", known)  # reported when the model was fitted
        for _ in range(SURROGATES):
            found[0].append(slowness(phase_randomised(samples, lengths, rng)))
            found[1].append(slowness(rng.permutation(samples)))
            progress.advance(1)
    return np.array(found[0]), np.array(found[1])


def _first_rows(stream: Stream) -> Chunk:
    """Return the beginning of a stream as one chunk."""
    chunks: list[Chunk] = []
    for chunk in stream:
        chunks.append(chunk)
        if sum(len(each.samples) for each in chunks) >= ROWS:
            break
    if sum(len(each.samples) for each in chunks) < FEWEST:
        raise InputError(f"the input has fewer than {FEWEST} samples: too few for a picture")
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
        "samples in random order": (found.shuffled, COLORS["series"], "--"),
        "independent columns, same spectra": (found.own_spectra, COLORS["force"], ":"),
    }
    for label, (by_chance, shade, dashes) in chances.items():
        axes.vlines(number, by_chance.min(axis=0), by_chance.max(axis=0), color=shade, alpha=0.3, lw=4)
        axes.plot(number, by_chance.mean(axis=0), color=shade, lw=1, ls=dashes, marker="_", label=label)
    axes.plot(number, delta, color=color, lw=1, zorder=1)
    axes.scatter(number, delta, s=28, zorder=2, edgecolor=color, facecolor=np.where(found.shared, color, "white"))
    axes.scatter([], [], s=28, color=color, label="slower than independent columns")
    axes.scatter([], [], s=28, edgecolor=color, facecolor="white", label="not slower than independent columns")
    axes.set(xlabel="feature", ylabel="slowness δ", title="slowness, compared with chance", yscale="log")
    _integers(axes, len(delta))
    axes.legend(loc="best", fontsize=7)


def _draw_weights(axes: Axes, names: np.ndarray[Any, Any], weights: Float64Array, real: BoolArray) -> None:
    """Draw the weights of the columns that matter most to the features that are slower than chance."""
    largest = np.abs(weights).max(axis=1, keepdims=True)
    shares = weights / np.where(largest > 0.0, largest, 1.0)
    weight = np.abs(shares[real] if real.any() else shares).max(axis=0)
    strongest = np.sort(np.argsort(-weight, kind="stable")[:COLUMNS])
    image = axes.imshow(
        shares[:, strongest].T, aspect="auto", cmap="RdBu_r", vmin=-1.0, vmax=1.0, interpolation="nearest"
    )
    # names may have dollar signs in them, but are not formulas
    labels, size = [printable(name) for name in names[strongest]], max(4.5, min(8.0, 160 / len(strongest)))
    axes.set_yticks(range(len(strongest)), labels, fontsize=size, parse_math=False)
    which = f", {COLUMNS} of {len(names):,} columns" if len(strongest) < len(names) else ""
    axes.set(xlabel="feature", title=f"weight × spread of the column{which}; the largest is 1", aspect="auto")
    axes.title.set_fontsize(8)
    _integers(axes, len(weights))
    axes.spines[:].set_visible(False)
    axes.figure.colorbar(image, ax=axes, shrink=0.8)


def _integers(axes: Axes, n_features: int) -> None:
    """Put the ticks at features, not between them."""
    axes.set_xlim(-0.5, n_features - 0.5)
    axes.set_xticks(range(0, n_features, 1 + n_features // 11))
