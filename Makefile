# make run    the main job on embedded defaults: no network, key or GPU once it is installed
# make test   the tests;  make check  what every commit must pass;  make bench  the benchmarks
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test lint check bench clean

run: $(VENV)/.installed
	$(BIN)/python -m eval.run

test: $(VENV)/.installed
	$(BIN)/python -m pytest

lint: $(VENV)/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

check: lint test

bench: $(VENV)/.bench-installed
	$(BIN)/python -m benchmarks.run_all

$(VENV)/.installed: pyproject.toml constraints.txt
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,studio]'
	touch $@

$(VENV)/.bench-installed: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,studio,bench]'
	touch $@

clean:
	rm -rf $(VENV) *.egg-info .pytest_cache .mypy_cache .ruff_cache .langgraph_api
