"""The driven logistic map: the data, the runner, the experiment, the command."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from biosfa import SFA
from biosfa.datasets import driven_logistic_map
from biosfa.experiments import chaotic, chaotic_sweep
from biosfa.experiments._errors import ExperimentError
from biosfa.experiments._runner import RunFolder, Task, run_tasks

SMALL = chaotic.ChaoticConfig(
    preset="small", variant="code", runs=2, seed=1, samples=20_000, steps=60_000, series=2, offline_steps=500
)


@pytest.mark.parametrize("variant", ["code", "paper"])
def test_exact_sfa_recovers_the_driving_force(variant):
    """Published: λ_slow = 0.0045 and a correlation of 0.998 for the series of the authors' program."""
    data = driven_logistic_map(100_000, variant=variant, random_state=0)
    sfa = SFA(2).fit(data.expanded())
    slowest = sfa.transform(data.expanded())[:, 0]
    assert abs(np.corrcoef(slowest, data.driving_force)[0, 1]) > 0.99
    if variant == "code":
        assert sfa.delta_values_[0] == pytest.approx(0.0045, rel=0.1)
        assert np.linalg.cond(np.cov(data.expanded().T)) == pytest.approx(7.7e4, rel=0.3)


def test_series_is_the_map_of_its_force():
    for variant, growth, swing in (("code", 3.7, 0.35), ("paper", 3.6, 0.4)):
        data = driven_logistic_map(1000, variant=variant, random_state=3)
        z, gamma = data.series, data.driving_force
        np.testing.assert_allclose(z[1:], (growth + swing * gamma[1:]) * z[:-1] * (1 - z[:-1]), rtol=1e-12)
        np.testing.assert_allclose(np.cov(data.delays.T, bias=True), np.eye(4), atol=1e-10)
        assert np.abs(data.expanded().mean(axis=0)).max() < 1e-12
        again = driven_logistic_map(1000, variant=variant, random_state=3)
        np.testing.assert_array_equal(again.series, z)
    with pytest.raises(ValueError, match="variant must be one of"):
        driven_logistic_map(1000, variant="other")
    with pytest.raises(ValueError, match="n_samples"):
        driven_logistic_map(1)


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
    with pytest.raises(ExperimentError, match="not of an experiment"):
        RunFolder(tmp_path / "mine").begin("chaotic", SMALL, resume=False)
    assert all(path.exists() for path in precious)
    (tmp_path / "run" / "config.json").write_text("{")
    with pytest.raises(ExperimentError, match="cannot be read"):
        RunFolder(tmp_path / "run").begin("chaotic", SMALL, resume=True)


