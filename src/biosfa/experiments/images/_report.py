"""The report of the moving images."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from biosfa.experiments.engine import Report
from biosfa.experiments.images._figures import NAMES, RATE_LABELS, network_label
from biosfa.experiments.images._patches import FRAMES

if TYPE_CHECKING:
    from biosfa.experiments.images._config import ImagesConfig

CELLS = {
    "gabor_r2_median": "Gabor R²",
    "gabor_r2_above_0_8": "R² > 0.8",
    "f2_f0_median": "F2/F0",
    "invariance_cosine_median": "|cos|",
    "orientation_half_width_median": "half-width",
}


def write_report(folder: Path, config: "ImagesConfig", found: dict[str, Any], timings: dict[str, Any]) -> None:
    """Write ``report.html``."""
    rules = [rule for rule in NAMES if rule in found["relative_error"]]
    first = rules[0]
    samples = found["samples"]
    report = Report(
        "Natural images and complex cells",
        "Experiment 2 of “A biologically plausible neural network for Slow Feature Analysis” (Lipshutz et al., NeurIPS "
        f"2020): {config.units} slow features of 16 × 16 patches that move over images ({config.images}), "
        f"{config.sequences * FRAMES:,} frames, networks of each kind: {config.runs}.",
    )
    report.facts(
        [
            (
                _number(found["relative_error"][first]["paper"]),
                f"relative error, {samples['paper']:,} samples, paper's rates",
            ),
            (_number(found["relative_error"][first]["tuned"]), f"{samples['tuned']:,} samples, no rates chosen"),
            (_number(found["gabor_r2_median"][first]["tuned"]), "median R² of Gabor functions fitted to its units"),
            (_number(found["gabor_r2_median"]["random"]), "that of random quadratic forms"),
            (_microseconds(timings, "paper"), "a sample, paper's rates, on one core"),
            (f"{timings['wall_seconds']:.0f} s", "for everything that this run had to do"),
        ]
    )
    if "bio-sfa" in rules:
        report.picture(
            folder / "images.png",
            "The paper's Fig. 3. (a) A window moves over an image; below, what it sees in some frames. (b) The stimuli "
            "that excite each unit most, in order of slowness, of a network that learned with the paper's rates. (c) "
            "Error over the least slowness: mean and central 90% of the runs.",
        )
    report.heading("Optimal stimuli")
    report.picture(
        folder / "sheets.png",
        "Exact SFA, networks and controls. Units are in order of slowness on all frames, and turned such that they "
        "respond more to what excites them than to what inhibits them; each patch has its own scale of grays.",
    )
    slowest = " and ".join(f"{value:.2f}" for value in found["slowest_two_gabor_r2"])
    report.paragraph(
        f"Gabor functions explain {slowest} of the stimuli of exact SFA's two slowest units, which often follow the "
        "brightness of the whole patch rather than a grating. They are in all medians."
    )
    report.heading("Are they complex cells?")
    report.picture(
        folder / "cells.png",
        "Left: share of the optimal stimulus that a Gabor function explains. Middle: how much the response to the best "
        "grating depends on its phase. Right: whether what the unit minds least is a shift of phase by 90°. Each dot "
        "is a unit of the first run, a line their median.",
    )
    rows: list[tuple[str, str, str | None]] = [("exact SFA", "exact", None)]
    rows += [(network_label(rule, rates), rule, rates) for rule in rules for rates in RATE_LABELS]
    rows += [("control: shuffled in time", "shuffled", None), ("control: random forms", "random", None)]
    report.table(
        ["medians over units and runs", "relative error", *CELLS.values()],
        [
            [
                label,
                *(
                    _number(found[key][name] if rates is None else found[key][name][rates])
                    for key in ("relative_error", *CELLS)
                ),
            ]
            for label, name, rates in rows
        ],
    )
    report.paragraph(
        "R² > 0.8 is the share of units; |cos| is that of the invariance and the Gabor function shifted by 90°; the "
        "half-width, in degrees, is that of the tuning to orientation at half height. The relative error is the "
        f"slowness of the features, made white, over the least possible, λ_slow = {found['lambda_slow']:.3f}, less "
        "one."
    )
    report.picture(folder / "units.png", "Three units of exact SFA: stimuli, and tuning to gratings.")
    report.heading("The outputs become white")
    report.picture(folder / "constraint.png", "The paper's constraint error: mean and central 90% of the runs.")
    if "reversible" in rules:
        report.heading("The rule for reversible processes")
        report.picture(
            folder / "reversible.png",
            "The paper's figure of its simpler rule: generation, stimuli, error. Images that turn are not reversible "
            "in time, and the paper says that it does comparably well; these are its errors at the same rates and "
            "samples.",
        )
    if found["diverged"]:
        report.paragraph(
            f"A run that diverged has no numbers, and leaves none in the medians: {', '.join(found['diverged'])}."
        )
    report.heading("Speed")
    report.table(
        ["", "a sample, expansion and learning"],
        [[label, _microseconds(timings, rates)] for rates, label in RATE_LABELS.items()],
    )
    report.heading("How to make this again")
    source = "" if config.images == "dead leaves" else f' --images "{config.images}"'
    report.code(
        f"biosfa reproduce images --preset {config.preset} --rule {config.rule} --runs {config.runs} "
        f"--seed {config.seed}{source}"
    )
    report.paragraph(
        f"Patches less the mean patch are reduced to {config.principal} principal components of unit variance and "
        "expanded to all monomials of degree one and two as they are learned. Differences are taken within sequences "
        "only. The paper's rates are η = α/(1 + t/β), α = 5e-6, β = 5e6, τ = 1; each network goes through the "
        "sequences in random order, again and again."
    )
    report.versions()
    report.write(folder / "report.html")


def _number(value: float | None) -> str:
    return "diverged" if value is None else f"{value:.3f}"


def _microseconds(timings: dict[str, Any], rates: str) -> str:
    value = timings["microseconds_per_sample"][rates]
    return "–" if value is None else f"{value:.1f} µs"
