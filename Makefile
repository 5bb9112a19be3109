# One verb set for everyone who works on linkwork. Needs make and Python 3.11 or later, nothing else.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
STAMP := .venv/.stamp

.PHONY: help demo test check bench fuzz docs clean

help:
	@echo "make demo    a humanoid puts a box on the floor: out/demo"
	@echo "make test    all tests, the examples in docstrings included"
	@echo "make check   ruff, mypy, import-linter"
	@echo "make bench   measure times: linkwork bench"
	@echo "make fuzz    mutated model files by the ten thousand"
	@echo "make docs    measure the tables in docs/ anew"
	@echo "make clean   remove what can be made again, .venv included"

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,check,plot,mjcf]'
	touch $@

demo: $(STAMP)
	$(BIN)/linkwork demo

test: $(STAMP)
	$(BIN)/python -m pytest -q -n 2

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)
	$(BIN)/linkwork bench --json out/bench/bench.json --plot out/bench/chains

fuzz: $(STAMP)
	LINKWORK_MUTATIONS=$${LINKWORK_MUTATIONS:-20000} $(BIN)/python -m pytest -q -n 2 tests -k mutat

docs: $(STAMP)
	$(BIN)/python benchmarks/rounding.py --write
	$(BIN)/python benchmarks/drift.py --write

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist build out
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
