"""Commands that reproduce the paper."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biosfa.cli._options import Scheduler, cluster_at
from biosfa.cli._output import say

if TYPE_CHECKING:
    from biosfa.cluster import Cluster

PANEL = "The paper's experiments"

reproduce = typer.Typer(help="Run an experiment of the paper and write figures, numbers and a report.")
sweep = typer.Typer(help="Try every setting of the paper's grid search and report the best.")


def add_to(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(reproduce, name="reproduce", rich_help_panel=PANEL)
    app.add_typer(sweep, name="sweep", rich_help_panel=PANEL)


class Preset(StrEnum):
    quick = "quick"
    paper = "paper"


class Variant(StrEnum):
    code = "code"
    paper = "paper"


Out = Annotated[Path | None, typer.Option(help="Folder for the results.", show_default="a folder in results/")]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="Number of tasks that run at the same time.", show_default="one per core")
]
Resume = Annotated[bool, typer.Option("--resume", help="Resume a run that was stopped or killed.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of all random numbers.", show_default="1")]

MADE_IMAGES = ("dead leaves", "noise", "photographs")
Images = Annotated[
    str,
    typer.Option(
        help="Images to use: a folder, [b]dead leaves[/b], [b]noise[/b], or [b]photographs[/b] (these need "
        'pip install "biosfa\\[images]").'
    ),
]


def results_of(experiment: str, preset: Preset) -> Path:
    """Return the default folder for the results of an experiment."""
    return Path("results") / (experiment if preset is Preset.paper else f"{experiment}-{preset.value}")


def full_path(name: str) -> str:
    """Return the full path of a file or folder, because workers of a cluster may run in another folder."""
    return str(Path(name).absolute()) if name not in MADE_IMAGES and Path(name).exists() else name


@contextmanager
def cluster_for(scheduler: str | None, jobs: int | None) -> Iterator["Cluster | None"]:
    """Connect to the cluster that runs the tasks, if there is an address."""
    from biosfa.exceptions import ClusterError, MissingExtraError, UserError

    if scheduler is not None and jobs is not None:
        raise UserError(
            "give either --jobs or --scheduler: on a cluster, as many tasks run at the same time as its workers have "
            "threads"
        )
    try:
        with cluster_at(scheduler) as cluster:
            yield cluster
    except (ClusterError, MissingExtraError) as error:
        raise UserError(str(error)) from error


def say_report(folder: Path) -> None:
    """Print where the report is."""
    say(f"report: {(folder / 'report.html').resolve()}")


@reproduce.command("chaotic")
def reproduce_chaotic(
    preset: Annotated[
        Preset,
        typer.Option(help="[b]paper[/b] has the full scale. Each preset takes about a minute."),
    ] = Preset.quick,
    variant: Annotated[
        Variant,
        typer.Option(
            help="Constants of the authors' program ([b]code[/b]), or those printed in the paper ([b]paper[/b])."
        ),
    ] = Variant.code,
    runs: Annotated[
        int | None, typer.Option(min=1, help="Number of networks per rule.", show_default="chosen by the preset")
    ] = None,
    seed: Seed = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    out: Out = None,
    resume: Resume = False,
) -> None:
    """Experiment 1: find the slow force that drives a chaotic series."""
    from biosfa.experiments import chaotic

    config = chaotic.preset(preset.value, variant=variant.value, runs=runs, seed=seed)
    folder = out or results_of("chaotic", preset)
    with cluster_for(scheduler, jobs) as cluster:
        found = chaotic.reproduce(config, folder, jobs=jobs, resume=resume, cluster=cluster)
    say(f"correlation with the driving force, lowest of {config.runs} runs: {min(found['correlation']):.4f}")
    for step, error in found["error_median"].items():
        say(f"median error after {int(step):>11,} steps: {error:.4g}")
    say_report(folder)


class Rule(StrEnum):
    bio_sfa = "bio-sfa"
    reversible = "reversible"
    both = "both"


@reproduce.command("images")
def reproduce_images(
    preset: Annotated[
        Preset,
        typer.Option(
            help="[b]quick[/b] takes a minute. [b]paper[/b] has the full scale: 10 runs of some minutes each."
        ),
    ] = Preset.quick,
    images: Images = "dead leaves",
    rule: Annotated[Rule, typer.Option(help="Learning rule of the networks.")] = Rule.both,
    network: Annotated[
        list[str] | None,
        typer.Option(
            help="Network to train: paper (the paper's rates), online (OnlineSFA), local (LocalSFA with 64 "
            "interneurons), or lateral (LocalSFA with a synapse between any two inputs: takes long). Repeat the option "
            "for several networks.",
            show_default="paper, online, local",
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Number of networks per rule and learner.", show_default="chosen by the preset"),
    ] = None,
    seed: Seed = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    out: Out = None,
    resume: Resume = False,
) -> None:
    """Experiment 2: learn complex cells from windows that move over images."""
    from biosfa.experiments import images as experiment

    config = experiment.preset(
        preset.value,
        images=full_path(images),
        rule=rule.value,
        networks=experiment.chosen(network) if network else None,
        runs=runs,
        seed=seed,
    )
    folder = out or results_of("images", preset)
    with cluster_for(scheduler, jobs) as cluster:
        found = experiment.reproduce(config, folder, jobs=jobs, resume=resume, cluster=cluster)
    say(f"smallest possible slowness of {config.units} features, summed: {found['lambda_slow']:.3f}")
    for name, learners in experiment.learners_of(config).items():
        for learner in learners:
            error, r2 = found["relative_error"][name][learner], found["gabor_r2_median"][name][learner]
            outcome = "diverged" if error is None else f"relative error {error:.3f}, median Gabor R² {r2:.3f}"
            say(f"{name}, {learner}, {found['samples'][learner]:,} samples: {outcome}")
    say_report(folder)


class Head(StrEnum):
    path = "path"
    walk = "walk"


@reproduce.command("rat")
def reproduce_rat(
    preset: Annotated[
        Preset,
        typer.Option(
            help="[b]quick[/b] takes a minute: one network and one control. "
            "[b]paper[/b] has the full scale: all networks and controls."
        ),
    ] = Preset.quick,
    network: Annotated[
        list[str] | None,
        typer.Option(
            help="Network to train: bio (the paper's rule), local (LocalSFA in all layers), exact, online (OnlineSFA "
            "in the upper layers), one-pass (online, every frame once), paper (the paper's rates), linear or random "
            "(controls), rotation-bio or rotation-exact (the head turns slowly). Repeat the option for several "
            "networks.",
            show_default="chosen by the preset",
        ),
    ] = None,
    textures: Annotated[
        str | None,
        typer.Option(
            help="Folder with the pictures wall0 to wall3, floor, and scene0 to scene3.",
            show_default="made from a seed",
        ),
    ] = None,
    path: Annotated[
        str | None,
        typer.Option(
            help="File with a recorded path that the rat follows: time, x, y and, if it was recorded, the heading in "
            "degrees.",
            show_default="a simulated walk",
        ),
    ] = None,
    frames: Annotated[
        int | None, typer.Option(min=1000, help="Number of frames per walk.", show_default="chosen by the preset")
    ] = None,
    head: Annotated[
        Head,
        typer.Option(
            help="On a recorded path, the head points in the recorded direction, or in that of the movement "
            "([b]path[/b]), or turns as on the simulated walk ([b]walk[/b])."
        ),
    ] = Head.path,
    runs: Annotated[
        int | None, typer.Option(min=1, help="Number of walks, each with its own seed.", show_default="1")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the first walk.", show_default="0")] = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    out: Out = None,
    resume: Resume = False,
) -> None:
    """Experiment 3: learn place cells from what a rat sees, with a hierarchy of slow features."""
    from biosfa.experiments import rat

    config = rat.preset(
        preset.value,
        networks=rat.chosen(network) if network else None,
        textures=full_path(textures) if textures else None,
        path=full_path(path) if path else None,
        head=head.value,
        frames=frames,
        runs=runs,
        seed=seed,
    )
    folder = out or results_of("rat", preset)
    with cluster_for(scheduler, jobs) as cluster:
        found = rat.reproduce(config, folder, jobs=jobs, resume=resume, cluster=cluster)
    for name, results in found["networks"].items():
        for run in results:
            if "diverged" in run:
                say(f"{name}, seed {run['seed']}: diverged")
                continue
            say(
                f"{name}, seed {run['seed']}: {run['place_units']} place, {run['direction_units']} head-direction and "
                f"{run['mixed_units']} mixed units of 32, S_pos {run['s_pos_median']:.3f}, "
                f"S_dir {run['s_dir_median']:.4f}, {run['spatial_information_median']:.2f} bits, "
                f"mean slowness {run['delta_mean']:.4f}"
            )
    say_report(folder)


@sweep.command("chaotic")
def sweep_chaotic(
    steps: Annotated[int, typer.Option(min=1000, help="Number of updates per network.")] = 1_000_000,
    seed: Seed = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    out: Out = None,
    resume: Resume = False,
) -> None:
    """Search the paper's grid of rates η = 1/(a + b t) and τ on the chaotic series, and draw heat maps."""
    from biosfa.experiments import chaotic
    from biosfa.experiments.engine import changed

    folder = out or Path("results/sweep-chaotic")
    config = changed(chaotic.ChaoticSweepConfig(steps), seed=seed)
    with cluster_for(scheduler, jobs) as cluster:
        best = chaotic.sweep(config, folder, jobs=jobs, resume=resume, cluster=cluster)
    say(f"best: a = {best['a']:g}, b = {best['b']:g}, tau = {best['tau']:g}, error {best['error']:.4g}")
    say_report(folder)


@sweep.command("images")
def sweep_images(
    samples: Annotated[int, typer.Option(min=10_000, help="Number of samples per network.")] = 50_000,
    images: Images = "dead leaves",
    seed: Seed = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    out: Out = None,
    resume: Resume = False,
) -> None:
    """Search the paper's grid of rates η = α/(1 + t/β) and τ on moving images, and draw heat maps."""
    from biosfa.experiments import images as experiment
    from biosfa.experiments.engine import changed

    folder = out or Path("results/sweep-images")
    config = changed(experiment.ImagesSweepConfig(samples, images=full_path(images)), seed=seed)
    with cluster_for(scheduler, jobs) as cluster:
        best = experiment.sweep(config, folder, jobs=jobs, resume=resume, cluster=cluster)
    say(
        f"best: alpha = {best['alpha']:g}, beta = {best['beta']:g}, tau = {best['tau']:g}, "
        f"relative error {best['error']:.4g}"
    )
    say_report(folder)
