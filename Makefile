# Each goal does all of its own set-up: a virtual environment in .venv, nothing else.
PYTHON ?= python3
VENV   := .venv
RUN    := $(VENV)/bin/python -m
LOWEST := .venv-lowest
SHELL  := bash
.SHELLFLAGS := -o pipefail -c

# Installs, and names the packages on one line as they come.
define INSTALL
@printf 'Installing into %s, once; this takes a minute or two:' '$(VENV)'
@PYTHONUNBUFFERED=1 $(RUN) pip --disable-pip-version-check install --editable '$(1)' \
  | awk '/^Collecting/ { sub(/[<>=~!].*/, "", $$2); printf " %s", $$2 } /^Installing collected/ { printf " ..." } \
         { fflush() } END { print "" }'
endef

.PHONY: help demo test coverage lowest lint bench soak clean

help:
	@echo "make demo   crawl a synthetic Data Web on this machine (no Internet needed)"
	@echo "make test   run the tests        make lint   check style and types"
	@echo "make coverage  run them and judge the share of branches they take"
	@echo "make lowest    run those of all libraries with the oldest that are allowed"
	@echo "make bench  measure and judge    make soak   long runs"

demo: $(VENV)/installed
	$(RUN) scrapy demo

# Most tests wait for a server or a crawl now and then: two processes more than two cores.
# The longest files come first; their order is in tests/conftest.py.
test: $(VENV)/installed-dev
	$(RUN) pytest -n 4 --dist loadfile --no-loadscope-reorder

# Twice the CPU time of `make test`. The floor is `fail_under` in pyproject.toml.
coverage: $(VENV)/installed-dev
	PYTHONPATH=$(CURDIR)/tests/support/child_coverage \
	  $(RUN) pytest -n 4 --dist loadfile --no-loadscope-reorder --cov --cov-report=term:skip-covered

# What each library is used for: bytes read and written, fetching, the frontier, crawls.
LOWEST_TESTS := $(addprefix tests/,catalogs/ckan extraction fetch followers frontier html log rdf \
                  robots sitemaps stores unpack uri crawl/documents crawl/sources/test_warc.py test_addon.py)
lowest: $(LOWEST)/installed
	$(LOWEST)/bin/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder $(LOWEST_TESTS)

lint: $(VENV)/installed-dev
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	$(VENV)/bin/codespell

bench: $(VENV)/installed-dev
	$(RUN) tests.bench

soak: $(VENV)/installed-dev
	$(RUN) pytest -m "soak or hypothesis" --hypothesis-profile=soak

clean:
	rm -rf $(VENV) $(LOWEST) demo crawl build *.egg-info .mypy_cache .ruff_cache .pytest_cache .coverage

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "rdfcrawl needs Python >= 3.11; name one: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml setup.py | $(VENV)/bin/python
	$(call INSTALL,.[dataweb])
	@touch $@

$(VENV)/installed-dev: pyproject.toml setup.py | $(VENV)/bin/python
	$(call INSTALL,.[dev])
	@touch $@ $(VENV)/installed

# The lowest version of each library that pyproject.toml names; the tools of the tests are
# the newest that go with them.
$(LOWEST)/installed: pyproject.toml setup.py | $(VENV)/bin/python
	$(RUN) venv --clear $(LOWEST)
	$(LOWEST)/bin/python tests/support/lowest.py > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip --quiet --disable-pip-version-check install \
	  --constraint $(LOWEST)/lowest.txt --editable '.[dev]'
	@touch $@
