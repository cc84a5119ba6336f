"""Documents that are too large, too deep or hostile, through the public `parse`."""

from __future__ import annotations

import io
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import NeedsSandbox, Reason
from rdfcrawl.rdf.environment import ParseLimits, ReaderContext
from rdfcrawl.rdf.hdt import write_hdt
from rdfcrawl.rdf.output import CHUNK_BYTES
from rdfcrawl.rdf.parse import parse
from rdfcrawl.rdf.unpack.scratch import MemoryScratch
from tests.support.cpu_time import takes_at_most
from tests.support.rdf_parsing import (
    LD,
    NT,
    RDF,
    TTL,
    URL,
    XML,
    objects,
    read,
    reasons,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def entity(declarations: str, text: str = "&a;") -> str:
    """Return RDF/XML with a document type."""
    return (
        f"<!DOCTYPE rdf:RDF [{declarations}]>{RDF}"
        f'<rdf:Description rdf:about="http://s/{text}"><e:b>&amp;</e:b>'
        "</rdf:Description></rdf:RDF>"
    )


@pytest.mark.parametrize(
    "declarations",
    ['<!ENTITY a "x" >', "<!-- c --><!ENTITY\ta 'x'><!ENTITY b\n'&#38;&lt;'>"],
)
def test_plain_entities_are_read(
    as_source: Callable[[bytes], Any], declarations: str
) -> None:
    """If entities shorten text, as in ontologies, then they are replaced."""
    text, parsed = read(as_source(entity(declarations).encode()), XML)
    assert text == '<http://s/x> <http://e/b> "&" .\n'
    assert parsed.faults == []


BOMB = '<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {name} "{f"&{last};" * 10}">'
    for last, name in zip("abcdefghi", "bcdefghij", strict=True)
)


def test_references_to_long_entities_are_bounded() -> None:
    """If long entities are repeated very often, then reading ends."""
    declaration = f'<!ENTITY a "{"x" * 2000}">'
    text, parsed = read(entity(declaration).encode(), XML)
    assert "x" * 2000 in text
    assert parsed.faults == []
    with takes_at_most(10):
        _, parsed = read(entity(declaration, "&a;" * 10_000).encode(), XML)
    assert reasons(parsed) == {Reason.ENTITY_EXPANSION: 1}


@pytest.mark.parametrize(
    "body",
    [
        entity(BOMB, "&j;"),
        entity("".join(f'<!ENTITY a{i} "{"x" * 900}">' for i in range(100))),
        RDF + f"<!DOCTYPE x [{BOMB}]><e:a e:b='&j;'/></rdf:RDF>",
        " " * 300_000 + entity(BOMB, "&j;"),
    ],
    ids=["bomb", "many", "inside", "late"],
)
def test_dangerous_entities_are_refused(
    as_source: Callable[[bytes], Any], body: str
) -> None:
    """If entities grow, then the document is refused immediately."""
    with takes_at_most(10):
        text, parsed = read(as_source(body.encode()), XML)
    assert text == ""
    assert reasons(parsed) == {Reason.ENTITY_EXPANSION: 1}
    assert parsed.is_partial


@pytest.mark.parametrize(
    "declarations",
    [
        '<!ENTITY a SYSTEM "http://127.0.0.1/x">',
        '<!ENTITY a PUBLIC "x" "file:///etc/passwd">',
        '<!ENTITY % a SYSTEM "file:///etc/passwd">%a;',
    ],
)
def test_what_entities_reach_for_is_not_fetched(
    as_source: Callable[[bytes], Any], declarations: str
) -> None:
    """If an entity is external, then it costs the statement that refers to it."""
    last = '<e:T rdf:about="http://e/z"/></rdf:RDF>'
    body = entity(declarations).replace("</rdf:RDF>", last)
    text, parsed = read(as_source(body.encode()), XML)
    assert text.count("\n") == 1
    assert text.startswith("<http://e/z> ")
    assert reasons(parsed) == {Reason.ENTITY_EXPANSION: 1, Reason.BAD_TERM: 1}
    assert not parsed.is_partial


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        (TTL, "<http://a> <http://b> " + "<<( <http://a> <http://b> " * 100_000),
        (NT, "<http://a> <http://b> " + "<<( <http://a> <http://b> " * 30_000),
        (TTL, "<< " * 100_000),
        (LD, '{"http://a/b":' * 100_000 + "1" + "}" * 100_000),
        (LD, '{"http://a/b":' + '{"@list":[' * 100_000 + "]}" * 100_000 + "}"),
    ],
)
def test_deep_nesting_is_refused(media_type: str, body: str) -> None:
    """If a document would overflow the stack, then it is refused."""
    text, parsed = read(body, media_type)
    assert text == ""
    assert parsed.faults[0].detail.startswith("nested deeper than")


