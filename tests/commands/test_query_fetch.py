"""`scrapy query --fetch`: the documents of a query, fetched for it alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.launch.fetched_query import named_resources
from tests.conftest import LOOPBACK_NETS
from tests.support.command_forks import scrapy

if TYPE_CHECKING:
    import subprocess

    from tests.conftest import RawRequest
    from tests.support.crawl_webs import Loopback

_GIVEN = ("-sDOWNLOAD_DELAY=0", f"-sGUARD_ALLOW_NETS={LOOPBACK_NETS}")
FOAF = "http://xmlns.com/foaf/0.1/"


def people(loopback: Loopback) -> tuple[str, list[RawRequest]]:
    """Serve a chain of people who know one another, and a page with no name.

    Return the first of them, and the requests of the crawl.
    """
    site = loopback({}, host="127.20.78.1")
    for n in range(6):
        text = (
            f'<#me> <{FOAF}name> "P{n}" ; <{FOAF}knows> </{n + 1}#me> ;'
            f" <{FOAF}page> </page{n}> ."
        )
        site.pages[f"/{n}"] = loopback.response(text.encode())
        site.pages[f"/page{n}"] = loopback.response(b"<> <urn:x:p> 1 .")
    return site.url("/0#me"), site.requests


def query(text: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return scrapy("query", text, *words, *_GIVEN)


def test_neighbours_are_fetched_for_a_query(loopback: Loopback) -> None:
    """If a query names a resource, then it and its neighbours are fetched and queried.

    Links of other predicates than those of the query are not followed.
    """
    me, requests = people(loopback)
    text = f"SELECT ?n {{ <{me}> foaf:knows/foaf:knows ?f . ?f foaf:name ?n }}"
    done = query(text, "--fetch", "2", "--format", "csv")
    assert (done.returncode, done.stdout) == (0, "n\r\nP2\r\n"), done.stderr
    assert done.stderr == "fetched 3 documents with 9 statements\n"
    asked = {str(each.target) for each in requests}
    assert {each for each in asked if len(each) == len("/0")} == {"/0", "/1", "/2"}
    assert not any(each.startswith("/page") for each in asked)


def test_limits_are_named(loopback: Loopback) -> None:
    """If more documents are linked than `--fetch-documents`, then one line says so."""
    me, _ = people(loopback)
    words = ("--fetch", "5", "--fetch-documents", "2", "-sVISIT_MAX_DOCUMENTS=1")
    done = query(f"ASK {{ <{me}> foaf:knows* ?f }}", *words)
    assert done.returncode == 0
    assert "more is linked: --fetch-documents" in done.stderr


def test_a_resource_without_data_is_named(loopback: Loopback) -> None:
    """If nothing is found, then the summary has the fault, and the result is empty."""
    site = loopback({})
    done = query(f"SELECT ?n {{ <{site.url('/x')}> foaf:name ?n }}", "--fetch", "1")
    assert done.returncode == 0
    first, *absent = done.stderr.splitlines()
    assert first == "fetched 0 documents with 0 statements; faults not_found 1"
    assert absent == [
        f"query: <{site.url('/x')}> is in no statement",
        "query: foaf:name is in no statement",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT ?n { ?s foaf:name ?n }", "name a resource in the query"),
        ("SELECT ?n { <urn:x:s> foaf:name ?n }", "name a resource in the query"),
        ("SELECT {", "query --fetch: Expected"),
    ],
)
def test_queries_that_name_nothing_are_refused(text: str, message: str) -> None:
    """If a query is invalid or names no resource, then one line says so."""
    done = query(text, "--fetch", "1")
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("pattern", "follow"),
    [
        ("<http://e/s> ?p ?o", "abox"),
        ("<http://e/s> a foaf:Person", "none"),
        ("<http://e/s> ^foaf:made ?o", f"subject,+{FOAF}made"),
        ("?s (foaf:knows|foaf:made)+ <http://e/s>", f"+{FOAF}knows,+{FOAF}made"),
        ("VALUES ?s { <http://e/s> } ?s foaf:knows ?o", f"+{FOAF}knows"),
        ("GRAPH <http://e/s> { ?s foaf:knows ?o }", f"+{FOAF}knows"),
        ("?s foaf:made ?o FILTER EXISTS { <http://e/s> foaf:knows ?o }", None),
    ],
)
def test_links_are_those_of_the_query(pattern: str, follow: str | None) -> None:
    """If a query has predicates, then only their links are followed."""
    found = named_resources(f"SELECT * {{ {pattern} }}")
    assert found.seeds == ("http://e/s",)
    expected = follow or f"+{FOAF}knows,+{FOAF}made"
    assert sorted(found.follow.split(",")) == sorted(expected.split(","))


def test_documents_of_from_are_fetched() -> None:
    """If a query names its documents, then it begins with these."""
    graphs = "FROM <http://e/a> FROM NAMED <http://e/b>"
    found = named_resources(f"SELECT * {graphs} {{ ?s foaf:knows ?o }}")
    assert found.seeds == ("http://e/a", "http://e/b")
