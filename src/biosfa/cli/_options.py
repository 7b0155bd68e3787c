"""Options that several commands share."""

import functools
import inspect
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from biosfa.registry import EXPANSIONS, ONLINE_SOLVERS, SOLVERS, SUFFIXES, Choice

if TYPE_CHECKING:
    from biosfa.io import StreamOptions

FORMATS = (
    f"{', '.join(SUFFIXES)}, a folder of such files, or - for CSV on standard input. FILE::NAME chooses one of several "
    "arrays"
)


def described(choices: dict[str, Choice]) -> str:
    """Return the choices and their descriptions, for help texts."""
    return " ".join(f"[b]{name}[/b]: {choice.summary}." for name, choice in choices.items())


Inputs = Annotated[list[str], typer.Argument(help=f"Files with one sample per row: {FORMATS}.", metavar="INPUT")]


def one_of(names: Iterable[str]) -> Any:
    """Return a type whose values are these words."""
    return StrEnum("Word", {name: name for name in names})


if TYPE_CHECKING:
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
STREAM: dict[str, tuple[Any, Any]] = {
    "columns": (
        Annotated[
            str | None,
            typer.Option(
                help="Columns to use, as names or as numbers counted from 0. Write commas between them: a,b,c.",
                show_default="all",
            ),
        ],
        None,
    ),
    "time": (
        Annotated[str | None, typer.Option(help="Column that holds the time. A jump in time is a gap.")],
        None,
    ),
    "max_step": (
        Annotated[
            float | None,
            typer.Option(
                help="Longest step in time that is not a gap. It is in seconds if the times are dates.",
                show_default="1.5 × the median step",
            ),
        ],
        None,
    ),
    "episodes": (
        Annotated[
            str | None,
            typer.Option(
                help="Where episodes start. Give the number of rows per episode, a file with the length of each "
                "episode, or a column whose value changes where an episode starts. No difference is taken "
                "between two episodes.",
                show_default="one per file",
            ),
        ],
        None,
    ),
    "missing": (
        Annotated[
            one_of(["raise", "break"]),
            typer.Option(
                help="What to do at missing values and gaps in time. [b]raise[/b]: stop with an error. [b]break[/b]: "
                "skip rows with missing values and start a new episode.",
            ),
        ],
        "raise",
    ),
    "header": (
        Annotated[
            bool | None,
            typer.Option(
                "--header/--no-header",
                help="Whether the first line of a text file holds the names of the columns.",
                show_default="detected",
            ),
        ],
        None,
    ),
    "joined": (
        Annotated[bool, typer.Option("--joined", help="Treat each file as the continuation of the one before it.")],
        False,
    ),
}


def takes_stream_options(*left_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options that say how inputs are read to a command, which receives them as one argument, ``stream``."""
    offered = {name: option for name, option in STREAM.items() if name not in left_out}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_options(**given: Any) -> None:
            from biosfa.cli._errors import one_line_errors

            with one_line_errors():
                if given.get("out") is not None and _is_file_of_lengths(given["episodes"]):
                    from biosfa.io.targets import refuse_inputs

                    refuse_inputs(Path(given["out"]), [given["episodes"]])
                stream = stream_options(**{name: given.pop(name) for name in offered})
            command(**given, stream=stream)

        signature = inspect.signature(command)
        own = [parameter for name, parameter in signature.parameters.items() if name != "stream"]
        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, (annotation, default) in offered.items()
        ]
        given_first = [parameter.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for parameter in own]
        with_options.__signature__ = signature.replace(parameters=[*given_first, *added])  # type: ignore[attr-defined]
        with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in [*own, *added]}
        del with_options.__wrapped__  # otherwise ``inspect`` would take the signature from there
        return with_options

    return decorate


def stream_options(columns: str | None = None, episodes: str | None = None, **others: Any) -> "StreamOptions":
    """Build StreamOptions from the words of the command line: names in one string, lengths in a file."""
    from biosfa.io import StreamOptions

    names = None if columns is None else [_column(name.strip()) for name in columns.split(",")]
    others |= {name: _column(others[name]) for name in ("time",) if others.get(name) is not None}
    words: dict[str, Any] = {
        name: str(value) if isinstance(value, StrEnum) else value for name, value in others.items()
    }
    return StreamOptions(columns=names, episodes=_episodes(episodes), **words)


def _column(word: str) -> str | int:
    """Return the number of a column if the word has only digits, and its name otherwise."""
    return int(word) if word.isdigit() else word


def _episodes(given: str | None) -> int | str | list[int] | None:
    """Return a number of rows, the lengths in a file, or the name of a column."""
    if given is not None and given.isdigit():
        return int(given)
    if given is None or not _is_file_of_lengths(given):
        return given
    words = Path(given).read_text().replace(",", " ").split()
    if not words or not all(word.isdigit() for word in words):
        raise ValueError(f"{given} must hold the length of each episode: whole numbers with blanks between them")
    return [int(word) for word in words]


def _is_file_of_lengths(episodes: str | None) -> bool:
    return episodes is not None and not episodes.isdigit() and Path(episodes).is_file()
