"""TriX, through the public `parse` and by its reader alone."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING
from xml.etree.ElementTree import canonicalize

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.environment import ParseLimits
from rdfcrawl.rdf.parse import parse
from rdfcrawl.rdf.trix import read_trix
from tests.support.examples import examples

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.rdf.parse import DocumentParser

URL = "http://e.example/doc"
HEAD = '<?xml version="1.0"?><TriX xmlns="http://www.w3.org/2004/03/trix/trix-1/">'
A, B = "<uri>http://e/a</uri>", "<uri>http://e/b</uri>"
GOOD = f"<triple>{A}{B}<plainLiteral>good</plainLiteral></triple>"


def read(
    body: str, charset: str = "utf-8", limits: ParseLimits | None = None
) -> tuple[str, DocumentParser]:
    """Return the N-Quads and the parse."""
    parsed = parse(
        body.encode(charset),
        url=URL,
        graph=None,
        media_type="application/trix",
        trust="all",
        limits=limits or ParseLimits(),
    )
    return b"".join(parsed).decode(), parsed


def graph(content: str) -> str:
    """Return a document of one graph."""
    return f"{HEAD}<graph>{content}</graph></TriX>"


def reasons(parsed: DocumentParser) -> dict[Reason, int]:
    """Return how often each fault was counted."""
    return {fault.reason: fault.count for fault in parsed.faults}


@pytest.mark.parametrize(
    ("term", "written"),
    [
        ("<uri> http://e/c\n</uri>", "<http://e/c>"),
        ("<plainLiteral> a &lt;\nb </plainLiteral>", '" a <\\nb "'),
        ('<plainLiteral xml:lang="de">ü</plainLiteral>', '"ü"@de'),
        ("<plainLiteral/>", '""'),
        (
            '<typedLiteral datatype="http://d/t">01</typedLiteral>',
            '"01"^^<http://d/t>',
        ),
        ("<plainLiteral><![CDATA[<b>]]>&#x41;</plainLiteral>", '"<b>A"'),
    ],
)
def test_terms_are_read(term: str, written: str) -> None:
    """If an object is a term of TriX, then it is that term of RDF."""
    text, parsed = read(graph(f"<triple>{A}{B}{term}</triple>"))
    assert text == f"<http://e/a> <http://e/b> {written} .\n"
    assert (parsed.faults, parsed.is_partial) == ([], False)


def test_blank_nodes_are_one_in_the_document() -> None:
    """If two graphs have a blank node of one label, then it is one node."""
    one = f"<graph><triple><id>x</id>{B}<id>y</id></triple></graph>"
    text, _ = read(f"{HEAD}{one}{one}</TriX>")
    first, second = text.splitlines()
    assert first == second
    assert first.split()[0] != first.split()[2]


def test_graphs_are_named_and_the_default_one_is_not() -> None:
    """If graphs have names, then their statements are in them."""
    body = (
        f"{HEAD}<graph>{GOOD}</graph><graph><uri>http://g/1</uri>{GOOD}</graph>"
        f"<graph><uri>http://g/2</uri><uri>http://g/3</uri>{GOOD}</graph></TriX>"
    )
    text, parsed = read(body)
    assert [line.split()[3] for line in text.splitlines()] == [
        ".",
        "<http://g/1>",
        "<http://g/2>",
        "<http://g/3>",
    ]
    assert parsed.faults == []


def test_language_is_inherited() -> None:
    """If an element around a literal has a language, then it is the literal's."""
    content = f'<triple xml:lang="fr">{A}{B}<plainLiteral>x</plainLiteral></triple>'
    text, _ = read(graph(content + GOOD))
    assert '"x"@fr .' in text
    assert '"good" .' in text


def test_older_root_without_namespace_is_read() -> None:
    """If the root is `trix` without namespace, as some writers have it, it is read."""
    text, parsed = read(f"<trix><graph>{GOOD}</graph></trix>")
    assert text.count("\n") == 1
    assert parsed.faults == []


def test_other_charsets_are_read() -> None:
    """If the document is in UTF-16 or declares Latin 1, then its text is right."""
    literal = f"<triple>{A}{B}<plainLiteral>ü</plainLiteral></triple>"
    assert '"ü"' in read(graph(literal), "utf-16")[0]
    latin = graph(literal).replace('"1.0"', '"1.0" encoding="iso-8859-1"')
    assert '"ü"' in read(latin, "latin-1")[0]


def test_names_of_a_graph_are_bounded() -> None:
    """If a graph has many names, each of which repeats it, then reading ends there."""
    text, parsed = read(graph("<uri>http://e/g</uri>" * 9 + GOOD))
    assert text == ""
    assert reasons(parsed) == {Reason.SYNTAX: 1}
    assert "more than 8 names" in parsed.faults[0].detail
    text, parsed = read(graph("<uri>http://e/g</uri>" * 8 + GOOD))
    assert "good" in text
    assert parsed.faults == []


