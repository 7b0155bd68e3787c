"""What the commands for recordings say."""

import numpy as np
import pandas as pd
import pytest

from biosfa import SFA, OnlineSFA
from biosfa.exceptions import UserError
from biosfa.io import open_stream
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
    with pytest.raises(UserError) as error:
        command("fit", path, *options, "--out", tmp_path / "m")
    assert message in str(error.value)
    assert "n_features" not in str(error.value)
    assert not (tmp_path / "m").exists()
    command("fit", path, "-k", 14, "--expand", "quadratic", "--out", tmp_path / "m")


def test_arguments_in_the_wrong_order(path, X, command, tmp_path):
    SFA(1).fit(X).save(tmp_path / "m")
    for arguments in (["plot", path, tmp_path / "m"], ["transform", path, tmp_path / "m", "--out", tmp_path / "y.csv"]):
        with pytest.raises(UserError, match=r"x\.csv is a file of samples, not a model: the model comes first"):
            command(*arguments)
    (tmp_path / "other").write_text("nothing")
    with pytest.raises(UserError, match="other is not a biosfa model"):
        command("plot", tmp_path / "other", path)


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
    said = command("fit", tmp_path / "x.csv", "-k", 1, "--time", "t", "--missing", "break", "--out", tmp_path / "m").out
    assert message in said.splitlines()
    frame.to_csv(tmp_path / "x.csv", index=False)
    assert "gaps in time" not in command("fit", tmp_path / "x.csv", "-k", 1, "--time", "t", "--out", tmp_path / "m").out


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
