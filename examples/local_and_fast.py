"""The circuit of LocalSFA, and the error of four learners against samples on an ill-conditioned mixture.

``python examples/local_and_fast.py`` writes ``results/local-and-fast.png``.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch

from biosfa import SFA, BioSFA, LocalSFA, OnlineSFA, metrics
from biosfa.datasets import slow_mixture
from biosfa.presentation.style import COLORS, figure, span, write_figure

OUTPUT = Path("results/local-and-fast.png")
SAMPLES, CONDITION, RUNS, MARKS = 300_000, 1e4, 5, 25
K = 3

LEARNERS: dict[str, tuple[str, Callable[[int], Any]]] = {
    "bio-sfa": ("BioSFA: the paper's local rule", lambda seed: BioSFA(K, random_state=seed)),
    "local": ("LocalSFA: local rules", lambda seed: LocalSFA(K, random_state=seed)),
    "online": ("OnlineSFA: natural gradient, not local", lambda seed: OnlineSFA(K, random_state=seed)),
    "exact": ("SFA: exact", lambda seed: SFA(K)),
}


def mixture(seed: int) -> np.ndarray:
    """Three slow sources among ten dimensions, mixed so that the covariance has the condition number CONDITION."""
    X = slow_mixture(2 * SAMPLES, random_state=seed).signal
    rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((X.shape[1],) * 2))[0]
    return np.asarray((X * np.geomspace(1.0, CONDITION**-0.5, X.shape[1])) @ rotation)


def measure() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the marks, and the relative slowness errors of all learners: one row per run, one column per mark."""
    marks = np.unique(np.geomspace(100, SAMPLES, MARKS).astype(int))
    errors: dict[str, np.ndarray] = {name: np.empty((RUNS, len(marks))) for name in LEARNERS}
    for run in range(RUNS):
        X = mixture(run)
        moments = metrics.moments(X)  # with as many samples that nobody learns from
        least = metrics.slowest(moments, K).sum()
        for name, (_, build) in LEARNERS.items():
            learner, seen = build(run), 0
            for i, mark in enumerate(marks):
                learner.partial_fit(X[seen:mark])
                seen = mark
                errors[name][run, i] = metrics.slowness_error(learner.components_, moments) / least
    return marks, errors


def draw_circuit(axes: Axes) -> None:
    """Input neurons with lateral synapses, outputs with reciprocal synapses."""
    inputs = [(0.0, y) for y in (1.0, 0.0, -1.0)]
    outputs = [(2.6, y) for y in (0.6, -0.6)]
    for i, one in enumerate(inputs):
        for other in inputs[i + 1 :]:
            _link(axes, one, other, COLORS["lateral"], bend=0.55, style="-", width=1.2)
    for one in inputs:
        for other in outputs:
            _link(axes, one, other, COLORS["feedforward"], bend=-0.06, style="-|>", width=1.3)
            _link(axes, other, one, COLORS["input"], bend=-0.06, style="-|>", width=0.8)
    for x, y in inputs:
        axes.add_patch(Circle((x, y), 0.17, facecolor="w", edgecolor="k", lw=1.5, zorder=3))
        axes.add_patch(Circle((x - 0.04, y), 0.07, color=COLORS["input"], zorder=4))
    for x, y in outputs:
        axes.add_patch(Circle((x, y), 0.17, color="k", zorder=3))
    axes.text(0.0, 1.42, r"inputs: $u_j$, settled $\tilde{x}_j$", ha="center")
    axes.text(2.6, 1.42, r"outputs $y_i$", ha="center")
    axes.text(-0.95, 0.0, r"$L$", ha="center", va="center", color=COLORS["lateral"], fontsize=12)
    axes.text(1.3, 1.0, r"$W$", ha="center", color=COLORS["feedforward"], fontsize=12)
    axes.text(1.3, -1.12, r"feedback $f = W^\top y$", ha="center", color=COLORS["input"])
    rules = (
        r"$\Delta L \propto u u^\top - L$" + "      rest: " + r"$L\tilde{x} = u$",
        r"$\Delta W_{ij} \propto \delta_i y_i \tilde{x}_j - \dot{y}_i \dot{\tilde{x}}_j + \theta_i (W_{ij} - y_i f_j)$",
    )
    for row, rule in enumerate(rules):
        axes.text(1.2, -1.55 - 0.33 * row, rule, ha="center", fontsize=10)
    axes.set(xlim=(-1.2, 3.3), ylim=(-2.0, 1.65), aspect="equal", title="a circuit with local rules")
    axes.axis("off")


def _link(
    axes: Axes,
    begin: tuple[float, float],
    end: tuple[float, float],
    color: str,
    *,
    bend: float,
    style: str,
    width: float,
) -> None:
    arrow = FancyArrowPatch(
        begin, end, arrowstyle=style, mutation_scale=7, color=color, lw=width, shrinkA=13, shrinkB=13,
        connectionstyle=f"arc3,rad={bend}",
    )  # fmt: skip
    axes.add_patch(arrow)


def main() -> None:
    """Measure and draw."""
    marks, errors = measure()
    with figure(10, 3.9) as drawn:
        circuit, curves = drawn.subplots(1, 2, width_ratios=[1, 1.25])
        draw_circuit(circuit)
        for name, (label, _) in LEARNERS.items():
            span(curves, marks, np.maximum(errors[name], 1e-8), color=COLORS[name], label=label)
            print(f"{label:42} error at {marks[-1]:,}: {np.median(errors[name][:, -1]):.2g}")
        curves.axhline(0.05, color="0.6", lw=0.8, ls=":")
        curves.text(1.15 * SAMPLES, 0.055, "5%", color="0.4", fontsize=8, va="bottom")
        curves.set(
            xscale="log",
            yscale="log",
            ylim=(1e-6, 1e3),
            xlabel="samples",
            ylabel="slowness above the least possible, relative",
            title=f"ten columns, condition number {CONDITION:,.0f}, {RUNS} runs",
        )
        curves.legend(loc="lower left")
        OUTPUT.parent.mkdir(exist_ok=True)
        write_figure(drawn, OUTPUT, dpi=130)


if __name__ == "__main__":
    main()
