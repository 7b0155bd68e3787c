"""Options that several commands share."""

import copy
import csv
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args

import typer

from biosfa.registry import EXPANSIONS, ONLINE_SOLVERS, SOLVERS, SUFFIXES, Choice

FORMATS = (
    f"{', '.join(SUFFIXES)}, a folder of such files, a pattern such as '*.csv', or - for CSV on standard input. "
    "FILE::NAME chooses one of several arrays"
)


Given: TypeAlias = dict[str, Any]  # the fields of StreamOptions that were given
Typed: TypeAlias = dict[str, Any]  # the same as they were typed: names of columns in one string, the name of a file


def described(choices: dict[str, Choice]) -> str:
    """Return the choices and their descriptions, for help texts."""
    return " ".join(f"[b]{name}[/b]: {choice.summary}." for name, choice in choices.items())


Inputs = Annotated[list[str], typer.Argument(help=f"Files with one sample per row: {FORMATS}.", metavar="INPUT")]


Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Compute on a Dask cluster: the address of its scheduler, such as tcp://HOST:8786; or local, or local:4, "
        "for workers on this machine.",
        show_default="this process",
    ),
]


@contextmanager
def cluster_at(scheduler: str | None) -> Iterator["Cluster | None"]:
    """Connect to a cluster, if there is an address."""
    if scheduler is None:
        yield None
        return
    from biosfa.cluster import connected

    with connected(scheduler) as cluster:
        yield cluster


def one_of(names: Iterable[str]) -> Any:
    """Return a type whose values are these words."""
    return StrEnum("Word", {name: name for name in names})


if TYPE_CHECKING:
    from biosfa.cluster import Cluster

    Solver: TypeAlias = str
    OnlineSolver: TypeAlias = str | None
    Expand: TypeAlias = str | None
else:  # the choices come from the registry, which type checkers cannot read
    Solver = Annotated[one_of(SOLVERS), typer.Option(help=described(SOLVERS))]
    OnlineSolver = Annotated[
        one_of(ONLINE_SOLVERS) | None,
        typer.Option(help=described(ONLINE_SOLVERS), show_default="taken from the model; online if there is none"),
    ]
    Expand = Annotated[
        one_of(EXPANSIONS) | None, typer.Option(help=f"Expand the columns before learning. {described(EXPANSIONS)}")
    ]

# The options that say how inputs are read: each field of StreamOptions as a command-line option.
# None stands for an option that was not given.
STREAM: dict[str, Any] = {
    "columns": Annotated[
        str | None,
        typer.Option(
            help="Columns to use, by name or by number from 0, with commas between them: a,b,c. 1-8 means the "
            "columns 1 to 8. A name with a comma needs quotation marks.",
            show_default="all",
        ),
    ],
    "skip": Annotated[
        str | None,
        typer.Option(help="Columns to leave out, given as for --columns.", show_default="none"),
    ],
    "time": Annotated[
        str | None,
        typer.Option(help="Column that holds the time, by name or by number from 0. A jump in time is a gap."),
    ],
    "max_step": Annotated[
        float | None,
        typer.Option(
            help="Longest step in time that is not a gap, in seconds if times are dates.",
            show_default="1.5 × the median step",
        ),
    ],
    "episodes": Annotated[
        str | None,
        typer.Option(
            help="Number of rows per episode; or a file with the length of each episode; or the column whose value "
            "changes where an episode starts.",
            show_default="one per file",
        ),
    ],
    "missing": Annotated[
        one_of(["raise", "break"]) | None,
        typer.Option(
            help="What to do at missing values and gaps in time. [b]raise[/b]: stop with an error. [b]break[/b]: "
            "skip rows with missing values and start a new episode.",
            show_default="raise",
        ),
    ],
    "header": Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line of a text file holds the names of the columns.",
            show_default="detected",
        ),
    ],
    "joined": Annotated[
        bool | None,
        typer.Option(
            "--joined/--no-joined",
            help="Whether each file continues the one before it.",
            show_default="no-joined",
        ),
    ],
}


def takes_stream_options(
    *left_out: str, default: str | None = None, **usual: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options that say how inputs are read to a command, which receives those that were given as ``given``.

    A command with a parameter ``typed`` receives them as they were typed, too.

    ``default`` is what the help gives as the default of all options but --skip and --header. {} in it stands for the
    default in STREAM, or for that in ``usual``, by the name of the option.
    """
    offered = {name: option for name, option in STREAM.items() if name not in left_out}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_options(**given: Any) -> None:
            from biosfa.cli._errors import one_line_errors

            with one_line_errors():
                if given.get("out") is not None and _is_file_of_lengths(given["episodes"]):
                    from biosfa.io.targets import refuse_inputs

                    refuse_inputs(Path(given["out"]), [given["episodes"]])
                typed = {name: given.pop(name) for name in offered}
                reading = given_options(**typed)
            if "typed" in signature.parameters:
                given["typed"] = {name: word for name, word in typed.items() if word is not None}
            command(**given, given=reading)

        signature = inspect.signature(command)
        own = [parameter for name, parameter in signature.parameters.items() if name not in ("given", "typed")]
        added = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=option
                if (default is None and name not in usual) or name in ("header", "skip")
                else _with_default(option, default or "{}", usual.get(name)),
            )
            for name, option in offered.items()
        ]
        given_first = [parameter.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for parameter in own]
        with_options.__signature__ = signature.replace(parameters=[*given_first, *added])  # type: ignore[attr-defined]
        with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in [*own, *added]}
        del with_options.__wrapped__  # otherwise ``inspect`` would take the signature from there
        return with_options

    return decorate


def given_options(
    columns: str | None = None,
    skip: str | None = None,
    time: str | None = None,
    episodes: str | None = None,
    **others: Any,
) -> Given:
    """Return the fields of StreamOptions from the words of the command line: names in one string, lengths in a file."""
    fields: dict[str, Any] = {
        "columns": _columns(columns),
        "skip": _columns(skip),
        "time": None if time is None else _column(time),
        "episodes": _episodes(episodes),
    }
    fields |= {name: str(value) if isinstance(value, StrEnum) else value for name, value in others.items()}
    return {name: value for name, value in fields.items() if value is not None}


def _with_default(option: Any, default: str, usual: str | None) -> Any:
    """Return an option whose help names another default, with the usual default at {}."""
    kind, description = get_args(option)
    changed = copy.copy(description)
    named = description.show_default if isinstance(description.show_default, str) else "none"
    changed.show_default = default.format(usual or named)
    return Annotated[kind, changed]


def _columns(words: str | None) -> list[str | int] | None:
    """Return names and numbers of columns from a list with commas, in which names may be in quotation marks."""
    if words is None:
        return None
    return [_column(word.strip()) for word in next(csv.reader([words], skipinitialspace=True))]


def _column(word: str) -> str | int:
    """Return the number of a column if the word has only digits, and its name otherwise."""
    return int(word) if word.isdigit() else word


def _episodes(given: str | None) -> int | str | list[int] | None:
    """Return a number of rows, the lengths in a file, or the name of a column."""
    if given is not None and given.isdigit():
        return int(given)
    if given is None or not _is_file_of_lengths(given):
        return given
    words = Path(given).read_text(encoding="utf-8").replace(",", " ").split()
    if not words or not all(word.isdigit() for word in words):
        raise ValueError(f"{given} must hold the length of each episode: whole numbers with blanks between them")
    return [int(word) for word in words]


def _is_file_of_lengths(episodes: str | None) -> bool:
    return episodes is not None and not episodes.isdigit() and Path(episodes).is_file()
