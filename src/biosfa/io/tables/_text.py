"""CSV and its kin: text with a number in each cell, parsed block by block by Arrow."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from biosfa.exceptions import InputError
from biosfa.io.tables._table import Array, Block, Cursor, Table, TableWriter
from biosfa.typing import FloatArray

BLOCK_BYTES = 2**22
HEAD_BYTES = 2**20  # in which a first row, or the header, must end
DELIMITERS = (",", "\t", ";", " ")
ALSO_MISSING = ["?", "-", "--", "None", "none", "missing"]


class Grammar:
    """How lines of text are to be read: delimiter, names of columns, and where the numbers begin.

    Found from the first lines: comments (#), then a header unless all its cells are numbers.
    """

    def __init__(self, name: str, head: bytes) -> None:
        self.name = name
        self.offset = 0  # bytes before the first row
        self.line = 1  # its number
        for first in head.splitlines(keepends=True):
            if first.strip() and not first.startswith(b"#"):
                break
            self.offset += len(first)
            self.line += 1
        else:
            raise InputError(f"{name} has no rows")
        text = first.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace").strip("\r\n")
        self.delimiter = max(DELIMITERS, key=text.count)
        cells = [cell.strip().strip('"') for cell in text.split(self.delimiter)]
        self.columns: list[str] | int = len(cells)
        if not all(_is_number(cell) for cell in cells):
            repeated = sorted({cell for cell in cells if cells.count(cell) > 1})
            if repeated:
                raise InputError(f"{name} has several columns named {repeated[0]!r}")
            self.columns = cells
            self.offset += len(first)
            self.line += 1

    def parse(self, lines: bytes, line: int, features: list[int], labels: list[int]) -> tuple[FloatArray, list[Array]]:
        """Columns of whole lines, the first of which is number ``line``."""
        import pyarrow as pa
        from pyarrow import csv

        n_columns = self.columns if isinstance(self.columns, int) else len(self.columns)
        names = [str(i) for i in range(n_columns)]
        types = {str(i): pa.float64() for i in features}
        try:
            table = csv.read_csv(
                pa.py_buffer(lines),
                read_options=csv.ReadOptions(use_threads=False, column_names=names, block_size=len(lines) + 1),
                parse_options=csv.ParseOptions(delimiter=self.delimiter),
                convert_options=csv.ConvertOptions(
                    column_types=types,
                    include_columns=[str(i) for i in [*features, *labels]],
                    null_values=[*csv.ConvertOptions().null_values, *ALSO_MISSING],
                    strings_can_be_null=True,
                ),
            )
        except pa.ArrowInvalid as error:
            raise InputError(self._explain(str(error), lines, line)) from None
        samples = np.empty((table.num_rows, len(features)))
        for i in range(len(features)):
            samples[:, i] = table.column(i).to_numpy()
        return samples, [table.column(len(features) + i).to_numpy() for i in range(len(labels))]

    def _explain(self, message: str, lines: bytes, line: int) -> str:
        """Arrow's message with the name of the file, the number of the line, and the name of the column."""
        row = re.search(r"Row #(\d+)", message)
        where = self.name
        if row:
            filled = [i for i, content in enumerate(lines.split(b"\n")) if content.strip()]
            where += f", line {line + filled[int(row[1]) - 1]}"
        wrong = re.search(r"Expected (\d+) columns, got (\d+)", message)
        if wrong:
            return f"{where}: {wrong[2]} columns where {wrong[1]} are expected"
        value = re.search(r"In CSV column #(\d+).*invalid value '(.*)'", message, re.DOTALL)
        if value:
            # counted among the columns of the file
            number = int(value[1])
            column = repr(self.columns[number]) if isinstance(self.columns, list) else str(number)
            return f"{where}, column {column}: {value[2]!r} is not a number; choose others with columns (--columns)"
        return f"{where}: {message.splitlines()[0]}"


class Text(Table):
    """A CSV file. Cells have no line breaks in them."""

    counts = "line"

    def __init__(self, path: Path) -> None:
        self._path = path
        with open(path, "rb") as file:
            self._grammar = Grammar(str(path), file.read(HEAD_BYTES))
        self._size = path.stat().st_size
        super().__init__(str(path), self._grammar.columns, None)

    def blocks(self, cursor: Cursor, size: int, features: list[int], labels: list[int]) -> Iterator[Block]:
        """Lines parsed one block after the other. A cursor is (offset of a block, its first line, rows of it done)."""
        offset, line, done = cursor or (self._grammar.offset, self._grammar.line, 0)
        with open(self._path, "rb") as file:
            file.seek(offset)
            while lines := whole_lines(file):
                samples, found = self._grammar.parse(lines, line, features, labels)
                following = offset + len(lines), line + lines.count(b"\n"), 0
                for begin in range(done, len(samples), size):
                    end = min(begin + size, len(samples))
                    after = (offset, line, end) if end < len(samples) else following
                    yield Block(samples[begin:end], [label[begin:end] for label in found], line + begin, after)
                offset, line, done = following

    def fraction(self, cursor: Cursor) -> float:
        """How much of the file comes before this cursor."""
        return cursor[0] / max(1, self._size) if cursor else 0.0


def whole_lines(file: IO[bytes]) -> bytes:
    """The next block of a file, up to the end of a line; empty at its end."""
    block = file.read(BLOCK_BYTES)
    if len(block) == BLOCK_BYTES and not block.endswith(b"\n"):
        block += file.readline()
    return block if block.strip() else b""


class TextWriter(TableWriter):
    """Writes CSV, or what else a delimiter makes of it."""

    def __init__(self, target: Path | IO[bytes], columns: list[str], delimiter: str = ",") -> None:
        import pyarrow as pa
        from pyarrow import csv

        self._ours = isinstance(target, Path)
        self._file = open(target, "wb") if isinstance(target, Path) else target  # noqa: SIM115 (closed by close)
        self._file.write(delimiter.join(columns).encode() + b"\n")  # Arrow would put it in quotation marks
        self._schema = pa.schema([(column, pa.float64()) for column in columns])
        options = csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="none")
        self._writer: Any = csv.CSVWriter(self._file, self._schema, write_options=options)

    def write(self, rows: FloatArray) -> None:
        """Append rows."""
        import pyarrow as pa

        columns = [pa.array(np.ascontiguousarray(column, np.float64)) for column in rows.T]
        self._writer.write_batch(pa.record_batch(columns, schema=self._schema))

    def close(self) -> None:
        """Close the file, unless it is not ours."""
        self._writer.close()
        if self._ours:
            self._file.close()


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell in ("", "NA", *ALSO_MISSING)
    return True
