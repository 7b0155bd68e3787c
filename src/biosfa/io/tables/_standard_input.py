"""CSV from standard input: all of it, or line by line as it comes."""

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial

from biosfa.exceptions import InputError
from biosfa.io.tables._table import Block, Cursor, Table
from biosfa.io.tables._text import Grammar, UnclearHeader, is_comment, whole_lines

STDIN = "-"  # what it is called among inputs
NAME = "standard input"  # and in messages
READ_BYTES = 2**20


class StandardInput(Table):
    """CSV that comes once, and from which nothing can be read again.

    Parameters
    ----------
    read : callable
        Gives some whole lines, nothing at the end.
    header : bool, optional
        Whether the first line is a header, for those who know.
    """

    counts = "line"

    def __init__(self, read: Callable[[], bytes], header: bool | None = None) -> None:
        self._next = read
        head = b""
        while all(is_comment(line) for line in head.splitlines()) and (lines := read()):
            head += lines
        while True:
            try:
                self._grammar = Grammar(NAME, head, header)
                break
            except UnclearHeader:
                if not (lines := read()):
                    raise
                head += lines  # the line after it may tell
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
        """What came with the header, then what comes."""
        head, self._head = self._head, b""
        return head or self._next()


def standard_input(header: bool | None = None) -> StandardInput:
    """What comes in, in large blocks."""
    return StandardInput(partial(whole_lines, sys.stdin.buffer), header)


def live_input(descriptor: int, header: bool | None = None) -> StandardInput:
    """What comes in, as soon as a line is whole."""
    rest = b""

    def lines() -> bytes:
        nonlocal rest
        while data := os.read(descriptor, READ_BYTES):
            whole, newline, rest = (rest + data).rpartition(b"\n")
            if newline:
                return whole + newline
        last, rest = rest, b""
        return last + b"\n" if last else b""

    return StandardInput(lines, header)
