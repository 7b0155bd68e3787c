"""Decide whether the first line of a text is a header, from its cells and those of the line after it."""

import re
from collections.abc import Collection
from enum import Enum, auto

NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?|[-+]?(inf|infinity|nan)", re.IGNORECASE | re.ASCII)
CLOCK = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[ap]m)?"
DATE = re.compile(  # 2026-11-16, 2026-11-16T12:30:00Z, 16.11.2026 12:30, 11/16/26, 12:30:00.5
    rf"(\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2,4}})"
    rf"([ T]{CLOCK})?(Z|[-+]\d{{2}}:?\d{{2}})?|{CLOCK}",
    re.IGNORECASE | re.ASCII,
)
FEWEST = 3  # numbers that count; 0, 1 may well be a sample
ODD = re.compile(r"[-+.]*\d.*|true|false|yes|no|on|off", re.IGNORECASE | re.DOTALL)


class Kind(Enum):
    """Kinds of cells."""

    DATUM = auto()  # a number, a date or a mark of a missing value
    WORD = auto()  # a name, or a label
    ODD = auto()  # begins like a number, or is a truth value: a name or a datum


def is_header(cells: list[str], following: list[str] | None, missing: Collection[str]) -> bool | None:
    """Whether a first line has names, None if that is not clear; ``missing`` are the marks of missing values.

    A line of data is a sample, and a line of words is a header. Anything else is clear only where the line after it
    makes it so. Numbers that count columns (0, 1, 2) are not clear: pandas writes them for a frame without names.
    """
    if _counts(cells):
        return None
    kinds = [_kind(cell, missing) for cell in cells]
    if all(kind is Kind.DATUM for kind in kinds):
        return False
    below = None
    if following is not None and len(following) == len(cells):
        below = [_kind(cell, missing) for cell in following]
    if all(kind is not Kind.DATUM or cell == "" for kind, cell in zip(kinds, cells, strict=True)):
        return True if Kind.WORD in kinds and (Kind.ODD not in kinds or kinds != below) else None
    if below is None:
        return None
    if [kind is Kind.DATUM for kind in kinds] == [kind is Kind.DATUM for kind in below]:
        return False  # words over words are labels of samples
    # words over numbers are names, if what stands beside them may be names as well: numbers that go up
    over_data = any(kind is Kind.WORD and under is Kind.DATUM for kind, under in zip(kinds, below, strict=True))
    beside = [cell for kind, cell in zip(kinds, cells, strict=True) if kind is Kind.DATUM]
    if over_data and Kind.ODD not in kinds and all(cell.isdecimal() for cell in beside):
        numbers = [float(cell) for cell in beside]
        return True if numbers == sorted(set(numbers)) else None
    return None


def _kind(cell: str, missing: Collection[str]) -> Kind:
    if cell in missing or NUMBER.fullmatch(cell) or DATE.fullmatch(cell):
        return Kind.DATUM
    return Kind.ODD if ODD.fullmatch(cell) else Kind.WORD


def _counts(cells: list[str]) -> bool:
    """Whether cells number the columns from 0, as pandas does, perhaps after the empty name of an index."""
    has_index = cells[0] == ""
    numbers = cells[1:] if has_index else cells
    return len(numbers) >= (1 if has_index else FEWEST) and all(cell == str(i) for i, cell in enumerate(numbers))
