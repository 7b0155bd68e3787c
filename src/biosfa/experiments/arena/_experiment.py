"""The arena: compares all learners on the same stream, by error, time and memory."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from biosfa.cluster import Cluster
from biosfa.experiments.arena._config import CompareConfig, problem_of, problems
from biosfa.experiments.arena._contestants import EXACT
from biosfa.experiments.arena._figures import draw_figures
from biosfa.experiments.arena._outsiders import OUTSIDERS
from biosfa.experiments.arena._problems import CLOSE, KINDS
from biosfa.experiments.arena._report import write_report
from biosfa.experiments.arena._scaling import summarize_scaling
from biosfa.experiments.arena._tasks import tasks
from biosfa.experiments.engine import Experiment, Outcome, Results, RunFolder, Task, arrays_of, digest
from biosfa.typing import Arrays, Float64Array


class Arena(Experiment[CompareConfig]):
    """The comparison of learners; :func:`compare` runs it.

    Examples
    --------
    >>> from biosfa.experiments import arena
    >>> arena.Arena(arena.configure("mixture")).title()
    'compare, mixture'
    """

    name = "compare"

    def title(self) -> str:
        """Return the text of the progress bar."""
        return f"compare, {Path(self.config.problem).name}"

    def inputs(self) -> dict[str, str]:
        """Return a digest of the file, if the problem is a file."""
        problems.clear()  # a file may have changed since
        first = problem_of(self.config, self.config.seed)
        first.check()
        return {} if self.config.problem in KINDS else {"content": digest([first.signal, first.starts])}

    def stages(self, folder: RunFolder) -> Sequence[Callable[[Results], list[Task]]]:
        """Return one stage: no task needs the result of another."""
        steps = len(problem_of(self.config, self.config.seed).signal)
        return [lambda _: tasks(self.config, steps)]

    def summarize(self, results: Results) -> tuple[dict[str, Any], Arrays]:
        """Return the numbers for ``metrics.json`` and the curves for ``curves.npz``."""
        found, _, curves = summarize(self.config, arrays_of(results))
        first = problem_of(self.config, self.config.seed)
        found["stream"] = {
            "samples": len(first.signal),
            "columns": first.signal.shape[1],
            "episodes": int(np.count_nonzero(first.starts)),
            "rows_skipped": first.n_skipped,
            "least_slowness": first.best.delta_values.tolist(),
        }
        return found, curves

    def timings(self, results: Results) -> dict[str, Any]:
        """Return the times of all learners, and time and memory against the number of columns."""
        return summarize(self.config, arrays_of(results))[1]

    def draw(self, out: Path, results: Results, curves: Arrays, found: dict[str, Any], timings: dict[str, Any]) -> None:
        """Draw the figures of the comparison and write them to the folder."""
        draw_figures(out, curves, found, timings)

    def report(self, out: Path, found: dict[str, Any], timings: dict[str, Any]) -> None:
        """Write ``report.html`` to the folder."""
        write_report(out, self.config, found, timings)


def compare(
    config: CompareConfig, out: Path, *, jobs: int = 1, resume: bool = False, cluster: Cluster | None = None
) -> Outcome:
    """Run the comparison, write figures, numbers and a report to ``out``, and return the numbers and the times.

    Parameters
    ----------
    config : CompareConfig
        The settings, from :func:`configure`.
    out : Path
        The output folder.
    jobs : int, default=1
        Number of learners that run at the same time. More than 1 distorts the times.
    resume : bool, default=False
        Whether to keep the results of a finished run in the folder. An unfinished run is always resumed.
    cluster : Cluster, optional
        Cluster whose workers run the tasks, from :func:`biosfa.cluster.connected`; by default threads of this process.

    Examples
    --------
    >>> from pathlib import Path
    >>> from biosfa.experiments import arena
    >>> config = arena.configure("mixture", samples=10_000, runs=1, scaling=False)
    >>> found, timings = arena.compare(config, Path("results"))  # doctest: +SKIP
    >>> print(arena.as_text(found, timings))  # doctest: +SKIP
    """
    return Arena(config).run(out, jobs=jobs, resume=resume, cluster=cluster)


def summarize(
    config: CompareConfig, arrays: dict[str, Arrays]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return numbers, which are the same for the same settings; times; and curves of all runs."""
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
    """Return the index from which the error stays small, or None if it does not."""
    far = np.flatnonzero(~(errors < CLOSE))
    first = int(far[-1]) + 1 if len(far) else 0
    return first if first < len(errors) else None


def interval(values: Any) -> dict[str, Any]:
    """Return median, minimum and maximum of runs. NaN counts as infinite, and infinity is written as None."""
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
    """Return the numbers of samples for the table of winners: powers of ten, and the last."""
    powers = [10**e for e in range(3, 12) if samples[0] <= 10**e < samples[-1] and 10**e in samples]
    return [*powers, int(samples[-1])]
