"""Learning from lines as they come, and answering each with its slow features."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from sklearn.base import clone

from biosfa.estimators._base import Projection
from biosfa.estimators._bio_sfa import BioSFA
from biosfa.estimators._events import next_event
from biosfa.io import Chunk, open_stream
from biosfa.io.tables import Block, Cursor, Table
from biosfa.io.tables._text import Grammar, TextWriter
from biosfa.typing import FloatArray

READ_BYTES = 2**20
NAME = "standard input"

# When the answers take up what was learned: from the 8th sample on, whenever so much more has been seen. A function of
# the number of the sample alone, so that answers do not depend on how lines happen to arrive.
FIRST, GRID, GROWTH = 8, 64, 1 / 64


class Live(Table):
    """CSV that is parsed as soon as a line is whole."""

    counts = "line"

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""
        head = b""
        while not any(line.strip() and not line.startswith(b"#") for line in head.splitlines()):
            lines = self._lines()
            if not lines:
                break
            head += lines
        self._grammar = Grammar(NAME, head)
        self._head = head[self._grammar.offset :]
        super().__init__(NAME, self._grammar.columns, None)

    def blocks(self, cursor: Cursor, size: int, features: list[int], labels: list[int]) -> Iterator[Block]:
        """What has come since the last block."""
        line, lines = self._grammar.line, self._head
        while True:
            if lines.strip():
                samples, found = self._grammar.parse(lines, line, features, labels)
                yield Block(samples, found, line, ())
            line += lines.count(b"\n")
            lines = self._lines()
            if not lines:
                return

    def _lines(self) -> bytes:
        """Whole lines, as many as have come; waits for one at least. Nothing at the end."""
        while True:
            data = os.read(self._descriptor, READ_BYTES)
            if not data:
                lines, self._rest = self._rest, b""
                return lines + b"\n" if lines.strip() else b""
            whole, newline, rest = (self._rest + data).rpartition(b"\n")
            self._rest = rest
            if newline:
                return whole + newline


class Answers:
    """Features of samples while a network goes on learning from them."""

    def __init__(self, net: BioSFA) -> None:
        self.net = net
        self._seen = net.n_samples_seen_ if hasattr(net, "_network") else 0
        self._projection: Projection | None = Projection.of(net) if self._seen else None

    def of(self, chunk: Chunk) -> FloatArray:
        """Learn from a chunk; a row of features for each of its rows, NaN as long as there are none."""
        answers = np.full((chunk.n_rows, self.net.n_components), np.nan)
        kept = np.arange(chunk.n_rows) if chunk.kept is None else np.flatnonzero(chunk.kept)
        begin = 0
        while begin < len(kept):
            due = next_event(self._seen, first=FIRST, grid=GRID, growth=GROWTH, window=np.inf)
            end = min(len(kept), begin + due - self._seen)
            part = chunk._replace(samples=chunk.samples[begin:end], starts=chunk.starts[begin:end], kept=None)
            self.net.partial_fit(part.samples, starts=part.starts)
            if self._projection is None:
                self._projection = Projection.of(self.net)
                self._projection.components = np.full_like(self._projection.components, np.nan)
            answers[kept[begin:end]] = self._projection.features(part)
            self._seen += end - begin
            if self._seen == due:
                self._take_up(self._projection)
            begin = end
        return answers

    def _take_up(self, projection: Projection) -> None:
        """Answer with what has been learned since, features keeping their signs."""
        components = self.net.components_
        turned = np.einsum("ij,ij->i", components, np.nan_to_num(projection.components)) < 0.0
        projection.components = np.where(turned[:, None], -components, components)
        projection.mean = self.net.mean_


def answer(net: BioSFA, descriptor: int, target: IO[bytes], *, keep: Path | None, every: float, **options: Any) -> int:
    """Read lines until they end, write a line of features for each at once, and keep the model; returns how many.

    The model is written to ``keep`` every so many seconds, and at the end, however that comes.
    """
    warm_up(net)
    answers = Answers(net)
    stream = open_stream(Live(descriptor), **options)
    writer = TextWriter(target, [f"slow{i}" for i in range(net.n_components)])
    target.flush()
    n_rows, saved = 0, time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for chunk in stream:
            writer.write(answers.of(chunk))
            target.flush()
            n_rows += chunk.n_rows
            if keep is not None and time.monotonic() - saved > every:
                net.save(keep)
                saved = time.monotonic()
    except BrokenPipeError:  # nobody listens any more
        pass
    finally:
        if keep is not None and hasattr(net, "_network"):
            net.save(keep)
    return n_rows


def warm_up(net: BioSFA) -> None:
    """Load what is compiled before the first line comes, so that it need not wait."""
    samples = np.random.default_rng(0).standard_normal((GRID, net.n_components + 1))
    twin = clone(net).set_params(pca=None, n_delays=1).partial_fit(samples)
    Projection.of(twin)
