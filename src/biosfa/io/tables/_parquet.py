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
from biosfa.io.tables._table import Block, Cursor, TableWriter, row_cursor
from biosfa.typing import FloatArray

PANDAS_INDEX = r"__index_level_\d+__"  # columns that pandas adds to those of a frame


class Parquet(ArrowTable):
    """A Parquet file; nulls are NaN."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa

        self._path = path
        try:
            with self._open() as file:
                schema, n_rows = file.schema_arrow, file.metadata.num_rows
                groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        except pa.ArrowException as error:
            raise InputError(f"{path} is not a Parquet file, or is damaged: {str(error).splitlines()[0]}") from None
        fields = [field for field in schema if not re.fullmatch(PANDAS_INDEX, field.name)]
        self._group_ends = np.cumsum(groups, dtype=np.int64)
        super().__init__(str(path), [field.name for field in fields], [field.type for field in fields], n_rows)

    def blocks(self, cursor: Cursor, size: int, features: list[int], labels: list[int]) -> Iterator[Block]:
        """Batches, from the group of rows on that has the first row wanted."""
        import pyarrow as pa

        self.check_numbers(features)
        begin = cursor[0] if cursor else 0
        first = int(np.searchsorted(self._group_ends, begin, side="right"))
        with self._open() as file:
            # group by group, so that batches are cut at the same rows wherever one begins
            for group in range(first, len(self._group_ends)):
                skip = begin - int(self._group_ends[group - 1] if group else 0)
                names = [self.columns[i] for i in [*features, *labels]]
                try:
                    for batch in file.iter_batches(size, row_groups=[group], columns=names, use_threads=False):
                        samples, found = self.cells(batch, features, labels)
                        left = min(skip, len(samples))
                        skip -= left
                        if left < len(samples):
                            here = begin
                            begin += len(samples) - left
                            labelled = [label[left:] for label in found]
                            yield Block(
                                samples[left:], labelled, partial(add, here), (begin,), partial(row_cursor, here)
                            )
                except (pa.ArrowException, OSError) as error:
                    raise InputError(
                        f"{self.name}, row {begin} or after: it cannot be read ({str(error).splitlines()[0]})"
                    ) from None

    def _open(self) -> Any:
        from pyarrow import parquet

        return parquet.ParquetFile(self._path)


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
        """Write what is found at the end of such files."""
        if self._writer is None:
            self.write(np.empty((0, len(self._columns))))
        self._writer.close()


def open_parquet(path: Path, part: str | None) -> Parquet:
    """The table of a Parquet file."""
    return Parquet(path)
