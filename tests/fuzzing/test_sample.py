"""Small, fixed samples of the cases that ``make fuzz`` runs."""

import os
import re
import subprocess
import sys

import pytest

SAMPLE = 160
ROADS = 150  # about 18 of them are configurations that take every road
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="cases run in forked processes")


def counts_of(folder, *options):
    """How many cases were read and refused, and how many have a defect."""
    command = [sys.executable, "-m", "tests.fuzzing", *options, "--jobs", "2", "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return map(int, re.search(r"^all +(\d+) +(\d+) +(\d+) .*$", done.stdout, re.MULTILINE).groups())


def test_a_sample_of_odd_files_is_read_or_refused_in_one_line(tmp_path):
    read, refused, defects = counts_of(tmp_path, "--cases", str(SAMPLE))
    assert (read + refused, defects) == (SAMPLE, 0)
    assert read > 20  # or they are too odd to try much


def test_a_sample_of_models_is_the_same_by_every_road(tmp_path):
    read, _, defects = counts_of(tmp_path, "--cases", str(ROADS), "--only", "roads")
    assert read > 8
    assert defects == 0
