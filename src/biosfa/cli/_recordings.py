"""Commands for people's own recordings."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biosfa.cli._errors import one_line_errors
from biosfa.cli._options import Expand, Inputs, OnlineSolver, Solver, takes_stream_options
from biosfa.cli._output import say

if TYPE_CHECKING:
    from biosfa.io import StreamOptions
    from biosfa.recordings.run import Run

PANEL = "Your own recordings"

ModelFile = Annotated[Path, typer.Argument(help="Model file.", metavar="MODEL")]
CheckpointEvery = Annotated[float, typer.Option(min=0, help="Seconds between checkpoints; 0 for none.")]
Components = Annotated[int, typer.Option("--components", "-k", min=1, help="Slow features to find.")]
Delays = Annotated[int, typer.Option(min=1, help="Samples in a delay vector.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the network's first weights.")]


@takes_stream_options()
def fit(
    inputs: Inputs,
    components: Components,
    out: Annotated[Path, typer.Option(help="Model file to write.")],
    solver: Solver = "exact",
    pca: Annotated[int | None, typer.Option(min=1, help="Reduce to so many principal components first.")] = None,
    expand: Expand = None,
    delays: Delays = 1,
    lag: Annotated[int, typer.Option(min=1, help="With exact: samples between the two of a difference.")] = 1,
    epochs: Annotated[int, typer.Option(min=1, help="With online and bio: passes over the input.")] = 1,
    seed: Seed = 0,
    checkpoint_every: CheckpointEvery = 30.0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Give up the checkpoint of another fit to the same model file.")
    ] = False,
    *,
    stream: "StreamOptions",
) -> None:
    """Find the slow features of recordings, of any size, and write a model.

    Killed or stopped, the same command goes on from its last checkpoint, and so does [b]biosfa resume[/b].
    """
    with one_line_errors():
        from biosfa.recordings import run

        options = run.FitOptions(
            inputs=[name if name == "-" else str(Path(name).absolute()) for name in inputs],
            components=components,
            solver=str(solver),
            pca=pca,
            expand=expand and str(expand),
            delays=delays,
            lag=lag,
            epochs=epochs,
            seed=seed,
            stream=stream,
        )
        with run.alone_at(out):
            _fit(run.begin(options, out, overwrite=overwrite), checkpoint_every)


def resume(model: ModelFile, checkpoint_every: CheckpointEvery = 30.0) -> None:
    """Resume a fit that was stopped or killed; it ends with the same model, bit for bit."""
    with one_line_errors():
        from biosfa.recordings import run

        with run.alone_at(model):
            _fit(run.resume(model), checkpoint_every)


@takes_stream_options()
def transform(
    model: ModelFile,
    inputs: Inputs,
    out: Annotated[str, typer.Option(help="File to write, in any of the formats; - for CSV on standard output.")],
    *,
    stream: "StreamOptions",
) -> None:
    """Write the slow features of recordings, a row for each of theirs; nan where there is none."""
    with one_line_errors():
        from biosfa.io.targets import is_stream
        from biosfa.recordings import features

        n_rows = features.transform(str(model), inputs, out, stream)
        if out != "-" and not is_stream(Path(out)):
            say(f"{out}: {n_rows:,} rows")


def inspect(
    model: ModelFile, json: Annotated[bool, typer.Option("--json", help="Everything, for programs.")] = False
) -> None:
    """Say what is in a model file: settings, samples seen, slowness, health of the weights."""
    with one_line_errors():
        from biosfa.recordings import inspection

        found = inspection.inspect(str(model))
        if json:
            from json import dumps

            say(dumps(found, indent=2, allow_nan=False))
        else:
            say(inspection.as_text(found))


@takes_stream_options()
def plot(
    model: ModelFile,
    inputs: Inputs,
    out: Annotated[
        Path | None, typer.Option(help="Picture to write: .png, .svg or .pdf.", show_default="MODEL.png")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the made inputs.")] = 0,
    *,
    stream: "StreamOptions",
) -> None:
    """Draw slow features over time, how slow they are beside what chance gives, and their weights.

    Looks at the first 100,000 samples.
    """
    with one_line_errors():
        from biosfa.io.targets import check_target, is_stream
        from biosfa.recordings import features, picture

        slow = features.slow_model(str(model))
        samples = features.stream_for(slow, inputs, stream)
        target, aside = out or model.with_suffix(".png"), out is not None and is_stream(out)
        if not target.suffix and not aside:
            target = target.with_suffix(".png")
        check_target(target, [model, *samples.files()])
        found = picture.plot(slow, samples, target, seed=seed)
        n_features = len(found.delta_values)
        say(
            f"{int(found.shared.sum())} of {n_features} features are shared by columns: slower than columns with their "
            "own spectra would give",
            aside=aside,
        )
        say(
            f"{int(found.slow.sum())} of {n_features} features are slower than inputs shuffled in time would give",
            aside=aside,
        )
        say(f"picture: {target}", aside=aside)


@takes_stream_options("joined")
def stream(
    components: Annotated[
        int | None, typer.Option("--components", "-k", min=1, help="Slow features to find.", show_default="the model's")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Model file to go on with, if there is one, and to keep what is learned in.")
    ] = None,
    solver: OnlineSolver = None,
    delays: Delays = 1,
    expand: Expand = None,
    forget: Annotated[float | None, typer.Option(min=10, help="Samples to look back over, if things change.")] = None,
    seed: Seed = 0,
    checkpoint_every: CheckpointEvery = 30.0,
    *,
    stream: "StreamOptions",
) -> None:
    """Learn from CSV on standard input, and answer each line at once with its slow features.

    As in [b]tail -f log.csv | biosfa stream --components 3[/b]. Answers are nan until there are features.
    """
    with one_line_errors():
        from biosfa.io.atomic import writing
        from biosfa.recordings import live

        with nullcontext() if model is None else writing(model):
            net = live.network(
                model,
                solver and str(solver),
                components,
                expansion=expand and str(expand),
                n_delays=delays,
                forget=forget,
                missing=stream.missing,
                seed=seed,
            )
            live.answer(net, sys.stdin.fileno(), sys.stdout.buffer, stream, keep=model, every=checkpoint_every)


def add_to(app: typer.Typer) -> None:
    """Make these part of a command."""
    for command in (fit, resume, transform, inspect, plot, stream):
        app.command(rich_help_panel=PANEL)(command)


def _fit(begun: "Run", checkpoint_every: float) -> None:
    """Do what is left of a fit, and say what comes of it."""
    from biosfa.io.targets import is_stream
    from biosfa.recordings import notes, run

    notes.before(begun)
    run.work(begun, checkpoint_every)
    for line in notes.after(begun):
        say(line, aside=is_stream(begun.out))
