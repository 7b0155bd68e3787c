"""The command on people's own recordings."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import biosfa
from biosfa import SFA, BioSFA, OnlineSFA, metrics
from biosfa.io import open_stream
from biosfa.io.model_file import read_model
from biosfa.recordings.live import Answers
from biosfa.recordings.picture import plot
from biosfa.recordings.run import FitOptions, Run
from tests.conftest import posix, slow_mixture
from tests.processes import command_in, forked

BIOSFA = [sys.executable, "-m", "biosfa"]


def line_of_error(done):
    """The one line that says what is wrong."""
    (line,) = done.stderr.splitlines()
    assert line.startswith("biosfa: ")
    return line


@pytest.fixture(scope="module")
def X():
    return slow_mixture(20_000, times=(60.0, 20.0), n_noise=4, seed=1)[1]


@pytest.fixture(scope="module")
def folder(X, tmp_path_factory):
    path = tmp_path_factory.mktemp("recordings")
    np.save(path / "x.npy", X)
    frame = pd.DataFrame(X.copy(), columns=list("abcdef"))
    frame.insert(0, "t", np.arange(len(X)) / 100)
    frame["flat"] = 3.0
    frame.loc[[700, 701], "c"] = np.nan
    frame.drop(index=range(9000, 9010)).to_csv(path / "x.csv", index=False)
    return path


def test_from_a_file_to_features_and_pictures(command, folder, X, tmp_path):
    done = command("fit", folder / "x.npy", "--components", 2, "--out", "slow.safetensors", cwd=tmp_path)
    assert "2 slow features of 6 columns, from 20,000 rows in 1 episode" in done.stdout
    model = biosfa.load(tmp_path / "slow.safetensors")
    np.testing.assert_allclose(model.delta_values_, SFA(2).fit(X).delta_values_, rtol=1e-9)
    command("transform", "slow.safetensors", folder / "x.npy", "--out", "y.npy", cwd=tmp_path)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), model.transform(X), atol=1e-12)
    found = json.loads(command("inspect", "slow.safetensors", "--json", cwd=tmp_path).stdout)
    assert found["n_samples_seen"] == len(X)
    np.testing.assert_array_equal(found["delta_values"], model.delta_values_)
    np.testing.assert_allclose(found["timescales"], model.timescales_)
    text = command("inspect", "slow.safetensors", cwd=tmp_path).stdout
    assert "20,000 samples" in text
    assert "weights are finite, rank 6 of 6 columns" in text
    done = command("plot", "slow.safetensors", folder / "x.npy", cwd=tmp_path)
    assert "2 of 2 features are slower than chance" in done.stdout
    assert "2 of 2 features are slower than features of rows in random order" in done.stdout
    assert (tmp_path / "slow.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["slow.png", "slow.safetensors", "y.npy"]
    assert "slow.safetensors is finished" in line_of_error(command("resume", "slow.safetensors", code=1, cwd=tmp_path))


def test_gaps_names_and_constants(command, folder, X, tmp_path):
    out = tmp_path / "slow.safetensors"
    arguments = ["fit", folder / "x.csv", "-k", 2, "--time", "t", "--out", out]
    assert "x.csv, line 702, column 'c': nan" in line_of_error(command(*arguments, "--max-step", 9, code=1))
    jumps = pd.read_csv(folder / "x.csv").dropna()
    jumps.to_csv(tmp_path / "jumps.csv", index=False)
    done = command("fit", tmp_path / "jumps.csv", "-k", 2, "--time", "t", "--out", out, code=1)
    assert "jumps.csv, line 702: time jumps by 0.03" in line_of_error(done)
    (tmp_path / "jumps.csv").unlink()
    assert list(tmp_path.iterdir()) == []
    done = command(*arguments, "--missing", "break")
    assert "gaps: 2 rows skipped, 4 pairs of consecutive rows broken" in done.stdout
    assert "in 3 episodes" in done.stdout
    assert "rank 6 (flat: constant)" in done.stderr
    kept = np.delete(X, [700, 701, *range(9000, 9010)], axis=0)
    model = biosfa.load(out)
    assert list(model.feature_names_in_) == [*"abcdef", "flat"]
    expected = SFA(2).fit(kept, lengths=[700, 8298, 10_990]).delta_values_
    np.testing.assert_allclose(model.delta_values_, expected, rtol=1e-9)
    command("transform", out, folder / "x.csv", "--time", "t", "--missing", "break", "--out", tmp_path / "y.csv")
    Y = pd.read_csv(tmp_path / "y.csv")
    assert list(Y.columns) == ["slow0", "slow1"]
    np.testing.assert_array_equal(np.flatnonzero(Y["slow0"].isna()), [700, 701])
    found = json.loads(command("inspect", out, "--json").stdout)
    assert (found["n_skipped"], found["n_broken_pairs"]) == (2, 4)
    assert found["origin"]["constant_columns"] == ["flat"]


def test_bio_with_everything(command, folder, X, tmp_path):
    out = tmp_path / "net"
    command(
        "fit", folder / "x.npy", "-k", 2, "--solver", "online", "--pca", 4, "--delays", 2, "--epochs", 2, "--out", out
    )
    net = OnlineSFA(2, pca=4, n_delays=2, n_epochs=2, random_state=0).fit(X)
    np.testing.assert_allclose(biosfa.load(out).delta_values_, net.delta_values_, rtol=1e-6)
    command("fit", folder / "x.npy", "-k", 2, "--solver", "bio", "--out", out)
    local = BioSFA(2, random_state=0).fit(X)
    np.testing.assert_allclose(biosfa.load(out).delta_values_, local.delta_values_, rtol=1e-6)
    assert "constraint error" in command("inspect", out).stdout


def test_large_problems_are_announced(command, tmp_path):
    np.save(tmp_path / "eeg.npy", np.random.default_rng(0).standard_normal((50, 256)))
    done = command(
        "fit", tmp_path / "eeg.npy", "-k", 2, "--expand", "quadratic", "--out", tmp_path / "m", code=1,
    )  # fmt: skip
    assert "the quadratic expansion of 256 columns has 33,152 dimensions; --pca 61 would make it 1,952" in done.stderr
    assert "needs about 87.9 GB" in done.stderr
    assert list(tmp_path.iterdir()) == [tmp_path / "eeg.npy"]


def test_standard_input_and_output(command, folder, X, tmp_path):
    text = (folder / "x.csv").read_text().splitlines(keepends=True)[:600]
    out = tmp_path / "m"
    command("fit", "-", "-k", 2, "--columns", "a,b,c", "--out", out, input="".join(text))
    np.testing.assert_allclose(biosfa.load(out).delta_values_, SFA(2).fit(X[:599, :3]).delta_values_, rtol=1e-9)
    done = command("transform", out, "-", "--out", "-", input="".join(text))
    assert len(done.stdout.splitlines()) == 600
    error = line_of_error(command("fit", "-", "-k", 1, "--pca", 2, "--out", out, code=1, input="".join(text)))
    assert "standard input can be read only once" in error


def test_answers_do_not_depend_on_how_lines_arrive(X):
    def answers(chunk_size, **settings):
        stream = open_stream(gappy, chunk_size, missing="break")
        live = Answers(OnlineSFA(2, random_state=0, **settings), stream)
        return np.concatenate([live.of(chunk) for chunk in stream])

    gappy = X[:2000].copy()
    gappy[100] = np.nan
    for settings in ({}, {"n_delays": 3}):
        at_once = answers(5000, **settings)
        for chunk_size in (1, 37):
            np.testing.assert_allclose(answers(chunk_size, **settings), at_once, atol=1e-7)
        assert np.isnan(at_once[100]).all()
        assert np.isfinite(at_once[200:]).all()
    exact = SFA(2).fit(X[:2000]).transform(X[1000:2000])
    assert (np.abs(np.corrcoef(at_once[1000:].T, exact.T)[:2, 2:]).max(axis=1) > 0.8).all()


@posix
def test_each_line_is_answered_at_once_and_the_model_is_kept(X, tmp_path):
    keep = tmp_path / "live"
    process = subprocess.Popen(
        [*BIOSFA, "stream", "-k", "2", "--model", keep, "--checkpoint-every", "0"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
    )  # fmt: skip
    process.stdin.write("a,b,c,d,e,f\n")
    for i, x in enumerate(X[:30]):
        process.stdin.write(",".join(map(repr, x.tolist())) + "\n")
        process.stdin.flush()
        if i == 0:
            assert process.stdout.readline() == "slow0,slow1\n"
        assert len(process.stdout.readline().split(",")) == 2
    process.send_signal(signal.SIGTERM)
    process.stdin.close()
    process.stdout.close()
    assert process.wait() == 130
    net = biosfa.load(keep)
    expected = OnlineSFA(2, random_state=0).partial_fit(X[:30])
    assert net.n_samples_seen_ == 30
    np.testing.assert_allclose(net.components_, expected.components_, rtol=1e-7)


def test_a_stream_answers_and_learns_every_good_line_before_a_bad_one(command, X, tmp_path):
    lines = "\n".join(",".join(map(repr, x.tolist())) for x in X[:2000]) + "\n"
    done = command("stream", "-k", 2, "--model", tmp_path / "live", input=lines + "1,2,ERR,4,5,6\n", code=1)
    assert len(done.stdout.splitlines()) == 2001  # with the header
    assert "line 2001, column 2: 'ERR' is not a number" in line_of_error(done)
    assert biosfa.load(tmp_path / "live").n_samples_seen_ == 2000
    done = command("stream", "-k", 2, "--missing", "break", input=lines + "1,2,ERR,4,5,6\n" + lines)
    assert len(done.stdout.splitlines()) == 4002
    assert done.stdout.splitlines()[2001] == "nan,nan"
    assert "gaps: 1 row skipped, 2 pairs" in done.stderr


DEAF = """
import ctypes, sys
from biosfa import SFA
plain = SFA._solve
def solve(self, moments):
    if sys.argv[1] == "fit":
        print("solving", flush=True)
        ctypes.PyDLL(None).sleep(60)  # as an eigenproblem does, it holds the interpreter
    return plain(self, moments)
