"""CSV from standard input."""

import sys
from collections.abc import Iterator

from biosfa.exceptions import InputError
from biosfa.io.tables import Block, Cursor, Table
from biosfa.io.tables._text import BLOCK_BYTES, Grammar

STDIN = "-"
NAME = "standard input"


class StandardInput(Table):
    """CSV that comes once, and from which nothing can be read again."""

    counts = "line"

    def __init__(self) -> None:
        self._file = sys.stdin.buffer
        self._first = self._next()
        self._grammar = Grammar(NAME, self._first)
        super().__init__(NAME, self._grammar.columns, None)
        self._read = False

    def blocks(self, cursor: Cursor, size: int, features: list[int], labels: list[int]) -> Iterator[Block]:
        """Lines parsed one block after the other."""
        if self._read:
            raise InputError(
                f"{NAME} can be read only once: write it to a file first, for several passes (pca, epochs)"
            )
        self._read = True
        line, lines = self._grammar.line, self._first[self._grammar.offset :]
        while lines:
            samples, found = self._grammar.parse(lines, line, features, labels)
            for begin in range(0, len(samples), size):
                part = slice(begin, begin + size)
                yield Block(samples[part], [label[part] for label in found], line + begin, ())
            line += lines.count(b"\n")
            lines = self._next()

    def _next(self) -> bytes:
        block = self._file.read(BLOCK_BYTES)
        if block and not block.endswith(b"\n"):
            block += self._file.readline()
        return block if block.strip() else b""


def standard_input() -> list[Table]:
    """What comes in, as a source of :func:`biosfa.io.open_stream`."""
    return [StandardInput()]
