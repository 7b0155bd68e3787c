"""The rooms of the package: what is private stays private, and what is public can be reached."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import biosfa

SOURCE = Path(biosfa.__file__).parent
ROOT = Path(__file__).parents[2]


def room_of(parts):
    """The room of a module: a package at the top, or one of the experiments."""
    return parts[:2] if parts[0] == "experiments" else parts[:1]


def private_names_of_other_rooms():
    for file in SOURCE.rglob("*.py"):
        own = room_of(file.relative_to(SOURCE).with_suffix("").parts)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("biosfa."):
                parts = tuple(node.module.split(".")[1:])
                names = [*parts, *(alias.name for alias in node.names)]
                if room_of(parts) != own and any(name.startswith("_") for name in names):
                    yield f"{file.relative_to(SOURCE)}:{node.lineno} imports from {node.module}"


def test_no_module_takes_a_private_name_of_another_room():
    assert list(private_names_of_other_rooms()) == []


def test_the_table_of_rooms_is_the_import_contract():
    page = (ROOT / "docs" / "inside" / "architecture.md").read_text(encoding="utf-8")
    rows = page.split("| room | contents |\n|---|---|\n")[1].split("\n\n")[0].splitlines()
    rooms = [set(re.findall(r"`(\w+)(?:/|\.py)`", row)) for row in rows]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    assert rooms == [set(layer.split(" | ")) for layer in layers]


def test_every_public_name_is_reached_from_the_package():
    for name in biosfa.__all__:
        assert getattr(biosfa, name) is not None
    assert set(dir(biosfa)) <= set(biosfa.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = biosfa.nonsense


@pytest.mark.parametrize(
    "package", sorted(".".join(file.parent.relative_to(SOURCE.parent).parts) for file in SOURCE.rglob("*/__init__.py"))
)
def test_a_package_has_what_it_says_it_exports(package):
    module = importlib.import_module(package)
    for name in getattr(module, "__all__", []):
        assert hasattr(module, name), name


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, biosfa; print(*[name for name in ('numpy', 'numba', 'sklearn') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