def test_late_name_ends_the_graph() -> None:
    """If a graph is named after its triples, then it ends there, and others follow."""
    late = graph(GOOD + "<uri>http://late/name</uri>" + GOOD + "</graph><graph>" + GOOD)
    text, parsed = read(late)
    assert text == '<http://e/a> <http://e/b> "good" .\n' * 2
    assert reasons(parsed) == {Reason.SYNTAX: 2}


@pytest.mark.parametrize(
    "bad",
    [
        *("<triple>", "&undefined;", "<uri", "</x>"),
        f"<triple>{A}<uri>&undefined;</uri>{B}</triple>",
        f"<triple>{A}<uri>{B}{A}</triple>",
    ],
)
def test_xml_that_is_not_well_formed_costs_its_triple(bad: str) -> None:
    """If the XML is not well-formed at some place, then the other triples are read."""
    text, parsed = read(graph(GOOD + bad + GOOD))
    assert text == '<http://e/a> <http://e/b> "good" .\n' * 2
    assert reasons(parsed).keys() & {Reason.SYNTAX, Reason.BAD_TERM, Reason.REPAIRED}


@pytest.mark.parametrize(
    "bad",
    [
        f"<triple>{A}{B}</triple>",
        "<triple/>",
        f"<triple>{A}{B}{A}{A}</triple>",
        f"<triple>{A}{B}<typedLiteral>1</typedLiteral></triple>",
        f"<triple>{A}{B}<other/></triple>",
        f"<triple>{A}{B}{A}<other><triple>{A}{B}{A}</triple></other></triple>",
        f"<triple>{A}{B}<plainLiteral>a<b/></plainLiteral></triple>",
        f"<triple>{A}{B}<typedLiteral datatype='d:t'>a<b/></typedLiteral></triple>",
        f"<triple>{A}{B}<uri>http://e/<b>x</b></uri></triple>",
        "<triple><triple/></triple>",
        '<x:triple xmlns:x="http://x/"><triple/></x:triple>',
        "<plainLiteral>x</plainLiteral>",
    ],
)
def test_what_does_not_belong_costs_one_triple(bad: str) -> None:
    """If a triple has a term that TriX does not allow, then the others are kept."""
    text, parsed = read(graph(GOOD + bad + GOOD))
    assert text == '<http://e/a> <http://e/b> "good" .\n' * 2
    assert reasons(parsed) == {Reason.SYNTAX: 1}
    assert not parsed.is_partial


XML = "http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral"
TRIX = 'xmlns="http://www.w3.org/2004/03/trix/trix-1/"'


@pytest.mark.parametrize(
    ("content", "value"),
    {
        "a<b>c</b>": f"a<b {TRIX}>c</b>",
        "<b xmlns=''>c</b>": "<b>c</b>",
        "<b xmlns=''><c/> &lt;&amp;&gt;&#13;</b>": "<b><c></c> &lt;&amp;&gt;&#xD;</b>",
        "<h:p xmlns:h='http://h/' xmlns:u='http://u/' z='&lt;&quot;&#10;' a='1' h:q='2'"
        " xml:lang='en'><h:i xmlns=''><j/></h:i></h:p>": '<h:p xmlns:h="http://h/"'
        ' a="1" z="&lt;&quot;&#xA;" h:q="2" xml:lang="en"><h:i><j></j></h:i></h:p>',
        "<b xmlns=''/><!-- x --><?y z?><![CDATA[<]]>": "<b></b><!-- x --><?y z?>&lt;",
        "<b xmlns=''><p:c xmlns:p='x:1'><p:d/></p:c><p:c xmlns:p='x:2'/></b>": "<b>"
        '<p:c xmlns:p="x:1"><p:d></p:d></p:c><p:c xmlns:p="x:2"></p:c></b>',
        "<b xmlns='x:1'><c xmlns=''><d xmlns='x:1'/></c></b>": '<b xmlns="x:1">'
        '<c xmlns=""><d xmlns="x:1"></d></c></b>',
        "<uri xmlns=''>http://e/x</uri><triple xmlns=''/>": "<uri>http://e/x</uri>"
        "<triple></triple>",
        "see _:b": "see _:b",
        "&lt;b>c&lt;/b>": "<b>c</b>",
    }.items(),
)
def test_xml_in_a_literal_is_kept(content: str, value: str) -> None:
    """If a typed literal has elements, then it is canonical XML, and reading goes on.

    By Exclusive XML Canonicalization; text alone is the lexical form itself.
    """
    literal = f'<typedLiteral datatype="{XML}">{content}</typedLiteral>'
    text, parsed = read(graph(GOOD + f"<triple>{A}{B}{literal}</triple>" + GOOD))
    lines = list(ox.parse(text, ox.RdfFormat.N_QUADS))
    assert [line.object.value for line in lines] == ["good", value, "good"]
    assert lines[1].object.datatype.value == XML
    assert (parsed.faults, parsed.is_partial) == ([], False)
    if "<" in content:  # another implementation, of Canonical XML 2.0
        around = f'<w:x xmlns:w="w:" {TRIX}>{content}</w:x>'
        assert canonicalize(around, with_comments=True) == (
            f'<w:x xmlns:w="w:">{value}</w:x>'
        )


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (f"<triple><plainLiteral>x</plainLiteral>{B}{A}</triple>", Reason.SYNTAX),
        (f"<triple>{A}<id>x</id>{A}</triple>", Reason.SYNTAX),
        (f"<triple>{A}{B}<uri>http://[bad</uri></triple>", Reason.BAD_TERM),
        (
            f"<triple>{A}{B}<uri>http://a&gt; &lt;http://b</uri></triple>",
            Reason.BAD_TERM,
        ),
        (
            f'<triple>{A}{B}<plainLiteral xml:lang="e n">x</plainLiteral></triple>',
            Reason.BAD_TERM,
        ),
    ],
)
def test_bad_triples_cost_no_good_one(bad: str, reason: Reason) -> None:
    """If a triple is no RDF, then it is left out and counted."""
    text, parsed = read(graph(GOOD + bad + GOOD))
    assert text == '<http://e/a> <http://e/b> "good" .\n' * 2
    assert reasons(parsed) == {reason: 1}
    assert not parsed.is_partial


