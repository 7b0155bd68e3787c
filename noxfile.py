"""Runs the checks of the Makefile in fresh environments, for every supported Python: ``nox``, or ``nox -s test-3.13``.

The commands are those of the Makefile. This file only says which extras they need. Pythons that are not installed are
skipped; what is independent of the version runs with the Python that nox has.
"""

import re
import shlex
from pathlib import Path

import nox

ROOT = Path(__file__).parent
PYTHONS = nox.project.python_versions(nox.project.load_toml(ROOT / "pyproject.toml"))

nox.options.sessions = ["lint", "test", "docs", "build"]


def run(session: nox.Session, target: str, extra: str) -> None:
    """Install the package with an extra, then run the commands of a target of the Makefile."""
    session.install("--editable", f".[{extra}]")
    for command in commands(target):
        session.run(*command, *(session.posargs if "pytest" in command else []))


def commands(target: str) -> list[list[str]]:
    """The commands of a target, except for those that the Makefile marks with @ because they check nothing."""
    recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert recipe, f"the Makefile has no target {target}"
    lines = [line.strip() for line in recipe[1].splitlines()]
    return [shlex.split(line.replace("$(BIN)/", "")) for line in lines if not line.startswith("@")]


@nox.session
def lint(session: nox.Session) -> None:
    """Run ruff, mypy and import-linter."""
    run(session, "lint", "test")


@nox.session(python=PYTHONS)
def test(session: nox.Session) -> None:
    """Run the tests; words after ``--`` go to pytest."""
    run(session, "test", "test")


@nox.session(python=PYTHONS[0])
def oldest(session: nox.Session) -> None:
    """Run the tests with the oldest Python, and with the oldest versions of all libraries that pyproject.toml allows.

    What these libraries need themselves is new, so that they use much that is deprecated by now.
    """
    session.install("uv")
    session.run("uv", "pip", "install", "--resolution", "lowest-direct", "--editable", ".[test]")
    session.run("uv", "pip", "freeze")
    ignored = [f"-Wignore::{category}" for category in ("DeprecationWarning", "PendingDeprecationWarning")]
    for command in commands("test"):
        session.run(*command, *ignored, *session.posargs)


@nox.session
def prereleases(session: nox.Session) -> None:
    """Run the tests with the newest NumPy and Numba, which may not have been released yet."""
    session.install("--editable", ".[test]")
    session.install("--upgrade", "--pre", "llvmlite", "numba", "numpy")
    session.run("python", "-m", "pip", "freeze")
    for command in commands("test"):
        session.run(*command, *session.posargs)


@nox.session
def integrations(session: nox.Session) -> None:
    """Run the tests of the adapters, with the libraries that they are for."""
    run(session, "test-integrations", "hosts")


@nox.session
def coverage(session: nox.Session) -> None:
    """Run the tests, and report which lines and branches they reach."""
    run(session, "coverage", "test")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site; warnings are errors."""
    run(session, "docs", "docs")


@nox.session
def build(session: nox.Session) -> None:
    """Build wheel and sdist, and try each in a fresh environment."""
    run(session, "build", "build")
