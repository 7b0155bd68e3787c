"""Streams of samples from files: chunks of rows, with flags where episodes begin."""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from biosfa.episodes import (
    JUMP,
    in_numbers,
    last_time,
    read_times,
    rows_with_nan,
    steps_of,
    without_missing,
)
from biosfa.exceptions import InputError
from biosfa.floats import unmasked
from biosfa.io._chunk import Chunk, Position
from biosfa.io._columns import features_of, number_of
from biosfa.io._jumps import JumpError, describe_jump
from biosfa.io._reading import Reading
from biosfa.io._sources import files_of, path_of, size_of, sources_of
from biosfa.io.sections import Section
from biosfa.io.tables import Block, Table, Wrong, open_table
from biosfa.kernels.finite import all_finite
from biosfa.typing import BoolArray, Float64Array
from biosfa.wording import listed, quoted

CHUNK_BYTES = 2**23
CHUNK_ROWS = 64  # at least, however many columns there are


@dataclass(frozen=True)
class StreamOptions:
    """Options for reading inputs: the parameters of :func:`open_stream` other than source and chunk size.

    Raises
    ------
    ValueError
        If an option is invalid.
    """

    columns: Sequence[str | int] | None = None
    time: str | int | None = None
    max_step: float | None = None
    episodes: int | str | Sequence[int] | None = None
    missing: str = "raise"
    joined: bool = False
    header: bool | None = None
    skip: Sequence[str | int] | None = None

    def __post_init__(self) -> None:
        if self.max_step is not None and not self.max_step > 0:
            raise ValueError(f"max_step must be a positive number; got {self.max_step!r}")
        if self.missing not in ("raise", "break"):
            raise ValueError(f"missing must be 'raise' or 'break'; got {self.missing!r}")
        if self.columns is not None:
            if not self.columns:
                raise ValueError("columns must name at least one column")
            object.__setattr__(self, "columns", tuple(self.columns))
        if self.skip is not None:
            object.__setattr__(self, "skip", tuple(self.skip))
        if self.episodes is None or isinstance(self.episodes, str):
            return
        if np.size(self.episodes) == 0 or np.min(self.episodes) < 1:
            raise ValueError(f"every episode needs at least one row; got episodes={self.episodes!r}")
        given = unmasked(self.episodes)
        if given.dtype.kind not in "iu":
            raise ValueError(f"episodes must be whole numbers, or the name of a column; got {self.episodes!r}")
        object.__setattr__(self, "episodes", int(given) if given.ndim == 0 else tuple(given.tolist()))

    def open(self, source: Any, chunk_size: int | None = None) -> "Stream":
        """Return the stream of a source; see :func:`open_stream`."""
        if chunk_size is not None and chunk_size < 1:
            raise ValueError(f"chunk_size must be at least 1; got {chunk_size!r}")
        return Stream(sources_of(source), self, chunk_size)


