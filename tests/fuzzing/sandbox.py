"""A case in a process of its own, under limits, and what came of it."""

import errno
import faulthandler
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import NamedTuple

from biosfa.exceptions import InputError, ModelFileError, UserError
from tests.fuzzing.agreement import Disagreement

MEMORY = 2**30  # bytes above what the process has when it starts
SECONDS = 8  # of computing, so that other work on the machine does not matter
PATIENCE = 180.0  # seconds of waiting for a process that does not compute
FILE_SIZE = 2**28

READ, REFUSED, DEFECT = "read", "refused", "defect"
SIGNALS = {signal.SIGXCPU: f"more than {SECONDS} s", signal.SIGKILL: f"no answer within {PATIENCE:g} s"}


class Outcome(NamedTuple):
    """What came of a case."""

    kind: str  # READ, REFUSED or DEFECT
    summary: str  # one line; equal for defects that are probably one
    details: str = ""
    memory: int = 0  # bytes that were added at most while the files were read


def run_apart(prepare, folder):
    """Let a case make its files in a folder and read them, in a child process.

    ``prepare`` is given the folder; what it returns is called under limits, and must return or refuse.
    """
    output, report = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(output)
            os.setsid()
            _redirect(folder)
            outcome = _prepare_and_read(prepare, folder)
            with open(report, "w", encoding="utf-8", errors="backslashreplace") as file:
                json.dump(outcome, file)
        finally:
            os._exit(0)  # no cleaning up: the parent lives
    os.close(report)
    content = _receive(output, child)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = signal.Signals(os.WTERMSIG(status))
        return Outcome(DEFECT, SIGNALS.get(number, f"killed by {number.name}"), (folder / "stderr").read_text())
    if not content:
        return Outcome(DEFECT, "the process ended without a word", (folder / "stderr").read_text())
    return Outcome(*json.loads(content))


def _receive(pipe, child):
    """All that comes through a pipe until it is closed; a child that takes too long is killed."""
    deadline, parts = time.monotonic() + PATIENCE, []
    with open(pipe, "rb", buffering=0) as file:
        while True:
            ready, _, _ = select.select([file], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                os.killpg(child, signal.SIGKILL)
                return b""
            part = file.read(2**16)
            if not part:
                return b"".join(parts)
            parts.append(part)


def _redirect(folder):
    """Nothing to read, and what is printed goes to files."""
    for descriptor, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, folder / "stdout", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, folder / "stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        os.dup2(os.open(path, flags), descriptor)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
    faulthandler.enable(sys.stderr)


def _prepare_and_read(prepare, folder):
    try:
        read = prepare(folder)
    except Exception:
        return Outcome(DEFECT, "the harness itself failed", traceback.format_exc())
    pages, resident = (int(number) for number in Path("/proc/self/statm").read_text().split()[:2])
    _limit(resource.RLIMIT_AS, pages * resource.getpagesize() + MEMORY)
    _limit(resource.RLIMIT_CPU, int(time.process_time()) + SECONDS)
    _limit(resource.RLIMIT_FSIZE, FILE_SIZE)
    _limit(resource.RLIMIT_CORE, 0)
    outcome = Outcome(READ, "read")
    try:
        read()
    except BaseException as error:
        _limit(resource.RLIMIT_AS, resource.RLIM_INFINITY)  # to say what happened
        outcome = judge(error)
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return outcome._replace(memory=max(0, peak - resident * resource.getpagesize()))


def _limit(what, amount):
    resource.setrlimit(what, (amount, resource.getrlimit(what)[1]))


def judge(error):
    """Whether an error is a refusal in one line, for a good reason, or a defect."""
    details = "".join(traceback.format_exception(error))
    if isinstance(error, Disagreement):
        return Outcome(DEFECT, f"{error.road}: not what the array in memory gives", details)
    if any(_is_lack_of_memory(cause) for cause in _chain(error)):
        return Outcome(DEFECT, f"too much memory {_place(error)}", details)
    if not is_refusal(error):
        return Outcome(DEFECT, f"{type(error).__name__} {_place(error)}", details)
    if len(str(error).splitlines()) != 1:
        return Outcome(DEFECT, f"a message of several lines, or none, {_place(error)}", details)
    return Outcome(REFUSED, f"refused: {type(error).__name__}", str(error))


def check_one_line(error):
    """Raise AssertionError unless an error says what is wrong in one line."""
    if len(str(error).splitlines()) != 1:
        raise AssertionError("a message of several lines, or none") from error


def is_refusal(error):
    """Whether an error says what is wrong with a file: one of ours, of usage, or of the operating system."""
    usage = hasattr(error, "format_message")  # of click, whose home has moved between versions of typer
    return usage or isinstance(error, InputError | ModelFileError | UserError) or _of_the_system(error)


def _of_the_system(error):
    return isinstance(error, OSError) and error.errno is not None and error.filename is not None


def _is_lack_of_memory(error):
    if isinstance(error, MemoryError):
        frames = traceback.extract_tb(error.__traceback__)
        parser = bool(frames) and Path(frames[-1].filename).name == "ast.py"  # which says so of too many brackets
        return not parser and "needs about" not in str(error)  # which was asked before it was taken
    return isinstance(error, OSError) and error.errno == errno.ENOMEM


def _chain(error):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _place(error):
    """Where in the package an error comes from, without the number of the line, which changes."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "biosfa" in Path(frame.filename).parts] or frames
    return f"in {Path(own[-1].filename).name}, {own[-1].name}" if own else ""
