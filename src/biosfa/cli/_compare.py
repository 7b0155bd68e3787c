"""The command that lets learners compete."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biosfa.cli._errors import one_line_errors
from biosfa.cli._experiments import Out, Resume, say_report
from biosfa.cli._options import takes_stream_options
from biosfa.cli._output import say

if TYPE_CHECKING:
    from biosfa.io import StreamOptions

PANEL = "The arena"


def add_to(app: typer.Typer) -> None:
    """Make this part of a command."""
    app.command(rich_help_panel=PANEL)(compare)


@takes_stream_options("max_step", "missing", "joined")
def compare(
    problem: Annotated[
        str,
        typer.Option(
            help="[b]mixture[/b], [b]chaotic[/b], [b]images-small[/b], or a file of your own.", metavar="NAME|FILE"
        ),
    ] = "mixture",
    components: Annotated[
        int | None,
        typer.Option("--components", "-k", min=1, help="Slow features to find.", show_default="the problem's; 3"),
    ] = None,
    samples: Annotated[
        int | None, typer.Option(min=1000, help="Length of the stream.", show_default="the problem's; 1,000,000 rows")
    ] = None,
    learner: Annotated[
        list[str] | None,
        typer.Option(
            help="Who takes part beside exact SFA, one option each: online, bio-sfa, reversible, interneuron, "
            "nonnegative, incremental, gev, foldiak.",
            show_default="all",
        ),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Streams, each with a seed of its own; of a file, networks.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first run.")] = 0,
    scaling: Annotated[
        bool, typer.Option(help="Measure what a sample costs with 100 to 5,000 columns: a minute more.")
    ] = True,
    jobs: Annotated[
        int, typer.Option(min=1, help="Learners side by side: sooner done, but their times then mean less.")
    ] = 1,
    out: Out = None,
    resume: Resume = False,
    *,
    stream: "StreamOptions",
) -> None:
    """Every learner on the same stream: error against samples and time, memory, cost against columns, and who wins."""
    with one_line_errors():
        from biosfa.experiments import arena

        config = arena.configure(
            problem,
            components=components,
            samples=samples,
            learners=learner,
            runs=runs,
            seed=seed,
            scaling=scaling,
            stream=stream,
        )
        folder = out or Path("results") / f"compare-{Path(problem).stem}"
        found, timings = arena.compare(config, folder, jobs=jobs, resume=resume)
        say(arena.as_text(found, timings))
    say_report(folder)
