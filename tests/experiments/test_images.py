"""The experiment on moving images: its numbers, its folder, and that nothing is lost when it is stopped."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from biosfa import SFA, metrics
from biosfa.datasets import image_sequences
from biosfa.experiments import images
from biosfa.experiments.engine import ExperimentError, NetworkCheckpoint, RunFolder, Stopped, _runner
from biosfa.experiments.images import _networks, load_patches
from biosfa.experiments.images._config import load, samples_of
from biosfa.experiments.images._experiment import median
from biosfa.experiments.images._networks import new_network, pieces, recorded_samples, run_network
from biosfa.experiments.images._yardsticks import moments_of, run_exact

SMALL = images.ImagesConfig(
    preset="small",
    images="noise",
    rule="both",
    networks=("paper", "online", "local", "lateral"),
    runs=2,
    seed=1,
    sequences=120,
    principal=8,
    units=4,
    samples_paper=30_000,
    samples=24_000,
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images") / "run"
    images.reproduce(SMALL, folder, jobs=2)
    return folder


def test_patches_are_white_principal_components():
    """Against the frames themselves: NumPy's covariance, and exact SFA of the expansion in one piece."""
    patches = load_patches("noise", 120, 8, seed=1)
    frames = image_sequences(120, images="noise", random_state=1).frames().astype(np.float64)
    variance = np.sort(np.linalg.eigvalsh(np.cov(frames.T, bias=True)))[::-1][:8]
    np.testing.assert_allclose(patches.deviation**2, variance, rtol=1e-6)
    np.testing.assert_allclose(np.cov(patches.signal.T, bias=True), np.eye(8), atol=1e-4)
    assert patches.norm == pytest.approx(np.linalg.norm(frames - frames.mean(axis=0), axis=1).mean(), rel=1e-6)
    sfa = SFA(4, expansion="quadratic").fit(patches.signal, lengths=[100] * 120)
    moments = patches.moments(lambda steps: None)
    np.testing.assert_allclose(metrics.slowest(moments, 4), sfa.delta_values_, rtol=1e-5)


def test_everything_promised_is_in_the_folder(finished):
    names = {path.name for path in finished.iterdir()}
    figures = {"images", "reversible", "sheets", "constraint", "cells", "units"}
    assert {f"{name}.{kind}" for name in figures for kind in ("png", "svg")} <= names
    assert {"config.json", "metrics.json", "timings.json", "curves.npz", "report.html"} <= names
    found = json.loads((finished / "metrics.json").read_text())
    for key in ("gabor_r2_median", "gabor_r2_above_0_8", "f2_f0_median", "invariance_cosine_median", "relative_error"):
        assert set(found[key]) == {"exact", "random", "shuffled", "bio-sfa", "reversible"}
        assert set(found[key]["bio-sfa"]) == {"paper", "online", "local", "lateral"}
    assert found["diverged"] == []
    assert (finished / "report.html").read_text().count("data:image/png;base64") == 6


def test_networks_become_slow_and_controls_do_not(finished):
    error = json.loads((finished / "metrics.json").read_text())["relative_error"]
    assert abs(error["exact"]) < 1e-9
    assert (
        max(error["bio-sfa"][own] for own in ("online", "local", "lateral")) < 0.05
    )  # 24,000 samples of 44 dimensions
    assert error["bio-sfa"]["online"] < error["bio-sfa"]["paper"] < error["random"]
    assert min(error["random"], error["shuffled"]) > 1.0


def test_error_is_that_of_the_features_of_the_frames(finished):
    """The last point of a curve, measured on the expanded signal itself."""
    patches = load(SMALL)
    with np.load(finished / "curves.npz") as curves:
        components, slowness = curves["bio-sfa-online-00/components"], curves["bio-sfa-online-00/slowness"][-1]
    expanded = SFA(1, expansion="quadratic").fit(patches.signal).expand(patches.signal)
    found = metrics.slowness(expanded @ components.T, lengths=[100] * 120)
    assert found.sum() == pytest.approx(slowness, rel=1e-4)
    assert np.all(np.diff(found) > 0)


@pytest.mark.parametrize(("rule", "learner"), [("bio-sfa", "paper"), ("reversible", "online")])
def test_stopped_within_a_task_it_goes_on_there_bit_for_bit(finished, tmp_path, rule, learner):
    folder = RunFolder(tmp_path)
    name = f"{rule}-{learner}-01"
    moments = moments_of(run_exact(SMALL, lambda steps: None))
    learned = []

    def stop_early(steps):
        learned.append(steps)
        if len(learned) == 4:
            raise Stopped

    with pytest.raises(Stopped):
        run_network(SMALL, rule, learner, 1, folder.scratch(name, "network"), moments, stop_early)
    resumed = []
    found = run_network(SMALL, rule, learner, 1, folder.scratch(name, "network"), moments, resumed.append)
    assert resumed[0] == sum(learned)  # not from the beginning
    assert sum(resumed) == samples_of(SMALL, learner)
    with np.load(finished / "curves.npz") as first:
        for key in ("slowness", "constraint_error", "components", "excitatory"):
            np.testing.assert_array_equal(found[key], first[f"{name}/{key}"], err_msg=key)


