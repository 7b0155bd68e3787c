"""Writing a file so that a crash at any moment leaves either the old one or the new one, whole."""

import os
import re
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from biosfa.io.locks import locked
from biosfa.io.targets import check_target, destination, is_stream, stream_to

LOCK = ".lock-biosfa"  # the end of the name of a lock


@contextmanager
def writing(path: Path, *, folder: bool = False) -> Iterator[None]:
    """Be the only one who writes a file (or a folder, if it may be one); remove what killed processes left of it.

    Raises
    ------
    OutputError
        If another run is writing it, or if nothing can be written there.
    """
    if is_stream(path):
        yield
        return
    check_target(path, folder=folder)
    target = destination(path)
    with locked(target.with_name(f".{target.name}{LOCK}"), path):
        remove_litter(target)
        yield


@contextmanager
def replacing(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """A new, empty file (or folder) to write to instead of ``path``.

    It is synced and renamed to ``path`` at the end, with the permissions of what it replaces, and removed if something
    goes wrong. Links are followed, and stay. Folders cannot be renamed over one another: there is a moment without
    either, but never one with half of it. A process that is killed then leaves the old one aside, and
    :func:`remove_litter` brings it back.
    """
    target = destination(path)
    name = f".{target.name}.{os.getpid()}-{threading.get_ident()}"
    temporary, aside = target.with_name(f"{name}.tmp-biosfa"), target.with_name(f"{name}.old-biosfa")
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    try:
        _create(temporary, private=mode is not None, folder=folder)
        yield temporary
        if not folder:
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(mode)
            if folder:
                os.replace(target, aside)
        os.replace(temporary, target)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        _put_back(aside, target)
        remove(temporary)


def replace_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let ``write`` fill a file that then replaces ``path``; a stream takes what is written as it comes."""
    if is_stream(path):
        with stream_to(path) as file:
            write(file)
        return
    with replacing(path) as temporary, open(temporary, "wb") as file:
        write(file)


def remove_litter(target: Path) -> None:
    """Remove what killed processes left when they wrote ``target``, whose lock we hold."""
    for file in litter(target.parent, of=target.name):
        remove(file)
    for folder in litter(target.parent, of=target.name, kind="old"):
        _put_back(folder, target)


def litter(folder: Path, *, of: str | None = None, kind: str = "tmp") -> list[Path]:
    """What killed processes left in a folder: of one file that they were writing, or of all.

    Whoever asks holds the lock of what was to be written, so that no other run is at it. But models may be saved
    without a lock: what belongs to another living process is not listed.
    """
    import psutil

    name = ".*" if of is None else re.escape(of)
    pattern = re.compile(rf"\.{name}\.(\d+)-\d+\.{kind}-biosfa(\.npy)?")
    found = [(file, int(match[1])) for file in folder.iterdir() if (match := pattern.fullmatch(file.name))]
    return [file for file, process in found if process == os.getpid() or not psutil.pid_exists(process)]


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _create(path: Path, *, private: bool, folder: bool) -> None:
    """Make an empty file or folder, which nobody else may read if it is private."""
    remove(path)  # of a killed process with the same number as this one
    if folder:
        path.mkdir(0o700 if private else 0o777)
    else:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666))


def _put_back(aside: Path, target: Path) -> None:
    """Bring a folder back whose successor did not take its place; remove it if that did."""
    if aside.exists() and not target.exists():
        os.replace(aside, target)
    remove(aside)
