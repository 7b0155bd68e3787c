"""Every example of the README and of the documentation runs, and prints what it is said to print."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from biosfa.registry import EXPANSIONS, MODELS, SOLVERS, SUFFIXES
from tests.conftest import posix

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"```(python|console)\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """One in which the command is found, and prints without colours."""
    folder = tmp_path_factory.mktemp("bin")
    command = folder / "biosfa"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m biosfa "$@"\n')
    command.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "NO_COLOR": "1"}


@posix
@pytest.mark.parametrize(
    "page", [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))], ids=lambda page: page.name
)
def test_the_examples_of_a_page_run_one_after_the_other(page, environment, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for kind, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(block, page.name, "exec"), names)
        else:
            for command, said in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
                done = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True)
                assert_said(done.stdout + done.stderr, said, command)


def assert_said(found, said, command):
    """Compare what was printed with what the page says; … stands for anything."""
    pattern = ".*".join(re.escape(part) for part in said.split("…"))
    assert re.fullmatch(pattern, found, re.DOTALL), f"{command} printed:\n{found}\ninstead of:\n{said}"


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("command.md", [*SUFFIXES, *(f"--solver {name}" for name in SOLVERS), *EXPANSIONS]),
        ("choosing.md", [choice.name for choice in SOLVERS.values()]),
        ("file-format.md", MODELS),
    ],
)
def test_pages_name_what_there_is_to_choose_from(page, words):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert [word for word in words if word not in text] == []
