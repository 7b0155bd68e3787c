"""The report of the moving images."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from biosfa.experiments.images._figures import LEARNER_NAMES, NAMES, network_label
from biosfa.experiments.images._patches import FRAMES
from biosfa.presentation.report import Report

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
    networks = {rule: list(found["relative_error"][rule]) for rule in rules}
    samples = found["samples"]
    report = Report(
        "Natural images and complex cells",
        "Experiment 2 of “A biologically plausible neural network for Slow Feature Analysis” (Lipshutz et al., NeurIPS "
        f"2020). Networks learn {config.units} slow features of 16 × 16 windows that move over images "
        f"({config.images}). There are {config.sequences * FRAMES:,} frames, and {config.runs} runs of each network.",
    )
    report.facts(
        [
            *(
                (
                    _number(found["relative_error"][first][learner]),
                    f"relative error of {network_label(first, learner)}, {samples[learner]:,} samples",
                )
                for learner in networks[first]
            ),
            (
                _number(found["gabor_r2_median"][first][networks[first][-1]]),
                f"median R² of Gabor functions, {network_label(first, networks[first][-1])}",
            ),
            (_number(found["gabor_r2_median"]["random"]), "median R² of Gabor functions, random forms"),
            (f"{timings['wall_seconds']:.0f} s", "total time of this run"),
        ]
    )
    if "bio-sfa" in rules:
        report.picture(
            folder / "images.png",
            "The paper's Fig. 3. (a) A window moves over an image; some of its frames are below. (b) The stimulus that "
            "excites each unit most, for the network that the title names. Units are in order of slowness. "
            " (c) Error divided by the smallest possible slowness: mean and central 90% of the runs.",
        )
    report.heading("Optimal stimuli")
    report.picture(
        folder / "sheets.png",
        "The stimuli that excite the units of exact SFA, of the networks and of the controls most. Units are in order "
        "of slowness on all frames. Their signs are chosen such that excitation is stronger than inhibition. Each "
        "stimulus has its own gray scale.",
    )
    slowest = " and ".join(f"{value:.2f}" for value in found["slowest_two_gabor_r2"])
    report.paragraph(
        f"Gabor functions explain shares of {slowest} of the optimal stimuli of exact SFA's two slowest units. These "
        "units often follow the brightness of the whole window, not a grating. All medians include them."
    )
    report.heading("Are they complex cells?")
    report.picture(
        folder / "cells.png",
        "Left: share of the variance of the optimal stimulus that a Gabor function explains. Middle: how much the "
        "response to the best grating depends on its phase. Right: whether the change that affects the response least "
        "is a shift of the phase by 90°. Each dot is a unit of the first run; lines are medians.",
    )
    rows: list[tuple[str, str, str | None]] = [("exact SFA", "exact", None)]
    rows += [(network_label(rule, learner), rule, learner) for rule in rules for learner in networks[rule]]
    rows += [("control: shuffled in time", "shuffled", None), ("control: random forms", "random", None)]
    report.table(
        ["medians over units and runs", "relative error", *CELLS.values()],
        [
            [
                label,
                *(
                    _number(found[key][name] if learner is None else found[key][name][learner])
                    for key in ("relative_error", *CELLS)
                ),
            ]
            for label, name, learner in rows
        ],
    )
    report.paragraph(
        "“R² > 0.8” is the share of such units. “|cos|” refers to the angle between the invariance and the Gabor "
        "function shifted by 90°. “half-width” is half the width of the tuning to orientation at half height, in "
        "degrees. The relative error is the slowness of the whitened features, divided by the smallest possible, "
        f"λ_slow = {found['lambda_slow']:.3f}, minus one."
    )
    report.picture(folder / "units.png", "Three units of exact SFA: their stimuli, and their tuning to gratings.")
    report.heading("Whiteness of the outputs")
    report.picture(
        folder / "constraint.png",
        "The paper's constraint error, which is 0 if outputs are white: mean and central 90% of the runs.",
    )
    if "reversible" in rules:
        report.heading("The rule for reversible processes")
        report.picture(
            folder / "reversible.png",
            "The same figure for the rule for reversible processes: frames, optimal stimuli and error. Images that "
            "turn are not reversible in time. The paper says that this rule does comparably well; the figure shows its "
            "errors with the same rates and numbers of samples.",
        )
    if found["diverged"]:
        report.paragraph(f"These runs diverged, and the medians do not include them: {', '.join(found['diverged'])}.")
    report.heading("Speed")
    report.table(
        ["", "time per sample, for expansion and learning"],
        [[label, _microseconds(timings, own)] for own, label in LEARNER_NAMES.items() if own in samples],
    )
    report.heading("Run it again")
    networks_chosen = "".join(f" --network {name}" for name in config.networks)
    source = "" if config.images == "dead leaves" else f' --images "{config.images}"'
    report.code(
        f"biosfa reproduce images --preset {config.preset} --rule {config.rule}{networks_chosen} --runs {config.runs} "
        f"--seed {config.seed}{source}"
    )
    report.paragraph(
        f"The mean window is subtracted, and windows are reduced to {config.principal} principal components of unit "
        "variance. They are expanded to all monomials of degree one and two while they are learned. Differences are "
        "taken within sequences only. The paper's rates are η = α/(1 + t/β) with α = 5e-6 and β = 5e6, and τ = 1. Each "
        "network learns from the sequences in random order, in several passes."
    )
    report.versions()
    report.write(folder / "report.html")


def _number(value: float | None) -> str:
    return "diverged" if value is None else f"{value:.3f}"


def _microseconds(timings: dict[str, Any], learner: str) -> str:
    value = timings["microseconds_per_sample"][learner]
    return "–" if value is None else f"{value:.1f} µs"
