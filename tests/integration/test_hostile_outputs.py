"""Outputs that are inputs, folders, special files or links; full disks; two runs at once; signals; odd names."""

import csv
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import warnings
from io import BytesIO, TextIOWrapper
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import zarr

import biosfa
from biosfa import SFA, cli
from biosfa.estimators import Projection
from biosfa.experiments import chaotic
from biosfa.experiments.engine import ExperimentError, RunFolder
from biosfa.io.atomic import writing
from tests.conftest import posix, slow_mixture
from tests.experiments.test_chaotic import SMALL

pytestmark = posix
FORMATS = [".npy", ".npz", ".csv", ".tsv", ".parquet", ".h5", ".zarr"]


@pytest.fixture
def refused(command):
    """The one line of an error."""

    def run(*arguments):
        (line,) = command(*arguments, code=1).stderr.splitlines()
        assert line.startswith("biosfa: ")
        return line.removeprefix("biosfa: ")

    return run


@pytest.fixture(scope="module")
def X():
    return slow_mixture(600, times=(60.0, 20.0), n_noise=2, seed=1)[1]


@pytest.fixture
def place(X, tmp_path, monkeypatch):
    """A folder to work in, with a model and inputs of all kinds."""
    monkeypatch.chdir(tmp_path)
    SFA(2).fit(X).save("m")
    np.save("x.npy", X)
    Path("folder").mkdir()
    for name in ("a", "b"):
        np.save(f"folder/{name}.npy", X)
    zarr.save_array("store.zarr", X)
    zarr.save_group("group.zarr", a=X, b=X)
    return tmp_path


