"""What the commands for recordings say."""

import json

import numpy as np
import pandas as pd
import pytest

from biosfa import SFA, ModelFileError, OnlineSFA
from biosfa.io import model_file, open_stream
from biosfa.recordings import inspection
from biosfa.wording import duration
from tests.conftest import slow_mixture


@pytest.fixture(scope="module")
def X():
    return slow_mixture(600, times=(30.0, 5.0), n_noise=2, seed=1)[1]


@pytest.fixture
def path(X, tmp_path):
    pd.DataFrame(X, columns=list("abcd")).to_csv(tmp_path / "x.csv", index=False)
    return tmp_path / "x.csv"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-k", 5], "--components 5 is too many: the input has 4 columns"),
        (["-k", 5, "--solver", "online"], "--components 5 is too many: the input has 4 columns"),
        (["-k", 7, "--delays", 2, "--pca", 3], "--components 7 is too many: the input has 4 columns, which make 6 dim"),
        (["-k", 15, "--expand", "quadratic"], "the input has 4 columns, which make 14 dimensions"),
    ],
)
def test_too_many_components_for_the_columns(options, message, path, command, tmp_path):
    error = command("fit", path, *options, "--out", tmp_path / "m", code=1).stderr
    assert message in error
    assert "n_features" not in error
    assert not (tmp_path / "m").exists()
    command("fit", path, "-k", 14, "--expand", "quadratic", "--out", tmp_path / "m")


def test_arguments_in_the_wrong_order(path, X, command, tmp_path):
    SFA(1).fit(X).save(tmp_path / "m")
    for arguments in (["plot", path, tmp_path / "m"], ["transform", path, tmp_path / "m", "--out", tmp_path / "y.csv"]):
        error = command(*arguments, code=1).stderr
        assert "x.csv is a file of samples, not a model: the model comes first" in error
    (tmp_path / "other").write_text("nothing")
    assert "other is not a biosfa model" in command("plot", tmp_path / "other", path, code=1).stderr


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (pd.date_range("2026-03-01", periods=600, freq="min"), "gaps in time: 2, the longest 6 hours"),
        (np.arange(600.0) * 60, "gaps in time: 2, the longest 21600 in units of 't'"),
    ],
)
def test_fit_names_the_gaps_in_time(times, message, X, command, tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(t=times)
    kept = frame.iloc[[*range(100), *range(105, 200), *range(559, 600)]]
    kept.to_csv(tmp_path / "x.csv", index=False)
    said = command(
        "fit", tmp_path / "x.csv", "-k", 1, "--time", "t", "--missing", "break", "--out", tmp_path / "m"
    ).stdout
    assert message in said.splitlines()
    frame.to_csv(tmp_path / "x.csv", index=False)
    assert (
        "gaps in time" not in command("fit", tmp_path / "x.csv", "-k", 1, "--time", "t", "--out", tmp_path / "m").stdout
    )


@pytest.mark.parametrize("dated", [True, False])
def test_inspect_knows_the_unit_of_time(dated, X, command, tmp_path):
    """Two rows per minute; one step is long, which does not change the median."""
    seconds = np.arange(600.0) * 30 + 9 * (np.arange(600) > 50)
    t = pd.Timestamp("2026-03-01") + pd.to_timedelta(seconds, unit="s") if dated else seconds
    pd.DataFrame(X, columns=list("abcd")).assign(t=t).to_csv(tmp_path / "x.csv", index=False)
    command("fit", tmp_path / "x.csv", "-k", 1, "--time", "t", "--out", tmp_path / "m")
    (period,) = json.loads(command("inspect", tmp_path / "m", "--json").stdout)["periods"]
    lines = command("inspect", tmp_path / "m").stdout.splitlines()
    row = next(line for line in lines if line.startswith("slow0"))
    assert row.endswith(duration(30 * period) if dated else f"{30 * period:.4g}")
    assert f"timescales and periods are in samples, then in {'time' if dated else 'units of '}" in "\n".join(lines)
    assert any("noise shortens both" in line for line in lines)
    command("fit", tmp_path / "x.csv", "-k", 1, "--columns", "a,b,c,d", "--out", tmp_path / "m")
    assert "timescales and periods are in samples" in command("inspect", tmp_path / "m").stdout.splitlines()


@pytest.mark.parametrize("step", [5, {"time": "t"}, {"time": "t", "length": "long", "dated": True}])
def test_a_forged_step_is_refused_in_one_line(step, X, tmp_path):
    path = tmp_path / "m"
    SFA(1).fit(X).save(path)
    model = model_file.read_model(path)
    origin = {"inputs": [], "constant_columns": [], "step": step}
    model_file.write_model(path, model._replace(settings={**model.settings, "origin": origin}))
    with pytest.raises(ModelFileError, match="m is incomplete or damaged") as error:
        inspection.as_text(inspection.inspect(str(path)))
    assert "\n" not in str(error.value)


def test_gaps_are_counted_in_chunks_as_in_one(X):
    t = np.arange(600.0) + 50 * (np.arange(600) >= 300) + 7 * (np.arange(600) >= 455)
    table = np.column_stack([t, X])
    for size in (1, 100, 455, 1000):
        *_, last = open_stream(table, size, time=0, max_step=1.5, missing="break")
        assert (last.position.n_jumps, last.position.longest_jump) == (2, 51.0)


@pytest.mark.parametrize("learner", [SFA(1), OnlineSFA(1)], ids=str)
def test_a_path_is_no_array(learner, path, X):
    for call in (learner.fit, learner.partial_fit, SFA(1).fit(X).transform):
        for given in (path, str(path)):
            with pytest.raises(TypeError, match=r"x\.csv', not samples: open it with biosfa\.io\.open_stream"):
                call(given)
