"""Reading one document, in one or two parts."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import NeedsSandbox, Reason
from rdfcrawl.rdf.environment import ParseLimits, ReaderContext
from rdfcrawl.rdf.extraction.messages import ReadingJob
from rdfcrawl.rdf.extraction.reading import DocumentReading
from rdfcrawl.rdf.fingerprints import Fingerprint
from rdfcrawl.rdf.html.extractors import Extractor
from rdfcrawl.rdf.html.microformats import gathering
from rdfcrawl.rdf.links.outlinks import OutlinkOptions, Outlinks
from rdfcrawl.rdf.links.policy import LinkPolicy
from rdfcrawl.rdf.output import CHUNK_BYTES, QuadLines, joined_chunks
from rdfcrawl.rdf.parse import parse
from tests.support.fingerprints import fingerprint_statements

if TYPE_CHECKING:
    from collections.abc import Iterator

JOB = ReadingJob(
    url="http://e.example/page",
    graph=None,
    media_type="text/html",
    charset="utf-8",
)
BOUNDED = ReaderContext(is_bounded=True)
PAGE = b"""<!DOCTYPE html><html><head><title>t</title>
<script type="application/ld+json">{"http://b.example/": [1, "caf%s"]}</script></head>
<body vocab="http://schema.org/" typeof="Person"><i property="name">caf%s</i>
<i property="age">7</i><div class="h-card">Ann</div>
<div itemscope itemtype="http://schema.org/Book"><i itemprop="name">B</i></div>
<a rel="alternate" type="text/turtle" href="/data">d</a></body></html>"""


@pytest.fixture
def has_slow_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have any microformats exceed the limit of a process without bounds."""
    few = replace(gathering.INLINE, work=0)
    monkeypatch.setattr("rdfcrawl.rdf.html.microformats.writing.INLINE", few)


def statements(*chunks: bytes) -> list[bytes]:
    """Return the lines, sorted, with all blank nodes alike."""
    return sorted(re.sub(rb"_:\S+", b"_:x", b"".join(chunks)).splitlines())


@pytest.mark.usefixtures("has_slow_items")
@pytest.mark.parametrize("end", [b"e", b"\xe9"], ids=["good", "bad-charset"])
def test_two_parts_are_the_whole(end: bytes) -> None:
    """If slow extractors read a page later, then the result equals one reading."""
    page = PAGE % (end, end)
    whole = DocumentReading(page, JOB, environment=BOUNDED)
    text = b"".join(whole)
    first = DocumentReading(page, JOB)
    chunks = list(first)
    assert first.outcome.left == {Extractor.MICROFORMATS}
    second = DocumentReading(page, JOB.rest(first.outcome), environment=BOUNDED)
    chunks += second
    assert statements(*chunks) == statements(text)
    parts = (first.outcome, second.outcome)
    assert sum(each.n_quads for each in parts) == whole.outcome.n_quads
    assert parts[0].extracted | parts[1].extracted == whole.outcome.extracted
    assert parts[0].links | parts[1].links == whole.outcome.links
    assert parts[0].faults + parts[1].faults == whole.outcome.faults
    assert len(whole.outcome.faults) == (end != b"e")


@pytest.mark.usefixtures("has_slow_items")
def test_text_that_cannot_be_decoded_is_not_kept_by_the_second_part() -> None:
    """If a literal has bytes that mean nothing, then no reading of the page has it."""
    page = PAGE % (b"\xe9", b"\xe9")
    first = DocumentReading(page, JOB)
    assert b"caf" not in b"".join(first)
    assert [fault.reason for fault in first.outcome.faults] == [Reason.BAD_CHARSET]
    second = DocumentReading(page, JOB.rest(first.outcome), environment=BOUNDED)
    assert b"caf" not in b"".join(second)


@pytest.mark.usefixtures("has_slow_items")
def test_second_part_has_the_limit_that_is_left() -> None:
    """If the number of statements is limited, then both parts share the limit."""
    job = ReadingJob(url=JOB.url, graph=None, limits=ParseLimits(n_quads=10))
    page = PAGE % (b"e", b"e")
    first = DocumentReading(page, job)
    n_first = b"".join(first).count(b"\n")
    second = DocumentReading(page, job.rest(first.outcome), environment=BOUNDED)
    assert 0 < n_first < 10
    assert b"".join(second).count(b"\n") == 10 - n_first


