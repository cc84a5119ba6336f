"""Provenance: the facts of a crawl come back exactly, as strict N-Quads."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.namespaces import RC
from rdfcrawl.core.records import (
    Document,
    DocumentFacts,
    FetchedResponse,
    Kind,
    ReadResult,
    Record,
)
from rdfcrawl.core.source_tasks import ConsentTask, RobotsTask, SitemapTask, SourceTask
from rdfcrawl.pipelines.provenance import MAX_FAULTS, activity_of, status_of
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.rdf.terms import literal
from rdfcrawl.stores.provenance.blocks import (
    ActivityBlock,
    decode_block,
    encode_block,
)
from rdfcrawl.stores.provenance.records import SameContent, WorkerAgent
from rdfcrawl.stores.provenance.statements import iri_or_literal, iter_statements
from tests.support.described_documents import (
    HTTP,
    PROV,
    RDF,
    SQ,
    TURTLE,
    WORKER,
    XSD,
    Description,
    activity_iri,
    describe,
    describe_worker,
    document,
    read,
)
from tests.support.examples import examples


def test_ordinary_document_is_described_whole() -> None:
    """If a document was read, then all that is known of it is there, once."""
    record = Record(url="http://example.org/me", depth=2, parent="http://example.org/")
    crawled = document(
        record=record, etag='"a\\b"', last_modified="Tue, 01 Sep 2026 10:00:00 GMT"
    )
    name = activity_iri(crawled, WORKER)
    assert read(describe(crawled, WORKER)) == {
        name: {
            RDF + "type": [PROV + "Activity"],
            PROV + "wasAssociatedWith": [WORKER.iri],
            PROV + "startedAtTime": ["2026-09-21T14:13:20.007Z"],
            PROV + "endedAtTime": ["2026-09-21T14:13:20.100Z"],
            PROV + "used": [name + ":response"],
            SQ + "crawled": ["http://example.org/me"],
            SQ + "status": ["SUCCESSFUL"],
            SQ + "approxNumberOfTriples": ["9"],
            SQ + "depth": ["2"],
            RC + "links": ["5"],
            RC + "parent": ["http://example.org/"],
            RC + "format": ["Turtle"],
            RC + "decidedBy": ["content-type"],
        },
        name + ":response": {
            RDF + "type": [HTTP + "Response"],
            HTTP + "statusCodeValue": ["200"],
            RC + "bytes": ["1034"],
            RC + "mediaType": ["text/turtle"],
            RC + "etag": ['"a\\b"'],
            RC + "lastModified": ["Tue, 01 Sep 2026 10:00:00 GMT"],
        },
        "http://example.org/me": {
            RDF + "type": [PROV + "Entity", SQ + "ResultGraph"],
            PROV + "wasGeneratedBy": [name],
            SQ + "containsDataOf": ["http://example.org/me"],
        },
    }


def test_a_document_that_withdraws_itself_has_a_later_tombstone() -> None:
    """If a document withdraws its URL, then its tombstone is a later activity."""
    read_document = document()
    for url in (read_document.url, read_document.record.url):
        tombstone = read_document.withdrawal(url)
        assert tombstone.response.started_ms > read_document.response.started_ms
        names = {activity_iri(x, WORKER) for x in (read_document, tombstone)}
        assert len(names) == 2
    other = read_document.withdrawal("http://example.org/other")
    assert other.response.started_ms == read_document.response.started_ms


def test_worker_is_described() -> None:
    """If a worker begins, then its name, crawl and software are written."""
    assert read(describe_worker(WORKER)) == {
        WORKER.iri: {
            RDF + "type": [PROV + "Agent", PROV + "SoftwareAgent"],
            "http://www.w3.org/2000/01/rdf-schema#label": ["host-1"],
            RC + "crawl": ["linkeddata"],
            RC + "software": ["rdfcrawl 0.1.0"],
        }
    }


def test_times_and_numbers_are_typed() -> None:
    """If a value is a time or a number, then a query can compare it."""
    types = {
        (quad.predicate.value, quad.object.datatype.value)
        for quad in ox.parse(describe(document(), WORKER), ox.RdfFormat.N_QUADS)
        if isinstance(quad.object, ox.Literal)
    }
    assert {
        (PROV + "startedAtTime", XSD + "dateTime"),
        (SQ + "approxNumberOfTriples", XSD + "integer"),
        (HTTP + "statusCodeValue", XSD + "integer"),
        (RC + "bytes", XSD + "integer"),
        (SQ + "status", XSD + "string"),
    } <= types


FAULT = [Fault(Reason.SYNTAX, "line 3")]
MENDED = [Fault(Reason.REPAIRED, "a comma")]


@pytest.mark.parametrize(
    ("facts", "status", "is_entity"),
    [
        ({}, "SUCCESSFUL", True),
        ({"n_quads": 0}, "SUCCESSFUL", True),
        ({"faults": FAULT}, "PARTIAL", True),
        ({"faults": MENDED}, "SUCCESSFUL", True),
        ({"faults": FAULT, "n_quads": 0, "n_documents": 2}, "PARTIAL", True),
        ({"faults": FAULT, "is_partial": True}, "PARTIAL", True),
        ({"faults": FAULT, "is_partial": True, "n_quads": 0}, "FAILED", False),
        ({"faults": FAULT, "n_quads": 0, "format": None}, "FAILED", False),
        ({"n_quads": 0, "format": None, "status": 304}, "UNCHANGED", False),
        ({"n_quads": 0, "format": None, "status": 302}, "REDIRECTED", False),
        ({"n_quads": 0, "format": None, "status": 0}, "UNKNOWN", False),
    ],
)
def test_status(facts: dict[str, Any], status: str, *, is_entity: bool) -> None:
    """If a crawl ended so, then this is its status, and only data make an entity."""
    crawled = document(**facts)
    assert status_of(crawled) == status
    assert (crawled.url in read(describe(crawled, WORKER))) is is_entity


def test_unfetched_document_has_no_response_and_no_times() -> None:
    """If a document was refused before its fetch, then nothing is made up."""
    refused = Document(
        record=Record(url="http://example.org/x"),
        url="http://example.org/x",
        faults=[Fault(Reason.ROBOTS_DISALLOWED)],
    )
    found = read(describe(refused, WORKER))
    name = activity_iri(refused, WORKER)
    assert set(found) == {name, name + ":fault:0"}
    assert PROV + "startedAtTime" not in found[name]
    assert found[name + ":fault:0"] == {
        RDF + "type": [RC + "Fault"],
        RC + "reason": ["robots_disallowed"],
        RC + "count": ["1"],
    }


def chain_of(found: Description, name: str) -> list[str]:
    """Return the URLs of the redirect chain, in order."""
    urls, cell = [], found[name][RC + "redirects"][0]
    while cell != RDF + "nil":
        (url,), (cell,) = found[cell][RDF + "first"], found[cell][RDF + "rest"]
        urls.append(url)
    return urls


def test_redirect_chain_keeps_its_order() -> None:
    """If a document was redirected, also between hosts, then the order is kept."""
    crawled = document(
        record=Record(url="http://b.example/1", chain=("http://a.example/z",)),
        url="http://b.example/0",
        requested=("http://b.example/1", "http://b.example/2", "http://b.example/0"),
    )
    assert chain_of(read(describe(crawled, WORKER)), activity_iri(crawled, WORKER)) == [
        "http://a.example/z",
        "http://b.example/1",
        "http://b.example/2",
        "http://b.example/0",
    ]


def test_faults_keep_their_order_and_number() -> None:
    """If there are many faults, then the first are described and all are counted."""
    faults = [Fault(Reason.BAD_TERM, f"line {i}", i) for i in range(MAX_FAULTS + 5)]
    crawled = document(faults=faults)
    found = read(describe(crawled, WORKER))
    name = activity_iri(crawled, WORKER)
    assert found[name][RC + "faults"] == [str(MAX_FAULTS + 5)]
    assert len(found[name][RC + "fault"]) == MAX_FAULTS
    for position in range(MAX_FAULTS):
        fault = found[f"{name}:fault:{position}"]
        assert fault[RC + "count"] == [str(position)]
        assert fault[RC + "detail"] == [f"line {position}"]


def test_each_crawl_has_a_name_of_its_own() -> None:
    """If worker, URL or start differ, then so does the name of the activity."""
    same = activity_iri(document(), WORKER)
    assert activity_iri(document(n_quads=3), WORKER) == same
    others = {
        activity_iri(document(started_ms=1_790_000_000_008), WORKER),
        activity_iri(document(record=Record(url="http://example.org/you")), WORKER),
        activity_iri(document(), WorkerAgent(name="host-2", crawl="linkeddata")),
        activity_iri(document(), WorkerAgent(name="host-1", crawl="other")),
    }
    assert len(others | {same}) == 5


@pytest.mark.parametrize(
    ("url", "term"),
    [
        ("http://example.org/a?b=c&d#e", "<http://example.org/a?b=c&d#e>"),
        ("http://[2001:db8::1]:8080/", "<http://[2001:db8::1]:8080/>"),
        ("http://example.org/ü", "<http://example.org/ü>"),
        ("https://example.org/?q={x}|y", "<https://example.org/?q=%7Bx%7D%7Cy>"),
        ("http://example.org/a[1]", "<http://example.org/a%5B1%5D>"),
        ("http://example.org/100%", "<http://example.org/100%25>"),
        ("http://example.org/a b", "<http://example.org/a%20b>"),
        ("http://[bad/", f'"http://[bad/"^^<{XSD}anyURI>'),
        ("http://[::::]/", f'"http://[::::]/"^^<{XSD}anyURI>'),
        ("http://a b/", f'"http://a b/"^^<{XSD}anyURI>'),
        ("/relative", f'"/relative"^^<{XSD}anyURI>'),
        ("", f'""^^<{XSD}anyURI>'),
    ],
)
def test_url_becomes_an_iri_or_else_a_literal(url: str, term: str) -> None:
    """If a URL is not an IRI, then it is percent-encoded, or kept as `xsd:anyURI`."""
    assert iri_or_literal(url) == term


def is_iri(text: str) -> bool:
    """Return whether a strict parser takes `text` as an absolute IRI."""
    try:
        ox.NamedNode(text)
    except ValueError:
        return False
    return True


URLS = st.one_of(
    st.text(),
    st.text(alphabet="abz:/?#[]@!$&'()*+,;=%41.-_~ \"<>\\^`{|}é\ue000\U0001f600"),
    st.builds(
        "http://{}/{}".format,
        st.text(alphabet="abc.[]:1%@é|", max_size=12),
        st.text(alphabet="abc/?#[]{}|^%20é \ud800\ufffe\ue000"),
    ),
)


@settings(max_examples=examples(500))
@given(URLS)
def test_iri_is_written_if_and_only_if_it_is_one(url: str) -> None:
    """If a strict parser takes a URL as an IRI, then it is written as it is."""
    assert is_iri(graph_iri(url))
    if is_iri(url) and "[v" not in url.lower():
        assert graph_iri(url) == url


@settings(max_examples=examples(300))
@given(st.text(st.characters()))
def test_literal_comes_back_exactly(text: str) -> None:
    """If any text is written, then it is read back; surrogates become U+FFFD."""
    line = f"<urn:a> <urn:b> {literal(text)} .\n".encode()
    (quad,) = ox.parse(line, ox.RdfFormat.N_QUADS)
    assert isinstance(quad.object, ox.Literal)
    assert quad.object.value == re.sub("[\ud800-\udfff]", "\ufffd", text)
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", line)


TEXTS = st.text(max_size=20)
COUNTS = st.integers(0, 2**63)
TIMES = st.integers(0, 253_402_300_799_999)  # to the end of the year 9999


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Draw documents with any text in every place that the web can write to."""
    return Document(
        record=Record(
            url=draw(URLS),
            depth=draw(st.integers(0, 255)),
            parent=draw(URLS),
            chain=tuple(draw(st.lists(URLS, max_size=3))),
        ),
        url=draw(URLS),
        response=FetchedResponse(
            requested=tuple(draw(st.lists(URLS, max_size=3))),
            status=draw(st.integers(0, 999)),
            media_type=draw(TEXTS),
            etag=draw(TEXTS),
            last_modified=draw(TEXTS),
            n_bytes=draw(COUNTS),
            started_ms=draw(TIMES),
            ended_ms=draw(TIMES),
            is_partial=draw(st.booleans()),
        ),
        reading=ReadResult(
            format=draw(st.sampled_from([None, TURTLE])), decided_by=draw(TEXTS)
        ),
        n_quads=draw(COUNTS),
        n_links=draw(COUNTS),
        faults=draw(
            st.lists(
                st.builds(Fault, st.sampled_from(Reason), TEXTS, COUNTS), max_size=3
            )
        ),
    )


