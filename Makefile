# Everything runs in .venv, which these commands create; all they need is Python (3.11 or later) and make. Only
# test-integrations has an environment of its own, because other libraries limit the versions of what they share with us.
PYTHON ?= python3
VENV := .venv
HOSTS := .venv-integrations
BIN := $(VENV)/bin

.PHONY: demo test test-integrations lint coverage docs numbers measure build clean
.PHONY: bench bench-health bench-convergence bench-monitoring bench-choosing bench-chance bench-exporting bench-scaling bench-recordings bench-walks bench-crashes fuzz soak

demo: $(VENV)/.installed
	$(BIN)/biosfa reproduce chaotic --preset paper --out results/chaotic

test: $(VENV)/.installed-test lint
	$(BIN)/python -m pytest

test-integrations: BIN := $(HOSTS)/bin
test-integrations: $(HOSTS)/.installed
	$(BIN)/python -m pytest tests/integrations src/biosfa/integrations "tests/integration/test_docs.py::test_the_examples_of_a_page_run_one_after_the_other[ecosystem.md]" "tests/integration/test_docs.py::test_the_examples_of_a_page_run_one_after_the_other[exporting.md]"

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

coverage: $(VENV)/.installed-test
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage html --quiet
	$(BIN)/python -m coverage report
	@echo "report: build/coverage/index.html"

docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -b html docs docs/_build/html
	@echo "site: docs/_build/html/index.html"

numbers: $(VENV)/.installed
	$(BIN)/python benchmarks/fill_numbers.py

# Without TABLES, this lists the tables: make measure TABLES="rat-units speed"
measure: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/measure.py $(TABLES)

build: $(VENV)/.installed-build
	@rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tests/integration/try_distributions.py dist

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/bench.py

bench-convergence: $(VENV)/.installed
	$(BIN)/python benchmarks/convergence.py

bench-health: $(VENV)/.installed
	$(BIN)/python benchmarks/health.py

bench-monitoring: $(VENV)/.installed
	$(BIN)/python benchmarks/monitoring.py $(OPTIONS)

bench-choosing: $(VENV)/.installed
	$(BIN)/python benchmarks/choosing.py

bench-chance: $(VENV)/.installed
	$(BIN)/python benchmarks/chance.py $(OPTIONS)

bench-scaling: $(VENV)/.installed-test
	$(BIN)/python benchmarks/scaling.py $(OPTIONS)

bench-exporting: $(VENV)/.installed-onnx
	$(BIN)/python benchmarks/exporting.py

bench-recordings: $(VENV)/.installed
	$(BIN)/python benchmarks/recordings.py

bench-walks: $(VENV)/.installed-ratinabox
	$(BIN)/python benchmarks/walks.py

# These take OPTIONS, as in: make fuzz OPTIONS="--minutes 5".
bench-crashes: $(VENV)/.installed-test
	$(BIN)/python benchmarks/crashes.py $(OPTIONS)

fuzz: $(VENV)/.installed-test
	$(BIN)/python -m tests.fuzzing $(OPTIONS)

soak: $(VENV)/.installed
	$(BIN)/python benchmarks/soak.py $(OPTIONS)

clean:
	rm -rf $(VENV) $(HOSTS) .nox .coverage* build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find docs -name generated -type d -prune -exec rm -rf {} +
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.installed-%: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	touch $@

$(HOSTS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(HOSTS)
	$(HOSTS)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[hosts]"
	touch $@