class Stream:
    """Samples from one or several files, read in chunks. :func:`open_stream` opens it.

    You can pass it to ``fit`` of a learner in place of an array. You can iterate over it several times; it yields
    :class:`Chunk` objects.

    Attributes
    ----------
    feature_names : list of str
        Names of the columns of a sample. They are x0, x1, … if the files have no names.
    named : bool
        Whether the files have names for their columns.
    chosen : bool
        Whether ``columns`` chose the columns.
    n_features : int
        Number of columns of a sample.
    n_rows : int or None
        Number of rows of all files. None if this is not known before the files are read, as for text files.
    chunk_size : int
        Largest number of rows of a chunk.
    reading : Reading
        How the rows are divided into episodes.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.io import open_stream
    >>> stream = open_stream(np.arange(20.0).reshape(10, 2), chunk_size=4)
    >>> stream.feature_names, stream.n_rows
    (['x0', 'x1'], 10)
    >>> [len(chunk.samples) for chunk in stream]
    [4, 4, 2]
    """

    def __init__(
        self, sources: Sequence[str | os.PathLike[str] | Table], options: StreamOptions, chunk_size: int | None
    ) -> None:
        self._sources = list(sources)
        self._columns, self._skip = options.columns, options.skip
        self._time = options.time
        self._max_step = options.max_step
        self._missing = options.missing
        self._joined = options.joined
        self._header = options.header
        episodes = options.episodes
        self._label = episodes if isinstance(episodes, str) else None
        self._every = episodes if isinstance(episodes, int) else None
        lengths = None if self._label is not None or self._every is not None else episodes
        self._ends = None if lengths is None else np.cumsum(np.asarray(lengths, dtype=np.int64))
        self.feature_names: list[str] = []
        self._opened: tuple[int, Table] | None = None  # the last one
        first = self._open(0)
        features, labels = self._find_columns(first)
        self.named = first.named or (options.columns, options.skip) != (None, None)  # x0, x2 say which ones, too
        self.chosen = options.columns is not None
        self.feature_names = [first.columns[i] for i in features]
        self.reading = Reading(
            time=None if self._time is None else first.columns[labels[0]],
            max_step=None if self._max_step is None else min(float(self._max_step), sys.float_info.max),
            episodes=self._every if self._label is None else first.columns[labels[-1]],
            lengths=self._ends is not None,
            joined=self._joined,
        )
        self.chunk_size = chunk_size or max(CHUNK_ROWS, CHUNK_BYTES // (8 * len(first.columns)))
        self._sizes = [size_of(source) for source in self._sources]

    @property
    def n_features(self) -> int:
        """Number of columns of a sample."""
        return len(self.feature_names)

    @property
    def n_rows(self) -> int | None:
        """Number of rows of all files. None if this is not known before the files are read."""
        rows = [self._open(index).n_rows for index in range(len(self._sources))]
        return None if None in rows else sum(n for n in rows if n is not None)

    def __repr__(self) -> str:
        names = [source.name if isinstance(source, Table) else os.fspath(source) for source in self._sources]
        return f"<Stream of {listed(names)}: {self.n_features} columns, {listed(self.feature_names)}>"

    def __iter__(self) -> Iterator[Chunk]:
        return self.chunks()

    def chunks(self, position: Position | None = None) -> Iterator[Chunk]:
        """Yield the chunks after a position, by default all chunks.

        Raises
        ------
        InputError
            If a file cannot be read, contains something other than numbers, or has a gap with ``missing="raise"``.
        """
        at = position or Position(max_step=self._max_step)
        for index in range(at.table, len(self._sources)):
            table = self._open(index)
            features, labels = self._find_columns(table)
            for block in table.blocks(at.cursor, self.chunk_size, features, labels):
                for chunk in self.chunks_of(block, at):
                    at = chunk.position
                    yield chunk
            at = replace(at, table=index + 1, cursor=(), row=0)
        self.check_end(at)

    def check_end(self, at: Position) -> None:
        """Raise InputError if the lengths of the episodes do not fit the end of the stream."""
        if self._ends is not None and at.n_rows != self._ends[-1]:
            raise InputError(f"the episodes' lengths add up to {self._ends[-1]} rows, but there are {at.n_rows}")

    def sections(self, n_bytes: int) -> list[Section]:
        """Divide the stream into sections of about ``n_bytes``, which can be read apart from each other.

        Raises
        ------
        InputError
            If files have other columns than the first, or if the episodes are given as numbers of rows and it is not
            known how many rows come before a section.
        """
        sections: list[Section] = []
        rows_before: int | None = 0
        for index in range(len(self._sources)):
            table = self._open(index)
            self._find_columns(table)
            if rows_before is None and (self._ends is not None or (self._every is not None and self._joined)):
                raise InputError(
                    f"{table.name}: how many rows come before it is not known, so episodes cannot be given as numbers "
                    "of rows: name a column of episodes, or convert text files to Parquet"
                )
            counted = table.n_rows is not None
            in_rows = self._ends is not None or self._every is not None
            breaks = table.breaks(n_bytes, self.chunk_size) if counted or not in_rows else []
            for begin, end in zip([(), *breaks], [*breaks, ()], strict=True):
                row = (begin[0] if counted else 1) if begin else 0
                sections.append(Section(index, begin, end, row, (rows_before or 0) + row))
            rows_before = None if rows_before is None or table.n_rows is None else rows_before + table.n_rows
        return sections

    def blocks(self, section: Section) -> Iterator[Block]:
        """Yield the rows of a section as they are in the file.

        Raises
        ------
        InputError
            If the file cannot be read, or has changed since it was divided.
        """
        table = self._open(section.table)
        for block in table.blocks(section.begin, self.chunk_size, *self._find_columns(table)):
            yield block
            if section.end and block.after[0] >= section.end[0]:
                if block.after[0] > section.end[0]:
                    raise InputError(f"{table.name} has changed while it was read: run the command again")
                return

    def with_lines(self, section: Section) -> Section:
        """Return a section of text whose lines are counted from the first line of the file, which takes a while."""
        return section._replace(begin=self._open(section.table).with_lines(section.begin))

    def chunks_of(self, block: Block, at: Position) -> Iterator[Chunk]:
        """Yield the chunk of a block of rows after a position, if there is any.

        Raises
        ------
        InputError
            After the rows before the first invalid row. The message names that row.
        """
        chunk, error = self._good_rows(self._open(at.table), block, at)
        if chunk is not None:
            yield chunk
        if error is not None:
            raise InputError(error)

    def fraction(self, position: Position) -> float:
        """Return the share of the stream before a position, from 0 to 1, measured in bytes of the files."""
        done: float = sum(self._sizes[: position.table])
        if position.table < len(self._sources) and position.cursor:
            done += self._sizes[position.table] * self._open(position.table).fraction(position.cursor)
        return min(1.0, done / max(1, sum(self._sizes)))

    def files(self) -> list[Path]:
        """Return the files that are read, and the folders that are read as one array."""
        return [path_of(source) for source in self._sources if not isinstance(source, Table)]

    def stamps(self) -> list[list[int]]:
        """Return sizes and dates of the files, which tell whether they have changed."""
        return [
            [size_of(source), max((file.stat().st_mtime_ns for file in files_of(source)), default=0)]
            for source in self._sources
        ]

    def _good_rows(self, table: Table, block: Block, at: Position) -> tuple[Chunk | None, str | None]:
        """Return the rows of a block before the first invalid row, and the error message for that row."""
        wrong = self._first_wrong(table, block)
        good = block if wrong is None else block.first(wrong.row)
        error = None if wrong is None else wrong.message
        try:
            chunk = self._chunk(table, good, at) if len(good.samples) else None
        except JumpError as jump:
            good, error = good.first(jump.row), str(jump)
            chunk = self._chunk(table, good, at) if len(good.samples) else None
        return chunk, error

    def _chunk(self, table: Table, block: Block, at: Position) -> Chunk:
        n = len(block.samples)
        starts = np.zeros(n, np.bool_)
        if at.row == 0:
            starts[0] = at.n_rows == 0 or not self._joined
        elif self._time is not None and at.time is None:  # the row before is not known
            starts[0] = True
        if self._every is not None:
            starts[-(at.n_rows if self._joined else at.row) % self._every :: self._every] = True
        if self._ends is not None:
            inside = self._ends[(self._ends >= at.n_rows) & (self._ends < at.n_rows + n)] - at.n_rows
            starts[inside] = True
        labels, times, steps = list(block.labels), None, None
        after = replace(at, cursor=block.after, row=at.row + n, n_rows=at.n_rows + n)
        if self._label is not None:
            label = labels.pop()
            missing = label != label
            if label.dtype == object:
                missing |= np.array([value is None for value in label])
            starts[1:] |= (label[1:] != label[:-1]) & ~(missing[1:] & missing[:-1])
            starts[0] |= at.label is not None and _label(label[0]) != at.label
            after = replace(after, label=_label(label[-1]))
        if self._time is not None:
            exact = read_times(labels[0])
            times, steps = in_numbers(exact), steps_of(exact, at.time)
            after = replace(after, time=last_time(exact), dated=labels[0].dtype.kind not in "iuf")
            starts, after = self._find_jumps(table, block, steps, starts, after)
        if all_finite(block.samples.reshape(-1)) and not at.broken:
            return Chunk(block.samples, starts, None, after, times, steps)
        unbroken = without_missing(block.samples, starts, rows_with_nan(block.samples), broken=at.broken)
        after = replace(
            after,
            broken=unbroken.broken,
            n_skipped=after.n_skipped + n - len(unbroken.samples),
            n_broken=after.n_broken + unbroken.n_broken,
        )
        return Chunk(unbroken.samples, unbroken.starts, unbroken.kept, after, times, steps)

    def _find_jumps(
        self, table: Table, block: Block, steps: Float64Array, starts: BoolArray, after: Position
    ) -> tuple[BoolArray, Position]:
        """Begin an episode at every gap in time, and return the new starts and position."""
        usual = steps[~starts]
        step, max_step = after.step, after.max_step
        if step is None and np.isfinite(usual).any():
            step = float(np.nanmedian(usual))
        if max_step is None and step is not None:
            max_step = JUMP * step
        jumps = ~starts & ~((steps > 0) & np.isfinite(steps) & (steps <= (np.inf if max_step is None else max_step)))
        if jumps.any() and self._missing == "raise":
            row = int(np.flatnonzero(jumps)[0])
            where = f"{table.name}, {table.counts} {block.place(row)}"
            words = f"{where}: {describe_jump(float(steps[row]), max_step, dates=after.dated)}"
            raise JumpError(row, f'{words}. missing="break" (--missing break) ends the episode there')
        n_broken = after.n_broken + int(np.count_nonzero(jumps))
        return starts | jumps, replace(
            after,
            step=step,
            max_step=max_step,
            n_broken=n_broken,
            n_jumps=after.n_jumps + int(np.count_nonzero(jumps)),
            longest_jump=max(after.longest_jump, float(np.max(steps, initial=0.0, where=jumps & np.isfinite(steps)))),
        )

    def _first_wrong(self, table: Table, block: Block) -> Wrong | None:
        """Return the first invalid row: one with a word, with infinity, or with a NaN that is not allowed."""
        if all_finite(block.samples.reshape(-1)):
            return None
        forbidden = ~np.isfinite(block.samples)
        if self._missing == "break":
            forbidden &= ~np.isnan(block.samples)
        if not forbidden.any():
            return None
        row, column = (int(i) for i in np.argwhere(forbidden)[0])
        if block.wrong is not None and block.wrong.row <= row:
            return block.wrong
        value = block.samples[row, column]
        advice = (
            '. missing="break" (--missing break) skips such rows and ends the episode there'
            if np.isnan(value)
            else ", which is not a finite number"
        )
        where = f"{table.name}, {table.counts} {block.place(row)}, column {quoted(self.feature_names[column])}"
        return Wrong(row, f"{where}: {value}{advice}")

    def _open(self, index: int) -> Table:
        if self._opened is None or self._opened[0] != index:
            source = self._sources[index]
            self._opened = index, source if isinstance(source, Table) else open_table(source, header=self._header)
        return self._opened[1]

    def _find_columns(self, table: Table) -> tuple[list[int], list[int]]:
        """Columns that are samples, and those that are time and episode."""
        labels = [number_of(table, column) for column in (self._time, self._label) if column is not None]
        features = features_of(table, self._columns, self._skip, labels)
        if self._columns is not None:
            return features, labels
        names = [table.columns[i] for i in features]
        if not self.feature_names or names == self.feature_names:
            return features, labels
        if sorted(names) != sorted(self.feature_names):
            raise InputError(
                f"{table.name} has the columns {listed(names)}, but those of the first input are "
                f"{listed(self.feature_names)}"
            )
        return [table.numbers[name] for name in self.feature_names], labels


def open_stream(
    source: Any,
    chunk_size: int | None = None,
    *,
    columns: Sequence[str | int] | None = None,
    time: str | int | None = None,
    max_step: float | None = None,
    episodes: int | str | ArrayLike | None = None,
    missing: str = "raise",
    joined: bool = False,
    header: bool | None = None,
    skip: Sequence[str | int] | None = None,
) -> Stream:
    """Return a stream of samples from files of any size, or from an array or data frame.

    The stream is read in chunks, so that the files need not fit into memory. You can pass the stream to ``fit`` of a
    learner in place of an array.

    Parameters
    ----------
    source : path, list of paths, array, or data frame
        Files (``.npy``, ``.npz``, text (``.csv``, ``.tsv``, ``.txt``, ``.dat``), Parquet, HDF5 or Zarr), an array, a
        data frame (also those of Dask), or any object that is sliced like an array. ``FILE::NAME`` chooses one of
        several arrays in a file. A folder stands for all files in it, a pattern such as ``data/*.csv`` for those that
        match; ``**`` stands for folders of any depth. They are read in the order of the numbers in their paths. By
        default each file is one episode.
    chunk_size : int, optional
        Largest number of rows of a chunk. By default a chunk has about 8 MB.
    columns : list of str or int, optional
        Names of the columns to use, or their numbers from 0; "1-8" are those with the numbers 1 to 8. By default all
        columns except those of time and episodes.
    time : str or int, optional
        Name or number of the column of time. A place where time jumps or goes back is a gap.
    max_step : float, optional
        Longest step in time that is not a gap. It is in the units of the column, or in seconds if the column has dates.
        By default 1.5 times the median step of the first chunk.
    episodes : int, list of int, or str, optional
        Where episodes begin: the number of rows of every episode, a list with the number of rows of each, or the name
        of a column whose value changes from one episode to the next.
    missing : {"raise", "break"}, default="raise"
        What to do about gaps, that is rows with a NaN and jumps in time. "raise" raises an error that names the place.
        "break" ends the episode there, and skips rows with a NaN.
    joined : bool, default=False
        Whether each file continues the episode of the file before it. By default each file begins an episode.
    header : bool, optional
        Whether the first line of text files has the names of the columns. By default its cells decide: words are names;
        numbers, dates and marks of missing values are a sample.
    skip : list of str or int, optional
        Columns to leave out, given in the same way as ``columns``.

    Returns
    -------
    Stream
        The stream. Iterate over it for :class:`Chunk` objects.

    Raises
    ------
    InputError
        If a file cannot be read, or contains something other than numbers.

    Examples
    --------
    >>> import numpy as np, tempfile, os
    >>> from biosfa import BioSFA
    >>> from biosfa.io import open_stream
    >>> X = np.random.default_rng(0).standard_normal((1000, 3)).cumsum(axis=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "walk.npy")
    ...     np.save(path, X)
    ...     stream = open_stream(path, chunk_size=300)
    ...     net = BioSFA(1, random_state=0).fit(stream)
    ...     for chunk in stream:
    ...         net = net.partial_fit(chunk)
    >>> net.n_samples_seen_
    2000
    """
    options = StreamOptions(columns, time, max_step, episodes, missing, joined, header, skip)  # type: ignore[arg-type]
    return options.open(source, chunk_size)


def _label(value: Any) -> str:
    """The name of an episode: 7 and 7.0 are the same, and so are all that are missing."""
    if value is None or value != value:
        return ""
    return str(int(value)) if isinstance(value, float | np.floating) and float(value).is_integer() else str(value)