@settings(max_examples=examples(200))
@given(documents())
def test_any_document_gives_strict_nquads_with_its_values(crawled: Document) -> None:
    """If a document holds any text at all, then its description parses and is true."""

    def as_read(text: str) -> str:
        return re.sub("[\ud800-\udfff]", "\ufffd", text)

    def as_iri_or_read(url: str) -> str:
        iri = graph_iri(url)
        return as_read(url) if iri.startswith("urn:rdfcrawl:document:") else iri

    found = read(describe(crawled, WORKER))
    name = activity_iri(crawled, WORKER)
    activity = found[name]
    assert activity[SQ + "crawled"] == [as_iri_or_read(crawled.record.url)]
    assert activity[SQ + "approxNumberOfTriples"] == [str(crawled.n_quads)]
    assert activity[SQ + "status"] == [status_of(crawled)]
    for position, fault in enumerate(crawled.faults):
        node = found[f"{name}:fault:{position}"]
        assert node[RC + "reason"] == [fault.reason]
        assert "".join(node[RC + "detail"]) == as_read(fault.detail)
    if crawled.status:
        response = found[name + ":response"]
        assert "".join(response[RC + "etag"]) == as_read(crawled.response.etag)
        assert "".join(response[RC + "mediaType"]) == as_read(crawled.media_type)
        assert "".join(response[RC + "lastModified"]) == as_read(
            crawled.response.last_modified
        )
    urls = [*crawled.record.chain, *crawled.response.requested]
    if crawled.record.chain or len(crawled.response.requested) > 1:
        assert chain_of(found, name) == [as_iri_or_read(url) for url in urls]