def content(folder):
    """All files, with what is in them."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_nothing_that_is_read_is_written_to(refused, place, X):
    Path("holding.zarr").mkdir()
    np.save("holding.zarr/x.npy", X)
    Path("link.npy").symlink_to("folder/a.npy")
    Path("linked").symlink_to("folder")
    Path("linked.zarr").symlink_to("store.zarr")
    Path("m.npy").write_bytes(Path("m").read_bytes())
    Path("m.png").write_bytes(Path("m").read_bytes())
    Path("lengths.txt").write_text("300 300")
    Path("out.checkpoint").symlink_to("x.npy")
    before = content(place)
    for arguments in (
        "transform m store.zarr --out store.zarr",
        "transform m store.zarr --out linked.zarr",
        "transform m linked.zarr --out store.zarr",
        "transform m group.zarr::a --out group.zarr",
        "transform m folder --out folder/a.npy",
        "transform m folder --out linked/b.npy",
        "transform m linked --out folder/b.npy",
        "transform m folder --out link.npy",
        "transform m link.npy --out folder/a.npy",
        "transform m x.npy folder --out folder/b.npy",
        "transform m.npy x.npy --out m.npy",
        "transform m x.npy --episodes lengths.txt --out lengths.txt",
        "fit folder -k 2 --out folder/a.npy",
        "fit link.npy -k 2 --out folder/a.npy",
        "fit x.npy -k 2 --overwrite --out out",
        "plot m x.npy --out x.npy",
        "plot m.png x.npy",
    ):
        assert "is an input" in refused(*arguments.split()), arguments
    for arguments in ("transform m store.zarr --out store.zarr/y.npy", "fit group.zarr::a -k 1 --out group.zarr/a/m"):
        assert "would be written into the input" in refused(*arguments.split())
    assert "holds the input" in refused("transform", "m", "holding.zarr/x.npy", "--out", "holding.zarr")
    assert content(place) == before


def test_only_zarr_arrays_are_replaced_by_zarr_arrays(command, refused, place):
    Path("mine.zarr").mkdir()
    Path("mine.zarr/thesis.tex").write_text("precious")
    Path("empty.zarr").mkdir()
    zarr.save_array("shared.zarr", np.zeros((5, 5)))
    Path("shared.zarr/thesis.tex").write_text("precious")
    Path("damaged.zarr").mkdir()
    Path("damaged.zarr/zarr.json").write_text("{")
    Path("folder.npy").mkdir()
    before = content(place)
    for name in ("mine.zarr", "empty.zarr", "group.zarr", "damaged.zarr"):
        assert f"{name} is a folder that is not a Zarr array" in refused("transform", "m", "x.npy", "--out", name)
    assert "shared.zarr is a folder that holds 'thesis.tex'" in refused(
        "transform", "m", "x.npy", "--out", "shared.zarr"
    )
    for arguments in (
        "transform m x.npy --out folder.npy",
        "fit x.npy -k 1 --out folder",
        "plot m x.npy --out folder.npy",
    ):
        assert "is a folder: give the name of a file" in refused(*arguments.split())
    assert content(place) == before
    zarr.save_array("old.zarr", np.zeros((5, 5)), zarr_format=2)
    Path("link.zarr").symlink_to("old.zarr")
    for name in ("store.zarr", "old.zarr", "link.zarr", "new.zarr"):
        command("transform", "m", "x.npy", "--out", name)
        assert zarr.open(name, mode="r").shape == (600, 2)
    assert Path("link.zarr").is_symlink()


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="special files")
def test_special_files_stay_what_they_are_and_streams_are_written_to(command, refused, place):
    os.mkfifo("fifo.npy")
    os.mkfifo("out.checkpoint")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.csv")
    for arguments in (
        "transform m x.npy --out fifo.npy",
        "fit x.npy -k 1 --out fifo.npy",
        "fit x.npy -k 1 --out out",
        "plot m x.npy --out fifo.npy",
    ):
        assert "is a FIFO: give the name of a file" in refused(*arguments.split())
    assert "socket.csv is a socket" in refused("transform", "m", "x.npy", "--out", "socket.csv")
    assert "is a device" in refused("transform", "m", "x.npy", "--out", "/dev/full")
    assert Path("fifo.npy").is_fifo()
    assert Path("socket.csv").is_socket()
    Path("out.checkpoint").unlink()
    Path("null.csv").symlink_to("/dev/null")
    Path("stdout").symlink_to("/dev/stdout")
    for name in ("/dev/null", "null.csv"):
        assert command("transform", "m", "x.npy", "--out", name).stdout == ""
        command("fit", "x.npy", "-k", 1, "--out", name)
    command("plot", "m", "x.npy", "--out", "/dev/null")
    by_dash = command("transform", "m", "x.npy", "--out", "-").stdout
    assert by_dash.startswith("slow0,slow1\n")
    for name in ("/dev/stdout", "stdout"):
        assert command("transform", "m", "x.npy", "--out", name).stdout == by_dash
    assert Path("null.csv").is_symlink()
    assert Path("stdout").is_symlink()
    assert not Path("/dev/null.checkpoint").exists()


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="there is no such name")
def test_a_model_and_a_picture_on_standard_output_have_nothing_beside_them(place, X, monkeypatch, capsysbinary):
    monkeypatch.setattr(cli, "Termination", lambda: None)
    for arguments in (["fit", "x.npy", "-k", "2"], ["plot", "m", "x.npy"]):
        monkeypatch.setattr(sys, "argv", ["biosfa", *arguments, "--out", "/dev/stdout"])
        with warnings.catch_warnings():
            cli.main()
        Path("piped").write_bytes(capsysbinary.readouterr().out)
        if arguments[0] == "fit":
            np.testing.assert_array_equal(biosfa.load("piped").components_, SFA(2).fit(X).components_)
        else:
            assert Path("piped").read_bytes().endswith(b"IEND\xaeB`\x82")


def test_links_and_permissions_stay(command, place):
    for name in ("y.csv", "y.npz", "y.h5", "fitted", "y.png"):
        Path(name).write_bytes(b"old")
        Path(name).chmod(0o600)
        link = f"link{Path(name).suffix}"
        Path(link).symlink_to(name)
        arguments = {"fitted": ["fit", "x.npy", "-k", 2], "y.png": ["plot", "m", "x.npy"]}
        command(*arguments.get(name, ["transform", "m", "x.npy"]), "--out", link)
        assert Path(link).is_symlink()
        assert Path(name).read_bytes() != b"old"
        assert Path(name).stat().st_mode & 0o777 == 0o600


WITHOUT_ROOM = """
import resource, signal, sys
from biosfa import cli
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then writing fails as on a full disk, with another number
for name in sys.argv[1:]:
    sys.argv[1:] = ["transform", "m", "long.npy", "--out", name]
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY))
    try:
        cli.main()
    except SystemExit as end:
        assert end.code == 1
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


