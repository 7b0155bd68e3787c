"""Signals, a measure, a mark and the command, which several tests share."""

import os
import signal
import sys
import warnings
from contextlib import contextmanager, suppress
from threading import Thread
from typing import NamedTuple

# One process per core runs the tests. More threads would only wait for one another, and sums depend on their number.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

from biosfa import cli, datasets

settings.register_profile("default", deadline=None, print_blob=True)
settings.load_profile("default")

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals, links and special files")


def slow_mixture(n_samples, times=(200.0, 90.0, 40.0), n_noise=7, seed=0):
    """(sources, signal): sources with these correlation times, and white noise, under a random rotation."""
    made = datasets.slow_mixture(n_samples, times=times, n_noise=n_noise, random_state=seed)
    return made.sources, made.signal


def ill_conditioned(n_samples, condition, seed=0):
    """Three slow sources among ten dimensions, and a mixture whose covariance has this condition number."""
    sources, X = slow_mixture(n_samples, seed=seed)
    deviations = np.geomspace(1, condition**-0.5, X.shape[1])
    mixing = np.linalg.qr(np.random.default_rng(seed + 1).standard_normal((X.shape[1],) * 2))[0]
    return sources, (X * deviations) @ mixing


def deviation(ours, theirs):
    """Largest difference of two arrays, relative to the largest entry."""
    return np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-300)


@pytest.fixture(scope="session")
def mixture():
    """(sources, signal) of 400,000 samples: three slow sources among ten dimensions."""
    return slow_mixture(400_000)


class Printed(NamedTuple):
    """What a command has printed, under the names that a process has for it."""

    stdout: str
    stderr: str


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs the command here, without a new process and its imports; gives what it printed, on both outputs."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def run(*arguments, code=0, cwd=None, input=""):
        found = 0
        with monkeypatch.context() as patch, warnings.catch_warnings(), standard_input(input) as patched:
            patch.setattr(sys, "argv", ["biosfa", *map(str, arguments)])
            patch.setattr(sys, "stdin", patched)
            if cwd is not None:
                patch.chdir(cwd)
            warnings.simplefilter("default")
            try:
                cli.main()
            except SystemExit as end:
                found = end.code
        printed = Printed(*capsys.readouterr())
        assert found == code, printed.stderr
        return printed

    yield run
    for number, handler in before.items():
        signal.signal(number, handler)


@contextmanager
def standard_input(text):
    """A standard input from a pipe, through which a text comes."""
    reading, writing = os.pipe()

    def write():
        with suppress(BrokenPipeError), open(writing, "w") as file:
            file.write(text)

    writer = Thread(target=write)
    writer.start()
    with open(reading) as file:
        yield file
    writer.join()
