"""The command as its users meet it: wrong words, help, and Ctrl-C."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.conftest import posix


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "chaotic", "--preset", "huge"], "'huge'"),
        (["reproduce", "chaotic", "--variant", "mine"], "'mine'"),
        (["reproduce", "chaotic", "--speed"], "No such option"),
        pytest.param(["reproduce", "chaotic", "--out", "/proc/nowhere"], "cannot write to /proc/nowhere", marks=posix),
        (["repoduce"], "Did you mean 'reproduce'?"),
        (["fti"], "Did you mean 'fit'?"),
        (["xyzzy"], "No such command"),
    ],
)
def test_wrong_words_are_one_clear_line(command, arguments, message):
    finished = command(*arguments, code=1 if "--out" in arguments else 2)
    assert message in finished.stderr
    assert len(finished.stderr.strip().splitlines()) == 1


def test_help_names_the_experiments(command):
    assert "chaotic" in command("reproduce", "--help").stdout
    assert command("--version").stdout.startswith("biosfa ")


@posix
def test_interrupted_it_says_how_to_go_on(tmp_path):
    arguments = ["reproduce", "chaotic", "--preset", "quick", "--jobs", "1", "--out", str(tmp_path / "run")]
    code = "from biosfa.cli import main; main()"
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while process.poll() is None and not list(tmp_path.glob("run/tasks/*.npz")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    message = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert message.strip().endswith("stopped; to resume, run the same command with --resume")
    assert len(message.strip().splitlines()) == 1


INTERRUPTED_IMPORT = """
import signal, sys

class Interruption:
    "Raises the signal of Ctrl-C when a module is imported, with or without an ImportError in its place."

    def find_spec(self, name, *_):
        if name == MODULE:
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                if WAY == "as it is":
                    raise
                raise ImportError("this is what compiled modules make of it") from None

sys.meta_path.insert(0, Interruption())
from biosfa.__main__ import run
sys.argv = ["biosfa", "fit", "x.npy", "-k", "1", "--out", "model"]
run()
"""


@posix
@pytest.mark.parametrize(
    ("module", "way", "code", "said"),
    [
        ("typer", "as it is", -signal.SIGINT, ""),  # before the command begins
        ("scipy.linalg", "as it is", 130, "biosfa: stopped; to resume, run biosfa resume model\n"),
        ("scipy.linalg", "as an error", 130, "biosfa: stopped; to resume, run biosfa resume model\n"),
    ],
)
def test_ctrl_c_during_imports_is_one_line(module, way, code, said, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((100, 2)).cumsum(axis=0))
    program = INTERRUPTED_IMPORT.replace("MODULE", repr(module)).replace("WAY", repr(way))
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (code, said)


def test_a_program_in_the_background_does_not_listen_to_ctrl_c(command):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    command("--version")
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_a_wrong_choice_is_named_with_the_choices_and_nothing_else(command):
    said = command("export", "model", "--out", "x.onnx", "--dtype", "int8", code=2).stderr
    assert said.startswith("biosfa: Invalid value for '--dtype': 'int8' is not one of 'float32', 'float64'")
    assert said.endswith("(see biosfa export --help)\n")
