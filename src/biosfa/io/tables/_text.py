"""CSV and its kin: text with a number in each cell, parsed block by block by Arrow."""

import csv as cells_of
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from biosfa.exceptions import InputError
from biosfa.io.tables._table import Array, Block, Cursor, Table, TableWriter
from biosfa.typing import FloatArray

BLOCK_BYTES = 2**22
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
DELIMITERS = (",", "\t", ";")  # or else a blank
ALSO_MISSING = ["?", "-", "--", "None", "none", "missing"]


class Grammar:
    """How lines of text are to be read: delimiter, names of columns, and where the numbers begin.

    Found from the first line that is no comment (#): a header unless all its cells are numbers. A first column without
    a name is an index, as pandas writes it, and is left out.
    """

    def __init__(self, name: str, head: bytes) -> None:
        from pyarrow import csv

        self.name = name
        if b"\0" in head:
            raise InputError(f"{name} is not text in UTF-8")
        self._missing = [*csv.ConvertOptions().null_values, *ALSO_MISSING]
        self.offset = len(BYTE_ORDER_MARK) if head.startswith(BYTE_ORDER_MARK) else 0  # bytes before the first row
        self.line = 1  # its number
        for first in head[self.offset :].splitlines(keepends=True):
            if not is_comment(first):
                break
            self.offset += len(first)
            self.line += 1
        else:
            raise InputError(f"{name} has no rows")
        text = first.decode("utf-8", errors="replace").strip("\r\n")
        self.delimiter = max(DELIMITERS, key=text.count) if any(mark in text for mark in DELIMITERS) else " "
        if self.delimiter == " ":
            text = " ".join(text.split())
        cells = [cell.strip() for cell in next(cells_of.reader([text], delimiter=self.delimiter))]
        self._n_cells = len(cells)
        self._index = 0  # columns before the first that counts
        self.columns: list[str] | int = len(cells)
        # numbers in order are names, as pandas gives them to columns without any
        counted = any(cells == [str(i + first) for i in range(len(cells))] for first in (0, 1)) and len(cells) > 2
        if counted or not all(self._is_number(cell) for cell in cells):
            self._index = int(cells[0] == "" and len(cells) > 1)
            self.columns = cells[self._index :]
            if "" in self.columns:
                raise InputError(f"{name} has a column without a name: number {cells.index('', self._index)} from 0")
            self.offset += len(first)
            self.line += 1

    def parse(self, lines: bytes, line: int, features: list[int], labels: list[int]) -> tuple[FloatArray, list[Array]]:
        """Columns of whole lines, the first of which is number ``line``."""
        import pyarrow as pa
        from pyarrow import csv

        if not lines.strip(b"\r\n"):
            return np.empty((0, len(features))), [np.empty(0) for _ in labels]
        if self.delimiter == " ":  # any number of them
            lines = re.sub(rb" *\r?\n *", b"\n", re.sub(rb" +", b" ", lines).strip(b" "))
        chosen = [str(i + self._index) for i in [*features, *labels]]
        try:
            table = csv.read_csv(
                pa.py_buffer(lines),
                read_options=csv.ReadOptions(
                    use_threads=False, column_names=[str(i) for i in range(self._n_cells)], block_size=len(lines) + 1
                ),
                parse_options=csv.ParseOptions(delimiter=self.delimiter),
                convert_options=csv.ConvertOptions(
                    column_types=dict.fromkeys(chosen[: len(features)], pa.float64()),
                    include_columns=chosen,
                    null_values=self._missing,
                    strings_can_be_null=True,
                ),
            )
        except pa.ArrowInvalid as error:
            raise InputError(self._explain(str(error), lines, line)) from None
        samples = np.empty((table.num_rows, len(features)))
        for i in range(len(features)):
            samples[:, i] = table.column(i).to_numpy()
        return samples, [table.column(len(features) + i).to_numpy() for i in range(len(labels))]

    def blocks(
        self,
        read: Callable[[], bytes],
        features: list[int],
        labels: list[int],
        *,
        size: int | None = None,
        cursor: tuple[int, int, int] | None = None,
    ) -> Iterator[Block]:
        """Blocks of whole lines that ``read`` gives, until it gives none, in parts of at most ``size`` rows.

        A cursor is (offset of a block, its first line, rows of it done).
        """
        offset, line, done = cursor or (self.offset, self.line, 0)
        while lines := read():
            samples, found = self.parse(lines, line, features, labels)
            following = offset + len(lines), line + lines.count(b"\n"), 0
            for begin in range(done, len(samples), size or max(1, len(samples))):
                end = min(begin + size, len(samples)) if size else len(samples)
                after = (offset, line, end) if end < len(samples) else following
                place = partial(_line_of_row, lines, line, begin)
                yield Block(samples[begin:end], [label[begin:end] for label in found], place, after)
            offset, line, done = following

    def _is_number(self, cell: str) -> bool:
        try:
            float(cell)
        except ValueError:
            return cell != "" and cell in self._missing
        return True

    def _explain(self, message: str, lines: bytes, line: int) -> str:
        """Arrow's message with the name of the file, the number of the line, and the name of the column."""
        row = re.search(r"Row #(\d+)", message)
        where = f"{self.name}, line {_line_of_row(lines, line, 0, int(row[1]) - 1)}" if row else self.name
        wrong = re.search(r"Expected (\d+) columns, got (\d+)", message)
        if wrong:
            return f"{where}: {wrong[2]} columns where {wrong[1]} are expected"
        value = re.search(r"In CSV column #(\d+).*invalid value '(.*)'", message, re.DOTALL)
        if value:
            number = int(value[1]) - self._index
            column = repr(self.columns[number]) if isinstance(self.columns, list) else str(number)
            if re.fullmatch(r"[-+]?\d+,\d+", value[2]):
                advice = "write decimals with a point"
            else:
                advice = (
                    "choose others with columns (--columns), or say that it is time or episodes (--time, --episodes)"
                )
            return f"{where}, column {column}: {value[2]!r} is not a number; {advice}"
        return f"{where}: {message.splitlines()[0]}"


