"""Sections of a stream that are learned apart from each other, on several machines, and then joined.

What a row adds to the moments depends on the rows before it, as many as :meth:`_rows_needed` says, less one. So the
first rows of a section, its *head*, are learned only when it is joined to what comes before. The head travels, not the
section. Joined in any grouping, the sections give the model of a fit to all of the stream.
"""

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from biosfa.estimators._constants import ConstantColumns
from biosfa.estimators._fitting import Fitting, LaterEpisodes
from biosfa.io import Chunk, Position
from biosfa.io.sections import followed_by, lines_between, moved_block
from biosfa.io.tables import Block


class BlockReader(Protocol):
    """Something that checks rows, and divides them into episodes: a stream, or a reader of arrays."""

    def chunks_of(self, block: Block, at: Position) -> Iterator[Chunk]:
        """Yield the chunks of a block of rows after a position."""


@dataclass
class Learned:
    """What was learned from a section: the sums over its rows after the head, and the state after its last row."""

    fitting: Fitting  # of the rows after the head
    depth: int  # number of rows of a whole head; 0 for the beginning of a stream
    origin: Position = field(default_factory=Position)  # where the section begins
    constants: ConstantColumns = field(default_factory=ConstantColumns)
    head: list[Block] = field(default_factory=list)
    n_head: int = 0
    after_head: Position = field(default_factory=Position)

    @property
    def at(self) -> Position:
        """Where the rows end that have been learned."""
        return self.fitting.position or self.origin

    def add(self, block: Block, reader: BlockReader) -> None:
        """Learn from the next rows of the section."""
        wanted = self.depth - self.n_head
        if wanted > 0:
            self.head.append(block.first(wanted).alone())
            self.n_head += len(self.head[-1].samples)
            if self.n_head < self.depth:
                return
            for rows in self.head:
                self._learn(rows, reader)
            self.after_head = self.at
            self.fitting.forget_sums(LaterEpisodes(self.fitting.episodes.needed))  # what is left is the state
            block = block.rest(wanted)
        if len(block.samples):
            self._learn(block, reader)

    def join(self, later: "Learned", reader: BlockReader) -> None:
        """Add the section that follows this one."""
        if later.origin.table != self.at.table:
            self.fitting.position = replace(self.at, table=later.origin.table, cursor=(), row=0)
        lines = lines_between(later.origin.cursor, self.at.cursor)
        for rows in later.head:
            self.add(moved_block(rows, lines), reader)
        self.constants.join(later.constants)
        end = later.fitting.position
        if end is not None:
            self.fitting.join(later.fitting, followed_by(self.at, later.after_head, end))

    def _learn(self, rows: Block, reader: BlockReader) -> None:
        for chunk in reader.chunks_of(rows, self.at):
            self.fitting.learn(chunk)
            if len(chunk.samples):
                self.constants.add(chunk.samples)


def learn_section(
    fitting: Fitting, depth: int, origin: Position, blocks: Iterable[Block], reader: BlockReader
) -> Learned:
    """Learn from the blocks of a section that begins at ``origin``; ``fitting`` comes from :meth:`Fitting.apart`."""
    learned = Learned(copy.deepcopy(fitting), depth, origin)
    for block in blocks:
        learned.add(block, reader)
    return learned
