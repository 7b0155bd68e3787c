"""The arena: every learner on the same stream, error against samples and against time, and what a sample costs."""

import json
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from biosfa.estimators._recorder import log_spaced
from biosfa.exceptions import DivergenceError
from biosfa.experiments._compare_figures import draw_figures
from biosfa.experiments._compare_report import write_report
from biosfa.experiments._errors import ExperimentError
from biosfa.experiments._learners import EXACT, LEARNERS, read_features
from biosfa.experiments._outsiders import OUTSIDERS
from biosfa.experiments._problems import CLOSE, KINDS, Problems
from biosfa.experiments._runner import (
    Advance,
    Arrays,
    Result,
    RunFolder,
    Task,
    digest,
    run_tasks,
    write_arrays,
    write_json,
)
from biosfa.experiments._scaling import SCALED, measure_scaling, state_bytes, summarize_scaling
from biosfa.typing import Float64Array

CHUNK = 20_000  # rows learned between two looks at the progress bar
RECORDS_PER_DECADE = 8
WARM_UP = 200  # rows that a copy of a learner gets first, so that nothing is compiled while time is taken
FILE_COMPONENTS, FILE_SAMPLES = 3, 1_000_000  # of a problem that is a file: features, and rows at most


@dataclass(frozen=True)
class CompareConfig:
    """What to run; :func:`configure` fills in what a problem has by default."""

    problem: str
    components: int
    samples: int
    runs: int
    seed: int
    learners: tuple[str, ...]
    scaling: bool
    columns: tuple[str, ...] | None = None
    time: str | None = None
    episodes: int | str | tuple[int, ...] | None = None


def configure(
    problem: str,
    *,
    components: int | None = None,
    samples: int | None = None,
    runs: int = 5,
    seed: int = 0,
    learners: list[str] | None = None,
    scaling: bool = True,
    columns: list[str] | None = None,
    time: str | None = None,
    episodes: int | str | list[int] | None = None,
) -> CompareConfig:
    """Settings of a comparison, checked; columns, time and episodes say how a file is to be read."""
    learners = [name.strip() for names in learners or () for name in names.split(",")]
    unknown = [name for name in learners if name not in LEARNERS]
    if unknown:
        raise ExperimentError(f"there is no learner {unknown[0]!r}: choose among {', '.join(LEARNERS)}")
    kind = KINDS.get(problem)
    if kind is None and not Path(problem.split("::")[0]).exists():
        raise ExperimentError(f"there is no problem or file {problem!r}: choose {', '.join(KINDS)}, or give a file")
    if kind is not None and (columns or time or episodes):
        raise ExperimentError(f"columns, time and episodes are those of a file; {problem!r} is made from a seed")
    return CompareConfig(
        problem=problem if kind else str(Path(problem).absolute()),
        components=components or (kind.n_components if kind else FILE_COMPONENTS),
        samples=samples or (kind.n_samples if kind else FILE_SAMPLES),
        runs=runs,
        seed=seed,
        learners=tuple(name for name in LEARNERS if not learners or name in learners or name == EXACT),
        scaling=scaling,
        columns=tuple(columns) if columns else None,
        time=time,
        episodes=tuple(episodes) if isinstance(episodes, list) else episodes,
    )


