# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
STAMP := $(VENV)/.installed
PEERS := $(VENV)/.peers
# Tests start many interpreters: what one has compiled, the next may use.
export PYTHONDONTWRITEBYTECODE :=
# Workers keep to one thread: more would only wait for each other. There is one more of them than
# cores, for those that wait for a browser or a process.
test test-all pytest: export OMP_NUM_THREADS := 1
WORKERS = $$($(BIN)/python -c 'import os; print(os.cpu_count() + 1)')
# Most of what is installed is never imported; what is, is compiled then.
INSTALL := -m pip install --quiet --no-compile --editable

.PHONY: demo test test-all pytest browsers chromium firefox postgresql docs licences release lint types contract bench detection zoo training-bugs watched-bugs \
	one-run-power planned-power picture screenshot clean

# An older Python would fail later, in words that say nothing of it.
NEW_ENOUGH := import sys; sys.version_info < (3, 11) and sys.exit("tellapart needs Python 3.11 or later, \
	and $(PYTHON) is %d.%d. Name another: make demo PYTHON=python3.11" % sys.version_info[:2])

# Made anew where an earlier one was left half-made.
define environment
@test -x $(BIN)/python || $(PYTHON) -c '$(NEW_ENOUGH)'
$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV)
endef

# What the README shows needs no torch, and no tests.
$(READY): pyproject.toml
	@echo 'Setting up in $(VENV), once: this takes a minute or two.'
	$(environment)
	$(BIN)/python $(INSTALL) '.[files,learn,plot,report,web]'
	touch $(READY)

$(STAMP): pyproject.toml
	@echo 'Setting up all that the tests need in $(VENV), once: this takes a few minutes.'
	$(environment)
	$(BIN)/python $(INSTALL) '.[dev]'
	touch $(READY) $(STAMP)

demo: $(READY)
	$(BIN)/python examples/demo.py

# Once code and types are right, tests run beside the pages' build, which is on one core for long.
test: browsers $(STAMP)
	@$(MAKE) --jobs=2 lint contract types docs pytest || \
		{ echo 'make test failed: what did is told above, after ***' >&2; exit 1; }

pytest: $(STAMP)
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

test-all: browsers postgresql lint types contract docs
	HYPOTHESIS_PROFILE=explore $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m 'slow or not slow' --timeout 3600

# Pages are tried in real browsers: Debian's, installed where they are missing.
AS_ROOT := $(shell test "$$(id -u)" = 0 || echo sudo)
browsers: chromium firefox

chromium:
	@command -v chromium >/dev/null || command -v apt-get >/dev/null || \
		{ echo 'Install Chromium, as a command `chromium`: pages are tried in it.' >&2; exit 1; }
	command -v chromium >/dev/null || { $(AS_ROOT) apt-get update && $(AS_ROOT) env \
		DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends chromium; }

firefox:
	@command -v firefox-esr >/dev/null || command -v firefox >/dev/null || \
		command -v apt-get >/dev/null || \
		{ echo 'Install Firefox, as a command `firefox`: pages are tried in it.' >&2; exit 1; }
	command -v firefox-esr >/dev/null || command -v firefox >/dev/null || \
		{ $(AS_ROOT) apt-get update && $(AS_ROOT) env \
		DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends firefox-esr; }

# Ledgers are tried in a real PostgreSQL: Debian's, which a test starts for itself.
postgresql:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || \
		command -v apt-get >/dev/null || \
		{ echo 'Install PostgreSQL: ledgers are tried in it.' >&2; exit 1; }
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || \
		{ $(AS_ROOT) apt-get update && $(AS_ROOT) env DEBIAN_FRONTEND=noninteractive \
		apt-get install --yes --no-install-recommends postgresql; }

docs: $(STAMP)
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --builder html docs build/docs

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

contract: $(STAMP)
	$(BIN)/lint-imports

$(PEERS): $(STAMP)
	$(BIN)/python $(INSTALL) '.[dev,peers]'
	touch $(PEERS)

# All of them, or some alone: make bench ONLY='gdp interactive'. Those of the page have no peers.
bench: chromium $(if $(filter-out explorer load,$(or $(ONLY),all)),$(PEERS),$(STAMP))
	$(BIN)/python benchmarks/_page.py docs/benchmarks.md $(ONLY)

# Checkouts of peers that are on no package index: make detection BESIDE='path/one path/two'
detection: $(PEERS)
	$(BIN)/python benchmarks/detection.py --page docs/detection.md $(addprefix --peers ,$(BESIDE))

zoo: $(STAMP)
	$(BIN)/python benchmarks/_zoo_page.py docs/zoo.md

training-bugs: $(PEERS)
	$(BIN)/python benchmarks/training_bugs.py --opacus 600 --page docs/training-bugs.md

watched-bugs: $(PEERS)
	$(BIN)/python benchmarks/watched_bugs.py --page docs/watched-bugs.md

one-run-power: $(PEERS)
	$(BIN)/python benchmarks/one_run_power.py --page docs/one-run-power.md

planned-power: $(STAMP)
	$(BIN)/python benchmarks/planned_power.py --page docs/planned-power.md

picture: $(STAMP)
	$(BIN)/python docs/picture.py
	$(BIN)/python docs/lessons.py
	$(BIN)/python docs/published.py

screenshot: chromium $(STAMP)
	$(BIN)/python docs/screenshot.py

licences: $(STAMP)
	$(BIN)/python docs/licences.py

release: $(STAMP)
	$(BIN)/python -m build --outdir dist

clean:
	rm -rf $(VENV) build dist docs/api docs/gallery .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
