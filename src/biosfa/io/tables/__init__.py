"""Tables of numbers in files: one class a format, all read in blocks of rows, none read as a whole."""

from biosfa.io.tables._formats import SUFFIXES, create_table, is_table, open_table
from biosfa.io.tables._table import Block, Cursor, Sliced, Table, TableWriter

__all__ = [
    "SUFFIXES",
    "Block",
    "Cursor",
    "Sliced",
    "Table",
    "TableWriter",
    "create_table",
    "is_table",
    "open_table",
]
