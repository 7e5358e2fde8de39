# Every target does its own set-up: a Python (3.11 to 3.13) and a C compiler are all that is needed.
PYTHON ?= python3
BIN := .venv/bin
COMPILED := $(patsubst fdbcore/_ext/%.pyx,fdbcore._ext.%,$(wildcard fdbcore/_ext/*.pyx))
SOURCES := pyproject.toml setup.py $(wildcard fdbcore/_ext/*.pyx fdbcore/_ext/*.pxd fdbcore/_ext/*.h)

.PHONY: demo test check bench soak fuzz clean

demo: .venv/base      ## replay a shipped call, hold a live one over WebRTC; each ends with its HTML report
	$(BIN)/fdbcore replay benchmarks/sample/sample.flac
	rm -rf fdbcore-run/live
	$(BIN)/fdbcore run --a far:scripted:caller --system clerk=far:scripted:clerk --out fdbcore-run/live

test: .venv/dev       ## run the tests
	$(BIN)/pytest

check: .venv/dev      ## linters, types and stubs
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest $(COMPILED) --concise --mypy-config-file pyproject.toml

bench: .venv/dev      ## measure, side by side with what one would use instead
	$(BIN)/python -m benchmarks

soak: .venv/dev       ## half an hour of calls in one process: memory, delay, missed ticks (FDBCORE_SOAK_MINUTES)
	$(BIN)/python -m benchmarks.soak

fuzz: .venv/dev       ## the long runs of the property tests
	FDBCORE_FUZZ=1 $(BIN)/pytest -m fuzz

.venv/base: $(SOURCES)
	test -d .venv || $(PYTHON) -m venv .venv
	@echo 'Installing into .venv (about a minute)'
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[live]'
	touch $@

.venv/dev: $(SOURCES)
	test -d .venv || $(PYTHON) -m venv .venv
	@echo 'Installing into .venv (about a minute)'
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ .venv/base

clean:
	rm -rf .venv build dist *.egg-info fdbcore/_ext/*.so
