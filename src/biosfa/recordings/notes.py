"""What to say before and after a fit."""

import sys
import time

import numpy as np

from biosfa.estimators import NetworkEstimator, exact_memory
from biosfa.io import Position
from biosfa.kernels.exact import slow_directions
from biosfa.recordings.run import FitOptions, Run
from biosfa.registry import ONLINE_SOLVERS
from biosfa.signal import expanded_size
from biosfa.wording import counted, duration, listed, printable

MANY = 5000  # expanded columns from which one should think of reducing them
MUCH = 5e8  # bytes worth mentioning
SLOW_COLUMNS = 1500  # expanded columns whose eigenproblem may take seconds
PROBE_COLUMNS = 400  # of the small eigenproblem that its time is told from
LONG_SECONDS = 5.0  # worth mentioning
ENOUGH = 2000  # expanded columns that are quickly dealt with


def before(run: Run) -> None:
    """Say how large the problem is, where it is large."""
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
            f"exact SFA of {m:,} columns needs about {exact_memory(m) / 1e9:.1f} GB of memory; --solver online does not"
        )


def _note_of_time(run: Run, m: int) -> None:
    """Say how long the eigenproblem will take, and whether there are more dimensions than rows."""
    seconds = eigenproblem_seconds(m)
    if seconds > LONG_SECONDS:
        note(
            f"solving for the features of {m:,} dimensions will take about {duration(seconds)}; after Ctrl-C, biosfa "
            "resume solves it again"
        )
    n_rows = run.stream.n_rows
    if n_rows is not None and n_rows <= m:
        pca, left = _largest_pca(run.options, min(n_rows, run.stream.n_features), n_rows // 10)
        note(
            f"there are more dimensions ({m:,}) than rows ({n_rows:,}): features will fit the noise. --pca {pca} would "
            f"leave {left:,}"
        )


def _largest_pca(options: FitOptions, columns: int, most: int) -> tuple[int, int]:
    """How many principal components to keep so that at most so many dimensions are left, and how many these are."""
    sizes = {d: expanded_size(options.expand, d * options.delays) for d in range(1, columns + 1)}
    pca = max((d for d, size in sizes.items() if size <= most), default=1)
    return pca, sizes[pca]


def eigenproblem_seconds(m: int) -> float:
    """What the eigenproblem of m columns will take here: from that of a small one, growing as m³."""
    root = np.random.default_rng(0).standard_normal((PROBE_COLUMNS, 2 * PROBE_COLUMNS))
    probe, times = root @ root.T, []
    for _ in range(3):
        begin = time.perf_counter()
        slow_directions(probe, probe, n_components=1)
        times.append(time.perf_counter() - begin)
    return min(times) * (m / PROBE_COLUMNS) ** 3


def after(run: Run) -> list[str]:
    """What was found, and what was odd about the input."""
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
    constant = [run.stream.feature_names[i] for i in run.constants.columns()]
    if constant and isinstance(model, NetworkEstimator):  # exact SFA has said so
        note(f"constant, and of no use: {listed(constant)}")
    return lines


def gaps(end: Position) -> str:
    """What was left out of a stream."""
    pairs = counted(end.n_broken, "pair")
    return f"gaps: {counted(end.n_skipped, 'row')} skipped, {pairs} of consecutive rows parted"


def note(text: str) -> None:
    """Say something on standard error that is no error."""
    print(f"biosfa: note: {printable(text)}", file=sys.stderr)
