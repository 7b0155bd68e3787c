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


def frame_of(n=6000, m=6, seed=0):
    """A slow signal in some columns of noise."""
    rng = np.random.default_rng(seed)
    slow = np.sin(np.arange(n) / 60)[:, None] * rng.choice([-1.0, 1.0], m)
    return pd.DataFrame(slow + rng.standard_normal((n, m)), columns=[f"c{i}" for i in range(m)])


def runs(command, folder, *arguments):
    """Choose, run the command that was printed, and return it."""
    fit = command("choose", *arguments, cwd=folder).stdout.splitlines()[-1]
    command(*shlex.split(fit)[1:], cwd=folder)
    assert len(load(folder / shlex.split(fit)[-1]).delta_values_)
    return fit


def test_the_command_runs_for_weekends(tmp_path, command):
    """Times jump, but no value is missing."""
    frame = frame_of()
    frame.insert(0, "date", pd.bdate_range("2001-01-01", periods=len(frame)))
    frame.insert(1, "note", "word")
    frame.to_csv(tmp_path / "days.csv", index=False)
    fit = runs(command, tmp_path, "days.csv", "--time", "date", "--skip", "note")
    assert "--time date" in fit
    assert "--skip note" in fit
    assert "--missing break" in fit


def test_the_command_runs_for_odd_names_of_columns_and_files(tmp_path, command):
    frame = frame_of().set_axis(["a b", "c,d", "1-2", "$x", "e'f", "g"], axis=1)
    (tmp_path / "my folder").mkdir()
    frame.to_csv(tmp_path / "my folder" / "a b.csv", index=False)
    fit = runs(command, tmp_path, "my folder/a b.csv", "--columns", 'a b,"c,d",g,3-4')
    assert """--columns 'a b,"c,d",g,3-4'""" in fit


def test_the_command_runs_for_episodes_and_files_of_lengths(tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", frame_of().to_numpy())
    (tmp_path / "lengths.txt").write_text("1000 2000 3000")
    assert "--episodes lengths.txt" in runs(command, tmp_path, "x.npy", "--episodes", "lengths.txt")
    frame_of().assign(trial=np.arange(6000) // 300).to_csv("trials.csv", index=False, header=False)
    fit = runs(command, tmp_path, "trials.csv", "--episodes", "500", "--no-header", "--skip", "6")
    assert "--episodes 500" in fit
    assert "--no-header" in fit


def test_the_command_runs_for_delays(tmp_path, command):
    """White noise on top of a slow signal: averaging over rows helps."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", mixed([200, 100, 50], 8000, seed=1) + 2 * rng.standard_normal((8000, 3)))
    assert "--delays" in runs(command, tmp_path, "x.npy", "--lags", "1")


def test_the_command_runs_for_more_columns_than_rows(tmp_path, command):
    rng = np.random.default_rng(0)
    slow = np.sin(np.arange(120) / 10)[:, None] * rng.standard_normal(200)
    np.save(tmp_path / "wide.npy", 3 * slow + rng.standard_normal((120, 200)))
    printed = command("choose", "wide.npy", cwd=tmp_path).stdout
    assert "fewer than 4 per column" in printed
    assert "nothing here may be slow" not in printed
    assert "--pca" in runs(command, tmp_path, "wide.npy")


def test_the_command_does_not_use_names_that_are_taken(tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", frame_of().to_numpy())
    (tmp_path / "model.safetensors").write_text("mine")
    assert runs(command, tmp_path, "x.npy").endswith("--out model-2.safetensors")
    assert (tmp_path / "model.safetensors").read_text() == "mine"


def test_counters_are_named(tmp_path, command):
    frame = frame_of()
    frame.insert(0, "row", np.arange(len(frame)))
    frame.to_csv(tmp_path / "counted.csv", index=False)
    done = command("choose", "counted.csv", cwd=tmp_path)
    assert "episodes: row. Each is a slow feature by itself" in done.stdout
    assert "--skip" in done.stdout
    for odd in ("nan", "inf ", "divide", "e+"):
        assert odd not in done.stdout + done.stderr


def test_every_lag_is_shown_for_the_winning_expansion(tmp_path, command):
    rng = np.random.default_rng(0)
    sign, noise = rng.choice([-1.0, 1.0], 8000), rng.standard_normal(8000)
    np.save(tmp_path / "x.npy", np.column_stack([sign * np.sin(np.arange(8000) / 80), sign, noise]))
    command("choose", "x.npy", "--lags", "1,3,9,27", cwd=tmp_path)
    page = (tmp_path / "x-choice" / "choice.html").read_text(encoding="utf-8")
    timescales = page[page.rindex(">Timescales<") :]
    for lag in (1, 3, 9, 27):
        assert f"<td>{lag}</td>" in timescales


def test_ridge_is_an_option_of_fit(tmp_path, command):
    x = np.random.default_rng(0).standard_normal((500, 2))
    np.save(tmp_path / "x.npy", np.column_stack([x, x.sum(axis=1)]))
    command("fit", "x.npy", "-k", 3, "--ridge", "1e-6", "--out", "m", cwd=tmp_path)
    assert load(tmp_path / "m").ridge == 1e-6
    wrong = command("fit", "x.npy", "-k", 1, "--ridge", "1", "--solver", "online", "--out", "o", code=1, cwd=tmp_path)
    assert "--ridge is for --solver exact" in wrong.stderr


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
