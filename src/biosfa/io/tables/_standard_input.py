"""CSV from standard input, read in large blocks, or line by line as lines arrive."""

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial

from biosfa.exceptions import InputError
from biosfa.io.tables._grammar import Grammar, UnclearHeader, read_head
from biosfa.io.tables._lines import live_lines, whole_lines
from biosfa.io.tables._table import Block, Cursor, Table

STDIN = "-"  # what it is called among inputs
NAME = "standard input"  # and in messages
READ_BYTES = 2**20  # of a pipe, at most


class StandardInput(Table):
    """CSV from standard input, which can be read only once.

    Parameters
    ----------
    read : callable
        Returns the next complete lines, and nothing at the end.
    header : bool, optional
        Whether the first line is a header. By default its cells decide.
    """

    counts = "line"

    def __init__(self, read: Callable[[], bytes], header: bool | None = None) -> None:
        self._next = read
        head = read_head(read)
        try:
            self._grammar = Grammar(NAME, head, header)
        except UnclearHeader:
            head += read()  # the line after it may tell
            self._grammar = Grammar(NAME, head, header)
        self._head = head[self._grammar.offset :]
        self._read = False
        super().__init__(NAME, self._grammar.columns, None)

    def blocks(self, cursor: Cursor, size: int, features: list[int], labels: list[int]) -> Iterator[Block]:
        """Lines parsed one block after the other."""
        if self._read:
            raise InputError(f"{NAME} can be read only once")
        self._read = True
        yield from self._grammar.blocks(self._lines, features, labels)

    def _lines(self) -> bytes:
        """Return the lines that were read with the header, then the next ones."""
        head, self._head = self._head, b""
        return head or self._next()


def standard_input(header: bool | None = None) -> StandardInput:
    """Return standard input as a table, read in large blocks."""
    return StandardInput(partial(whole_lines, sys.stdin.buffer, NAME), header)


def live_input(descriptor: int, header: bool | None = None) -> StandardInput:
    """What comes in, as soon as a line is whole."""
    return StandardInput(live_lines(partial(os.read, descriptor, READ_BYTES), NAME), header)
