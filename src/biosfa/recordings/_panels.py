"""The parts of the picture of a recording: features over time, slowness, patterns and weights."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.image import AxesImage

from biosfa.presentation.style import COLORS
from biosfa.selection import Significance
from biosfa.typing import BoolArray, Float64Array, FloatArray
from biosfa.wording import printable

COLUMNS = 40  # columns whose weights are drawn, the largest weights first
POINTS = 4000  # points along the time axis


def draw_features(
    axes: list[Axes], x: np.ndarray[Any, Any], Y: FloatArray, begins: BoolArray, delta: Float64Array, label: str
) -> None:
    """Draw features over time, with a gap in the curve wherever an episode begins or rows have no features."""
    every = max(1, len(Y) // POINTS)
    cuts = np.flatnonzero(begins)
    origin = np.maximum.accumulate(np.where(begins, np.arange(len(Y)), 0))
    drawn = np.flatnonzero((np.arange(len(Y)) - origin) % every == 0)
    gaps = np.searchsorted(drawn, cuts)
    for i, each in enumerate(axes):
        curve = np.insert(Y[drawn, i].astype(np.float64), gaps, np.nan)
        each.plot(np.insert(x[drawn], gaps, x[cuts]), curve, color=COLORS["bio-sfa"], lw=0.8)
        each.set_ylabel(f"slow{i}", rotation=0, ha="right", va="center")
        each.set_title(f"δ = {delta[i]:.3g}", loc="right", fontsize=8, pad=2)
        each.spines["bottom"].set_visible(i == len(axes) - 1)
        each.tick_params(bottom=i == len(axes) - 1)
        each.margins(x=0.01)
    n_features = Y.shape[1]
    which = "" if len(axes) == n_features else f", {len(axes)} of {n_features} drawn"
    axes[0].set_title(f"slow features{which}", loc="left")
    dated_axis(axes[-1], x)
    axes[-1].set_xlabel(printable(label), parse_math=False)


def dated_axis(axes: Axes, places: np.ndarray[Any, Any]) -> None:
    """Write dates below an axis of time, if places are dates."""
    if places.dtype.kind == "M":
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def draw_slowness(
    axes: Axes, delta: Float64Array, real: BoolArray, chance_by_feature: Float64Array, significance: Significance
) -> None:
    """Draw the slowness of the features beside that of features of random inputs, which the legend explains."""
    number, color = np.arange(len(delta)), COLORS["bio-sfa"]
    tested = np.isfinite(chance_by_feature).all(axis=1)
    axes.vlines(
        number[tested],
        chance_by_feature[tested].min(axis=1),
        chance_by_feature[tested].max(axis=1),
        color=COLORS["force"],
        alpha=0.35,
        lw=6,
        label="slowest features of columns that share nothing",
    )
    axes.axhspan(
        significance.chance_shuffled.min(),
        significance.chance_shuffled.max(),
        color=COLORS["series"],
        alpha=0.3,
        lw=0,
        label="slowest features of samples in random order",
    )
    axes.plot(number, delta, color=color, lw=1, zorder=1)
    axes.scatter(number, delta, s=28, zorder=2, edgecolor=color, facecolor=np.where(real, color, "white"))
    axes.scatter([], [], s=28, color=color, label="slower than columns that share nothing")
    axes.scatter([], [], s=28, edgecolor=color, facecolor="white", label="not slower, or not tested")
    axes.set(xlabel="feature", ylabel="slowness δ", title="slowness, compared with chance", yscale="log")
    _integers(axes, len(delta))


def draw_patterns(axes: Axes, names: np.ndarray[Any, Any], correlations: Float64Array, real: BoolArray) -> None:
    """Draw the correlation of each feature with the columns: what the feature looks like in the sensors."""
    title = "patterns: what the feature shows\n(correlation with the column)"
    _draw_columns(axes, names, correlations, real, title=title)


def draw_weights(axes: Axes, names: np.ndarray[Any, Any], weights: Float64Array, real: BoolArray) -> AxesImage:
    """Draw the weights of the columns, relative to the largest of each feature: what computes the feature."""
    largest = np.abs(weights).max(axis=1, keepdims=True)
    shares = weights / np.where(largest > 0.0, largest, 1.0)
    title = "weights: what computes the feature\n(× spread; the largest is 1)"
    return _draw_columns(axes, names, shares, real, title=title)


def _draw_columns(
    axes: Axes, names: np.ndarray[Any, Any], values: Float64Array, real: BoolArray, *, title: str
) -> AxesImage:
    """Draw one value per feature and column, for the columns that matter most to features slower than chance."""
    matters = np.abs(values[real] if real.any() else values).max(axis=0)
    strongest = np.sort(np.argsort(-matters, kind="stable")[:COLUMNS])
    image = axes.imshow(
        values[:, strongest].T, aspect="auto", cmap="RdBu_r", vmin=-1.0, vmax=1.0, interpolation="nearest"
    )
    # names may have dollar signs in them, but are not formulas
    labels, size = [printable(name) for name in names[strongest]], max(4.5, min(8.0, 160 / len(strongest)))
    axes.set_yticks(range(len(strongest)), labels, fontsize=size, parse_math=False)
    which = f"\n({COLUMNS} of {len(names):,} columns)" if len(strongest) < len(names) else ""
    axes.set(xlabel="feature", title=f"{title}{which}", aspect="auto")
    axes.title.set_fontsize(8)
    _integers(axes, len(values))
    axes.spines[:].set_visible(False)
    return image


def _integers(axes: Axes, n_features: int) -> None:
    """Put the ticks at features, not between them."""
    axes.set_xlim(-0.5, n_features - 0.5)
    axes.set_xticks(range(0, n_features, 1 + n_features // 11))