def test_extractors_of_a_page_share_a_chunk() -> None:
    """If several extractors read a page, then its statements are one chunk."""
    page = PAGE % (b"e", b"e")
    chunks = list(DocumentReading(page, JOB))
    assert len(chunks) == 1
    in_bounds = DocumentReading(page, JOB, environment=BOUNDED)
    assert b"".join(in_bounds) == chunks[0]
    assert [*joined(CHUNK_BYTES // 2, CHUNK_BYTES // 2, 2)] == [CHUNK_BYTES, 2]


def test_chunks_before_a_failure_are_kept() -> None:
    """If reading fails, then all chunks before it are passed on first."""
    found: list[int] = []
    with pytest.raises(OSError, match="disk"):
        found.extend(joined(1, 2, error=OSError("disk")))
    with pytest.raises(NeedsSandbox):  # another process starts over
        found.extend(joined(1, 2, error=NeedsSandbox("x")))
    assert found == [3]


def joined(*lengths: int, error: Exception | None = None) -> Iterator[int]:
    """Yield the lengths of joined chunks of some lengths, before an error."""

    def chunks() -> Iterator[QuadLines]:
        for each in lengths:
            yield QuadLines(b"x" * each)
        if error is not None:
            raise error

    yield from map(len, joined_chunks(chunks()))


@pytest.mark.parametrize(
    "document",
    [
        b"<http://e.example/s> <http://e.example/p> <http://e.example/o> .\n" * 3,
        b'_:a <http://e.example/p> "a _:b" .\n_:c <http://e.example/p> _:a .\n',
        b'<http://e.example/s> <http://e.example/p> "x"@en <http://e.example/g> .\n',
        b'<http://e.example/s> <http://e.example/p> "\xc3\xa9 .\\n" .\n',
        b'<http://e.example/s> <http://e.example/p> "\xe9" .\n',
        b'<http://e.example/s>  <http://e.example/p> "x" . # why\nso it is\n',
        b'<http://e.example/s> <http://e.example/p> "' + b"x" * 2000 + b'" .\n',
        b'<http://e.example/s> <http://e.example/p> "x" .\n' * 50,
        b"<http://e.example/s> <http://e.example/p> <http://e.example/" * 500,
        b"\n",
    ],
    ids=[
        *("resources", "blank-nodes", "graph", "escapes", "bad-charset", "comment"),
        *("long", "many", "cut", "empty"),
    ],
)
@pytest.mark.parametrize("graph", ["http://e.example/g b", "http://e.example/page"])
def test_small_documents_are_read_as_others_are(document: bytes, graph: str) -> None:
    """If a document is small, then its statements are those that `parse` gives."""
    media_type = "application/n-quads"
    limits = ParseLimits(n_quads=40, literal_bytes=1500)
    job = ReadingJob(url=JOB.url, graph=graph, media_type=media_type, limits=limits)
    reading = DocumentReading(document, job)
    chunks = b"".join(reading)
    parsed = parse(
        document, url=JOB.url, graph=graph, media_type=media_type, limits=limits
    )
    assert chunks == b"".join(parsed)
    outcome = reading.outcome
    assert outcome.n_quads == parsed.n_quads == chunks.count(b"\n")
    assert outcome.faults == parsed.faults
    assert outcome.is_partial or not parsed.is_partial
    assert outcome.format is parsed.format


_TURTLE = b"""@prefix : <http://e.example/> . [ :p [ :q "a _:b", "> _:c ", <> ] ] .
<> :p <#me>, <http://e.example/page>, <http://e.example/pages>, <http://b.example/#x> .
<#me> :p ( :a <> ) . :a :p [] . <http://e.example/page#x> :p "<http://e.example/page>" .
"""
_LONG = b'[] :p "%s" .\n' % (b"x" * 500)


@pytest.mark.parametrize(
    ("media_type", "document"),
    [
        ("text/turtle", _TURTLE),
        ("text/turtle", _TURTLE + b":a :p <<( :s :p [] )>> .\n"),
        ("text/turtle", _TURTLE + b":a <#p> :b ; :p :a .\n"),
        ("text/turtle", _TURTLE + _LONG * 600),
        ("application/trig", _TURTLE + b":g { :a :p [ :p <> ] }\n"),
        ("application/trig", _TURTLE + b"<> { :a :p [ :p <> ] }\n"),
        (
            "application/ld+json",
            b'{"@id": "", "http://e.example/p": [{}, {"@id": "a"}]}',
        ),
        (
            "application/n-triples",
            b"_:a <http://e.example/p> <http://e.example/page> .\n",
        ),
        ("text/turtle", b":a :b :c .\n"),
    ],
    ids=[
        *("turtle", "triple-terms", "own-predicate", "long", "graphs", "own-graph"),
        *("json-ld", "lines", "nothing"),
    ],
)
def test_facts_are_those_of_the_statements(media_type: str, document: bytes) -> None:
    """If a document is read, then its facts are those of the statements it stores."""
    options = OutlinkOptions(LinkPolicy(), 100)
    job = replace(JOB, graph=JOB.url, media_type=media_type, outlinks=options)
    reading = DocumentReading(document, replace(job, wants_fingerprint=True))
    chunks, outcome = b"".join(reading), reading.outcome
    found = Fingerprint(
        outcome.facts.text_hash, outcome.facts.sketch, outcome.facts.n_shingles
    )
    assert found == fingerprint_statements(chunks, JOB.url) or not chunks
    links = Outlinks(options, JOB.url)
    links.add(chunks)
    lines, targets = links.end()
    assert outcome.targets == targets
    assert sorted(outcome.outlinks.splitlines()) == sorted(lines.splitlines())
    without = DocumentReading(document, job)
    assert b"".join(without) == chunks
    assert (without.outcome.targets, without.outcome.facts.text_hash) == (targets, "")
