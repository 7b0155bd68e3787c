"""Commands for people's own recordings."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from biosfa.recordings.run import Run

PANEL = "Your own recordings"
FORMATS = (
    ".npy, .npz, .csv, .tsv, .txt, .parquet, .h5, .zarr (FILE::NAME for one of several arrays), a folder of these, or -"
)


class Solver(StrEnum):
    """How to find slow features."""

    exact = "exact"
    online = "online"
    bio = "bio"


class StreamSolver(StrEnum):
    """How to find slow features of lines as they come."""

    online = "online"
    bio = "bio"


class Missing(StrEnum):
    """What to do about gaps."""

    stop = "raise"
    end = "break"


class Expansion(StrEnum):
    """What is done to samples first."""

    quadratic = "quadratic"


Inputs = Annotated[list[str], typer.Argument(help=f"Files with a sample a row: {FORMATS}.", metavar="INPUT...")]
ModelFile = Annotated[Path, typer.Argument(help="Model file.", metavar="MODEL")]
Columns = Annotated[
    str | None, typer.Option(help="Columns that are samples, names or numbers from 0: a,b,c.", show_default="all")
]
Time = Annotated[str | None, typer.Option(help="Column of time; a jump in it is a gap.")]
MaxStep = Annotated[
    float | None,
    typer.Option(help="Longest step in time that is no gap; seconds, for dates.", show_default="1.5 × the median"),
]
Episodes = Annotated[
    str | None,
    typer.Option(
        help="Rows of each episode; or a file with the length of each; or the column whose values tell them apart.",
        show_default="one a file",
    ),
]
MissingOption = Annotated[
    Missing,
    typer.Option(
        "--missing",
        help="Rows with a missing value, and jumps in time: [b]raise[/b] an error, or [b]break[/b] the episode there.",
    ),
]
Joined = Annotated[bool, typer.Option("--joined", help="Each file continues the one before it.")]
CheckpointEvery = Annotated[float, typer.Option(min=0, help="Seconds between checkpoints; 0 for none.")]
Components = Annotated[int, typer.Option("--components", "-k", min=1, help="Slow features to find.")]
Delays = Annotated[int, typer.Option(min=1, help="Samples in a delay vector.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the network's first weights.")]


@contextmanager
def one_line_errors() -> Iterator[None]:
    """What is wrong with files, models or settings becomes an error of one line."""
    from biosfa.exceptions import DivergenceError, UserError

    try:
        yield
    except (ValueError, DivergenceError, MemoryError) as error:
        raise UserError(str(error)) from error


def fit(
    inputs: Inputs,
    components: Components,
    out: Annotated[Path, typer.Option(help="Model file to write.")],
    solver: Annotated[
        Solver,
        typer.Option(
            help="[b]exact[/b]: memory m² for m (expanded) columns. [b]online[/b]: natural gradient, for many columns "
            "and long recordings. [b]bio[/b]: the paper's network with local rules, which needs many more samples."
        ),
    ] = Solver.exact,
    pca: Annotated[int | None, typer.Option(min=1, help="Reduce to so many principal components first.")] = None,
    expand: Annotated[Expansion | None, typer.Option(help="Find features among all products of two columns.")] = None,
    delays: Delays = 1,
    lag: Annotated[int, typer.Option(min=1, help="With exact: samples between the two of a difference.")] = 1,
    epochs: Annotated[int, typer.Option(min=1, help="With online and bio: passes over the input.")] = 1,
    seed: Seed = 0,
    columns: Columns = None,
    time: Time = None,
    max_step: MaxStep = None,
    episodes: Episodes = None,
    missing: MissingOption = Missing.stop,
    joined: Joined = False,
    checkpoint_every: CheckpointEvery = 30.0,
) -> None:
    """Find the slow features of recordings, of any size, and write a model.

    Killed or stopped, the same command goes on from its last checkpoint, and so does [b]biosfa resume[/b].
    """
    with one_line_errors():
        from biosfa.recordings import run

        options = run.FitOptions(
            inputs=[name if name == "-" else str(Path(name).absolute()) for name in inputs],
            components=components,
            solver=solver.value,
            pca=pca,
            expand=expand and expand.value,
            delays=delays,
            lag=lag,
            epochs=epochs,
            seed=seed,
            **_stream_options(columns, time, max_step, episodes, missing, joined),
        )
        _fit(run.begin(options, out), checkpoint_every)


def resume(model: ModelFile, checkpoint_every: CheckpointEvery = 30.0) -> None:
    """Go on with a fit that was stopped or killed; it ends with the same model, bit for bit."""
    with one_line_errors():
        from biosfa.recordings import run

        _fit(run.resume(model), checkpoint_every)


def transform(
    model: ModelFile,
    inputs: Inputs,
    out: Annotated[str, typer.Option(help="File to write, in any of the formats; - for CSV on standard output.")],
    columns: Columns = None,
    time: Time = None,
    max_step: MaxStep = None,
    episodes: Episodes = None,
    missing: MissingOption = Missing.stop,
    joined: Joined = False,
) -> None:
    """Write the slow features of recordings, a row for each of theirs; nan where there is none."""
    with one_line_errors():
        from biosfa.recordings import features

        options = _stream_options(columns, time, max_step, episodes, missing, joined)
        n_rows = features.transform(str(model), inputs, out, **options)
        if out != "-":
            print(f"{out}: {n_rows:,} rows")


def inspect(
    model: ModelFile, json: Annotated[bool, typer.Option("--json", help="Everything, for programs.")] = False
) -> None:
    """Say what is in a model file: settings, samples seen, slowness, health of the weights."""
    with one_line_errors():
        from biosfa.recordings import inspection

        found = inspection.inspect(str(model))
        if json:
            from json import dumps

            print(dumps(found, indent=2, allow_nan=False))
        else:
            print(inspection.as_text(found))


def plot(
    model: ModelFile,
    inputs: Inputs,
    out: Annotated[
        Path | None, typer.Option(help="Picture to write: .png, .svg or .pdf.", show_default="MODEL.png")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the shuffling.")] = 0,
    columns: Columns = None,
    time: Time = None,
    max_step: MaxStep = None,
    episodes: Episodes = None,
    missing: MissingOption = Missing.stop,
    joined: Joined = False,
) -> None:
    """Draw slow features over time, how slow they are beside inputs shuffled in time, and their weights.

    Looks at the first 100,000 samples.
    """
    with one_line_errors():
        from biosfa.recordings import features, picture

        options = _stream_options(columns, time, max_step, episodes, missing, joined)
        slow = features.slow_model(str(model))
        stream = features.stream_for(slow, inputs, **options)
        target = out or model.with_suffix(".png")
        found = picture.plot(slow, stream, target, seed=seed)
        n_real, n_features = int(found.real.sum()), len(found.real)
        print(f"{n_real} of {n_features} features are slower than any of inputs shuffled in time")
        print(f"picture: {target}")


def stream(
    components: Annotated[
        int | None, typer.Option("--components", "-k", min=1, help="Slow features to find.", show_default="the model's")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Model file to go on with, if there is one, and to keep what is learned in.")
    ] = None,
    solver: Annotated[
        StreamSolver | None,
        typer.Option(
            help="[b]online[/b]: natural gradient. [b]bio[/b]: the paper's network with local rules, which needs many "
            "more samples.",
            show_default="the model's; online",
        ),
    ] = None,
    delays: Delays = 1,
    expand: Annotated[Expansion | None, typer.Option(help="Find features among all products of two columns.")] = None,
    forget: Annotated[float | None, typer.Option(min=10, help="Samples to look back over, if things change.")] = None,
    seed: Seed = 0,
    columns: Columns = None,
    time: Time = None,
    max_step: MaxStep = None,
    episodes: Episodes = None,
    missing: MissingOption = Missing.stop,
    checkpoint_every: CheckpointEvery = 30.0,
) -> None:
    """Learn from CSV on standard input, and answer each line at once with its slow features.

    As in [b]tail -f log.csv | biosfa stream --components 3[/b]. Answers are nan until there are features.
    """
    with one_line_errors():
        from biosfa.recordings import live

        net = live.network(
            model,
            None if solver is None else solver.value,
            components,
            expansion=expand and expand.value,
            n_delays=delays,
            forget=forget,
            missing=missing.value,
            seed=seed,
        )
        options = _stream_options(columns, time, max_step, episodes, missing, joined=False)
        live.answer(net, sys.stdin.fileno(), sys.stdout.buffer, keep=model, every=checkpoint_every, **options)


def add_to(app: typer.Typer) -> None:
    """Make these part of a command."""
    for command in (fit, resume, transform, inspect, plot, stream):
        app.command(rich_help_panel=PANEL)(command)


def _stream_options(
    columns: str | None,
    time: str | None,
    max_step: float | None,
    episodes: str | None,
    missing: Missing,
    joined: bool,
) -> dict[str, Any]:
    return {
        "columns": columns_of(columns),
        "time": time,
        "max_step": max_step,
        "episodes": episodes_of(episodes),
        "missing": missing.value,
        "joined": joined,
    }


def columns_of(given: str | None) -> list[str] | None:
    """Names or numbers of columns."""
    return None if given is None else [name.strip() for name in given.split(",")]


def episodes_of(given: str | None) -> int | str | list[int] | None:
    """A number of rows, lengths from a file, or the name of a column."""
    if given is None or (not given.isdigit() and not Path(given).is_file()):
        return given
    if given.isdigit():
        return int(given)
    words = Path(given).read_text().replace(",", " ").split()
    if not words or not all(word.isdigit() for word in words):
        raise ValueError(f"{given} should have the length of each episode, whole numbers with blanks between them")
    return [int(word) for word in words]


def _fit(begun: "Run", checkpoint_every: float) -> None:
    """Do what is left of a fit, and say what comes of it."""
    from biosfa.recordings import notes, run

    notes.before(begun)
    run.work(begun, checkpoint_every)
    for line in notes.after(begun):
        print(line)
