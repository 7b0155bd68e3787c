"""Experiment 1 (Sec. 6.1): a network finds the slow force that drives a chaotic series."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from biosfa.cluster import Cluster
from biosfa.estimators import BioSFA
from biosfa.experiments.chaotic._config import AUTOMATIC, RULES, ChaoticConfig, load, others
from biosfa.experiments.chaotic._figures import draw_figures
from biosfa.experiments.chaotic._report import write_report
from biosfa.experiments.chaotic._tasks import tasks, time_numpy_loop
from biosfa.experiments.engine import Experiment, Results, RunFolder, Task, arrays_of
from biosfa.typing import Arrays, Float64Array, IntArray


class Chaotic(Experiment[ChaoticConfig]):
    """The experiment with the driven logistic map; :func:`reproduce` runs it.

    Examples
    --------
    >>> from biosfa.experiments import chaotic
    >>> chaotic.Chaotic(chaotic.preset("quick")).title()
    'chaotic, quick'
    """

    name = "chaotic"

    def title(self) -> str:
        """Return the text of the progress bar."""
        return f"chaotic, {self.config.preset}"

    def stages(self, folder: RunFolder) -> Sequence[Callable[[Results], list[Task]]]:
        """Return one stage: no task needs the result of another."""
        return [lambda _: tasks(self.config)]

    def summarize(self, results: Results) -> tuple[dict[str, Any], Arrays]:
        """Return the numbers for ``metrics.json`` and the curves for ``curves.npz``."""
        return summarize(self.config, arrays_of(results))

    def timings(self, results: Results) -> dict[str, Any]:
        """Return the time per step, and that of a NumPy loop."""
        loop = time_numpy_loop(self.config)
        learning = [result for name, result in results.items() if name.startswith(RULES)]
        seconds = float(sum(result.arrays["learning_seconds"] for result in learning))
        steps = self.config.steps * len(learning)
        return {
            **super().timings(results),
            "learning_seconds": seconds,
            "steps_learned": steps,
            "numpy_loop_seconds_per_step": loop,
            "seconds_per_step": seconds / steps,
            "times_faster_than_numpy_loop": loop * steps / seconds,
        }

    def draw(self, out: Path, results: Results, curves: Arrays, found: dict[str, Any], timings: dict[str, Any]) -> None:
        """Draw the figures and write them to the folder. The picture of a network shows a small network."""
        example = BioSFA(3, random_state=0).fit(load(self.config, self.config.seed).delays[:10_000])
        draw_figures(out, curves, found, example)

    def report(self, out: Path, found: dict[str, Any], timings: dict[str, Any]) -> None:
        """Write ``report.html`` to the folder."""
        write_report(out, self.config, found, timings)


def reproduce(
    config: ChaoticConfig,
    out: Path,
    *,
    jobs: int | None = None,
    resume: bool = False,
    cluster: Cluster | None = None,
) -> dict[str, Any]:
    """Run the experiment, write figures, numbers and a report to ``out``, and return the content of ``metrics.json``.

    Parameters
    ----------
    config : ChaoticConfig
        The settings, such as ``preset("quick")``.
    out : Path
        The output folder.
    jobs : int, optional
        Number of tasks that run at the same time; by default one per core.
    resume : bool, default=False
        Whether to keep the results of a finished run in the folder. An unfinished run is always resumed.
    cluster : Cluster, optional
        Cluster whose workers run the tasks, from :func:`biosfa.cluster.connected`; by default threads of this process.

    Examples
    --------
    >>> from pathlib import Path
    >>> from biosfa.experiments import chaotic
    >>> found = chaotic.reproduce(chaotic.preset("quick"), Path("results"))  # doctest: +SKIP
    >>> min(found["correlation"])  # doctest: +SKIP
    """
    return Chaotic(config).run(out, jobs=jobs, resume=resume, cluster=cluster).found


def summarize(config: ChaoticConfig, arrays: dict[str, Arrays]) -> tuple[dict[str, Any], Arrays]:
    """Return the numbers and the curves. Both have the same bits for the same settings."""
    runs = {rule: [arrays[f"{rule}-{run:02d}"] for run in range(config.runs)] for rule in RULES}
    steps: IntArray = runs["bio-sfa"][0]["steps"]
    errors = {rule: np.stack([run["error"] for run in runs[rule]]) for rule in RULES}
    constraint = {rule: np.stack([run["constraint_error"] for run in runs[rule]]) for rule in RULES}
    fifths = [int(np.searchsorted(steps, config.steps * i // 5)) for i in range(1, 6)]

    def at_fifths(values: Float64Array) -> dict[str, float]:
        return {str(steps[i]): float(values[i]) for i in fifths}

    tuned = {name: [arrays[f"tuned-{name}-{run:02d}"] for run in range(config.runs)] for name in AUTOMATIC}
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
    """Return errors in the first pass after 1e4, 2e4, 1e5 and 1e6 samples: each is the last that was recorded."""
    asked = [number for number in (10_000, 20_000, 100_000, 1_000_000) if number <= samples]
    return {str(number): float(errors[np.searchsorted(steps, number, side="right") - 1]) for number in asked}
