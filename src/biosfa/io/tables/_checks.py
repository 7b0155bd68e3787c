"""What every reader checks: that a library can read the file, and that the file holds what its header claims."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from biosfa.exceptions import InputError
from biosfa.wording import first_line, printable

NOT_A_SAMPLE = "leave it out with skip (--skip), or say that it is time or episodes (--time, --episodes)"
NOT_SAMPLES = "leave them out with skip (--skip), or say which one is time or episodes (--time, --episodes)"
MOST_COLUMNS = 2**22  # an image of 2048 by 2048 pixels
TIGHTEST = 2**16  # no codec makes data so many times smaller: zstd reaches 2**15, and gzip 2**10


@contextmanager
def reading(problem: str) -> Iterator[None]:
    """Turn what a library raises into an InputError of one line, which begins with ``problem``.

    Damaged files make libraries raise errors of every kind. Only calls of these libraries belong inside.
    """
    try:
        yield
    except (InputError, Warning):
        raise
    except Exception as error:
        raise InputError(f"{printable(problem)} ({first_line(error)})") from error


def check_real(name: str, dtype: np.dtype[Any]) -> None:
    """Raise InputError unless values of this type can be samples."""
    if dtype.kind not in "fiub":
        raise InputError(f"{name} holds {dtype}, not real numbers")


def two_dimensions(name: str, shape: tuple[int, ...] | None) -> tuple[int, int]:
    """Rows and columns of an array; one dimension is one column."""
    if shape is None:
        raise InputError(f"{name} holds no data: it has a null dataspace")
    if len(shape) not in (1, 2) or min(shape) < 0:
        raise InputError(f"{name} has the shape {shape}: rows of samples are needed, (n_samples, n_features)")
    return shape[0], 1 if len(shape) == 1 else shape[1]


def check_stored(name: str, shape: tuple[int, ...], itemsize: int, stored: int, *, packed: bool) -> None:
    """Raise InputError if an array of this shape cannot be in so many bytes, compressed (``packed``) or not."""
    claimed = prod(shape) * itemsize
    if claimed > stored * (TIGHTEST if packed else 1):
        raise InputError(
            f"{name} claims the shape {shape}, which needs {claimed:,} bytes, and holds {stored:,}: it is truncated or "
            "damaged, or was never written"
        )


def check_regular(path: Path) -> None:
    """Raise InputError for a pipe, a device or a socket, which would block, and for a folder that holds one."""
    if path.is_dir():
        for _ in files_in(path):
            pass
    elif not path.is_file():
        raise InputError(_special(path))


def files_in(folder: Path) -> Iterator[os.DirEntry[str]]:
    """All files in a folder and in the folders in it, each once however links go round.

    Raises
    ------
    InputError
        If there is something else among them: a pipe, a device or a socket.
    """
    seen: set[tuple[int, int]] = set()
    waiting = [folder]
    while waiting:
        inner = waiting.pop()
        place = inner.stat()
        if (place.st_dev, place.st_ino) in seen:
            continue
        seen.add((place.st_dev, place.st_ino))
        with os.scandir(inner) as entries:
            for entry in entries:
                if entry.is_dir():
                    waiting.append(Path(entry.path))
                elif entry.is_file():
                    yield entry
                elif Path(entry.path).exists():  # not a link to nothing
                    raise InputError(_special(entry.path))


def _special(path: str | os.PathLike[str]) -> str:
    return f"{os.fspath(path)} is not a regular file; biosfa reads pipes as standard input (-)"
