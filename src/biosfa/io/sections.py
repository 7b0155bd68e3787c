"""Sections of a stream, which can be read apart from each other, and positions that are joined again."""

from dataclasses import replace
from typing import NamedTuple

from biosfa.io._chunk import Position
from biosfa.io.tables import Block, Cursor


class Section(NamedTuple):
    """Consecutive rows of one file."""

    table: int  # number of the file
    begin: Cursor
    end: Cursor  # () is the end of the file
    row: int  # number of its first row in the file; if it is not known, 1 in place of any but 0
    n_rows: int  # rows of all files before it, as far as they are known

    def position(self, like: Position) -> Position:
        """Return the position at which the section begins, with the steps in time of another position."""
        return Position(
            self.table,
            self.begin,
            self.row,
            step=like.step,
            max_step=like.max_step,
            dated=like.dated,
            n_rows=self.n_rows,
        )


def followed_by(at: Position, begin: Position, end: Position) -> Position:
    """Return the position after a section that was read from ``begin`` to ``end``, if it follows ``at``."""
    n_rows = end.n_rows - begin.n_rows
    return replace(
        end,
        cursor=moved(end.cursor, lines_between(begin.cursor, at.cursor)),
        row=at.row + n_rows,
        n_rows=at.n_rows + n_rows,
        n_skipped=at.n_skipped + end.n_skipped - begin.n_skipped,
        n_broken=at.n_broken + end.n_broken - begin.n_broken,
        n_jumps=at.n_jumps + end.n_jumps - begin.n_jumps,
        longest_jump=max(at.longest_jump, end.longest_jump),
    )


def lines_between(first: Cursor, second: Cursor) -> int:
    """Return the difference of the numbers of lines of two cursors for the same place; 0 if lines are not counted."""
    return second[1] - first[1] if len(first) == len(second) == 3 else 0


def moved(cursor: Cursor, lines: int) -> Cursor:
    """Return a cursor whose lines are counted from another line."""
    return (cursor[0], cursor[1] + lines, cursor[2]) if lines else cursor


def moved_block(block: Block, lines: int) -> Block:
    """Return a block whose lines are counted from another line."""
    if not lines:
        return block
    places = [block.place(row) + lines for row in range(len(block.samples))]
    cursors = [moved(block.at(row), lines) for row in range(len(block.samples))]
    after = moved(block.after, lines)
    return block._replace(place=places.__getitem__, at=[*cursors, after].__getitem__, after=after)
