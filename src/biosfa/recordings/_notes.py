"""What to say before and after a fit."""

import sys

import numpy as np

from biosfa.estimators._bio_sfa import BioSFA
from biosfa.estimators._memory import exact_memory
from biosfa.kernels.expansion import quadratic_size
from biosfa.recordings._run import FitOptions, Run
from biosfa.recordings._standard_input import STDIN

MANY = 5000  # expanded columns from which one should think of reducing them
MUCH = 5e8  # bytes worth mentioning
ENOUGH = 2000  # expanded columns that are quickly dealt with


def before(options: FitOptions) -> None:
    """Say how large the problem is, where it is large."""
    if options.inputs == [STDIN]:
        return
    columns = options.stream().n_features
    embedded = min(options.pca or columns, columns) * options.delays
    m = quadratic_size(embedded) if options.expand else embedded
    if options.expand and m > MANY:
        pca = max(d for d in range(1, embedded + 1) if quadratic_size(d * options.delays) <= ENOUGH or d == 1)
        _note(
            f"the quadratic expansion of {embedded} columns has {m:,} dimensions; --pca {pca} would make it "
            f"{quadratic_size(pca * options.delays):,}"
        )
    if options.solver == "exact" and exact_memory(m) > MUCH:
        _note(f"exact SFA of {m:,} columns needs about {exact_memory(m) / 1e9:.1f} GB of memory; --solver bio does not")


def after(run: Run) -> list[str]:
    """What was found, and what was odd about the input."""
    model, end, episodes = run.estimator, run.fitting.end, run.fitting.episodes
    delta = np.asarray(model.delta_values_)
    plural = "" if episodes.n_episodes == 1 else "s"
    lines = [
        f"{run.out}: {len(delta)} slow features of {run.stream.n_features} columns, from {end.n_rows:,} rows in "
        f"{episodes.n_episodes:,} episode{plural}",
        "slowness δ: " + " ".join(f"{value:.4g}" for value in delta[:10]) + (" …" if len(delta) > 10 else ""),
    ]
    if end.n_skipped or end.n_broken:
        lines.append(f"gaps: {end.n_skipped:,} rows skipped, {end.n_broken:,} pairs of consecutive rows parted")
    constant = [run.stream.feature_names[i] for i in run.constants.columns()]
    if constant:
        shown = ", ".join(constant[:8]) + (f" and {len(constant) - 8} more" if len(constant) > 8 else "")
        _note(f"constant, and of no use: {shown}")
    if isinstance(model, BioSFA) and model.watch().warning:
        _note(str(model.watch().warning))
    return lines


def _note(text: str) -> None:
    print(f"biosfa: note: {text}", file=sys.stderr)
