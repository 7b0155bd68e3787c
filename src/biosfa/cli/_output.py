"""Output of the commands: lines, warnings, errors and exit codes."""

import os
import signal
import sys
from io import TextIOWrapper
from typing import NoReturn

from biosfa.wording import printable

SIGPIPE, SIGTERM = 13, 15  # Windows has no name for the first


def prepare_output() -> None:
    """Make sure that output never ends a command: not where it is closed, and not by what its encoding lacks.

    Standard input and outputs that the caller has closed (``>&-``) are opened on the null device. Otherwise the next
    file that is opened would take the place of one of them, and receive what is printed.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it gets the lowest number that is free
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115 (they stay open)
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # such as \u03b4, if there is no δ


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
    """Makes SIGTERM stop a command like Ctrl-C, so that it removes half-written files. A second SIGTERM ends it.

    Both are remembered, because libraries that are being imported turn them into errors of their own.
    """

    def __init__(self) -> None:
        self.asked = 0  # the last of the two signals, or 0
        signal.signal(signal.SIGTERM, self._stop)
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as it is for programs in the background
            signal.signal(signal.SIGINT, self._stop)

    def _stop(self, number: int, *_: object) -> None:
        self.asked = number
        if number == SIGTERM:
            signal.signal(number, signal.SIG_DFL)
        raise KeyboardInterrupt
