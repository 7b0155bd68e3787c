"""Writing a file so that a crash at any moment leaves either the old one or the new one, whole."""

import glob
import os
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

    What is written may be a folder, too.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp-biosfa")
    try:
        yield temporary
        if temporary.is_dir():
            shutil.rmtree(path, ignore_errors=True)  # folders cannot be renamed over one another
        else:
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


def remove_litter(path: Path) -> None:
    """Remove what processes left that were killed while they wrote a file."""
    for file in path.parent.glob(glob.escape(f".{path.name}.") + LITTER.removeprefix(".")):
        file.unlink(missing_ok=True)


def replace_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let ``write`` fill a file that then replaces ``path``."""
    with replacing(path) as temporary, open(temporary, "wb") as file:
        write(file)
