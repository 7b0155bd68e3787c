"""Fits and transforms of files on a cluster, whose workers read sections of the files themselves."""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from biosfa.cluster import Cluster
from biosfa.estimators import Fitting, Learned, Projection, SlowFeatureEstimator, learn_section
from biosfa.exceptions import InputError, OutputError
from biosfa.io import Chunk, Position, Stream, StreamOptions
from biosfa.io.atomic import remove, replacing, writing
from biosfa.io.results import PARTS, Entry, check_replaceable, entry_of, write_list
from biosfa.io.sections import Section
from biosfa.io.tables import create_table
from biosfa.recordings.features import feature_names
from biosfa.recordings.run import FitOptions
from biosfa.wording import listed

# Bytes of a section. It is the unit of work, and what is lost of a fit that is killed. A section of wide input is
# larger, so that what comes back from it, two square matrices, is small in comparison with what was read.
SECTION_BYTES = 2**26
LARGER_THAN_MOMENTS = 8

Result = TypeVar("Result")


def check_workers(cluster: Cluster, options: StreamOptions, inputs: list[str], stream: Stream) -> None:
    """Check that all workers see the same files as this machine.

    Raises
    ------
    InputError
        If a worker sees no such file, or a file of another size or with other columns.
    """
    mine = _seen(options, inputs)
    for worker, seen in cluster.on_each_worker(_seen, options, inputs).items():
        if seen == mine:
            continue
        if isinstance(seen, str):
            raise InputError(f"the worker {worker} cannot read the input: {seen}. All workers must see the same files")
        (sizes, names), (other_sizes, other_names) = mine, seen
        changed = [size != other for size, other in zip(sizes, other_sizes, strict=False)]
        wrong = [file.name for file, differs in zip(stream.files(), changed, strict=False) if differs]
        what = (
            f"another file than {listed(wrong)}" if wrong else f"the columns {listed(other_names)}, not {listed(names)}"
        )
        if len(sizes) != len(other_sizes):
            what = f"{len(other_sizes)} files, not {len(sizes)}"
        raise InputError(f"the worker {worker} sees {what}: all workers must see the same files as this machine")


def _seen(options: StreamOptions, inputs: list[str]) -> Any:
    """Return sizes of files and names of columns, or what is wrong with the files."""
    try:
        stream = options.open(inputs)
    except InputError as error:
        return str(error)
    return [size for size, _ in stream.stamps()], stream.feature_names


def fit_steps(options: FitOptions, stream: Stream, whole: Learned, cluster: Cluster) -> Iterator[None]:
    """Run the rest of a fit on a cluster, and yield after each section that was joined, and before the fit is finished.

    Sections are joined in the order of the stream. So the state at each yield is that of a fit to the rows so far, and
    the result does not depend on how many workers there are.
    """
    fitting = whole.fitting
    check_workers(cluster, options.stream, options.inputs, stream)
    like = _steps_in_time(stream, options.stream)
    while not fitting.about_to_finish:
        whole.origin = Position(step=like.step, max_step=like.max_step, dated=like.dated)
        if not fitting.reducing and not fitting.begun:
            fitting.start(np.zeros((1, stream.n_features)), np.ones(1, np.bool_))
        template, depth = cluster.share(fitting.apart()), fitting.rows_before
        n_bytes = max(SECTION_BYTES, LARGER_THAN_MOMENTS * 16 * fitting.n_moments**2)
        left = _after(stream.sections(n_bytes), whole.at)
        calls = ((template, depth, options, section, like) for section in left)
        for learned in cluster.in_order(_learn, calls):
            whole.join(learned, stream)
            yield
        stream.check_end(whole.at)
        fitting.end_pass()
    yield
    fitting.finish()


def _steps_in_time(stream: Stream, options: StreamOptions) -> Position:
    """Return a position that knows the usual step in time, which is found at the beginning of a stream."""
    at = Position(max_step=options.max_step)
    if options.time is None:
        return at
    for chunk in stream.chunks():
        at = chunk.position
        if at.step is not None:  # a chunk of one row has none
            break
    return at


def _after(sections: Sequence[Section], at: Position) -> list[Section]:
    """Return the sections after a position; the first begins there."""
    left = [each for each in sections if each.table > at.table or (each.table == at.table and _ends_after(each, at))]
    if left and left[0].table == at.table and at.cursor:
        left[0] = left[0]._replace(begin=at.cursor, row=at.row, n_rows=at.n_rows)
    return left


def _ends_after(section: Section, at: Position) -> bool:
    return not section.end or not at.cursor or section.end[0] > at.cursor[0]


