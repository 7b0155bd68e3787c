"""Checks for data that a store claims but does not hold: HDF5 and Zarr read them as a fill value without a warning."""

import os
import re
import struct
import warnings
from importlib import import_module
from itertools import starmap
from math import prod
from pathlib import Path
from typing import Any

from biosfa.exceptions import AbsentDataWarning, InputError
from biosfa.io.tables._checks import check_stored, files_in
from biosfa.wording import counted

SPARSEST = 10  # one chunk of so many must be there, at least
DEEPEST = 3  # so many virtual datasets may be made of one another
BLOSC = struct.Struct("<4B3I")  # the head of what Blosc has compressed; its size stands at the end
CHUNK = re.compile(r"(?:c[./])?(\d+(?:[./]\d+)*)")  # names of the files that hold the chunks of a Zarr array


def check_hdf5(name: str, dataset: Any, path: Path, depth: int = 0) -> None:
    """Raise InputError if parts of a dataset were never written, or are in files that are not there.

    Missing values stand for them where the fill value is NaN; that needs no word here. ``depth`` counts the virtual
    datasets that this one is a source of.
    """
    layout = dataset.id.get_create_plist()
    if layout.get_external_count():
        raise InputError(f"{name} keeps its data in other files: copy it into one file, for example with h5repack")
    if dataset.is_virtual:
        _check_sources(name, dataset, path, depth)
        return
    stored = min(dataset.id.get_storage_size(), path.stat().st_size)
    marked = _is_nan(dataset.fillvalue)
    if dataset.chunks:
        n_chunks = prod(starmap(_n_parts, zip(dataset.shape, dataset.chunks, strict=True)))
        present = dataset.id.get_num_chunks()
        if present < n_chunks and not marked:
            raise InputError(
                f"{_absent(name, present, n_chunks)} would be read as {dataset.fillvalue}: write them, or give the "
                "dataset the fill value NaN"
            )
        _check_chunks(name, present, n_chunks)
    itemsize = dataset.id.get_type().get_size()
    check_stored(name, dataset.shape, itemsize, stored, packed=marked or layout.get_nfilters() > 0)


def _check_sources(name: str, dataset: Any, path: Path, depth: int) -> None:
    """Look for all that a virtual dataset is made of."""
    h5py = import_module("h5py")
    if depth == DEEPEST:  # or it is made of itself
        raise InputError(f"{name} is a virtual dataset within {depth} others: copy it into a plain one")
    covered = 0
    for source in dataset.virtual_sources():
        place = f"{source.file_name}::{source.dset_name}"
        if "%" in place:
            raise InputError(
                f"{name} is a virtual dataset with a pattern of sources, {place}: copy it into a plain one"
            )
        candidates = (path,) if source.file_name == "." else (path.parent / source.file_name, Path(source.file_name))
        file = next((candidate for candidate in candidates if candidate.is_file()), None)
        if file is None:
            raise InputError(f"{name} is a virtual dataset, and its source {place} is not there")
        with h5py.File(file, "r") as opened:
            found = opened.get(source.dset_name)
            if not isinstance(found, h5py.Dataset) or found.shape is None:
                raise InputError(f"{name} is a virtual dataset, and its source {place} is not there")
            check_hdf5(f"{file}::{source.dset_name}", found, file, depth + 1)
            if _grows(source.vspace):  # it is as long as its source
                return
            n_values = source.vspace.get_select_npoints()
            if n_values > _n_given(source.src_space, found.shape):
                raise InputError(f"{name} is a virtual dataset, and its source {place} is too small")
        covered += n_values
    absent = prod(dataset.shape) - covered
    if absent > 0:
        raise InputError(f"{name} is a virtual dataset, and {counted(absent, 'value')} of it have no source")


def _grows(space: Any) -> bool:
    """Return whether a selection has no end."""
    if not space.is_regular_hyperslab():
        return False
    _, _, counts, blocks = space.get_regular_hyperslab()
    return import_module("h5py").h5s.UNLIMITED in (*counts, *blocks)


def _n_given(selected: Any, shape: tuple[int, ...]) -> int:
    """Return how many of the selected values a source of this shape has; 0 if some of them lie outside it."""
    if selected.get_select_type() == import_module("h5py").h5s.SEL_ALL:  # the space of it is not kept
        return prod(shape)
    _, last = selected.get_select_bounds()
    within = len(last) == len(shape) and all(i < n for i, n in zip(last, shape, strict=True))
    return int(selected.get_select_npoints()) if within else 0


def check_zarr(name: str, array: Any, folder: Path) -> None:
    """Raise InputError if the chunks of an array cannot hold the values that it claims; warn if chunks are absent.

    Zarr does not store chunks that hold only the fill value: an absent chunk need not mean that data are lost.
    """
    grid = tuple(starmap(_n_parts, zip(array.shape, array.shards or array.chunks, strict=True)))
    n_chunks = prod(grid)
    by_blosc = array.shards is None and any("Blosc" in type(codec).__name__ for codec in array.compressors[-1:])
    present, stored = 0, 0
    for file in files_in(folder):
        found = CHUNK.fullmatch(file.path.removeprefix(f"{folder}{os.sep}").replace(os.sep, "/"))
        place = [int(number) for number in re.split("[./]", found[1])] if found else []
        if len(place) == len(grid) and all(i < n for i, n in zip(place, grid, strict=True)):
            present += 1
            stored += file.stat().st_size
            if by_blosc:
                _check_blosc(file.path)
    _check_chunks(name, present, n_chunks)
    packed = present < n_chunks or bool(array.compressors) or bool(array.filters) or array.shards is not None
    check_stored(name, array.shape, array.dtype.itemsize, stored, packed=packed)
    if present < n_chunks and not _is_nan(array.fill_value):
        value = array.dtype.type(0) if array.fill_value is None else array.fill_value  # as Zarr does
        warnings.warn(
            f"{_absent(name, present, n_chunks)} are read as {value}. Zarr leaves out chunks that hold "
            "nothing else; if this is a copy, see whether it is whole",
            AbsentDataWarning,
            stacklevel=2,
        )


def _check_blosc(path: str) -> None:
    """Raise InputError if a chunk is shorter than it says: Blosc would read beyond its end, and crash."""
    with open(path, "rb") as file:
        head = file.read(BLOSC.size)
        n_bytes = file.seek(0, os.SEEK_END)
    if len(head) < BLOSC.size or BLOSC.unpack(head)[-1] != n_bytes:
        raise InputError(f"{path} is truncated or damaged: its size is not the one that it claims")


def _check_chunks(name: str, present: int, n_chunks: int) -> None:
    """Raise InputError if hardly a chunk is there: going through the others could take for ever."""
    if present * SPARSEST < n_chunks:
        raise InputError(f"{_absent(name, present, n_chunks)} are too many to be left out")


def _absent(name: str, present: int, n_chunks: int) -> str:
    return f"{name}: {n_chunks - present:,} of {counted(n_chunks, 'chunk')} are not stored, and"


def _n_parts(size: int, part: int) -> int:
    return -(-size // part)


def _is_nan(value: Any) -> bool:
    return bool(value != value)
