"""Figures of the arena."""

from pathlib import Path
from typing import Any

import numpy as np

from biosfa.experiments.arena._contestants import CONTESTANTS, EXACT
from biosfa.experiments.arena._outsiders import OUTSIDERS
from biosfa.experiments.arena._problems import CLOSE
from biosfa.experiments.arena._scaling import N_COMPONENTS, SCALED
from biosfa.presentation.style import COLORS, figure, save, span
from biosfa.typing import Arrays

LEAST_SHOWN = 1e-7  # smaller errors are rounding errors, such as that of exact SFA on the whole stream
MARKERS = {"tica": "s", "sksfa": "D"}


def draw_figures(folder: Path, curves: Arrays, found: dict[str, Any], timings: dict[str, Any]) -> None:
    """Draw and save all figures of the arena."""
    draw_errors(folder, curves, found, timings)
    if timings["scaling"]:
        draw_scaling(folder, timings["scaling"])


def draw_errors(folder: Path, curves: Arrays, found: dict[str, Any], timings: dict[str, Any]) -> None:
    """Draw the errors against samples and against time."""
    with figure(10.5, 4.2) as drawn:
        by_samples, by_time = drawn.subplots(1, 2, sharey=True)
        for name in found["learners"]:
            errors = np.where(curves[f"error_{name}"] < LEAST_SHOWN, np.nan, curves[f"error_{name}"])
            style = {"color": COLORS[name], "label": CONTESTANTS[name].label}
            span(by_samples, curves["samples"], errors, **style)
            span(by_time, np.median(curves[f"seconds_{name}"], axis=0), errors, **style)
        for name, seconds in timings["outsiders"].items():
            error = found["outsiders"][name]["error"]["median"]
            none = error < LEAST_SHOWN  # then the marker is at the bottom of the panel
            place = {"transform": by_time.get_xaxis_transform(), "clip_on": False} if none else {}
            label = OUTSIDERS[name].label + (": no error" if none else "")
            hollow = {"color": COLORS[EXACT], "ms": 6, "mfc": "none"}
            by_time.plot(seconds["median"], 0.0 if none else error, MARKERS[name], label=label, **hollow, **place)
        for axes, unit in ((by_samples, "samples"), (by_time, "seconds of learning, one core")):
            axes.axhline(CLOSE, color="0.75", lw=1, ls=":", zorder=0)
            axes.set(xscale="log", yscale="log", xlabel=unit)
        by_samples.set(ylabel="relative error of the slowness")
        drawn.legend(*by_time.get_legend_handles_labels(), loc="outside right upper")
        save(drawn, folder, "errors")


def draw_scaling(folder: Path, scaling: dict[str, Any]) -> None:
    """Draw time and memory against the number of columns, with the exponents that fit the times."""
    with figure(10.5, 4.2) as drawn:
        time, memory = drawn.subplots(1, 2)
        for i, (name, own) in enumerate(scaling.items()):
            scaled = SCALED[name]
            style = {
                "color": COLORS[scaled.learner],
                "ls": "-" if name in CONTESTANTS else "--",
                "ms": 3,
                "lw": 1.3,
                "zorder": 3 - i / len(scaling),  # if lines coincide, the first learner is on top
            }
            label = own["label"] + (f", m^{own['exponent_of_time']:.2f}" if scaled.one_method else "")
            time.plot(own["columns"], np.array(own["seconds_a_sample"]) * 1e6, "o", label=label, **style)
            memory.plot(own["columns"], np.array(own["bytes"]) / 1e6, "o", **style)
        time.set(ylabel="µs per sample")
        memory.set(ylabel="MB kept between two samples")
        for axes in (time, memory):
            axes.set(xscale="log", yscale="log", xlabel=f"columns m ({N_COMPONENTS} features, white noise)")
        drawn.legend(loc="outside right upper", title="learner, time grows as")
        save(drawn, folder, "scaling")
