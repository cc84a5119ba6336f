"""Documents of all kinds and faults, through the public `parse`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.environment import ParseLimits
from rdfcrawl.rdf.parse import parse
from tests.support.rdf_parsing import (
    LD,
    NQ,
    NT,
    RDF,
    TRIG,
    TTL,
    URL,
    XML,
    P,
    objects,
    read,
    reasons,
)

if TYPE_CHECKING:
    from collections.abc import Callable


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


def test_nobody_writes_into_the_graphs_of_the_crawl() -> None:
    """If a source is trusted with graphs, then those of the crawl are not its own."""
    quads = QUADS.replace("http://other.example/g", "URN:rdfcrawl:provenance")
    text, parsed = read(quads, NQ, graph=URL, trust="named")
    assert "rdfcrawl" not in text
    assert reasons(parsed) == {Reason.FOREIGN_GRAPH: 2}


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
    "turtle cut at a full stop in an IRI": (
        TTL,
        '<http://a> <http://b> "1" .\n<http://a.example.',
        ['"1"'],
        {Reason.SYNTAX: 1},
        True,
    ),
    "turtle cut at a full stop in a string": (
        TTL,
        '<http://a> <http://b> "1" .\n<http://a> <http://b> "One.',
        ['"1"'],
        {Reason.BAD_TERM: 1},
        True,
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
        ['"1"', '"2"'],
        {Reason.REPAIRED: 1},
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
        ['"1"', '"x"', '"y"', '"2"'],
        {Reason.BAD_TERM: 1},
        False,
    ),
    "turtle raw line break": (
        TTL,
        P + 'e:a e:b "1\n1" . e:a e:b "2" .',
        ['"1\\n1"', '"2"'],
        {Reason.REPAIRED: 1},
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
        {Reason.BAD_TERM: 1},
        False,
    ),
    "turtle bad first prefix": (
        TTL,
        "@prefix x: <http://a b> .\n" + P + 'x:a e:b "1" . e:a e:b "2" .',
        ['"2"'],
        {Reason.SYNTAX: 1, Reason.BAD_TERM: 1},
        False,
    ),
    "turtle prefix not redefined": (
        TTL,
        P + 'e:a e:b "1" .\n@prefix e: <http://a b> .\ne:a e:b "2" .',
        ['"1"'],
        {Reason.SYNTAX: 1, Reason.BAD_TERM: 1},
        False,
    ),
    "turtle bad base": (
        TTL,
        P + 'e:a e:b "1" .\nBASE <http://a b>\n<a> e:b "2" .',
        ['"1"'],
        {Reason.SYNTAX: 1, Reason.BAD_TERM: 1},
        False,
    ),
    "trig bad object": (
        TRIG,
        P + 'e:a e:b "1" . e:g { e:a e:b bad . e:a e:b "2" } e:a e:b "3" .',
        ['"1"', '"2"', '"3"'],
        {Reason.BAD_TERM: 1, Reason.FOREIGN_GRAPH: 1},
        False,
    ),
    "rdf/xml bad IRI": (
        XML,
        RDF + '<rdf:Description rdf:about="http://a"><e:b>1</e:b></rdf:Description>'
        '<rdf:Description rdf:about="http://a b"><e:b>2</e:b></rdf:Description>'
        "</rdf:RDF>",
        ['"1"'],
        {Reason.BAD_TERM: 1},
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
        '[{"@id":"http://a","http://b":"1"},{"@id":"http://a",',
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
    """If a statement is bad, then it is counted, and the readable part is kept."""
    text, parsed = read(as_source(body.encode()), media_type)
    assert objects(text) == kept
    assert reasons(parsed) == faults
    assert parsed.is_partial is is_partial
    assert parsed.n_quads == len(kept)


def test_first_error_is_named_with_its_line() -> None:
    """If statements are bad, then the fault names the line of the first."""
    good = "<http://a> <http://b> <http://c> .\n"
    _, parsed = read(good * 20_000 + "bad\nbad\n" + good, NT)
    assert parsed.faults[0].detail.startswith("line 20001: ")
    assert reasons(parsed) == {Reason.SYNTAX: 2}
    assert parsed.n_quads == 20_001


@pytest.mark.parametrize(
    ("media_type", "prefix", "reason"),
    [(NT, "", Reason.SYNTAX), (TTL, P, Reason.BAD_TERM)],
)
def test_nothing_before_an_error_is_lost(
    media_type: str, prefix: str, reason: Reason
) -> None:
    """If an error comes late in a batch, then all before it is written."""
    lines = [f'<http://a> <http://b> "{i}" .\n' for i in range(3000)]
    lines.insert(1500, "<http://a> bad .\n")
    text, parsed = read(prefix + "".join(lines), media_type)
    assert objects(text) == [f'"{i}"' for i in range(3000)]
    assert reasons(parsed) == {reason: 1}


@pytest.mark.parametrize(
    ("media_type", "reason"), [(NT, Reason.SYNTAX), (TTL, Reason.BAD_TERM)]
)
def test_errors_have_an_end(media_type: str, reason: Reason) -> None:
    """If too many statements are bad, then the rest is given up."""
    body = "<http://a> bad .\n" * 200 + '<http://a> <http://b> "1" .\n'
    text, parsed = read(body, media_type, limits=ParseLimits(n_errors=100))
    assert text == ""
    assert reasons(parsed) == {reason: 100}
    assert parsed.is_partial


@pytest.mark.parametrize("body", [b"", b" \n\t\r\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("media_type", ["", TTL, LD, XML])
def test_empty_document_is_a_fault(
    as_source: Callable[[bytes], Any], body: bytes, media_type: str
) -> None:
    """If a document has no content, then it is empty, with any type."""
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
    """If the content is not RDF, then the fault names its type."""
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


LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
_RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="e:"'
    ' xml:lang="de"><rdf:Description rdf:about="e:a"%s</rdf:Description></rdf:RDF>'
)
TAGLESS = {
    TTL: f'<e:a> <e:b> "x"^^<{LANG_STRING}>, "good" .',
    TRIG: f'<e:a> <e:b> "x"^^<{LANG_STRING}>, "good" .',
    "text/n3": f'<e:a> <e:b> "x"^^<{LANG_STRING}>, "good" .',
    LD: f'{{"@id":"e:a","e:b":[{{"@value":"x","@type":"{LANG_STRING}"}},"good"]}}',
    XML: _RDF
    % f'><e:b rdf:datatype="{LANG_STRING}">x</e:b><e:b xml:lang="">good</e:b>',
}


@pytest.mark.parametrize("media_type", TAGLESS)
def test_text_in_a_language_without_tag_costs_its_statement(media_type: str) -> None:
    """If a literal is in a language and names none, then no strict reader meets it."""
    text, parsed = read(TAGLESS[media_type], media_type, graph=URL)
    assert "langString" not in text
    assert '"good" ' in text
    assert Reason.BAD_TERM in reasons(parsed)


@pytest.mark.parametrize(
    "body", [' xml:lang="" e:b="good">', '><e:b xml:lang="">good</e:b>']
)
def test_empty_language_of_xml_is_none(body: str) -> None:
    """If `xml:lang` is empty (XML 1.0 2.12), then the literal is plain."""
    text, _ = read(_RDF % body, XML, graph=URL)
    assert text == f'<e:a> <e:b> "good" <{URL}> .\n'
