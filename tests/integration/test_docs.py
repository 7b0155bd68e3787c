"""Every example of the README and of the documentation runs, and prints what it is said to print."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from biosfa.registry import EXPANSIONS, MODELS, SOLVERS, SUFFIXES
from tests.conftest import posix

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
HOSTS = ["pynapple", *(file.stem for file in (ROOT / "src" / "biosfa" / "integrations").glob("[a-z]*.py"))]
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
    names, absent = {}, set()
    for kind, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            try:
                exec(compile(block, page.name, "exec"), names)
            except ImportError as error:
                if error.name not in HOSTS:
                    raise
                absent.add(error.name)
        else:
            for command, said in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
                done = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True)
                assert_said(done.stdout + done.stderr, said, command)
    if absent:
        pytest.skip(f"not installed: {', '.join(sorted(absent))}")


def assert_said(found, said, command):
    """Compare what was printed with what the page says; … stands for anything."""
    pattern = ".*".join(re.escape(part) for part in said.split("…"))
    assert re.fullmatch(pattern, found, re.DOTALL), f"{command} printed:\n{found}\ninstead of:\n{said}"


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("reference/command.md", [*SUFFIXES, *(f"--solver {name}" for name in SOLVERS), *EXPANSIONS]),
        ("start/which-learner.md", [choice.name for choice in SOLVERS.values()]),
        ("reference/file-format.md", MODELS),
    ],
)
def test_pages_name_what_there_is_to_choose_from(page, words):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert [word for word in words if word not in text] == []


def test_numbers_of_pages_are_those_of_their_result_files():
    numbers = runpy.run_path(str(ROOT / "benchmarks" / "fill_numbers.py"))
    for page in numbers["pages"]():
        text = page.read_text(encoding="utf-8")
        assert text == numbers["filled"](text), f"{page} and its result files disagree: run make numbers"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_logs_that_grow_are_read_with_their_header(page):
    """``tail -f`` begins with the last ten lines, without the names of the columns."""
    assert "tail -f" not in page.read_text(encoding="utf-8")


def test_tests_that_pages_name_exist():
    defined = set()
    for file in (ROOT / "tests").rglob("test_*.py"):
        defined.update(re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE))
    for page in PAGES:
        named = re.findall(r"`(test_\w+)`", page.read_text(encoding="utf-8"))
        assert [name for name in named if name not in defined] == [], page


LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        if target.startswith("http"):
            continue
        linked = page.parent / target
        assert linked.exists(), f"{page} links to {target}"
        if anchor and linked.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
            assert anchor[1:] in slugs, f"{page} links to {target}{anchor}"
