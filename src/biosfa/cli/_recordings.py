"""Commands for the user's own recordings."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biosfa.cli._errors import one_line_errors
from biosfa.cli._options import (
    Expand,
    Given,
    Inputs,
    OnlineSolver,
    Scheduler,
    Solver,
    cluster_at,
    takes_stream_options,
)
from biosfa.cli._output import say

if TYPE_CHECKING:
    from biosfa.recordings.run import Run

PANEL = "Your own recordings"

ModelFile = Annotated[Path, typer.Argument(help="Model file.", metavar="MODEL")]
CheckpointEvery = Annotated[float, typer.Option(min=0, help="Seconds between two checkpoints. 0 writes no checkpoint.")]
Components = Annotated[int, typer.Option("--components", "-k", min=1, help="Number of slow features to find.")]
Delays = Annotated[int, typer.Option(min=1, help="Join this many consecutive samples into one input.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the initial weights; not used by --solver exact.")]


@takes_stream_options()
def fit(
    inputs: Inputs,
    components: Components,
    out: Annotated[Path, typer.Option(help="Model file to write.")],
    solver: Solver = "exact",
    pca: Annotated[
        int | None, typer.Option(min=1, help="First reduce the columns to this many principal components.")
    ] = None,
    expand: Expand = None,
    delays: Delays = 1,
    lag: Annotated[int, typer.Option(min=1, help="With --solver exact: take differences over this many samples.")] = 1,
    ridge: Annotated[
        float,
        typer.Option(
            min=0,
            help="With --solver exact: add white noise with this share of the mean variance of the columns, for "
            "columns that nearly depend on each other. 1e-9 is often enough.",
        ),
    ] = 0.0,
    uneven: Annotated[
        bool,
        typer.Option(
            "--uneven",
            help="With --solver exact and --time: rows are not evenly spaced in time. Use derivatives with respect to "
            "time; only steps longer than --max-step are gaps.",
        ),
    ] = False,
    epochs: Annotated[int, typer.Option(min=1, help="Number of passes over the input; not for --solver exact.")] = 1,
    seed: Seed = 0,
    checkpoint_every: CheckpointEvery = 30.0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Discard the checkpoint of another fit to the same model file.")
    ] = False,
    scheduler: Scheduler = None,
    *,
    given: Given,
) -> None:
    """Find slow features of recordings of any size, and write a model file.

    If the fit is stopped or killed, run [b]biosfa resume MODEL[/b] or the same
    command again. Both resume from the last checkpoint.
    """
    with one_line_errors():
        from biosfa.io import StreamOptions
        from biosfa.recordings import run

        options = run.FitOptions(
            inputs=[name if name == "-" else str(Path(name).absolute()) for name in inputs],
            components=components,
            solver=str(solver),
            pca=pca,
            expand=expand and str(expand),
            delays=delays,
            lag=lag,
            ridge=ridge,
            uneven=uneven,
            epochs=epochs,
            seed=seed,
            stream=StreamOptions(**given),
        )
        with run.alone_at(out):
            _fit(run.begin(options, out, overwrite=overwrite), checkpoint_every, scheduler)


def resume(model: ModelFile, checkpoint_every: CheckpointEvery = 30.0, scheduler: Scheduler = None) -> None:
    """Resume a fit that was stopped or killed. The model is the same as without the stop."""
    with one_line_errors():
        from biosfa.recordings import run

        with run.alone_at(model):
            _fit(run.resume(model), checkpoint_every, scheduler)


@takes_stream_options(default="as in the fit")
def transform(
    model: ModelFile,
    inputs: Inputs,
    out: Annotated[
        str,
        typer.Option(
            help="File to write; a folder of files with --scheduler. Its suffix chooses the format; - writes CSV to "
            "standard output."
        ),
    ],
    scheduler: Scheduler = None,
    *,
    given: Given,
) -> None:
    """Write one row of slow features for each row of the recordings. Rows without features contain nan.

    The command reads its inputs in the same way as the fit: the same columns,
    time, episodes and treatment of missing values. Options that you give here
    replace those of the fit.
    """
    with one_line_errors():
        from biosfa.io.targets import is_stream
        from biosfa.recordings import features

        with cluster_at(scheduler) as cluster:
            n_rows = features.transform(str(model), inputs, out, given, cluster)
        if out != "-" and not is_stream(Path(out)):
            say(f"{out}: {n_rows:,} rows")


def inspect(
    model: ModelFile, json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False
) -> None:
    """Describe a model file: settings, samples seen, slowness, and the health of the weights."""
    with one_line_errors():
        from biosfa.recordings import inspection

        found = inspection.inspect(str(model))
        if json:
            from biosfa.wording import as_json

            say(as_json(found, indent=2, allow_nan=False))
        else:
            say(inspection.as_text(found))


@takes_stream_options(default="as in the fit")
def plot(
    model: ModelFile,
    inputs: Inputs,
    out: Annotated[
        Path | None, typer.Option(help="Picture to write: .png, .svg or .pdf.", show_default="MODEL.png")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random input that the features are compared with.")] = 0,
    *,
    given: Given,
) -> None:
    """Draw the slow features over time, their slowness compared with that of random input, their patterns and weights.

    The picture shows the first 100,000 samples. The command reads its inputs in
    the same way as the fit. Options that you give here replace those of the fit.
    """
    with one_line_errors():
        from biosfa.io.targets import check_target, is_stream
        from biosfa.recordings import features, picture, remembered

        slow = features.slow_model(str(model))
        samples = remembered.stream_for(slow, inputs, given)
        target, aside = out or model.with_suffix(".png"), out is not None and is_stream(out)
        if not target.suffix and not aside:
            target = target.with_suffix(".png")
        check_target(target, [model, *samples.files()])
        found = picture.plot(slow, samples, target, seed=seed)
        for sentence in picture.in_words(found):
            say(sentence, aside=aside)
        say(f"picture: {target}", aside=aside)


@takes_stream_options("joined", default="as in the model; without a model: {}", episodes="one episode")
def stream(
    components: Annotated[
        int | None,
        typer.Option(
            "--components",
            "-k",
            min=1,
            help="Number of slow features to find. Needed for a new model.",
            show_default="taken from the model",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="Model file. If it exists, learning resumes from it. The learned model is written to it."),
    ] = None,
    solver: OnlineSolver = None,
    delays: Delays = 1,
    expand: Expand = None,
    forget: Annotated[
        float | None,
        typer.Option(min=10, help="For streams that change: only about this many of the latest samples count."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the initial weights.")] = 0,
    checkpoint_every: Annotated[
        float, typer.Option(min=0, help="Seconds between two writes of the model file. 0 writes it after every chunk.")
    ] = 30.0,
    *,
    given: Given,
) -> None:
    """Learn from CSV on standard input. For each line, print its slow features at once.

    Example: [b]tail -n +1 -f log.csv | biosfa stream --components 3[/b]

    With -n +1, tail begins with the first line of the log, which has the names of
    the columns. The output is nan until there are features.
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
                missing=given.get("missing", "raise"),
                seed=seed,
            )
            live.answer(net, sys.stdin.fileno(), sys.stdout.buffer, given, keep=model, every=checkpoint_every)


def add_to(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for command in (fit, resume, transform, inspect, plot, stream):
        app.command(rich_help_panel=PANEL)(command)


def _fit(begun: "Run", checkpoint_every: float, scheduler: str | None) -> None:
    """Do the rest of a fit, and print the result."""
    from biosfa.io.targets import is_stream
    from biosfa.recordings import notes, run

    if scheduler is not None:
        begun.options.check_for_cluster()
    notes.before(begun)
    with cluster_at(scheduler) as cluster:
        run.work(begun, checkpoint_every, cluster)
    for line in notes.after(begun):
        say(line, aside=is_stream(begun.out))
