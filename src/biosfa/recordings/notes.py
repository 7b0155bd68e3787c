"""What to say before and after a fit."""

import sys

import numpy as np

from biosfa.estimators import NetworkEstimator, Projection, exact_memory
from biosfa.io.tables import STDIN
from biosfa.kernels.exact import Moments, accumulate
from biosfa.learning import FAR_FROM_WHITE
from biosfa.recordings.run import Run
from biosfa.signal import expanded_size
from biosfa.typing import Float64Array, FloatArray
from biosfa.wording import counted, listed

MANY = 5000  # expanded columns from which one should think of reducing them
MUCH = 5e8  # bytes worth mentioning
LOOKED_AT = 100_000  # rows on which a network is judged
ENOUGH = 2000  # expanded columns that are quickly dealt with


def before(run: Run) -> None:
    """Say how large the problem is, where it is large."""
    options, columns = run.options, run.stream.n_features
    embedded = min(options.pca or columns, columns) * options.delays
    m = expanded_size(options.expand, embedded)
    if options.expand and m > MANY:
        sizes = {d: expanded_size(options.expand, d * options.delays) for d in range(1, embedded + 1)}
        pca = max(d for d, size in sizes.items() if size <= ENOUGH or d == 1)
        _note(
            f"the {options.expand} expansion of {embedded} columns has {m:,} dimensions; --pca {pca} would make it "
            f"{sizes[pca]:,}"
        )
    if options.solver == "exact" and exact_memory(m) > MUCH:
        _note(
            f"exact SFA of {m:,} columns needs about {exact_memory(m) / 1e9:.1f} GB of memory; --solver online does not"
        )


def after(run: Run) -> list[str]:
    """What was found, and what was odd about the input."""
    model, end, episodes = run.estimator, run.fitting.end, run.fitting.episodes
    delta, rows = np.asarray(model.delta_values_), ""
    if isinstance(model, NetworkEstimator) and run.options.inputs != [STDIN]:
        delta, rows = _looked_at(run)
    lines = [
        f"{run.out}: {counted(len(delta), 'slow feature')} of {counted(run.stream.n_features, 'column')}, from "
        f"{counted(end.n_rows, 'row')} in {counted(episodes.n_episodes, 'episode')}",
        f"slowness δ{rows}: " + " ".join(f"{value:.4g}" for value in delta[:10]) + (" …" if len(delta) > 10 else ""),
    ]
    if end.n_skipped or end.n_broken:
        pairs = counted(end.n_broken, "pair")
        lines.append(f"gaps: {counted(end.n_skipped, 'row')} skipped, {pairs} of consecutive rows parted")
    constant = [run.stream.feature_names[i] for i in run.constants.columns()]
    if constant and isinstance(model, NetworkEstimator):  # exact SFA has said so
        _note(f"constant, and of no use: {listed(constant)}")
    return lines


def _looked_at(run: Run) -> tuple[Float64Array, str]:
    """Slowness of a network's features on the beginning of the input: its own estimate is of its recent past."""
    n_rows = min(LOOKED_AT, run.fitting.end.n_rows)
    projection = Projection.of(run.estimator)
    moments = Moments(len(projection.components))
    tail: FloatArray = np.empty((0, moments.n_features))
    for chunk in run.stream:
        tail = accumulate(moments, *projection.found(chunk), 1, tail)
        if chunk.position.n_rows >= n_rows:
            break
    covariance = moments.covariance
    error = float(np.square(covariance - np.eye(len(covariance))).sum() / len(covariance))
    if not error < FAR_FROM_WHITE:
        _note(
            f"the features are not white on the input (constraint error {error:.2g}): the network has not converged. "
            "Give it more samples or --epochs, or use --solver online or exact"
        )
    rows = "" if n_rows == run.fitting.end.n_rows else f" on the first {n_rows:,} rows"
    return np.diag(moments.difference_covariance) / np.diag(covariance), rows


def _note(text: str) -> None:
    print(f"biosfa: note: {text}", file=sys.stderr)
