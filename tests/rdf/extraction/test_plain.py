"""Small documents that are read at once, without `DocumentReading`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.formats import format_of_media_type
from rdfcrawl.core.namespaces import RDF
from rdfcrawl.rdf.environment import INLINE, ParseLimits
from rdfcrawl.rdf.extraction.messages import ReadingJob
from rdfcrawl.rdf.extraction.plain import read_plain
from rdfcrawl.rdf.extraction.reading import DocumentReading
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.rdf.links.outlinks import OutlinkOptions
from rdfcrawl.rdf.links.policy import LinkPolicy
from tests.bench.documents.sites import linked_data
from tests.corpora import cases

if TYPE_CHECKING:
    from rdfcrawl.rdf.extraction.plain import PlainReading

TURTLE, RDF_XML = "text/turtle", "application/rdf+xml"
JSON_LD, N_QUADS = "application/ld+json", "application/n-quads"
URL = "http://e.example/d"
JOB = ReadingJob(
    url=URL,
    graph=graph_iri(URL),
    media_type=TURTLE,
    wants_fingerprint=True,
    outlinks=OutlinkOptions(LinkPolicy(), 1000),
)
SMALL = b"<http://e.example/s> <http://e.example/p> 'a', <#b> ."
IN_XML = (
    b'<rdf:RDF xmlns:rdf="' + RDF.encode() + b'" xmlns="http://e.example/">'
    b'<rdf:Description rdf:about="s">%s</rdf:Description></rdf:RDF>'
)


def plain(body: bytes, job: ReadingJob = JOB) -> PlainReading | None:
    """Return the document, if it is read at once."""
    return read_plain(
        body,
        url=job.url,
        graph=job.graph or "",
        media_type=job.media_type,
        charset=job.charset,
        trust=job.trust,
        limits=job.limits,
        environment=INLINE,
        wants_fingerprint=job.wants_fingerprint,
        outlinks=job.outlinks,
    )


def is_equal(body: bytes, job: ReadingJob) -> bool:
    """Return whether a document is read at once, with the usual result."""
    found = plain(body, job)
    if found is None:
        return False
    full = DocumentReading(body, job)
    assert found.chunk == b"".join(full)
    out, reading = full.outcome, found.reading
    assert [*found.faults] == out.faults
    assert not out.is_partial
    assert (found.n_quads, found.facts) == (out.n_quads, out.facts)
    assert (reading.format, reading.decided_by) == (out.format, out.decided_by)
    assert (reading.outlinks, reading.targets) == (out.outlinks, out.targets)
    return True


@pytest.mark.parametrize("media_type", [TURTLE, RDF_XML, JSON_LD])
def test_usual_documents_are_read_at_once(media_type: str) -> None:
    """If a document has no faults, then it is read at once, with the usual result."""
    documents = linked_data(80, media_type, n_hosts=1, a_host=12)
    for url, (_, body) in documents.items():
        job = replace(JOB, url=url, graph=graph_iri(url), media_type=media_type)
        assert is_equal(body, job)
        plain(body[: len(body) // 2], job)


def test_corpora() -> None:
    """If a document of the corpora is read at once, then with the usual result."""
    n_read = 0
    for case in cases.load(cases.FOLDER):
        document = case.document
        media_type, _, charset = document.media_type.partition("; charset=")
        found = format_of_media_type(media_type)
        if found is None or found.name not in ("Turtle", "RDF/XML", "JSON-LD"):
            continue
        url = f"http://e.example/{document.path}"
        job = replace(JOB, url=url, graph=graph_iri(url), media_type=media_type)
        n_read += is_equal(document.body, replace(job, charset=charset))
    assert n_read > 20


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (b"", TURTLE),
        (b"@prefix e: <http://e.example/> .", TURTLE),
        (SMALL + b" bad", TURTLE),
        (SMALL[:-1], TURTLE),
        (SMALL.replace(b"'a'", b"'\xff'"), TURTLE),
        (b"@prefix r: <%s> . <a> <b> 'c'^^r:langString ." % RDF.encode(), TURTLE),
        (b"<a> <b> " + b"<<( <a> <b> " * 600 + b"<c>" + b" )>>" * 600 + b" .", TURTLE),
        (b"@prefix p: <u:%s> . p: p: p:a, p:b, p:c, p:d ." % (b"a" * 30_000), TURTLE),
        (SMALL + b"#" * 40_000, TURTLE),
        (b"<a> <b> 1, " + b", ".join(b"%d" % n for n in range(2000)) + b" .", TURTLE),
        (IN_XML % b'<p xml:lang="e">a', RDF_XML),
        (IN_XML % b"<p>a<!-- b -->c</p>", RDF_XML),
        (IN_XML % b'<p rdf:about="q">a</p>', RDF_XML),
        (b'<!DOCTYPE r [<!ENTITY e SYSTEM "f">]>' + IN_XML % b"<p>&e;</p>", RDF_XML),
        (b'<!DOCTYPE r [<!ENTITY e SYSTEM "f">]>' + IN_XML % b"<p>a</p>", RDF_XML),
        ((IN_XML % b"<p>a</p>").removesuffix(b"</rdf:RDF>"), RDF_XML),
        (b'{"@context": "http://e.example/c", "a": 1}', JSON_LD),
        (b'{"http://e.example/p": ["a", "b"', JSON_LD),
        (b'{"http://e.example/p": ["a", "\xff"]}', JSON_LD),
        (b'{"http://e.example/p": "%s"}' % (b"a" * 40_000), JSON_LD),
        (b'{"http://e.example/p": 1}\n{"http://e.example/p": 2}', JSON_LD),
    ],
)  # fmt: skip
def test_other_documents(body: bytes, media_type: str) -> None:
    """If a document has a fault or is unusual, then it is not read at once."""
    assert plain(body, replace(JOB, media_type=media_type)) is None


def test_faults_are_kept() -> None:
    """If JSON-LD has a fault or graphs, then it is read at once, with its faults."""
    bad = b'{"@id": "s", "http://e.example/p": [{"@id": "http://e.example/a b"}, 1]}'
    graphs = b'{"@id": "http://o.example/g", "@graph": [%s]}' % bad
    job = replace(JOB, media_type=JSON_LD)
    for body in (bad, graphs):
        found = plain(body, job)
        assert found is not None
        assert found.faults
        assert is_equal(body, job)


def test_graphs_are_trusted() -> None:
    """If a dataset may name graphs of another site, then also in a small part."""
    bare, graph = b'<s:a> <p:a> "a"', b" <http://o.example/g> .\n"
    node = b'{"@id": "http://o.example/g", "@graph": {"p:a": "a"}}'
    for body, media_type in (bare + graph, N_QUADS), (node, JSON_LD):
        job = replace(JOB, media_type=media_type)
        assert is_equal(body, job)
        assert is_equal(body, replace(job, trust=("http://o.example/",)))
        found = plain(body, replace(job, trust=("http://o.example/",)))
        assert found is not None
        assert found.chunk.endswith(graph)
        assert not found.faults
    job = replace(JOB, media_type=N_QUADS)
    body = bare + graph
    for others in bare + b" .\n", bare + b" _:g .\n_:a <p:a> _:g .\n":
        assert is_equal(others, job)
        assert is_equal(others + body, job)
    assert plain(body + body, replace(job, limits=ParseLimits(n_quads=1))) is None
    assert plain(body, replace(job, limits=ParseLimits(literal_bytes=9))) is None


def test_limits_hold() -> None:
    """If a document exceeds a limit, then it is not read at once."""
    assert plain(SMALL) is not None
    for limits in (
        ParseLimits(doc_bytes=10),
        ParseLimits(n_quads=1),
        ParseLimits(literal_bytes=60),
    ):
        assert plain(SMALL, replace(JOB, limits=limits)) is None
    job = replace(JOB, media_type=JSON_LD)
    body = b'{"http://e.example/p": [1, 2]}'
    assert plain(body, job) is not None
    for limits in ParseLimits(doc_bytes=10), ParseLimits(n_quads=1):
        assert plain(body, replace(job, limits=limits)) is None
    assert plain(SMALL, replace(JOB, charset="latin-1")) is not None
    assert plain(SMALL, replace(JOB, media_type="text/html")) is None
