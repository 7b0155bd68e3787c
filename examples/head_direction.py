"""What outputs that cannot be negative do to harmonics of a direction: makes docs/images/head-direction.png.

Linear outputs are white mixtures of the slow features, here of cos nφ and sin nφ. With y ≥ 0 they tile the directions,
as head-direction cells do. Run it with ``python examples/head_direction.py [picture.png]``.
"""

import sys
from pathlib import Path

import numpy as np

from biosfa import BioSFA
from biosfa.datasets import head_direction
from biosfa.presentation.style import COLORS, figure

N_SAMPLES = 1_000_000
BINS = 72


def tuning_curves(outputs: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Mean output for each direction, one row an output."""
    place = (angle % (2 * np.pi) / (2 * np.pi) * BINS).astype(int)
    return np.stack([outputs[place == b].mean(axis=0) for b in range(BINS)], axis=1)


def main(picture: Path) -> None:
    """Draw the tuning curves of both networks."""
    stream = head_direction(N_SAMPLES, random_state=0)
    shown = slice(None, None, 10)
    degrees = (np.arange(BINS) + 0.5) * 360 / BINS
    with figure(9.0, 2.8) as drawn:
        panels = drawn.subplots(1, 2, sharex=True)
        for axes, rule, title in zip(
            panels, ("bio-sfa", "nonnegative"), ("linear outputs", "outputs ≥ 0"), strict=True
        ):
            net = BioSFA(12, rule=rule, random_state=0).fit(stream.signal)
            curves = tuning_curves(net.neural_output(stream.signal[shown]), stream.angle[shown])
            for curve in curves:
                axes.plot(degrees, curve, lw=1.2, color=COLORS[rule], alpha=0.3 if rule == "bio-sfa" else 0.8)
            if rule == "bio-sfa":
                axes.plot(degrees, curves[0], lw=2, color=COLORS[rule])
            axes.axhline(0, color="0.6", lw=0.8)
            axes.set(title=title, xlabel="direction (°)", xlim=(0, 360), xticks=range(0, 361, 90))
        panels[0].set_ylabel("mean output")
        drawn.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "head-direction.png"))
