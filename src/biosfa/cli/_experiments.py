"""Commands that reproduce the paper."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from biosfa.cli._output import say

PANEL = "The paper's experiments"

reproduce = typer.Typer(help="Run an experiment of the paper: figures, numbers and a report.")
sweep = typer.Typer(help="Try every hyperparameter of the paper's grid.")


def add_to(app: typer.Typer) -> None:
    """Make these part of a command."""
    app.add_typer(reproduce, name="reproduce", rich_help_panel=PANEL)
    app.add_typer(sweep, name="sweep", rich_help_panel=PANEL)


class Preset(StrEnum):
    """How much to run."""

    quick = "quick"
    paper = "paper"


class Variant(StrEnum):
    """Constants of the chaotic series."""

    code = "code"
    paper = "paper"


Out = Annotated[Path | None, typer.Option(help="Folder for the results.", show_default="results/<experiment>")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Runs side by side.", show_default="one a core")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped, or killed.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of everything random.", show_default="1")]

Images = Annotated[
    str,
    typer.Option(
        help="A folder of images, or [b]dead leaves[/b], [b]noise[/b], [b]photographs[/b] (extra \\[images])."
    ),
]


def results_of(experiment: str, preset: Preset) -> Path:
    """The folder for the results of an experiment, if none is given."""
    return Path("results") / (experiment if preset is Preset.paper else f"{experiment}-{preset.value}")


def say_report(folder: Path) -> None:
    """Say where the report is."""
    say(f"report: {(folder / 'report.html').resolve()}")


@reproduce.command("chaotic")
def reproduce_chaotic(
    preset: Annotated[
        Preset, typer.Option(help="[b]quick[/b]: seconds. [b]paper[/b]: full scale, under a minute.")
    ] = Preset.quick,
    variant: Annotated[
        Variant, typer.Option(help="Constants of the authors' program ([b]code[/b]) or as printed ([b]paper[/b]).")
    ] = Variant.code,
    runs: Annotated[
        int | None, typer.Option(min=1, help="Networks of each rule.", show_default="that of the preset")
    ] = None,
    seed: Seed = None,
    jobs: Jobs = None,
    out: Out = None,
    resume: Resume = False,
) -> None:
    """Experiment 1: the slow force that drives a chaotic series, recovered from the series alone."""
    from biosfa.experiments import chaotic

    config = chaotic.preset(preset.value, variant=variant.value, runs=runs, seed=seed)
    folder = out or results_of("chaotic", preset)
    found = chaotic.reproduce(config, folder, jobs=jobs, resume=resume)
    say(f"least correlation with the driving force over {config.runs} runs: {min(found['correlation']):.4f}")
    for step, error in found["error_median"].items():
        say(f"median error after {int(step):>11,} steps: {error:.4g}")
    say_report(folder)


class Rule(StrEnum):
    """Which networks."""

    bio_sfa = "bio-sfa"
    reversible = "reversible"
    both = "both"


@reproduce.command("images")
def reproduce_images(
    preset: Annotated[
        Preset, typer.Option(help="[b]quick[/b]: a minute. [b]paper[/b]: full scale; minutes for each of its 10 runs.")
    ] = Preset.quick,
    images: Images = "dead leaves",
    rule: Annotated[Rule, typer.Option(help="Which learning rule.")] = Rule.both,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Networks of each rule and choice of rates.", show_default="that of the preset"),
    ] = None,
    seed: Seed = None,
    jobs: Jobs = None,
    out: Out = None,
    resume: Resume = False,
) -> None:
    """Experiment 2: patches that move over natural images become complex cells."""
    from biosfa.experiments import images as experiment

    config = experiment.preset(preset.value, images=images, rule=rule.value, runs=runs, seed=seed)
    folder = out or results_of("images", preset)
    found = experiment.reproduce(config, folder, jobs=jobs, resume=resume)
    say(f"least slowness of {config.units} features: {found['lambda_slow']:.3f}")
    for name in experiment.RULES[config.rule]:
        for rates, samples in found["samples"].items():
            error, r2 = found["relative_error"][name][rates], found["gabor_r2_median"][name][rates]
            outcome = "diverged" if error is None else f"relative error {error:.3f}, median Gabor R² {r2:.3f}"
            say(f"{name}, {rates} rates, {samples:,} samples: {outcome}")
    say_report(folder)


@reproduce.command("rat")
def reproduce_rat(
    preset: Annotated[
        Preset,
        typer.Option(
            help="[b]quick[/b]: a minute, one network and a control. "
            "[b]paper[/b]: full scale, all networks and controls."
        ),
    ] = Preset.quick,
    network: Annotated[
        list[str] | None,
        typer.Option(
            help="Networks to train, one option each: bio, exact, online, one-pass, paper, linear, random, "
            "rotation-bio, rotation-exact.",
            show_default="those of the preset",
        ),
    ] = None,
    textures: Annotated[
        str | None,
        typer.Option(help="Folder with pictures wall0–wall3, floor, scene0–scene3.", show_default="made ones"),
    ] = None,
    runs: Annotated[
        int | None, typer.Option(min=1, help="Walks, each with a seed of its own.", show_default="1")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the first walk.", show_default="0")] = None,
    jobs: Jobs = None,
    out: Out = None,
    resume: Resume = False,
) -> None:
    """Experiment 3: what a rat sees on its walk, a hierarchy of slow features, and place cells."""
    from biosfa.experiments import rat

    config = rat.preset(
        preset.value, networks=rat.chosen(network) if network else None, textures=textures, runs=runs, seed=seed
    )
    folder = out or results_of("rat", preset)
    found = rat.reproduce(config, folder, jobs=jobs, resume=resume)
    for name, results in found["networks"].items():
        for run in results:
            if "diverged" in run:
                say(f"{name}, seed {run['seed']}: diverged")
                continue
            say(
                f"{name}, seed {run['seed']}: {run['place_units']} place units of 32, S_pos {run['s_pos_median']:.3f}, "
                f"{run['spatial_information_median']:.2f} bits, mean slowness {run['delta_mean']:.4f}"
            )
    say_report(folder)


@sweep.command("chaotic")
def sweep_chaotic(
    steps: Annotated[int, typer.Option(min=1000, help="Updates of each network.")] = 1_000_000,
    seed: Seed = None,
    jobs: Jobs = None,
    out: Out = None,
    resume: Resume = False,
) -> None:
    """The paper's grid over a, b and τ on the chaotic series: heat maps and the best setting."""
    from biosfa.experiments import chaotic
    from biosfa.experiments.engine import changed

    folder = out or Path("results/sweep-chaotic")
    config = changed(chaotic.ChaoticSweepConfig(steps), seed=seed)
    best = chaotic.sweep(config, folder, jobs=jobs, resume=resume)
    say(f"best: a = {best['a']:g}, b = {best['b']:g}, tau = {best['tau']:g}, error {best['error']:.4g}")
    say_report(folder)


@sweep.command("images")
def sweep_images(
    samples: Annotated[int, typer.Option(min=10_000, help="Samples that each network learns from.")] = 50_000,
    images: Images = "dead leaves",
    seed: Seed = None,
    jobs: Jobs = None,
    out: Out = None,
    resume: Resume = False,
) -> None:
    """The paper's grid over α, β and τ on moving images: heat maps and the best setting."""
    from biosfa.experiments import images as experiment
    from biosfa.experiments.engine import changed

    folder = out or Path("results/sweep-images")
    config = changed(experiment.ImagesSweepConfig(samples, images=images), seed=seed)
    best = experiment.sweep(config, folder, jobs=jobs, resume=resume)
    say(
        f"best: alpha = {best['alpha']:g}, beta = {best['beta']:g}, tau = {best['tau']:g}, "
        f"relative error {best['error']:.4g}"
    )
    say_report(folder)