@settings(max_examples=examples(50))
@given(st.lists(documents(), max_size=4), st.booleans())
def test_records_come_back_from_their_block(some: list[Document], first: bool) -> None:
    """If activities are stored in one block, then their statements come back."""
    activities = [activity_of(each, WORKER) for each in some]
    same = [SameContent(x.url, x.started_ms, "http://example.org/") for x in activities]
    given = ActivityBlock(WORKER, activities, same, is_first=first)
    line = encode_block(given)
    assert line.count(b"\n") == 1
    found = decode_block(line)
    assert list(iter_statements([found])) == list(iter_statements([given]))


def test_each_document_of_a_page_is_a_crawl_of_its_own() -> None:
    """If pages and documents of a source begin together, then all are kept apart."""
    url = "http://example.org/sparql"
    records = [Record(url, Kind.SPARQL, task=SourceTask(n)) for n in range(3)]
    names = {
        activity_iri(document(record=record, url=graph), WORKER)
        for record in records
        for graph in (url, f"{url}#1", f"{url}#2")
    }
    assert len(names) == 9


def test_what_a_source_has_deleted_is_invalidated() -> None:
    """If a source says that a document is gone, then its graph is invalidated."""
    record = Record("http://example.org/", Kind.CKAN, task=SourceTask(2, is_named=True))
    gone = document(
        record=record,
        url="http://example.org/d",
        requested=(),
        is_deleted=True,
        n_quads=0,
        n_bytes=0,
    )
    found = read(describe(gone, WORKER))
    name = activity_iri(gone, WORKER)
    assert found[name][f"{SQ}status"] == ["DELETED"]
    assert found[name][f"{RC}task"] == ["source(run=2, is_named=True)"]
    assert found["http://example.org/d"] == {f"{PROV}wasInvalidatedBy": [name]}
    assert f"{RC}bytes" not in found[f"{name}:response"]


