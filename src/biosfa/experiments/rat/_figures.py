"""Figures of the experiment with the rat: walk and views, hierarchy, firing maps, and slowness."""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Rectangle

from biosfa.datasets.rat import FIELD, RatStream
from biosfa.presentation.style import COLORS, bare, figure, mosaic, save
from biosfa.typing import Arrays, Float64Array

NAMES = {
    "bio": "Bio-SFA, annealed",
    "local": "LocalSFA in all layers",
    "exact": "exact SFA",
    "online": "OnlineSFA in the upper layers",
    "one-pass": "OnlineSFA in the upper layers, one pass",
    "paper": "Bio-SFA, paper's rates",
    "linear": "control: linear SFA",
    "random": "control: random weights",
    "rotation-bio": "slow rotation, Bio-SFA",
    "rotation-exact": "slow rotation, exact SFA",
}
SHOWN_FRAMES = 3
LAYER_COLORS = (COLORS["input"], COLORS["bio-sfa"], COLORS["force"])


def draw_figures(folder: Path, results: Mapping[str, Arrays], found: dict[str, Any], seen: RatStream) -> None:
    """Draw and save all figures of the experiment."""
    shown = {name: results[f"{name}-00"] for name in found["networks"] if "diverged" not in results[f"{name}-00"]}
    draw_view(folder, seen)
    main = next((name for name in ("bio", "local", "online", "one-pass", "paper", "exact") if name in shown), None)
    if main is not None:
        draw_panels(folder, shown[main], NAMES[main])
    walking = {name: arrays for name, arrays in shown.items() if "direction_tuning" not in arrays}
    if walking:
        draw_maps(folder, walking)
    turning = {name: arrays for name, arrays in shown.items() if "direction_tuning" in arrays}
    if turning:
        draw_directions(folder, turning)


def draw_view(folder: Path, seen: RatStream) -> None:
    """Draw the walk of the rat, and its views at three places."""
    position, heading = seen.path
    steps = np.linspace(0, len(seen) - 1, SHOWN_FRAMES + 2).astype(int)[1:-1]
    with figure(10.5, 3.6) as drawn:
        grid = drawn.add_gridspec(SHOWN_FRAMES, 2, width_ratios=[1, 2])
        room = drawn.add_subplot(grid[:, 0])
        room.add_patch(Rectangle((0, 0), *seen.room.size, fill=False, lw=2))
        room.plot(*position[:1000].T, color="0.6", lw=0.5)
        for i, t in enumerate(steps):
            angle = np.radians(heading[t])
            room.annotate(
                "",
                position[t] + 5 * np.array([np.cos(angle), np.sin(angle)]),
                position[t],
                arrowprops={"arrowstyle": "-|>", "color": COLORS["force"], "lw": 2},
            )
            x, y = position[t] + 1.5
            room.text(x, y, "ABC"[i], color=COLORS["force"], fontsize=12, weight="bold")
            view = drawn.add_subplot(grid[i, 1])
            view.imshow(seen[t : t + 1][0], aspect="auto", extent=(-FIELD / 2, FIELD / 2, -20, 20))
            view.set_ylabel("ABC"[i], rotation=0, labelpad=10, color=COLORS["force"], weight="bold")
            view.set_yticks([])
            view.set_xticks([-160, -80, 0, 80, 160] if i == SHOWN_FRAMES - 1 else [])
        view.set_xlabel("degrees from the heading")
        room.set(xlim=(-1, seen.room.width + 1), ylim=(-1, seen.room.depth + 1), aspect="equal")
        room.set_title("the room, and the first 1000 steps")
        save(drawn, folder, "view")


def draw_panels(folder: Path, arrays: Arrays, name: str) -> None:
    """Draw the paper's Fig. 4: hierarchy, firing maps of slow features and of independent components, and slowness."""
    with figure(13, 4.0) as drawn:
        grid = drawn.add_gridspec(1, 4, width_ratios=[1, 0.85, 0.85, 1])
        parts = [drawn.add_subfigure(grid[0, i]) for i in range(4)]
        draw_architecture(parts[0].subplots())
        for part, kind, title in zip(parts[1:3], ("sfa", "ica"), ("(b) SFA", "(c) ICA"), strict=True):
            draw_sheet(part.subplots(), arrays, kind, f"{title} firing maps")
        draw_slowness(parts[3].subplots(), arrays)
        drawn.suptitle(name)
        save(drawn, folder, "rat")


