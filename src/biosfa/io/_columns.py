"""Finds the columns of a table that are samples, time and episodes."""

from biosfa.exceptions import InputError
from biosfa.io.tables import Table
from biosfa.wording import listed, quoted


def number_of(table: Table, column: str | int) -> int:
    """The number of a column, from its name, or from its number, which is never taken for a name."""
    if isinstance(column, str):
        if column in table.numbers:
            return table.numbers[column]
    elif 0 <= column < len(table.columns):
        return int(column)
    raise InputError(f"{table.name} has no column {column!r}; it has {listed(table.columns)}")


def distinct(table: Table, features: list[int]) -> list[int]:
    """Return the chosen columns; raise InputError if one is chosen twice."""
    seen: set[int] = set()
    for i in features:
        if i in seen:
            raise InputError(f"columns (--columns) has {quoted(table.columns[i])} of {table.name} more than once")
        seen.add(i)
    return features
