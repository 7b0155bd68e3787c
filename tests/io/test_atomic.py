"""Files that are replaced as a whole: their permissions, links to them, and what killed processes leave."""

import os
import stat
from pathlib import Path

import pytest

from biosfa.exceptions import OutputError
from biosfa.io import atomic
from biosfa.io.atomic import litter, replace_file, replacing, writing
from tests.conftest import posix

DEAD = 2**30  # larger than the number of any process


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def write(path, content=b"new"):
    replace_file(path, lambda file: file.write(content))


@posix
@pytest.mark.parametrize("kept", [0o600, 0o640, 0o444, 0o666])
def test_permissions_of_a_file_stay_and_nobody_else_reads_the_new_one_before(kept, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(kept)
    with replacing(path) as temporary:
        assert mode(temporary) == 0o600
        temporary.write_bytes(b"new")
    assert (path.read_bytes(), mode(path)) == (b"new", kept)


@posix
def test_new_files_and_folders_have_the_permissions_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "model")
        with replacing(tmp_path / "store", folder=True):
            pass
    finally:
        os.umask(before)
    assert (mode(tmp_path / "model"), mode(tmp_path / "store")) == (0o640, 0o750)


@posix
def test_links_are_written_through(tmp_path):
    (tmp_path / "there").mkdir()
    for name in ("there/old", "there/new"):
        (tmp_path / "link").symlink_to(name)
        (tmp_path / "second").symlink_to("link")
        if name.endswith("old"):
            (tmp_path / name).write_bytes(b"old")
        write(tmp_path / "second")
        assert (tmp_path / "second").is_symlink()
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / name).read_bytes() == b"new"
        (tmp_path / "link").unlink()
        (tmp_path / "second").unlink()
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["new", "old"]
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        write(tmp_path / "loop")


@posix
def test_special_files_are_refused_and_streams_are_written_to(tmp_path, capfdbinary):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OutputError, match="fifo is a FIFO: give the name of a file"):
        write(tmp_path / "fifo")
    reading, writing_end = os.pipe()
    with pytest.raises(OutputError, match="is a FIFO"):  # as shells call it in --out >(gzip)
        write(Path(f"/dev/fd/{writing_end}"))
    os.close(reading)
    os.close(writing_end)
    with pytest.raises(OutputError, match="is a device"):
        write(Path("/dev/zero"))
    for name in ("null", "stdout"):
        (tmp_path / name).symlink_to(f"/dev/{name}")
        write(tmp_path / name)
        write(tmp_path / name, b"er")
        assert (tmp_path / name).is_symlink()
    assert capfdbinary.readouterr().out == b"newer"
    assert Path("/dev/null").is_char_device()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fifo", "null", "stdout"]


@posix
def test_what_killed_processes_left_is_removed_and_what_others_write_is_not(tmp_path):
    left = [f".m.{DEAD}-1.tmp-biosfa", f".m.{DEAD}-1.tmp-biosfa.npy", f".m.{os.getpid()}-1.tmp-biosfa"]
    stays = [".m.1-1.tmp-biosfa", f".m2.{DEAD}-1.tmp-biosfa", ".m.tmp", "m"]
    for name in [*left, *stays]:
        (tmp_path / name).write_bytes(b"half")
    assert {path.name for path in litter(tmp_path)} == {*left, f".m2.{DEAD}-1.tmp-biosfa"}
    with writing(tmp_path / "m"):
        assert {path.name for path in tmp_path.iterdir()} == {*stays, ".m.lock-biosfa"}
    assert {path.name for path in tmp_path.iterdir()} == set(stays)


def store(path, content):
    path.mkdir()
    (path / "zarr.json").write_text(content)


def test_a_folder_stays_if_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    path, real = tmp_path / "store", os.replace
    store(path, "old")

    def fail(source, target):
        if target == path and "old-biosfa" not in source.name:
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(atomic.os, "replace", fail)
    with pytest.raises(OSError, match=r"No space left on device: .*store"), replacing(path, folder=True) as temporary:
        (temporary / "zarr.json").write_text("new")
    assert (path / "zarr.json").read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_comes_back_that_a_killed_process_had_put_aside(tmp_path):
    path = tmp_path / "store"
    store(tmp_path / f".store.{DEAD}-1.old-biosfa", "old")
    store(tmp_path / f".store.{DEAD}-1.tmp-biosfa", "half")
    with writing(path, folder=True):
        assert (path / "zarr.json").read_text() == "old"
    store(tmp_path / f".store.{DEAD}-1.old-biosfa", "older")
    with writing(path, folder=True):
        assert (path / "zarr.json").read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