def test_facts_are_described() -> None:
    """If facts of a document are known, then each is a term; the run is one, too."""
    facts = DocumentFacts(
        *("c" * 32, "7" * 32, "AAAA", 9, "http://e/a|b", "xml"),
        n_images=1,
        n_words=30,
        n_linked_words=20,
        is_error_page=True,
    )
    worker = replace(WORKER, run=3)
    crawled = document(facts=facts)
    found = read(describe(crawled, worker))[activity_iri(crawled, worker)]
    assert {name: found[RC + name] for name in ("run", *_FACTS)} == {
        "run": ["3"],
        "contentHash": ["c" * 32],
        "textHash": ["7" * 32],
        "sketch": ["AAAA"],
        "canonical": ["http://e/a%7Cb"],
        "sitemapFormat": ["xml"],
        "shingles": ["9"],
        "images": ["1"],
        "words": ["30"],
        "linkedWords": ["20"],
        "errorPage": ["true"],
    }
    plain = read(describe(document(), WORKER))[activity_iri(document(), WORKER)]
    assert not {RC + name for name in _FACTS} & plain.keys()


_FACTS = (
    *("contentHash", "textHash", "sketch", "canonical", "sitemapFormat", "shingles"),
    *("images", "words", "linkedWords", "errorPage"),
)
_ROBOTS = "http://example.org/robots.txt"


@pytest.mark.parametrize(
    ("task", "parent", "found_by"),
    [
        (SourceTask(1, is_named=True), "", ["operator"]),
        (SourceTask(1, payload=SitemapTask()), _ROBOTS, ["robots"]),
        (SourceTask(1, payload=SitemapTask(depth=1)), "http://e/i", ["index"]),
        (SourceTask(1, payload=SitemapTask(is_guess=True)), _ROBOTS, ["guess"]),
        (SourceTask(1, payload=SitemapTask(ping=1)), "", ["ping"]),
        (SourceTask(1), "http://example.org/page", ["discovery"]),
        (SourceTask(1, is_named=True, payload=RobotsTask()), "", []),
        (SourceTask(1, payload=ConsentTask("e")), "", []),
    ],
)
def test_sitemaps_say_how_they_were_found(
    task: SourceTask, parent: str, found_by: list[str]
) -> None:
    """If a sitemap was asked for, then it is known who named it."""
    url = "http://example.org/sitemap.xml"
    crawled = document(record=Record(url, Kind.SITEMAP, parent=parent, task=task))
    found = read(describe(crawled, WORKER))[activity_iri(crawled, WORKER)]
    assert found.get(RC + "foundBy", []) == found_by
