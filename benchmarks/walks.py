"""Which cells form on the walks of real rats: ``make bench-walks``, which installs RatInABox for its recordings.

The experiment with the rat runs on each walk twice: the head follows the movement, or it turns as on the simulated
walk. Results are kept in a folder, so that a run that was stopped resumes. Everything takes about half an hour on two
cores.
"""

import argparse
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from biosfa.datasets import rat_stream
from biosfa.datasets.rat import Trajectory
from biosfa.experiments import rat
from biosfa.integrations.ratinabox import recorded_path
from biosfa.metrics import slowness
from biosfa.presentation.style import COLORS, bare, figure, mosaic, write_figure

WALKS = {"sargolini": "Sargolini et al. (2006): 10 minutes", "tanni": "Tanni et al. (2022): 2 hours"}
FRAMES = {"sargolini": 10_000, "tanni": 25_000}  # the second rat has a larger box, and needs longer to see all of it
HEADS = {"path": "the head follows the movement", "walk": "the head turns as simulated"}
NETWORKS = {"exact": ("sargolini", "tanni"), "bio": ("sargolini",)}  # the walks of each network
DRAWN = "exact"  # the network whose firing maps the figure shows
LAGS = np.arange(1, 201)  # frames
Curves = dict[str, np.ndarray[Any, Any]]


def directions(path: Trajectory) -> np.ndarray[Any, Any]:
    """The head direction as a unit vector."""
    angle = np.radians(path.heading)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def changed(signal: np.ndarray[Any, Any]) -> list[float]:
    """How much a signal of two columns changes over each of some lags: mean square, relative to its variance."""
    variance = signal.var(axis=0).sum()
    return [float(np.square(signal[lag:] - signal[:-lag]).sum(axis=1).mean() / variance) for lag in LAGS.tolist()]


def followed(out: Path, walk: str, head: str) -> Trajectory:
    """What the rat does on a walk."""
    return rat_stream(FRAMES[walk], path=np.load(out / f"{walk}.npy"), head=head).path


def measured(out: Path, walk: str, head: str, network: str) -> dict[str, Any]:
    """Run the experiment with one network, and return a row of the table."""
    config = rat.preset("paper", networks=(network,), path=str(out / f"{walk}.npy"), head=head, frames=FRAMES[walk])
    found = rat.reproduce(config, out / f"{walk}-{head}-{network}", resume=True)["networks"][network][0]
    path = followed(out, walk, head)
    return {
        "walk": walk,
        "head": head,
        "network": network,
        **found,
        "delta_position": float(slowness(path.position).mean()),
        "delta_heading": float(slowness(directions(path)).mean()),
    }


def draw(out: Path) -> None:
    """Draw the walks, how fast position and head direction change, and the firing maps."""
    with figure(13, 7.2) as drawn:
        rows = drawn.subplots(len(WALKS), 4, width_ratios=[1, 1, 0.85, 0.85])
        for axes, (walk, title) in zip(rows, WALKS.items(), strict=True):
            recorded = np.load(out / f"{walk}.npy")
            axes[0].plot(recorded[:, 1], recorded[:, 2], color="0.4", lw=0.25)
            axes[0].set(title=title, xlabel="metres", aspect="equal")
            draw_speeds(axes[1], {head: followed(out, walk, head) for head in HEADS})
            for panel, (head, how) in zip(axes[2:], HEADS.items(), strict=True):
                with np.load(out / f"{walk}-{head}-{DRAWN}" / "curves.npz") as curves:
                    draw_maps(panel, dict(curves), how)
        write_figure(drawn, out / "walks.png", dpi=110)


def draw_speeds(axes: Axes, paths: dict[str, Trajectory]) -> None:
    """Draw how much position and head direction change over some frames."""
    axes.plot(LAGS, changed(paths["path"].position), color=COLORS["input"], label="position")
    for (head, path), color in zip(paths.items(), ("force", "bio-sfa"), strict=True):
        axes.plot(LAGS, changed(directions(path)), color=COLORS[color], label=f"head direction: {HEADS[head]}")
    axes.set(xscale="log", yscale="log", xlabel="frames", ylabel="mean square change / variance", ylim=(3e-4, 60))
    axes.set_title("how fast the rat moves and turns")
    axes.legend(fontsize=7, loc="upper left")


def draw_maps(axes: Axes, curves: Curves, title: str) -> None:
    """Draw the firing maps of the independent components, four per row. A ring marks place units."""
    maps, places = curves[f"{DRAWN}-00/ica_maps"], np.flatnonzero(curves[f"{DRAWN}-00/ica_is_place_unit"])
    low, high = maps.min(axis=(1, 2), keepdims=True), maps.max(axis=(1, 2), keepdims=True)
    axes.imshow(mosaic(((maps - low) / (high - low))[:, ::-1], columns=4), cmap="jet", interpolation="nearest")
    height, width = maps.shape[1] + 1, maps.shape[2] + 1
    axes.plot((places % 4 + 0.06) * width, (places // 4 + 0.14) * height, "o", mfc="none", mec="w", ms=3)
    axes.set_title(f"{title}:\n{len(places)} place units of {len(maps)}")
    bare(axes)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/walks"), help="folder for the results")
    parser.add_argument("--json", type=Path, help="file for the table")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for walk in WALKS:
        np.save(options.out / f"{walk}.npy", recorded_path(walk))
    runs = [(network, walk) for network, walks in NETWORKS.items() for walk in walks]
    for (network, walk), head in product(runs, HEADS):
        row = measured(options.out, walk, head, network)
        rows.append(row)
        print(
            f"{walk}, {HEADS[head]}, {network}: {row['place_units']} place, {row['direction_units']} head-direction "
            f"and {row['mixed_units']} mixed units, S_pos {row['s_pos_median']:.3f}, S_dir {row['s_dir_median']:.4f}; "
            f"Δ of position {row['delta_position']:.2g}, of head direction {row['delta_heading']:.2g}",
            flush=True,
        )
    draw(options.out)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
