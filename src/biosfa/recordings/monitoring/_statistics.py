"""The table of statistics of a check: one row per row of the input, with its number and its time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from biosfa.io.atomic import replacing, writing
from biosfa.io.tables import create_table
from biosfa.monitoring import SLOW_AND_REST
from biosfa.typing import Float64Array

HEADER = (*SLOW_AND_REST, "verdict")

Write = Callable[[int, Any, Float64Array], None]  # takes the number of the first row, times or None, and numbers


@contextmanager
def statistics_table(target: Path) -> Iterator[Write]:
    """Give a function that appends rows to a table. An array of NumPy has neither rows nor times."""
    if target.suffix == ".npy":
        with create_table(str(target), list(HEADER)) as table:
            yield lambda first, times, numbers: table.write(numbers)
        return
    with writing(target), replacing(target) as temporary:
        writer = _Writer(temporary, text=target.suffix == ".csv")
        try:
            yield writer.write
        finally:
            writer.close()


class _Writer:
    """Writes CSV or Parquet. The first rows say whether there are times."""

    def __init__(self, path: Path, *, text: bool) -> None:
        self._path, self._text = path, text
        self._writer: Any = None
        self._file: Any = None

    def write(self, first: int, times: Any, numbers: Float64Array) -> None:
        """Append rows, the first of which has this number."""
        import pyarrow as pa

        columns: dict[str, Any] = {"row": pa.array(np.arange(first, first + len(numbers)))}
        if times is not None:
            columns["time"] = pa.array(_in_words(times) if self._text and times.dtype.kind == "M" else times)
        columns |= {
            name: pa.array(np.ascontiguousarray(column)) for name, column in zip(HEADER, numbers.T, strict=True)
        }
        table = pa.table(columns)
        if self._writer is None:
            self._writer = self._open(table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        """Finish the table."""
        if self._writer is not None:
            self._writer.close()
        if self._file is not None:
            self._file.close()

    def _open(self, schema: Any) -> Any:
        if not self._text:
            from pyarrow import parquet

            return parquet.ParquetWriter(self._path, schema)
        from pyarrow import csv

        self._file = open(self._path, "wb")  # noqa: SIM115 (closed by close)
        self._file.write(",".join(schema.names).encode() + b"\n")  # Arrow would put it in quotation marks
        options = csv.WriteOptions(include_header=False, quoting_style="none")
        return csv.CSVWriter(self._file, schema, write_options=options)


def _in_words(times: Any) -> list[str]:
    """Return dates as ``time_text`` writes them, but with the same number of digits in all rows."""
    known = times[~np.isnat(times)]
    unit: Any = next((unit for unit in ("s", "ms", "us") if (known == known.astype(f"datetime64[{unit}]")).all()), "ns")
    words = np.char.replace(np.datetime_as_string(times, unit=unit), "T", " ")
    words[np.isnat(times)] = ""
    found: list[str] = words.tolist()
    return found
