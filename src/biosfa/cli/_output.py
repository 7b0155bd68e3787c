"""Output of the commands: lines, warnings, errors and exit codes."""

import os
import signal
import sys
from typing import NoReturn

from biosfa.wording import printable

SIGPIPE, SIGTERM = 13, 15  # Windows has no name for the first


def say(text: str, *, aside: bool = False) -> None:
    """Print lines to standard output, or with ``aside`` to standard error, if standard output has the results.

    The lines may hold names from files, so special characters are escaped.
    """
    for line in text.split("\n"):
        print(printable(line), file=sys.stderr if aside else sys.stdout)


def complain(message: str) -> None:
    """Print a message as one line on standard error."""
    print(f"biosfa: {printable(message)}", file=sys.stderr)


def show_warning(message: Warning | str, category: type[Warning] = UserWarning, *_: object, **__: object) -> None:
    """Print a warning as one line, but not those of NumPy about single operations: results are checked instead."""
    if not issubclass(category, RuntimeWarning):
        complain(f"warning: {message}")


def abandon_output() -> None:
    """Discard output that could not be written; otherwise the interpreter would try again at its end, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def end_by(number: int) -> NoReturn:
    """End the process by a signal; if the system has no such signal, with the exit code that shells use for it."""
    if number in signal.valid_signals():
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    sys.exit(128 + number)


class Termination:
    """Makes SIGTERM stop a command like Ctrl-C, so that it removes half-written files. A second SIGTERM ends it."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGTERM, self._stop)

    def _stop(self, *_: object) -> None:
        self.asked = True
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise KeyboardInterrupt
