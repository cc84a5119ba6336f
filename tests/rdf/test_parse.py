"""Documents of all kinds and faults, through the public `parse`."""

from __future__ import annotations

import io
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.bytesource import ByteSource
from rdfcrawl.errors import NeedsSandbox, Reason, SourceFault
from rdfcrawl.rdf.environment import ReaderContext
from rdfcrawl.rdf.hdt import write_hdt
from rdfcrawl.rdf.limits import ParseLimits
from rdfcrawl.rdf.output import CHUNK_BYTES
from rdfcrawl.rdf.parse import parse
from rdfcrawl.unpack.scratch import MemoryScratch
from tests.support.cpu_time import takes_at_most

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rdfcrawl.rdf.jsonld.sources import ContextDocument
    from rdfcrawl.rdf.parse import DocumentParser

URL = "http://e.example/doc"
P = "@prefix e: <http://e/> .\n"
RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:e="http://e/">'
)
TTL, NT, NQ = "text/turtle", "application/n-triples", "application/n-quads"
TRIG, XML, LD = "application/trig", "application/rdf+xml", "application/ld+json"


class Nothing:
    """Contexts that cannot be had."""

    def load(self, url: str, *, document_url: str) -> ContextDocument:
        """Refuse every one."""
        del document_url
        raise SourceFault(Reason.REMOTE_CONTEXT, url)


BOUNDED = ReaderContext(contexts=Nothing(), is_bounded=True)


def read(
    source: bytes | str | Path | ByteSource, media_type: str = TTL, **options: Any
) -> tuple[str, DocumentParser]:
    """Return the N-Quads without a graph, and the parse."""
    body = source.encode() if isinstance(source, str) else source
    options = {"url": URL, "graph": None, "environment": BOUNDED} | options
    parsed = parse(body, media_type=media_type, **options)
    return b"".join(parsed).decode(), parsed


def objects(text: str) -> list[str]:
    """Return the third term of each line."""
    return [line[:-2].split(" ", 2)[2] for line in text.splitlines()]


def reasons(parsed: DocumentParser) -> dict[Reason, int]:
    """Return how often each fault was counted."""
    return {fault.reason: fault.count for fault in parsed.faults}


@pytest.fixture(params=["bytes", "file"])
def as_source(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[bytes], Any]:
    """A document in memory or on disk."""

    def source(body: bytes) -> bytes | Path:
        if request.param == "bytes":
            return body
        path = tmp_path / "document"
        path.write_bytes(body)
        return path

    return source


def test_statements_go_to_the_graph_of_the_document() -> None:
    """If a document names no graph, then its statements are in the given one."""
    text, parsed = read(P + 'e:a e:b "x .\\n _:y .", <> .', graph=URL)
    assert text == (
        f'<http://e/a> <http://e/b> "x .\\n _:y ." <{URL}> .\n'
        f"<http://e/a> <http://e/b> <{URL}> <{URL}> .\n"
    )
    assert (parsed.n_quads, parsed.faults, parsed.is_partial) == (2, [], False)


def test_base_is_the_given_one_or_the_documents_own() -> None:
    """If a base is given or declared, then relative IRIs are resolved with it."""
    assert "<http://b/x/y>" in read("<y> <y> <y> .", base="http://b/x/z")[0]
    own = "@base <http://own/> . <y> <y> <y> ."
    assert "<http://own/y>" in read(own, base="http://b/x/z")[0]


def test_url_with_characters_iris_lack_is_escaped() -> None:
    """If a URL is not an IRI, then graph and base are its escaped form."""
    url = "http://e.example/a|b"
    text, _ = read("<> <#c> <#c> .", url=url, graph=url)
    assert text.count("<http://e.example/a%7Cb>") == 2


def test_graph_that_is_no_iri_is_refused() -> None:
    """If the graph cannot be an IRI, then nothing is written and that is said."""
    text, parsed = read("<a> <b> <c> .", graph="no iri")
    assert text == ""
    assert reasons(parsed) == {Reason.BAD_TERM: 1}


