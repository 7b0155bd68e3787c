"""Processes for what happens to processes. They are forked from one that has imported everything already."""

import multiprocessing
import os
import signal
import sys

from biosfa.io.atomic import LOCK

LOADED = ["biosfa.cli", "biosfa.recordings.run", "biosfa.experiments.chaotic", "hypothesis", "pandas", "pytest"]


def forked(function, *arguments):
    """A process that runs a function of a module. It starts at once: it needs no second of imports for itself."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    process = context.Process(target=function, args=arguments)
    process.start()
    return process


def command_in(folder, arguments):
    """Run the command in this process, and end it."""
    from biosfa.cli import main

    os.chdir(folder)
    sys.argv = ["biosfa", *arguments]
    main()


TOUCHES = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir")  # events that change files


def killed_at(touch, folder, function, *arguments):
    """Run a function in a copy of this process that is killed when it touches a folder for so many times.

    Returns whether it was killed.
    """
    child = os.fork()
    if not child:
        code = 1
        try:
            sys.addaudithook(_Killing(touch, str(folder)))
            function(*arguments)
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


class _Killing:
    """Counts events that change files in a folder, and kills its process at one of them."""

    def __init__(self, last, folder):
        self._left, self._folder = last, folder

    def __call__(self, event, arguments):
        if event not in TOUCHES or not str(arguments[0]).startswith(self._folder):
            return
        if event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR):
            return
        self._left -= 1
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)


def content_of(folder):
    """All files in a folder with their content, and where links point to; without those of runs under way."""
    return {
        path.relative_to(folder).as_posix(): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if (path.is_symlink() or path.is_file()) and path.name != LOCK and "tmp-biosfa" not in str(path)
    }
