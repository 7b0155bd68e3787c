"""Where results are written to: links are followed, what is read is left alone, special files are refused."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from biosfa.exceptions import OutputError

STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
MOST_LINKS = 40  # one after the other, as Linux allows
SPECIAL = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def is_stream(path: Path) -> bool:
    """Whether a name is ``/dev/stdout`` or ``/dev/null``, or links to them: what is written there replaces nothing."""
    return _is_standard_output(path) or _is_null(path)


@contextmanager
def stream_to(path: Path | None) -> Iterator[BinaryIO]:
    """Open a stream for writing; None is standard output."""
    if path is None or _is_standard_output(path):  # which is open, and may be a file that has something in it
        yield sys.stdout.buffer
        sys.stdout.flush()
    else:
        with open(path, "wb") as file:
            yield file


def destination(path: Path) -> Path:
    """The file, or folder, that a name stands for once links are followed; it need not exist.

    Raises
    ------
    OutputError
        If it is something else than a file or a folder.
    """
    target = Path(os.path.realpath(path))
    try:
        kind = stat.S_IFMT(path.stat().st_mode)  # of the name as it is given: pipes have none of their own
    except FileNotFoundError:
        return target
    if kind in SPECIAL:
        raise OutputError(f"{path} is {SPECIAL[kind]}: give the name of a file, or /dev/stdout for standard output")
    return target


def check_target(out: Path, read: Iterable[str | os.PathLike[str]] = (), *, folder: bool = False) -> None:
    """Raise OutputError if results cannot be written to a place, or if they would replace something that is read.

    Parameters
    ----------
    out : Path
        The place.
    read : paths, optional
        All files that are read, and folders that are read as one, such as Zarr stores.
    folder : bool, default=False
        Whether the results may be a folder.
    """
    if is_stream(out):
        return
    target = destination(out)
    if not folder and target.is_dir():
        raise OutputError(f"{out} is a folder: give the name of a file with --out")
    if not target.parent.is_dir():
        raise OutputError(f"the folder {target.parent} does not exist")
    refuse_inputs(out, read)


def refuse_inputs(out: Path, read: Iterable[str | os.PathLike[str]]) -> None:
    """Raise OutputError if a place is one of the files, or folders, that are read, or within one, or around one."""
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
