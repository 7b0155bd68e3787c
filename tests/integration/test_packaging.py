"""What the package says of itself: dependencies, versions and supported Pythons agree with the code."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import biosfa

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOR_DEVELOPERS = ("test", "hosts", "docs", "build")  # extras that users of the package do not install
# Modules that the tests may run without, so that the distribution they come from cannot be asked for.
OPTIONAL = {"deeptime": "deeptime", "skimage": "scikit-image", "sksfa": "sklearn-sfa"}


def imported_modules():
    """Where each module of others is imported, also within functions and by ``import_module`` with a plain name."""
    for file in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
                names = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
            else:
                continue
            for name in names:
                yield name.partition(".")[0], f"{file.relative_to(ROOT)}:{node.lineno}"


def normalised(requirement):
    """The name of a distribution, spelled as package indexes do."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


def test_every_import_is_a_declared_dependency():
    extras = [lines for name, lines in PROJECT["optional-dependencies"].items() if name not in FOR_DEVELOPERS]
    declared = {normalised(line) for line in chain(PROJECT["dependencies"], *extras)}
    distributions = packages_distributions()
    undeclared = []
    for module, place in imported_modules():
        if module in sys.stdlib_module_names or module in ("biosfa", "_typeshed"):  # the second is for type checkers
            continue
        names = [OPTIONAL[module]] if module in OPTIONAL else distributions.get(module, [module])
        if not declared & {normalised(name) for name in names}:
            undeclared.append(f"{place} imports {module}")
    assert undeclared == []


def test_the_versions_that_the_code_asks_for_are_those_of_the_extras():
    asked = []
    for file in sorted((ROOT / "src").rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        constants = {ast.unparse(node.targets[0]): node.value for node in tree.body if isinstance(node, ast.Assign)}
        for node in ast.walk(tree):
            least = [word.value for word in getattr(node, "keywords", []) if word.arg == "least"]
            if least and ast.unparse(node.func) == "imported":
                module, extra = (argument.value for argument in node.args)
                asked.append((extra, module.partition(".")[0], constants.get(ast.unparse(least[0]), least[0]).value))
    assert asked
    for extra, library, least in asked:
        assert f"{library}>={least}" in PROJECT["optional-dependencies"][extra]


def test_the_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"version: {biosfa.__version__}\n" in citation
    released = re.search(rf"^## \[{re.escape(biosfa.__version__)}\] - (\d{{4}}-\d\d-\d\d)$", changelog, re.MULTILINE)
    assert released, f"CHANGELOG.md has no section of {biosfa.__version__}"
    assert f"date-released: {released[1]}\n" in citation


def test_the_workflow_tests_the_pythons_that_are_declared():
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    declared = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert PROJECT["requires-python"] == f">={declared[0]}"
    assert re.findall(r'"(3\.\d+)"', re.search(r"python: \[(.*)\]", workflow)[1]) == declared
