"""The documentation of provenance: its example, its query and its terms."""

from __future__ import annotations

import re

import pyoxigraph as ox

from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.namespaces import RC
from rdfcrawl.core.records import (
    Record,
)
from tests.support.described_documents import (
    HTTP,
    PROV,
    SQ,
    WORKER,
    describe,
    describe_worker,
    document,
)
from tests.support.pages import page_path

DOCS = page_path("provenance.md")

EXAMPLE = document(
    record=Record(
        url="http://example.org/id/ada",
        depth=1,
        parent="http://example.org/people",
    ),
    url="http://example.org/doc/ada",
    requested=("http://example.org/id/ada", "http://example.org/doc/ada"),
    etag='"5e8-abc"',
    faults=[Fault(Reason.BAD_TERM, 'line 7: bad IRI "a b"', 2)],
    is_partial=True,
)


def test_example_of_the_docs_is_what_the_code_writes() -> None:
    """If the description changes, then the example in the docs has to follow."""
    blocks = re.findall(r"```nquads\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert blocks == [
        describe_worker(WORKER).decode() + describe(EXAMPLE, WORKER).decode()
    ]


def test_query_of_the_docs_gives_the_redirects() -> None:
    """If the query of the docs is asked, then it gives the URLs in order."""
    store = ox.Store()
    store.load(describe(EXAMPLE, WORKER), ox.RdfFormat.N_QUADS)
    (query,) = re.findall(r"```sparql\n(.*?)```", DOCS.read_text(), re.DOTALL)
    solutions = store.query(query)
    assert isinstance(solutions, ox.QuerySolutions)
    assert [solution["url"].value for solution in solutions] == [
        *EXAMPLE.response.requested
    ]


def test_every_term_is_in_the_docs() -> None:
    """If the code writes a predicate or class, then the table of terms has it."""
    text = DOCS.read_text()
    prefixes = {PROV: "prov:", SQ: "sq:", HTTP: "http:", RC: "rc:"}
    written = describe_worker(WORKER) + describe(EXAMPLE, WORKER)
    written += describe(document(last_modified="x"), WORKER)
    for namespace, prefix in prefixes.items():
        for term in re.findall(rf"<{re.escape(namespace)}(\w+)>", written.decode()):
            assert f"`{prefix}{term}`" in text, term
