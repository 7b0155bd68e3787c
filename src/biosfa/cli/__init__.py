"""The command ``biosfa``. Each command imports its modules when it runs, so that ``--help`` is quick."""

import sys
import warnings
from itertools import pairwise, takewhile
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from biosfa.cli._output import (
    SIGPIPE,
    SIGTERM,
    Termination,
    abandon_output,
    complain,
    end_by,
    prepare_output,
    say,
    show_warning,
)

INTERRUPTED = 130  # the exit code that shells report after Ctrl-C


class NobodyReads(Exception):  # noqa: N818 (it is no error)
    """Raised when the program that reads our output has ended."""


class Commands(TyperGroup):
    """The group of all commands. It ends quietly when nobody reads the output; Typer would end with an error."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise NobodyReads from None


app = typer.Typer(
    cls=Commands,
    help="Find slow features in your own recordings and streams, and reproduce the experiments of Lipshutz et al. "
    "(NeurIPS 2020).",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def main() -> None:
    """Run the command. Errors that a user can mend are printed as one line."""
    prepare_output()
    warnings.showwarning = show_warning
    termination = Termination()
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()  # while errors can still be reported
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:
        if not termination.asked:
            report(error)
        code = INTERRUPTED
    if code == INTERRUPTED:  # typer returns it as an exit code, or raises, depending on its version
        complain(how_to_go_on(sys.argv[1:]))
        if termination.asked == SIGTERM:
            end_by(SIGTERM)
        sys.exit(INTERRUPTED)
    if code:
        sys.exit(code)


def report(error: Exception) -> NoReturn:
    """Print an error as one line, and exit. Errors that are defects of this program are raised again."""
    from biosfa.exceptions import UserError

    if isinstance(error, UserError):
        fail(str(error), 1)
    if isinstance(error, NobodyReads | BrokenPipeError):
        abandon_output()
        end_by(SIGPIPE)
    if isinstance(error, OSError):
        abandon_output()
        fail(f"{error.strerror}: {error.filename}" if error.filename else str(error), 1)
    # errors of usage; their class has moved between versions of typer, this method has not
    message = getattr(error, "format_message", None)
    if message is None:
        raise error
    named = sys.argv[1:3] if sys.argv[1:2] == ["monitor"] else sys.argv[1:2]
    command = " ".join(["biosfa", *takewhile(lambda argument: argument.isalpha(), named)])
    # newer versions of typer add two words about a wrong choice that say nothing
    fail(f"{message().replace(': Value error, ', ': ', 1)} (see {command} --help)", 2)


def how_to_go_on(arguments: list[str]) -> str:
    """Return the message for a command that was stopped: how to resume it."""
    command = next((argument for argument in arguments if not argument.startswith("-")), "")
    if command in ("reproduce", "sweep", "compare"):
        return "stopped; to resume, run the same command with --resume"
    if command not in ("fit", "resume") or "-" in arguments:
        return "stopped"
    given = next((after for option, after in pairwise(arguments) if option in ("--out", "resume")), "MODEL")
    return f"stopped; to resume, run biosfa resume {given}"


def fail(message: str, code: int) -> NoReturn:
    """Print an error message and exit."""
    complain(message)
    sys.exit(code)


def show_version(wanted: bool) -> None:
    """Print the version and exit, if the user asked for it."""
    if wanted:
        from biosfa import __version__

        say(f"biosfa {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Read the options that come before the command."""


from biosfa.cli import _choose, _compare, _experiments, _export, _monitor, _recordings  # noqa: E402

_recordings.add_to(app)
_export.add_to(app)
_choose.add_to(app)
_monitor.add_to(app)
_experiments.add_to(app)
_compare.add_to(app)
