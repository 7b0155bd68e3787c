"""Experiment 1 (Sec. 6.1): the slow force that drives a chaotic series, recovered online."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from biosfa import metrics
from biosfa.datasets import DrivenLogisticMap, driven_logistic_map
from biosfa.datasets._chaotic import Variant
from biosfa.estimators._bio_sfa import BioSFA
from biosfa.estimators._offline import OfflineBioSFA
from biosfa.estimators._recorder import Recorder, log_spaced
from biosfa.estimators._schedules import InverseTime
from biosfa.estimators._sfa import SFA
from biosfa.experiments._baseline import numpy_loop
from biosfa.experiments._chaotic_figures import draw_figures
from biosfa.experiments._chaotic_report import write_report
from biosfa.experiments._runner import Arrays, Result, RunFolder, Task, changed, run_tasks, write_arrays, write_json
from biosfa.kernels.moments import Moments
from biosfa.typing import Float64Array, IntArray

# The authors' rates: their grid search found "a = 4, b = −4", which are powers of ten.
LEARNING_RATE = InverseTime(a=1e4, b=1e-4)
TAU = 0.5

RULES = ("bio-sfa", "reversible")
TUNED: dict[str, dict[str, Any]] = {"auto": {}, "whiten": {"preconditioner": "whiten"}}  # no rate chosen by hand
SHOWN = 5000  # steps in the panels, as in the paper
CHUNK = 20_000  # rows learned between two looks at the progress bar; few enough to be read from memory once
LOOP_STEPS = 20_000  # steps of the NumPy loop that are timed


@dataclass(frozen=True)
class ChaoticConfig:
    """What to run; :func:`preset` has the sensible ones."""

    preset: str
    variant: Variant
    runs: int  # networks of each rule
    seed: int  # of the series
    samples: int  # length of the series, which is streamed again and again
    steps: int  # updates of each network
    series: int  # the table of other series has those of seeds 0, 1, …, series − 1
    offline_steps: int


# How fast a network converges depends on the series. Of those of seeds 0–4, the errors of 1, 2 and 3 lie within
# 0.7–1.4 times the range of the authors' ten runs on theirs; 0 converges faster and 4 slower. Seed 1 was chosen as the
# default for that, after seeing all five; the report shows them all.
DEFAULT_SEED = 1

PRESETS = {
    "quick": ChaoticConfig(
        "quick", "code", runs=3, seed=DEFAULT_SEED, samples=100_000, steps=2_000_000, series=2, offline_steps=20_000
    ),
    "paper": ChaoticConfig(
        "paper",
        "code",
        runs=10,
        seed=DEFAULT_SEED,
        samples=1_000_000,
        steps=50_000_000,
        series=5,
        offline_steps=200_000,
    ),
}


def preset(name: str, **changes: Any) -> ChaoticConfig:
    """A preset, with some fields changed; None leaves them."""
    return changed(PRESETS[name], **changes)


def reproduce(config: ChaoticConfig, out: Path, *, jobs: int | None = None, resume: bool = False) -> dict[str, Any]:
    """Run the experiment and leave figures, numbers and a report in ``out``; returns what ``metrics.json`` has."""
    begin = time.perf_counter()
    folder = RunFolder(out)
    folder.begin("chaotic", config, resume=resume)
    with threadpool_limits(1):  # sums must not depend on how many threads share them
        loop = time_numpy_loop(config)
        results = run_tasks(folder, tasks(config), jobs=jobs, title=f"chaotic, {config.preset}")
        found, curves = summarize(config, results)
    write_arrays(out / "curves.npz", curves)
    write_json(out / "metrics.json", found)
    example = BioSFA(3, random_state=0).fit(load(config, config.seed).delays[:10_000])
    draw_figures(out, curves, found, example)
    learning = [result for name, result in results.items() if name.startswith(RULES)]
    timings: dict[str, Any] = {
        "wall_seconds": time.perf_counter() - begin,
        "learning_seconds": float(sum(result.arrays["learning_seconds"] for result in learning)),
        "steps_learned": config.steps * len(learning),
        "numpy_loop_seconds_per_step": loop,
        "task_seconds": {name: result.seconds for name, result in results.items()},
    }
    timings["seconds_per_step"] = timings["learning_seconds"] / timings["steps_learned"]
    timings["times_faster_than_numpy_loop"] = loop / timings["seconds_per_step"]
    write_json(out / "timings.json", timings)
    write_report(out, config, found, timings)
    return found


def tasks(config: ChaoticConfig) -> list[Task]:
    """All independent pieces of the experiment."""

    def network(rule: str, run: int, seed: int) -> Callable[[Callable[[int], None]], Arrays]:
        return lambda report: run_network(config, rule, run, seed, report)

    def tuned(name: str, run: int) -> Callable[[Callable[[int], None]], Arrays]:
        return lambda report: run_tuned(config, name, run, report)

    def offline(report: Callable[[int], None]) -> Arrays:
        return run_offline(config)

    def exact(report: Callable[[int], None]) -> Arrays:
        return run_exact(config)

    return [
        Task("offline", 0, offline),
        Task("exact", 0, exact),
        *(
            Task(f"{rule}-{run:02d}", config.steps, network(rule, run, config.seed))
            for rule in RULES
            for run in range(config.runs)
        ),
        *(
            Task(f"tuned-{name}-{run:02d}", config.samples, tuned(name, run))
            for name in TUNED
            for run in range(config.runs)
        ),
        *(Task(f"bio-sfa-series-{seed:02d}", config.steps, network("bio-sfa", 0, seed)) for seed in others(config)),
    ]


def others(config: ChaoticConfig) -> list[int]:
    """Seeds of the table of series, less the one that all runs are on."""
    return [seed for seed in range(config.series) if seed != config.seed]


@lru_cache(maxsize=3)
def load(config: ChaoticConfig, seed: int) -> DrivenLogisticMap:
    """The series of a seed."""
    return driven_logistic_map(config.samples, variant=config.variant, random_state=seed)


@lru_cache(maxsize=3)
def signal(config: ChaoticConfig, seed: int) -> tuple[Float64Array, Moments]:
    """The expanded signal of a series, and its moments."""
    X = load(config, seed).expanded()
    return X, metrics.moments(X)


def recorded_steps(steps: int) -> list[int]:
    """Updates at which errors are measured: log-spaced, and every fifth of the whole."""
    spaced = list(iter_until(log_spaced(10), steps))
    return sorted({*spaced, *(steps * i // 5 for i in range(1, 6))})


def iter_until(values: Iterator[int], last: int) -> Iterator[int]:
    """The values up to and with ``last``."""
    for value in values:
        if value > last:
            return
        yield value


def run_network(config: ChaoticConfig, rule: str, run: int, seed: int, report: Callable[[int], None]) -> Arrays:
    """One network on one series: it begins at a random index, wraps round at the end, and sums nothing across it."""
    X, moments = signal(config, seed)
    rng = np.random.default_rng([seed, run])
    begin = position = int(rng.integers(config.samples))
    net = BioSFA(
        1, rule=rule, learning_rate=LEARNING_RATE, tau=TAU, center=False, random_state=int(rng.integers(2**31))
    )
    recorder = Recorder(steps=recorded_steps(config.steps))
    learning = 0.0
    done = 0
    begins = True  # the next row makes no update
    while done < config.steps:
        chunk = X[position : position + min(CHUNK, config.steps - done + begins)]
        start = time.perf_counter()
        net.partial_fit(chunk, recorder=recorder)
        learning += time.perf_counter() - start
        position += len(chunk)
        begins = position == len(X)
        if begins:
            net.end_episode()
            position = 0
        report(net.n_updates_ - done)
        done = net.n_updates_
    force = load(config, seed).driving_force
    outputs = np.stack([np.linalg.solve(M, W) for M, W in zip(recorder.M, recorder.W, strict=True)])
    last = (position + np.arange(-SHOWN, 0)) % len(X)
    return {
        "steps": recorder.steps,
        "error": np.asarray(metrics.slowness_error(recorder.W, moments)),
        "constraint_error": np.array([metrics.constraint_error(V, moments) for V in outputs]),
        "correlation": np.array(abs(np.corrcoef(net.transform(X)[:, 0], force)[0, 1])),
        "lambda_slow": np.array(metrics.slowest(moments, 1)[0]),
        "begin": np.array(begin),
        "last": last,
        "last_output": net.transform(X[last])[:, 0],
        "learning_seconds": np.array(learning),
    }


def run_tuned(config: ChaoticConfig, name: str, run: int, report: Callable[[int], None]) -> Arrays:
    """One network with automatic rates, one pass over the series."""
    X, moments = signal(config, config.seed)
    net = BioSFA(1, random_state=run, **TUNED[name])
    recorder = Recorder(steps=[step for step in iter_until(log_spaced(10), len(X) - 1) if step >= X.shape[1]])
    for begin in range(0, len(X), CHUNK):
        net.partial_fit(X[begin : begin + CHUNK], recorder=recorder)
        report(min(CHUNK, len(X) - begin))
    force = load(config, config.seed).driving_force
    return {
        "steps": np.append(recorder.steps, net.n_updates_),
        "error": np.append(
            metrics.slowness_error(recorder.W, moments), metrics.slowness_error(net.components_, moments)
        ),
        "watched_steps": recorder.steps,
        "delta": recorder.delta_values[:, 0],
        "constraint_error": recorder.constraint_error,
        "learning_rate": recorder.learning_rate,
        "correlation": np.array(abs(np.corrcoef(net.transform(X)[:, 0], force)[0, 1])),
    }


def run_offline(config: ChaoticConfig) -> Arrays:
    """The offline algorithm on the covariances of the whole series."""
    X, moments = signal(config, config.seed)
    recorder = Recorder(steps=list(iter_until(log_spaced(10), config.offline_steps)))
    OfflineBioSFA(1, max_iter=config.offline_steps, tau=TAU, random_state=0).fit(X, recorder=recorder)
    return {"steps": recorder.steps, "error": np.asarray(metrics.slowness_error(recorder.W, moments))}


def run_exact(config: ChaoticConfig) -> Arrays:
    """Exact SFA on the first samples of the series, more and more of them, measured on all."""
    X, moments = signal(config, config.seed)
    sfa = SFA(1)
    steps, errors, seen = [], [], 0
    for step in iter_until(log_spaced(10), config.samples):
        if step < 2 * X.shape[1]:
            continue
        sfa.partial_fit(X[seen:step])
        seen = step
        steps.append(step)
        errors.append(metrics.slowness_error(sfa.components_, moments))
    force = load(config, config.seed).driving_force
    correlation = abs(np.corrcoef(SFA(1).fit_transform(X)[:, 0], force)[0, 1])
    return {"steps": np.array(steps), "error": np.array(errors), "correlation": np.array(correlation)}


def summarize(config: ChaoticConfig, results: dict[str, Result]) -> tuple[dict[str, Any], Arrays]:
    """The numbers and the curves; both the same, to the bit, for the same configuration."""
    arrays = {name: result.arrays for name, result in results.items()}
    runs = {rule: [arrays[f"{rule}-{run:02d}"] for run in range(config.runs)] for rule in RULES}
    steps: IntArray = runs["bio-sfa"][0]["steps"]
    errors = {rule: np.stack([run["error"] for run in runs[rule]]) for rule in RULES}
    constraint = {rule: np.stack([run["constraint_error"] for run in runs[rule]]) for rule in RULES}
    fifths = [int(np.searchsorted(steps, config.steps * i // 5)) for i in range(1, 6)]

    def at_fifths(values: Float64Array) -> dict[str, float]:
        return {str(steps[i]): float(values[i]) for i in fifths}

    tuned = {name: [arrays[f"tuned-{name}-{run:02d}"] for run in range(config.runs)] for name in TUNED}
    series = {
        config.seed: runs["bio-sfa"][0],
        **{seed: arrays[f"bio-sfa-series-{seed:02d}"] for seed in others(config)},
    }
    found = {
        "lambda_slow": float(runs["bio-sfa"][0]["lambda_slow"]),
        "correlation": [float(run["correlation"]) for run in runs["bio-sfa"]],
        "correlation_exact": float(arrays["exact"]["correlation"]),
        "error_min": at_fifths(errors["bio-sfa"].min(axis=0)),
        "error_median": at_fifths(np.median(errors["bio-sfa"], axis=0)),
        "error_max": at_fifths(errors["bio-sfa"].max(axis=0)),
        "constraint_error_median": at_fifths(np.median(constraint["bio-sfa"], axis=0)),
        "reversible": {
            "error_median": at_fifths(np.median(errors["reversible"], axis=0)),
            "constraint_error_median": at_fifths(np.median(constraint["reversible"], axis=0)),
            "correlation": [float(run["correlation"]) for run in runs["reversible"]],
        },
        "offline": {"steps": int(arrays["offline"]["steps"][-1]), "error": float(arrays["offline"]["error"][-1])},
        "one_pass": {
            name: {
                "error_median": error_after(
                    config.samples, own[0]["steps"], np.median([run["error"] for run in own], axis=0)
                ),
                "error_max": error_after(
                    config.samples, own[0]["steps"], np.max([run["error"] for run in own], axis=0)
                ),
            }
            for name, own in {"paper": runs["bio-sfa"], **tuned}.items()
        },
        "correlation_tuned": {name: [float(run["correlation"]) for run in own] for name, own in tuned.items()},
        "series": [
            {
                "seed": seed,
                "lambda_slow": float(run["lambda_slow"]),
                "correlation": float(run["correlation"]),
                "error": at_fifths(run["error"]),
            }
            for seed, run in sorted(series.items())
        ],
    }
    shown = runs["bio-sfa"][0]
    data = load(config, config.seed)
    curves: dict[str, Any] = {
        "steps": steps,
        **{f"error_{rule}": errors[rule] for rule in RULES},
        **{f"constraint_error_{rule}": constraint[rule] for rule in RULES},
        **{
            f"{key}_{name}": np.stack([run[key] for run in own])
            for name, own in tuned.items()
            for key in ("error", "delta", "constraint_error", "learning_rate")
        },
        "steps_tuned": tuned["whiten"][0]["steps"],
        "watched_steps": tuned["whiten"][0]["watched_steps"],
        "steps_offline": arrays["offline"]["steps"],
        "error_offline": arrays["offline"]["error"],
        "steps_exact": arrays["exact"]["steps"],
        "error_exact": arrays["exact"]["error"],
        "last_driving_force": data.driving_force[shown["last"]],
        "last_series": data.series[shown["last"]],
        "last_output": shown["last_output"],
    }
    return json.loads(json.dumps(found)), curves


def error_after(samples: int, steps: IntArray, errors: Float64Array) -> dict[str, float]:
    """Errors within the first pass, after numbers of samples that people ask about: the last record before each."""
    asked = [number for number in (10_000, 20_000, 100_000, 1_000_000) if number <= samples]
    return {str(number): float(errors[np.searchsorted(steps, number, side="right") - 1]) for number in asked}


def time_numpy_loop(config: ChaoticConfig) -> float:
    """Seconds a step of the NumPy loop on the same signal: the best of three."""
    X, _ = signal(config, config.seed)
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        numpy_loop(X[:LOOP_STEPS], np.full((1, X.shape[1]), 0.1), np.eye(1), LEARNING_RATE(1), TAU)
        times.append((time.perf_counter() - begin) / LOOP_STEPS)
    return min(times)