QUADS = (
    '<http://s/> <http://p/> "a <http://x/>" <http://e.example/g> .\n'
    "<http://s/> <http://p/> <http://o/> <http://other.example/g> .\n"
    "<http://s/> <http://p/> <http://o/> _:g .\n"
    "<http://s/> <http://p/> <http://o/> .\n"
    '<http://s/> <http://p/> "x _:y"@en .\n'
    '<http://s/> <http://p/> "a <b"^^<http://d/> <http://e.example:80/h> .\n'
    "<http://s/> <http://p/> <<( <http://s/> <p:p> _:b )>> <https://e.example/> .\n"
)


def test_foreign_graphs_are_folded_into_the_documents_own() -> None:
    """If a quad names a graph of another origin, then it goes to the document's."""
    text, parsed = read(QUADS, NQ, graph=URL)
    graphs = [line.split(" ")[-2] for line in text.splitlines()]
    own = f"<{URL}>"
    kept = ["<http://e.example/g>", "<http://e.example:80/h>"]
    assert graphs == [kept[0], own, own, own, own, kept[1], own]
    assert reasons(parsed) == {Reason.FOREIGN_GRAPH: 3}
    assert '"x _:y"@en' in text


def test_trusted_graph_names_are_kept() -> None:
    """If all graph names are trusted, then only the default graph is renamed."""
    text, parsed = read(QUADS, NQ, graph=URL, trust="all")
    assert text.count(f" <{URL}> .\n") == 2
    assert "<http://other.example/g> .\n" in text
    assert parsed.faults == []


@pytest.mark.parametrize("media_type", [TRIG, LD])
def test_graphs_of_other_formats_are_judged_too(media_type: str) -> None:
    """If TriG or JSON-LD name a foreign graph, then it is folded as well."""
    body = {
        TRIG: "<http://evil/g> { <http://s/> <http://p/> 1 }",
        LD: '{"@id":"http://evil/g","@graph":{"@id":"http://s/","http://p/":1}}',
    }[media_type]
    text, parsed = read(body, media_type, graph=URL)
    assert "evil" not in text
    assert f"<{URL}> .\n" in text
    assert reasons(parsed) == {Reason.FOREIGN_GRAPH: 1}


Bad = tuple[str, str, list[str], dict[Reason, int], bool]
BAD: dict[str, Bad] = {
    "nt bad line": (
        NT,
        '<http://a> <http://b> "1" .\n<http://a> bad .\n<http://a> <http://b> "2" .\n',
        ['"1"', '"2"'],
        {Reason.SYNTAX: 1},
        False,
    ),
    "nt open quote": (
        NT,
        (
            '<http://a> <http://b> "1 .\n<http://a> <http://b> "2" .\n'
            '<http://a> <http://b> "3" .\n'
        ),
        ['"2"', '"3"'],
        {Reason.SYNTAX: 1},
        False,
    ),
    "nt line cut off by a good one": (
        NT,
        '<http://a> <http://b>\n<http://a> <http://b> "2" .\n',
        ['"2"'],
        {Reason.SYNTAX: 1},
        False,
    ),
    "nt bad IRI": (
        NT,
        '<http://a b> <http://b> "1" .\n<http://a> <http://b> "2" .\n',
        ['"2"'],
        {Reason.SYNTAX: 1},
        False,
    ),
    "nt nul": (
        NT,
        '<http://a> \0<http://b> "1" .\n<http://a> <http://b> "2" .\n',
        ['"2"'],
        {Reason.SYNTAX: 1},
        False,
    ),
    "nt carriage returns": (
        NT,
        '<http://a> <http://b> "1" .\rbad\r\n<http://a> <http://b> "2" .\r',
        ['"1"', '"2"'],
        {Reason.SYNTAX: 1},
        False,
    ),
    "nt truncated": (
        NT,
        '<http://a> <http://b> "1" .\n<http://a> <http://b> "2"@e',
        ['"1"'],
        {Reason.SYNTAX: 1},
        True,
    ),
    "turtle bad object": (
        TTL,
        P + 'e:a e:b "1", bad, "x"; e:c "y" . e:a e:b "2" .',
        ['"1"', '"2"'],
        {Reason.SYNTAX: 1},
        False,
    ),
    "turtle raw line break": (
        TTL,
        P + 'e:a e:b "1\n1" . e:a e:b "2" .',
        ['"2"'],
        {Reason.SYNTAX: 1},
        False,
    ),
    "turtle truncated": (
        TTL,
        P + 'e:a e:b "1" . e:a e:b e:lon',
        ['"1"'],
        {Reason.SYNTAX: 1},
        True,
    ),
    "turtle unknown prefix": (
        TTL,
        P + 'x:a e:b "1" . e:a e:b "2" .',
        ['"2"'],
        {Reason.SYNTAX: 1},
        False,
    ),
    "turtle bad first prefix": (
        TTL,
        "@prefix x: <http://a b> .\n" + P + 'x:a e:b "1" . e:a e:b "2" .',
        ['"2"'],
        {Reason.SYNTAX: 2},
        False,
    ),
    "turtle prefix not redefined": (
        TTL,
        P + 'e:a e:b "1" .\n@prefix e: <http://a b> .\ne:a e:b "2" .',
        ['"1"'],
        {Reason.SYNTAX: 1},
        True,
    ),
    "turtle bad base": (
        TTL,
        P + 'e:a e:b "1" .\nBASE <http://a b>\n<a> e:b "2" .',
        ['"1"'],
        {Reason.SYNTAX: 1},
        True,
    ),
    "trig stops": (
        TRIG,
        P + 'e:a e:b "1" . e:g { e:a e:b bad . e:a e:b "2" } e:a e:b "3" .',
        ['"1"'],
        {Reason.SYNTAX: 1},
        True,
    ),
    "rdf/xml bad IRI": (
        XML,
        RDF + '<rdf:Description rdf:about="http://a"><e:b>1</e:b></rdf:Description>'
        '<rdf:Description rdf:about="http://a b"><e:b>2</e:b></rdf:Description>'
        "</rdf:RDF>",
        ['"1"'],
        {Reason.BAD_TERM: 1, Reason.REPAIRED: 1},
        False,
    ),
    "rdf/xml truncated": (
        XML,
        RDF + '<rdf:Description rdf:about="http://a"><e:b>1</e:b><e:c>2</e',
        ['"1"'],
        {Reason.SYNTAX: 1},
        True,
    ),
    "json-ld stops": (
        LD,
        '[{"@id":"http://a","http://b":"1"},{"@id":"http://a",,}]',
        ['"1"'],
        {Reason.SYNTAX: 1},
        True,
    ),
}


