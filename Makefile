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

PACKAGES = $$($(1)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

.PHONY: help demo demo-page test coverage lowest lint docs bench soak mutants earl pictures clean

help:
	@echo "make demo   crawl a synthetic Data Web on this machine (no Internet needed)"
	@echo "make demo-page  the same, with a page that shows it in a browser"
	@echo "make test   run the tests        make lint   check style and types"
	@echo "make coverage  run them and judge the share of branches they take"
	@echo "make lowest    run those of all libraries with the oldest that are allowed"
	@echo "make bench  measure and judge    make soak   long runs"
	@echo "make docs   write the documentation as a site to site/"
	@echo "make pictures  take those of the docs again"
	@echo "make earl   write the reports of the public test suites again"
	@echo "make mutants  take out each defence, and see its test fail"

demo: $(VENV)/installed
	$(RUN) scrapy demo

demo-page: $(VENV)/installed
	$(RUN) scrapy demo --page

# The disk takes a tenth of the CPU and of the time of the tests: their files are in memory
# where there is enough of it. pyproject.toml has only those of failed tests kept.
IN_MEMORY = $(shell findmnt -bno AVAIL,OPTIONS /dev/shm 2>/dev/null | tail -n 1 | \
  awk '$$1 > 8e9 && $$2 !~ /noexec/ { print "TMPDIR=/dev/shm" }')

WITH_SPARK = $(if $(wildcard $(VENV)/installed-spark),$(VENV)/spark-classes)

# Most tests wait for a server or a crawl now and then: six processes more than two cores.
# The longest files come first; their order is in tests/conftest.py. Tests of many cases
# have a part of them, others for each commit; `make soak` and `make coverage` have all.
test: $(VENV)/installed-dev $(WITH_SPARK)
	$(IN_MEMORY) $(RUN) pytest --forks 8 --in-turn

# Twice the CPU time of `make test`. The floor is `fail_under` in pyproject.toml.
coverage: $(VENV)/installed-dev
	$(IN_MEMORY) PYTHONPATH=$(CURDIR)/tests/support/child_coverage \
	  $(RUN) pytest --forks 8 --cov --cov-report=term:skip-covered

# Of each room that imports libraries with a lower bound, tests that show how it uses them,
# the cheapest that do. tests/gates/test_dependencies.py sees that none is left out.
LOWEST_TESTS := $(addprefix tests/,$(addsuffix .py, \
  test_addon sources/ckan/test_mapping sources/sparql/test_results stores/columns/test_rows \
  crawl/documents/test_kinds crawl/doors/test_feeds crawl/doors/test_scrapy crawl/doors/test_scrapy_commands \
  crawl/sources/test_warc dataweb/test_ftp dataweb/test_local dataweb/test_nodes \
  rdf/extraction/test_bulk downloader/test_context_cache downloader/test_exchange downloader/test_visit \
  stores/followers/test_parquet frontier/test_connection frontier/test_dns_cache \
  frontier/test_worker uri/guard/test_guard rdf/html/test_meta rdf/html/test_microformats \
  rdf/html/test_reading rdf/html/test_rules monitor/metrics/test_exporter monitor/page/test_live \
  pipelines/test_store \
  rdf/hdt/test_parts \
  rdf/hdt/test_write rdf/jsonld/test_reading rdf/test_iris rdf/test_parse \
  rdf/test_serializing stores/shapes/test_shapes sources/sitemaps/resourcesync/test_sync \
  stores/test_segments rdf/unpack/test_codecs rdf/unpack/test_zip uri/test_parse \
  uri/test_politeness downloader/warc/test_captures))
lowest: $(LOWEST)/installed
	$(LOWEST)/bin/python -m pytest --forks 8 $(LOWEST_TESTS)

lint: $(VENV)/installed-dev
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	$(VENV)/bin/codespell
	$(RUN) tests.support.audit

# `mkdocs serve` shows it while you write; `mike deploy 1.0 latest` keeps that of a release.
docs: $(VENV)/installed-dev
	NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build
	@echo "site/index.html: python -m http.server --directory site"

bench: $(VENV)/installed-dev
	$(RUN) tests.bench

soak: $(VENV)/installed-dev
	$(RUN) pytest -m "soak or hypothesis or in_turn" --hypothesis-profile=soak

# The reports of the public test suites in the docs, which the tests compare.
earl: $(VENV)/installed-dev
	$(RUN) tests.support.earl

# The recording in the README, and the pictures of the live page; needs Chromium.
pictures: $(VENV)/installed-dev
	$(RUN) tests.support.terminal_recording
	$(RUN) tests.support.page_pictures

# Half an hour: in copies of the checkout, one defence after another.
mutants: $(VENV)/installed-dev
	$(RUN) tests.mutants

clean:
	rm -rf $(VENV) $(LOWEST) demo crawl build site *.egg-info .mypy_cache .ruff_cache .pytest_cache .coverage

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

# Many machines: some 450 MB, which the tests of Spark are skipped without.
$(VENV)/installed-spark: $(VENV)/installed-dev tests/support/lowest.py
	$(RUN) pip --quiet --disable-pip-version-check install $$($(RUN) tests.support.lowest spark)
	@touch $@

# Java reads the classes of Spark from it, for half of the CPU of a start.
$(VENV)/spark-classes: $(VENV)/installed-spark
	$(RUN) tests.support.spark_classes > /dev/null 2>&1
	@touch $@

# The lowest version of each library that pyproject.toml names; the tools of the tests are
# those of the other environment.
$(LOWEST)/installed: $(VENV)/installed-dev pyproject.toml setup.py tests/support/lowest.py
	$(RUN) venv --clear $(LOWEST)
	$(LOWEST)/bin/python tests/support/lowest.py > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip --quiet --disable-pip-version-check install \
	  --constraint $(LOWEST)/lowest.txt --editable '.[dataweb]'
	echo "$(call PACKAGES,$(VENV))" > "$(call PACKAGES,$(LOWEST))/tools.pth"
	@touch $@
