"""A small, fixed sample of the cases that ``make fuzz`` runs."""

import os
import re
import subprocess
import sys

import pytest

SAMPLE = 160


@pytest.mark.skipif(not hasattr(os, "fork"), reason="cases run in forked processes")
def test_a_sample_of_odd_files_is_read_or_refused_in_one_line(tmp_path):
    command = [sys.executable, "-m", "tests.fuzzing", "--cases", str(SAMPLE), "--jobs", "2", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (read, refused, defects) = re.search(r"^all +(\d+) +(\d+) +(\d+)$", done.stdout, re.MULTILINE).groups()
    assert (int(read) + int(refused), int(defects)) == (SAMPLE, 0)
    assert int(read) > 20  # or they are too odd to try much