@pytest.mark.parametrize(
    ("media_type", "body", "kept", "faults", "is_partial"), BAD.values(), ids=BAD
)
def test_bad_statement_costs_no_good_one(
    as_source: Callable[[bytes], Any],
    media_type: str,
    body: str,
    kept: list[str],
    faults: dict[Reason, int],
    is_partial: bool,
) -> None:
    """If a statement is bad, then it is counted, and what can be read is kept."""
    text, parsed = read(as_source(body.encode()), media_type)
    assert objects(text) == kept
    assert reasons(parsed) == faults
    assert parsed.is_partial is is_partial
    assert parsed.n_quads == len(kept)


def test_first_error_is_named_with_its_line() -> None:
    """If statements are bad, then the fault tells the line of the first."""
    good = "<http://a> <http://b> <http://c> .\n"
    _, parsed = read(good * 20_000 + "bad\nbad\n" + good, NT)
    assert parsed.faults[0].detail.startswith("line 20001: ")
    assert reasons(parsed) == {Reason.SYNTAX: 2}
    assert parsed.n_quads == 20_001


@pytest.mark.parametrize(("media_type", "prefix"), [(NT, ""), (TTL, P)])
def test_nothing_before_an_error_is_lost(media_type: str, prefix: str) -> None:
    """If an error comes late in a batch, then all before it is written."""
    lines = [f'<http://a> <http://b> "{i}" .\n' for i in range(3000)]
    lines.insert(1500, "<http://a> bad .\n")
    text, parsed = read(prefix + "".join(lines), media_type)
    assert objects(text) == [f'"{i}"' for i in range(3000)]
    assert reasons(parsed) == {Reason.SYNTAX: 1}


@pytest.mark.parametrize("media_type", [NT, TTL])
def test_errors_have_an_end(media_type: str) -> None:
    """If too many statements are bad, then the rest is given up."""
    body = "<http://a> bad .\n" * 200 + '<http://a> <http://b> "1" .\n'
    text, parsed = read(body, media_type, limits=ParseLimits(n_errors=100))
    assert text == ""
    assert reasons(parsed) == {Reason.SYNTAX: 100}
    assert parsed.is_partial


