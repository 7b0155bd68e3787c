"""A model reads later inputs as the input of its fit was read."""

import json

import numpy as np
import pandas as pd
import pytest

import biosfa
from biosfa import SFA, ModelFileError, OnlineSFA
from biosfa.cli._options import given_options
from biosfa.io import Reading, StreamOptions, model_file, open_stream
from biosfa.recordings import features
from biosfa.recordings.live import answer, network
from biosfa.recordings.remembered import stream_for
from tests.conftest import slow_mixture

pytestmark = pytest.mark.filterwarnings("ignore::biosfa.GiveAwayWarning")  # of t and trial, where they are samples


@pytest.fixture(scope="module")
def frame():
    """1000 rows, of which ten are missing: a gap in time before row 400, and one empty cell."""
    X = slow_mixture(1000, times=(30.0, 5.0), n_noise=2, seed=1)[1]
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.insert(0, "t", np.arange(1000.0))
    frame["trial"] = np.arange(1000) // 300
    frame.loc[700, "c"] = np.nan
    return frame.drop(index=range(400, 410))


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("remembered")
    frame.to_csv(path / "x.csv", index=False)
    frame.drop(columns=["t", "trial"]).to_csv(path / "bare.csv", index=False)
    frame.rename(columns={"t": "clock"}).to_csv(path / "renamed.csv", index=False)
    (path / "lengths.txt").write_text("500 490")
    return path


def without_features(path):
    return np.flatnonzero(pd.read_csv(path)["slow0"].isna()).tolist()


def test_transform_and_plot_read_as_fit_did(folder, command, tmp_path):
    model, out = tmp_path / "m", tmp_path / "y.csv"
    options = ["--time", "t", "--episodes", "trial", "--missing", "break", "--max-step", 2]
    command("fit", folder / "x.csv", "-k", 2, "--delays", 3, *options, "--out", model)
    command("transform", model, folder / "x.csv", "--out", out)
    # two rows after each gap, trial or missing value; the missing row itself
    trials = [0, 1, 300, 301, 590, 591, 890, 891]
    expected = sorted([*trials, 400, 401, 690, 691, 692])
    assert without_features(out) == expected
    command("transform", model, folder / "x.csv", *options, "--out", tmp_path / "z.csv")
    assert (tmp_path / "z.csv").read_bytes() == out.read_bytes()
    command("transform", model, folder / "x.csv", "--max-step", 20, "--out", out)  # the gap is none
    assert without_features(out) == sorted([*trials, 690, 691, 692])
    assert "picture: " in command("plot", model, folder / "x.csv").stdout
    done = command("transform", model, folder / "x.csv", "--missing", "raise", "--max-step", 20, "--out", out, code=1)
    assert "nan" in done.stderr
    assert "time='t', max_step=2.0, episodes='trial'" in command("inspect", model).stdout
    assert str(tmp_path) not in json.dumps(model_file.read_model(model).settings)
    assert str(folder) not in json.dumps(model_file.read_model(model).settings)


def test_a_note_says_what_follows_if_the_column_is_not_there(folder, command, tmp_path):
    model, out = tmp_path / "m", tmp_path / "y.csv"
    command(
        "fit", folder / "x.csv", "-k", 2, "--time", "t", "--episodes", "trial", "--missing", "break", "--out", model
    )
    (time, episodes) = command("transform", model, folder / "bare.csv", "--out", out).stderr.splitlines()
    assert "time from column 't', which is not in the input" in time
    assert "name the column of time with --time" in time
    assert "episodes from column 'trial'" in episodes
    assert "name the column of episodes with --episodes" in episodes
    (time,) = command("transform", model, folder / "renamed.csv", "--out", out).stderr.splitlines()
    assert "it has clock, a, b" in time
    assert command("transform", model, folder / "renamed.csv", "--time", "clock", "--out", out).stderr == ""
    assert command("transform", model, folder / "x.csv", "--out", out).stderr == ""
    lengths = folder / "lengths.txt"
    command("fit", folder / "x.csv", "-k", 2, "--episodes", lengths, "--missing", "break", "--out", model)
    assert "give the lengths with --episodes" in command("transform", model, folder / "x.csv", "--out", out).stderr
    assert command("transform", model, folder / "x.csv", "--episodes", lengths, "--out", out).stderr == ""