def chained(n: int) -> str:
    """Return JSON-LD with a context of terms, each defined by the next one."""
    terms = ",".join(f'"t{i}":{{"@id":"t{i + 1}:x"}}' for i in range(n))
    return f'{{"@context":[{{}},{{{terms},"t{n}":"http://t/"}}],"t0":"x"}}'


def test_chained_terms_are_refused() -> None:
    """If a context would overflow the stack, then the document is refused."""
    text, parsed = read(chained(9000), LD)
    assert text == ""
    assert parsed.faults[0].detail.startswith("nested ")


def test_large_context_is_read() -> None:
    """If a context has many terms of one prefix, as schema.org's, it is read."""
    terms = ",".join(f'"t{i}":{{"@id":"s:t{i}","@type":"@id"}}' for i in range(3000))
    body = f'{{"@context":{{"s":"http://s/",{terms}}},"@id":"s:a","t7":"http://b"}}'
    text, parsed = read(body, LD)
    assert text == "<http://s/a> <http://s/t7> <http://b> .\n"
    assert parsed.faults == []


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        (LD, '[{"@id":"http://a","http://b":["{[' + '{"},"\\"[' * 900 + '"]}]'),
        (TTL, "<a> <b> '" + "<< " * 900 + "' . # <<\n" + "<a> <b> <c> .\n" * 3),
        (TTL, "<a> <b> <<( <a> <b> <c> )>> .\n" * 900),
        (LD, "[" + ",".join(['{"@id":"http://a","http://b":"x"}'] * 900) + "]"),
    ],
)
def test_brackets_that_do_not_nest_are_no_depth(media_type: str, body: str) -> None:
    """If brackets stand in text or side by side, then they do not count."""
    _, parsed = read(body, media_type)
    assert not any("nested" in fault.detail for fault in parsed.faults)


@pytest.fixture(scope="module")
def hdt() -> bytes:
    """An HDT file of two statements."""
    out = io.BytesIO()
    lines = [b'<http://a> <http://b> "1" .\n', b"<http://a> <http://b> <http://c> .\n"]
    write_hdt(lines, out, base="http://e.example/")
    return out.getvalue()


def test_hdt_is_read_as_a_map(as_source: Callable[[bytes], Any], hdt: bytes) -> None:
    """If a document is HDT, in memory or in a file, then it is read."""
    lifted: list[int] = []
    environment = ReaderContext(lift=lifted.append, is_bounded=True)
    text, parsed = read(as_source(hdt), "application/vnd.hdt", environment=environment)
    assert sorted(objects(text)) == ['"1"', "<http://c>"]
    assert (parsed.faults, parsed.is_partial) == ([], False)
    assert lifted in ([], [len(hdt)])


def test_hdt_of_a_stream_is_put_aside(hdt: bytes) -> None:
    """If HDT passes by in a stream, then it is put aside, or goes where it can be."""

    def stream() -> ByteSource:
        return ByteSource(stream=io.BufferedReader(io.BytesIO(hdt)))

    environment = ReaderContext(scratch=MemoryScratch(10_000), is_bounded=True)
    text, parsed = read(stream(), "", environment=environment)
    assert sorted(objects(text)) == ['"1"', "<http://c>"]
    environment = ReaderContext(scratch=MemoryScratch(100), is_bounded=True)
    text, parsed = read(stream(), "", environment=environment)
    assert (text, reasons(parsed)) == ("", {Reason.TOO_LARGE: 1})
    with pytest.raises(NeedsSandbox):
        read(stream(), "", environment=ReaderContext())


def test_hdt_is_not_cut(as_source: Callable[[bytes], Any], hdt: bytes) -> None:
    """If HDT is too large, then it is refused: its begin says nothing."""
    limits, environment = ParseLimits(doc_bytes=200), ReaderContext(is_bounded=True)
    text, parsed = read(as_source(hdt), limits=limits, environment=environment)
    faults = {Reason.REPAIRED: 1, Reason.TOO_LARGE: 1}  # it has another media type
    assert (text, reasons(parsed)) == ("", faults)
    assert parsed.is_partial


