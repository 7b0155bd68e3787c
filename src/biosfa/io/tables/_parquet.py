"""Parquet files, read by Arrow in batches of rows."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from biosfa.exceptions import InputError
from biosfa.io.tables._table import Array, Block, Cursor, Table, TableWriter
from biosfa.typing import FloatArray

PANDAS_INDEX = r"__index_level_\d+__"  # columns that pandas adds to those of a frame


class Parquet(Table):
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
        names = [name for name in schema.names if not re.fullmatch(PANDAS_INDEX, name)]
        self._types = [schema.field(name).type for name in names]
        self._group_ends = np.cumsum(groups, dtype=np.int64)
        super().__init__(str(path), names, n_rows)

    def blocks(self, cursor: Cursor, size: int, features: list[int], labels: list[int]) -> Iterator[Block]:
        """Batches, from the group of rows on that has the first row wanted."""
        import pyarrow as pa

        for i in features:
            if not (pa.types.is_integer(self._types[i]) or pa.types.is_floating(self._types[i])):
                raise InputError(
                    f"{self.name}, column {self.columns[i]!r}: {self._types[i]} is not a number; choose others with "
                    "columns (--columns)"
                )
        begin = cursor[0] if cursor else 0
        group = int(np.searchsorted(self._group_ends, begin, side="right"))
        skip = begin - int(self._group_ends[group - 1] if group else 0)
        with self._open() as file:
            batches = file.iter_batches(
                batch_size=size,
                row_groups=range(group, len(self._group_ends)),
                columns=[self.columns[i] for i in [*features, *labels]],
                use_threads=False,
            )
            try:
                for batch in batches:
                    samples, found = self._columns(batch, features, labels)
                    left = min(skip, len(samples))
                    skip -= left
                    if left < len(samples):
                        begin += len(samples) - left
                        yield Block(
                            samples[left:], [label[left:] for label in found], begin - len(samples) + left, (begin,)
                        )
            except (pa.ArrowException, OSError) as error:
                raise InputError(
                    f"{self.name}, row {begin} or after: it cannot be read ({str(error).splitlines()[0]})"
                ) from None

    def _open(self) -> Any:
        from pyarrow import parquet

        return parquet.ParquetFile(self._path)

    def _columns(self, batch: Any, features: list[int], labels: list[int]) -> tuple[FloatArray, list[Array]]:
        single = all(str(self._types[i]) == "float" for i in features)
        samples = np.empty((batch.num_rows, len(features)), np.float32 if single else np.float64)
        for position, i in enumerate(features):
            samples[:, position] = batch.column(self.columns[i]).to_numpy(zero_copy_only=False)
        return samples, [batch.column(self.columns[i]).to_numpy(zero_copy_only=False) for i in labels]


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
        self._writer.write_table(table)

    def close(self) -> None:
        """Write what is found at the end of such files."""
        if self._writer is None:
            self.write(np.empty((0, len(self._columns))))
        self._writer.close()
