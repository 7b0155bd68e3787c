"""Datasets of HDF5 and Zarr: files that hold several arrays under names."""

from pathlib import Path
from typing import Any

from biosfa.exceptions import InputError
from biosfa.io.tables._table import Sliced, chosen

COLUMNS = "columns"  # the attribute that has the names of the columns


def _module(name: str, extra: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"this needs {name}: pip install 'biosfa[{extra}]'") from None


def open_hdf5(path: Path, dataset: str | None) -> Sliced:
    """A dataset of an HDF5 file."""
    h5py = _module("h5py", "hdf5")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise InputError(f"{path} is not an HDF5 file, or is damaged: {error}") from None
    found: list[str] = []
    file.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None)
    name = chosen(path, dataset, found)
    return Sliced(f"{path}::{name}", file[name], _names(file[name]))


def open_zarr(path: Path, array: str | None) -> Sliced:
    """An array of a Zarr store."""
    zarr = _module("zarr", "zarr")
    try:
        store = zarr.open(path, mode="r")
    except Exception as error:  # whatever is found in its metadata
        raise InputError(f"{path} is not a Zarr store, or is damaged: {error}") from None
    if isinstance(store, zarr.Array):
        return Sliced(str(path), store, _names(store))
    found = sorted(name for name, item in store.members(max_depth=None) if isinstance(item, zarr.Array))
    name = chosen(path, array, found)
    return Sliced(f"{path}::{name}", store[name], _names(store[name]))


def _names(array: Any) -> list[str] | None:
    """Names of columns that we have written beside an array."""
    names = array.attrs.get(COLUMNS)
    return None if names is None or array.ndim != 2 or len(names) != array.shape[1] else [str(name) for name in names]
