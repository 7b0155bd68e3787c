"""The driven logistic map: the data, the runner, the experiment, the command."""

import json
import re
import shutil
import signal
import time

import numpy as np
import pytest

from biosfa import SFA
from biosfa.datasets import driven_logistic_map
from biosfa.experiments import chaotic
from biosfa.experiments.chaotic import _tasks
from tests.conftest import posix
from tests.processes import forked

SMALL = chaotic.ChaoticConfig(
    preset="small", variant="code", runs=2, seed=1, samples=20_000, steps=60_000, series=2, offline_steps=500
)


@pytest.mark.usefixtures("unpainted")
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


@pytest.mark.usefixtures("unpainted")
def test_same_settings_give_the_same_bits(finished, tmp_path):
    chaotic.reproduce(SMALL, tmp_path / "again", jobs=1)
    assert (tmp_path / "again" / "metrics.json").read_bytes() == (finished / "metrics.json").read_bytes()


def reproduce_slowly(folder):
    plain = _tasks.run_network

    def slowed(*arguments):
        time.sleep(0.2)
        return plain(*arguments)

    _tasks.run_network = slowed
    chaotic.reproduce(SMALL, folder, jobs=2)


@pytest.mark.usefixtures("unpainted")
@posix
@pytest.mark.parametrize("results", [0, 1, 3, 5])
def test_killed_and_resumed_it_gives_the_same_bits(results, finished, tmp_path):
    folder = tmp_path / "run"
    process = forked(reproduce_slowly, folder)
    while process.is_alive() and (not folder.exists() or len(list(folder.glob("tasks/*.npz"))) < results):
        time.sleep(0.01)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not (folder / "metrics.json").exists()
    chaotic.reproduce(SMALL, folder, jobs=2, resume=True)
    assert (folder / "metrics.json").read_bytes() == (finished / "metrics.json").read_bytes()
    assert not list(folder.rglob(".*.tmp*"))


def test_sweep_marks_what_diverges_and_finds_the_best(tmp_path):
    best = chaotic.sweep(chaotic.ChaoticSweepConfig(steps=2000), tmp_path / "sweep", jobs=2)
    found = json.loads((tmp_path / "sweep" / "metrics.json").read_text())
    assert len(found["settings"]) == 96
    finite = [row["error"] for row in found["settings"] if row["error"] is not None]
    assert best["error"] == min(finite)
    assert found["diverged"] == 96 - len(finite) > 0
    assert (tmp_path / "sweep" / "sweep.png").exists()
    assert "report.html" in {path.name for path in (tmp_path / "sweep").iterdir()}
