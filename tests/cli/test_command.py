"""The command as its users meet it: wrong words, help, and Ctrl-C."""

import signal
import subprocess
import sys
import time

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


def test_a_wrong_choice_is_named_with_the_choices_and_nothing_else(command):
    said = command("export", "model", "--out", "x.onnx", "--dtype", "int8", code=2).stderr
    assert said.startswith("biosfa: Invalid value for '--dtype': 'int8' is not one of 'float32', 'float64'")
    assert said.endswith("(see biosfa export --help)\n")
