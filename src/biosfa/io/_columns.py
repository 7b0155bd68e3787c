"""Finds the columns of a table that are samples, time and episodes."""

import re
from collections.abc import Sequence
from difflib import get_close_matches

from biosfa.exceptions import InputError
from biosfa.io.tables import Table
from biosfa.wording import listed, quoted

MANY = 10_000  # among more columns, no similar name is sought
RANGE = re.compile(r"(\d+)-(\d+)")


def features_of(
    table: Table, columns: Sequence[str | int] | None, skip: Sequence[str | int] | None, labels: Sequence[int]
) -> list[int]:
    """Return the numbers of the columns that are samples.

    They are the chosen columns, by default all except the labels (time and episodes), without those to skip.

    Raises
    ------
    InputError
        If a column does not exist or is chosen twice, or if none is left.
    """
    if columns is None:
        features = [i for i in range(len(table.columns)) if i not in labels]
    else:
        features = _distinct(table, [i for column in columns for i in _numbers_of(table, column)])
    left_out = {i for column in skip or () for i in _numbers_of(table, column)}
    left = [i for i in features if i not in left_out]
    if not left:
        raise InputError(f"{table.name} has no columns that are samples")
    return left


def number_of(table: Table, column: str | int) -> int:
    """Return the number of a column, from its name, or from its number, which is never taken for a name."""
    if isinstance(column, str):
        if column in table.numbers:
            return table.numbers[column]
    elif 0 <= column < len(table.columns):
        return int(column)
    if not table.named and table.counts == "line":
        raise InputError(
            f"{table.name} has no column {column!r}: it has no header, so give the number of the column, from 0 to "
            f"{len(table.columns) - 1}, or let it begin with the header (tail -n +1 -f)"
        )
    few = isinstance(column, str) and len(table.columns) <= MANY
    near = get_close_matches(str(column), table.columns, n=1) if few else []
    meant = f": did you mean {quoted(near[0])}? It" if near else "; it"
    raise InputError(f"{table.name} has no column {column!r}{meant} has {listed(table.columns)}")


def _numbers_of(table: Table, column: str | int) -> list[int]:
    """Return the number of a column, or the numbers of a range such as 1-8, unless that is the name of a column."""
    found = RANGE.fullmatch(column) if isinstance(column, str) and column not in table.numbers else None
    if found is None:
        return [number_of(table, column)]
    first, last = int(found[1]), int(found[2])
    if not first <= last < len(table.columns):
        raise InputError(
            f"{table.name} has no columns {column}: its {len(table.columns)} columns have the numbers from 0 to "
            f"{len(table.columns) - 1}"
        )
    return list(range(first, last + 1))


def _distinct(table: Table, features: list[int]) -> list[int]:
    """Return the chosen columns; raise InputError if one is chosen twice."""
    seen: set[int] = set()
    for i in features:
        if i in seen:
            raise InputError(f"columns (--columns) has {quoted(table.columns[i])} of {table.name} more than once")
        seen.add(i)
    return features
