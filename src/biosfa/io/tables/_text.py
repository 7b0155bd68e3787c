"""CSV and its kin: text with a number in each cell, parsed block by block by Arrow."""

import csv as cells_of
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from biosfa.exceptions import InputError
from biosfa.io.tables._table import Array, Block, Cursor, Table, TableWriter, Wrong
from biosfa.typing import FloatArray

BLOCK_BYTES = 2**22
MANY_CELLS = 20  # without a number among them: the column holds something else
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
DELIMITERS = (",", "\t", ";")  # or else a blank
ALSO_MISSING = ["?", "-", "--", ".", "None", "none", "missing", "<NA>", "NaT"]

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(inf|infinity|nan)", re.IGNORECASE)
CLOCK = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[ap]m)?"
DATE = re.compile(  # 2026-11-16, 2026-11-16T12:30:00Z, 16.11.2026 12:30, 11/16/26, 12:30:00.5
    rf"(\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2,4}})"
    rf"([ T]{CLOCK})?(Z|[-+]\d{{2}}:?\d{{2}})?|{CLOCK}",
    re.IGNORECASE,
)


class Cells(NamedTuple):
    """Columns of some lines."""

    samples: FloatArray
    labels: list[Array]
    wrong: Wrong | None  # the first cell of a sample that is no number; it is NaN


