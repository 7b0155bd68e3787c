"""Figures of the driven logistic map: the paper's panels, the comparison of algorithms, the network."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from biosfa.estimators import BioSFA
from biosfa.experiments.chaotic._config import AUTOMATIC
from biosfa.experiments.chaotic._diagram import draw_network
from biosfa.presentation.style import COLORS, band, figure, save
from biosfa.typing import Arrays

FIRST_SHOWN = 100  # before this step, the error depends only on the initial weights


def draw_figures(folder: Path, curves: Arrays, found: dict[str, Any], example: BioSFA) -> None:
    """Draw and save all figures of the experiment."""
    draw_panels(folder, curves)
    draw_comparison(folder, curves, found)
    draw_tuned(folder, curves, found)
    for rule in ("bio-sfa", "reversible"):
        with figure(7.2, 2.8) as drawn:
            draw_network(example.set_params(rule=rule), drawn)
            save(drawn, folder, f"network_{rule.replace('-', '_')}")


def draw_panels(folder: Path, curves: Arrays) -> None:
    """Draw the panels of the paper's Fig. 2: driving force, noisy series, output over the last steps, and error."""
    force = _standard(curves["last_driving_force"])
    output = _standard(curves["last_output"])
    output *= np.sign(output @ force)
    time = np.arange(len(force))
    with figure(11, 2.7) as drawn:
        driving, series, slow, error = drawn.subplots(1, 4)
        driving.plot(time, force, color=COLORS["force"], lw=1.5)
        driving.set(title="(a) driving force", xlabel="time step", ylabel=r"$\gamma_t$ (normalised)")
        series.plot(time, curves["last_series"], ".", color=COLORS["series"], ms=0.6)
        series.set(title="(b) noisy series", xlabel="time step", ylabel="$z_t$")
        slow.plot(time, output, ".", color=COLORS["bio-sfa"], ms=0.9, label="Bio-SFA output")
        slow.plot(time, force, color=COLORS["force"], lw=0.8, alpha=0.7, label="driving force")
        slow.set(title="(c) Bio-SFA output", xlabel="time step", ylabel="$y_t$ (normalised)")
        low, high = slow.get_ylim()
        slow.set_ylim(low, high + 0.25 * (high - low))
        slow.legend(loc="upper center", ncols=2, markerscale=6, columnspacing=1, handlelength=1)
        shown = curves["steps"] >= FIRST_SHOWN
        band(
            error,
            curves["steps"][shown],
            curves["error_bio-sfa"][:, shown],
            color=COLORS["bio-sfa"],
            label="mean, 90% of runs",
        )
        error.set(title="(d) error", xlabel="time step", ylabel="error", xscale="log", yscale="log")
        error.legend()
        save(drawn, folder, "chaotic")


def draw_comparison(folder: Path, curves: Arrays, found: dict[str, Any]) -> None:
    """Draw the errors of all algorithms on the same axes, and the constraint errors of the networks."""
    shown = curves["steps"] >= FIRST_SHOWN
    steps = curves["steps"][shown]
    names = {"bio-sfa": "Bio-SFA", "reversible": "reversible rule"}
    with figure(9.5, 3.4) as drawn:
        error, constraint = drawn.subplots(1, 2)
        for rule, name in names.items():
            band(error, steps, curves[f"error_{rule}"][:, shown], color=COLORS[rule], label=name)
            band(constraint, steps, curves[f"constraint_error_{rule}"][:, shown], color=COLORS[rule], label=name)
        error.plot(
            curves["steps_offline"], curves["error_offline"], color=COLORS["offline"], lw=1.4, label="offline, steps"
        )
        _draw_exact(error, curves, "exact SFA, samples")
        error.axhline(found["lambda_slow"], color="0.6", ls=":", lw=1, label=r"$\lambda_\mathrm{slow}$")
        error.set(title="error", xlabel="time step", xscale="log", yscale="log", ylim=(1e-7, None))
        error.legend()
        constraint.set(title="constraint error", xlabel="time step", xscale="log", yscale="log")
        constraint.legend()
        save(drawn, folder, "comparison")


def draw_tuned(folder: Path, curves: Arrays, found: dict[str, Any]) -> None:
    """Draw the errors with automatic rates and with the paper's rates, and the network's own estimates."""
    with figure(9.5, 3.4) as drawn:
        error, watch = drawn.subplots(1, 2)
        shown = curves["steps"] >= FIRST_SHOWN
        band(
            error,
            curves["steps"][shown],
            curves["error_bio-sfa"][:, shown],
            color=COLORS["bio-sfa"],
            label="paper's rule and rates",
        )
        shown = curves["steps_tuned"] >= FIRST_SHOWN
        for name, (label, _) in AUTOMATIC.items():
            band(
                error, curves["steps_tuned"][shown], curves[f"error_{name}"][:, shown], color=COLORS[name], label=label
            )
        _draw_exact(error, curves, "exact SFA")
        error.set(title="error", xlabel="samples", xscale="log", yscale="log", ylim=(1e-8, None))
        error.legend()
        steps = curves["watched_steps"]
        shown = steps >= FIRST_SHOWN
        for key, label, style in (
            ("delta", "slowness δ", "-"),
            ("constraint_error", "constraint error", "--"),
            ("learning_rate", "effective rate η", ":"),
        ):
            watch.plot(
                steps[shown],
                np.median(curves[f"{key}_online"], axis=0)[shown],
                style,
                color=COLORS["online"],
                label=label,
            )
        watch.axhline(found["lambda_slow"], color="0.6", lw=1, label=r"$\lambda_\mathrm{slow}$")
        watch.set(title="the network's own estimates", xlabel="samples", xscale="log", yscale="log")
        watch.legend()
        save(drawn, folder, "tuned")


def _draw_exact(axes: Axes, curves: Arrays, label: str) -> None:
    """Draw the error of exact SFA against samples, where it is above 0."""
    shown = curves["error_exact"] > 0
    steps, errors = curves["steps_exact"][shown], curves["error_exact"][shown]
    axes.plot(steps, errors, color=COLORS["exact"], ls="--", lw=1.2, label=label)


def _standard(values: Any) -> Any:
    return (values - values.mean()) / values.std()
