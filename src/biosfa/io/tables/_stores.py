"""Datasets of HDF5 and Zarr: files that hold several arrays under names."""

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from biosfa.exceptions import InputError
from biosfa.extras import imported
from biosfa.io.tables._absent import check_hdf5, check_zarr
from biosfa.io.tables._checks import check_real, reading, two_dimensions
from biosfa.io.tables._heaps import check_heaps
from biosfa.io.tables._table import Sliced, chosen
from biosfa.wording import printable, shortened

COLUMNS = "columns"  # the attribute that has the names of the columns


def open_hdf5(path: Path, dataset: str | None) -> Sliced:
    """A dataset of an HDF5 file."""
    h5py = imported("h5py", "hdf5")
    visited: list[str | bytes] = []
    with reading(f"{path} is not an HDF5 file, or is damaged"):
        file = h5py.File(path, "r")
        file.visititems(lambda name, item: visited.append(name) if isinstance(item, h5py.Dataset) else None)
    name = chosen(path, dataset, [name for name in visited if isinstance(name, str)])  # bytes are not UTF-8

    def check(label: str, array: Any) -> None:
        check_hdf5(label, array, path)
        if COLUMNS in array.attrs:
            check_heaps(path, file.id.get_create_plist().get_sizes()[1])  # names may be in one

    return _opened(f"{path}::{name}", lambda: file[name], check)


def open_zarr(path: Path, array: str | None) -> Sliced:
    """An array of a Zarr store."""
    zarr = imported("zarr", "zarr")
    with reading(f"{path} is not a Zarr store, or is damaged"), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        store = zarr.open(path, mode="r")
        single = isinstance(store, zarr.Array)
        members = [] if single else store.members(max_depth=None)
        found = sorted(name for name, item in members if isinstance(item, zarr.Array))
    for each in said:
        if "is invalid" in str(each.message):  # Zarr 3.4 repairs metadata, and then reads fill values only
            raise InputError(f"{path} is damaged ({shortened(printable(each.message))})")
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    if single:
        return _opened(str(path), lambda: store, partial(check_zarr, folder=path))
    name = chosen(path, array, found)
    return _opened(f"{path}::{name}", lambda: store[name], partial(check_zarr, folder=path / name))


def _opened(name: str, take: Callable[[], Any], check: Callable[[str, Any], None]) -> Sliced:
    """Return an array of a store as a table, after ``check`` has looked for absent data."""
    with reading(f"{name} is damaged"):
        array = take()
        two_dimensions(name, array.shape)
        check_real(name, array.dtype)
        check(name, array)
        return Sliced(name, array, _names(array))


def _names(array: Any) -> list[str] | None:
    """Names of columns that we have written beside an array."""
    names = array.attrs.get(COLUMNS)
    if isinstance(names, np.ndarray):
        names = names.tolist()
    if not isinstance(names, list) or array.ndim != 2 or len(names) != array.shape[1]:
        return None
    return [name.decode() if isinstance(name, bytes) else str(name) for name in names]
