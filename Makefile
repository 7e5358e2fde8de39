# Every target does its own set-up: a Python (3.11 to 3.14) and a C compiler are all that is needed.
SHELL := bash
.SHELLFLAGS := -o pipefail -c
PYTHON ?= python3
BIN := .venv/bin
COMPILED := $(patsubst fdbcore/_ext/%.pyx,fdbcore._ext.%,$(wildcard fdbcore/_ext/*.pyx))
LIVE = $(shell grep -rl 'mark\.live' tests --include='test_*.py')  # each process would take seconds to read the others
SOURCES := pyproject.toml setup.py $(wildcard fdbcore/_ext/*.pyx fdbcore/_ext/*.pxd fdbcore/_ext/*.h)
DETAILS := ^( *(WARNING|Link|Skipping|Using|Downloading|Obtaining|Requirement|Looking|Getting|Checking|Preparing|Processing|Installing|Building|Created|Stored|Attempting|Found|Uninstalling|Successfully).*)?$$

# Of what pip says: how many packages there are so far, and whatever is none of its usual lines, such as errors.
define install
	@echo '--- Fetching packages'
	@$(BIN)/pip install --disable-pip-version-check --no-color --progress-bar off $(1) 2>&1 | { \
	  usual='$(DETAILS)'; same=; test -t 1 && same=$$'\r\033[K'; n=0; \
	  while IFS= read -r line; do \
	    if [[ $$line =~ ^\ *Collecting\ ([^ ]+) ]]; then n=$$((n + 1)); test -z "$$same" || printf '%s    package %d: %s' "$$same" $$n "$${BASH_REMATCH[1]}"; \
	    elif [[ $$line =~ ^Installing\ collected ]]; then set -- $$line; echo "$$same--- Installing $$(($$# - 3)) packages"; \
	    elif [[ $$line =~ Building\ editable.*started ]]; then echo "$$same--- Compiling the core, for a minute or two"; \
	    elif [[ ! $$line =~ $$usual ]]; then echo "$$same$$line"; fi; \
	  done; }
endef

# Hundreds of processes start here: none compiles what another has.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo schema smoke test test-all quick outside nemo reference aarch64 docs check wheel changelog release bench soak fuzz clean

demo: .venv/base      ## replay a shipped call, hold a live one over WebRTC; each ends with its HTML report
	$(BIN)/python -m benchmarks.demo

schema: .venv/dev     ## write the JSON schemas of documents anew, from their types
	$(BIN)/python -m fdbcore.report.schemas
	$(BIN)/python -m fdbcore.suites.schemas

smoke: .venv/dev      ## a few telling tests of each room, in a minute: those that tests/smoke.txt names
	$(BIN)/pytest -n $$(nproc) -q @tests/smoke.txt

# Twice as many processes as processors: half of their time is waiting.
SIDE_BY_SIDE := $(BIN)/pytest -n $$((2 * $$(nproc))) --dist worksteal --durations 15
test: .venv/dev       ## the tests that a person waits for: some minutes; make test-all runs the slow and live ones, too
	$(SIDE_BY_SIDE) -m 'not slow and not live'

# What measures real time comes last, and waits for three quarters of its time. What failed while others took some of the
# processors' time is run once more: a fault of ours fails twice.
test-all: .venv/dev   ## all tests but those of other environments
	@$(SIDE_BY_SIDE) -m 'not live'; others=$$?; \
	$(SIDE_BY_SIDE) --reruns 1 --only-rerun OthersTookTime -m live $(LIVE) && exit $$others

# Rooms whose tests need no more than fdbcore and the extra `test`: what asks for more is skipped, and says for what.
SMALL := analysis audio ext lines measures recording results runtime session sources stats worlds
quick: .venv/$(if $(filter $(ROOM),$(SMALL)),test,dev)  ## one room in seconds: make quick ROOM=stats, or `.venv/bin/pytest tests/stats` with the slow ones
	$(BIN)/pytest -m 'not slow and not live' tests/$(ROOM)

outside: .venv/dev    ## servers of others, each in an environment of its own in build/outside: says which ran, or why not
	$(BIN)/python tests/fakes/outside.py

# Without the first line pip takes the build of torch that needs 3 GB of CUDA packages; for a GPU: make nemo TORCH=torch
TORCH ?= torch==2.13.0
nemo: .venv/dev build/nemo/made  ## Parakeet's kind of model in NeMo, in an environment of its own: 2.2 GB, four minutes
	$(BIN)/pytest --nemo tests/models/test_nemo.py

build/nemo/made: pyproject.toml
	@echo '--- Setting up build/nemo, once: two minutes, 2.2 GB'
	test -d build/nemo || $(PYTHON) -m venv build/nemo
	build/nemo/bin/pip install --quiet --disable-pip-version-check '$(TORCH)'
	build/nemo/bin/pip install --quiet --disable-pip-version-check \
	  "$$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["asr"])')" '$(TORCH)'
	touch $@

# The scripts of the benchmark, of a checkout outside of this one; of torchaudio they need no compiled part, which would ask
# for CUDA. To keep what the scripts give in tests/reference/golden.json: WRITE=--write
REFERENCE_PYTHON ?= build/reference/bin/python
reference: .venv/dev  ## the figures as published beside Full-Duplex-Bench's own scripts: FDB_REFERENCE=CHECKOUT make reference
	@test -z "$$FDB_REFERENCE" || $(MAKE) --no-print-directory $(REFERENCE_PYTHON)
	@PYTHONPATH=tests:. $(BIN)/python -m reference $(REFERENCE_PYTHON) $(WRITE)

build/reference/bin/python:
	@echo '--- Setting up build/reference, once: two minutes, 1.5 GB'
	$(PYTHON) -m venv build/reference
	build/reference/bin/pip install --quiet --disable-pip-version-check '$(TORCH)' silero-vad==6.2.3 librosa==0.11.0 \
	  praat-parselmouth==0.4.7 scipy statsmodels pandas soundfile openai tqdm || { rm -r build/reference; false; }
	build/reference/bin/pip install --quiet --disable-pip-version-check --no-deps torchaudio==2.11.1
	rm -f build/reference/lib/python*/site-packages/torchaudio/lib/*.so

# It needs apt; .ci/run installs the cross compiler and the emulator.
aarch64: .venv/dev build/aarch64/made  ## the core on emulated processors: aarch64, by Debian's Python for it, and an old x86-64
	$(BIN)/pytest --emulated tests/ext/test_processors.py

build/aarch64/made: $(SOURCES) tests/helpers/on_aarch64.py
	$(BIN)/python tests/helpers/on_aarch64.py build/aarch64
	touch $@

docs: .venv/dev       ## the site of docs/, in build/site; a warning is an error
	$(BIN)/python docs/draw_rooms.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

check: .venv/dev      ## linters, types and stubs
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest $(COMPILED) --concise --mypy-config-file pyproject.toml

# auditwheel names the wheel by the systems that it runs on. Some builds of Python would write a path of this machine into
# what they link. Then the wheel is installed as by users without a compiler: only commands of the environment are found.
wheel: .venv/dev      ## the sdist and from it the wheel, in dist: audited, and tried in an environment without a compiler
	rm -rf dist build/wheel
	LDSHARED='cc -shared' $(BIN)/python -m build --outdir build/wheel .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --strip --wheel-dir dist build/wheel/*.whl
	mv build/wheel/*.tar.gz dist
	$(PYTHON) -m venv build/wheel/.venv
	PATH=build/wheel/.venv/bin pip install --quiet --disable-pip-version-check --only-binary :all: dist/*.whl
	PATH=build/wheel/.venv/bin fdbcore replay --quiet --out build/wheel/from_wheel benchmarks/sample/sample.flac
	$(BIN)/fdbcore replay --quiet --out build/wheel/from_checkout benchmarks/sample/sample.flac
	for made in events.jsonl derived/activity.npz; do cmp build/wheel/from_{checkout,wheel}/sample/$$made || exit 1; done

changelog: .venv/dev  ## the fragments of changelog.d become a release of CHANGELOG.md, under the version of fdbcore/_version.py
	$(BIN)/towncrier build --yes --version "$$($(BIN)/python -c 'import fdbcore; print(fdbcore.__version__)')"

# Whoever cuts a release sets the version, runs `make changelog`, commits, and tags; TAG=v0.2.0 checks that these agree.
release: wheel        ## what a release needs, in dist: sdist and wheel, checked in bare environments; and its notes
	$(PYTHON) -m venv build/release/.venv
	build/release/.venv/bin/pip install --quiet --disable-pip-version-check twine==6.*
	build/release/.venv/bin/twine check --strict dist/*
	$(PYTHON) .ci/notes.py > build/release/notes.md
	@ls -l dist build/release/notes.md

bench: .venv/dev      ## measure, side by side with what one would use instead
	$(BIN)/python -m benchmarks

soak: .venv/dev       ## half an hour of calls in one process: memory, delay, missed ticks (FDBCORE_SOAK_MINUTES)
	$(BIN)/python -m benchmarks.soak

fuzz: .venv/dev       ## files of others changed at random (FDBCORE_FUZZ_MINUTES, _SEED, _CASE), and long property tests
	@PYTHONPATH=tests:. $(BIN)/python -m fuzz.files; files=$$?; \
	$(BIN)/pytest -n $$(nproc) -o faulthandler_timeout=0 --fuzz && exit $$files

# The core is compiled once, whatever is installed beside it. Each extra is added to those that are there; pip knows its
# packages from fdbcore's metadata.
.venv/core: $(SOURCES)
	@echo '--- Setting up .venv, once: about three minutes, 800 MB; 2.8 GB for all tests'
	@test -d .venv || $(PYTHON) -m venv .venv
	$(call install,--editable .)
	@touch $@

.venv/test: .venv/core
	$(call install,'fdbcore[test]')
	@touch $@ .venv/base

.venv/base: .venv/core
	$(call install,'fdbcore[live]')
	@touch $@

.venv/dev: .venv/core
	$(call install,'fdbcore[dev]')
	$(BIN)/fdbcore models get hibari
	@touch $@ .venv/base .venv/test

clean:
	rm -rf .venv build dist *.egg-info fdbcore/_ext/*.so
