"""The format of a file, chosen by its suffix."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from biosfa.exceptions import InputError
from biosfa.io.atomic import replacing, writing
from biosfa.io.tables._checks import check_regular
from biosfa.io.tables._store_writers import check_array
from biosfa.io.tables._table import Table, TableWriter
from biosfa.io.tables._text import TextWriter
from biosfa.io.targets import is_stream, stream_to
from biosfa.registry import SUFFIXES
from biosfa.wording import first_line, printable

STDOUT = "-"  # what standard output is called


def is_table(path: Path) -> bool:
    """Whether a file is named like one of these formats."""
    return path.suffix.lower() in SUFFIXES


def open_table(source: str | os.PathLike[str], *, header: bool | None = None) -> Table:
    """Return the table in a file; ``FILE::NAME`` is one of several arrays in it.

    ``header`` says whether the first line of a text file has names. By default its cells decide.
    """
    name, _, part = os.fspath(source).partition("::")
    path = Path(name)
    try:
        return _open(path, part or None, header)
    except InputError as error:  # names of files, and of arrays in them, may have any characters
        raise InputError(printable(error)) from error
    except OSError as error:
        raise InputError(f"{printable(path)} cannot be read: {error.strerror or first_line(error)}") from None


def _open(path: Path, part: str | None, header: bool | None) -> Table:
    _check_suffix(path)
    if not path.exists():
        raise InputError(f"{path} does not exist")
    options = {} if header is None else {"header": header}
    if options and not SUFFIXES[path.suffix.lower()].has_header:
        raise InputError(f"{path} is not a text file, so header (--header, --no-header) cannot be used")
    check_regular(path)
    if path.is_file():
        path.open("rb").close()  # whether one may read it: libraries say that in many words
    table: Table = _part(path, "reader")(path, part, **options)
    return table


def _check_suffix(path: Path) -> None:
    if not is_table(path):
        known = ", ".join(SUFFIXES)
        raise InputError(f"{path}: {path.suffix or 'no suffix'} is not a format that is known: {known}")


@contextmanager
def create_table(target: str, columns: list[str]) -> Iterator[TableWriter]:
    """Give a table to write rows to. The file appears when all rows are written. ``-`` is CSV on standard output.

    Raises
    ------
    OutputError
        If another run is writing it, or if nothing can be written there.
    """
    path = Path(target)
    if target == STDOUT or is_stream(path):
        with stream_to(None if target == STDOUT else path) as file, _closing(TextWriter(file, columns)) as writer:
            yield writer
        return
    _check_suffix(path)
    folder = SUFFIXES[path.suffix.lower()].is_folder
    with writing(path, folder=folder):
        if path.is_dir():
            check_array(path)
        with replacing(path, folder=folder) as temporary:
            with _closing(_part(path, "writer")(temporary, columns)) as writer:
                yield writer
            if path.is_dir():
                check_array(path)  # again, because writing may have taken long


@contextmanager
def _closing(writer: TableWriter) -> Iterator[TableWriter]:
    """Close a writer at the end. After an error, further errors of closing it are ignored."""
    try:
        yield writer
    except BaseException:
        with suppress(Exception):
            writer.close()
        raise
    writer.close()


def _part(path: Path, role: str) -> Callable[..., Any]:
    """Return the reader or the writer of files with this suffix."""
    form = SUFFIXES[path.suffix.lower()]
    module, _, name = getattr(form, role).rpartition(".")
    found: Callable[..., Any] = getattr(import_module(f"biosfa.io.tables.{module or form.module}"), name)
    return found
