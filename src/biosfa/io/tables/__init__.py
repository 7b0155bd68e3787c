"""Tables of numbers in files: one class per format. All are read in blocks of rows, never as a whole."""

from biosfa.io.tables._arrow import Frame
from biosfa.io.tables._collections import Collection, as_blocks, frame_parts, frame_rows, is_collection, is_frame
from biosfa.io.tables._formats import STDOUT, create_table, is_table, open_table
from biosfa.io.tables._standard_input import STDIN, live_input, standard_input
from biosfa.io.tables._table import Block, Cursor, Sliced, Table, Wrong, row_cursor
from biosfa.io.tables._text import TextWriter

__all__ = [
    "STDIN",
    "STDOUT",
    "Block",
    "Collection",
    "Cursor",
    "Frame",
    "Sliced",
    "Table",
    "TextWriter",
    "Wrong",
    "as_blocks",
    "create_table",
    "frame_parts",
    "frame_rows",
    "is_collection",
    "is_frame",
    "is_table",
    "live_input",
    "open_table",
    "row_cursor",
    "standard_input",
]
