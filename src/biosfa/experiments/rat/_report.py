"""The report of the rat."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from biosfa.datasets.rat import Room
from biosfa.experiments.engine import Report
from biosfa.experiments.rat._figures import NAMES

if TYPE_CHECKING:
    from biosfa.experiments.rat._config import RatConfig


def write_report(folder: Path, config: "RatConfig", found: dict[str, Any], timings: dict[str, Any], room: Room) -> None:
    """Write ``report.html``."""
    networks = found["networks"]
    main = next((name for name in ("bio", "online", "one-pass", "paper", "exact") if name in networks), None)
    report = Report(
        "A rat, a hierarchy, and place cells",
        "Experiment 3 of “A biologically plausible neural network for Slow Feature Analysis” (Lipshutz et al., NeurIPS "
        f"2020): {config.frames:,} frames of what a rat sees in a room of {room.width:g} × {room.depth:g}, three "
        "layers of modules trained one after the other, and independent components of the 32 features at the top.",
    )
    if main is not None and "place_units" in networks[main][0]:
        first = networks[main][0]
        facts = [
            (f"{first['place_units']} of 32", f"place units, {NAMES[main]}"),
            (f"{first['s_pos_median']:.3f}", "median share of variance that position explains"),
            (f"{first['spatial_information_median']:.2f} bits", "median spatial information"),
            (
                f"{first['decoding_error']:.1f}",
                f"median error of decoded positions, in a room of {room.width:g} × {room.depth:g}",
            ),
            (f"{timings['wall_seconds']:.0f} s", "for everything that this run had to do"),
        ]
        report.facts(facts)
    report.picture(
        folder / "view.png", "Where the rat walks, and what it sees at three places: 320° about its heading."
    )
    if (folder / "rat.png").exists():
        report.picture(
            folder / "rat.png",
            "The paper's Fig. 4. (a) The hierarchy. (b) Firing maps of the 32 slow features at the top, and (c) of "
            "their independent components: each rectangle is the room, and colour, from blue to red, the mean response "
            "over headings; a ring marks place units. (d) Slowness of each step while it learns, as the network "
            "itself measures it.",
        )
    report.heading("Place cells")
    if (folder / "maps.png").exists():
        report.picture(folder / "maps.png", "Firing maps of independent components; a ring marks place units.")
    report.table(
        [
            "medians",
            "seed",
            "place units",
            "S_pos",
            "S_dir",
            "bits",
            "sparse",
            "mean Δ",
            "× oracle",
            "decoding",
        ],
        [_row(name, run) for name, runs in networks.items() for run in runs],
    )
    report.paragraph(
        "A place unit has exactly one field (connected, above half the peak, 8 bins or more), of less than a quarter "
        "of the room, and S_pos > 0.8: the share of its variance over positions and headings that position explains. "
        "S_dir is that of heading. Δ is the slowness of the 32 features, made white; the oracle knows the position and "
        "takes the slowest functions of it. Decoding is the median distance between positions and those read linearly "
        "from the features."
    )
    layered = {name: runs[0]["slowness"] for name, runs in networks.items() if "slowness" in runs[0]}
    if layered:
        report.heading("Slower from layer to layer")
        report.paragraph("Both steps of layers 1, 2 and 3, as each network knows its own slowness when it has learned.")
        report.table(
            ["Δ, sum over 32", *(f"{i + 1} {step}" for i in range(3) for step in ("linear", "quadr."))],
            [
                [NAMES[name], *("–" if value is None else f"{value:.2f}" for layer in stages for value in layer)]
                for name, stages in layered.items()
            ],
        )
    if (folder / "directions.png").exists():
        report.heading("Slow rotation: head-direction cells")
        report.picture(
            folder / "directions.png",
            "A rat that jumps from place to place while its head turns slowly: the slowest features are functions of "
            "the heading, and there are no place cells.",
        )
    diverged = [f"{name}, seed {run['seed']}" for name, runs in networks.items() for run in runs if "diverged" in run]
    if diverged:
        report.paragraph(f"Diverged: {'; '.join(diverged)}.")
    report.heading("Time")
    report.table(
        ["", "seconds, frames to maps"], [[name, f"{value:.0f}"] for name, value in timings["task_seconds"].items()]
    )
    report.heading("How to make this again")
    textures = "" if config.textures == "made" else f' --textures "{config.textures}"'
    chosen = "".join(f" --network {name}" for name in config.networks)
    report.code(
        f"biosfa reproduce rat --preset {config.preset} --runs {config.runs} --seed {config.seed}{textures}{chosen}"
    )
    report.paragraph("The trained hierarchies are in the folder networks: biosfa.load reads them.")
    report.versions()
    report.write(folder / "report.html")


def _row(name: str, run: dict[str, Any]) -> list[str]:
    if "diverged" in run:
        return [NAMES[name], str(run["seed"]), "diverged", *[""] * 7]
    return [
        NAMES[name],
        str(run["seed"]),
        str(run["place_units"]),
        f"{run['s_pos_median']:.3f}",
        f"{run['s_dir_median']:.4f}",
        f"{run['spatial_information_median']:.2f}",
        f"{run['sparsity_median']:.3f}",
        f"{run['delta_mean']:.4f}",
        f"{np.divide(run['delta_mean'], run['delta_oracle_mean']):.2f}",
        f"{run['decoding_error']:.1f}",
    ]