@pytest.mark.parametrize("body", [b"", b" \n\t\r\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("media_type", ["", TTL, LD, XML])
def test_empty_document_is_a_fault(
    as_source: Callable[[bytes], Any], body: bytes, media_type: str
) -> None:
    """If a document has no content, then it is empty, whatever its type."""
    text, parsed = read(as_source(body), media_type)
    assert (text, reasons(parsed)) == ("", {Reason.EMPTY: 1})


@pytest.mark.parametrize(
    ("media_type", "body"),
    [(TTL, P), (NT, "# nothing\n"), (XML, RDF + "</rdf:RDF>"), (LD, "[]")],
)
def test_document_without_statements_is_no_fault(media_type: str, body: str) -> None:
    """If a valid document says nothing, then nothing is wrong."""
    text, parsed = read(body, media_type)
    assert (text, parsed.faults, parsed.is_partial) == ("", [], False)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"<!DOCTYPE html><html></html>", (Reason.UNSUPPORTED_FORMAT, "HTML")),
        (b"\x1f\x8b\x08\0", (Reason.UNSUPPORTED_FORMAT, "gzip")),
        (bytes(range(256)) * 9, (Reason.UNKNOWN_FORMAT, "")),
    ],
)
def test_what_is_no_rdf_is_refused(
    as_source: Callable[[bytes], Any], body: bytes, fault: tuple[Reason, str]
) -> None:
    """If the content is not RDF, then the fault says what it is."""
    text, parsed = read(as_source(body))
    assert text == ""
    assert parsed.format is None
    assert [(each.reason, each.detail) for each in parsed.faults] == [fault]


def test_remote_contexts_are_named(as_source: Callable[[bytes], Any]) -> None:
    """If JSON-LD needs a context that cannot be had, then its URL is named."""
    body = (
        b'[{"@id":"http://a","http://b":"1"},'
        b'{"@context":["https://context.example/",{"x":"http://x/"}],"x":1}]'
    )
    _, parsed = read(as_source(body), LD)
    assert [(fault.reason, fault.detail) for fault in parsed.faults] == [
        (Reason.REMOTE_CONTEXT, "https://context.example/")
    ]
    assert parsed.is_partial


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


@pytest.mark.parametrize(
    "body",
    [
        entity(BOMB, "&j;"),
        entity(f'<!ENTITY a "{"x" * 2000}">'),
        entity("".join(f'<!ENTITY a{i} "{"x" * 900}">' for i in range(100))),
        entity('<!ENTITY a SYSTEM "http://127.0.0.1/x">'),
        entity('<!ENTITY a PUBLIC "x" "file:///etc/passwd">'),
        entity('<!ENTITY % a "x">%a;'),
        RDF + f"<!DOCTYPE x [{BOMB}]><e:a e:b='&j;'/></rdf:RDF>",
        " " * 300_000 + entity(BOMB, "&j;"),
    ],
    ids=["bomb", "long", "many", "system", "public", "parameter", "inside", "late"],
)
def test_dangerous_entities_are_refused(
    as_source: Callable[[bytes], Any], body: str
) -> None:
    """If entities grow or reach out, then the document is refused at once."""
    with takes_at_most(10):
        text, parsed = read(as_source(body.encode()), XML)
    assert text == ""
    assert reasons(parsed) == {Reason.ENTITY_EXPANSION: 1}
    assert parsed.is_partial


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
    assert (text, reasons(parsed)) == ("", {Reason.TOO_LARGE: 1})
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
    """What is over a limit is left out and named; the rest is kept."""

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
        """If one token of Turtle has 20 MB, then what came before it is kept."""
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


@pytest.mark.parametrize("iri", [b"\\ud800", b"http://e.example/\\udfff x"])
def test_an_iri_with_half_a_character_costs_its_statement(iri: bytes) -> None:
    """If an escape in an IRI is no character, then the other statements are read."""
    good = b"<http://e.example/s> <http://e.example/p> 1 .\n"
    document = good + b"<http://e.example/s> <http://e.example/p> <%s> .\n" % iri + good
    parsed = parse(
        document, url="http://e.example/", graph=None, media_type="text/turtle"
    )
    assert b"".join(parsed).count(b"\n") == 2
    assert len(parsed.faults) == 1
