"""Atomic writing: a crash at any moment leaves either the old file or the new one, complete."""

import os
import re
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from biosfa.exceptions import OutputError
from biosfa.io.locks import locked
from biosfa.io.targets import check_target, destination, is_stream, stream_to

LOCK = ".lock-biosfa"  # suffix of the name of a lock file


@contextmanager
def writing(path: Path, *, folder: bool = False) -> Iterator[None]:
    """Lock a file for writing, and remove temporary files that killed processes left.

    With ``folder``, the path may be a folder.

    Raises
    ------
    OutputError
        If another run is writing the file, or if it cannot be written.
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
    """Give a new, empty file (or folder) to write to, which then replaces ``path``.

    At the end it is synced, gets the permissions of the old file, and is renamed to ``path``. After an error it is
    removed. If ``path`` is a link, the file that it points to is replaced. A folder cannot be renamed over another one:
    the old folder is set aside first, so that for a moment neither is at ``path``. If the process is killed then,
    :func:`remove_litter` brings the old folder back.
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
    except OutputError:  # its message names the path
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        _put_back(aside, target)
        remove(temporary)


def replace_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let ``write`` fill a new file, which then replaces ``path``. To a stream, ``write`` writes directly."""
    if is_stream(path):
        with stream_to(path) as file:
            write(file)
        return
    with replacing(path) as temporary, open(temporary, "wb") as file:
        write(file)


def remove_litter(target: Path) -> None:
    """Remove the temporary files that killed processes left beside ``target``. The caller holds its lock."""
    for file in litter(target.parent, of=target.name):
        remove(file)
    for folder in litter(target.parent, of=target.name, kind="old"):
        _put_back(folder, target)


def litter(folder: Path, *, of: str | None = None, kind: str = "tmp") -> list[Path]:
    """Return the temporary files that killed processes left in a folder, of all outputs or of the one named ``of``.

    The caller holds the lock of the output, so that no other run is writing it. But models may be saved without a lock:
    files of other living processes are left out.
    """
    import psutil

    name = ".*" if of is None else re.escape(of)
    pattern = re.compile(rf"\.{name}\.(\d+)-\d+\.{kind}-biosfa(\.npy)?")
    found = [(file, int(match[1])) for file in folder.iterdir() if (match := pattern.fullmatch(file.name))]
    return [file for file, process in found if process == os.getpid() or not psutil.pid_exists(process)]


def remove(path: Path) -> None:
    """Remove a file or a folder, if it exists."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _create(path: Path, *, private: bool, folder: bool) -> None:
    """Create an empty file or folder. If it is private, nobody else may read it."""
    remove(path)  # left by a killed process with the same process id
    if folder:
        path.mkdir(0o700 if private else 0o777)
    else:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666))


def _put_back(aside: Path, target: Path) -> None:
    """Restore an old folder if no new one has replaced it, and remove it otherwise."""
    if aside.exists() and not target.exists():
        os.replace(aside, target)
    remove(aside)
