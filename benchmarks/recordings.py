"""Speed of the command on recordings: a fit beside the bare kernel, CSV, and lines that are answered as they come.

Run it with ``make bench-recordings``.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv
from threadpoolctl import threadpool_limits

from biosfa import BioSFA, OnlineSFA
from biosfa.io import open_stream

COMMAND = [sys.executable, "-m", "biosfa"]
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
N, M, K = 10_000_000, 14, 3


def signal(n: int) -> np.ndarray:
    """Channels that share slow causes."""
    rng = np.random.default_rng(0)
    slow = rng.standard_normal((n // 1000 + 1, M)).cumsum(axis=0).repeat(1000, axis=0)[:n]
    return slow / slow.std() + rng.standard_normal((n, M))


def bench_fit(folder: str) -> None:
    """The whole command, start-up included, against ``partial_fit`` of the array in memory."""
    X = signal(N)
    np.save(f"{folder}/x.npy", X)
    for name, kind in (("online", OnlineSFA), ("bio", BioSFA)):
        net = kind(K, random_state=0).partial_fit(X[:10_000])  # compiles
        net = kind(K, random_state=0)
        begin = time.perf_counter()
        net.partial_fit(X)
        kernel = time.perf_counter() - begin
        begin = time.perf_counter()
        arguments = ["fit", "x.npy", "-k", str(K), "--solver", name, "--out", "model"]
        subprocess.run([*COMMAND, *arguments], cwd=folder, check=True, capture_output=True, env=ENVIRONMENT)
        whole = time.perf_counter() - begin
        begin = time.perf_counter()
        kind(K, random_state=0).fit(open_stream(f"{folder}/x.npy"))
        stream = time.perf_counter() - begin
        print(
            f"fit --solver {name}, {N:,} × {M}, k = {K}: {whole:.2f} s, {whole / kernel:.2f} × partial_fit of the "
            f"array ({kernel:.2f} s); without start-up {stream / kernel:.2f} ×   (target 1.5)"
        )


def write_csv(path: str, n: int) -> None:
    """Numbers with all their digits."""
    X = signal(n)
    csv.write_csv(pa.table({f"c{i}": np.ascontiguousarray(X[:, i]) for i in range(M)}), path)


def bench_csv(folder: str) -> None:
    """Parsing, on one core."""
    write_csv(f"{folder}/x.csv", 500_000)
    stream = open_stream(f"{folder}/x.csv")
    next(iter(stream))
    begin = time.process_time()
    for _ in stream:
        pass
    rate = Path(f"{folder}/x.csv").stat().st_size / 1e6 / (time.process_time() - begin)
    print(f"CSV: {rate:.0f} MB/s of one core   (target 50)")


def bench_lines(folder: str) -> None:
    """Lines a second, and how long each waits for its answer."""
    lines = Path(f"{folder}/x.csv").read_bytes().splitlines(keepends=True)
    process = subprocess.Popen(
        [*COMMAND, "stream", "-k", str(K)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answers = process.stdout
    process.stdin.write(lines[0] + lines[1])
    process.stdin.flush()
    answers.readline(), answers.readline()  # it has started
    for rate in (1000, 50_000, None):
        n = 400_000 if rate is None else 3 * rate
        sent, received = np.zeros(n), np.zeros(n)

        def read(n: int = n, received: np.ndarray = received) -> None:
            for i in range(n):
                answers.readline()
                received[i] = time.perf_counter()

        reader = threading.Thread(target=read)
        reader.start()
        begin = time.perf_counter()
        batch = 1000 if rate is None else max(1, rate // 500)
        for i in range(0, n, batch):
            if rate is not None:
                time.sleep(max(0.0, begin + i / rate - time.perf_counter()))
            sent[i : i + batch] = time.perf_counter()
            process.stdin.write(b"".join(lines[1 + i : 1 + min(n, i + batch)]))
            process.stdin.flush()
        reader.join()
        wait = 1e3 * (received - sent)
        speed = n / (received[-1] - begin)
        if rate is None:
            print(f"stream: {speed:,.0f} lines/s as fast as they come   (target 50,000)")
        else:
            median, longest = np.median(wait), wait.max()
            print(f"stream at {rate:,} lines/s: answers after {median:.1f} ms, at most {longest:.1f}   (target 100)")
    process.stdin.close()
    process.wait()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch, threadpool_limits(1):
        bench_fit(scratch)
        bench_csv(scratch)
        bench_lines(scratch)
