"""Figures of the experiment on moving images: the motion of patches, the stimuli of units, and errors."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import SubFigure

from biosfa.analysis import FREQUENCIES, ORIENTATIONS
from biosfa.datasets import ImageSequences
from biosfa.experiments.images._patches import Patches
from biosfa.presentation.style import COLORS, band, bare, figure, mosaic, save
from biosfa.typing import Arrays, Float64Array

NAMES = {"bio-sfa": "Bio-SFA", "reversible": "reversible rule"}
LEARNER_NAMES = {
    "paper": "paper's rates",
    "online": "OnlineSFA",
    "local": "LocalSFA",
    "lateral": "LocalSFA, all lateral synapses",
}
SHOWN_FRAMES = 8  # windows drawn along the path

Networks = Mapping[str, list[str]]  # the learners of each rule


def network_label(rule: str, learner: str) -> str:
    """Return the name of a network in figures and tables."""
    if learner == "paper":
        return f"{NAMES[rule]}, {LEARNER_NAMES[learner]}"
    return f"{LEARNER_NAMES[learner]}, reversible" if rule == "reversible" else LEARNER_NAMES[learner]


def color_of(rule: str, learner: str) -> str:
    """Return the colour of a network."""
    return {"paper": COLORS[rule], "online": COLORS["online"], "local": COLORS["local"]}.get(learner, COLORS["lateral"])


def draw_figures(folder: Path, results: Mapping[str, Arrays], found: dict[str, Any], patches: Patches) -> None:
    """Draw and save all figures of the experiment."""
    networks = {rule: list(learners) for rule, learners in found["relative_error"].items() if rule in NAMES}
    for rule, learners in networks.items():
        with figure(11, 3.5) as drawn:
            grid = drawn.add_gridspec(1, 3, width_ratios=[1.15, 1, 1.1])
            generation, sheet, error = (drawn.add_subfigure(grid[0, i]) for i in range(3))
            draw_generation(generation, patches.sequences)
            axes = sheet.subplots()
            draw_sheet(axes, results[f"{rule}-{learners[0]}-00"])
            axes.set_title(f"(b) optimal stimuli, {LEARNER_NAMES[learners[0]]}")
            axes = error.subplots()
            draw_errors(axes, results, rule, learners, found["lambda_slow"])
            axes.set_title(f"(c) error, {NAMES[rule]}")
            save(drawn, folder, "images" if rule == "bio-sfa" else "reversible")
    draw_sheets(folder, results, networks)
    draw_constraint(folder, results, networks)
    draw_cells(folder, results, networks)
    draw_units(folder, results["exact"])


def draw_generation(drawn: SubFigure, sequences: ImageSequences) -> None:
    """Draw the path of a window over an image, and some of its frames."""
    motion = sequences.motion(0)
    image = sequences.images[motion.image]
    frames = sequences.frames(0, 1).reshape(-1, sequences.side, sequences.side)
    grid = drawn.add_gridspec(2, 1, height_ratios=[3, 1])
    above, below = (drawn.add_subfigure(grid[i, 0]) for i in range(2))
    axes = above.subplots()
    axes.imshow(image, cmap="gray", vmin=0, vmax=1)
    axes.plot(motion.x, motion.y, color=COLORS["force"], lw=1)
    shown = np.linspace(0, sequences.n_frames - 1, SHOWN_FRAMES).astype(int)
    corner = sequences.side / 2 * np.array([[-1, 1, 1, -1, -1], [-1, -1, 1, 1, -1]])
    for t in shown:
        cosine, sine = np.cos(motion.angle[t]), np.sin(motion.angle[t])
        x, y = motion.zoom[t] * np.array([[cosine, -sine], [sine, cosine]]) @ corner
        axes.plot(motion.x[t] + x, motion.y[t] + y, color=COLORS["auto"], lw=1.4)
    margin = 30
    axes.set_xlim(max(0, motion.x.min() - margin), min(image.shape[1] - 1, motion.x.max() + margin))
    axes.set_ylim(min(image.shape[0] - 1, motion.y.max() + margin), max(0, motion.y.min() - margin))
    axes.set_title("(a) a window moves, turns and zooms")
    bare(axes)
    for axes, t in zip(below.subplots(1, SHOWN_FRAMES), shown, strict=True):
        axes.imshow(frames[t], cmap="gray", vmin=0, vmax=1)
        axes.set_title(f"{t + 1}", fontsize=7, pad=2)
        bare(axes)


def draw_sheet(axes: Axes, arrays: Arrays, key: str = "excitatory") -> None:
    """Draw the stimuli of all units in order of slowness, each with its own gray scale, or the word “diverged”."""
    bare(axes)
    if key not in arrays:
        axes.text(0.5, 0.5, "diverged", ha="center", va="center", transform=axes.transAxes)
        return
    stimuli = arrays[key] / np.abs(arrays[key]).max(axis=(1, 2), keepdims=True)
    columns = int(np.ceil(np.sqrt(len(stimuli))))
    axes.imshow(mosaic(stimuli, columns), cmap="gray", vmin=-1, vmax=1, interpolation="nearest")


def draw_errors(axes: Axes, results: Mapping[str, Arrays], rule: str, learners: list[str], least: float) -> None:
    """Draw the relative error against samples of all networks with a rule."""
    for learner in learners:
        samples, slowness = _curves(results, rule, learner, "slowness")
        color, label = color_of(rule, learner), LEARNER_NAMES[learner]
        band(axes, samples, slowness / least - 1.0, color=color, label=label)
    axes.set(xlabel="samples", ylabel=r"error / $\lambda_\mathrm{slow}$", xscale="log", yscale="log")
    axes.legend()


def draw_sheets(folder: Path, results: Mapping[str, Arrays], networks: Networks) -> None:
    """Draw the stimuli of exact SFA, of all networks and of the controls, side by side."""
    sheets = {"exact": "exact SFA"}
    sheets |= {f"{rule}-{own}-00": network_label(rule, own) for rule, learners in networks.items() for own in learners}
    sheets |= {"shuffled": "control: shuffled in time", "random": "control: random forms"}
    columns = -(-len(sheets) // 2)
    with figure(3.1 * columns, 6.6) as drawn:
        grid = drawn.subplots(2, columns).ravel()
        for axes, (name, title) in zip(grid, sheets.items(), strict=False):
            draw_sheet(axes, results[name])
            axes.set_title(title)
        for axes in grid[len(sheets) :]:
            axes.remove()
        save(drawn, folder, "sheets")


def draw_constraint(folder: Path, results: Mapping[str, Arrays], networks: Networks) -> None:
    """Draw the paper's constraint error, which is 0 if the outputs of a network are white."""
    with figure(9.2, 3.2) as drawn:
        panels = np.atleast_1d(drawn.subplots(1, len(networks), sharey=True))
        for axes, (rule, learners) in zip(panels, networks.items(), strict=True):
            for learner in learners:
                curves = _curves(results, rule, learner, "constraint_error")
                band(axes, *curves, color=color_of(rule, learner), label=LEARNER_NAMES[learner])
            axes.set(title=NAMES[rule], xlabel="samples", ylabel="constraint error", xscale="log", yscale="log")
            axes.legend()
        save(drawn, folder, "constraint")


