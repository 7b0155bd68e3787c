"""Experiment 3 (Sec. 6.3): a hierarchy learns place cells from what a rat sees on its walk."""

from collections.abc import Callable, Sequence
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np

from biosfa.cluster import Cluster
from biosfa.experiments.engine import Experiment, Results, RunFolder, Task, arrays_of, digest
from biosfa.experiments.rat._config import RatConfig, load_path, load_room, stream
from biosfa.experiments.rat._figures import draw_figures
from biosfa.experiments.rat._report import write_report
from biosfa.experiments.rat._tasks import NETWORK, tasks
from biosfa.io.atomic import replace_file
from biosfa.typing import Arrays

NUMBERS = (
    "place_units",
    "direction_units",
    "mixed_units",
    "s_pos_median",
    "s_dir_median",
    "spatial_information_median",
    "sparsity_median",
)


class Rat(Experiment[RatConfig]):
    """The experiment with the rat; :func:`reproduce` runs it.

    Examples
    --------
    >>> from biosfa.experiments import rat
    >>> rat.Rat(rat.preset("quick")).title()
    'rat, quick'
    """

    name = "rat"

    def title(self) -> str:
        """Return the text of the progress bar."""
        return f"rat, {self.config.preset}"

    def inputs(self) -> dict[str, str]:
        """Return digests of the textures and of the recorded path."""
        room, path = load_room(self.config), load_path(self.config)
        found = {"textures_digest": digest((room.walls, room.floor, room.scenes))}
        if path is not None:
            stream(self.config, self.config.seed, rotates=False)  # a path that cannot be used is an error here
            found["path_digest"] = digest((path,))
        return found

    def stages(self, folder: RunFolder) -> Sequence[Callable[[Results], list[Task]]]:
        """Return one stage: no task needs the result of another."""
        return [lambda _: tasks(self.config, folder)]

    def summarize(self, results: Results) -> tuple[dict[str, Any], Arrays]:
        """Return the numbers for ``metrics.json``, and the curves for ``curves.npz`` without the hierarchies."""
        arrays = arrays_of(results)
        curves = {
            f"{name}/{key}": array for name, own in arrays.items() for key, array in own.items() if key != NETWORK
        }
        return summarize(self.config, arrays), curves

    def draw(self, out: Path, results: Results, curves: Arrays, found: dict[str, Any], timings: dict[str, Any]) -> None:
        """Draw the figures of the experiment and write them to the folder, with the model files of the hierarchies."""
        write_networks(out / "networks", results)
        draw_figures(out, arrays_of(results), found, stream(self.config, self.config.seed, rotates=False))

    def report(self, out: Path, found: dict[str, Any], timings: dict[str, Any]) -> None:
        """Write ``report.html`` to the folder."""
        write_report(out, self.config, found, timings, load_room(self.config))


def reproduce(
    config: RatConfig,
    out: Path,
    *,
    jobs: int | None = None,
    resume: bool = False,
    cluster: Cluster | None = None,
) -> dict[str, Any]:
    """Run the experiment, write figures, numbers and a report to ``out``, and return the content of ``metrics.json``.

    Parameters
    ----------
    config : RatConfig
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
    >>> from biosfa.experiments import rat
    >>> found = rat.reproduce(rat.preset("quick"), Path("results"))  # doctest: +SKIP
    >>> found["networks"]["online"][0]["place_units"]  # doctest: +SKIP
    """
    return Rat(config).run(out, jobs=jobs, resume=resume, cluster=cluster).found


def write_networks(folder: Path, results: Results) -> None:
    """Write the model files that are among the results."""
    for name, result in results.items():
        if NETWORK in result.arrays:
            folder.mkdir(exist_ok=True)
            replace_file(folder / f"{name}.safetensors", methodcaller("write", result.arrays[NETWORK].tobytes()))


def summarize(config: RatConfig, results: dict[str, Arrays]) -> dict[str, Any]:
    """Return the numbers of every network and seed. They have the same bits for the same settings."""

    def of(run: int, arrays: Arrays) -> dict[str, Any]:
        if "diverged" in arrays:
            return {"seed": config.seed + run, "diverged": True}
        found: dict[str, Any] = {
            "seed": config.seed + run,
            **{key: arrays[f"ica_{key}"].item() for key in NUMBERS},
            "place_units_sfa": arrays["sfa_place_units"].item(),
            **{key: float(arrays[key]) for key in ("delta_mean", "delta_oracle_mean", "decoding_error")},
        }
        if "slowness_0_linear" in arrays:
            found["slowness"] = [
                [None if np.isnan(total) else float(total) for total in stage_slowness(arrays, level)]
                for level in range(3)
            ]
        if "s_dir_slowest" in arrays:
            found["s_dir_slowest"] = [float(value) for value in arrays["s_dir_slowest"]]
        return found

    return {
        "networks": {
            name: [
                of(run, results[f"{name}-{run:02d}"]) for run in range(config.runs) if f"{name}-{run:02d}" in results
            ]
            for name in config.networks
        }
    }


def stage_slowness(arrays: Arrays, level: int) -> tuple[float, float]:
    """Return the summed slowness of the features of both steps of a layer, at the end of training."""
    linear, quadratic = (float(arrays[f"delta_values_{level}_{step}"].sum()) for step in ("linear", "quadratic"))
    return linear, quadratic
