"""A plant whose set point is changed, and a sensor that fails: makes docs/images/monitoring.png.

Run it with ``python examples/monitoring.py [picture.png]``.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from biosfa.datasets import stirred_tank
from biosfa.monitoring import SLOW_AND_REST, SlowFeatureMonitor

COLORS = {"normal": "#1a8a3c", "moved": "#e8a80c", "abnormal": "#d1342f"}
SHOWN = slice(1400, 2600)  # rows
EVENTS = {"set_point": "a new set point", "noise": "a noisy sensor"}


def main(picture: Path) -> None:
    """Fit a monitor, check two runs of the plant, and draw statistics and verdicts side by side."""
    monitor = SlowFeatureMonitor(n_delays=2, persistence=(3, 10)).fit(stirred_tank(12_000, random_state=0).samples)
    drawn = Figure(figsize=(10, 5), layout="constrained", facecolor="white")
    axes = drawn.subplots(5, 2, sharex=True, sharey="row", height_ratios=[0.35, 1, 1, 1, 1])
    rows = np.arange(SHOWN.start, SHOWN.stop) - 2000
    for column, (fault, title) in enumerate(EVENTS.items()):
        run = stirred_tank(3000, fault=fault, start=2000, random_state=1 + column)  # type: ignore[arg-type]
        ratios = (monitor.statistics(run.samples) / monitor.limits_)[SHOWN]
        codes = np.array([list(COLORS).index(verdict) for verdict in monitor.verdicts(run.samples)[SHOWN]])
        band = axes[0, column]
        edges = np.append(rows, rows[-1] + 1)
        band.pcolormesh(edges, [0, 1], codes[None], cmap=ListedColormap(list(COLORS.values())), vmin=-0.5, vmax=2.5)
        band.set(yticks=[], title=title)
        band.spines[:].set_visible(False)
        band.tick_params(bottom=False)
        for panel, values, name in zip(axes[1:, column], ratios.T, SLOW_AND_REST, strict=True):
            panel.plot(rows, values, color="#111111", lw=0.6)
            panel.axhline(1.0, color="#d1342f", lw=1, ls="--")
            panel.set(yscale="log", ylim=(0.05, 60))
            panel.spines[["top", "right"]].set_visible(False)
            panel.margins(x=0)
            if column == 0:
                panel.set_ylabel(f"{name}\n÷ limit", rotation=0, ha="right", va="center")
        axes[-1, column].set_xlabel("rows after the event")
        print(f"{title}: {', '.join(f'{(codes[610:] == i).mean():.0%} {name}' for i, name in enumerate(COLORS))}")
    handles = [Patch(color=color, label=verdict) for verdict, color in COLORS.items()]
    drawn.legend(handles=handles, loc="outside upper center", ncols=3, frameon=False)
    drawn.savefig(picture, dpi=150)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "monitoring.png"))
