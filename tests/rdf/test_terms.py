"""Output is well-formed N-Quads, and the same on every crawl."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyoxigraph
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple

from rdfcrawl.core import formats
from rdfcrawl.core.errors import FaultLog
from rdfcrawl.rdf import output
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.environment import ParseLimits, ReaderContext
from rdfcrawl.rdf.output import BlankNodes
from rdfcrawl.rdf.parse import parse
from rdfcrawl.rdf.terms import blank, iri, literal, resource, statement
from rdfcrawl.uri.hosts import is_same_origin
from tests.support.examples import examples

if TYPE_CHECKING:
    from pathlib import Path

URL = "http://e.example/doc"
RDF_XML = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="e:"'
)
NASTY = [
    " _:x ",
    "> _:x .",
    " <http://g/> .\n",
    '" .\n_:a <http://b> _:c .\n',
    "\\",
    "\\u0041",
    "<<( ",
    " )>>",
    '"@en',
    "\r\n\x00\x7f\x85\u2028",
    "\ufdd0\ufffd\U0010ffff",
    "} ; DROP ALL ; #",
]
text = st.lists(st.one_of(st.sampled_from(NASTY), st.text(max_size=5)), max_size=4).map(
    "".join
)
iris = st.sampled_from(
    ["http://e/a", "http://e/_:x", "urn:x:_:y", "http://e/\u00fc#(.)", "mailto:a@b"]
).map(NamedNode)
blanks = st.sampled_from(["a", "b", "x", "x.y", "1", "a" * 32, "\u00e9"]).map(BlankNode)
literals = st.one_of(
    text.map(Literal),
    st.builds(Literal, text, datatype=iris),
    st.builds(Literal, text, language=st.sampled_from(["en", "de-AT"])),
)
terms = st.one_of(iris, blanks, literals)
subjects = st.one_of(iris, blanks)
triple_terms = st.builds(Triple, subjects, iris, terms)
quads = st.lists(
    st.builds(Quad, subjects, iris, st.one_of(terms, triple_terms)), max_size=8
)


def relabelled(quads: list[Quad]) -> list[str]:
    """Return the quads with blank nodes numbered by their first appearance."""
    numbers: dict[str, str] = {}

    def term(value: object) -> str:
        if isinstance(value, BlankNode):
            return numbers.setdefault(value.value, f"blank {len(numbers)}")
        if isinstance(value, Triple):
            parts = [term(part) for part in value]
            return f"<<{parts}>>"
        return str(value)

    return [f"{[term(part) for part in quad]}" for quad in quads]


@pytest.mark.parametrize("form", [formats.N_QUADS, formats.TURTLE, formats.TRIG])
@settings(max_examples=examples(150), deadline=None)
@given(quads=quads)
def test_everything_written_reads_back_to_the_same_quads(
    form: formats.Format, quads: list[Quad]
) -> None:
    """If a document holds nasty terms, then its N-Quads mean exactly the same."""
    body = pyoxigraph.serialize(quads, format=form.parser)
    assert body is not None
    parsed = parse(body, url=URL, graph=URL, media_type=form.media_types[0])
    again = list(pyoxigraph.parse(b"".join(parsed), format=RdfFormat.N_QUADS))
    expected = [
        Quad(quad.subject, quad.predicate, quad.object, NamedNode(URL))
        for quad in pyoxigraph.parse(body, format=form.parser)
    ]
    assert relabelled(again) == relabelled(expected)
    assert parsed.n_quads == len(expected)


PIECES = [
    *("<http://a>", "<b c>", "_:x", "_:x.", "[]", "[", "]", "(", ")", ".", ";", ","),
    *('"x _:y ."', '"', "'''", "@en", "^^<d>", "<<(", ")>>", "{", "}", "a", "1", "\n"),
    *("@prefix e: <http://e/> .", "@base <x> .", "e:a", "\\", "\0", "\xff", "#", "&x;"),
    *('{"@id":"_:b c"}', '{"@id":"_:b","http://p":{"@value":"x","@language":"a b"}}'),
    f"{RDF_XML}>",
    *('<rdf:Description rdf:nodeID="a.">', "<e:b>", "</e:b>", "</rdf:Description>"),
    *('<e:b xml:lang="a b">x</e:b>', '<e:b rdf:resource="x y"/>', "</rdf:RDF>"),
    *("<http://s> <http://p> <http://o> .\n", "_:s <http://p> _:o <http://g> .\n"),
]


@given(st.text(st.sampled_from('aé"\\\n\r\t\0\u2028\ud800\udfff\U0010ffff')))
def test_a_text_is_read_back_as_it_was(text: str) -> None:
    """If a text is written as a literal, then it is the same but for surrogates."""
    line = statement("_:a", "<http://e/p>", literal(text, language="en"))
    (quad,) = pyoxigraph.parse(line.encode(), format=RdfFormat.N_QUADS)
    assert quad.object == Literal(
        re.sub(r"[\ud800-\udfff]", "\ufffd", text), language="en"
    )


BREAKOUT = '> <http://e/p> "x" .\n<http://e/evil> <http://e/p> <http://e/o'


@settings(max_examples=examples(300), deadline=None)
@given(
    name=text | st.just(BREAKOUT),
    value=text,
    language=text,
    datatype=text | st.just(BREAKOUT),
)
@example(BREAKOUT, "", "", "")
@example("", "", "", BREAKOUT)
@example("", '" .\n<http://e/evil> <http://e/p> "', '" .\n', "")
def test_a_term_makes_no_statement_of_its_own(
    name: str, value: str, language: str, datatype: str
) -> None:
    """If terms are made to end early, then one statement comes of them, or none."""
    predicate = iri("http://e/p")
    objects = (
        literal(value, language=language),
        literal(value, datatype=f"http://e/{datatype}"),
        iri(f"http://e/{name}"),
        blank(name),
    )
    for term in objects:
        for subject in (iri(f"http://e/{name}"), resource(f"_:{name}")):
            line = statement(subject, predicate, term)
            assert line.count("\n") == 1
            lines = b"".join(iter_checked([line], FaultLog()))
            found = list(pyoxigraph.parse(lines, format=RdfFormat.N_QUADS))
            assert len(found) <= 1


@settings(max_examples=examples(400), deadline=None)
@given(
    pieces=st.lists(st.sampled_from(PIECES), max_size=25),
    form=st.sampled_from(formats.FORMATS),
    separator=st.sampled_from(["", " "]),
)
def test_whatever_comes_the_output_is_strict_n_quads(
    pieces: list[str], form: formats.Format, separator: str
) -> None:
    """If a document is arbitrary, then the output is N-Quads in its graphs."""
    body = separator.join(pieces).encode("latin-1")
    parsed = parse(
        body,
        url=URL,
        graph=URL,
        media_type=form.media_types[0],
        environment=ReaderContext(is_bounded=True),
    )
    again = list(pyoxigraph.parse(b"".join(parsed), format=RdfFormat.N_QUADS))
    assert len(again) == parsed.n_quads
    # A tag is a relative IRI too: a graph of the document's own origin.
    graphs = [quad.graph_name for quad in again]
    assert all(isinstance(x, NamedNode) for x in graphs)
    assert all(is_same_origin(x.value, URL) for x in graphs)
    assert all(not fault.detail.count("\n") for fault in parsed.faults)


DOCUMENTS = {
    "turtle": (
        "text/turtle",
        "_:z <p:p> [ <p:q> _:a, [] ], ( 1 _:z ) . _:a <p:p> ' _:z ' .",
    ),
    "n-triples": (
        "application/n-triples",
        '_:z <p:p> _:y .\n_:y <p:p> " _:z ." .\n_:z <p:p> <<( _:y <p:p> _:x )>> .\n',
    ),
    "json-ld": (
        "application/ld+json",
        (
            '{"@context":{"l":{"@id":"p:q","@container":"@list"}},'
            '"@id":"_:q","p:p":[{"l":[1,{"p:r":2}]},{"@id":"_:q"}]}'
        ),
    ),
    "rdf/xml": (
        "application/rdf+xml",
        (
            f'{RDF_XML}><e:C><e:p rdf:parseType="Resource"><e:q rdf:nodeID="z"/></e:p>'
            "</e:C></rdf:RDF>"
        ),
    ),
}


@pytest.mark.parametrize(("media_type", "body"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_labels_are_the_same_on_every_crawl(media_type: str, body: str) -> None:
    """If a document did not change, then neither do the bytes written."""
    first, again = (
        b"".join(parse(body.encode(), url=URL, graph=URL, media_type=media_type))
        for _ in range(2)
    )
    other = b"".join(
        parse(body.encode(), url=URL + "2", graph=URL, media_type=media_type)
    )
    found = re.findall(rb"(?<![\"' ] )_:(b[0-9a-f]{10}n\d+)", first)
    assert first == again
    assert found
    assert found[0].endswith(b"n0")
    assert other != first
    assert other.count(b"_:b") == first.count(b"_:b")


def test_labels_hold_across_chunks(tmp_path: Path) -> None:
    """If a blank node recurs far away, then it keeps its label."""
    path = tmp_path / "document.nt"
    lines = [f"_:n{i} <p:p> _:n{i // 2} .\n" for i in range(20_000)]
    path.write_text("".join(lines + lines))
    chunks = list(parse(path, url=URL, graph=None))
    written = b"".join(chunks).splitlines()
    assert len(chunks) > 2
    assert written[:20_000] == written[20_000:]
    assert len(set(written)) == 20_000


def test_labels_beyond_the_bound_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """If more blank nodes come than are numbered, then each is still one node."""
    monkeypatch.setattr(output, "MAX_NUMBERED", 3)
    lines = b"".join(b"_:x%d <p:p> _:x%d .\n" % (i, i + 1) for i in range(9))
    nodes = BlankNodes(URL)
    first, again = nodes.relabel(lines), nodes.relabel(lines)
    assert first == again
    assert len(set(re.findall(rb"_:\w+", first))) == 10
    assert BlankNodes(URL).relabel(lines) == first
    assert BlankNodes(URL + "2").relabel(lines) != first


def test_lines_without_blank_nodes_are_passed_on() -> None:
    """If `_:` stands in text and IRIs only, then nothing is changed."""
    lines = (
        b'<http://e/_:x> <p:_:p> "a _:x b" .\n<s:s> <p:p> " _:x "@en <g:_:g> .\n'
        b'<s:s> <p:p> <<( <s:s> <p:p> " _:x " )>> .\n'
    )
    assert BlankNodes(URL).relabel(lines) == lines


def test_dropped_lines_leave_the_numbering_to_the_others() -> None:
    """If a statement is dropped, then the limits, not the labels, show it."""
    body = b"_:a <p:p> '%s' . _:b <p:p> 1 ." % (b"x" * 900)
    parsed = parse(body, url=URL, graph=None, limits=ParseLimits(literal_bytes=500))
    assert re.fullmatch(rb"_:b[0-9a-f]{10}n0 <p:p> \S+ \.\n", b"".join(parsed))