@pytest.mark.usefixtures("unpainted")
def test_same_settings_give_the_same_bits_in_one_thread(finished, tmp_path):
    images.reproduce(SMALL, tmp_path / "again", jobs=1)
    assert (tmp_path / "again" / "metrics.json").read_bytes() == (finished / "metrics.json").read_bytes()
    assert not list((tmp_path / "again" / "tasks").glob("*.biosfa"))


@pytest.mark.usefixtures("unpainted")
def test_a_folder_whose_images_have_changed_is_not_resumed(tmp_path):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    rng = np.random.default_rng(0)
    config = replace(SMALL, images=str(pictures), runs=1, rule="bio-sfa", samples_paper=4000, samples=4000)
    for content in (rng.integers(0, 255, (200, 200), dtype=np.uint8), rng.integers(0, 255, (200, 220), dtype=np.uint8)):
        Image.fromarray(content).save(pictures / "one.png")
        if content.shape == (200, 200):
            images.reproduce(config, tmp_path / "run")
        else:
            with pytest.raises(ExperimentError, match="images_digest"):
                images.reproduce(config, tmp_path / "run", resume=True)


def test_a_damaged_checkpoint_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(_runner, "CHECKPOINT_SECONDS", 0.0)
    folder = RunFolder(tmp_path)
    moments = load(SMALL).moments(lambda steps: None)
    kept_in = folder.scratch("bio-sfa-online-00", "network")
    kept_in.write_bytes(b"half a file")
    assert NetworkCheckpoint(kept_in, "test").load(new_network(SMALL, "bio-sfa", "online", 0), dict) is None
    found = run_network(SMALL, "bio-sfa", "online", 0, kept_in, moments, lambda steps: None)
    assert found["samples"][-1] == 24_000


def test_a_worker_that_does_not_have_the_folder_keeps_no_checkpoints(tmp_path, monkeypatch):
    monkeypatch.setattr(_runner, "CHECKPOINT_SECONDS", 0.0)
    moments = load(SMALL).moments(lambda steps: None)
    kept_in = tmp_path / "elsewhere" / "bio-sfa-online-00.network.biosfa"
    found = run_network(SMALL, "bio-sfa", "online", 0, kept_in, moments, lambda steps: None)
    assert found["samples"][-1] == 24_000
    assert not kept_in.parent.exists()


def test_pieces_cover_every_sequence_once_an_epoch():
    patches = load_patches("noise", 120, 8, seed=1)
    plan = pieces(patches, 25_050)  # two epochs, and ten sequences of the third and a half
    assert [piece.end for piece in plan if piece.epoch == 0] == [5000, 10_000, 12_000]
    for epoch in (0, 1):
        covered = [i for piece in plan if piece.epoch == epoch for i in range(120)[piece.sequences]]
        assert covered == list(range(120))
    assert plan[-1].end == 25_100
    recorded = recorded_samples(plan)
    assert recorded[0] == 5000
    assert recorded[-1] == 25_100


def test_a_network_that_diverges_is_said_to(tmp_path, monkeypatch):
    monkeypatch.setitem(_networks.PAPER_RATES, "learning_rate", 0.5)
    config = replace(SMALL, rule="bio-sfa", runs=1, samples=5000)
    found = images.reproduce(config, tmp_path / "run", jobs=1)
    assert found["diverged"] == ["bio-sfa-paper-00"]
    assert found["relative_error"]["bio-sfa"]["paper"] is None
    assert math.isfinite(found["relative_error"]["bio-sfa"]["online"])
    assert "diverged" in (tmp_path / "run" / "report.html").read_text()


def test_sweep_tries_the_whole_grid(tmp_path):
    config = images.ImagesSweepConfig(samples=1000, principal=10, images="noise")
    best = images.sweep(config, tmp_path / "sweep", jobs=2)
    found = json.loads((tmp_path / "sweep" / "metrics.json").read_text())
    assert len(found["settings"]) == 6 * 8 * 4
    assert best["error"] == min(row["error"] for row in found["settings"] if row["error"] is not None)
    assert (tmp_path / "sweep" / "report.html").exists()


def test_bad_images_are_an_error_of_the_experiment_and_leave_no_folder(tmp_path):
    with pytest.raises(ExperimentError, match="which is not a folder"):
        images.reproduce(replace(SMALL, images=str(tmp_path / "nowhere")), tmp_path / "run")
    Image.new("L", (200, 200), 100).save(tmp_path / "flat.png")
    with pytest.raises(ExperimentError, match="vary in fewer than 8 dimensions"):
        images.reproduce(replace(SMALL, images=str(tmp_path)), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_medians_are_of_the_runs_that_did_not_diverge():
    assert median([0.1, float("nan"), 0.3]) == pytest.approx(0.2)
    assert math.isnan(median([float("nan")]))
