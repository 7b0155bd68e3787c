"""Experiment 3 (Sec. 6.3): what a rat sees on its walk, a hierarchy of slow features, and place cells."""

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from biosfa.experiments.engine import RunFolder, digest, run_tasks, write_arrays, write_json
from biosfa.experiments.rat._config import RatConfig, load_room, stream
from biosfa.experiments.rat._figures import draw_figures
from biosfa.experiments.rat._report import write_report
from biosfa.experiments.rat._tasks import tasks
from biosfa.typing import Arrays

NUMBERS = ("place_units", "s_pos_median", "s_dir_median", "spatial_information_median", "sparsity_median")


def reproduce(config: RatConfig, out: Path, *, jobs: int | None = None, resume: bool = False) -> dict[str, Any]:
    """Run the experiment and leave figures, numbers and a report in ``out``; returns what ``metrics.json`` has."""
    begin = time.perf_counter()
    room = load_room(config)
    folder = RunFolder(out)
    folder.begin("rat", config, resume=resume, textures_digest=digest((room.walls, room.floor, room.scenes)))
    # sums must not depend on how many threads share them
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of CuBICA: random weights give nothing to separate
        results = run_tasks(folder, tasks(config, folder), jobs=jobs, title=f"rat, {config.preset}")
        arrays = {name: result.arrays for name, result in results.items()}
        found = summarize(config, arrays)
    curves = {f"{name}/{key}": array for name, own in arrays.items() for key, array in own.items()}
    write_arrays(out / "curves.npz", curves)
    write_json(out / "metrics.json", found)
    draw_figures(out, arrays, found, stream(config, config.seed, rotates=False))
    timings = {
        "wall_seconds": time.perf_counter() - begin,
        "task_seconds": {name: result.seconds for name, result in results.items()},
    }
    write_json(out / "timings.json", timings)
    write_report(out, config, found, timings, room)
    return found


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
