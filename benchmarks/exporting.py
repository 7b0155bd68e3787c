"""How exact and how fast exported models are in ONNX Runtime: ``make bench-exporting``.

The last part trains the hierarchy of the rat, which takes some minutes.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from threadpoolctl import threadpool_limits

from biosfa import (
    SFA,
    BioSFA,
    CuBICA,
    GraphSFA,
    HierarchicalSFA,
    LocalSFA,
    OfflineBioSFA,
    OnlineSFA,
    QuadraticExpansion,
)
from biosfa.analysis import firing_maps
from biosfa.datasets import rat_stream, slow_mixture
from biosfa.datasets.rat import RatStream
from biosfa.hierarchy import Layer
from biosfa.integrations.onnx import to_onnx
from biosfa.monitoring import SlowFeatureMonitor
from biosfa.rivals import FoldiakTrace, IncrementalSFA, OnlineGEV

COLUMNS, ROWS = 10, 1000
FRAMES, BATCH = 10_000, 100
FIELDS = ((8, 10), (6, 14), (2, 8))  # of the experiment with the rat
STEPS = {"pca": 6, "n_delays": 3, "expansion": "quadratic"}
LIMITS = {np.float32: 1e-5, np.float64: 1e-10}

Rows = list[tuple[str, str, str, bool]]  # target, asked, seen, whether it was reached


def session(model: Any, **options: Any) -> onnxruntime.InferenceSession:
    """Run an exported model with one thread."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(to_onnx(model, **options).SerializeToString(), settings)


def answered(run: onnxruntime.InferenceSession, X: np.ndarray, size: int) -> np.ndarray:
    """The output for rows that come in chunks of one size."""
    name, *state = run.get_inputs()
    memory = [np.full(each.shape, np.nan, X.dtype) for each in state]
    found = []
    for begin in range(0, len(X), size):
        fed = {name.name: X[begin : begin + size], **{each.name: m for each, m in zip(state, memory, strict=True)}}
        output, *memory = run.run(None, fed)
        found.append(output)
    return np.concatenate(found)


def learners(X: np.ndarray) -> Iterable[tuple[Any, Callable[..., Any], str]]:
    """Fitted models that compute features, the method that computes them, and the name of the output."""
    models = [SFA(3), SFA(3, **STEPS), CuBICA(), OfflineBioSFA(3, random_state=0), QuadraticExpansion()]
    for kind in (OnlineSFA, LocalSFA, BioSFA, IncrementalSFA, OnlineGEV, FoldiakTrace):
        models += [kind(3, random_state=0), kind(3, **STEPS, random_state=0)]
    for model in (*(model.fit(X) for model in models), GraphSFA(2).fit(X, X[:, 0] > 0)):
        yield model, model.transform, "features"


def neurons(X: np.ndarray) -> Iterable[tuple[Any, Callable[..., Any], str]]:
    """The same for networks and their neural outputs."""
    for rule in ("bio-sfa", "reversible", "interneuron", "nonnegative"):
        for steps in ({}, STEPS):
            net = BioSFA(4, rule=rule, random_state=0, **steps).fit(X)
            yield net, net.neural_output, "neural_output"


def monitors(X: np.ndarray) -> Iterable[tuple[Any, Callable[..., Any], str]]:
    """The same for monitors and their statistics."""
    for n_delays in (1, 3):
        monitor = SlowFeatureMonitor(n_delays=n_delays).fit(X)
        yield monitor, monitor.statistics, "features"


