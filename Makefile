# Every target sets up what it needs: a virtual environment in .venv with the package and its extras.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: help demo test test-slow lint format docs docs-check notebooks real-data bench bench-gpu mutants clean

help: ## show the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: .venv/demo ## fit the Palmer penguins in closed form and with NUTS, and compare
	$(BIN)/bayesnb compare penguins --target species --drop year --out demo

test: .venv/test ## run the tests (three minutes on two cores, two when run again)
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile -m "not slow"

test-slow: .venv/test ## run the long statistical suites too
	$(BIN)/python -m pytest --numprocesses 2

lint: .venv/test ## check style, types and the layers of the package
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/test ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: .venv/docs ## build the site into docs/_build/html; a warning is an error
	rm -rf docs/_build docs/api/generated
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --doctree-dir docs/_build/doctrees docs docs/_build/html

docs-check: docs ## open every page of the site in Chromium and look for what is wrong
	$(BIN)/python docs/check_site.py docs/_build/html

notebooks: .venv/notebooks ## run the notebooks and write their outputs anew
	$(BIN)/python tools/execute_notebooks.py

clean: ## remove the virtual environment and what the targets wrote
	rm -rf .venv demo build dist docs/_build docs/api/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis .jax_cache .mutants

.venv/base: .ci/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 12) and "bayesnb needs Python 3.12 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv
	$(PIP) install --upgrade pip
	@touch $@

.venv/demo: .venv/base pyproject.toml
	$(PIP) install --constraint .ci/constraints.txt --editable ".[demo]"
	@touch $@

# The version is in bayesnb/__init__.py, and the installed metadata must have the same.
.venv/test: .venv/base pyproject.toml bayesnb/__init__.py
	$(PIP) install --constraint .ci/constraints.txt --editable ".[test,lint]"
	@touch $@

.venv/docs: .venv/base pyproject.toml
	$(PIP) install --constraint .ci/constraints.txt --editable ".[docs]"
	@touch $@

.venv/notebooks: .venv/base pyproject.toml
	$(PIP) install --constraint .ci/constraints.txt --editable ".[notebooks]"
	@touch $@

.venv/mutants: .venv/base pyproject.toml
	$(PIP) install --constraint .ci/constraints.txt --editable ".[mutants]"
	@touch $@

.venv/bench: .venv/base pyproject.toml
	$(PIP) install --constraint .ci/constraints.txt --editable ".[test,bench]"
	@touch $@

real-data: .venv/test ## compare with scikit-learn on real tables; writes docs/real-data.md
	$(BIN)/python tools/benchmarks/first_call.py $(ARGS)
	$(BIN)/python tools/benchmarks/readings.py $(ARGS)
	$(BIN)/python tools/benchmarks/real_data.py
	$(BIN)/python tools/benchmarks/text_weights.py

bench: .venv/bench ## time fits, predictions and sampling beside scikit-learn, nutpie and NumPyro; writes docs/performance.md
	$(BIN)/python tools/benchmarks/bench.py --write $(ARGS)
	$(BIN)/python tools/benchmarks/large.py --write $(ARGS)
	$(BIN)/python tools/benchmarks/sampling.py --write $(ARGS)

bench-gpu: .venv/test ## check and time densities and NUTS on JAX's device (first .venv/bin/pip install "jax[cuda13]"); writes docs/performance.md
	$(BIN)/python tools/benchmarks/gpu.py --write

mutants: .venv/mutants ## change single expressions and count the changes that the tests notice; options in ARGS
	$(BIN)/python tools/mutation $(ARGS)
