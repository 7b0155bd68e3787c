"""The picture of a check: statistics over time with their limits, verdicts, and the columns that contribute."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from biosfa.monitoring import ALARMS, SLOW_AND_REST
from biosfa.presentation.style import COLORS, figure, write_figure
from biosfa.recordings._panels import dated_axis
from biosfa.recordings.monitoring._trace import BY_SEVERITY, Trace
from biosfa.recordings.monitoring.alarms import Alarms
from biosfa.wording import printable

BARS = 10  # columns that are drawn
MOST = 1e3  # multiples of a limit that are drawn


def draw(alarms: Alarms, trace: Trace, names: Sequence[str], axis: str, path: Path) -> None:
    """Draw the picture, and write it to a file. ``axis`` says what the places of the rows are."""
    with figure(10.5, 7.5) as drawn:
        top, bottom = np.asarray(drawn.subfigures(2, 1, height_ratios=[2.2, 1.0], squeeze=False))[:, 0]
        band, *panels = top.subplots(
            1 + len(SLOW_AND_REST), 1, sharex=True, height_ratios=[0.35] + [1.0] * len(SLOW_AND_REST)
        )
        _draw_verdicts(band, trace)
        for i, (panel, name) in enumerate(zip(panels, SLOW_AND_REST, strict=True)):
            _draw_statistic(panel, trace, i, name)
        panels[-1].set_xlabel(printable(axis), parse_math=False)
        dated_axis(panels[-1], trace.places)
        _draw_causes(bottom.subplots(1, 1), alarms, names)
        write_figure(drawn, path, dpi=150)


def _draw_verdicts(axes: Axes, trace: Trace) -> None:
    places = trace.places
    one = np.timedelta64(1, "s") if places.dtype.kind == "M" else 1
    step = places[-1] - places[-2] if len(places) > 1 else one
    edges = np.append(places, places[-1] + step)
    colors = ListedColormap([COLORS[verdict] for verdict in BY_SEVERITY])
    axes.pcolormesh(edges, [0, 1], trace.severity[None], cmap=colors, vmin=-0.5, vmax=len(BY_SEVERITY) - 0.5)
    axes.set_yticks([])
    axes.set_title("verdict", loc="left")
    axes.spines[:].set_visible(False)
    axes.tick_params(bottom=False)
    handles = [Patch(color=COLORS[verdict], label=verdict) for verdict in BY_SEVERITY]
    axes.legend(handles=handles, ncols=len(handles), loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1)


def _draw_statistic(axes: Axes, trace: Trace, number: int, name: str) -> None:
    ratios = np.clip(trace.ratios[:, number], 1e-3, MOST)
    axes.plot(trace.places, ratios, color=COLORS["series"], lw=0.6)
    axes.axhline(1.0, color=COLORS["force"], lw=1, ls="--")
    axes.set_yscale("log")
    axes.set_ylabel(f"{name}\n÷ limit", rotation=0, ha="right", va="center")
    low = np.nanmin(ratios) if np.isfinite(ratios).any() else 0.1
    axes.set_ylim(min(0.05, low), max(2.0, 1.3 * np.nanmax(ratios, initial=1.0)))
    axes.margins(x=0)


def _draw_causes(axes: Axes, alarms: Alarms, names: Sequence[str]) -> None:
    both = sum(alarms.causes[verdict] for verdict in ALARMS)
    order = np.argsort(-np.asarray(both), kind="stable")[:BARS]
    left = np.zeros(len(order))
    n_alarms = max(1, sum(alarms.counts[verdict] for verdict in ALARMS))
    for verdict in ALARMS:
        width = 100.0 * alarms.causes[verdict][order] / n_alarms
        axes.barh(range(len(order)), width, left=left, color=COLORS[verdict], label=verdict)
        left += width
    axes.set_title("columns that contribute to the alarms", loc="left")
    if not any(alarms.counts[verdict] for verdict in ALARMS):
        axes.set_axis_off()
        axes.text(0.5, 0.5, "no alarms", transform=axes.transAxes, ha="center", color=COLORS["series"])
        return
    axes.set_yticks(range(len(order)), [printable(names[column]) for column in order], parse_math=False)
    axes.invert_yaxis()
    axes.set(xlabel="share of the alarms, %")
