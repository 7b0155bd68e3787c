"""Experiments on a Dask cluster: the same results as on threads, resumed on either, and stopped by Ctrl-C."""

import json
import os
import sys
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from biosfa.cluster import connected
from biosfa.experiments import chaotic, images
from biosfa.experiments.engine import ExperimentError, RunFolder, Stopped, Task, _scheduling, run_tasks
from tests.experiments import test_images
from tests.experiments.test_chaotic import SMALL
from tests.processes import forked

TIMES = ("__seconds__", "learning_seconds")
EXPERIMENTS = {
    "chaotic": partial(chaotic.reproduce, replace(SMALL, runs=1)),
    "images": partial(
        images.reproduce,
        replace(test_images.SMALL, networks=("online",), runs=1, samples=6000, sequences=40, rule="bio-sfa"),
    ),
    "sweep": partial(chaotic.sweep, chaotic.ChaoticSweepConfig(steps=1000)),
}


@pytest.fixture(scope="module")
def cluster():
    """One worker process."""
    with connected("local:1") as cluster:
        yield cluster


@pytest.fixture
def folder(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.begin("small", SMALL, resume=False)
    return folder


@pytest.mark.usefixtures("unpainted")
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_workers_give_the_same_bits_as_threads(cluster, tmp_path, experiment):
    EXPERIMENTS[experiment](tmp_path / "threads")
    EXPERIMENTS[experiment](tmp_path / "cluster", cluster=cluster)
    here, there = (
        {path.relative_to(tmp_path / name): path for path in (tmp_path / name).rglob("*.*") if path.is_file()}
        for name in ("threads", "cluster")
    )
    assert here.keys() == there.keys()
    assert (
        here[next(path for path in here if path.name == "metrics.json")].read_bytes()
        == (tmp_path / "cluster" / "metrics.json").read_bytes()
    )
    for name in (path for path in here if path.suffix == ".npz"):
        with np.load(here[name]) as first, np.load(there[name]) as second:
            assert first.files == second.files
            for key in first.files:
                if not key.endswith(tuple(TIMES)):
                    np.testing.assert_array_equal(first[key], second[key], err_msg=f"{name} {key}")


def whereabouts(name, report):
    """In which process this runs."""
    report(1)
    return {"process": np.array(os.getpid())}


def test_a_run_is_resumed_with_another_scheduler(cluster, folder):
    tasks = [Task(name, 1, whereabouts, (name,)) for name in "abc"]
    found = {}
    for n_tasks, on in ((1, None), (2, cluster), (3, None)):
        results = run_tasks(folder, tasks[:n_tasks], jobs=None, title="test", cluster=on)
        found = {name: int(result.arrays["process"]) for name, result in results.items()}
    assert list(found) == ["a", "b", "c"]
    assert found["a"] == found["c"] == os.getpid() != found["b"]


def broken(report):
    raise ExperimentError("this task is broken")


def test_errors_of_tasks_are_raised_as_they_are(cluster, folder):
    with pytest.raises(ExperimentError, match=r"^this task is broken$"):
        run_tasks(folder, [Task("broken", 1, broken)], jobs=None, title="test", cluster=cluster)


def endless(file, report):
    """Count steps until it is stopped."""
    try:
        while True:
            time.sleep(0.01)
            report(1)
    except Stopped:
        file.write_text("stopped")
        raise


def test_ctrl_c_stops_running_tasks_and_keeps_results_and_the_bar_moves(cluster, folder, tmp_path, monkeypatch):
    advanced, store = [], RunFolder.store

    def stop_later(*arguments):
        store(*arguments)
        wait_until(lambda: sum(advanced) > 1)
        raise KeyboardInterrupt

    monkeypatch.setattr(RunFolder, "store", stop_later)
    monkeypatch.setattr(_scheduling.Progress, "advance", lambda self, steps: advanced.append(steps))
    tasks = [Task("quick", 1, whereabouts, ("quick",)), Task("endless", 10**6, endless, (tmp_path / "stopped",))]
    with pytest.raises(KeyboardInterrupt):
        run_tasks(folder, tasks, jobs=None, title="test", cluster=cluster)
    assert folder.load(tasks[0]) is not None
    wait_until((tmp_path / "stopped").exists)


def wait_until(happened):
    deadline = time.monotonic() + 10
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def total(numbers, report):
    return {"total": numbers.sum(), "process": np.array(os.getpid())}


def test_shared_arguments_are_sent_once(cluster, folder, monkeypatch):
    """Also large ones, of which Dask warns."""
    sent, share, numbers = [], cluster.share, np.ones(2_000_000)
    monkeypatch.setattr(cluster, "share", lambda item: sent.append(item) or share(item))
    tasks = [Task(name, 1, total, shared=(numbers,)) for name in "ab"]
    results = run_tasks(folder, tasks, jobs=None, title="test", cluster=cluster)
    assert [int(result.arrays["total"]) for result in results.values()] == [2_000_000] * 2
    assert len(sent) == 1
    assert sent[0] is numbers


@pytest.mark.parametrize("words", [["reproduce", "rat"], ["sweep", "chaotic"], ["compare"]])
def test_threads_and_a_scheduler_are_an_error(command, tmp_path, words):
    printed = command(*words, "--jobs", "2", "--scheduler", "local:1", "--out", "run", code=1, cwd=tmp_path)
    assert printed.stderr.startswith("biosfa: give either --jobs or --scheduler: on a cluster, ")
    assert printed.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_no_scheduler_is_one_line(command, tmp_path):
    printed = command("sweep", "chaotic", "--scheduler", "nonsense", code=1, cwd=tmp_path)
    assert printed.stderr == (
        "biosfa: nonsense is not a scheduler: give local, local:4 or an address such as tcp://HOST:8786\n"
    )


def sweep_and_list_modules(folder):
    chaotic.sweep(chaotic.ChaoticSweepConfig(steps=1000), folder / "run")
    (folder / "modules.json").write_text(json.dumps(list(sys.modules)))


def test_dask_is_not_imported_without_a_scheduler(tmp_path):
    process = forked(sweep_and_list_modules, tmp_path)
    process.join()
    found = {name.partition(".")[0] for name in json.loads((tmp_path / "modules.json").read_text())}
    assert "biosfa" in found
    assert not found & {"dask", "distributed"}
