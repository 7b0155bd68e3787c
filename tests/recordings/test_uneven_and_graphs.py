"""The command with rows at uneven times, patterns, and models of graphs."""

import json

import numpy as np
import pandas as pd
import pytest

import biosfa
from biosfa import SFA, BioSFA, GraphSFA, InputError
from biosfa.graphs import clustered_graph
from biosfa.io import StreamOptions, _stream, open_stream
from biosfa.recordings import inspection, run
from biosfa.recordings.picture import plot
from tests.conftest import slow_mixture


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A file with bursts of rows, and its samples and times."""
    X = slow_mixture(20_000, times=(300.0, 100.0), n_noise=2, seed=1)[1]
    rng = np.random.default_rng(0)
    t = np.cumsum(np.where(rng.random(4000) < 0.9, 1, rng.integers(2, 20, 4000)))
    t = t[t < len(X)]
    path = tmp_path_factory.mktemp("uneven") / "x.csv"
    pd.DataFrame(X[t], columns=list("abcd")).assign(t=t / 4).to_csv(path, index=False)
    return path, X[t], t / 4


def test_fit_inspect_and_plot_are_in_the_unit_of_time_of_the_fit(recording, command, tmp_path):
    path, X, t = recording
    done = command("fit", path, "-k", 2, "--time", "t", "--uneven", "--out", tmp_path / "m")
    model, wanted = biosfa.load(tmp_path / "m"), SFA(2).fit(X, time=t)
    assert model.time_unit_ == wanted.time_unit_ == 0.25
    np.testing.assert_allclose(model.delta_values_, wanted.delta_values_, rtol=1e-9)
    assert "slowness δ: " + " ".join(f"{value:.4g}" for value in wanted.delta_values_) in done.stdout
    found = json.loads(command("inspect", tmp_path / "m", "--json").stdout)
    assert found["time_unit"] == 0.25
    text = command("inspect", tmp_path / "m").stdout
    assert "units of the median step in time, 0.25 in units of 't'" in text
    assert "timescales and periods are in median steps, then in units of 't'" in text
    command("plot", tmp_path / "m", path, "--out", tmp_path / "x.png")
    without = tmp_path / "without.csv"
    pd.DataFrame(X, columns=list("abcd")).to_csv(without, index=False)
    error = command("plot", tmp_path / "m", without, "--out", tmp_path / "y.png", code=1).stderr.splitlines()[-1]
    assert error.endswith("but the input has no column of time: name it with --time")


def test_slowness_by_chance_is_in_the_same_unit_on_another_recording(tmp_path):
    """The steps of the fit are ten times shorter. Noise has δ = 2 in steps."""
    rng = np.random.default_rng(0)
    model = SFA(2).fit(rng.standard_normal((3000, 2)), time=np.arange(3000) / 10)
    frame = pd.DataFrame(rng.standard_normal((3000, 2)), columns=["x0", "x1"]).assign(t=np.arange(3000.0))
    found = plot(model, open_stream(frame, time="t", max_step=np.inf), tmp_path / "x.png")
    for delta in (found.delta_values, found.significance.chance_spectrum, found.significance.chance_shuffled):
        np.testing.assert_allclose(delta, 2 * 0.1**2, rtol=0.2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--uneven needs --time"),
        (["--time", "t", "--solver", "online"], "--uneven is for --solver exact"),
        (["--time", "t", "--lag", 2], "--uneven cannot be used with --lag"),
        (["--time", "t", "--delays", 2], "--uneven cannot be used with --delays"),
    ],
)
def test_options_that_do_not_go_with_uneven(options, message, recording, command, tmp_path):
    done = command("fit", recording[0], "-k", 1, "--uneven", *options, "--out", tmp_path / "m", code=1)
    (line,) = done.stderr.splitlines()
    assert message in line
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("pca", [None, 3])
def test_a_fit_that_is_stopped_after_any_chunk_resumes_to_the_same_bits(pca, recording, monkeypatch, tmp_path):
    monkeypatch.setattr(_stream, "CHUNK_BYTES", 8)
    monkeypatch.setattr(_stream, "CHUNK_ROWS", 700)
    options = run.FitOptions([str(recording[0])], 2, pca=pca, uneven=True, stream=StreamOptions(time="t"))
    run.work(run.begin(options, tmp_path / "whole"), 0.0)
    begun, n_stops = run.begin(options, tmp_path / "stopped"), 0
    while not begun.fitting.about_to_finish:
        next(begun.steps(1e-9))
        begun.keep()
        begun, n_stops = run.resume(tmp_path / "stopped"), n_stops + 1
    run.work(begun, 0.0)
    assert n_stops > 4
    assert (tmp_path / "stopped").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_model_of_a_graph_is_described_without_times(tmp_path):
    X = np.random.default_rng(0).standard_normal((60, 4))
    y = np.arange(60) // 20
    for model in (GraphSFA(2).fit(X, y), GraphSFA(2, graph=clustered_graph(y)).fit(X)):
        model.save(tmp_path / "m")
        found = inspection.inspect(str(tmp_path / "m"))
        assert found["health"] == {"finite": True, "rank": 4, "columns": 4}
        assert not {"timescales", "periods"} & set(found)
        text = inspection.as_text(found)
        assert not any(word in text for word in ("timescale", "period", "episode", "missing"))
        assert f"{model.delta_values_[1]:.4g}" in text
        assert ("<Graph of 3 edges" in text) is (model.graph != "clustered")
    with pytest.raises(InputError, match="the samples of GraphSFA have no order in time"):
        plot(model, open_stream(X), tmp_path / "x.png")


def test_inspect_lists_the_strongest_columns_of_patterns(tmp_path):
    """The second column shows only noise, though its weight is large."""
    source, noise = np.sin(np.arange(5000) / 100), np.random.default_rng(1).standard_normal(5000)
    X = np.column_stack([source + noise, noise])
    for model in (SFA(1), BioSFA(1, random_state=0)):
        model.fit(X).save(tmp_path / "m")
        found = inspection.inspect(str(tmp_path / "m"))
        np.testing.assert_array_equal(found["patterns"], model.patterns_)
        (line,) = [
            line for line in inspection.as_text(found).splitlines() if line.startswith("slow0   ") and "x0" in line
        ]
        assert line.split()[1] == "x0"
