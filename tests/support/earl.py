"""Reports of the public test suites in EARL, the format of the W3C for such reports.

`python -m tests.support.earl` runs the suites, and writes `docs/reference/earl/*.ttl`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import pyoxigraph as ox

from rdfcrawl.core import __version__
from tests.support.conformance_suites import ROOT, Suites

FOLDER: Final = ROOT / "docs" / "reference" / "earl"
EARL: Final = "http://www.w3.org/ns/earl#"
_PAGE: Final = "https://github.com/rdfcrawl/rdfcrawl"
_RDF_TESTS: Final = "https://w3c.github.io/rdf-tests/rdf"
_JSON_LD_TESTS: Final = "https://w3c.github.io/json-ld-api/tests"
_MICRODATA_TESTS: Final = "https://w3c.github.io/microdata-rdf/tests/manifest.ttl"
_RDFA_TESTS: Final = "http://rdfa.info/test-suite/test-cases"
RDFA_HOSTS: Final = "html4,html5,html5-invalid,svg,xhtml1,xhtml5,xhtml5-invalid,xml"
_HEAD: Final = f"""\
@base <{_PAGE}> .
@prefix earl: <{EARL}> .
@prefix doap: <http://usefulinc.com/ns/doap#> .
@prefix dcterms: <http://purl.org/dc/terms/> .

<> a doap:Project , earl:TestSubject , earl:Software ;
  doap:name "rdfcrawl" ; doap:programming-language "Python" ;
  doap:release [ doap:revision "{__version__}" ] .
<#tests> a earl:Assertor , earl:Software ; dcterms:title "tests of rdfcrawl" .

"""
_ASSERTION: Final = """\
[] a earl:Assertion ; earl:assertedBy <#tests> ; earl:subject <> ;
  earl:mode earl:automatic ; earl:test <%s> ;
  earl:result [ a earl:TestResult ; earl:outcome earl:%s ] .
"""


@dataclass(frozen=True, slots=True)
class Suite:
    """A public test suite.

    Attributes:
        archive: name of its archive.
        judge: the program that runs it.
        arguments: of the judge.
        test: returns the IRI of a test, from the checkout, its group and its name.
    """

    archive: str
    judge: str
    arguments: tuple[str, ...]
    test: Callable[[Path, str, str], str]


@cache
def _tests_in(folder: Path, iri: str) -> dict[str, str]:
    """Return the IRIs of the tests in a manifest, by their fragments."""
    quads = ox.parse(
        (folder / "manifest.ttl").read_bytes(),
        format=ox.RdfFormat.TURTLE,
        base_iri=f"{iri}/manifest.ttl",
    )
    subjects = {q.subject.value for q in quads if isinstance(q.subject, ox.NamedNode)}
    return {each.partition("#")[2]: each for each in subjects}


def _rdf_test(checkout: Path, group: str, name: str) -> str:
    folder = group.rpartition(" ")[0]
    return _tests_in(checkout / "rdf" / folder, f"{_RDF_TESTS}/{folder}")[name]


def _adapted(function: str) -> tuple[str, str]:
    return "--adapter", f"tests.support.conformance_adapters:{function}"


def _rdf(name: str) -> Suite:
    arguments = ("--suite", name, *_adapted("n_quads"))
    return Suite("rdf-tests", "rdf_tests.py", arguments, _rdf_test)


def _json_ld(name: str) -> Suite:
    return Suite(
        "json-ld-api",
        "jsonld_suite.py",
        ("--manifest", name, *_adapted("json_ld")),
        lambda _, __, test: f"{_JSON_LD_TESTS}/{name}-manifest{test.split()[0]}",
    )


SUITES: Final = {
    "rdf11": _rdf("rdf11"),
    "rdf12": _rdf("rdf12"),
    "json-ld": _json_ld("toRdf"),
    "json-ld-html": _json_ld("html"),
    "rdfa": Suite(
        "rdfa",
        "rdfa_suite.py",
        ("--versions", "rdfa1.1", "--hosts", RDFA_HOSTS, *_adapted("rdfa")),
        lambda _, group, test: (
            f"{_RDFA_TESTS}/{group.replace(' ', '/')}/manifest#{test}"
        ),
    ),
    "microdata": Suite(
        "microdata-rdf",
        "microdata_rdf.py",
        _adapted("microdata"),
        lambda _, __, test: f"{_MICRODATA_TESTS}#{test}",
    ),
}


def run(suites: Suites, name: str) -> dict[str, bool]:
    """Run a suite; return whether each of its tests is passed, by its IRI."""
    suite = SUITES[name]
    checkout = suites.checkout(suite.archive)
    cases = suites.cases(suite.judge, checkout, *suite.arguments)
    found = {suite.test(checkout, group, test): ok for group, test, ok in cases}
    assert len(found) == len(cases), "two tests of one IRI"
    return found


def reported(name: str) -> dict[str, bool]:
    """Return the outcomes in the report of a suite, by the IRIs of its tests."""
    store = ox.Store()
    store.load(path=FOLDER / f"{name}.ttl", format=ox.RdfFormat.TURTLE)
    query = f"""PREFIX earl: <{EARL}> SELECT ?test ?outcome
        {{ [] earl:test ?test ; earl:result/earl:outcome ?outcome }}"""
    rows = store.query(query)
    assert isinstance(rows, ox.QuerySolutions)
    return {row["test"].value: row["outcome"].value == f"{EARL}passed" for row in rows}


def assert_reported(suites: Suites, name: str, *, least: int, total: int) -> None:
    """Run a suite; fail below its floor, or if its report has other outcomes."""
    outcomes = run(suites, name)
    assert len(outcomes) == total
    assert sum(outcomes.values()) >= least
    assert outcomes == reported(name), "`make earl` writes the reports again"


def write(outcomes: dict[str, bool]) -> str:
    """Return the report of a suite."""
    return _HEAD + "".join(
        _ASSERTION % (test, "passed" if ok else "failed")
        for test, ok in sorted(outcomes.items())
    )


def main() -> None:
    """Run all suites, and write their reports."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        suites = Suites(Path(folder))
        for name in SUITES:
            outcomes = run(suites, name)
            (FOLDER / f"{name}.ttl").write_text(write(outcomes))
            sys.stdout.write(f"{name}: {sum(outcomes.values())} of {len(outcomes)}\n")


if __name__ == "__main__":
    main()