def _learn(template: Fitting, depth: int, options: FitOptions, section: Section, at: Position) -> Learned:
    """Learn from one section; ``at`` knows the usual step in time. This runs on a worker."""
    stream = options.open()

    def learned(section: Section) -> Learned:
        return learn_section(template, depth, section.position(at), stream.blocks(section), stream)

    found = _with_lines_in_errors(stream, section, learned)
    if any(rows.wrong is not None for rows in found.head):  # the error comes when the head is joined
        return learned(stream.with_lines(section))
    return found


def _with_lines_in_errors(stream: Stream, section: Section, work: Callable[[Section], Result]) -> Result:
    """Work on a section. An error names the line of the file: of a section of text, the first line is not known."""
    try:
        return work(section)
    except InputError:
        return work(stream.with_lines(section))


def transform(
    model: SlowFeatureEstimator, options: StreamOptions, inputs: list[str], stream: Stream, out: Path, cluster: Cluster
) -> Generator[tuple[int, float]]:
    """Write the features of each section to a file of its own, in a folder; yield numbers of rows, and shares done.

    The folder takes the place of an earlier one when all files are finished.
    """
    check_workers(cluster, options, inputs, stream)
    sections = stream.sections(SECTION_BYTES)
    if model.n_delays > 1 and options.joined and len({section.table for section in sections}) > 1:
        raise InputError("with delays, joined files cannot be transformed apart: leave out --scheduler")
    if out.suffix.lower() == ".zarr":
        raise OutputError(f"{out}: a folder of Zarr arrays cannot be read as one. Choose .parquet, .npy or .csv")
    with writing(out, folder=True):
        check_replaceable(out, PARTS)
        with replacing(out, folder=True) as beside:
            # workers may have other links above the folder, so they are given the path as it is here
            folder = beside if out.is_symlink() else out.with_name(beside.name)
            yield from _write_parts(model, options, inputs, stream, sections, folder, out.suffix, cluster)
            check_replaceable(out, PARTS)  # again, because the run may have taken long


def _write_parts(
    model: SlowFeatureEstimator,
    options: StreamOptions,
    inputs: list[str],
    stream: Stream,
    sections: Sequence[Section],
    folder: Path,
    suffix: str,
    cluster: Cluster,
) -> Generator[tuple[int, float]]:
    """Write the features of each section to a file in an empty folder, and the list of these files."""
    digits = max(5, len(str(len(sections))))
    parts = [folder / f"part-{number:0{digits}d}{suffix}" for number in range(len(sections))]
    shared, like = cluster.share(model), _steps_in_time(stream, options)
    following = [*sections[1:], None]
    calls = (
        (shared, options, inputs, section, later if later is not None and later.begin else None, like, str(part))
        for section, later, part in zip(sections, following, parts, strict=True)
    )
    n_rows, position, entries = 0, like, {}
    for part, (written, position, entry) in zip(parts, cluster.in_order(_transform, calls), strict=True):
        entries[part.name] = (entry,)
        n_rows += written
        yield n_rows, stream.fraction(position)
    stream.check_end(replace(position, n_rows=n_rows))
    for file in folder.iterdir():
        if file.name not in entries:  # a worker that was killed has left it
            remove(file)
    write_list(folder, entries)


def _transform(
    model: SlowFeatureEstimator,
    options: StreamOptions,
    inputs: list[str],
    section: Section,
    following: Section | None,
    at: Position,
    out: str,
) -> tuple[int, Position, Entry]:
    """Write the features of one section; return the number of rows, the position after them, and the entry of the file.

    The first rows of a section need rows before it for their delays. So they are written together with the section
    before it, which reads on.
    """
    stream = options.open(inputs)
    # rows that the section before has written; one at least if there are times, to notice a gap before it
    shared = max(model.n_delays - 1, int(options.time is not None))

    def written(section: Section) -> tuple[int, Position]:
        projection, begin = Projection.of(model), section.position(at)
        left_out, n_rows, end = shared if section.begin else 0, 0, begin
        with create_table(out, feature_names(model)) as table:
            for chunk in _chunks(stream, section, following, shared, begin):
                Y = projection.features(chunk)[left_out:]
                left_out = max(0, left_out - chunk.n_rows)
                n_rows += len(Y)
                table.write(Y)
                end = chunk.position
        return n_rows, end

    n_rows, end = _with_lines_in_errors(stream, section, written)
    return n_rows, end, entry_of(Path(out), PARTS)


def _chunks(stream: Stream, section: Section, following: Section | None, n_more: int, at: Position) -> Iterator[Chunk]:
    """Yield the chunks of a section, and those of some more rows of the section after it."""
    for block in stream.blocks(section):
        for chunk in stream.chunks_of(block, at):
            at = chunk.position
            yield chunk
    if following is None or n_more == 0:
        return
    for block in stream.blocks(following):
        for chunk in stream.chunks_of(block.first(n_more), at):
            at = chunk.position
            yield chunk
        n_more -= len(block.samples)
        if n_more <= 0:
            return
