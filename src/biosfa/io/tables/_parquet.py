"""Parquet files, read by Arrow in batches of rows."""

import re
from collections.abc import Iterator
from functools import partial
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from biosfa.exceptions import InputError
from biosfa.io.tables._arrow import ArrowTable
from biosfa.io.tables._checks import reading
from biosfa.io.tables._table import Array, Block, Cursor, TableWriter, row_cursor
from biosfa.typing import FloatArray

BUFFER_BYTES = 2**18  # per column
PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # columns that pandas adds to those of a frame


class Parquet(ArrowTable):
    """A Parquet file; nulls are NaN."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._metadata: Any = None  # kept, since it takes long to read where there are many columns
        with reading(f"{path} is not a Parquet file, or is damaged"), self._open() as file:
            schema, self._metadata = file.schema_arrow, file.metadata
            n_rows = self._metadata.num_rows
            groups = [self._metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
            fields = [
                (name, kind)
                for name, kind in zip(schema.names, schema.types, strict=True)
                if not PANDAS_INDEX.fullmatch(name)
            ]
        if sum(groups) != n_rows or min(groups, default=0) < 0:
            raise InputError(f"{path} is damaged: it claims {n_rows} rows, and {sum(groups)} in its groups of rows")
        self._group_ends = np.cumsum(groups, dtype=np.int64)
        super().__init__(str(path), [name for name, _ in fields], [kind for _, kind in fields], n_rows)

    def blocks(self, cursor: Cursor, size: int, features: list[int], labels: list[int]) -> Iterator[Block]:
        """Batches, from the group of rows on that has the first row wanted."""
        self.check_types(features, labels)
        begin = cursor[0] if cursor else 0
        first = int(np.searchsorted(self._group_ends, begin, side="right"))
        with self._open() as file:
            # group by group, so that batches are cut at the same rows wherever one begins
            for group in range(first, len(self._group_ends)):
                skip = begin - int(self._group_ends[group - 1] if group else 0)
                for samples, found in self._batches(file, group, size, features, labels):
                    left = min(skip, len(samples))
                    skip -= left
                    if left < len(samples):
                        here = begin
                        begin += len(samples) - left
                        labelled = [label[left:] for label in found]
                        yield Block(samples[left:], labelled, partial(add, here), (begin,), partial(row_cursor, here))
                if begin != self._group_ends[group]:
                    raise InputError(
                        f"{self.name} is damaged: a group of its rows should end before row {self._group_ends[group]}, "
                        f"and ends before row {begin}"
                    )

    def breaks(self, n_bytes: int, size: int) -> list[Cursor]:
        """Ends of groups of rows, because a group is decoded from its beginning on."""
        breaks: list[Cursor] = []
        rows, begin = n_bytes // (8 * len(self.columns)), 0
        for end in self._group_ends[:-1].tolist():
            if end - begin >= rows:
                breaks.append((end,))
                begin = end
        return breaks

    def _batches(
        self, file: Any, group: int, size: int, features: list[int], labels: list[int]
    ) -> Iterator[tuple[FloatArray, list[Array]]]:
        """Samples and labels of a group of rows."""
        names = [self.columns[i] for i in [*features, *labels]]
        begin = int(self._group_ends[group - 1]) if group else 0
        with reading(f"{self.name}, row {begin} or after: it cannot be read"):
            for batch in file.iter_batches(size, row_groups=[group], columns=names, use_threads=False):
                yield self.cells(batch, features, labels, begin)
                begin += batch.num_rows

    def _open(self) -> Any:
        from pyarrow import parquet

        with reading(f"{self._path} is not a Parquet file, or is damaged"):
            # without a buffer, all of a group of rows would be in memory, which may be any size
            return parquet.ParquetFile(self._path, metadata=self._metadata, buffer_size=BUFFER_BYTES, pre_buffer=False)


class ParquetWriter(TableWriter):
    """Writes a group of rows at a time."""

    def __init__(self, path: Path, columns: list[str]) -> None:
        self._path = path
        self._columns = columns
        self._writer: Any = None

    def write(self, rows: FloatArray) -> None:
        """Append rows."""
        import pyarrow as pa
        from pyarrow import parquet

        table = pa.table({name: np.ascontiguousarray(rows[:, i]) for i, name in enumerate(self._columns)})
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table.cast(self._writer.schema))

    def close(self) -> None:
        """Write the footer."""
        if self._writer is None:
            self.write(np.empty((0, len(self._columns))))
        self._writer.close()


def open_parquet(path: Path, part: str | None) -> Parquet:
    """The table of a Parquet file."""
    return Parquet(path)
