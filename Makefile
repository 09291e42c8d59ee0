# make run    the main job on embedded defaults: no network, key or GPU once it is installed
# make serve  the graphs on 127.0.0.1:2024, for LangGraph Studio, agents and chat tools (docs/server.md)
# make test   the tests;  make check  what every commit must pass;  make bench  the benchmarks
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

PORT ?= 2024

.PHONY: run serve test lint check bench clean

run: $(VENV)/.installed
	$(BIN)/python -m eval.run

# Ten requests at a time: one alone would keep everybody waiting behind a training.
serve: $(VENV)/.installed
	LANGGRAPH_NO_VERSION_CHECK=true LANGGRAPH_STRICT_MSGPACK=true \
	$(BIN)/langgraph dev --host 127.0.0.1 --port $(PORT) --no-browser --no-reload --n-jobs-per-worker 10

test: $(VENV)/.installed
	$(BIN)/python -m pytest -n 2 --dist loadfile

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
