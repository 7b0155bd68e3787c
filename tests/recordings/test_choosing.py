"""``biosfa choose``."""

import shlex

import numpy as np
import pandas as pd
import pytest

from biosfa import load
from tests.processes import content_of
from tests.selection.test_timescales import mixed


@pytest.fixture
def recording(tmp_path):
    X = mixed([300, 100, 3, 2, 1], 12_000, seed=0)
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame.insert(0, "t", np.arange(len(X)) * 0.5)
    frame.to_csv(tmp_path / "recording.csv", index=False)
    return tmp_path


def test_it_writes_a_page_and_prints_a_command_that_works(recording, command):
    printed = command("choose", "recording.csv", "--time", "t", cwd=recording).stdout
    assert printed.startswith("2 features")
    page = (recording / "recording-choice" / "choice.html").read_text(encoding="utf-8")
    assert "data:image/png;base64," in page
    assert (recording / "recording-choice" / "choice.png").read_bytes().startswith(b"\x89PNG")
    fit = printed.splitlines()[-1]
    assert fit in page
    assert fit == "biosfa fit recording.csv --components 2 --time t --out model.safetensors"
    command(*shlex.split(fit)[1:], cwd=recording)
    assert load(recording / "model.safetensors").n_components == 2


def test_missing_values_are_part_of_the_command(recording, command):
    lines = (recording / "recording.csv").read_text().splitlines()
    lines[101] = "50.0,,,,,"
    (recording / "recording.csv").write_text("\n".join(lines))
    printed = command("choose", "recording.csv", "--time", "t", cwd=recording).stdout
    fit = printed.splitlines()[-1]
    assert "--missing break" in fit
    command(*shlex.split(fit)[1:], cwd=recording)


def test_quadratic_settings_are_part_of_the_command(tmp_path, command):
    rng = np.random.default_rng(0)
    sign, noise = rng.choice([-1.0, 1.0], 8000), rng.standard_normal(8000)
    np.save(tmp_path / "x.npy", np.column_stack([sign * np.sin(np.arange(8000) / 80), sign, noise]))
    printed = command("choose", "x.npy", "--lags", "1,2", cwd=tmp_path).stdout
    assert "--expand quadratic" in printed.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-"], 1, "standard input can be read only once"),
        (["recording.csv", "--lags", "1,x"], 1, "--lags 1,x must be whole numbers"),
        (["recording.csv", "--lags", "20000"], 1, "no two rows of an episode are 20000 rows apart"),
        (["recording.csv", "--out", "missing/folder"], 0, ""),
        (["recording.csv", "--max-components", "0"], 2, "max-components"),
    ],
)
def test_mistakes_are_named(recording, command, arguments, code, message):
    assert message in command("choose", *arguments, code=code, cwd=recording).stderr


def test_an_input_is_not_overwritten(recording, command):
    (recording / "choice.html").write_bytes((recording / "recording.csv").read_bytes())
    printed = command("choose", "recording.csv", "choice.html", "--out", ".", code=1, cwd=recording)
    assert "choice.html" in printed.stderr


def test_it_replaces_only_its_own_page_and_picture(recording, command):
    choose = ("choose", "recording.csv", "--time", "t", "--lags", "1,2", "--out", ".")
    (recording / "choice.png").write_text("precious")
    before = content_of(recording)
    assert "choice.png was not written by this command" in command(*choose, code=1, cwd=recording).stderr
    assert content_of(recording) == before
    (recording / "choice.png").rename(recording / "mine.png")
    for lags in ("1,2", "2,4"):
        command(*choose[:-3], lags, "--out", ".", cwd=recording)
    assert "<td>4</td>" in (recording / "choice.html").read_text(encoding="utf-8")
    (recording / "choice.html").write_text("precious")
    before = content_of(recording)
    assert "choice.html has changed since" in command(*choose, code=1, cwd=recording).stderr
    assert content_of(recording) == before
    assert before["mine.png"] == b"precious"
