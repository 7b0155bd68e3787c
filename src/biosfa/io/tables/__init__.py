"""Tables of numbers in files: one class a format, all read in blocks of rows, none read as a whole."""

from biosfa.io.tables._formats import create_table, is_table, open_table
from biosfa.io.tables._table import Block, Cursor, Sliced, Table

__all__ = [
    "Block",
    "Cursor",
    "Sliced",
    "Table",
    "create_table",
    "is_table",
    "open_table",
]
