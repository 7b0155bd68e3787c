"""What commands say, and how they end."""

import os
import signal
import sys
from typing import NoReturn

from biosfa.wording import printable

SIGPIPE, SIGTERM = 13, 15  # Windows has no name for the first


def say(text: str, *, aside: bool = False) -> None:
    """Print some lines; aside, on standard error, where standard output has results.

    Names in them come from files, and may hold anything.
    """
    for line in text.split("\n"):
        print(printable(line), file=sys.stderr if aside else sys.stdout)


def complain(message: str) -> None:
    """Say in one line what is wrong."""
    print(f"biosfa: {printable(message)}", file=sys.stderr)


def show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as one line."""
    complain(f"warning: {message}")


def abandon_output() -> None:
    """Let what could not be written go, or the interpreter would try again when it ends, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def end_by(number: int) -> NoReturn:
    """End as a signal ends a process; where there is no such signal, with the exit code that shells have for it."""
    if number in signal.valid_signals():
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    sys.exit(128 + number)


class Termination:
    """Lets SIGTERM stop a command as Ctrl-C does, so that it removes what is half written; a second one ends it."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGTERM, self._stop)

    def _stop(self, *_: object) -> None:
        self.asked = True
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise KeyboardInterrupt