def test_json_ld_of_a_stream_is_read() -> None:
    """If JSON-LD passes by in a stream, then all of it is processed."""
    body = io.BytesIO(b'{"@id":"http://a","http://b":{"@set":["1"]}}')
    source = ByteSource(stream=io.BufferedReader(body))
    text, parsed = read(source, LD)
    assert (objects(text), parsed.faults) == (['"1"'], [])


def test_long_json_ld_is_read_as_a_stream(tmp_path: Path) -> None:
    """If JSON-LD is long, then it is read without being kept."""
    path = tmp_path / "long.jsonld"
    one = b'{"@id":"http://a","http://b":"%s"}' % (b"x" * 100_000)
    path.write_bytes(b"[" + b",".join([one] * 200) + b"]")
    text, parsed = read(path, LD)
    assert text.count("\n") == 200
    assert parsed.faults == []


class TestLimits:
    """Statements over a limit are left out and named; the rest is kept."""

    def test_long_literals_are_dropped(self, as_source: Callable[[bytes], Any]) -> None:
        """If a literal is too long, then its statement is dropped and counted."""
        body = '<http://a> <http://b> "1", "%s", "2" .' % ("x" * 2000)
        limits = ParseLimits(literal_bytes=1000)
        text, parsed = read(as_source(body.encode()), limits=limits)
        assert objects(text) == ['"1"', '"2"']
        assert reasons(parsed) == {Reason.LITERAL_TOO_LONG: 1}
        assert not parsed.is_partial

    def test_huge_line_needs_no_memory(self, tmp_path: Path) -> None:
        """If a line has 100 MB, then it is dropped in bounded memory."""
        path = tmp_path / "huge.nt"
        good = b'<http://a> <http://b> "1" .\n'
        with path.open("wb") as file:
            file.write(good + b'<http://a> <http://b> "')
            for _ in range(100):
                file.write(b"x" * 1_000_000)
            file.write(b'" .\n' + good)
        tracemalloc.start()
        text, parsed = read(path, NT)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert objects(text) == ['"1"', '"1"']
        assert reasons(parsed) == {Reason.LITERAL_TOO_LONG: 1}
        assert peak < 8_000_000

    def test_token_longer_than_the_parser_takes(self) -> None:
        """If one token of Turtle has 20 MB, then the statements before are kept."""
        body = b"<http://a> <http://b> 1 .\n" + b"<http://a> <http://b> '%s' ."
        text, parsed = read(body % (b"x" * 20_000_000))
        assert len(objects(text)) <= 1
        assert reasons(parsed) == {Reason.LITERAL_TOO_LONG: 1}
        assert parsed.is_partial

    @pytest.mark.parametrize("media_type", [NT, TTL])
    def test_document_is_cut(
        self, as_source: Callable[[bytes], Any], media_type: str
    ) -> None:
        """If a document is too large, then its begin is read."""
        line = b"<http://a> <http://b> <http://c> .\n"
        limits = ParseLimits(doc_bytes=len(line) * 10)
        _, parsed = read(as_source(line * 20), media_type, limits=limits)
        assert parsed.n_quads == 10
        assert reasons(parsed) == {Reason.TOO_LARGE: 1}
        assert parsed.is_partial

    def test_statements_are_cut(self) -> None:
        """If there are too many statements, then the first are kept."""
        body = "<http://a> <http://b> <http://c> .\n" * 5000
        text, parsed = read(body, NT, limits=ParseLimits(n_quads=4321))
        assert parsed.n_quads == text.count("\n") == 4321
        assert reasons(parsed) == {Reason.TOO_LARGE: 1}
        assert parsed.is_partial

    def test_limit_that_is_just_reached_is_no_fault(self) -> None:
        """If there are as many statements as allowed, then nothing is wrong."""
        body = "<http://a> <http://b> <http://c> .\n" * 10
        _, parsed = read(body, NT, limits=ParseLimits(n_quads=10))
        assert (parsed.n_quads, parsed.faults, parsed.is_partial) == (10, [], False)

    @pytest.mark.parametrize("media_type", [NT, TTL])
    def test_chunks_are_whole_lines(self, media_type: str) -> None:
        """If a document is large, then it comes in bounded chunks of lines."""
        body = b"".join(
            b"<http://a> <http://b> <http://c/%d> .\n" % i for i in range(20_000)
        )
        graph = "http://e.example/" + "g" * 500
        chunks = list(parse(body, url=URL, graph=graph, media_type=media_type))
        assert len(chunks) > 1
        assert all(len(chunk) <= CHUNK_BYTES for chunk in chunks)
        assert all(chunk.endswith(b" .\n") for chunk in chunks)
        assert b"".join(chunks).count(b"\n") == 20_000