def compare(
    config: CompareConfig, out: Path, *, jobs: int = 1, resume: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run the arena and leave figures, numbers and a report in ``out``.

    Returns what ``metrics.json`` and ``timings.json`` have.
    """
    folder = RunFolder(out)
    problems = Problems(
        config.problem,
        config.samples,
        config.components,
        columns=config.columns,
        time=config.time,
        episodes=config.episodes,
    )
    with threadpool_limits(1):  # times of learners whose products are small and large can then be compared
        first = problems.of(config.seed)
        first.check()
        inputs = {} if config.problem in KINDS else {"content": digest([first.signal, first.starts])}
        folder.begin("compare", config, resume=resume, **inputs)
        pieces = tasks(config, problems, len(first.signal))
        results = run_tasks(folder, pieces, jobs=jobs, title=f"compare, {Path(config.problem).name}")
    found, timings, curves = summarize(config, results)
    found["stream"] = {
        "samples": len(first.signal),
        "columns": first.signal.shape[1],
        "episodes": int(np.count_nonzero(first.starts)),
        "rows_skipped": first.n_skipped,
        "least_slowness": first.best.delta_values.tolist(),
    }
    write_arrays(out / "curves.npz", curves)
    write_json(out / "metrics.json", found)
    write_json(out / "timings.json", timings)
    draw_figures(out, curves, found, timings)
    write_report(out, config, found, timings)
    return found, timings


def tasks(config: CompareConfig, problems: Problems, steps: int) -> list[Task]:
    """All independent pieces, in an order in which a problem is loaded once; a learner makes so many steps."""
    outsiders = [name for name, outsider in OUTSIDERS.items() if outsider.is_installed]
    pieces = []
    for seed in range(config.seed, config.seed + config.runs):
        for name in config.learners:
            pieces.append(Task(f"{name}-{seed:02d}", steps, partial(run_learner, problems, name, seed)))
        for name in outsiders:
            pieces.append(Task(f"outside-{name}-{seed:02d}", 0, partial(run_outsider, problems, name, seed)))
    for name, scaled in SCALED.items():
        if config.scaling and scaled.learner in config.learners:
            pieces.append(Task(f"scaling-{name}", steps, partial(measure_scaling, name, steps)))
    return pieces


def record_points(n_samples: int, m: int) -> list[int]:
    """Numbers of samples at which errors are measured: log-spaced from twice the columns on, and the last."""
    points = []
    for point in log_spaced(RECORDS_PER_DECADE):
        if point >= n_samples:
            break
        if point >= 2 * m:
            points.append(point)
    return [*points, n_samples]


def run_learner(problems: Problems, name: str, seed: int, report: Advance) -> Arrays:
    """One learner, one pass over the stream.

    Time is that of learning, and of reading the features once: exact SFA solves its eigenproblem then.
    """
    problem = problems.of(seed)
    X, starts = problem.signal, problem.starts
    points = record_points(len(X), X.shape[1])
    errors, angles, seconds = (np.full(len(points), np.nan) for _ in range(3))
    spent, done = 0.0, 0
    learner, other = (LEARNERS[name].build(problem.n_components, seed) for _ in range(2))
    with warnings.catch_warnings(), suppress(DivergenceError):  # after which the rest of the curves is NaN
        warnings.simplefilter("ignore")  # of what short beginnings have not
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


def run_outsider(problems: Problems, name: str, seed: int, report: Advance) -> Arrays:
    """Software of others on the whole stream at once."""
    problem = problems.of(seed)
    directions, spent = None, np.nan
    with warnings.catch_warnings(), suppress(Exception):  # neither are ours
        warnings.simplefilter("ignore")
        begin = time.perf_counter()
        directions = OUTSIDERS[name].directions(problem)
        spent = time.perf_counter() - begin
    error, angle = problem.judge(directions)
    return {"error": np.array(error), "angle": np.array(angle), "seconds": np.array(spent)}


def summarize(
    config: CompareConfig, results: dict[str, Result]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Numbers that are the same for the same settings; times; curves of all runs."""
    arrays = {name: result.arrays for name, result in results.items()}
    seeds = range(config.seed, config.seed + config.runs)
    runs = {name: [arrays[f"{name}-{seed:02d}"] for seed in seeds] for name in config.learners}
    samples = runs[EXACT][0]["samples"]
    curves: dict[str, Any] = {"samples": samples}
    found: dict[str, Any] = {"learners": {}, "outsiders": {}, "after": {}}
    timings: dict[str, Any] = {"learners": {}, "outsiders": {}, "scaling": {}}
    for name, own in runs.items():
        for key in ("error", "angle", "seconds"):
            curves[f"{key}_{name}"] = np.stack([run[key] for run in own])
        close = [first_close(run["error"]) for run in own]
        found["learners"][name] = {
            "error": interval([run["error"][-1] for run in own]),
            "angle": interval([run["angle"][-1] for run in own]),
            "samples_until_close": interval([np.nan if i is None else samples[i] for i in close]),
            "runs_close": sum(i is not None for i in close),
            "runs_diverged": sum(bool(np.isnan(run["seconds"][-1])) for run in own),
            "bytes": int(own[0]["bytes"]),
        }
        timings["learners"][name] = {
            "seconds_a_sample": interval([run["seconds"][-1] / samples[-1] for run in own]),
            "seconds_until_close": interval(
                [np.nan if i is None else run["seconds"][i] for i, run in zip(close, own, strict=True)]
            ),
        }
    for point in budgets(samples):
        i = int(np.searchsorted(samples, point))
        found["after"][str(point)] = {name: interval(curves[f"error_{name}"][:, i]) for name in runs}
    for name in OUTSIDERS:
        own = [arrays[f"outside-{name}-{seed:02d}"] for seed in seeds if f"outside-{name}-{seed:02d}" in arrays]
        if own and not any(np.isnan(run["error"]) for run in own):
            found["outsiders"][name] = {key: interval([run[key] for run in own]) for key in ("error", "angle")}
            timings["outsiders"][name] = interval([run["seconds"] for run in own])
    scaled = {name.removeprefix("scaling-"): own for name, own in arrays.items() if name.startswith("scaling-")}
    timings["scaling"] = summarize_scaling(scaled)
    return json.loads(json.dumps(found)), json.loads(json.dumps(timings)), curves


def first_close(errors: Float64Array) -> int | None:
    """Where an error is small for the first time and stays so."""
    far = np.flatnonzero(~(errors < CLOSE))
    first = int(far[-1]) + 1 if len(far) else 0
    return first if first < len(errors) else None


def interval(values: Any) -> dict[str, Any]:
    """Median, least and greatest of runs; one that did not get there counts as infinite, and is written as None."""
    known = np.where(np.isnan(np.asarray(values, dtype=np.float64)), np.inf, values)

    def written(number: float) -> float | None:
        return float(number) if np.isfinite(number) else None

    return {
        "median": written(np.median(known)),
        "least": written(known.min()),
        "greatest": written(known.max()),
        "runs": [written(number) for number in known],
    }


def budgets(samples: Any) -> list[int]:
    """Numbers of samples that people ask about: powers of ten, and the last."""
    powers = [10**e for e in range(3, 12) if samples[0] <= 10**e < samples[-1] and 10**e in samples]
    return [*powers, int(samples[-1])]
