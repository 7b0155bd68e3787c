"""The report of the rat."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from biosfa.datasets.rat import Room
from biosfa.experiments.rat._figures import NAMES
from biosfa.presentation.report import Report

if TYPE_CHECKING:
    from biosfa.experiments.rat._config import RatConfig

WALKS = {
    "path": "follows a recorded path",
    "walk": "follows a recorded path, and turns its head as on a simulated walk,",
}


def write_report(folder: Path, config: "RatConfig", found: dict[str, Any], timings: dict[str, Any], room: Room) -> None:
    """Write ``report.html``."""
    networks = found["networks"]
    main = next((name for name in ("bio", "local", "online", "one-pass", "paper", "exact") if name in networks), None)
    report = Report(
        "A rat, a hierarchy, and place cells",
        "Experiment 3 of “A biologically plausible neural network for Slow Feature Analysis” (Lipshutz et al., NeurIPS "
        f"2020). A rat {WALKS[config.head] if config.is_recorded else 'walks'} through a room of {room.width:g} × "
        f"{room.depth:g} and sees {config.frames:,} frames. "
        "Three layers of modules learn slow features of the frames, one layer after the other. The place cells are "
        "independent components of the 32 features at the top.",
    )
    if main is not None and "place_units" in networks[main][0]:
        first = networks[main][0]
        facts = [
            (f"{first['place_units']} of 32", f"units are place units ({NAMES[main]})"),
            (f"{first['s_pos_median']:.3f}", "share of a unit's variance that position explains, median"),
            (f"{first['spatial_information_median']:.2f} bits", "median spatial information"),
            (
                f"{first['decoding_error']:.1f}",
                f"median error of decoded positions, in a room of {room.width:g} × {room.depth:g}",
            ),
            (f"{timings['wall_seconds']:.0f} s", "total time of this run"),
        ]
        report.facts(facts)
    report.picture(folder / "view.png", "The walk of the rat, and its views at three places: 320° around its heading.")
    if (folder / "rat.png").exists():
        report.picture(
            folder / "rat.png",
            "The paper's Fig. 4. (a) The hierarchy. (b) Firing maps of the 32 slow features at the top. (c) Firing "
            "maps of their independent components. Each rectangle is the room. Colours from blue to red show the mean "
            "response over headings. A ring marks place units. (d) Slowness of each step while it learns, as the "
            "network estimates it.",
        )
    report.heading("Place cells")
    if (folder / "maps.png").exists():
        report.picture(folder / "maps.png", "Firing maps of independent components. A ring marks place units.")
    report.table(
        [
            "medians",
            "seed",
            "place units",
            "head-direction",
            "mixed",
            "S_pos",
            "S_dir",
            "bits",
            "sparsity",
            "mean Δ",
            "Δ / oracle",
            "decoding error",
        ],
        [_row(name, run) for name, runs in networks.items() for run in runs],
    )
    report.paragraph(
        "S_pos and S_dir are the shares of a unit's variance over positions and headings that position and heading "
        "explain. A place unit has exactly one field, which is smaller than a quarter of the room, and S_pos > 0.8. A "
        "field is a connected region above half of the peak, with 8 bins or more. A head-direction unit has "
        "S_dir > 0.8. In a mixed unit, neither share is above 0.8. “bits” is the spatial information. Δ is the "
        "slowness of the 32 features after whitening. The oracle knows the position and uses its 32 slowest functions. "
        "The decoding error is the median distance between true positions and positions that a linear decoder reads "
        "from the features."
    )
    layered = {name: runs[0]["slowness"] for name, runs in networks.items() if "slowness" in runs[0]}
    if layered:
        report.heading("Slowness of each layer")
        report.paragraph(
            "Slowness of both steps of layers 1, 2 and 3 at the end of training, as each network estimates it."
        )
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
            "This rat moves fast while its head turns slowly. The slowest features are functions of the heading, and "
            "there are no place cells.",
        )
    diverged = [f"{name}, seed {run['seed']}" for name, runs in networks.items() for run in runs if "diverged" in run]
    if diverged:
        report.paragraph(f"Diverged: {'; '.join(diverged)}.")
    report.heading("Time")
    report.table(
        ["", "seconds, from frames to maps"],
        [[name, f"{value:.0f}"] for name, value in timings["task_seconds"].items()],
    )
    report.heading("Run it again")
    textures = "" if config.textures == "made" else f' --textures "{config.textures}"'
    walked = f' --path "{config.path}" --head {config.head}' if config.is_recorded else ""
    chosen = "".join(f" --network {name}" for name in config.networks)
    report.code(
        f"biosfa reproduce rat --preset {config.preset} --frames {config.frames} --runs {config.runs} "
        f"--seed {config.seed}{textures}{walked}{chosen}"
    )
    report.paragraph("The trained hierarchies are in the folder “networks”. The function biosfa.load reads them.")
    report.versions()
    report.write(folder / "report.html")


def _row(name: str, run: dict[str, Any]) -> list[str]:
    if "diverged" in run:
        return [NAMES[name], str(run["seed"]), "diverged", *[""] * 9]
    return [
        NAMES[name],
        str(run["seed"]),
        str(run["place_units"]),
        str(run["direction_units"]),
        str(run["mixed_units"]),
        f"{run['s_pos_median']:.3f}",
        f"{run['s_dir_median']:.4f}",
        f"{run['spatial_information_median']:.2f}",
        f"{run['sparsity_median']:.3f}",
        f"{run['delta_mean']:.4f}",
        f"{np.divide(run['delta_mean'], run['delta_oracle_mean']):.2f}",
        f"{run['decoding_error']:.1f}",
    ]
