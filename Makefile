# One verb set for everyone who works on linkwork. Needs make and Python 3.11 or later, nothing else.
#
# Tools live in .venv. A Python that is asked for (make test PYTHON=python3.13) gets an environment of its own,
# .venv-3.13, so that none is ever used with another interpreter than the one it was made for.
ifeq ($(origin PYTHON),undefined)
PYTHON := $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
else
VENV ?= .venv-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
endif
# Versions to hold packages to, such as numpy==1.26.*; give such an environment a name of its own with VENV. They are
# installed last, since wheels of the tests' oracles ask for a newer numpy than they need.
PINS ?=
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp

CHROMIUM := chromium
# Compilers, emulators and more with which exports are built and run, by the names of Debian's packages.
COMPILERS := gcc g++ clang cmake nodejs qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-riscv64-linux-gnu \
  libc6-dev-riscv64-cross gcc-arm-linux-gnueabihf libc6-dev-armhf-cross

# How many calls with hostile arguments make fuzz makes, and which: another seed each day.
CALLS ?= 100000
SEED ?= $(shell date +%Y%m%d)

# Experiments whose exact counts are counted again for their pages; times are kept, which need an idle machine.
EXPERIMENTS := virtual-work operational-inertia constraint-force closed-chains

# A test file goes to one process as a whole, which then reuses the code that it compiled.
PYTEST := $(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: help demo quick test steps exports compilers oldest coverage check lint layout types layers format bench fuzz docs site browser clean

help:
	@echo "make demo      a humanoid puts a box on the floor: out/demo"
	@echo "make quick     a telling part of the tests, in about a minute"
	@echo "make test      all tests, the examples in docstrings included"
	@echo "make steps     everything that steps, in every combination, against one slow step"
	@echo "make exports   two hundred exports of random mechanisms, built and compared bit by bit"
	@echo "make compilers install compilers and emulators, with which make test builds exports"
	@echo "make oldest    all tests with the oldest numpy and llvmlite that are supported"
	@echo "make coverage  which lines of src the tests run: out/coverage"
	@echo "make check     ruff, its formatter, mypy, import-linter: make lint layout types layers"
	@echo "make format    lay out the code as make check wants it"
	@echo "make bench     measure times: linkwork bench"
	@echo "make fuzz      mutated model files by the ten thousand, calls with hostile arguments by the hundred thousand"
	@echo "make docs      measure the tables in docs/ anew"
	@echo "make site      the documentation as a site, its examples run: out/site/index.html"
	@echo "make browser   install Chromium, in which make test looks at pages"
	@echo "make clean     remove what can be made again, environments included"
	@echo
	@echo "make test PYTHON=python3.13 uses another Python, in an environment .venv-3.13."

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,check,plot,mjcf]'
	test -z '$(PINS)' || $(BIN)/python -m pip install --quiet --disable-pip-version-check $(foreach pin,$(PINS),'$(pin)')
	touch $@

demo: $(STAMP)
	$(BIN)/linkwork demo

quick: $(STAMP)
	$(PYTEST) -m quick tests

test: $(STAMP)
	@command -v $(CHROMIUM) >/dev/null || echo "There is no Chromium: pages are not tested in a browser. make browser installs it."
	$(PYTEST)

# The suite has a part of these combinations; continuous integration runs all.
steps: $(STAMP)
	$(BIN)/python -m pytest -q -n 2 tests/test_steps.py --every-step

exports: $(STAMP)
	$(BIN)/python -m pytest -q -n 2 tests/test_export.py --every-step -k random_models

oldest:
	$(MAKE) test VENV=.venv-oldest PINS='numpy==1.26.* llvmlite==0.45.* pandas==2.*'

coverage: $(STAMP)
	$(PYTEST) --cov --cov-report=term --cov-report=html

check: lint layout types layers

lint: $(STAMP)
	$(BIN)/ruff check .

layout: $(STAMP)
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini

layers: $(STAMP)
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)
	$(BIN)/linkwork bench --json out/bench/bench.json --plot out/bench/chains

fuzz: $(STAMP)
	LINKWORK_MUTATIONS=$${LINKWORK_MUTATIONS:-20000} $(BIN)/python -m pytest -q -n 2 tests -k mutat
	$(BIN)/python tests/fuzz.py --calls $(CALLS) --seed $(SEED)
	$(BIN)/python tests/damaged_code.py --seed $(SEED) --llvm
	$(BIN)/python tests/interrupts.py --seed $(SEED)

docs: $(STAMP)
	for name in accuracy $(EXPERIMENTS); do \
	  again=$$(test $$name = accuracy || echo "--from-json docs/data/$$name.json --again counts"); \
	  $(BIN)/linkwork reproduce $$name $$again --page docs/$$name.md --out out/docs/$$name \
	  && cp out/docs/$$name/data.json docs/data/$$name.json \
	  && cp out/docs/$$name/*.png docs/figures/$$name || exit; \
	done
	$(BIN)/python benchmarks/elementary.py --write
	$(BIN)/python benchmarks/drift.py --write
	$(BIN)/python benchmarks/fresh_memory.py --write
	$(BIN)/python benchmarks/inside.py --write

# Sphinx and what goes with it, beside the tools of the tests; installed when a site is first built.
$(VENV)/.site: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[site]'
	touch $@

# Needs no network. Examples run again only if they have changed; the last command looks at every link.
site: $(VENV)/.site
	$(BIN)/python -m sphinx -q -W --keep-going --write-all -d out/site-trees docs out/site
	$(BIN)/python docs/_site/links.py out/site

# From the system's packages, where these have it; needs their rights.
browser:
	command -v $(CHROMIUM) || apt-get install -y chromium || dnf install -y chromium || pacman -S --noconfirm chromium

# The same, as far as there are such packages: what is missing, tests say.
compilers:
	for name in $(COMPILERS); do apt-get install -y --no-install-recommends $$name || echo "There is no $$name."; done

clean:
	rm -rf .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage .coverage.* dist build out docs/generated
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