def precision() -> Rows:
    """The largest difference from the model itself, on random rows: at once, and row by row."""
    X = slow_mixture(20_000, times=(20.0, 9.0, 4.0), n_noise=COLUMNS - 3, random_state=0).signal
    random = np.random.default_rng(1).standard_normal((ROWS, COLUMNS))
    rows: Rows = []
    for what, models in (("features", learners), ("neural outputs", neurons), ("statistics of monitors", monitors)):
        worst = dict.fromkeys(LIMITS, 0.0)
        for model, computed, output in models(X):
            for dtype in LIMITS:
                expected = np.asarray(computed(random.astype(dtype)))
                run = session(model, output=output, stream=True, dtype=dtype)
                for size in (1, ROWS):
                    error = np.abs(answered(run, random.astype(dtype), size) - expected) / np.nanstd(expected, axis=0)
                    worst[dtype] = max(worst[dtype], float(np.nanmax(error)))
        for dtype, limit in LIMITS.items():
            name = f"{what} in {dtype.__name__}: largest difference, in standard deviations"
            rows.append((name, f"< {short(limit)}", short(worst[dtype]), worst[dtype] < limit))
    return rows


def speed() -> Rows:
    """Time per row of models that are fed row by row."""
    X = slow_mixture(5000, n_noise=COLUMNS - 3, random_state=0).signal.astype(np.float32)
    rows: Rows = []
    for name, model in (("`SFA`", SFA(3)), ("`SFA` with 3 delays and a quadratic expansion", SFA(3, **STEPS))):
        run = session(model.fit(X), stream=True)
        taken = seconds(lambda run=run: answered(run, X, 1)) / len(X)
        rows.append((f"{name} of {COLUMNS} columns: time per row, row by row", "", f"{1e6 * taken:.0f} µs", True))
    return rows


def short(number: float) -> str:
    """A small number with one digit."""
    return f"{number:.0e}".replace("e-0", "e-") if number else "0"


def seconds(work: Callable[[], Any]) -> float:
    """The shortest of three times."""
    taken = []
    for _ in range(3):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def hierarchy() -> Rows:
    """Precision, time and place units of the hierarchy of the rat."""
    seen = rat_stream(FRAMES, random_state=0)
    network = HierarchicalSFA([Layer(field) for field in FIELDS], solver="exact").fit(seen)
    run = session(network)
    frames = seen[0:ROWS]
    pixels = frames.astype(np.float32)
    expected, found = network.transform(frames), answered(run, pixels, BATCH)
    error = float((np.abs(found - expected) / expected.std(axis=0)).max())
    ours, theirs = seconds(lambda: network.transform(frames)), seconds(lambda: answered(run, pixels, BATCH))
    units = place_units(seen, run)
    return [
        ("the rat's hierarchy: largest difference, in standard deviations", "< 1e-3", short(error), error < 1e-3),
        (
            "the rat's hierarchy: time per frame in ONNX Runtime, and in `transform`",
            "≤ 2 ×",
            f"{1e3 * theirs / ROWS:.2f} ms, {1e3 * ours / ROWS:.2f} ms",
            theirs <= 2 * ours,
        ),
        ("place units of the exported hierarchy and `CuBICA`, of 32", "≥ 30", f"{units}", units >= 30),
    ]


def place_units(seen: RatStream, run: onnxruntime.InferenceSession) -> int:
    """The number of place units among independent components, all computed by ONNX Runtime."""

    def features(frames: RatStream) -> np.ndarray:
        return np.concatenate([answered(run, chunk.astype(np.float32), BATCH) for chunk in frames])

    independent = session(CuBICA().fit(features(seen)))
    grid = features(RatStream(seen.room, seen.room.grid(step=1)))
    maps = firing_maps(answered(independent, grid, BATCH), seen.room.grid_shape(step=1))
    return int(maps.is_place_unit.sum())


PARTS = {"precision": precision, "speed": speed, "hierarchy": hierarchy}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--json", type=Path, help="file for the results")
    options = parser.parse_args()
    rows: Rows = []
    for name, part in PARTS.items():
        if options.only in (None, name):
            for row in part():
                rows.append(row)
                print(f"{row[0]:80} {row[1]:>8} {row[2]:>18} {'' if row[3] else 'MISSED'}", flush=True)
    if options.json is not None:
        content = [{"target": a, "asked": b, "seen": c, "reached": d} for a, b, c, d in rows]
        options.json.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        main()