def test_a_damaged_result_is_made_again(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    for name in ("bio-sfa-00", "exact"):
        file = tmp_path / "run" / "tasks" / f"{name}.npz"
        file.write_bytes(file.read_bytes()[:100])
    chaotic.reproduce(SMALL, tmp_path / "run", resume=True)
    assert (tmp_path / "run" / "metrics.json").read_bytes() == (finished / "metrics.json").read_bytes()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished") / "run"
    chaotic.reproduce(SMALL, folder, jobs=2)
    return folder


def test_everything_promised_is_in_the_folder(finished):
    names = {path.name for path in finished.iterdir()}
    figures = {f"{name}.{kind}" for name in ("chaotic", "comparison", "network_bio_sfa") for kind in ("png", "svg")}
    assert {"config.json", "metrics.json", "timings.json", "curves.npz", "report.html"} | figures <= names
    found = json.loads((finished / "metrics.json").read_text())
    assert list(found["error_median"]) == ["12000", "24000", "36000", "48000", "60000"]
    assert len(found["correlation"]) == 2
    assert [series["seed"] for series in found["series"]] == [0, 1]
    data = driven_logistic_map(20_000, random_state=1)
    exact = SFA(1).fit(data.expanded())
    assert found["lambda_slow"] == pytest.approx(exact.delta_values_[0])
    assert found["correlation_exact"] == pytest.approx(
        abs(np.corrcoef(exact.transform(data.expanded())[:, 0], data.driving_force)[0, 1])
    )


def test_report_is_one_self_contained_file(finished):
    page = (finished / "report.html").read_text(encoding="utf-8")
    sources = re.findall(r'(?:src|href)="([^"]{0,40})', page)
    assert len(sources) == 5
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert "<script" not in page
    assert "biosfa reproduce chaotic" in page


def test_same_settings_give_the_same_bits(finished, tmp_path):
    chaotic.reproduce(SMALL, tmp_path / "again", jobs=1)
    assert (tmp_path / "again" / "metrics.json").read_bytes() == (finished / "metrics.json").read_bytes()


CODE = """
import sys, time
from pathlib import Path
from biosfa.experiments import chaotic
from tests.test_chaotic import SMALL
plain = chaotic.run_network
def slowed(*arguments):
    time.sleep(0.2)
    return plain(*arguments)
chaotic.run_network = slowed
print("ready", flush=True)
chaotic.reproduce(SMALL, Path(sys.argv[1]), jobs=2, resume="resume" in sys.argv)
"""


@pytest.mark.parametrize("results", [0, 1, 3, 5])
def test_killed_and_resumed_it_gives_the_same_bits(results, finished, tmp_path):
    folder = tmp_path / "run"
    process = subprocess.Popen([sys.executable, "-c", CODE, str(folder)], stdout=subprocess.PIPE)
    process.stdout.readline()
    deadline = time.monotonic() + 60
    while len(list(folder.glob("tasks/*.npz"))) < results and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (folder / "metrics.json").exists()
    chaotic.reproduce(SMALL, folder, jobs=2, resume=True)
    assert (folder / "metrics.json").read_bytes() == (finished / "metrics.json").read_bytes()
    assert not list(folder.rglob(".*.tmp*"))


def test_sweep_marks_what_diverges_and_finds_the_best(tmp_path):
    best = chaotic_sweep.sweep(chaotic_sweep.SweepConfig(steps=2000), tmp_path / "sweep", jobs=2)
    found = json.loads((tmp_path / "sweep" / "metrics.json").read_text())
    assert len(found["settings"]) == 96
    finite = [row["error"] for row in found["settings"] if row["error"] is not None]
    assert best["error"] == min(finite)
    assert found["diverged"] == 96 - len(finite) > 0
    assert (tmp_path / "sweep" / "sweep.png").exists()
    assert "report.html" in {path.name for path in (tmp_path / "sweep").iterdir()}


def run_command(*arguments):
    code = "from biosfa.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "chaotic", "--preset", "huge"], "'huge'"),
        (["reproduce", "chaotic", "--variant", "mine"], "'mine'"),
        (["reproduce", "chaotic", "--speed"], "No such option"),
        (["reproduce", "chaotic", "--out", "/proc/nowhere"], "cannot write to /proc/nowhere"),
        (["repoduce"], "No such command"),
    ],
)
def test_wrong_words_are_one_clear_line(arguments, message):
    finished = run_command(*arguments)
    assert finished.returncode != 0
    assert message in finished.stderr
    assert len(finished.stderr.strip().splitlines()) == 1


def test_help_names_the_experiments():
    assert "chaotic" in run_command("reproduce", "--help").stdout
    assert run_command("--version").stdout.startswith("biosfa ")


def test_interrupted_it_says_how_to_go_on(finished, tmp_path):
    arguments = ["reproduce", "chaotic", "--preset", "paper", "--jobs", "1", "--out", str(tmp_path / "run")]
    code = "from biosfa.cli import main; main()"
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while process.poll() is None and not list(tmp_path.glob("run/tasks/*.npz")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    message = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert message.strip().endswith("the same command with --resume goes on from here")
    assert len(message.strip().splitlines()) == 1
