"""Which format a file has: by its name."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from biosfa.exceptions import InputError
from biosfa.io.atomic import remove_litter, replacing
from biosfa.io.tables._numpy import Npy, NpyWriter, NpzWriter, members
from biosfa.io.tables._parquet import Parquet, ParquetWriter
from biosfa.io.tables._stores import Hdf5Writer, ZarrWriter, chosen, open_hdf5, open_zarr
from biosfa.io.tables._table import Table, TableWriter
from biosfa.io.tables._text import Text, TextWriter

TEXT = (".csv", ".tsv", ".txt", ".dat")
HDF5 = (".h5", ".hdf5")
SUFFIXES = (".npy", ".npz", *TEXT, ".parquet", *HDF5, ".zarr")


def is_table(path: Path) -> bool:
    """Whether a file is named like one of these formats."""
    return path.suffix.lower() in SUFFIXES


def open_table(source: str | os.PathLike[str]) -> Table:
    """The table in a file; ``FILE::NAME`` is one of several arrays in it."""
    name, _, part = os.fspath(source).partition("::")
    path = Path(name)
    suffix = path.suffix.lower()
    _check_suffix(path)
    if not path.exists():
        raise InputError(f"{path} does not exist")
    try:
        if suffix in TEXT:
            return Text(path)
        if suffix == ".parquet":
            return Parquet(path)
        if suffix in HDF5:
            return open_hdf5(path, part or None)
        if suffix == ".zarr":
            return open_zarr(path, part or None)
        return Npy(path) if suffix == ".npy" else Npy(path, chosen(path, part or None, members(path)))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def _check_suffix(path: Path) -> None:
    if not is_table(path):
        known = ", ".join(SUFFIXES)
        raise InputError(f"{path}: {path.suffix or 'no suffix'} is not a format that is known: {known}")


@contextmanager
def create_table(target: str, columns: list[str]) -> Iterator[TableWriter]:
    """A table to write rows to, CSV on standard output for ``-``; the file appears when all is written."""
    if target == "-":
        with _closing(TextWriter(sys.stdout.buffer, columns)) as writer:
            yield writer
        return
    path = Path(target)
    _check_suffix(path)
    remove_litter(path)
    with replacing(path) as temporary, _closing(_writer(temporary, path.suffix.lower(), columns)) as writer:
        yield writer


@contextmanager
def _closing(writer: TableWriter) -> Iterator[TableWriter]:
    """Close a writer at the end; after an error too, but then whatever closing says is of no interest."""
    try:
        yield writer
    except BaseException:
        with suppress(Exception):
            writer.close()
        raise
    writer.close()


def _writer(path: Path, suffix: str, columns: list[str]) -> TableWriter:
    if suffix in TEXT:
        return TextWriter(path, columns, "\t" if suffix == ".tsv" else ",")
    if suffix in HDF5:
        return Hdf5Writer(path, columns)
    if suffix == ".npy":
        return NpyWriter(path, columns)
    if suffix == ".npz":
        return NpzWriter(path, columns)
    return ParquetWriter(path, columns) if suffix == ".parquet" else ZarrWriter(path, columns)
