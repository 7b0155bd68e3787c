"""Base class of tables: named columns, and rows that are read in blocks."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from biosfa.exceptions import InputError
from biosfa.floats import to_floats, unmasked
from biosfa.io.tables._checks import MOST_COLUMNS, check_real, reading, two_dimensions
from biosfa.typing import FloatArray
from biosfa.wording import listed, printable, quoted

Array = np.ndarray[Any, Any]
Cursor = tuple[int, ...]  # where to go on in a table; () is its beginning


class Wrong(NamedTuple):
    """A row that has something else than numbers."""

    row: int
    message: str


class Block(NamedTuple):
    """Some consecutive rows."""

    samples: FloatArray
    labels: list[Array]  # columns that are no features: time, episode
    place: Callable[[int], int]  # where in the table a row of the block is, counted as the table counts
    after: Cursor
    at: Callable[[int], Cursor]  # where to go on from a row of the block
    wrong: Wrong | None = None  # the first row that has something else than numbers, which is NaN

    def first(self, n: int) -> "Block":
        """Return the first n rows, if there are so many. Reading resumes with the row after them."""
        if n >= len(self.samples):
            return self
        wrong = None if self.wrong is None or self.wrong.row >= n else self.wrong
        labels = [label[:n] for label in self.labels]
        return self._replace(samples=self.samples[:n], labels=labels, after=self.at(n), wrong=wrong)

    def rest(self, n: int) -> "Block":
        """Return the rows after the first n."""
        return self._replace(
            samples=self.samples[n:],
            labels=[label[n:] for label in self.labels],
            place=partial(_counted_from, self.place, n),
            at=partial(_counted_from, self.at, n),
            wrong=None if self.wrong is None else Wrong(self.wrong.row - n, self.wrong.message),
        )

    def alone(self) -> "Block":
        """Return the same rows, without references to the block that they come from: to be sent elsewhere."""
        numbers = range(len(self.samples))
        places, cursors = [self.place(row) for row in numbers], [self.at(row) for row in numbers]
        return self._replace(
            samples=self.samples.copy(),
            labels=[label.copy() for label in self.labels],
            place=places.__getitem__,
            at=[*cursors, self.after].__getitem__,
        )


class Table(ABC):
    """Rows of numbers.

    Parameters
    ----------
    name : str
        For messages.
    columns : list of str, or int
        Their names, or how many there are.
    n_rows : int or None
        None if only reading it all would tell.
    """

    counts = "row"  # what places are called in messages

    def __init__(self, name: str, columns: Sequence[str] | int, n_rows: int | None) -> None:
        self.name = printable(name)
        self.named = not isinstance(columns, int)
        self.n_rows = n_rows
        n_columns = columns if isinstance(columns, int) else len(columns)
        if n_columns > MOST_COLUMNS:  # before there is a name for each
            raise InputError(f"{name} has {n_columns:,} columns; at most {MOST_COLUMNS:,} can be read")
        self.columns = [f"x{i}" for i in range(columns)] if isinstance(columns, int) else [str(c) for c in columns]
        if self.named and len(self.numbers) < n_columns:
            repeated = next(column for i, column in enumerate(self.columns) if self.numbers[column] != i)
            raise InputError(f"{name} has several columns named {quoted(repeated)}")

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Numbers of the columns by their names."""
        return {column: i for i, column in enumerate(self.columns)}

    def place(self, row: int, column: int) -> str:
        """Return in words where a value is, for messages."""
        return f"{self.name}, {self.counts} {row}, column {quoted(self.columns[column])}"

    @abstractmethod
    def blocks(self, cursor: Cursor, size: int, features: list[int], labels: list[int]) -> Iterator[Block]:
        """Yield blocks of at most ``size`` rows after ``cursor``. Blocks of a live stream have the rows that arrived.

        Raises
        ------
        InputError
            If the file is damaged, or contains something other than numbers. The message names the place.
        """

    def breaks(self, n_bytes: int, size: int) -> list[Cursor]:
        """Return cursors that divide the table into parts of about ``n_bytes``, where blocks of ``size`` rows end."""
        step = size * max(1, n_bytes // (8 * len(self.columns) * size))
        return [(row,) for row in range(step, self.n_rows or 0, step)]

    def with_lines(self, cursor: Cursor) -> Cursor:
        """Return a cursor of :meth:`breaks` with the number of its line, if this is text."""
        return cursor

    def fraction(self, cursor: Cursor) -> float:
        """Return the share of the table before this cursor, from 0 to 1."""
        return cursor[0] / self.n_rows if cursor and self.n_rows else 0.0


class Sliced(Table):
    """An array, a memory map, or a dataset of HDF5 or Zarr: any object with a shape and slices of rows."""

    def __init__(self, name: str, array: Any, columns: Sequence[str] | None = None) -> None:
        n_rows, n_columns = two_dimensions(name, array.shape)
        check_real(name, array.dtype)
        super().__init__(name, n_columns if columns is None else columns, n_rows)
        self._array = array

    def blocks(self, cursor: Cursor, size: int, features: list[int], labels: list[int]) -> Iterator[Block]:
        """Slices of the array."""
        assert self.n_rows is not None
        for begin in range(cursor[0] if cursor else 0, self.n_rows, size):
            with reading(f"{self.name}, row {begin} or after: it cannot be read"):
                rows = np.asanyarray(self._array[begin : begin + size])  # with its mask, if it has one
            yield split(self, rows.reshape(len(rows), -1), features, labels, begin)


def chosen(path: Path, wanted: str | None, found: list[str]) -> str:
    """The one of several arrays that is meant."""
    there = listed(found) or "none"
    if wanted is not None:
        if wanted.strip("/") not in found:
            raise InputError(f"{path} has no array {wanted!r}; it has {there}")
        return wanted.strip("/")
    if len(found) != 1:
        raise InputError(f"{path} must have one array, or you must choose one, as in {path}::NAME; it has {there}")
    return found[0]


def split(table: Table, rows: Array, features: list[int], labels: list[int], begin: int) -> Block:
    """Return a block from rows with all columns of a table; ``begin`` is the number of the first row."""
    chosen = rows if features == list(range(rows.shape[1])) else rows[:, features]
    samples = to_floats(chosen, lambda row, column: table.place(begin + row, features[column]))
    labelled = [unmasked(rows[:, i]) for i in labels]
    return Block(samples, labelled, partial(add, begin), (begin + len(rows),), partial(row_cursor, begin))


def row_cursor(begin: int, row: int) -> Cursor:
    """Return the cursor of a row, in tables that count rows."""
    return (begin + row,)


def _counted_from(of_row: Callable[[int], Any], begin: int, row: int) -> Any:
    """Return what a function returns for a row that is counted from ``begin``."""
    return of_row(begin + row)


class TableWriter(ABC):
    """Base class of writers, which append rows to a table."""

    @abstractmethod
    def write(self, rows: FloatArray) -> None:
        """Append rows."""

    @abstractmethod
    def close(self) -> None:
        """Finish the table."""
