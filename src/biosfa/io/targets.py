"""Checks of the place where results are written: links are followed, inputs and special files are refused."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from biosfa.exceptions import OutputError

STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
MOST_LINKS = 40  # the longest chain of links, as on Linux
SPECIAL = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def is_stream(path: Path) -> bool:
    """Return whether a path is ``/dev/stdout`` or ``/dev/null``, or a link to them. Writing there replaces no file."""
    return _is_standard_output(path) or _is_null(path)


@contextmanager
def stream_to(path: Path | None) -> Iterator[BinaryIO]:
    """Open a stream for writing; None is standard output."""
    if path is None or _is_standard_output(path):  # already open; it may be a file that has content
        yield sys.stdout.buffer
        sys.stdout.flush()
    else:
        with open(path, "wb") as file:
            yield file


def destination(path: Path) -> Path:
    """Return the file or folder that a path points to after all links. It need not exist.

    Raises
    ------
    OutputError
        If it is neither a file nor a folder.
    """
    target = Path(os.path.realpath(path))
    try:
        kind = stat.S_IFMT(path.stat().st_mode)  # of the given path: the real path of a pipe does not exist
    except FileNotFoundError:
        return target
    if kind in SPECIAL:
        raise OutputError(f"{path} is {SPECIAL[kind]}: give the name of a file, or /dev/stdout for standard output")
    return target


def check_target(out: Path, read: Iterable[str | os.PathLike[str]] = (), *, folder: bool = False) -> None:
    """Raise OutputError if results cannot be written to a path, or if they would replace an input.

    Parameters
    ----------
    out : Path
        The path.
    read : paths, optional
        The inputs: files, and folders that are read as one array, such as Zarr stores.
    folder : bool, default=False
        Whether the results may be a folder.
    """
    if is_stream(out):
        return
    target = destination(out)
    if not folder and target.is_dir():
        raise OutputError(f"{out} is a folder: give the name of a file with --out")
    if not target.parent.is_dir():
        raise OutputError(f"the folder {target.parent} does not exist: create it, or choose another place with --out")
    refuse_inputs(out, read)


def refuse_inputs(out: Path, read: Iterable[str | os.PathLike[str]]) -> None:
    """Raise OutputError if a path is one of the inputs, lies within one, or contains one."""
    target = Path(os.path.realpath(out))
    advice = "choose another name with --out"
    for name in read:
        source = Path(os.path.realpath(name))
        if target == source or (target.exists() and source.exists() and target.samefile(source)):
            raise OutputError(f"{out} is an input: {advice}")
        if source in target.parents:
            raise OutputError(f"{out} would be written into the input {name}: {advice}")
        if target in source.parents:
            raise OutputError(f"{out} holds the input {name}: {advice}")


def _is_standard_output(path: Path) -> bool:
    name = path.absolute()
    for _ in range(MOST_LINKS):
        if str(name) in STANDARD_OUTPUT:
            return True
        if not name.is_symlink():
            return False
        name = Path(os.path.normpath(name.parent / name.readlink()))
    return False


def _is_null(path: Path) -> bool:
    try:
        found, null = path.stat(), Path(os.devnull).stat()
    except OSError:
        return False
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == null.st_rdev