def test_errors_have_an_end() -> None:
    """If too many triples are no RDF, then the rest is given up."""
    bad = f"<triple>{A}<id>x</id>{A}</triple>"
    text, parsed = read(graph(bad * 50 + GOOD), limits=ParseLimits(n_errors=20))
    assert text == ""
    assert reasons(parsed)[Reason.SYNTAX] == 21
    assert parsed.is_partial


def test_plain_entities_are_read_and_dangerous_ones_refused() -> None:
    """If entities name short texts, they are read; a bomb or a file is refused."""
    short = graph(GOOD.replace("good", "&e;ood")).replace(
        "<TriX", '<!DOCTYPE TriX [<!ENTITY e "g">]><TriX'
    )
    assert read(short)[0] == '<http://e/a> <http://e/b> "good" .\n'
    for declaration in (
        f'<!ENTITY a "{"a" * 900}"><!ENTITY e "{"&a;" * 9}">',
        '<!ENTITY e SYSTEM "file:///etc/passwd">',
        f'<!ENTITY e "{"x" * 70_000}">',
    ):
        text, parsed = read(short.replace('<!ENTITY e "g">', declaration))
        assert text == ""
        assert reasons(parsed)[Reason.ENTITY_EXPANSION] == 1


def test_deep_nesting_is_refused() -> None:
    """If elements are nested 100,000 deep, then the document is refused."""
    text, parsed = read(graph(GOOD + "<triple>" * 100_000 + "</triple>" * 100_000))
    assert text in ("", '<http://e/a> <http://e/b> "good" .\n')
    assert reasons(parsed) == {Reason.SYNTAX: 1}


def test_long_literals_are_refused() -> None:
    """If a literal has 4 MB, then its triple is left out."""
    text, parsed = read(graph(GOOD + GOOD.replace("good", "x" * 4_000_000) + GOOD))
    assert text == '<http://e/a> <http://e/b> "good" .\n' * 2
    assert reasons(parsed) == {Reason.LITERAL_TOO_LONG: 1}


def test_attribute_without_end_is_refused() -> None:
    """If a tag has 10 MB, then it is not kept in memory until its end."""
    text, parsed = read(graph(GOOD + '<triple x="' + "x" * 10_000_000))
    assert text == '<http://e/a> <http://e/b> "good" .\n'
    assert reasons(parsed) == {Reason.LITERAL_TOO_LONG: 1}


def test_file_is_read_as_a_stream(tmp_path: Path) -> None:
    """If a document is in a file, then its statements come before its end is read."""
    path = tmp_path / "a.trix"
    path.write_text(graph(GOOD * 20_000).removesuffix("</TriX>"))
    chunks = iter(parse(path, url=URL, graph=None))
    assert next(chunks).count(b"\n") < 20_000
    assert sum(chunk.count(b"\n") for chunk in chunks) > 10_000


pieces = st.sampled_from(
    [
        *("<TriX>", "</TriX>", "<graph>", "</graph>", "<triple>", "</triple>"),
        *("<uri>", "</uri>", "<id>", "</id>", "<plainLiteral>", "</plainLiteral>"),
        *('<typedLiteral datatype="', '">', "</typedLiteral>", "http://e/", "x"),
        *('xml:lang="en"', "<![CDATA[", "]]>", "&amp;", "&", "<!DOCTYPE x [", "\0"),
        *(A, B, GOOD, HEAD, "> <http://e/b> _:x .\n"),
    ]
)


@given(st.lists(pieces, max_size=12).map("".join))
@settings(max_examples=examples(300), deadline=None)
def test_whatever_comes_ends_as_a_fault(content: str) -> None:
    """If anything is fed, then it is read or refused by a `SourceFault`."""
    log = FaultLog()
    for body in (content, graph(content), graph(GOOD + content)):
        lines = read_trix(
            io.BytesIO(body.encode()),
            base="http://e/",
            limits=ParseLimits(),
            log=log,
        )
        try:
            for block in iter_checked(lines, log):
                assert not block or block.endswith(b" .\n")
        except SourceFault:
            pass
