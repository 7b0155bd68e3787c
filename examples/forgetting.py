"""A mixture that switches halfway, and networks that do and do not forget: makes docs/images/forgetting.png.

Run it with ``python examples/forgetting.py [picture.png]``.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from biosfa import OnlineSFA, metrics
from biosfa.datasets import slow_mixture

SAMPLES = 200_000
CHUNK = 2000
WINDOW = 20_000


def main(picture: Path) -> None:
    """Learn, and draw the error against samples."""
    halves = [slow_mixture(SAMPLES, times=(100.0, 40.0), n_noise=6, random_state=seed).signal for seed in (1, 2)]
    drawn = Figure(figsize=(7.2, 2.8), layout="constrained")
    axes = drawn.subplots()
    for forget, color in ((None, "#888888"), (WINDOW, "#c0267e")):
        net = OnlineSFA(2, forget=forget, random_state=0)
        samples, excess = [], []
        for half in halves:
            moments = metrics.moments(half)
            for chunk in np.split(half, SAMPLES // CHUNK):
                net.partial_fit(chunk)
                error = metrics.slowness_error(net.components_, moments)
                samples.append(net.n_samples_seen_)
                excess.append(error / metrics.slowest(moments, 2).sum())
        axes.plot(samples, excess, color=color, label=f"forget={forget}")
        print(f"forget={forget}: slowness above the least possible at the end {excess[-1]:.2%}")
    axes.axvline(SAMPLES, color="0.8", lw=1)
    axes.set(xlabel="samples", ylabel="slowness, relative excess", yscale="log", title="the mixture switches halfway")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    drawn.savefig(picture, dpi=150)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "forgetting.png"))
