"""Experiment 3 (Sec. 6.3): what a rat sees on its walk, a hierarchy of slow features, and place cells."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from biosfa.experiments.engine import Experiment, Results, RunFolder, Task, arrays_of, digest
from biosfa.experiments.rat._config import RatConfig, load_room, stream
from biosfa.experiments.rat._figures import draw_figures
from biosfa.experiments.rat._report import write_report
from biosfa.experiments.rat._tasks import tasks
from biosfa.typing import Arrays

NUMBERS = ("place_units", "s_pos_median", "s_dir_median", "spatial_information_median", "sparsity_median")


class Rat(Experiment[RatConfig]):
    """A rat on its walk."""

    name = "rat"

    def title(self) -> str:
        """What the progress bar says."""
        return f"rat, {self.config.preset}"

    def inputs(self) -> dict[str, str]:
        """The content of the textures."""
        room = load_room(self.config)
        return {"textures_digest": digest((room.walls, room.floor, room.scenes))}

    def stages(self, folder: RunFolder) -> Sequence[Callable[[Results], list[Task]]]:
        """One stage: no network needs another."""
        return [lambda _: tasks(self.config, folder)]

    def summarize(self, results: Results) -> tuple[dict[str, Any], Arrays]:
        """Numbers and curves."""
        arrays = arrays_of(results)
        curves = {f"{name}/{key}": array for name, own in arrays.items() for key, array in own.items()}
        return summarize(self.config, arrays), curves

    def draw(self, out: Path, results: Results, curves: Arrays, found: dict[str, Any], timings: dict[str, Any]) -> None:
        """Draw the figures."""
        draw_figures(out, arrays_of(results), found, stream(self.config, self.config.seed, rotates=False))

    def report(self, out: Path, found: dict[str, Any], timings: dict[str, Any]) -> None:
        """Write the report."""
        write_report(out, self.config, found, timings, load_room(self.config))


def reproduce(config: RatConfig, out: Path, *, jobs: int | None = None, resume: bool = False) -> dict[str, Any]:
    """Run the experiment and leave figures, numbers and a report in ``out``; returns what ``metrics.json`` has."""
    return Rat(config).run(out, jobs=jobs, resume=resume).found


def summarize(config: RatConfig, results: dict[str, Arrays]) -> dict[str, Any]:
    """The numbers of every network and seed; the same, to the bit, for the same configuration."""

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
    """Sum of the slowness of the features of both steps of a layer, at the end of training."""
    linear, quadratic = (float(arrays[f"delta_values_{level}_{step}"].sum()) for step in ("linear", "quadratic"))
    return linear, quadratic