def draw_cells(folder: Path, results: Mapping[str, Arrays], networks: Networks) -> None:
    """Draw the numbers that distinguish complex cells from other quadratic forms: units as dots, medians as lines."""
    groups = {"exact": ("exact SFA", COLORS["exact"])}
    for rule, learners in networks.items():
        groups |= {f"{rule}-{own}-00": (network_label(rule, own), color_of(rule, own)) for own in learners}
    groups |= {"shuffled": ("shuffled", "0.6"), "random": ("random forms", "0.6")}
    groups = {name: group for name, group in groups.items() if "gabor_r2" in results[name]}
    measures = {
        "gabor_r2": r"Gabor fit, $R^2$",
        "f2_f0": "phase dependence, F2/F0",
        "invariance_cosine": "|cos| of invariance and shifted Gabor",
    }
    jitter = np.random.default_rng(0).uniform(-0.22, 0.22, 10_000)
    with figure(11, 0.34 * len(groups) + 1.0) as drawn:
        for column, (axes, (key, label)) in enumerate(
            zip(drawn.subplots(1, 3, sharey=True), measures.items(), strict=True)
        ):
            for row, (name, (_, color)) in enumerate(groups.items()):
                values = results[name][key]
                axes.plot(values, row + jitter[: len(values)], ".", color=color, ms=4, alpha=0.6)
                axes.plot([np.median(values)] * 2, [row - 0.38, row + 0.38], color=color, lw=2)
            axes.set_xlabel(label)
            axes.set_xlim(0, 1.5 if key == "f2_f0" else 1.0)
            if column == 0:
                axes.set_yticks(range(len(groups)), [label for label, _ in groups.values()])
                axes.invert_yaxis()
        save(drawn, folder, "cells")


def draw_units(folder: Path, exact: Arrays) -> None:
    """Draw three units in detail: the stimuli that excite and inhibit them, their invariance, and their tuning."""
    titles = {"excitatory": "excites", "inhibitory": "inhibits", "invariance": "invariant to"}
    shown = [len(exact["excitatory"]) * i // 5 for i in (1, 2, 3)]  # the first units are not like Gabor functions
    with figure(9, 1.75 * len(shown)) as drawn:
        rows = drawn.subplots(len(shown), 5, squeeze=False, width_ratios=[1, 1, 1, 1.5, 1.5])
        for row, unit in zip(rows, shown, strict=True):
            for axes, (key, title) in zip(row[:3], titles.items(), strict=True):
                patch = exact[key][unit]
                largest = np.abs(patch).max()
                axes.imshow(patch, cmap="gray", vmin=-largest, vmax=largest)
                axes.set_title(title if unit == shown[0] else "")
                bare(axes)
            row[0].set_ylabel(f"unit {unit + 1}")
            _tuning(row[3], np.degrees(ORIENTATIONS), exact["orientation_curve"][unit], "orientation of the wave, °")
            _tuning(row[4], FREQUENCIES, exact["frequency_curve"][unit], "frequency, periods per patch")
        save(drawn, folder, "units")


def _tuning(axes: Axes, x: Float64Array, curve: Float64Array, label: str) -> None:
    axes.plot(x, curve / curve.max(), color=COLORS["exact"])
    axes.axhline(0, color="0.7", lw=0.7)
    axes.set(xlabel=label, ylabel="relative response, F0")


def _curves(
    results: Mapping[str, Arrays], rule: str, learner: str, key: str
) -> tuple[np.ndarray[Any, Any], Float64Array]:
    runs = [arrays for name, arrays in results.items() if name.startswith(f"{rule}-{learner}-")]
    return runs[0]["samples"], np.stack([run[key] for run in runs])
