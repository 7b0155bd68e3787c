"""Sources of streams: files, folders, arrays and data frames, those of Dask too."""

import glob
import os
from pathlib import Path
from typing import Any

from biosfa.episodes import unread
from biosfa.exceptions import InputError
from biosfa.io.order import in_order
from biosfa.io.results import check_complete
from biosfa.io.tables import Collection, Frame, Sliced, Table, is_collection, is_table
from biosfa.wording import printable


def sources_of(source: Any) -> list[str | os.PathLike[str] | Table]:
    """Files, with folders and patterns replaced by what they stand for, in the order of their numbers and names."""
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
        return [*_matching(str(source))]
    if not _holds_files(path):
        return [source]
    files = _files_in(path)
    if not files:
        raise InputError(f"{printable(path)} has no files of samples")
    return [*files]


def _matching(pattern: str) -> list[Path]:
    """Return the files that a pattern such as ``data/*.csv`` stands for; ``**`` stands for folders of any depth.

    A folder that matches stands for the files in it.
    """
    found = [Path(name) for name in glob.glob(pattern, recursive=True)]  # noqa: PTH207 (it takes absolute patterns)
    stores = {path for path in found if path.suffix.lower() == ".zarr" and path.is_dir()}
    found = [path for path in found if not stores.intersection(path.parents)]  # what is in a store is part of it
    files = [file for path in found for file in (_files_in(path) if _holds_files(path) else [path])]
    # a file may match by itself, in its folder, and through links that lead back to a folder: the shortest path counts
    files.sort(key=lambda file: -len(file.parts))
    unique = {(os.path.realpath(file.parent), file.name): file for file in files}
    if not unique:
        raise InputError(f"there are no files {printable(pattern)}")
    return in_order(unique.values())


def _holds_files(path: Path) -> bool:
    """Return whether a path is a folder of files. A Zarr store is read as one array."""
    return path.is_dir() and path.suffix.lower() != ".zarr"


def _files_in(folder: Path) -> list[Path]:
    """Return the files of samples in a folder.

    Raises
    ------
    InputError
        If one of the files is missing that were written together.
    """
    check_complete(folder)
    return in_order(file for file in folder.iterdir() if is_table(file) and not file.name.startswith("."))


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
