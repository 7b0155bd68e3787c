"""CSV and text with other delimiters, parsed block by block."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from biosfa.io.tables._grammar import Grammar, read_head
from biosfa.io.tables._lines import count_lines, ends_of_blocks, whole_lines
from biosfa.io.tables._table import Block, Cursor, Table, TableWriter
from biosfa.typing import FloatArray


class Text(Table):
    """A CSV file. Cells have no line breaks in them. Empty lines are skipped, unless there is one column only."""

    counts = "line"

    def __init__(self, path: Path, header: bool | None = None) -> None:
        self._path = path
        with open(path, "rb") as file:
            self._grammar = Grammar(str(path), read_head(partial(whole_lines, file, str(path))), header)
        self._size = path.stat().st_size
        super().__init__(str(path), self._grammar.columns, None)

    def blocks(self, cursor: Cursor, size: int, features: list[int], labels: list[int]) -> Iterator[Block]:
        """Lines parsed one block after the other."""
        place = (cursor[0], cursor[1], cursor[2]) if cursor else None
        with open(self._path, "rb") as file:
            file.seek(place[0] if place else self._grammar.offset)
            read = partial(whole_lines, file, self.name, self._grammar.line_bytes)
            yield from self._grammar.blocks(read, features, labels, size=size, cursor=place)

    def breaks(self, n_bytes: int, size: int) -> list[Cursor]:
        """Ends of blocks of lines. The numbers of their lines are not known: each counts from 1."""
        breaks: list[Cursor] = []
        begin = self._grammar.offset
        with open(self._path, "rb") as file:
            for end in ends_of_blocks(file, self._size, self.name, begin, self._grammar.line_bytes):
                if end - begin >= n_bytes:
                    breaks.append((end, 1, 0))
                    begin = end
        return breaks

    def with_lines(self, cursor: Cursor) -> Cursor:
        """Count the lines before a cursor."""
        if not cursor:
            return cursor
        line, offset = self._grammar.line, self._grammar.offset
        with open(self._path, "rb") as file:
            file.seek(offset)
            while offset < cursor[0] and (lines := whole_lines(file, self.name, self._grammar.line_bytes)):
                line, offset = line + count_lines(lines), offset + len(lines)
        return (cursor[0], line, cursor[2])

    def fraction(self, cursor: Cursor) -> float:
        """Return the share of the file before this cursor, from 0 to 1."""
        return cursor[0] / max(1, self._size) if cursor else 0.0


class TextWriter(TableWriter):
    """Writes CSV, or text with another delimiter."""

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
        """Close the file, if it was opened here."""
        try:
            self._writer.close()
        finally:
            if self._ours:
                self._file.close()


def open_text(path: Path, part: str | None, header: bool | None = None) -> Text:
    """The table of a text file."""
    return Text(path, header)


def create_tsv(path: Path, columns: list[str]) -> TextWriter:
    """Return a writer of text with tabs between the columns."""
    return TextWriter(path, columns, "\t")
