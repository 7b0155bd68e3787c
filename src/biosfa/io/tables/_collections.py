"""Dask arrays and data frames as tables: their chunks are computed one after the other."""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from biosfa.exceptions import InputError
from biosfa.extras import imported
from biosfa.floats import check_digits
from biosfa.io.tables._arrow import Frame
from biosfa.io.tables._checks import check_real, two_dimensions
from biosfa.io.tables._table import Block, Cursor, Sliced, Table
from biosfa.typing import FloatArray


def is_collection(source: Any) -> bool:
    """Return whether something is a Dask array or data frame, without importing Dask."""
    return hasattr(source, "__dask_graph__") and hasattr(source, "ndim")


def as_blocks(collection: Any, *, sized: bool = True) -> tuple[list[Any], list[int] | None, list[str] | int]:
    """Return a collection as blocks of rows that Dask computes, their sizes, and the names or number of its columns.

    Parameters
    ----------
    collection : dask.array.Array or dask.dataframe.DataFrame
        Rows are samples.
    sized : bool, default=True
        Whether sizes are needed. Dask reads a data frame to know them. They are None if that is not done.

    Raises
    ------
    InputError
        If a row is in several chunks, or if the sizes of the chunks of an array are not known.
    """
    if is_frame(collection):
        dask = imported("dask", "dask")
        parts = frame_parts(collection)
        blocks = [dask.delayed(frame_rows)(part) for part in parts]
        sizes = list(dask.compute(*[dask.delayed(len)(part) for part in parts])) if sized else None
        return blocks, sizes, [str(name) for name in collection.columns]
    n_columns = two_dimensions("X", collection.shape)[1]
    check_real("X", collection.dtype)
    if len(collection.chunks[1]) > 1:
        raise InputError(
            f"X has {len(collection.chunks[1])} chunks across its columns, and each row must be in one chunk: give "
            "X.rechunk({1: -1})"
        )
    sizes = list(collection.chunks[0])
    if any(math.isnan(size) for size in sizes):
        raise InputError("the sizes of the chunks of X along time are not known: call X.compute_chunk_sizes() first")
    return collection.to_delayed()[:, 0].tolist(), sizes, n_columns


def is_frame(collection: Any) -> bool:
    """Return whether a collection is a data frame."""
    return hasattr(collection, "to_dask_array")


def frame_parts(collection: Any) -> list[Any]:
    """Return the partitions of a data frame, to be computed by Dask; as many as it has, which optimizing may change."""
    parts: list[Any] = collection.to_delayed(optimize_graph=False)
    return parts


def frame_rows(frame: Any) -> FloatArray:
    """Return a frame of pandas as rows of numbers; what is missing is NaN."""
    single = all(kind == np.float32 for kind in frame.dtypes)
    rows: FloatArray = frame.to_numpy(np.float32 if single else np.float64, na_value=np.nan)
    check_digits(
        rows, lambda i: frame.iloc[:, i].tolist(), lambda row, i: f"row {row} of a chunk, column {frame.columns[i]!r}"
    )
    return rows


class Collection(Table):
    """A Dask array or data frame. While the rows of a chunk are used, the next chunk is computed."""

    def __init__(self, collection: Any) -> None:
        self._is_frame = is_frame(collection)
        if self._is_frame:
            self._parts, sizes = frame_parts(collection), None
            columns: list[str] | int = [str(name) for name in collection.columns]
        else:
            self._parts, sizes, columns = as_blocks(collection)
        n_rows = None if sizes is None else sum(sizes)
        super().__init__("the data frame" if self._is_frame else "the array", columns, n_rows)

    def blocks(self, cursor: Cursor, size: int, features: list[int], labels: list[int]) -> Iterator[Block]:
        """Rows of one chunk after the other. A cursor: the number of a chunk, a row in it, and the rows before it."""
        first, done, before = cursor or (0, 0, 0)
        with ThreadPoolExecutor(1, "biosfa-prefetch") as reader:
            coming = reader.submit(self._read, first)
            for number in range(first, len(self._parts)):
                part = coming.result()
                if number + 1 < len(self._parts):
                    coming = reader.submit(self._read, number + 1)
                for block in part.blocks((done,), size, features, labels):
                    yield block._replace(
                        place=partial(_counted_from, block.place, before),
                        after=_cursor(number, before, block.after),
                        at=partial(_cursor_at, block.at, number, before),
                    )
                before, done = before + (part.n_rows or 0), 0

    def breaks(self, n_bytes: int, size: int) -> list[Cursor]:
        """None: its chunks are divided among workers by Dask itself."""
        return []

    def fraction(self, cursor: Cursor) -> float:
        """Return the share of the chunks before this cursor."""
        return cursor[0] / len(self._parts) if cursor else 0.0

    def _read(self, number: int) -> Table:
        """Compute a chunk."""
        rows = self._parts[number].compute()
        return Frame(rows) if self._is_frame else Sliced(self.name, rows)


def _cursor(number: int, before: int, of_part: Cursor) -> Cursor:
    return number, of_part[0], before


def _cursor_at(at: Callable[[int], Cursor], number: int, before: int, row: int) -> Cursor:
    return _cursor(number, before, at(row))


def _counted_from(place: Callable[[int], int], before: int, row: int) -> int:
    return before + place(row)
