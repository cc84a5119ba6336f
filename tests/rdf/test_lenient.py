"""The second chances of documents that the strict parser refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import RdfFormat

from rdfcrawl.core import formats
from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.environment import INLINE, ParseLimits, ReaderContext
from rdfcrawl.rdf.parse import parse
from tests.support.examples import examples

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.rdf.parse import DocumentParser

URL = "http://e.example/doc"
XML, TRIG, N3 = "application/rdf+xml", "application/trig", "text/n3"
P = "@prefix e: <http://e/>. "
LAST = '<http://e/z> <http://e/b> "last" .\n'
BOUNDED = ReaderContext(is_bounded=True)


def rdf(content: str) -> str:
    """Return RDF/XML."""
    return (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        f'xmlns:e="http://e/">{content}<rdf:Description rdf:about="http://e/z">'
        "<e:b>last</e:b></rdf:Description></rdf:RDF>"
    )


def trig(content: str) -> str:
    """Return TriG."""
    return f"{P}{content} e:z e:b 'last' ."


def read(body: str, media_type: str, **options: Any) -> tuple[str, DocumentParser]:
    """Return the N-Quads and the parse."""
    source = options.pop("source", body.encode())
    options.setdefault("environment", BOUNDED)
    parsed = parse(
        source, url=URL, graph=None, media_type=media_type, trust="all", **options
    )
    return b"".join(parsed).decode(), parsed


def reasons(parsed: DocumentParser) -> dict[Reason, int]:
    """Return how often each fault was counted."""
    return {fault.reason: fault.count for fault in parsed.faults}


BAD_IRIS = [
    "http://a b/",
    "http://a{b",
    "http://a|b",
    "http://[a",
    "http://a/ http://b/",
    "a: b",
    "http://a:9x/",
]
OUT = r"http://o\u003e\u0020\u003chttp://evil/g"
STATEMENT = r"http://o\u003e\u0020.\u000a" + r"\u003cx:x\u003e\u0020" * 2 + r"\u003cx:x"
BREAKING_OUT = {
    "iri": f"e:a e:b <{OUT}> .",
    "statement": f"e:a e:b <{STATEMENT}> .",
    "datatype": f"e:a e:b 'x'^^<{OUT}> .",
    "graph": f"<{STATEMENT}> {{ e:a e:b 1 }}",
}


@pytest.mark.parametrize("iri", BAD_IRIS)
def test_one_bad_iri_costs_one_statement_of_rdf_xml(iri: str) -> None:
    """If one IRI is bad, then RDF/XML loses its statement."""
    text, parsed = read(
        rdf(
            f'<e:T rdf:about="http://e/a"><e:b rdf:resource="{iri}"/><e:c>1</e:c></e:T>'
        ),
        XML,
        environment=INLINE,
    )
    assert [line.split()[1] for line in text.splitlines()] == [
        "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>",
        "<http://e/c>",
        "<http://e/b>",
    ]
    assert reasons(parsed) == {Reason.BAD_TERM: 1}
    assert not parsed.is_partial


@pytest.mark.parametrize("iri", BAD_IRIS)
@pytest.mark.parametrize("media_type", [TRIG, N3])
def test_one_bad_iri_costs_one_statement_of_text(iri: str, media_type: str) -> None:
    """If one IRI is bad, then TriG and N3 lose its statement and are marked."""
    text, parsed = read(
        trig(f"e:a e:b <{iri}>, 1 ; e:c ( 2 ) ."), media_type, environment=INLINE
    )
    assert text.count("\n") == 5
    assert text.endswith(LAST)
    assert reasons(parsed) == {Reason.BAD_TERM: 1}
    assert not parsed.is_partial


def test_statements_stay_in_their_graph() -> None:
    """If an IRI is bad inside a graph, then the following statements stay in it."""
    text, parsed = read(trig("e:g { e:a e:b <http://a|b> . e:a e:c 1 }"), TRIG)
    assert text.splitlines()[0].endswith(" <http://e/g> .")
    assert reasons(parsed) == {Reason.BAD_TERM: 1}


def test_bad_graph_names_cost_their_graphs() -> None:
    """If the name of a graph is bad, then its statements are dropped."""
    text, parsed = read(
        trig("<http://a|b> { e:a e:b 1, 2 } <http://g> { e:a e:c 1 }"), TRIG
    )
    assert text.count("\n") == 2
    assert reasons(parsed) == {Reason.BAD_TERM: 2}


@pytest.mark.parametrize("body", BREAKING_OUT.values(), ids=BREAKING_OUT)
def test_terms_cannot_end_where_they_like(body: str) -> None:
    """If a term has escaped delimiters, then it makes no further statements."""
    text, parsed = read(trig(body), TRIG)
    assert text == LAST
    assert reasons(parsed) == {Reason.BAD_TERM: 1}


@pytest.mark.parametrize(
    "attribute",
    [
        'rdf:resource="http://x&gt; &lt;http://evil/g"',
        'rdf:resource="http://x&gt; .&#10;&lt;x:x&gt; &lt;x:x&gt; &lt;x:x"',
        'rdf:datatype="http://x&gt; &lt;http://evil/g"',
        'xml:lang="en &lt;http://evil/g&gt; .&#10;"',
    ],
)
def test_terms_of_xml_cannot_end_where_they_like(attribute: str) -> None:
    """If an attribute has delimiters of N-Quads, it makes no statements."""
    end = "></e:b>" if "resource" in attribute else ">1</e:b>"
    body = f'<rdf:Description rdf:about="http://e/a"><e:b {attribute}{end}'
    text, parsed = read(rdf(body + "</rdf:Description>"), XML)
    assert text == LAST
    assert reasons(parsed) == {Reason.BAD_TERM: 1}


LEADING_ASTRAY = {
    "string": 'e:a e:b <http://[a> . e:a e:p "1 . \n e:x e:q "2" ; e:r e:s .',
    "IRI": "e:a e:p <http://a ; e:q e:x . e:b e:q <http://o> ; e:r e:s .",
    "IRI and lines": "e:a e:p <http://a ; \n e:q 'x>y' ; e:r e:s .",
    "escape": r"e:a e:b <http://[a> . e:a e:b e:foo\bar .",
}


@pytest.mark.parametrize("body", LEADING_ASTRAY.values(), ids=LEADING_ASTRAY)
def test_unclear_tokens_cost_their_statements(body: str) -> None:
    """If the end of a token is unclear, then N3 loses its statement alone."""
    text, parsed = read(f"{P}e:a e:b 'first' . {body} e:a e:b 'last' .", N3)
    assert text.startswith('<http://e/a> <http://e/b> "first" .\n')
    assert text.endswith('<http://e/a> <http://e/b> "last" .\n')
    assert "<http://a" not in text
    assert "foo" not in text
    assert "1" not in text
    assert reasons(parsed)[Reason.BAD_TERM] >= 1


def many(n: int, middle: str) -> str:
    """Return RDF/XML of many blank nodes, with something in its middle."""
    one = '<rdf:Description rdf:nodeID="n%d"><e:b><e:T/></e:b></rdf:Description>'
    parts = [one % (i % 500) for i in range(n)]
    return rdf("".join(parts[: n // 2]) + middle + "".join(parts[n // 2 :]))


BAD = '<e:T rdf:about="http://a b"/>'


def test_nothing_comes_twice(tmp_path: Path) -> None:
    """If a large file is read again from its begin, it is as if nothing was bad."""
    bad, good = tmp_path / "bad.rdf", tmp_path / "good.rdf"
    bad.write_text(many(20_000, BAD))
    good.write_text(many(20_000, ""))
    text, parsed = read("", XML, source=bad)
    expected, _ = read("", XML, source=good)
    assert text == expected
    assert text.count("\n") == parsed.n_quads == 40_001
    assert reasons(parsed) == {Reason.BAD_TERM: 1}


def test_faults_are_counted_once(tmp_path: Path) -> None:
    """If a document is read twice, then its errors are counted once."""
    path = tmp_path / "bad.rdf"
    long = f'<e:T rdf:nodeID="n1" e:b="{"x" * 999}"/>'
    broken = long.replace("x" * 999, "\udcff")
    body = many(20_000, long + broken + BAD).encode("utf-8", "surrogateescape")
    path.write_bytes(body)
    limits = ParseLimits(literal_bytes=500)
    _, parsed = read("", XML, source=path, limits=limits)
    assert reasons(parsed) == {
        Reason.BAD_CHARSET: 1,
        Reason.LITERAL_TOO_LONG: 1,
        Reason.BAD_TERM: 1,
    }


def test_what_passes_by_has_no_second_chance(tmp_path: Path) -> None:
    """If a stream cannot be opened again, then the statements before are kept."""
    path = tmp_path / "bad.rdf"
    path.write_text(many(2000, BAD))
    with path.open("rb") as stream:
        text, parsed = read("", XML, source=ByteSource(stream=stream))
    assert text.count("\n") == 2000
    assert reasons(parsed) == {Reason.SYNTAX: 1}
    assert parsed.is_partial


def test_streams_are_read_again_from_their_begin(tmp_path: Path) -> None:
    """If a stream can be opened again, then its first reading goes to its end."""
    path = tmp_path / "bad.rdf"
    path.write_text(many(20_000, BAD))
    with path.open("rb") as first:
        source = ByteSource(stream=first, reopen=lambda: path.open("rb"))
        text, parsed = read("", XML, source=source)
    assert text.count("\n") == 40_001
    assert reasons(parsed) == {Reason.BAD_TERM: 1}


def test_limit_of_statements_holds_over_both_readings() -> None:
    """If the limit is reached in the second reading, then it ends there."""
    text, parsed = read(many(2000, BAD), XML, limits=ParseLimits(n_quads=3000))
    assert text.count("\n") == parsed.n_quads == 3000
    assert Reason.TOO_LARGE in reasons(parsed)


OLD_RDF_XML = {
    "about": '<rdf:Description about="http://e/a"><e:b>1</e:b></rdf:Description>',
    "parseType": (
        '<rdf:Description rdf:about="http://e/a"><e:b>1</e:b>'
        '<e:c parseType="Resource"><e:d resource="#x"/></e:c></rdf:Description>'
    ),
}


@pytest.mark.parametrize("body", OLD_RDF_XML.values(), ids=OLD_RDF_XML)
def test_old_rdf_xml_is_read(body: str) -> None:
    """If attributes have no namespace, then they are those of RDF."""
    text, parsed = read(rdf(body), XML)
    assert '<http://e/a> <http://e/b> "1" .\n' in text
    assert LAST in text
    assert reasons(parsed).keys() == {Reason.REPAIRED}
    assert not parsed.is_partial


def test_deep_xml_is_refused() -> None:
    """If elements are nested 100,000 deep, the document is refused immediately."""
    for body in (
        "<e:T><e:b>" * 100_000,
        "<e:T><e:b>" * 50_000 + "</e:b></e:T>" * 50_000,
    ):
        text, parsed = read(rdf(body), XML)
        assert text == ""
        assert [fault.reason for fault in parsed.faults] == [Reason.SYNTAX]
        assert parsed.faults[0].detail.startswith("nested deeper than")


def test_comments_and_cdata_are_no_depth() -> None:
    """If markup is text or comment, then it does not count as nesting."""
    body = (
        "<e:T><e:b><![CDATA["
        + "<br>" * 9000
        + "]]></e:b></e:T>"
        + ("<!--" + "<br>" * 9000 + "-->")
    )
    text, parsed = read(rdf(body), XML)
    assert text.count("\n") == 3
    assert parsed.faults == []


@pytest.mark.parametrize("media_type", ["text/turtle", TRIG])
@pytest.mark.parametrize(
    ("opening", "closing"), [("[e:b ", "]"), ("(", ")"), ("<<( e:a e:b ", ")>>")]
)
def test_deep_text_is_read_or_refused(
    media_type: str, opening: str, closing: str
) -> None:
    """If something is nested 20,000 deep, it is read, or it is a named fault."""
    n = 20_000
    for ends in (closing * n, ""):
        _, parsed = read(f"{P} e:a e:b {opening * n}e:c {ends} .", media_type)
        found = {Reason.SYNTAX, Reason.BAD_TERM, Reason.REPAIRED}
        assert reasons(parsed).keys() <= found


pieces = st.sampled_from(
    [
        *("{", "}", "[", "]", ".", ";", ",", "e:a", "e:b ", "_:x ", "'x'", '"', "'"),
        *('"""', "\\", "\n", "# c\n", "<http://e/x>", "<a b>", "<", ">", "<<", ">>"),
        *(r"<http://o\u003e <x:x>", "@en", "@prefix f: <a b> .", "e:c\\-d", "\0"),
    ]
)


@given(
    st.lists(pieces, max_size=12).map(" ".join),
    st.sampled_from([formats.TURTLE, formats.TRIG, formats.N3]),
)
@settings(max_examples=examples(250), deadline=None)
def test_whatever_comes_the_output_is_strict(
    content: str, form: formats.Format
) -> None:
    """If anything is read leniently, then the output is strict N-Quads."""
    text, parsed = read(f"{P} e:a e:b <a b> . {content}", form.media_types[0])
    quads = list(pyoxigraph.parse(text.encode(), RdfFormat.N_QUADS))
    assert len(quads) == parsed.n_quads
