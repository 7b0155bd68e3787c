"""The runner of experiments: results that are kept, and folders that are not mixed up."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from biosfa.experiments import arena, chaotic, images, rat
from biosfa.experiments.engine import Experiment, ExperimentError, RunFolder, Task, run_tasks
from tests.conftest import posix
from tests.experiments import test_images
from tests.experiments.test_chaotic import SMALL
from tests.processes import content_of


def test_finished_tasks_are_not_run_again(tmp_path):
    calls = []

    def task(name, fails=False):
        def run(report):
            report(1)
            calls.append(name)
            if fails:
                raise OSError("broken")
            return {"value": np.array(len(name))}

        return Task(name, 1, run)

    folder = RunFolder(tmp_path / "run")
    folder.begin("small", SMALL, resume=False)
    with pytest.raises(OSError, match="broken"):
        run_tasks(folder, [task("a"), task("bb", fails=True)], jobs=1, title="test")
    folder.begin("small", SMALL, resume=True)
    results = run_tasks(folder, [task("a"), task("bb")], jobs=2, title="test")
    assert calls == ["a", "bb", "bb"]
    assert {name: int(result.arrays["value"]) for name, result in results.items()} == {"a": 1, "bb": 2}


def test_checkpoints_of_finished_tasks_are_removed(tmp_path):
    """Also those of a run that was killed after it had stored a result."""

    def run(report):
        folder.scratch("a", "layers").write_text("state")
        return {}

    folder = RunFolder(tmp_path / "run")
    folder.begin("small", SMALL, resume=False)
    run_tasks(folder, [Task("a", 1, run)], jobs=1, title="test")
    assert not folder.scratch("a", "layers").exists()
    folder.scratch("a", "layers").write_text("state")
    run_tasks(folder, [Task("a", 1, run)], jobs=1, title="test")
    assert not folder.scratch("a", "layers").exists()


def test_folders_are_not_mixed_up(tmp_path):
    RunFolder(tmp_path / "run").begin("chaotic", SMALL, resume=False)
    for resume in (False, True):
        with pytest.raises(ExperimentError, match="runs was 2 and is 3"):
            RunFolder(tmp_path / "run").begin("chaotic", replace(SMALL, runs=3), resume=resume)
        with pytest.raises(ExperimentError, match="experiment was 'chaotic' and is 'sweep'"):
            RunFolder(tmp_path / "run").begin("sweep", SMALL, resume=resume)
    (tmp_path / "mine").mkdir()
    precious = [tmp_path / "mine" / "thesis.tex", tmp_path / "mine" / ".draft.tmp"]
    for path in precious:
        path.write_text("precious")
    with pytest.raises(ExperimentError, match="do not belong to an experiment"):
        RunFolder(tmp_path / "mine").begin("chaotic", SMALL, resume=False)
    assert all(path.exists() for path in precious)
    (tmp_path / "run" / "config.json").write_text("{")
    with pytest.raises(ExperimentError, match="cannot be read"):
        RunFolder(tmp_path / "run").begin("chaotic", SMALL, resume=True)


@pytest.mark.parametrize("experiment", [chaotic.Chaotic, images.Images, rat.Rat, arena.Arena])
def test_tasks_are_values_that_can_be_pickled(experiment, tmp_path):
    """So that another process, or machine, can run them: a function and its arguments."""
    configs = {
        chaotic.Chaotic: SMALL,
        images.Images: test_images.SMALL,
        rat.Rat: rat.preset("paper"),
        arena.Arena: arena.configure("chaotic", samples=1000),
    }
    stages = experiment(configs[experiment]).stages(RunFolder(tmp_path))
    for task in stages[0]({}):
        again = pickle.loads(pickle.dumps(task))
        assert (again.name, again.steps, again.function) == (task.name, task.steps, task.function)
        assert again.arguments == task.arguments


def small_task(name, calls):
    def run(report):
        calls.append(name)
        return {"value": np.arange(3.0), "other": np.array(len(name))}

    return Task(name, 1, run)


def test_a_result_with_any_flipped_bit_is_the_same_or_made_again(tmp_path):
    folder, calls = RunFolder(tmp_path / "run"), []
    task = small_task("a", calls)
    folder.begin("small", SMALL, resume=False)
    run_tasks(folder, [task], jobs=1, title="test")
    file = tmp_path / "run" / "tasks" / "a.npz"
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(800):
        content = bytearray(whole)
        content[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        file.write_bytes(content)
        found = folder.load(task)
        if found is not None:
            np.testing.assert_array_equal(found.arrays["value"], np.arange(3.0))


class Sums(Experiment):
    """An experiment of one task."""

    name = "sums"

    def title(self):
        return "sums"

    def stages(self, folder):
        return [lambda results: [small_task("a", [])]]

    def summarize(self, results):
        return {"total": float(results["a"].arrays["value"].sum())}, {}

    def draw(self, out, results, curves, found, timings):
        pass

    def report(self, out, found, timings):
        pass


def test_results_that_cannot_be_used_are_said_to_be(tmp_path):
    Sums(SMALL).run(tmp_path / "run")
    file = tmp_path / "run" / "tasks" / "a.npz"
    np.savez(file, __seconds__=np.array(1.0), value=np.array(["x"]))
    with pytest.raises(ExperimentError, match=r"tasks has results that cannot be used.*remove that folder"):
        Sums(SMALL).run(tmp_path / "run", resume=True)
    np.savez_compressed(file, __seconds__=np.array(1.0), value=np.zeros(1_000_000))  # larger than the file
    assert Sums(SMALL).run(tmp_path / "run", resume=True).found == {"total": 3.0}


class Reported(Sums):
    """An experiment with a report and a file in a folder of its own."""

    def report(self, out, found, timings):
        (out / "report.html").write_text(f"total: {found['total']}")
        (out / "networks").mkdir()
        (out / "networks" / "a.safetensors").write_text("a network")


def test_a_run_replaces_and_removes_only_what_runs_have_written(tmp_path):
    out = tmp_path / "run"
    Reported(SMALL).run(out)
    decoys = [out / name for name in ("notes.txt", "part-1", "tasks/a.notes.txt", "tasks/b.npz", "networks/b")]
    for path in decoys:
        path.write_text("precious")
    np.savez(out / "tasks" / "mine.npz", x=np.ones(3))
    before = content_of(out)
    RunFolder(out).scratch("gone", "network").write_text("a checkpoint")
    Reported(SMALL).run(out)
    after = content_of(out)
    assert before.keys() == after.keys()
    assert all(path.read_text() == "precious" for path in decoys)
    assert before["tasks/mine.npz"] == after["tasks/mine.npz"]


@posix
@pytest.mark.parametrize("name", ["report.html", "metrics.json", "networks/a.safetensors", "networks", "config.json"])
@pytest.mark.parametrize("decoy", ["file", "link"])
def test_a_run_stops_before_it_would_replace_anything_else(tmp_path, name, decoy):
    out = tmp_path / "run"
    Reported(SMALL).run(out)
    path = out / name
    if name == "networks":
        path.rename(tmp_path / "elsewhere")
    if decoy == "link":
        content = path.read_bytes() if path.exists() else b""
        (tmp_path / "victim").write_bytes(content)
        path.unlink(missing_ok=True)
        path.symlink_to(tmp_path / ("elsewhere" if name == "networks" else "victim"))
    else:
        path.write_text("precious")
    before, message = content_of(tmp_path), r"choose another folder with --out|is a link"
    for resume in (True, False):
        with pytest.raises(ExperimentError, match=message):
            Reported(SMALL).run(out, resume=resume)
        assert content_of(tmp_path) == before


@posix
def test_links_among_the_results_of_tasks_are_not_followed(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.begin("small", SMALL, resume=False)
    (folder.path / "tasks").mkdir()
    (tmp_path / "victim").write_text("precious")
    for name in ("a.npz", "a.network.biosfa"):
        (folder.path / "tasks" / name).symlink_to(tmp_path / "victim")
    with pytest.raises(ExperimentError, match=r"a\.npz is a link"):
        run_tasks(folder, [small_task("a", [])], jobs=1, title="test")
    with pytest.raises(ExperimentError, match=r"a\.network\.biosfa is a link"):
        folder.scratch("a", "network")
    assert (tmp_path / "victim").read_text() == "precious"


def test_a_finished_task_removes_no_checkpoint_and_no_result_of_another(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.begin("small", SMALL, resume=False)
    others = [folder.scratch("a0.5", "network"), folder.path / "tasks" / "a0.notes.txt"]
    for path in others:
        path.write_text("state")
    run_tasks(folder, [small_task("a0.5", []), small_task("a0", [])][1:], jobs=1, title="test")
    assert all(path.exists() for path in others)
    calls = []
    run_tasks(folder, [small_task("a0.5", calls), small_task("a0", calls)], jobs=1, title="test")
    run_tasks(folder, [small_task("a0.5", calls), small_task("a0", calls)], jobs=1, title="test")
    assert calls == ["a0.5"]
