"""Which format a file has: by its name."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from biosfa.exceptions import InputError
from biosfa.io.atomic import remove_litter, replacing
from biosfa.io.tables._checks import check_regular
from biosfa.io.tables._table import Table, TableWriter
from biosfa.io.tables._text import TextWriter
from biosfa.registry import SUFFIXES
from biosfa.wording import first_line, printable


def is_table(path: Path) -> bool:
    """Whether a file is named like one of these formats."""
    return path.suffix.lower() in SUFFIXES


def open_table(source: str | os.PathLike[str], *, header: bool | None = None) -> Table:
    """The table in a file; ``FILE::NAME`` is one of several arrays in it.

    ``header`` says whether the first line of a text file has names, for those who know.
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
        raise InputError(f"{path} is no text file: header (--header, --no-header) is not for it")
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
    """A table to write rows to, CSV on standard output for ``-``; the file appears when all is written."""
    if target == "-":
        with _closing(TextWriter(sys.stdout.buffer, columns)) as writer:
            yield writer
        return
    path = Path(target)
    _check_suffix(path)
    remove_litter(path)
    with replacing(path) as temporary, _closing(_part(path, "writer")(temporary, columns)) as writer:
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


def _part(path: Path, role: str) -> Callable[..., Any]:
    """What reads, or writes, files that are named like this one."""
    form = SUFFIXES[path.suffix.lower()]
    found: Callable[..., Any] = getattr(import_module(f"biosfa.io.tables.{form.module}"), getattr(form, role))
    return found
