"""Exact SFA of Parquet files in one process, and on one and two workers of this machine: ``make bench-scaling``.

Every process has one BLAS thread. The fits are timed from the moment when the workers are there; the time to start them
is given apart. The runs take turns, and times are medians.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
from pyarrow import parquet

ROWS, COLUMNS, FILES = 10_000_000, 50, 10
ROUNDS = 3
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def write_files(folder: Path, n_rows: int, n_columns: int) -> None:
    """Write noisy mixtures of slow sources, with the row groups of Arrow's default size."""
    rng = np.random.default_rng(0)
    mixing = rng.standard_normal((5, n_columns))
    per_file = n_rows // FILES
    for number in range(FILES):
        t = np.arange(number * per_file, (number + 1) * per_file)[:, None]
        X = np.sin(t / [5000.0, 1700.0, 900.0, 330.0, 110.0]) @ mixing + rng.standard_normal((per_file, n_columns))
        table = pa.table({f"x{i}": X[:, i] for i in range(n_columns)})
        parquet.write_table(table, folder / f"part{number}.parquet")


def fit(folder: str, scheduler: str) -> None:
    """Fit, and print the seconds to start workers, those of the fit, peaks of memory, and the slowness."""
    from biosfa.recordings import run

    begin = time.perf_counter()
    options = run.FitOptions(sorted(str(path) for path in Path(folder).glob("*.parquet")), 5)
    with tempfile.TemporaryDirectory() as place, peaks() as found, workers(scheduler) as cluster:
        started = time.perf_counter() - begin
        begin = time.perf_counter()
        begun = run.begin(options, Path(place) / "m")
        run.work(begun, 30.0, cluster)
        seconds = time.perf_counter() - begin
    delta = begun.estimator.delta_values_.tolist()
    print(json.dumps({"starting": started, "seconds": seconds, "delta": delta, **found}))


@contextmanager
def workers(scheduler: str) -> Iterator[Any]:
    """Start workers. They have fitted something before, and so has this process."""
    warm_up()
    if scheduler == "none":
        yield None
        return
    from biosfa.cluster import connected

    with connected(scheduler) as cluster:
        cluster.on_each_worker(warm_up)
        yield cluster


def warm_up() -> None:
    """Fit a small file, so that all that is needed is imported, and compiled kernels are loaded."""
    import biosfa.recordings.scaling  # noqa: F401
    from biosfa import SFA
    from biosfa.io import open_stream

    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), 100 * FILES, COLUMNS)
        SFA(1).fit(open_stream(folder))


@contextmanager
def peaks() -> Iterator[dict[str, float]]:
    """Watch the memory of this process, and of the largest process that it has started."""
    found, done, own = {"client": 0.0, "worker": 0.0}, threading.Event(), psutil.Process()

    def watch() -> None:
        while not done.wait(0.1):
            found["client"] = max(found["client"], own.memory_info().rss / 1e6)
            for child in own.children(recursive=True):
                try:
                    found["worker"] = max(found["worker"], child.memory_info().rss / 1e6)
                except psutil.Error:
                    continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        done.set()
        watcher.join()


def measured(folder: Path, scheduler: str) -> dict[str, Any]:
    """Fit in a process of its own."""
    command = [sys.executable, __file__, "--fit", scheduler, "--folder", str(folder)]
    printed = subprocess.check_output(command, env=ONE_THREAD, text=True)
    result: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return result


def apart(folder: Path) -> float:
    """Fit each half of the files in a process of its own, at the same time: the most that two workers can reach."""
    files = sorted(folder.glob("*.parquet"))
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(2) as both:
        halves = [Path(place) / "first", Path(place) / "second"]
        for number, half in enumerate(halves):
            half.mkdir()
            for file in files[number::2]:
                (half / file.name).symlink_to(file.resolve())
        return max(each["seconds"] for each in both.map(lambda half: measured(half, "none"), halves))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS, help="number of rows of all files")
    parser.add_argument("--columns", type=int, default=COLUMNS, help="number of columns")
    parser.add_argument("--folder", type=Path, help="folder for the files, which are kept there")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--fit", help=argparse.SUPPRESS)  # one fit with this scheduler, in this process
    options = parser.parse_args()
    if options.fit:
        fit(str(options.folder), options.fit)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not list(folder.glob("*.parquet")):
            write_files(folder, options.rows, options.columns)
        runs: dict[str, list[dict[str, Any]]] = {"none": [], "local:1": [], "local:2": []}
        halves = []
        for _ in range(ROUNDS):
            halves.append(apart(folder))
            for scheduler, results in runs.items():
                results.append(measured(folder, scheduler))
                print(scheduler, {key: np.round(value, 10) for key, value in results[-1].items()}, flush=True)
    report(runs, float(np.median(halves)), options)


def report(runs: dict[str, list[dict[str, Any]]], halves: float, options: argparse.Namespace) -> None:
    """Print the targets, and write them."""
    seconds = {name: float(np.median([each["seconds"] for each in results])) for name, results in runs.items()}
    plain, one, two = (np.asarray(runs[name][0]["delta"]) for name in runs)
    difference = max(float(abs(delta / plain - 1.0).max()) for delta in (one, two))
    every = [each for name in ("local:1", "local:2") for each in runs[name]]
    client, worker = (max(each[role] for each in every) for role in ("client", "worker"))
    starting = np.median([each["starting"] for each in runs["local:2"]])
    rows = [
        ("one process", "", f"{seconds['none']:.1f} s", True),
        (
            "one worker, in times of one process",
            "≤ 1.2",
            f"{seconds['local:1'] / seconds['none']:.2f}",
            seconds["local:1"] <= 1.2 * seconds["none"],
        ),
        (
            "two workers, in times of the speed of one",
            "≥ 1.7",
            f"{seconds['local:1'] / seconds['local:2']:.2f}",
            seconds["local:1"] >= 1.7 * seconds["local:2"],
        ),
        ("two processes without a cluster, the same", "", f"{seconds['none'] / halves:.2f}", True),
        (
            "memory of the client and of a worker",
            "< 1,000 MB",
            f"{client:.0f} and {worker:.0f} MB",
            max(client, worker) < 1000,
        ),
        ("difference of slowness", "≤ 1e-10", f"{difference:.0e}", difference <= 1e-10),
        ("to start two workers and connect", "", f"{starting:.1f} s", True),
    ]
    for target, asked, seen, reached in rows:
        print(f"{target:45} {asked:>10} {seen:>16} {'' if reached else 'MISSED'}")
    if options.json:
        content = [{"target": a, "asked": b, "seen": c, "reached": d} for a, b, c, d in rows]
        options.json.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