def test_the_longest_step_belongs_to_the_time_of_the_fit(frame):
    model = SFA(1, missing="break").fit(open_stream(frame, time="t", max_step=30.0, missing="break"))
    other = frame.assign(clock=frame["t"] * 100)
    assert stream_for(model, frame, {"time": "t"}).reading.max_step == 30.0
    assert stream_for(model, frame, {"time": 0}).reading.max_step == 30.0
    assert stream_for(model, other, {"time": "clock"}).reading == Reading(time="clock")
    assert stream_for(model, frame, {}).feature_names == [*"abcd", "trial"]


def test_arrays_of_python_and_folders_of_files_are_remembered(frame, tmp_path):
    X = frame[list("abcd")].dropna().to_numpy(copy=True)
    X[:, 0] = np.arange(len(X)) + (np.arange(len(X)) > 300)  # a time with a gap
    for options in ({"episodes": 100}, {"joined": True}, {"time": 0, "missing": "break"}, {}):
        model = SFA(1, missing=options.get("missing", "raise")).fit(open_stream([X[:500], X[500:]], **options))
        model.save(tmp_path / "m")
        loaded = biosfa.load(tmp_path / "m")
        ours, fitted = stream_for(loaded, [X[:500], X[500:]], {}), open_stream([X[:500], X[500:]], **options)
        assert [c.starts.tolist() for c in ours] == [c.starts.tolist() for c in fitted]
    assert not stream_for(SFA(1).fit(open_stream(X, joined=True)), X, {"joined": False}).reading.joined
    refitted = SFA(1).fit(open_stream(X, episodes=100)).fit(X)
    assert stream_for(refitted, X, {}).reading == Reading()


def test_a_stream_goes_on_with_the_time_of_its_model(frame, tmp_path, monkeypatch):
    import os

    def answered(rows, given, name):
        target, (reader, writer) = tmp_path / name, os.pipe()
        os.write(writer, rows.to_csv(index=False).encode())
        os.close(writer)
        net = network(keep, None, 1, missing="break", seed=0, n_delays=2)
        with open(target, "wb") as file:
            answer(net, reader, file, given, keep=keep, every=1e9)
        return without_features(target)

    monkeypatch.setattr("signal.signal", lambda *_: None)
    keep, rows = tmp_path / "live", frame.drop(columns="trial")
    answered(rows[:300], {"time": "t", "missing": "break"}, "first.csv")
    assert answered(rows[300:], {}, "then.csv") == [0, 100, 390, 391]
    assert biosfa.load(keep).n_skipped_ == 1


def test_files_without_a_reading_are_read_as_before(frame, tmp_path):
    """Version 0.2.0 wrote such files."""
    path = tmp_path / "m"
    SFA(1, missing="break").fit(open_stream(frame, time="t", missing="break")).save(path)
    model = model_file.read_model(path)
    settings = {name: value for name, value in model.settings.items() if name != "reading"}
    model_file.write_model(path, model._replace(settings=settings))
    assert stream_for(biosfa.load(path), frame, {"columns": ["a", "b", "c", "d", "trial"]}).reading == Reading()


@pytest.mark.parametrize(
    "reading",
    [
        5,
        None,
        ["time"],
        {"time": 3},
        {"time": ["t"]},
        {"max_step": "long"},
        {"max_step": -1.0},
        {"max_step": float("nan")},
        {"max_step": True},
        {"episodes": 0},
        {"episodes": [5, 5]},
        {"episodes": True},
        {"joined": 1},
        {"lengths": "yes"},
        {"columns": ["a"]},
    ],
)
def test_forged_readings_are_refused_in_one_line(reading, frame, tmp_path):
    path = tmp_path / "m"
    OnlineSFA(1, missing="break", random_state=0).fit(open_stream(frame, missing="break")).save(path)
    model = model_file.read_model(path)
    model_file.write_model(path, model._replace(settings={**model.settings, "reading": reading}))
    with pytest.raises(ModelFileError, match="m is incomplete or damaged") as error:
        features.transform(str(path), ["x.csv"], str(tmp_path / "y.csv"), {})
    assert "\n" not in str(error.value)


def test_only_what_was_given_is_given():
    assert given_options() == {}
    assert given_options(columns="a, 2", time="0", episodes="10", joined=False, missing=None) == {
        "columns": ["a", 2], "time": 0, "episodes": 10, "joined": False,
    }  # fmt: skip
    with pytest.raises(ValueError, match="max_step must be a positive number"):
        StreamOptions(max_step=0.0)