class Grammar:
    """How lines of text are to be read: delimiter, names of columns, and where the numbers begin.

    Found from the first lines that are no comments (#). A first line of numbers, dates and marks of missing values is a
    sample; one of words is a header. In a header, a first column without a name is an index, as pandas writes it, and
    is left out.

    Parameters
    ----------
    name : str
        Of the file, for messages.
    head : bytes
        The beginning of the text: whole lines.
    header : bool, optional
        Whether the first line is a header, for those who know.
    """

    def __init__(self, name: str, head: bytes, header: bool | None = None) -> None:
        from pyarrow import csv

        self.name = name
        if b"\0" in head:
            raise InputError(f"{name} is not text in UTF-8")
        self._missing = [*csv.ConvertOptions().null_values, *ALSO_MISSING]
        self.offset = len(BYTE_ORDER_MARK) if head.startswith(BYTE_ORDER_MARK) else 0  # bytes before the first row
        self.line = 1  # its number
        filled: list[bytes] = []
        for line in head[self.offset :].splitlines(keepends=True):
            if not filled and is_comment(line):
                self.offset += len(line)
                self.line += 1
            elif line.strip():
                filled.append(line)
            if len(filled) == 2:
                break
        if not filled:
            raise InputError(f"{name} has no rows")
        text = self._decoded(filled[0])
        self.delimiter = max(DELIMITERS, key=text.count) if any(mark in text for mark in DELIMITERS) else " "
        cells = self._split(text)
        following = self._split(self._decoded(filled[1])) if len(filled) > 1 else None
        self._n_cells = len(cells)
        self._index = 0  # columns before the first that counts
        self._had_numbers = False  # whether there was a block of numbers only
        self.columns: list[str] | int = len(cells)
        if self._is_header(cells, following) if header is None else header:
            self._index = int(cells[0] == "" and len(cells) > 1)
            self.columns = cells[self._index :]
            if "" in self.columns:
                raise InputError(f"{name} has a column without a name: number {cells.index('', self._index)} from 0")
            self.offset += len(filled[0])
            self.line += 1

    def _decoded(self, line: bytes) -> str:
        try:
            return line.decode("utf-8").strip("\r\n")
        except UnicodeDecodeError:
            raise InputError(f"{self.name} is not text in UTF-8: convert it, for example with iconv") from None

    def _split(self, text: str) -> list[str]:
        if self.delimiter == " ":
            text = " ".join(text.split())
        return [cell.strip() for cell in next(cells_of.reader([text], delimiter=self.delimiter))]

    def _is_header(self, cells: list[str], following: list[str] | None) -> bool:
        """Whether the first line has names, judged by its cells and those of the line after it."""
        # numbers in order are names, as pandas gives them to columns without any, after an index without a name
        names = cells[1:] if cells[0] == "" else cells
        if (len(names) > 2 or (len(names) < len(cells) and names)) and names == [str(i) for i in range(len(names))]:
            return True
        if len(names) > 2 and names == [str(i + 1) for i in range(len(names))]:
            return True
        is_word = [not self._is_datum(cell) for cell in cells]
        if not any(is_word):
            return False
        if all(word or cell == "" for word, cell in zip(is_word, cells, strict=True)):
            return True
        if following is not None and len(following) == len(cells):
            words_below = [not self._is_datum(cell) for cell in following]
            if is_word == words_below:  # words over words are labels of samples
                return False
            # words over numbers are names, if what stands beside them may be names as well
            over_numbers = any(word and not below for word, below in zip(is_word, words_below, strict=True))
            if over_numbers and all(word or cell.isdigit() for word, cell in zip(is_word, cells, strict=True)):
                return True
        raise UnclearHeader(
            f"{self.name}: it is not clear whether line {self.line} is a header: say so with header=True (--header) or "
            "header=False (--no-header)"
        )

    def _is_datum(self, cell: str) -> bool:
        """Whether a cell is a number, a date or a mark of a missing value."""
        return cell in self._missing or NUMBER.fullmatch(cell) is not None or DATE.fullmatch(cell) is not None

    def parse(self, lines: bytes, line: int, features: list[int], labels: list[int]) -> Cells:
        """Columns of whole lines, the first of which is number ``line``.

        Raises
        ------
        LineError
            If a line has not as many cells as the first.
        """
        import pyarrow as pa

        if not lines.strip(b"\r\n"):
            return Cells(np.empty((0, len(features))), [np.empty(0) for _ in labels], None)
        if self.delimiter == " ":  # any number of them
            lines = re.sub(rb" *\r?\n *", b"\n", re.sub(rb" +", b" ", lines).strip(b" "))
        try:
            table, wrong = self._read(lines, features, labels, pa.float64()), None
        except pa.ArrowInvalid as error:
            if "conversion error" not in str(error):
                raise self._line_error(str(error), lines, line) from None
            table = self._read(lines, features, labels, pa.string())
            wrong = self._wrong_cell(table, lines, line, features)
        self._had_numbers = self._had_numbers or wrong is None
        samples = np.empty((table.num_rows, len(features)))
        for i in range(len(features)):
            column = table.column(i)
            samples[:, i] = column.to_numpy() if wrong is None else self._numbers(column)
        return Cells(samples, [table.column(len(features) + i).to_numpy() for i in range(len(labels))], wrong)

    def _read(self, lines: bytes, features: list[int], labels: list[int], kind: Any) -> Any:
        import pyarrow as pa
        from pyarrow import csv

        chosen = [str(i + self._index) for i in [*features, *labels]]
        return csv.read_csv(
            pa.py_buffer(lines),
            read_options=csv.ReadOptions(
                use_threads=False, column_names=[str(i) for i in range(self._n_cells)], block_size=len(lines) + 1
            ),
            parse_options=csv.ParseOptions(delimiter=self.delimiter),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(chosen[: len(features)], kind),
                include_columns=chosen,
                null_values=self._missing,
                strings_can_be_null=True,
            ),
        )

    @staticmethod
    def _numbers(column: Any) -> FloatArray:
        """Cells as numbers, NaN where they are none."""
        return np.array([_number(cell) for cell in column.to_pylist()], dtype=np.float64)

    def _wrong_cell(self, table: Any, lines: bytes, line: int, features: list[int]) -> "Wrong":
        """The first cell that is no number, though it is not missing."""
        found = []
        for i, feature in enumerate(features):
            for row, cell in enumerate(table.column(i).to_pylist()):
                if cell is not None and np.isnan(_number(cell)) and cell.strip().lower() != "nan":
                    found.append((row, feature, cell))
                    break
        row, feature, cell = min(found)
        for i, other in enumerate(features if not self._had_numbers else []):
            filled = [cell for cell in table.column(i).to_pylist() if cell is not None]
            if len(filled) >= MANY_CELLS and all(np.isnan(_number(cell)) for cell in filled):
                raise InputError(
                    f"{self.name}, column {self._column_name(other)}: there are no numbers in it, but words such as "
                    f"{filled[0]!r}; choose others with columns (--columns), or say that it is time or episodes "
                    "(--time, --episodes)"
                )
        column = self._column_name(feature)
        if re.fullmatch(r"[-+]?\d+,\d+", cell):
            advice = "write decimals with a point"
        else:
            advice = (
                "choose others with columns (--columns), say that it is time or episodes (--time, --episodes), or let "
                'missing="break" (--missing break) take it for a gap'
            )
        where = f"{self.name}, line {_line_of_row(lines, line, 0, row)}"
        return Wrong(row, f"{where}, column {column}: {cell!r} is not a number; {advice}")

    def _column_name(self, number: int) -> str:
        return repr(self.columns[number]) if isinstance(self.columns, list) else str(number)

    def _line_error(self, message: str, lines: bytes, line: int) -> "LineError":
        """Arrow's message with the name of the file and the number of the line."""
        row = re.search(r"Row #(\d+)", message)
        number = _line_of_row(lines, line, 0, int(row[1]) - 1) if row else None
        where = self.name if number is None else f"{self.name}, line {number}"
        wrong = re.search(r"Expected (\d+) columns, got (\d+)", message)
        what = f"{wrong[2]} columns where {wrong[1]} are expected" if wrong else message.splitlines()[0]
        return LineError(f"{where}: {what}", None if number is None else number - line)

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
            error: LineError | None = None
            try:
                cells = self.parse(lines, line, features, labels)
            except LineError as found:
                if not found.good_lines:
                    raise
                # the good lines before it come first
                error, lines = found, b"".join(lines.splitlines(keepends=True)[: found.good_lines])
                cells = self.parse(lines, line, features, labels)
            n = len(cells.samples)
            following = offset + len(lines), line + lines.count(b"\n"), 0
            for begin in range(done, n, size or max(1, n)):
                end = min(begin + size, n) if size else n
                after = (offset, line, end) if end < n else following
                wrong = cells.wrong if cells.wrong is not None and begin <= cells.wrong.row < end else None
                yield Block(
                    cells.samples[begin:end],
                    [label[begin:end] for label in cells.labels],
                    partial(_line_of_row, lines, line, begin),
                    after,
                    partial(_text_cursor, offset, line, begin),
                    None if wrong is None else Wrong(wrong.row - begin, wrong.message),
                )
            offset, line, done = following
            if error is not None:
                raise error


class UnclearHeader(InputError):  # noqa: N818 (it is one, in words)
    """The first line may be a header, or a sample."""


class LineError(InputError):
    """A line that is not like the others; ``good_lines`` come before it in its block, if that is known."""

    def __init__(self, message: str, good_lines: int | None = None) -> None:
        super().__init__(message)
        self.good_lines = good_lines


def _number(cell: str | None) -> float:
    """A cell as a number, NaN if it is none; as Arrow reads it, which knows fewer than Python."""
    return float(cell) if cell is not None and NUMBER.fullmatch(cell.strip()) else np.nan


def _text_cursor(offset: int, line: int, begin: int, row: int) -> Cursor:
    return offset, line, begin + row


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

    def __init__(self, path: Path, header: bool | None = None) -> None:
        self._path = path
        with open(path, "rb") as file:
            self._grammar = Grammar(str(path), whole_lines(file), header)
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
        try:
            self._writer.close()
        finally:
            if self._ours:
                self._file.close()


def open_text(path: Path, part: str | None, header: bool | None = None) -> Text:
    """The table of a text file."""
    return Text(path, header)


def create_tsv(path: Path, columns: list[str]) -> TextWriter:
    """A table with tabs between its columns."""
    return TextWriter(path, columns, "\t")
