"""Experiment 2 (Sec. 6.2): networks learn complex cells from patches that move over natural images."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from biosfa import metrics
from biosfa.cluster import Cluster
from biosfa.experiments.engine import Experiment, Results, RunFolder, Task, arrays_of, digest
from biosfa.experiments.images._config import ImagesConfig, learners_of, load, samples_of
from biosfa.experiments.images._figures import draw_figures
from biosfa.experiments.images._networks import networks
from biosfa.experiments.images._report import CELLS, write_report
from biosfa.experiments.images._yardsticks import MOMENTS, moments_of, yardsticks
from biosfa.kernels.exact import Moments
from biosfa.typing import Arrays

CONTROLS = ("random", "shuffled")


class Images(Experiment[ImagesConfig]):
    """The experiment on moving images; :func:`reproduce` runs it.

    Examples
    --------
    >>> from biosfa.experiments import images
    >>> images.Images(images.preset("quick")).title()
    'images, quick'
    """

    name = "images"

    def title(self) -> str:
        """Return the text of the progress bar."""
        return f"images, {self.config.preset}"

    def inputs(self) -> dict[str, str]:
        """Return a digest of the images."""
        load.clear()  # a folder may have changed since
        return {"images_digest": digest(load(self.config).sequences.images)}

    def stages(self, folder: RunFolder) -> Sequence[Callable[[Results], list[Task]]]:
        """Return two stages: exact SFA and controls; then networks, whose errors need the moments of exact SFA."""
        return [
            lambda _: yardsticks(self.config),
            lambda results: networks(self.config, folder, moments_of(results["exact"].arrays)),
        ]

    def summarize(self, results: Results) -> tuple[dict[str, Any], Arrays]:
        """Return numbers and curves, without the moments, which are large."""
        arrays = arrays_of(results)
        curves = {f"{name}/{key}": own[key] for name, own in arrays.items() for key in own if key not in MOMENTS}
        return summarize(self.config, arrays, moments_of(arrays["exact"])), curves

    def timings(self, results: Results) -> dict[str, Any]:
        """Return the times of all tasks, and the time per sample of each learner."""
        arrays = arrays_of(results)
        each = {
            learner: median([microseconds(own) for name, own in arrays.items() if f"-{learner}-" in name])
            for learner in self.config.networks
        }
        return {**super().timings(results), "microseconds_per_sample": without_nan(each)}

    def draw(self, out: Path, results: Results, curves: Arrays, found: dict[str, Any], timings: dict[str, Any]) -> None:
        """Draw the figures of the experiment and write them to the folder."""
        draw_figures(out, arrays_of(results), found, load(self.config))

    def report(self, out: Path, found: dict[str, Any], timings: dict[str, Any]) -> None:
        """Write ``report.html`` to the folder."""
        write_report(out, self.config, found, timings)


def reproduce(
    config: ImagesConfig,
    out: Path,
    *,
    jobs: int | None = None,
    resume: bool = False,
    cluster: Cluster | None = None,
) -> dict[str, Any]:
    """Run the experiment, write figures, numbers and a report to ``out``, and return the content of ``metrics.json``.

    Parameters
    ----------
    config : ImagesConfig
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
    >>> from biosfa.experiments import images
    >>> found = images.reproduce(images.preset("quick"), Path("results"))  # doctest: +SKIP
    >>> found["relative_error"]  # doctest: +SKIP
    """
    return Images(config).run(out, jobs=jobs, resume=resume, cluster=cluster).found


def summarize(config: ImagesConfig, results: dict[str, Arrays], moments: Moments) -> dict[str, Any]:
    """Return the numbers: medians over runs that did not diverge. They have the same bits for the same settings."""
    least = float(results["exact"]["delta_values"].sum())

    def of_all(value: Callable[[Arrays], float]) -> dict[str, Any]:
        single = {name: value(results[name]) for name in ("exact", *CONTROLS)}
        nets = {
            rule: {
                learner: median([value(results[f"{rule}-{learner}-{run:02d}"]) for run in range(config.runs)])
                for learner in learners
            }
            for rule, learners in learners_of(config).items()
        }
        return {**single, **nets}

    def relative_error(arrays: Arrays) -> float:
        if "slowness" in arrays:
            return float(arrays["slowness"][-1] / least - 1.0)
        return float(metrics.subspace_slowness(arrays["components"], moments) / least - 1.0)

    def of_cells(key: str, arrays: Arrays) -> float:
        return float(arrays.get(key, np.array(np.nan)))

    runs = {name: arrays for name, arrays in results.items() if "slowness" in arrays}
    found: dict[str, Any] = {
        "lambda_slow": least,
        "relative_error": of_all(relative_error),
        **{key: of_all(partial(of_cells, key)) for key in CELLS},
        "slowest_two_gabor_r2": [float(value) for value in results["exact"]["gabor_r2"][:2]],
        "samples": {name: samples_of(config, name) for name in config.networks},
        "relative_error_of_runs": {name: relative_error(arrays) for name, arrays in runs.items()},
        "constraint_error_of_runs": {name: float(arrays["constraint_error"][-1]) for name, arrays in runs.items()},
        "diverged": [name for name, arrays in runs.items() if np.isnan(arrays["slowness"][-1])],
    }
    cleaned: dict[str, Any] = without_nan(found)
    return cleaned


def microseconds(arrays: Arrays) -> float:
    """Return the microseconds per sample after the first record; NaN if the network diverged or has only one record."""
    samples = int(np.ptp(arrays["samples"]))
    learned = samples > 0 and not np.isnan(arrays["slowness"][-1])
    return float(arrays["learning_seconds"]) / samples * 1e6 if learned else float("nan")


def median(values: list[float]) -> float:
    """Return the median of the finite values; NaN if there are none."""
    finite = [value for value in values if np.isfinite(value)]
    return float(np.median(finite)) if finite else float("nan")


def without_nan(value: Any) -> Any:
    """Replace NaN by None, because JSON has no NaN."""
    if isinstance(value, dict):
        return {key: without_nan(inner) for key, inner in value.items()}
    return None if isinstance(value, float) and np.isnan(value) else value
