"""Experiment 1 (Sec. 6.1): the slow force that drives a chaotic series, recovered online."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from biosfa.estimators import BioSFA
from biosfa.experiments.chaotic._config import RULES, TUNED, ChaoticConfig, load, others
from biosfa.experiments.chaotic._figures import draw_figures
from biosfa.experiments.chaotic._report import write_report
from biosfa.experiments.chaotic._tasks import tasks, time_numpy_loop
from biosfa.experiments.engine import Result, RunFolder, run_tasks, write_arrays, write_json
from biosfa.typing import Arrays, Float64Array, IntArray


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
        "steps_tuned": tuned["online"][0]["steps"],
        "watched_steps": tuned["online"][0]["watched_steps"],
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
