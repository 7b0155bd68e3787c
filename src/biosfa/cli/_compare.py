"""The command that compares learners."""

from pathlib import Path
from typing import Annotated

import typer

from biosfa.cli._errors import one_line_errors
from biosfa.cli._experiments import Out, Resume, cluster_for, say_report
from biosfa.cli._options import Given, Scheduler, takes_stream_options
from biosfa.cli._output import say

PANEL = "Comparison of learners"


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(rich_help_panel=PANEL)(compare)


@takes_stream_options("max_step", "missing", "joined")
def compare(
    problem: Annotated[
        str,
        typer.Option(
            help="Stream to learn from: [b]mixture[/b], [b]chaotic[/b], [b]images-small[/b], or a file.",
            metavar="NAME|FILE",
        ),
    ] = "mixture",
    components: Annotated[
        int | None,
        typer.Option(
            "--components",
            "-k",
            min=1,
            help="Number of slow features to find.",
            show_default="chosen by the problem; 3 for a file",
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            min=1000, help="Length of the stream.", show_default="chosen by the problem; up to 1,000,000 for a file"
        ),
    ] = None,
    learner: Annotated[
        list[str] | None,
        typer.Option(
            help="Learner to compare with exact SFA: online, local, bio-sfa, reversible, interneuron, "
            "nonnegative, incremental, gev or foldiak. Repeat the option for several learners.",
            show_default="all",
        ),
    ] = None,
    runs: Annotated[
        int,
        typer.Option(
            min=1,
            help="Number of runs. Each run has its own seed for the stream and the initial weights. A file gives the "
            "same stream in all runs.",
        ),
    ] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first run.")] = 0,
    scaling: Annotated[
        bool,
        typer.Option(help="Also measure the time and memory per sample for 100 to 5,000 columns. This takes a minute."),
    ] = True,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of learners that run at the same time. More than 1 distorts the times.",
            show_default="1",
        ),
    ] = None,
    scheduler: Scheduler = None,
    out: Out = None,
    resume: Resume = False,
    *,
    given: Given,
) -> None:
    """Compare all learners on the same stream.

    The report shows their errors against samples and time, their memory, and
    their time per sample against the number of columns.
    """
    with one_line_errors():
        from biosfa.experiments import arena
        from biosfa.io import StreamOptions

        config = arena.configure(
            problem,
            components=components,
            samples=samples,
            learners=learner,
            runs=runs,
            seed=seed,
            scaling=scaling,
            stream=StreamOptions(**given),
        )
        folder = out or Path("results") / f"compare-{Path(problem).stem}"
        with cluster_for(scheduler, jobs) as cluster:
            found, timings = arena.compare(config, folder, jobs=jobs or 1, resume=resume, cluster=cluster)
        say(arena.as_text(found, timings))
    say_report(folder)
