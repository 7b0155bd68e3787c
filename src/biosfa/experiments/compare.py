"""The arena: every learner on the same stream, error against samples and against time, and what a sample costs."""

import json
import time
import warnings
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from biosfa.estimators._base import SlowFeatureEstimator
from biosfa.estimators._recorder import log_spaced
from biosfa.exceptions import DivergenceError
from biosfa.experiments._compare_figures import draw_figures
from biosfa.experiments._compare_report import write_report
from biosfa.experiments._errors import ExperimentError
from biosfa.experiments._learners import EXACT, LEARNERS
from biosfa.experiments._outsiders import OUTSIDERS
from biosfa.experiments._problems import KINDS, Problem, load_problem
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
CLOSE = 0.1  # an error that counts as having found the slow features: slowness within a tenth of the least possible
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
    unknown = [name for name in learners or () if name not in LEARNERS]
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
    is_file = config.problem not in KINDS
    with threadpool_limits(1):  # times of learners whose products are small and large can then be compared
        first = problem(config, config.seed)
        _ = first.best  # says what is wrong with a stream before anything runs
        folder.begin("compare", config, resume=resume, **({"signal": digest([first.signal])} if is_file else {}))
        results = run_tasks(folder, tasks(config), jobs=jobs, title=f"compare, {Path(config.problem).name}")
    found, timings, curves = summarize(config, results)
    write_arrays(out / "curves.npz", curves)
    write_json(out / "metrics.json", found)
    write_json(out / "timings.json", timings)
    draw_figures(out, curves, found, timings)
    write_report(out, config, found, timings)
    return found, timings


@lru_cache(maxsize=2)
def problem(config: CompareConfig, seed: int) -> Problem:
    """The problem of a seed; a file is the same for all."""
    if config.problem not in KINDS and seed != config.seed:
        return problem(config, config.seed)
    return load_problem(
        config.problem,
        config.samples,
        config.components,
        seed,
        columns=config.columns,
        time=config.time,
        episodes=config.episodes,
    )


def tasks(config: CompareConfig) -> list[Task]:
    """All independent pieces, in an order in which a problem is loaded once."""
    seeds = range(config.seed, config.seed + config.runs)
    outsiders = [name for name, outsider in OUTSIDERS.items() if outsider.is_installed]
    return [
        *(
            task
            for seed in seeds
            for task in (
                *(
                    Task(f"{name}-{seed:02d}", config.samples, partial(run_learner, config, name, seed))
                    for name in config.learners
                ),
                *(
                    Task(f"outside-{name}-{seed:02d}", 0, partial(run_outsider, config, name, seed))
                    for name in outsiders
                ),
            )
        ),
        *(
            Task(f"scaling-{name}", config.samples, partial(measure_scaling, name, config.samples))
            for name in SCALED
            if config.scaling and SCALED[name].learner in config.learners
        ),
    ]


def record_points(n_samples: int, m: int) -> list[int]:
    """Numbers of samples at which errors are measured: log-spaced from twice the columns on, and the last."""
    points = []
    for point in log_spaced(RECORDS_PER_DECADE):
        if point >= n_samples:
            break
        if point >= 2 * m:
            points.append(point)
    return [*points, n_samples]


def run_learner(config: CompareConfig, name: str, seed: int, report: Advance) -> Arrays:
    """One learner, one pass over the stream; time is that of learning, not of measuring."""
    own = problem(config, seed)
    learner = LEARNERS[name].build(config.components, seed)
    X, starts = own.signal, own.starts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what short beginnings have not
        LEARNERS[name].build(config.components, seed).partial_fit(X[:WARM_UP]).partial_fit(X[WARM_UP : 2 * WARM_UP])
        points = record_points(len(X), X.shape[1])
        errors, angles, seconds = (np.full(len(points), np.nan) for _ in range(3))
        spent, done = 0.0, 0
        try:
            for i, point in enumerate(points):
                while done < point:
                    rows = slice(done, min(point, done + CHUNK))
                    begin = time.perf_counter()
                    learner.partial_fit(X[rows], starts=starts[rows])
                    spent += time.perf_counter() - begin
                    report(rows.stop - done)
                    done = rows.stop
                errors[i], angles[i], seconds[i] = *judge(own, learner), spent
        except DivergenceError:
            report(len(X) - done)  # what is left of the curves is NaN
    return {
        "samples": np.array(points),
        "error": errors,
        "angle": angles,
        "seconds": seconds,
        "bytes": np.array(state_bytes(learner)),
    }


def judge(own: Problem, learner: SlowFeatureEstimator) -> tuple[float, float]:
    """Error and angle of what was learned so far; NaN if there are no features yet."""
    directions = getattr(learner, "components_", None)
    if directions is None or not np.isfinite(directions).all():
        return float("nan"), float("nan")
    return own.error(directions), own.angle(directions)


def run_outsider(config: CompareConfig, name: str, seed: int, report: Advance) -> Arrays:
    """Software of others on the whole stream at once."""
    own = problem(config, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are not ours
        begin = time.perf_counter()
        directions = OUTSIDERS[name].directions(own)
        spent = time.perf_counter() - begin
    if directions is None:
        return {"error": np.array(np.nan), "angle": np.array(np.nan), "seconds": np.array(np.nan)}
    return {
        "error": np.array(own.error(directions)),
        "angle": np.array(own.angle(directions)),
        "seconds": np.array(spent),
    }


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
        if own and not np.isnan(own[0]["error"]):
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


def interval(values: Any) -> dict[str, float | None]:
    """Median, least and greatest of runs; one that did not get there counts as infinite, and is written as None."""
    known = np.where(np.isnan(np.asarray(values, dtype=np.float64)), np.inf, values)
    numbers = {"median": np.median(known), "least": known.min(), "greatest": known.max()}
    return {key: float(number) if np.isfinite(number) else None for key, number in numbers.items()}


def budgets(samples: Any) -> list[int]:
    """Numbers of samples that people ask about: powers of ten, and the last."""
    powers = [10**e for e in range(3, 12) if samples[0] <= 10**e < samples[-1] and 10**e in samples]
    return [*powers, int(samples[-1])]
