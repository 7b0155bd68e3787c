"""Sources of streams: files, folders, arrays and data frames, those of Dask too."""

import glob
import os
import re
from pathlib import Path
from typing import Any

from biosfa.episodes import unread
from biosfa.exceptions import InputError
from biosfa.io.tables import Collection, Frame, Sliced, Table, is_collection, is_table
from biosfa.wording import printable


def sources_of(source: Any) -> list[str | os.PathLike[str] | Table]:
    """Files, with folders replaced by what is in them, in the order of their numbers and names."""
    if isinstance(source, Table):
        return [source]
    problem = unread(source)
    if problem is not None:
        raise InputError(problem)
    if hasattr(source, "dims"):  # xarray
        raise InputError("the source is a labelled array: give it to fit or transform, or give its values")
    if is_collection(source):
        return [Collection(source)]
    if hasattr(source, "columns") and (hasattr(source, "iloc") or hasattr(source, "to_arrow")):  # pandas, polars
        return [Frame(source)]
    if hasattr(source, "shape"):
        return [Sliced("the array", source)]
    if not isinstance(source, str | os.PathLike):
        return [found for each in source for found in sources_of(each)]
    path = Path(source)
    if glob.has_magic(str(source)) and not path_of(source).exists():
        return _matching(str(source))
    if not path.is_dir() or path.suffix.lower() == ".zarr":
        return [source]
    files = [file for file in path.iterdir() if is_table(file) and not file.name.startswith(".")]
    if not files:
        raise InputError(f"{printable(path)} has no files of samples")
    files.sort(key=_in_order)
    return [*files]


def _matching(pattern: str) -> list[str | os.PathLike[str] | Table]:
    """Return the files that a pattern such as ``data/*.csv`` stands for."""
    found = [Path(name) for name in glob.glob(pattern)]  # noqa: PTH207 (it takes absolute patterns, too)
    if not found:
        raise InputError(f"there are no files {printable(pattern)}")
    return [*sorted(found, key=_in_order)]


def _in_order(file: Path) -> list[tuple[int, str] | str]:
    """Return the sort key of a file: its name, with numbers in it compared as numbers."""
    words = re.split(r"(\d+)", file.name)  # every second one is a number
    return [(int(word), word) if i % 2 else word for i, word in enumerate(words)]


def size_of(source: str | os.PathLike[str] | Table) -> int:
    if isinstance(source, Table):
        return 8 * (source.n_rows or 1) * len(source.columns)
    return sum(file.stat().st_size for file in files_of(source))


def files_of(source: str | os.PathLike[str] | Table) -> list[Path]:
    """The files of a source: one, or all in a folder."""
    if isinstance(source, Table):
        return []
    path = path_of(source)
    return [path, *(file for file in path.rglob("*") if file.is_file())] if path.is_dir() else [path]


def path_of(source: str | os.PathLike[str]) -> Path:
    """The file of a source, without the name of an array in it."""
    return Path(os.fspath(source).partition("::")[0])
