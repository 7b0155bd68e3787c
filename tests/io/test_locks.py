"""Locks that end with their process."""

import signal
import subprocess
import sys

import pytest

from biosfa.exceptions import OutputError
from biosfa.io import locks
from biosfa.io.locks import locked
from tests.conftest import posix

HOLD = """
import runpy, sys
from pathlib import Path
with runpy.run_path(sys.argv[1])["locked"](Path(sys.argv[2]), Path("out")):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_lock_is_held_by_one_and_leaves_nothing(tmp_path):
    file = tmp_path / "lock"
    with locked(file, tmp_path / "out"):
        with pytest.raises(OutputError, match=r"another run is writing to .*out"), locked(file, tmp_path / "out"):
            pass
        assert file.exists()  # a refused one removes nothing
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyError), locked(file, file):
        raise KeyError
    with locked(file, file):
        pass


@posix
def test_a_killed_process_holds_nothing(tmp_path):
    file = tmp_path / "lock"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, locks.__file__, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    with pytest.raises(OutputError, match="another run"), locked(file, file):
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert file.exists()
    with locked(file, file):
        pass
    assert not file.exists()


def test_a_lock_whose_file_went_meanwhile_is_taken_on_the_new_file(tmp_path, monkeypatch):
    """The holder before us removes the file after we have opened it, and before we lock it."""
    file, lock, opened = tmp_path / "lock", locks._try_to_lock, []

    def remove_first(descriptor):
        if not opened:
            file.unlink()
        opened.append(descriptor)
        lock(descriptor)

    monkeypatch.setattr(locks, "_try_to_lock", remove_first)
    with locked(file, file):
        assert len(opened) == 2
        assert file.exists()


def test_file_systems_without_locks_are_used_without(tmp_path, monkeypatch):
    def refuse(descriptor):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(locks, "_try_to_lock", refuse)
    with locked(tmp_path / "lock", tmp_path / "out"):
        pass
    assert list(tmp_path.iterdir()) == []


@posix
def test_a_lock_is_not_made_through_a_link(tmp_path):
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="out"), locked(tmp_path / "lock", tmp_path / "out"):
        pass
    assert not (tmp_path / "elsewhere").exists()
