"""The experiment with the rat: its numbers and its folder, at a small scale."""

import json
from dataclasses import replace

import numpy as np
import pytest

import biosfa
from biosfa.experiments import rat
from biosfa.experiments.engine import ExperimentError
from biosfa.experiments.rat import _tasks
from biosfa.experiments.rat._config import stream
from biosfa.hierarchy import Layer

SMALL = rat.RatConfig(
    preset="small",
    runs=1,
    seed=3,
    frames=400,
    grid_step=10,
    textures="made",
    networks=("one-pass", "online", "exact", "linear", "random", "rotation-exact"),
)


def small_hierarchy(learners):
    """Fewer modules than the paper has: 5 × 32, 1 × 8, and one."""
    fields = ((8, 10), (5, 4), (1, 8))
    return [
        Layer(field, field, linear=linear, quadratic=quadratic)
        for field, (linear, quadratic) in zip(fields, learners, strict=True)
    ]


@pytest.fixture(scope="module", autouse=True)
def small():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_tasks, "hierarchy", small_hierarchy)
        patch.setattr(_tasks, "POOLED", 8)
        patch.setattr(_tasks, "ROTATION_STEP", 10)
        yield


@pytest.fixture(scope="module")
def finished(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rat") / "run"
    rat.reproduce(SMALL, folder, jobs=2)
    return folder


def test_everything_promised_is_in_the_folder(finished):
    names = {path.name for path in finished.iterdir()}
    assert {f"{name}.{kind}" for name in ("rat", "view", "maps", "directions") for kind in ("png", "svg")} <= names
    assert {"config.json", "metrics.json", "timings.json", "curves.npz", "report.html"} <= names
    found = json.loads((finished / "metrics.json").read_text())["networks"]
    assert set(found) == set(SMALL.networks)
    wanted = {"place_units", "s_pos_median", "s_dir_median", "spatial_information_median", "delta_mean"}
    for runs in found.values():
        assert wanted | {"delta_oracle_mean", "seed"} <= set(runs[0])
    assert len(found["rotation-exact"][0]["s_dir_slowest"]) == 8
    assert not list((finished / "tasks").glob("*.biosfa"))


def test_trained_hierarchies_are_kept(finished):
    network = biosfa.load(finished / "networks" / "exact-00.safetensors")
    features = network.transform(stream(SMALL, 3, rotates=False))
    found = json.loads((finished / "metrics.json").read_text())["networks"]["exact"][0]
    assert biosfa.metrics.slowest(features.astype(float), 32).mean() == pytest.approx(found["delta_mean"], rel=1e-3)


def test_exact_features_are_slower_than_random_ones_and_layers_slower_than_those_below(finished):
    found = json.loads((finished / "metrics.json").read_text())["networks"]
    assert found["exact"][0]["delta_mean"] < found["one-pass"][0]["delta_mean"] < found["random"][0]["delta_mean"]
    linear, quadratic = np.array(found["exact"][0]["slowness"]).T
    assert np.all(np.diff(quadratic) < 0)
    assert np.all(quadratic < linear)


@pytest.mark.usefixtures("unpainted")
def test_same_settings_give_the_same_bits(finished, tmp_path):
    rat.reproduce(SMALL, tmp_path / "again", jobs=1)
    assert (tmp_path / "again" / "metrics.json").read_bytes() == (finished / "metrics.json").read_bytes()


def test_oracle_is_as_slow_as_that_of_ratlabs_walk():
    """The slowest features of position on a long walk; measured before on RatLab's walk: mean Δ = 0.055."""
    config = rat.preset("paper")
    assert _tasks.oracle(stream(config, 0, rotates=False)) == pytest.approx(0.055, rel=0.1)


def test_the_negative_control_can_be_run_alone(tmp_path):
    rat.reproduce(replace(SMALL, networks=("rotation-exact",)), tmp_path / "run")
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.usefixtures("unpainted")
def test_a_recorded_path_drives_the_rat(tmp_path):
    walked = stream(SMALL, 3, rotates=False).path
    rows = np.column_stack([np.arange(400) / 30, walked.position])
    np.savetxt(tmp_path / "path.csv", rows, delimiter=",", header="time,x,y", comments="")
    config = replace(SMALL, path=str(tmp_path / "path.csv"), networks=("exact",))
    found = rat.reproduce(config, tmp_path / "run")["networks"]["exact"][0]
    units = [found[f"{kind}_units"] for kind in ("place", "direction", "mixed")]
    assert sum(units) <= 32
    report = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "follows a recorded path" in report
    assert f'--path "{config.path}" --head path' in report.replace("&quot;", '"')
    given = stream(config, 3, rotates=False).path
    np.testing.assert_allclose(np.ptp(given.position, axis=0), [50, 30])
    turned = stream(replace(config, head="walk"), 3, rotates=False).path
    np.testing.assert_array_equal(turned.position, given.position)
    np.testing.assert_array_equal(turned.heading, walked.heading)


def test_networks_of_slow_rotation_need_the_simulated_walk():
    assert rat.preset("paper", path="path.csv").networks == rat.preset("paper").networks[:-2]
    with pytest.raises(ExperimentError, match="need the simulated walk"):
        rat.preset("paper", path="path.csv", networks=("exact", "rotation-bio"))


def test_paths_that_cannot_be_used_are_said(tmp_path):
    with pytest.raises(ExperimentError, match="does not exist"):
        rat.reproduce(replace(SMALL, path=str(tmp_path / "no.csv")), tmp_path / "run")
    (tmp_path / "gap.csv").write_text("time,x,y\n0,0,0\n1,,1\n2,2,2\n")
    with pytest.raises(ExperimentError, match=r"gap\.csv has 1 row with missing values: leave them out"):
        rat.reproduce(replace(SMALL, path=str(tmp_path / "gap.csv")), tmp_path / "run")
    np.save(tmp_path / "path.npy", [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.5, 2.0, 2.0]])
    with pytest.raises(ExperimentError, match=r"path\.npy: the times of the path must increase"):
        rat.reproduce(replace(SMALL, path=str(tmp_path / "path.npy")), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_wrong_words_are_said(tmp_path):
    with pytest.raises(ExperimentError, match="no network 'fast'"):
        rat.chosen(["fast"])
    with pytest.raises(ExperimentError, match="no picture wall0"):
        rat.reproduce(rat.preset("quick", textures=str(tmp_path)), tmp_path / "run")
