"""Experiment 3 (Sec. 6.3): what a rat sees on its walk, a hierarchy of slow features, and place cells."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from biosfa import metrics
from biosfa.analysis import decode_position, firing_maps
from biosfa.datasets import rat_stream
from biosfa.datasets.rat import MARGIN, RatStream, Room, Walk
from biosfa.estimators._cubica import CuBICA
from biosfa.estimators._sfa import SFA
from biosfa.exceptions import DivergenceError
from biosfa.experiments._errors import ExperimentError
from biosfa.experiments._rat_figures import draw_figures
from biosfa.experiments._rat_networks import ONE_PASS, PAPER, TUNED, WHITEN, Learners, hierarchy
from biosfa.experiments._rat_report import write_report
from biosfa.experiments._runner import (
    Advance,
    Arrays,
    RunFolder,
    Task,
    changed,
    digest,
    run_tasks,
    write_arrays,
    write_json,
)
from biosfa.hierarchy import HierarchicalSFA
from biosfa.typing import Float64Array, FloatArray

UNITS = 32
LINEAR_RIDGE = 1e-6  # for the linear control, which has hardly more frames than pixels
POOLED = 4  # pixels along a side that the linear control averages over
ROTATION = Walk(speed=8.0, rotation=5.0)  # fast translation, slow rotation: heading becomes the slow feature
ROTATION_HEADINGS, ROTATION_STEP = 36, 4  # of the grid that the negative control is judged on
ORACLE_WAVES = 12  # cosines along each side
NUMBERS = ("place_units", "s_pos_median", "s_dir_median", "spatial_information_median", "sparsity_median")


@dataclass(frozen=True)
class RatConfig:
    """What to run; :func:`preset` has the sensible ones."""

    preset: str
    runs: int  # walks, of the seeds seed, seed + 1, …
    seed: int
    frames: int
    grid_step: int  # of the firing maps
    textures: str  # a folder, or "made"
    networks: tuple[str, ...]


# Ways to learn, and the walk they learn from. Those of the second walk show what changes if the head turns slowly.
SOLVERS: dict[str, tuple[str, Learners]] = {
    "bio": ("bio", TUNED),
    "whiten": ("bio", WHITEN),
    "online": ("bio", ONE_PASS),
    "paper": ("bio", PAPER),
    "exact": ("exact", TUNED),
    "random": ("random", TUNED),
    "rotation-bio": ("bio", TUNED),
    "rotation-exact": ("exact", TUNED),
}
ALL = ("bio", "exact", "whiten", "online", "paper", "linear", "random", "rotation-bio", "rotation-exact")

PRESETS = {
    "quick": RatConfig(
        "quick",
        runs=1,
        seed=0,
        frames=4500,
        grid_step=2,
        textures="made",
        networks=("whiten", "linear"),
    ),
    "paper": RatConfig("paper", runs=1, seed=0, frames=10_000, grid_step=1, textures="made", networks=ALL),
}


def preset(name: str, **changes: Any) -> RatConfig:
    """A preset, with some fields changed; None leaves them."""
    return changed(PRESETS[name], **changes)


def chosen(names: list[str]) -> tuple[str, ...]:
    """Networks that a user asked for."""
    unknown = [name for name in names if name not in ALL]
    if unknown:
        raise ExperimentError(f"there is no network {unknown[0]!r}; there are {', '.join(ALL)}")
    return tuple(name for name in ALL if name in names)


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


@lru_cache(maxsize=1)
def load_room(config: RatConfig) -> Room:
    """The room, with its textures."""
    try:
        return Room() if config.textures == "made" else Room(textures=config.textures)
    except ValueError as error:  # it names the picture
        raise ExperimentError(str(error)) from None


def stream(config: RatConfig, seed: int, *, rotates: bool) -> RatStream:
    """What the rat sees on its walk of a seed."""
    return rat_stream(config.frames, room=load_room(config), walk=ROTATION if rotates else None, random_state=seed)


def tasks(config: RatConfig, folder: RunFolder) -> list[Task]:
    """All networks, each on the walks of all seeds; the negative control on the first only."""
    found = []
    for run in range(config.runs):
        for name in config.networks:
            if run > 0 and name.startswith("rotation"):
                continue
            task = f"{name}-{run:02d}"
            if name == "linear":
                found.append(Task(task, config.frames, partial(run_linear, config, config.seed + run)))
                continue
            network = partial(run_hierarchy, config, name, config.seed + run, folder, task)
            found.append(Task(task, build(name, 0).frames_to_learn(config.frames), network))
    return found


def build(name: str, seed: int) -> HierarchicalSFA:
    """A hierarchy, not trained yet."""
    solver, learners = SOLVERS[name]
    return HierarchicalSFA(hierarchy(learners), solver=solver, random_state=seed)


def run_hierarchy(config: RatConfig, name: str, seed: int, folder: RunFolder, task: str, report: Advance) -> Arrays:
    """Train a hierarchy and look at its units."""
    rotates = name.startswith("rotation")
    seen = stream(config, seed, rotates=rotates)
    network = build(name, seed)
    try:
        network.fit(seen, checkpoint=folder.scratch(task, "layers"), progress=report)
    except DivergenceError:
        return {"diverged": np.array(True)}
    (folder.path / "networks").mkdir(exist_ok=True)
    network.save(folder.path / "networks" / f"{task}.safetensors")
    curves = {
        f"{key}_{level}_{step}": getattr(trained, key)
        for level, steps in enumerate(network.history_)
        for step, trained in zip(("linear", "quadratic"), steps, strict=True)
        for key in ("samples", "slowness", "delta_values")
    }
    return {**curves, **look(config, network.transform, seen, rotates=rotates)}


def run_linear(config: RatConfig, seed: int, report: Advance) -> Arrays:
    """The control without a hierarchy: exact linear SFA of pooled pixels."""
    seen = stream(config, seed, rotates=False)
    sfa = SFA(UNITS, ridge=LINEAR_RIDGE).fit(pooled(seen))
    report(config.frames)

    def transform(frames: RatStream) -> FloatArray:
        return sfa.transform(pooled(frames))

    return look(config, transform, seen, rotates=False)


def pooled(frames: RatStream) -> FloatArray:
    """Mean colours of squares of pixels, a row for each frame."""
    rows = []
    for chunk in frames:
        n, height, width, colors = chunk.shape
        squares = chunk.reshape(n, height // POOLED, POOLED, width // POOLED, POOLED, colors)
        rows.append(squares.mean(axis=(2, 4), dtype=np.float32).reshape(n, -1))
    return np.concatenate(rows, dtype=np.float64)


def look(config: RatConfig, transform: Callable[[RatStream], FloatArray], seen: RatStream, *, rotates: bool) -> Arrays:
    """Slowness, firing maps of slow features and of independent components, and what they tell."""
    Y = transform(seen).astype(np.float64)
    ica = CuBICA().fit(Y)
    grid = seen.room.grid(step=config.grid_step)
    shape = seen.room.grid_shape(step=config.grid_step)
    G = transform(RatStream(seen.room, grid))
    units = {"sfa": firing_maps(G, shape), "ica": firing_maps(ica.transform(G), shape)}
    found: dict[str, Any] = {
        "delta_mean": metrics.slowest(Y, UNITS).mean(),
        "delta_oracle_mean": oracle(seen),
        "decoding_error": decode_position(Y, seen.path.position, G, grid.position),
    }
    for kind, maps in units.items():
        found |= {f"{kind}_{key}": value for key, value in maps.summary().items()}
        found |= {f"{kind}_maps": maps.maps, f"{kind}_is_place_unit": maps.is_place_unit}
    if rotates:
        headings = {"step": ROTATION_STEP, "headings": ROTATION_HEADINGS}
        turning = firing_maps(
            transform(RatStream(seen.room, seen.room.grid(**headings))), seen.room.grid_shape(**headings)
        )
        found |= {"s_dir_slowest": turning.s_dir[:8], "direction_tuning": turning.direction_tuning[:8]}
    return {name: np.asarray(value) for name, value in found.items()}


def oracle(seen: RatStream) -> float:
    """Mean slowness of the slowest features of position itself: cosines along both sides, and their products."""
    place = (seen.path.position - MARGIN) / (np.array(seen.room.size) - 2 * MARGIN)
    i, j = (waves.ravel()[1:] for waves in np.meshgrid(np.arange(ORACLE_WAVES), np.arange(ORACLE_WAVES)))
    waves: Float64Array = np.cos(np.pi * place[:, :1] * i) * np.cos(np.pi * place[:, 1:] * j)
    return float(metrics.slowest(waves, UNITS).mean())


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
