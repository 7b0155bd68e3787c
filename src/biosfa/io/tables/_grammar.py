"""How lines of text are read: delimiter, names, and cells, which Arrow parses."""

import csv as cells_of
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from biosfa.exceptions import InputError
from biosfa.floats import check_digits
from biosfa.io.tables._checks import NOT_A_SAMPLE, NOT_SAMPLES, reading
from biosfa.io.tables._header import NUMBER, is_header
from biosfa.io.tables._lines import BLANK, blank_lines, count_lines
from biosfa.io.tables._table import Array, Block, Cursor, Wrong
from biosfa.typing import FloatArray
from biosfa.wording import listed, printable, quoted, shortened

MANY_CELLS = 20  # without a number among them: the column holds something else
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
DELIMITERS = (",", "\t", ";")  # or else a blank
ALSO_MISSING = ["?", "-", "--", ".", "None", "none", "missing", "<NA>", "NaT"]
UNREADABLE = re.compile(r"(In CSV column #\d+: )?(Row #\d+: )?CSV conversion error")  # what Arrow says of a cell


class Cells(NamedTuple):
    """Columns of some lines."""

    samples: FloatArray
    labels: list[Array]
    wrong: Wrong | None  # the first cell of a sample that is no number; it is NaN


class Grammar:
    """How lines of text are to be read: delimiter, names of columns, and where the numbers begin.

    Found from the first lines that are no comments (#). :func:`is_header` says which first lines are headers. In a
    header, a first column without a name is an index, as pandas writes it, and is left out.

    Parameters
    ----------
    name : str
        Of the file, for messages.
    head : bytes
        The beginning of the text: whole lines.
    header : bool, optional
        Whether the first line is a header. By default its cells decide.

    Raises
    ------
    UnclearHeader
        If the first line may be a header or a sample.
    """

    def __init__(self, name: str, head: bytes, header: bool | None = None) -> None:
        from pyarrow import csv

        self.name = printable(name)
        if b"\0" in head:
            raise InputError(f"{name} is not text in UTF-8")
        self._missing = frozenset([*csv.ConvertOptions().null_values, *ALSO_MISSING])
        self.offset = len(BYTE_ORDER_MARK) if head.startswith(BYTE_ORDER_MARK) else 0  # bytes before the first row
        self.line = 1  # its number
        lines = head[self.offset :].splitlines(keepends=True)
        n_comments = next((i for i, line in enumerate(lines) if not is_comment(line)), len(lines))
        self._skip(b"".join(lines[:n_comments]))
        filled = list(islice((line for line in islice(lines, n_comments, None) if line.strip(BLANK)), 2))
        if not filled:
            raise InputError(f"{name} has no rows")
        self.line_bytes = len(filled[-1])  # of a line, more or less
        text = self._decoded(filled[0])
        self.delimiter = max(DELIMITERS, key=text.count) if any(mark in text for mark in DELIMITERS) else " "
        cells = self._split(text)
        following = self._split(self._decoded(filled[1])) if len(filled) > 1 else None
        self._n_cells = len(cells)
        self._index = 0  # columns before the first that counts
        self._had_numbers = False  # whether there was a block of numbers only
        self.columns: list[str] | int = len(cells)
        named = is_header(cells, following, self._missing) if header is None else header
        if named is None:
            raise UnclearHeader(
                f"{name}: it is not clear whether line {self.line} is a header: say so with header=True (--header) or "
                "header=False (--no-header)"
            )
        if named:
            self._index = int(cells[0] == "" and len(cells) > 1)
            self.columns = cells[self._index :]
            if "" in self.columns:
                raise InputError(f"{name} has a column without a name: number {cells.index('', self._index)} from 0")
            self._skip(filled[0])
            self._skip(blank_lines(head[self.offset :]))

    def _skip(self, lines: bytes) -> None:
        """Go past lines before the first row."""
        self.offset += len(lines)
        self.line += count_lines(lines)

    def _decoded(self, line: bytes) -> str:
        try:
            return line.decode("utf-8").strip("\r\n")
        except UnicodeDecodeError:
            raise InputError(f"{self.name} is not text in UTF-8: convert it, for example with iconv") from None

    def _split(self, text: str) -> list[str]:
        if self.delimiter == " ":
            text = " ".join(text.split())
        if '"' not in text:
            return [cell.strip() for cell in text.split(self.delimiter)]
        with reading(f"{self.name}: its first lines have cells that cannot be read"):
            return [cell.strip() for cell in next(cells_of.reader([text], delimiter=self.delimiter))]

    def parse(self, lines: bytes, line: int, features: list[int], labels: list[int]) -> Cells:
        """Columns of whole lines, the first of which is number ``line``.

        Raises
        ------
        LineError
            If a line has not as many cells as the first.
        InputError
            If a whole number has too many digits.
        """
        import pyarrow as pa

        if not lines.strip(BLANK):
            return Cells(np.empty((0, len(features))), [np.empty(0) for _ in labels], None)
        if self.delimiter == " " and b" " in lines:  # any number of them
            lines = re.sub(rb" *(\r\n|\r|\n) *", b"\n", re.sub(rb" +", b" ", lines).strip(b" "))
        if self._n_cells == 1:  # those at the end of a file are no rows
            lines = lines.rstrip(BLANK) + b"\n"
        with reading(f"{self.name}, line {line} or after: it cannot be read"):
            try:
                table = self._read(lines, features, labels, pa.float64())
            except pa.ArrowInvalid as error:
                if not UNREADABLE.match(str(error)):
                    raise self._line_error(str(error), lines, line) from None
                table = self._read(lines, features, labels, pa.binary())
        self._check_quotes(table.num_rows, lines, line)
        as_words = pa.types.is_binary(table.column(0).type)
        wrong = self._wrong_cell(table, lines, line, features) if as_words else None
        self._had_numbers = self._had_numbers or wrong is None
        samples = np.empty((table.num_rows, len(features)))
        for i in range(len(features)):
            samples[:, i] = _numbers(table.column(i)) if as_words else table.column(i).to_numpy()

        def as_written(i: int) -> list[str]:
            words = table.column(i) if as_words else self._read(lines, [features[i]], [], pa.binary()).column(0)
            return list(_words(words))

        check_digits(samples, as_written, lambda row, i: self._place(lines, line, row, features[i]))
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
            # in a file of one column, a line without a cell is a value that is missing
            parse_options=csv.ParseOptions(delimiter=self.delimiter, ignore_empty_lines=self._n_cells > 1),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(chosen[: len(features)], kind),
                include_columns=chosen,
                null_values=list(self._missing),
                strings_can_be_null=True,
            ),
        )

    def _rows(self, lines: bytes) -> list[int]:
        """Which lines are rows."""
        blanks = BLANK if self.delimiter == " " else b"\r\n"
        return [i for i, line in enumerate(lines.splitlines()) if self._n_cells == 1 or line.strip(blanks)]

    def _line_of_row(self, lines: bytes, line: int, begin: int, row: int) -> int:
        """The number of the line of a row, which is counted from row ``begin`` of a block."""
        return line + self._rows(lines)[begin + row]

    def _check_quotes(self, n_rows: int, lines: bytes, line: int) -> None:
        """Raise LineError if a quotation mark has made one cell of several lines."""
        n_lines = count_lines(lines) + (not lines.endswith((b"\n", b"\r")))
        if b'"' not in lines or n_rows == n_lines or n_rows == len(self._rows(lines)):
            return
        opened = next((i for i, text in enumerate(lines.splitlines()) if text.count(b'"') % 2), 0)
        raise LineError(
            f"{self.name}, line {line + opened}: a quotation mark is not closed on its line; cells have no line breaks",
            opened,
        )

    def _wrong_cell(self, table: Any, lines: bytes, line: int, features: list[int]) -> Wrong | None:
        """The first cell that is no number, though it is not missing."""
        found = []
        for i, feature in enumerate(features):
            for row, cell in enumerate(_words(table.column(i))):
                if not self._is_number(cell):
                    found.append((row, feature, cell))
                    break
        if not found:  # marks of missing values have blanks beside them
            return None
        row, feature, cell = min(found)
        if not self._had_numbers:
            self._check_for_numbers(table, features)
        if re.fullmatch(r"[-+]?\d+,\d+", cell):
            advice = "write decimals with a point"
        else:
            advice = (
                "leave the column out with skip (--skip), say that it is time or episodes (--time, --episodes), or let "
                'missing="break" (--missing break) take it for a gap'
            )
        where = self._place(lines, line, row, feature)
        return Wrong(row, f"{where}: {quoted(cell)} is not a number; {advice}")

    def _place(self, lines: bytes, line: int, row: int, feature: int) -> str:
        """Where a cell is, in words."""
        return f"{self.name}, line {self._line_of_row(lines, line, 0, row)}, column {self._column_name(feature)}"

    def _check_for_numbers(self, table: Any, features: list[int]) -> None:
        """Raise InputError if there are columns without a single number; name all of them."""
        words: dict[str, str] = {}
        for i, feature in enumerate(features):
            filled = [cell for cell in _words(table.column(i)) if cell not in self._missing]
            if len(filled) >= MANY_CELLS and not any(map(self._is_number, filled)):
                words[self._column_name(feature)] = quoted(filled[0])
        if len(words) == 1:
            ((column, word),) = words.items()
            raise InputError(
                f"{self.name}, column {column}: there are no numbers in it, but words such as {word}; {NOT_A_SAMPLE}"
            )
        if words:
            examples = listed(f"{column} ({word})" for column, word in words.items())
            raise InputError(f"{self.name}: there are no numbers, but words, in the columns {examples}; {NOT_SAMPLES}")

    def _is_number(self, cell: str) -> bool:
        """Whether a cell is a number, or a mark of a missing value."""
        return cell in self._missing or NUMBER.fullmatch(cell) is not None

    def _column_name(self, number: int) -> str:
        return quoted(self.columns[number]) if isinstance(self.columns, list) else str(number)

    def _line_error(self, message: str, lines: bytes, line: int) -> "LineError":
        """Arrow's message with the name of the file and the number of the line."""
        row = re.match(r"CSV parse error: Row #(\d+)", message)
        number = self._line_of_row(lines, line, 0, int(row[1]) - 1) if row else None
        where = self.name if number is None else f"{self.name}, line {number}"
        wrong = re.search(r"Expected (\d+) columns, got (\d+)", message)
        what = f"{wrong[2]} columns where {wrong[1]} are expected" if wrong else shortened(message.splitlines()[0])
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
            following = offset + len(lines), line + count_lines(lines), 0
            for begin in range(done, n, size or max(1, n)):
                end = min(begin + size, n) if size else n
                after = (offset, line, end) if end < n else following
                wrong = cells.wrong if cells.wrong is not None and begin <= cells.wrong.row < end else None
                yield Block(
                    cells.samples[begin:end],
                    [label[begin:end] for label in cells.labels],
                    partial(self._line_of_row, lines, line, begin),
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


def _words(column: Any) -> Iterator[str]:
    """Cells of a column without the blanks around them, empty where they are missing."""
    return ("" if cell is None else cell.decode(errors="replace").strip() for cell in column.to_pylist())


def _numbers(column: Any) -> FloatArray:
    """Return cells as numbers, NaN for cells that Arrow would not read as a number (Python accepts more)."""
    return np.array([float(cell) if NUMBER.fullmatch(cell) else np.nan for cell in _words(column)], dtype=np.float64)


def _text_cursor(offset: int, line: int, begin: int, row: int) -> Cursor:
    return offset, line, begin + row


def is_comment(line: bytes) -> bool:
    """Return whether a line at the beginning of a file is blank or a comment."""
    return not line.strip(BLANK) or (line.startswith(b"#") and not line.startswith(b"#N/A"))


def read_head(read: Callable[[], bytes]) -> bytes:
    """The beginning of a text, up to a block that has more than comments, or to the end."""
    pieces = []
    while lines := read():
        pieces.append(lines)
        if not all(map(is_comment, lines.splitlines())):
            break
    return b"".join(pieces)