def draw_architecture(axes: Axes) -> None:
    """Draw the layers from the bottom to the top, and describe a module."""
    layers = (
        (0.0, 9.4, 1.2, "320 × 40 pixels", 0, 0),
        (2.2, 8.4, 1.1, "63 × 9 modules", 21, 3),
        (4.3, 5.6, 1.0, "8 × 2 modules", 8, 2),
        (6.3, 1.6, 0.9, "1 module", 1, 1),
        (8.2, 1.6, 0.7, "ICA", 0, 0),
    )
    for (y, width, height, text, columns, rows), color in zip(
        layers, ("0.5", *LAYER_COLORS, COLORS["offline"]), strict=True
    ):
        left = (10 - width) / 2
        axes.add_patch(Rectangle((left, y), width, height, fill=False, ec=color, lw=1.6))
        for i in range(1, columns):
            axes.plot([left + width * i / columns] * 2, [y, y + height], color=color, lw=0.4)
        for i in range(1, rows):
            axes.plot([left, left + width], [y + height * i / rows] * 2, color=color, lw=0.4)
        axes.text(10.2, y + height / 2, text, va="center", fontsize=8)
    for below, above in pairwise(layers):
        top, bottom = below[0] + below[2], above[0]
        axes.add_patch(FancyArrowPatch((5, top), (5, bottom), arrowstyle="-|>", mutation_scale=9, color="0.3"))
    axes.text(0, -1.6, "module: SFA → 32 features,\nall their products, SFA → 32", va="center", fontsize=8)
    axes.set(xlim=(0, 15.5), ylim=(-2.4, 9.2), title="(a) architecture")
    axes.axis("off")


def draw_sheet(axes: Axes, arrays: Arrays, kind: str, title: str) -> None:
    """Draw all firing maps in order, four per row, each with its own colour scale. A ring marks place units."""
    maps: Float64Array = arrays[f"{kind}_maps"]
    low, high = maps.min(axis=(1, 2), keepdims=True), maps.max(axis=(1, 2), keepdims=True)
    upright = ((maps - low) / (high - low))[:, ::-1]  # y points up
    axes.imshow(mosaic(upright, columns=4), cmap="jet", vmin=0, vmax=1, interpolation="nearest")
    height, width = maps.shape[1] + 1, maps.shape[2] + 1
    places = np.flatnonzero(arrays[f"{kind}_is_place_unit"])
    axes.plot(places % 4 * width + 0.06 * width, places // 4 * height + 0.14 * height, "o", mfc="none", mec="w", ms=3)
    axes.set_title(title)
    bare(axes)


def draw_slowness(axes: Axes, arrays: Arrays) -> None:
    """Draw the slowness of the output of each step against the number of frames that it has seen."""
    for level, color in enumerate(LAYER_COLORS):
        for step, style in (("linear", ":"), ("quadratic", "-")):
            samples, slowness = arrays[f"samples_{level}_{step}"], arrays[f"slowness_{level}_{step}"]
            late = samples >= 30  # earlier averages have too few samples
            style = style if len(samples) > 1 else "s"  # exact SFA has no curve
            axes.plot(samples[late], slowness[late], style, color=color, lw=1.4, label=f"layer {level + 1}, {step}")
    axes.set(title="(d) slowness of each step", xlabel="frames seen", xscale="log", yscale="log")
    axes.set_ylabel("sum over 32 features")
    axes.legend(fontsize=6)


def draw_maps(folder: Path, shown: Mapping[str, Arrays]) -> None:
    """Draw the firing maps of the independent components of all networks and controls."""
    columns = min(4, len(shown))
    rows = -(-len(shown) // columns)
    with figure(3.3 * columns, 4.6 * rows) as drawn:
        panels = np.atleast_1d(drawn.subplots(rows, columns)).ravel()
        for axes, (name, arrays) in zip(panels, shown.items(), strict=False):
            count = int(arrays["ica_place_units"])
            title = f"{NAMES[name]}\n{count} place units of {len(arrays['ica_maps'])}"
            draw_sheet(axes, arrays, "ica", title)
        for axes in panels[len(shown) :]:
            axes.remove()
        save(drawn, folder, "maps")


def draw_directions(folder: Path, turning: Mapping[str, Arrays]) -> None:
    """Draw the tuning of the slowest features to the heading, for a walk on which the head turns slowly."""
    with figure(5.2 * len(turning), 3.0) as drawn:
        panels = np.atleast_1d(drawn.subplots(1, len(turning), sharey=True))
        for axes, (name, arrays) in zip(panels, turning.items(), strict=True):
            tuning = arrays["direction_tuning"][:5]
            headings = np.arange(tuning.shape[1]) * 360.0 / tuning.shape[1]
            for i, curve in enumerate(tuning):
                axes.plot(headings, curve, label=f"{i + 1}: S_dir = {arrays['s_dir_slowest'][i]:.2f}")
            axes.set(title=NAMES[name], xlabel="heading, degrees")
            axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
        panels[0].set_ylabel("mean response over positions")
        save(drawn, folder, "directions")
