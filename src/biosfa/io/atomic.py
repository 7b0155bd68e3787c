"""Writing a file so that a crash at any moment leaves either the old one or the new one, whole."""

import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

LITTER = ".*.tmp-biosfa"  # names of files that are being written, or were when their process was killed


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to instead of ``path``; synced and renamed to it at the end, removed if something goes wrong.

    What is written may be a folder, too; then there is a moment without either, because folders cannot be renamed over
    one another, but never one with half of it.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp-biosfa")
    aside = temporary.with_name(f".old{temporary.name}")
    try:
        yield temporary
        if temporary.is_dir():
            if path.exists():
                os.replace(path, aside)
        else:
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        _remove(temporary)
        _remove(aside)


def remove_litter(path: Path) -> None:
    """Remove what processes left that were killed while they wrote a file."""
    import psutil

    pattern = re.compile(rf"(\.old)?\.{re.escape(path.name)}\.(\d+)-\d+\.tmp-biosfa(\.npy)?")
    for file in path.parent.glob(".*.tmp-biosfa*"):
        found = pattern.fullmatch(file.name)
        if found and not psutil.pid_exists(int(found[2])):
            _remove(file)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def replace_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let ``write`` fill a file that then replaces ``path``."""
    with replacing(path) as temporary, open(temporary, "wb") as file:
        write(file)
