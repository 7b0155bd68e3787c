"""The tasks of the arena: one learner, or another package, on the stream of a problem."""

import time
import warnings
from contextlib import suppress

import numpy as np

from biosfa.exceptions import DivergenceError
from biosfa.experiments.arena._config import CompareConfig, problem_of
from biosfa.experiments.arena._contestants import CONTESTANTS, read_features
from biosfa.experiments.arena._outsiders import OUTSIDERS
from biosfa.experiments.arena._scaling import SCALED, measure_scaling, state_bytes
from biosfa.experiments.engine import Task
from biosfa.learning import log_spaced
from biosfa.typing import Advance, Arrays

CHUNK = 20_000  # rows per call of partial_fit
RECORDS_PER_DECADE = 8
WARM_UP = 200  # rows that a copy of a learner learns from first, so that nothing is compiled while time is measured


def tasks(config: CompareConfig, steps: int) -> list[Task]:
    """Return all tasks, ordered such that each problem is loaded once; ``steps`` is the number of samples."""
    outsiders = [name for name, outsider in OUTSIDERS.items() if outsider.is_installed]
    pieces = []
    for seed in range(config.seed, config.seed + config.runs):
        for name in config.learners:
            pieces.append(Task(f"{name}-{seed:02d}", steps, run_learner, (config, name, seed)))
        for name in outsiders:
            pieces.append(Task(f"outside-{name}-{seed:02d}", 0, run_outsider, (config, name, seed)))
    for name, scaled in SCALED.items():
        if config.scaling and scaled.learner in config.learners:
            pieces.append(Task(f"scaling-{name}", steps, measure_scaling, (name, steps)))
    return pieces


def record_points(n_samples: int, m: int) -> list[int]:
    """Return the numbers of samples at which errors are measured: log-spaced from 2 m on, and the last."""
    points = []
    for point in log_spaced(RECORDS_PER_DECADE):
        if point >= n_samples:
            break
        if point >= 2 * m:
            points.append(point)
    return [*points, n_samples]


def run_learner(config: CompareConfig, name: str, seed: int, report: Advance) -> Arrays:
    """Train one learner in one pass over the stream.

    The time includes learning, and reading the features once, which is when exact SFA solves its eigenproblem.
    """
    problem = problem_of(config, seed)
    X, starts = problem.signal, problem.starts
    points = record_points(len(X), X.shape[1])
    errors, angles, seconds = (np.full(len(points), np.nan) for _ in range(3))
    spent, done = 0.0, 0
    learner, other = (CONTESTANTS[name].build(problem.n_components, seed) for _ in range(2))
    with warnings.catch_warnings(), suppress(DivergenceError):  # after a divergence the rest of the curves is NaN
        warnings.simplefilter("ignore")  # the first samples have too little rank
        read_features(other.partial_fit(X[:WARM_UP]).partial_fit(X[:WARM_UP]))
        for i, point in enumerate(points):
            while done < point:
                rows = slice(done, min(point, done + CHUNK))
                begin = time.perf_counter()
                learner.partial_fit(X[rows], starts=starts[rows])
                spent += time.perf_counter() - begin
                report(rows.stop - done)
                done = rows.stop
            begin = time.perf_counter()
            directions = read_features(learner)
            seconds[i] = spent + time.perf_counter() - begin
            errors[i], angles[i] = problem.judge(directions)
    report(len(X) - done)
    return {
        "samples": np.array(points),
        "error": errors,
        "angle": angles,
        "seconds": seconds,
        "bytes": np.array(state_bytes(learner)),
    }


def run_outsider(config: CompareConfig, name: str, seed: int, report: Advance) -> Arrays:
    """Run another package on the whole stream at once."""
    problem = problem_of(config, seed)
    directions, spent = None, np.nan
    with warnings.catch_warnings(), suppress(Exception):  # warnings and errors of the other package
        warnings.simplefilter("ignore")
        begin = time.perf_counter()
        directions = OUTSIDERS[name].directions(problem)
        spent = time.perf_counter() - begin
    error, angle = problem.judge(directions)
    return {"error": np.array(error), "angle": np.array(angle), "seconds": np.array(spent)}