SFA._solve = solve
from biosfa.cli import main
main()
"""


@posix
def test_ctrl_c_is_heard_within_an_eigenproblem_and_nothing_is_lost(command, X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    arguments = [sys.executable, "-c", DEAF, "fit", "x.npy", "-k", "2", "--out", "m"]
    process = subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "solving\n"
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(10) != 0
    process.stdout.close()
    assert time.monotonic() - begin < 2.0
    command("resume", "m", cwd=tmp_path)
    np.testing.assert_array_equal(biosfa.load(tmp_path / "m").components_, SFA(2).fit(X).components_)


def test_a_bad_row_stays_an_error_when_the_fit_is_resumed(command, X, tmp_path):
    spoiled = np.tile(X, (40, 1))
    spoiled[150_000, 2] = np.nan
    np.save(tmp_path / "x.npy", spoiled)
    arguments = ["fit", tmp_path / "x.npy", "-k", 2, "--checkpoint-every", "1e-6", "--out", tmp_path / "m"]
    for again in (arguments, ["resume", tmp_path / "m"]):
        assert "row 150000, column 'x2': nan" in line_of_error(command(*again, code=1))


def test_a_fit_that_cannot_find_features_leaves_no_checkpoint(command, X, tmp_path):
    low = X[:, :3] @ np.ones((3, 6))
    np.save(tmp_path / "x.npy", low + np.arange(6))
    assert "exceeds the rank" in line_of_error(
        command("fit", tmp_path / "x.npy", "-k", 5, "--out", tmp_path / "m", code=1)
    )
    assert not (tmp_path / "m.checkpoint").exists()


def test_a_stream_goes_on_with_the_solver_of_its_model(command, X, tmp_path):
    lines = "\n".join(",".join(map(repr, x.tolist())) for x in X[:40]) + "\n"
    keep = tmp_path / "live"
    for _ in range(2):  # the second time the solver is the model's
        options = [] if keep.exists() else ["--solver", "bio"]
        command("stream", "-k", 2, "--model", keep, *options, input=lines)
    net = biosfa.load(keep)
    expected = BioSFA(2, random_state=0).partial_fit(X[:40]).end_episode().partial_fit(X[:40])
    assert type(net) is BioSFA
    np.testing.assert_allclose(net.components_, expected.components_, rtol=1e-7)
    done = command("stream", "--model", keep, "--solver", "online", input=lines, code=1)
    assert "was learned with --solver bio, not online" in line_of_error(done)
    SFA(2).fit(X).save(tmp_path / "exact")
    done = command("stream", "--model", tmp_path / "exact", input=lines, code=1)
    assert "holds SFA, which cannot learn from a stream" in line_of_error(done)


def run_until_killed(folder, arguments, moment, left):
    """A command that is killed, or interrupted as by Ctrl-C, when it writes its so-manieth file.

    That is before the file is whole, before it takes its place, or just after.
    """
    name, after = "fsync" if moment == "writing" else "replace", moment == "renamed"
    real = getattr(os, name)

    def guard(*arguments):
        nonlocal left
        left -= 1
        if after:
            real(*arguments)
        if left == 0:
            os.kill(os.getpid(), signal.SIGINT if moment == "interrupted" else signal.SIGKILL)
        return None if after else real(*arguments)

    setattr(os, name, guard)
    command_in(folder, arguments)


@posix
@pytest.mark.parametrize("solver", ["exact", "online"])
def test_killed_at_any_moment_it_goes_on_to_the_same_bits(command, solver, X, tmp_path):
    np.save(tmp_path / "x.npy", np.tile(X, (25, 1)))  # three chunks
    arguments = ["fit", "x.npy", "-k", "2", "--solver", solver, "--pca", "5", "--checkpoint-every", "1e-6"]
    arguments += [] if solver == "exact" else ["--epochs", "2"]
    command(*arguments, "--out", "whole", cwd=tmp_path)
    again = [*arguments, "--out", "killed"]
    moments = [("writing", 1), ("renamed", 2), ("renaming", 3), ("interrupted", 2), ("writing", 4), ("renamed", 2)]
    for moment, left in moments:
        process = forked(run_until_killed, tmp_path, again, moment, left)
        process.join()
        assert process.exitcode == (130 if moment == "interrupted" else -signal.SIGKILL)
        assert not (tmp_path / "killed").exists()
        if (tmp_path / "killed.checkpoint").exists():
            assert read_model(tmp_path / "killed.checkpoint").kind == "Checkpoint"
            again = ["resume", "killed", "--checkpoint-every", "1e-6"]
    assert again[0] == "resume"
    command(*again, cwd=tmp_path)
    assert (tmp_path / "killed").read_bytes() == (tmp_path / "whole").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"x.npy", "whole", "killed"}


def test_a_checkpoint_is_not_taken_for_another_input_or_command(command, X, tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", X)
    monkeypatch.setattr("biosfa.io._stream.CHUNK_BYTES", 8 * 6 * 1000)
    options = FitOptions([str(tmp_path / "x.npy")], 2)
    out = tmp_path / "m"
    steps = Run.begin(options, out).steps(checkpoint_every=1e-9)
    for _ in range(5):
        next(steps)
    text = command("inspect", f"{out}.checkpoint").stdout
    assert "4,000 rows of pass 1" in text or "5,000 rows of pass 1" in text
    np.save(tmp_path / "x.npy", X[1:])
    assert "has changed since" in line_of_error(command("resume", out, code=1))
    before = Path(f"{out}.checkpoint").read_bytes()
    assert "has changed since" in line_of_error(command("fit", tmp_path / "x.npy", "-k", 2, "--out", out, code=1))
    others = {3: "is the checkpoint of a fit with other settings or inputs", 30: "--components 30 is too many"}
    for k, message in others.items():  # another fit, and one that fails
        assert message in line_of_error(command("fit", tmp_path / "x.npy", "-k", k, "--out", out, code=1))
        assert Path(f"{out}.checkpoint").read_bytes() == before
    command("fit", tmp_path / "x.npy", "-k", 2, "--out", out, "--overwrite")
    assert not Path(f"{out}.checkpoint").exists()
    np.testing.assert_allclose(biosfa.load(out).delta_values_, SFA(2).fit(X[1:]).delta_values_, rtol=1e-9)


@contextmanager
def no_room():
    """Within it, writing more than 500 bytes to a file fails as on a full disk, with another number."""
    import resource

    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


@posix
def test_trouble_with_disks_is_one_line_and_leaves_what_was(command, folder, tmp_path):
    out = tmp_path / "m"
    command("fit", folder / "x.npy", "-k", 2, "--out", out)
    before = out.read_bytes()
    for arguments in (
        ["fit", folder / "x.npy", "-k", 3, "--out", out],
        ["transform", out, folder / "x.npy", "--out", tmp_path / "y.npy"],
    ):
        with no_room():
            done = command(*arguments, code=1)
        error = line_of_error(done)
        assert "File too large" in error
        assert str(tmp_path) in error
    assert out.read_bytes() == before
    assert list(tmp_path.iterdir()) == [out]
    missing = tmp_path / "no" / "such" / "folder" / "m"
    assert "such/folder does not exist" in line_of_error(
        command("fit", folder / "x.npy", "-k", 2, "--out", missing, code=1)
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_standard_output(command, folder, tmp_path):
    out = tmp_path / "m"
    command("fit", folder / "x.npy", "-k", 2, "--out", out)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*BIOSFA, "transform", str(out), str(folder / "x.npy"), "--out", "-"],
            stdout=full, stderr=subprocess.PIPE, text=True, env=buffered,
        )  # fmt: skip
    assert done.returncode == 1
    assert "No space left" in line_of_error(done)


@posix
def test_it_ends_like_other_filters_when_nobody_reads_on(folder, X, tmp_path):
    """Quietly, by SIGPIPE, as in ``biosfa transform … | head -1``."""
    SFA(2).fit(X).save(tmp_path / "m")
    process = subprocess.Popen(
        [*BIOSFA, "transform", str(tmp_path / "m"), str(folder / "x.npy"), "--out", "-"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "slow0,slow1\n"
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == -signal.SIGPIPE
    process.stderr.close()


def test_wrong_use_is_one_line(command, folder, tmp_path):
    out = tmp_path / "m"
    wrong = {
        "--components 7 is too many: the input has 6 columns": ["fit", folder / "x.npy", "-k", 7, "--out", out],
        "gone.npy does not exist": ["fit", tmp_path / "gone.npy", "-k", 1, "--out", out],
        "no column 'heat'": ["fit", folder / "x.csv", "--columns", "heat", "-k", 1, "--out", out],
        "No such file or directory": ["inspect", tmp_path / "gone"],
        "is not a biosfa model": ["inspect", folder / "x.npy"],
        "x.mat: .mat is not a format that is known": ["fit", "x.mat", "-k", 1, "--out", out],
        "Missing option": ["fit", folder / "x.npy"],
    }
    for message, arguments in wrong.items():
        assert message in line_of_error(command(*arguments, code=2 if message == "Missing option" else 1))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is asked of Linux")
def test_memory_stays_small_however_large_the_input(tmp_path):
    path = tmp_path / "sparse.npy"
    shape = (1_500_000, 50)  # 600 MB that take no room on the disk
    np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=shape)
    with open(path, "r+b") as file:  # some rows that vary, at the beginning
        file.seek(128)
        file.write(slow_mixture(5000, times=(30.0,), n_noise=49)[1].tobytes())
    program = "from biosfa.cli import main; main(); print(open('/proc/self/status').read())"
    peaks = {}
    for solver in ("exact", "online"):
        arguments = ["fit", str(path), "-k", "1", "--solver", solver, "--out", str(tmp_path / solver)]
        done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        peaks[solver] = int(re.search(r"VmHWM:\s*(\d+) kB", done.stdout)[1]) / 1024
    assert max(peaks.values()) < 450, peaks


def test_inputs_are_not_overwritten(command, X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    before = (tmp_path / "x.npy").read_bytes()
    command("fit", "x.npy", "-k", 2, "--out", "m", cwd=tmp_path)
    for arguments in (
        ["fit", "x.npy", "-k", 2, "--out", "x.npy"],
        ["transform", "m", "x.npy", "--out", "./x.npy"],
    ):
        assert "x.npy is an input" in line_of_error(command(*arguments, code=1, cwd=tmp_path))
    assert (tmp_path / "x.npy").read_bytes() == before
    assert "is a folder" in line_of_error(command("fit", "x.npy", "-k", 2, "--out", tmp_path, code=1, cwd=tmp_path))


def test_columns_of_a_model(command, X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "one.npy", X[:, :1])
    command("fit", "x.npy", "--columns", "0,2", "-k", 2, "--out", "m", cwd=tmp_path)
    command("transform", "m", "x.npy", "--out", "y.npy", cwd=tmp_path)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), SFA(2).fit(X[:, [0, 2]]).transform(X[:, [0, 2]]), atol=1e-9)
    assert "one.npy has no column 'x2'" in line_of_error(
        command("transform", "m", "one.npy", "--out", "z.npy", code=1, cwd=tmp_path)
    )
    command("fit", "x.npy", "-k", 2, "--out", "all", cwd=tmp_path)
    error = line_of_error(command("transform", "all", "one.npy", "--out", "z.npy", code=1, cwd=tmp_path))
    assert "has 1 columns, but the model was fitted to 6" in error
    lines = ["c,b,a\n", *(f"{c!r},{b!r},{a!r}\n" for a, b, c in X[:50, :3].tolist())]
    command("stream", "-k", 1, "--model", "live", cwd=tmp_path, input="".join(lines[:40]))
    net = biosfa.load(tmp_path / "live")
    assert list(net.feature_names_in_) == ["c", "b", "a"]
    lines = ["a,b,c\n", *(f"{a!r},{b!r},{c!r}\n" for a, b, c in X[39:50, :3].tolist())]
    command("stream", "--model", "live", cwd=tmp_path, input="".join(lines))
    expected = OnlineSFA(1, random_state=0).partial_fit(X[:39, [2, 1, 0]])
    expected.end_episode().partial_fit(X[39:50, [2, 1, 0]])
    np.testing.assert_allclose(biosfa.load(tmp_path / "live").components_, expected.components_, rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--epochs", 2], "--epochs is for --solver online, local, bio"),
        (["--solver", "online", "--lag", 2], "--lag is for --solver exact"),
        (["--max-step", 2], "--max-step needs --time"),
    ],
)
def test_options_that_do_not_go_together(command, options, message, folder, tmp_path):
    done = command("fit", folder / "x.npy", "-k", 1, *options, "--out", tmp_path / "m", code=1)
    assert message in line_of_error(done)


def test_slowness_is_drawn_at_the_lag_of_the_model(X, tmp_path):
    for model in (SFA(2, lag=30), SFA(2, lag=3, n_delays=2)):
        found = plot(model.fit(X), open_stream(X), tmp_path / "picture.png")
        np.testing.assert_allclose(found.delta_values, model.delta_values_, rtol=1e-9)
        there = found.significance
        assert there.chance_by_feature.shape == (2, 99)
        assert there.chance_shuffled.shape == (99,)


def test_independent_channels_share_nothing_slow_though_all_are_slower_than_noise(tmp_path):
    """Ten AR(1) channels, of ten time constants; then three sources that ten channels share."""
    separate = slow_mixture(10_000, times=np.geomspace(5, 100, 10), n_noise=0, seed=3)
    for X, shared, slow in ((separate[0], 0, 10), (slow_mixture(10_000, seed=4)[1], 3, 3)):
        found = plot(SFA(10).fit(X), open_stream(X), tmp_path / "picture.png")
        assert found.real.sum() == shared
        assert found.slow.sum() >= slow
    for alone in (np.random.default_rng(5).standard_normal((60_000, 1)).cumsum(axis=0), separate[0][:, :1]):
        assert not plot(SFA(1).fit(alone), open_stream(alone), tmp_path / "picture.png").real.any()


@pytest.mark.parametrize("solver", ["online", "bio"])
def test_fit_and_inspect_print_the_same_slowness(command, solver, folder, X, tmp_path):
    """It is that of the weights that transform uses, on recent pairs: √(2/2048) is 3%."""
    out = tmp_path / "m"
    fitted = command("fit", folder / "x.npy", "-k", 2, "--solver", solver, "--out", out).stdout
    found = json.loads(command("inspect", out, "--json").stdout)
    model = biosfa.load(out)
    np.testing.assert_array_equal(found["delta_values"], model.delta_values_)
    assert "slowness δ: " + " ".join(f"{value:.4g}" for value in model.delta_values_) in fitted
    assert found["health"]["constraint_error"] == model.constraint_error_ == model.watch().constraint_error
    np.testing.assert_allclose(model.delta_values_, metrics.slowness(model.transform(X)[-len(X) // 3 :]), rtol=0.1)
