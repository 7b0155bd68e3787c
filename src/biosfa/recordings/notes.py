"""Messages before and after a fit."""

import sys
import time

import numpy as np

from biosfa.estimators import NetworkEstimator, exact_memory
from biosfa.io import Position, Stream
from biosfa.io.order import in_order
from biosfa.kernels.exact import slow_directions
from biosfa.recordings.run import FitOptions, Run
from biosfa.registry import ONLINE_SOLVERS
from biosfa.signal import expanded_size
from biosfa.wording import counted, duration, listed, printable

MANY = 5000  # with more expanded columns, a reduction is proposed
MUCH = 5e8  # bytes of memory that are mentioned
SLOW_COLUMNS = 1500  # expanded columns from which the eigenproblem may take seconds
PROBE_COLUMNS = 400  # columns of the small eigenproblem from which the time is estimated
LONG_SECONDS = 5.0  # a longer eigenproblem is mentioned
FIRST_FILES = 3  # files that a note about their order names, besides the last
ENOUGH = 2000  # expanded columns that a proposed reduction leaves at most


def before(run: Run) -> None:
    """Print the order of the files if it is not plain, and how large the problem is if it is large."""
    note_order(run.stream)
    options, columns = run.options, run.stream.n_features
    embedded = min(options.pca or columns, columns) * options.delays
    m = expanded_size(options.expand, embedded)
    if options.expand and m > MANY:
        pca, left = _largest_pca(options, embedded, ENOUGH)
        note(
            f"the {options.expand} expansion of {embedded} columns has {m:,} dimensions; --pca {pca} would make it "
            f"{left:,}"
        )
    if options.solver not in ONLINE_SOLVERS and m >= SLOW_COLUMNS:
        _note_of_time(run, m)
    if options.solver not in ONLINE_SOLVERS and exact_memory(m) > MUCH:
        note(
            f"exact SFA of {m:,} columns needs about {exact_memory(m) / 1e9:.1f} GB of memory; "
            "--solver online needs less"
        )


def _note_of_time(run: Run, m: int) -> None:
    """Print how long the eigenproblem will take, if that is long, and whether there are more dimensions than rows."""
    seconds = eigenproblem_seconds(m)
    if seconds > LONG_SECONDS:
        note(
            f"solving the eigenproblem of {m:,} dimensions will take about {duration(seconds)}; if you stop it, "
            "biosfa resume solves it again"
        )
    n_rows = run.stream.n_rows
    if n_rows is not None and n_rows <= m:
        pca, left = _largest_pca(run.options, min(n_rows, run.stream.n_features), n_rows // 10)
        note(
            f"there are more dimensions ({m:,}) than rows ({n_rows:,}), so the features will fit the noise; --pca "
            f"{pca} would leave {left:,} dimensions"
        )


def _largest_pca(options: FitOptions, columns: int, most: int) -> tuple[int, int]:
    """Return the largest number of principal components that leaves at most ``most`` dimensions, and their number."""
    sizes = {d: expanded_size(options.expand, d * options.delays) for d in range(1, columns + 1)}
    pca = max((d for d, size in sizes.items() if size <= most), default=1)
    return pca, sizes[pca]


def eigenproblem_seconds(m: int) -> float:
    """Estimate the time for an eigenproblem of m columns on this machine: a small one is timed, and scaled by m³."""
    root = np.random.default_rng(0).standard_normal((PROBE_COLUMNS, 2 * PROBE_COLUMNS))
    probe, times = root @ root.T, []
    for _ in range(3):
        begin = time.perf_counter()
        slow_directions(probe, probe, n_components=1)
        times.append(time.perf_counter() - begin)
    return min(times) * (m / PROBE_COLUMNS) ** 3


def after(run: Run) -> list[str]:
    """Return lines that describe the result of a fit, and print notes about odd input."""
    model, end, episodes = run.estimator, run.fitting.end, run.fitting.episodes
    delta = np.asarray(model.delta_values_)
    if isinstance(model, NetworkEstimator):
        warning = model.watch().warning
        if warning is not None:
            note(warning)
    lines = [
        f"{run.out}: {counted(len(delta), 'slow feature')} of {counted(run.stream.n_features, 'column')}, from "
        f"{counted(end.n_rows, 'row')} in {counted(episodes.n_episodes, 'episode')}",
        "slowness δ: " + " ".join(f"{value:.4g}" for value in delta[:10]) + (" …" if len(delta) > 10 else ""),
    ]
    if end.n_skipped or end.n_broken:
        lines.append(gaps(end))
    if end.n_jumps:
        lines.append(gaps_in_time(end, run.stream.reading.time))
    constant = [run.stream.feature_names[i] for i in run.constants.columns()]
    if constant and isinstance(model, NetworkEstimator):  # exact SFA has already warned
        note(f"these columns are constant and have no effect: {listed(constant)}")
    return lines


def gaps(end: Position) -> str:
    """Return a line with the numbers of skipped rows and of broken pairs of a stream."""
    pairs = counted(end.n_broken, "pair")
    return f"gaps: {counted(end.n_skipped, 'row')} skipped, {pairs} of consecutive rows broken"


def gaps_in_time(end: Position, column: str | None) -> str:
    """Return a line with the number of gaps in time of a stream, and the longest of them."""
    longest = duration(end.longest_jump) if end.dated else f"{end.longest_jump:.6g} in units of {column!r}"
    return (
        f"gaps in time: {end.n_jumps:,}, the longest {longest}"
        if end.longest_jump
        else f"gaps in time: {end.n_jumps:,}"
    )


def note_order(stream: Stream) -> None:
    """Print the order in which files are read, if that of the numbers in their names is not that of the letters."""
    files = stream.files()
    by_number, by_letter = in_order(files), sorted(files, key=str)
    if by_number == by_letter:
        return
    paths = [file.absolute() for file in files]
    above = next(parent for parent in paths[0].parents if all(parent in path.parents for path in paths))
    names = [str(path.relative_to(above)) for path in paths]
    shown = [*names[:FIRST_FILES], "…", names[-1]] if len(names) > FIRST_FILES + 1 else names
    which = "of the numbers in their names" if files == by_number else "in which they are given"
    advice = ". A pattern in quotation marks is read in the order of the numbers" if files == by_letter else ""
    note(f"{counted(len(files), 'file')} are read in the order {which}: {listed(shown)}{advice}")


def note(text: str) -> None:
    """Print a note on standard error."""
    print(f"biosfa: note: {printable(text)}", file=sys.stderr)
