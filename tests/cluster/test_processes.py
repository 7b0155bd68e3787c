"""A scheduler and workers that are processes of their own: what happens when one of them ends."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, closing

import numpy as np
import pandas as pd
import psutil
import pytest

from biosfa import load
from biosfa.cluster import connected
from biosfa.exceptions import ClusterError
from biosfa.recordings import run, scaling

DASK = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1", "OMP_NUM_THREADS": "1"}
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": DASK, "start_new_session": True}


class Processes:
    """A scheduler on loopback, and workers."""

    def __init__(self, folder, stack):
        self._file, self._stack = folder / "scheduler.json", stack
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        while not self._file.exists() or not self._file.stat().st_size:
            time.sleep(0.05)
        self.address = json.loads(self._file.read_text())["address"]

    def worker(self, *options):
        return self._start("worker", "--nthreads", "1", "--host", "127.0.0.1", "--no-dashboard", *options)

    def _start(self, role, *options):
        command = [sys.executable, "-m", f"distributed.cli.dask_{role}", "--scheduler-file", str(self._file), *options]
        process = subprocess.Popen(command, **QUIET)
        self._stack.callback(killed, process)
        return process


def killed(process):
    """Kill a process and all that it has started."""
    for each in [*psutil.Process(process.pid).children(recursive=True), process] if process.poll() is None else []:
        each.send_signal(signal.SIGKILL)
    process.wait()


@pytest.fixture
def processes(tmp_path):
    with ExitStack() as stack:
        yield Processes(tmp_path, stack)


def slow_square(x):
    time.sleep(0.2)
    return x * x


def everything(_):
    """Take more and more memory."""
    taken = []
    while True:
        taken.append(np.ones(2**22))
        time.sleep(0.01)


def test_workers_and_schedulers_may_end(processes, tmp_path, monkeypatch):
    monkeypatch.setattr(scaling, "SECTION_BYTES", 2**17)
    monkeypatch.setattr(scaling, "LARGER_THAN_MOMENTS", 0)
    monkeypatch.setattr("biosfa.cluster._client.STUCK_SECONDS", 6.0)
    monkeypatch.setattr("biosfa.cluster._client.CONNECT_SECONDS", 40)  # other tests may keep the machine busy
    monkeypatch.setattr("biosfa.cluster._client.WORKER_SECONDS", 60)
    rng = np.random.default_rng(0)
    t = np.arange(120_000)[:, None]
    X = pd.DataFrame(np.sin(t / [300, 150, 70]) + 0.5 * rng.standard_normal((len(t), 3)), columns=["a", "b", "c"])
    X.to_parquet(tmp_path / "x.parquet", row_group_size=3000)
    options = run.FitOptions([str(tmp_path / "x.parquet")], 2, delays=3, expand="quadratic")
    run.work(run.begin(options, tmp_path / "reference"), 0.0)
    first, second = processes.worker(), processes.worker("--memory-limit", "0")

    with connected(processes.address) as cluster:
        while cluster.n_threads < 2:
            time.sleep(0.1)
            cluster.check()
        begun = run.begin(options, tmp_path / "model")
        with closing(begun.steps(0.0, cluster)) as steps:
            for _ in range(5):
                next(steps)
            killed(first)
            for _ in steps:
                pass
        begun.finish()
        model, reference = load(tmp_path / "model"), load(tmp_path / "reference")
        np.testing.assert_allclose(model.components_, reference.components_, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(model.delta_values_, reference.delta_values_, rtol=1e-10)

        with pytest.raises(ZeroDivisionError):  # an error of the work itself comes as it is
            list(cluster.in_order(divmod, [(1, 0)]))
        assert list(cluster.in_order(slow_square, [(x,) for x in range(5)])) == [0, 1, 4, 9, 16]
        assert sorted(cluster.as_completed(slow_square, [(x,) for x in range(5)])) == [0, 1, 4, 9, 16]

    with monkeypatch.context() as newer:
        newer.setattr("biosfa.cluster._client.__version__", "9.9")
        with pytest.raises(ClusterError, match=r"all workers need biosfa 9\.9, as here, but tcp://.* has \d"):
            connected(processes.address).__enter__()

    small = processes.worker("--memory-limit", "500MB")
    while not psutil.Process(small.pid).children():
        time.sleep(0.05)
    killed(second)
    with pytest.raises(ClusterError, match="memory"), connected(processes.address) as cluster:
        list(cluster.in_order(everything, [(0,)]))

    begin = time.monotonic()
    with pytest.raises(ClusterError, match="the scheduler is gone"), connected(processes.address) as cluster:  # noqa: PT012
        for _ in cluster.in_order(slow_square, [(x,) for x in range(100)]):
            killed(processes.scheduler)
    assert time.monotonic() - begin < 60.0


def test_a_scheduler_that_is_not_there():
    with pytest.raises(ClusterError, match="local:0 is not a scheduler: give local, local:4 or an address"):
        connected("local:0").__enter__()