def test_a_full_disk_is_one_line_and_leaves_what_was(command, place):
    np.save("long.npy", np.random.default_rng(0).standard_normal((20_000, 4)))
    names = [f"y{suffix}" for suffix in FORMATS]
    for name in names:
        command("transform", "m", "x.npy", "--out", name)
    before = content(place)
    done = subprocess.run([sys.executable, "-c", WITHOUT_ROOM, *names], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr  # HDF5 would crash at the end
    lines = done.stderr.splitlines()
    assert len(lines) == len(names), done.stderr
    for line, name in zip(lines, names, strict=True):
        assert line.startswith("biosfa: ")
        assert "File too large" in line
        assert line.endswith(name)
    assert content(place) == before


@pytest.mark.parametrize("suffix", FORMATS)
def test_sigterm_leaves_nothing_half_written(suffix, command, place, monkeypatch):
    features, ended = Projection.features, []

    def features_and_signal(self, chunk):
        if ended:
            signal.raise_signal(signal.SIGTERM)
        ended.append(None)
        return features(self, chunk)

    monkeypatch.setattr("biosfa.io._stream.CHUNK_ROWS", 100)
    monkeypatch.setattr("biosfa.io._stream.CHUNK_BYTES", 1)
    monkeypatch.setattr(Projection, "features", features_and_signal)
    monkeypatch.setattr(cli, "end_by", lambda number: sys.exit(128 + number))
    before = content(place)
    assert command("transform", "m", "x.npy", "--out", f"y{suffix}", code=143).stderr == "biosfa: stopped\n"
    assert content(place) == before
    assert not Path(f"y{suffix}").exists()


def test_a_second_run_is_told_and_does_no_harm(command, refused, place, monkeypatch):
    before = content(place)
    for suffix in (".csv", ".zarr"):
        with writing(Path(f"y{suffix}"), folder=True):
            assert f"another run is writing to y{suffix}" in refused("transform", "m", "x.npy", "--out", f"y{suffix}")
    with writing(Path("model")):
        Path("link").symlink_to("model")
        for arguments in ("fit x.npy -k 2 --out model", "fit x.npy -k 2 --out link", "resume model"):
            assert "another run is writing to" in refused(*arguments.split())
        assert "another run is writing to" in refused("stream", "-k", 1, "--model", "model")
    Path("link").unlink()
    assert content(place) == before


def test_runs_of_experiments_do_not_disturb_one_another(refused, tmp_path):
    out = tmp_path / "run"
    first = RunFolder(out)
    with first.alone():
        first.begin("chaotic", SMALL, resume=False)
        (out / "tasks").mkdir()
        half_written = [out / f".config.json.{os.getpid()}-1.tmp-biosfa", out / f"tasks/.a.{os.getpid()}-1.tmp-biosfa"]
        for path in half_written:
            path.write_bytes(b"half")
        with pytest.raises(ExperimentError, match=r"another run is writing to .*run"):
            chaotic.reproduce(SMALL, out)
        for arguments in ("reproduce chaotic", "sweep chaotic"):
            assert "another run is writing to" in refused(*arguments.split(), "--out", out)
        assert all(path.exists() for path in half_written)
    first.begin("chaotic", SMALL, resume=True)
    assert sorted(path.name for path in out.rglob("*")) == ["config.json", "tasks"]


def test_a_run_that_was_killed_before_its_first_file_does_not_block_the_next(tmp_path):
    (tmp_path / ".lock-biosfa").touch()
    folder = RunFolder(tmp_path)
    with folder.alone():
        folder.begin("chaotic", SMALL, resume=False)
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


ESCAPES = ["\x1b[31mred", "\x1b]0;title\x07", "\x9b2J", "back\x08\x7f", "turned\u202e", "b$\\foo$", "steady\x1b"]


def test_names_do_not_act_on_terminals(command, place, X):
    columns = np.column_stack([X, X[:, :2] ** 2, np.ones(len(X))])
    pd.DataFrame(columns, columns=ESCAPES).to_csv("odd\x1b[2J.csv", index=False)
    printed = [
        command("fit", "odd\x1b[2J.csv", "-k", 2, "--out", "net\x1b", "--solver", "online"),
        command("fit", "odd\x1b[2J.csv", "-k", 2, "--out", "exact\x1b"),
        command("inspect", "exact\x1b"),
        command("inspect", "exact\x1b", "--json"),
        command("plot", "exact\x1b", "odd\x1b[2J.csv"),
        command("fit", "odd\x1b[2J.csv", "--columns", "x", "-k", 2, "--out", "out", code=1),
        command("fit", "odd\x1b[2J.csv", "--episodes", "\x1b", "-k", 2, "--out", "out", code=1),
        command("fit", "\x1bgone.csv", "-k", 2, "--out", "out", code=1),
        command("inspect", "--\x1b", code=2),
    ]
    text = "".join(each.stdout + each.stderr for each in printed).replace("\n", "")
    assert text.isprintable()
    assert "\\x1b[31mred" in text
    assert printed[5].stderr.count("\n") == 1


def test_names_do_not_act_in_results(command, place, X):
    """Pages, tables and lines of JSON are read on terminals, in browsers and in spreadsheets."""
    names = ["=1+cmd|' /C calc'!A0", "a\x9b31mRED\x7f", "c\u202eevil\u2066", "\x1b]0;title\x07<script>"]
    fault = np.where(np.arange(len(X))[:, None] < 300, X, X + np.array([1e6, 1e3, 1e3, 1e3]))
    pd.DataFrame(X, columns=names).to_csv("\u202e\x9b.csv", index=False)
    pd.DataFrame(fault, columns=names).to_csv("fault.csv", index=False)
    command("monitor", "fit", "\u202e\x9b.csv", "--out", "m\x9b")
    command("monitor", "check", "m\x9b", "fault.csv", "--normal", "\u202e\x9b.csv", "--out", "out", code=3)
    command("choose", "\u202e\x9b.csv", "--lags", "1,2", "--out", "out")
    lines = command("monitor", "check", "m\x9b", "-", input=Path("fault.csv").read_text(), code=3).stdout
    described = command("inspect", "m\x9b", "--json").stdout
    written = {name: Path("out", name).read_text() for name in ("report.html", "alarms.csv", "choice.html")}
    for name, text in {**written, "lines": lines, "described": described}.items():
        assert text.replace("\n", "").replace("\N{NO-BREAK SPACE}", "").isprintable(), name
        assert "RED" in text or name == "choice.html", name
    assert (lines + described).isascii()
    alarms = [json.loads(line) for line in lines.splitlines()]
    assert set(alarms[-1]["columns"]) <= set(names)
    assert names[0] in alarms[-1]["columns"]
    rows = list(csv.DictReader(written["alarms.csv"].splitlines()))
    assert any(row["columns"].startswith(f"'{names[0]}, ") for row in rows)
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_no_encoding_of_the_output_ends_a_command(command, place, X, monkeypatch, encoding):
    frame = pd.DataFrame(X, columns=["t°", "δ", "c", "d"])
    frame.to_csv("x.csv", index=False)
    command("monitor", "fit", "x.csv", "--out", "monitor")
    found = {}
    for name in ("utf-8", encoding):
        with monkeypatch.context() as patch:
            outputs = [TextIOWrapper(BytesIO(), encoding=name) for _ in range(2)]
            patch.setattr(sys, "stdout", outputs[0])
            patch.setattr(sys, "stderr", outputs[1])
            lines = (100 * frame).to_csv(index=False)
            command("monitor", "check", "monitor", "-", input=lines, code=3)
            command("monitor", "check", "monitor", "x.csv", "--persistence", "1/1", "--out", "out", code=3)
            command("fit", "x.csv", "-k", 2, "--out", "fitted")
            command("inspect", "fitted")
            command("monitor", "fit", "--help")
            command("fit", "x.csv", "--columns", "ε", "-k", 2, "--out", "none", code=1)
            for output in outputs:
                output.flush()
            found[name] = "".join(output.buffer.getvalue().decode(name) for output in outputs)
    plain, limited = (text.splitlines() for text in found.values())
    assert "slowness δ" in found["utf-8"]
    assert "slowness \\u03b4" in found[encoding]
    assert len(plain) == len(limited)


CLOSED = 'exec "$0" -m biosfa "$@" '


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_inputs_and_outputs_are_empty(command, place, closed):
    def run(*arguments):
        return subprocess.run(["sh", "-c", CLOSED + closed, sys.executable, *arguments], capture_output=True, text=True)

    command("fit", "x.npy", "-k", 2, "--out", "reference")
    done = run("fit", "x.npy", "-k", "2", "--out", "fitted")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert Path("fitted").read_bytes() == Path("reference").read_bytes()  # nothing was printed into it
    if closed == "<&-":
        read = run("fit", "-", "-k", "2", "--out", "none")
        assert (read.returncode, read.stderr) == (1, "biosfa: standard input has no rows\n")
    if closed == "2>&-":
        assert run("inspect", "nothing").stdout == ""  # a message does not go elsewhere


def test_pictures_take_names_for_names(command, place, X):
    names = ["b$\\foo$", "$", "a_{", "\\frac"]
    pd.DataFrame(X, columns=names).to_csv("math.csv", index=False)
    command("fit", "math.csv", "-k", 2, "--out", "model")
    assert "picture: p.svg" in command("plot", "model", "math.csv", "--out", "p.svg").stdout
    assert Path("p.svg").read_text().endswith("</svg>\n")
