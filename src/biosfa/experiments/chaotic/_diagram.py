"""Draws the network of the paper's Fig. 1 from a model."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Ellipse

from biosfa.estimators import BioSFA
from biosfa.presentation.style import COLORS

MOST_INPUTS, MOST_OUTPUTS = 6, 4

RULES = {
    "bio-sfa": r"$\Delta W = 2\eta\,[(y_t + y_{t-1})(x_t + x_{t-1})^\top - a_t x_t^\top]$",
    "reversible": r"$\Delta W = 2\eta\,[2(y_t + y_{t-1}) - a_t]\,x_t^\top$",
}
COMMON = [
    r"$a_t = W x_t$",
    r"$dy_t(\gamma)/d\gamma = a_t - M y_t(\gamma)$",
    r"$\Delta M = \frac{\eta}{\tau}\,[(y_t + y_{t-1})(y_t + y_{t-1})^\top - M]$",
]


def draw_network(net: BioSFA, figure: Figure) -> None:
    """Draw the neurons and synapses of a fitted network, and its rules. Wider lines are larger weights."""
    drawing, text = figure.subplots(1, 2, width_ratios=[1.15, 1])
    W, M = np.abs(net.W_), np.abs(net.M_)
    n_outputs, n_inputs = min(len(W), MOST_OUTPUTS), min(W.shape[1], MOST_INPUTS)
    inputs = [(0.0, y) for y in _spread(n_inputs, W.shape[1] > n_inputs)]
    outputs = [(2.6, y) for y in _spread(n_outputs, len(W) > n_outputs)]
    dendrites = [(x - 0.55, y) for x, y in outputs]
    for i, dendrite in enumerate(dendrites):
        for j, neuron in enumerate(inputs):
            width = 0.4 + 2.2 * W[i, j] / W[:n_outputs, :n_inputs].max()
            drawing.plot(*zip(neuron, dendrite, strict=True), color=COLORS["feedforward"], lw=width, zorder=1)
            _synapse(drawing, neuron, dendrite, 0.80, COLORS["feedforward"], filled=True)
    for i in range(n_outputs):
        for j in range(i):
            _lateral(drawing, outputs[i], outputs[j], 0.4 + 2.2 * M[i, j] / M.max())
    for x, y in inputs:
        drawing.add_patch(Circle((x, y), 0.12, color=COLORS["input"], zorder=3))
    for x, y in outputs:
        drawing.plot([x - 0.55, x], [y, y], color="k", lw=1.2, zorder=2)
        drawing.add_patch(Ellipse((x - 0.55, y), 0.2, 0.26, facecolor="w", edgecolor="k", lw=1.4, zorder=3))
        drawing.add_patch(Circle((x, y), 0.16, color="k", zorder=3))
    _ellipsis(drawing, inputs, W.shape[1])
    _ellipsis(drawing, outputs, len(W))
    drawing.text(0.0, 1.42, r"$x_t$ expanded signal", ha="center", color=COLORS["input"])
    drawing.text(1.0, 1.42, r"$W$", ha="center", color=COLORS["feedforward"])
    drawing.text(2.05, 1.42, r"$a_t$", ha="center")
    drawing.text(2.6, 1.42, r"$y_t$ output", ha="center")
    drawing.text(3.35, 1.42, r"$M$", ha="center", color=COLORS["lateral"])
    drawing.set(xlim=(-0.6, 3.6), ylim=(-1.5, 1.65), aspect="equal")
    drawing.axis("off")
    title = "Bio-SFA" if net.rule == "bio-sfa" else "Bio-SFA for reversible processes"
    text.text(0.0, 0.93, title, weight="bold", transform=text.transAxes)
    for row, line in enumerate([*COMMON[:2], RULES[net.rule], COMMON[2]]):
        text.text(0.0, 0.76 - 0.19 * row, line, fontsize=11, transform=text.transAxes)
    text.axis("off")


def _spread(count: int, more: bool) -> list[float]:
    """Return heights from top to bottom, with a gap before the last one if neurons are left out."""
    if count == 1:
        return [0.0]
    heights = list(np.linspace(1.15, -1.15, count + (1 if more else 0)))
    return [float(y) for y in (heights[: count - 1] + heights[-1:] if more else heights)]


def _ellipsis(axes: Axes, neurons: list[tuple[float, float]], total: int) -> None:
    if total > len(neurons):
        axes.text(neurons[-1][0], (neurons[-1][1] + neurons[-2][1]) / 2, "⋮", ha="center", va="center", fontsize=14)
        axes.text(neurons[-1][0], neurons[-1][1] - 0.3, str(total), ha="center", va="center", fontsize=8, color="0.4")


def _synapse(
    axes: Axes, begin: tuple[float, float], end: tuple[float, float], where: float, color: str, *, filled: bool
) -> None:
    x, y = (begin[i] + where * (end[i] - begin[i]) for i in range(2))
    axes.plot(x, y, "o", ms=3.2, mfc=color if filled else "w", mec=color, mew=1, zorder=2)


def _lateral(axes: Axes, one: tuple[float, float], other: tuple[float, float], width: float) -> None:
    """Draw an arc to the right of two outputs, with an empty circle (anti-Hebbian synapse) at each end."""
    t = np.linspace(-np.pi / 2, np.pi / 2, 60)
    reach = 0.25 + 0.22 * abs(one[1] - other[1])
    x = one[0] + 0.16 + reach * np.cos(t)
    y = (one[1] + other[1]) / 2 + (other[1] - one[1]) / 2 * np.sin(t)
    axes.plot(x, y, color=COLORS["lateral"], lw=width, zorder=1)
    for end in (3, -4):
        axes.plot(x[end], y[end], "o", ms=3.2, mfc="w", mec=COLORS["lateral"], mew=1, zorder=2)
