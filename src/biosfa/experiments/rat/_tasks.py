"""Trains the networks of the experiment with the rat, and analyses their units."""

import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from biosfa import metrics
from biosfa.analysis import decode_position, firing_maps
from biosfa.datasets.rat import MARGIN, RatStream
from biosfa.estimators import SFA, CuBICA
from biosfa.exceptions import DivergenceError, ModelFileError
from biosfa.experiments.engine import RunFolder, Task, is_reachable
from biosfa.experiments.rat._config import SOLVERS, RatConfig, stream
from biosfa.experiments.rat._networks import hierarchy
from biosfa.hierarchy import HierarchicalSFA
from biosfa.typing import Advance, Arrays, ByteArray, Float64Array, FloatArray

UNITS = 32
NETWORK = "network"  # name of the array that holds a model file
LINEAR_RIDGE = 1e-6  # for the linear control, which has hardly more frames than pixels
POOLED = 4  # the linear control averages over squares of this many pixels per side
ROTATION_HEADINGS, ROTATION_STEP = 36, 4  # of the grid on which the walk with slow rotation is analysed
ORACLE_WAVES = 12  # number of cosines along each side of the room


def tasks(config: RatConfig, folder: RunFolder) -> list[Task]:
    """Return the tasks: all networks on the walks of all seeds, but those with slow rotation on the first walk only."""
    found = []
    for run in range(config.runs):
        for name in config.networks:
            if run > 0 and name.startswith("rotation"):
                continue
            task = f"{name}-{run:02d}"
            if name == "linear":
                found.append(Task(task, config.frames, run_linear, (config, config.seed + run)))
                continue
            arguments = (config, name, config.seed + run, folder.scratch(task, "layers"))
            found.append(Task(task, build(name, 0).frames_to_learn(config.frames), run_hierarchy, arguments))
    return found


def build(name: str, seed: int) -> HierarchicalSFA:
    """Return an untrained hierarchy."""
    solver, learners = SOLVERS[name]
    return HierarchicalSFA(hierarchy(learners), solver=solver, random_state=seed)


def run_hierarchy(config: RatConfig, name: str, seed: int, kept_in: Path, report: Advance) -> Arrays:
    """Train a hierarchy and analyse its units; ``kept_in`` is its checkpoint. The hierarchy is one of the arrays."""
    rotates = name.startswith("rotation")
    seen = stream(config, seed, rotates=rotates)
    network, checkpoint = build(name, seed), kept_in if is_reachable(kept_in) else None
    try:
        try:
            network.fit(seen, checkpoint=checkpoint, progress=report)
        except ModelFileError:  # the checkpoint is damaged: start again
            kept_in.unlink()
            network.fit(seen, checkpoint=checkpoint, progress=report)
    except DivergenceError:
        return {"diverged": np.array(True)}
    curves = {
        f"{key}_{level}_{step}": getattr(trained, key)
        for level, steps in enumerate(network.history_)
        for step, trained in zip(("linear", "quadratic"), steps, strict=True)
        for key in ("samples", "slowness", "delta_values")
    }
    with warnings.catch_warnings():
        if name == "random":  # random weights give CuBICA nothing to separate
            warnings.simplefilter("ignore", ConvergenceWarning)
        return {NETWORK: file_of(network), **curves, **look(config, network.transform, seen, rotates=rotates)}


def file_of(network: HierarchicalSFA) -> ByteArray:
    """Return the model file of a hierarchy, which may have been trained on another machine than that of the folder."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "network.safetensors"
        network.save(file)
        return np.frombuffer(file.read_bytes(), np.uint8)


def run_linear(config: RatConfig, seed: int, report: Advance) -> Arrays:
    """Fit the control without a hierarchy, exact linear SFA of pooled pixels, and analyse its units."""
    seen = stream(config, seed, rotates=False)
    sfa = SFA(UNITS, ridge=LINEAR_RIDGE).fit(pooled(seen))
    report(config.frames)

    def transform(frames: RatStream) -> FloatArray:
        return sfa.transform(pooled(frames))

    return look(config, transform, seen, rotates=False)


def pooled(frames: RatStream) -> FloatArray:
    """Return the mean colours of squares of pixels, one row per frame."""
    rows = []
    for chunk in frames:
        n, height, width, colors = chunk.shape
        squares = chunk.reshape(n, height // POOLED, POOLED, width // POOLED, POOLED, colors)
        rows.append(squares.mean(axis=(2, 4), dtype=np.float32).reshape(n, -1))
    return np.concatenate(rows, dtype=np.float64)


def look(config: RatConfig, transform: Callable[[RatStream], FloatArray], seen: RatStream, *, rotates: bool) -> Arrays:
    """Return slowness, decoding error, and firing maps of slow features and of their independent components."""
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
    """Return the mean slowness of the slowest functions of position: combinations of products of cosines."""
    place = (seen.path.position - MARGIN) / (np.array(seen.room.size) - 2 * MARGIN)
    i, j = (waves.ravel()[1:] for waves in np.meshgrid(np.arange(ORACLE_WAVES), np.arange(ORACLE_WAVES)))
    waves: Float64Array = np.cos(np.pi * place[:, :1] * i) * np.cos(np.pi * place[:, 1:] * j)
    return float(metrics.slowest(waves, UNITS).mean())