def is_comment(line: bytes) -> bool:
    """Whether a line at the beginning of a file tells nothing of its columns."""
    return not line.strip() or (line.startswith(b"#") and not line.startswith(b"#N/A"))


def _line_of_row(lines: bytes, line: int, begin: int, row: int) -> int:
    """The number of the line of a row, which is counted from row ``begin`` of a block; empty lines are no rows."""
    filled = (i for i, content in enumerate(lines.split(b"\n")) if content.strip(b"\r"))
    return line + next(i for position, i in enumerate(filled) if position == begin + row)


class Text(Table):
    """A CSV file. Cells have no line breaks in them; empty lines are skipped."""

    counts = "line"

    def __init__(self, path: Path) -> None:
        self._path = path
        with open(path, "rb") as file:
            self._grammar = Grammar(str(path), whole_lines(file))
        self._size = path.stat().st_size
        super().__init__(str(path), self._grammar.columns, None)

    def blocks(self, cursor: Cursor, size: int, features: list[int], labels: list[int]) -> Iterator[Block]:
        """Lines parsed one block after the other."""
        place = (cursor[0], cursor[1], cursor[2]) if cursor else None
        with open(self._path, "rb") as file:
            file.seek(place[0] if place else self._grammar.offset)
            yield from self._grammar.blocks(partial(whole_lines, file), features, labels, size=size, cursor=place)

    def fraction(self, cursor: Cursor) -> float:
        """How much of the file comes before this cursor."""
        return cursor[0] / max(1, self._size) if cursor else 0.0


def whole_lines(file: IO[bytes]) -> bytes:
    """The next block of a file, up to the end of a line; empty at its end."""
    block = file.read(BLOCK_BYTES)
    if len(block) == BLOCK_BYTES and not block.endswith(b"\n"):
        block += file.readline()
    return block


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


def open_text(path: Path, part: str | None) -> Text:
    """The table of a text file."""
    return Text(path)


def create_tsv(path: Path, columns: list[str]) -> TextWriter:
    """A table with tabs between its columns."""
    return TextWriter(path, columns, "\t")
