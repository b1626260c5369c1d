# Everything runs in .venv, made on first use from requirements.lock; with GPU=1, which .venv
# remembers, from requirements-gpu.lock, which adds TensorFlow's CUDA libraries.
# Needs git, make and Python 3.11 to 3.13; `make PYTHON=/path/to/python3 …` chooses which.

.DEFAULT_GOAL := help
.PHONY: help demo test check lock clean distclean .venv

BIN := .venv/bin
GPU ?= $(wildcard .venv/requirements-gpu.lock)
ifneq ($(filter-out 0,$(GPU)),)
LOCK := requirements-gpu.lock
SIZE := several GB
else
LOCK := requirements.lock
SIZE := about 1 GB
export CUDA_VISIBLE_DEVICES := -1
endif
# A copy of the lock marks a finished .venv: one that was interrupted or is out of date is made
# again; one whose lock git merely touched is kept.
ENVIRONMENT := .venv/$(LOCK)

SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
# The first that starts and is supported: a pyenv shim, for one, may exist and not start.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
    $$python -c '$(SUPPORTED)' 2>/dev/null && echo $$python && break; done)

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

DEMO_RESULTS := runs/demo/train.json runs/demo/evaluation-test.json runs/demo/saved_model/export.json

demo: $(ENVIRONMENT)  ## From raw text to a served translator on the built-in corpus, on CPU, in minutes
	$(BIN)/python -m pipeline.preprocess --runner=DirectRunner --output_dir=data/demo
	$(BIN)/python -m trainer.task --flagfile=configs/demo.flags
	$(BIN)/python -m trainer.evaluate --run_dir=runs/demo --split=test
	$(BIN)/python -m trainer.export --run_dir=runs/demo --output_dir=runs/demo/saved_model
	head -n 3 data/demo/test/source.txt
	head -n 3 data/demo/test/source.txt | \
	    $(BIN)/python -m trainer.translate --saved_model=runs/demo/saved_model
	@$(BIN)/python -c 'import json, sys; print(json.dumps({name: value for path in sys.argv[1:] \
	    for name, value in json.load(open(path)).items()}))' $(DEMO_RESULTS)

# Two at once: most of a test is Python on one core. A process takes 2 GiB.
TEST := $(BIN)/python -m pytest --numprocesses=2 --dist=worksteal --durations=20

test: $(ENVIRONMENT)  ## Run the tests, except the heavy ones: engines, kills, several workers, XLA
	$(TEST) -m 'not heavy'

check: $(ENVIRONMENT)  ## Run what CI runs: formatter, linter, types, every test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(TEST)

COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock'

lock:  ## Resolve requirements*.txt into the locks (delete these first to upgrade everything)
	@scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && \
	$(PYTHON) -m venv "$$scratch" && \
	"$$scratch/bin/pip" install --quiet --disable-pip-version-check uv && \
	export PATH="$$scratch/bin:$$PATH" && \
	$(COMPILE) requirements.txt -o requirements.lock && \
	$(COMPILE) --no-annotate requirements-gpu.txt -c requirements.lock -o requirements-gpu.lock

clean:  ## Remove what the demo made, and caches
	rm -rf data/demo runs/demo build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache
	find beamformer pipeline model trainer tests -name __pycache__ -type d -exec rm -rf {} +

distclean: clean  ## Remove .venv too
	rm -rf .venv

$(ENVIRONMENT): $(LOCK)
	@if cmp -s $< $@; then touch $@; else $(MAKE) --no-print-directory .venv; fi

.venv:
	@$(or $(PYTHON),false) -c '$(SUPPORTED)' 2>/dev/null || { echo >&2 "error: found $(or '$(PYTHON)',no Python)," \
	    "expected Python 3.11 to 3.13; install one or give make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo >&2 "error: $(PYTHON) cannot make" \
	    "virtual environments; install its venv module (Debian, Ubuntu: apt install python3-venv)"; exit 1; }
	@echo "Installing $(LOCK) into .venv ($(SIZE), once)"
	@rm -rf .venv
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-input \
	    --require-hashes -r $(LOCK)
	@cp $(LOCK) $(ENVIRONMENT)
