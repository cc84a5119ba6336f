"""IRIs with characters that IRIs lack, in every format, up to a segment."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.environment import ReaderContext
from rdfcrawl.rdf.extraction.messages import ReadingJob
from rdfcrawl.rdf.extraction.reading import DocumentReading
from rdfcrawl.rdf.parse import parse
from rdfcrawl.rdf.terms import mended_iri
from tests.support.nasty_statements import by_pyoxigraph, by_rdflib, stored

if TYPE_CHECKING:
    from pathlib import Path

URL = "http://data.example/d"
BOUNDED = ReaderContext(is_bounded=True)


@pytest.mark.parametrize(
    ("iri", "meant"),
    {
        "http://e.example/a b": "http://e.example/a%20b",
        " http://e.example/a \n": "http://e.example/a",
        "http://e.example/a|b?c={d}": "http://e.example/a%7Cb?c=%7Bd%7D",
        "http://e.example/a[1]?b[]=c": "http://e.example/a%5B1%5D?b%5B%5D=c",
        "http://[::1]/a b": "http://[::1]/a%20b",
        "http://e.example/100%": "http://e.example/100%25",
        "http://e.example/100%25 %zz": "http://e.example/100%25%20%25zz",
        "http://e.example/a#b#c d": "http://e.example/a#b%23c%20d",
        "http://e.example?a b": "http://e.example?a%20b",
        "http://e.example/ü \\ ^`": "http://e.example/ü%20%5C%20%5E%60",
        'http://e.example/"><x>': "http://e.example/%22%3E%3Cx%3E",
        "urn:x:a b": "urn:x:a%20b",
        "any:thing": "any:thing",
    }.items(),
)
def test_what_is_meant_is_plain(iri: str, meant: str) -> None:
    """If a URL has characters that IRIs lack behind its host, then they are escaped."""
    assert mended_iri(iri) == meant
    assert mended_iri(meant) == meant


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "a b", "/a b", "Note: see below", "urn: x", "http:// a/"),
        *("http://e example/", "http://e{x}/", "http://e:80x/", "http:\\\\e\\a b"),
        *(
            "http://a/ http://b/",
            "http://a/> <http://b/",
            "http://e/\0",
            "http://e/\x1b",
        ),
        *("http://e/\ud800 ", "http://e/\ufdd0 ", "javascript: alert(1)"),
        "http://e/ " + "x" * 9000,
    ],
)
def test_what_is_not_meant_is_refused(text: str) -> None:
    """If a text only looks like an IRI, then it is none."""
    with pytest.raises(ValueError, match=r"."):
        mended_iri(text)


BAD = "http://h.example/a b|{c}[d]%zz"
MEANT = "http://h.example/a%20b%7C%7Bc%7D%5Bd%5D%25zz"
TERM = f"<{BAD}>"
ATTRIBUTE = html.escape(BAD)
RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
TURTLE = f"""@prefix e: <http://e/> . e:a e:p "0" .
{TERM} e:p {TERM} , "x"^^{TERM} ; e:p [ e:p <r s>, ( {TERM} ) ] . e:b e:p "1" .
"""
LINES = (
    f'<http://e/a> <http://e/p> "0" .\n{TERM} <http://e/p> {TERM} .\n'
    f'_:a <http://e/p> "<http://a b> _:b"^^{TERM} .\n<http://e/b> <http://e/p> "1" .\n'
)
DOCUMENTS = {
    "text/turtle": TURTLE,
    "text/n3": TURTLE,
    "application/trig": TURTLE + f"{TERM} {{ e:a e:p '2' }}",
    "application/n-triples": LINES,
    "application/n-quads": LINES,
    "application/rdf+xml": f'<rdf:RDF {RDF} xmlns:e="http://e/"><rdf:Description '
    f'rdf:about="http://e/a"><e:p>0</e:p></rdf:Description><rdf:Description '
    f'rdf:about="{ATTRIBUTE}"><e:p rdf:resource="{ATTRIBUTE}"/><e:p rdf:datatype='
    f'"{ATTRIBUTE}">x</e:p><e:p rdf:resource="r s"/></rdf:Description>'
    '<rdf:Description rdf:about="http://e/b"><e:p>1</e:p></rdf:Description></rdf:RDF>',
    "application/trix": "<TriX><graph><triple><uri>http://e/a</uri><uri>http://e/p</uri>"
    f"<plainLiteral>0</plainLiteral></triple><triple><uri>{ATTRIBUTE}</uri><uri>"
    f"http://e/p</uri><uri>{ATTRIBUTE}</uri></triple><triple><uri>http://e/b</uri>"
    "<uri>http://e/p</uri><plainLiteral>1</plainLiteral></triple></graph></TriX>",
    "application/rdf+json": json.dumps(
        {
            "http://e/a": {"http://e/p": [{"type": "literal", "value": "0"}]},
            BAD: {"http://e/p": [{"type": "uri", "value": BAD}]},
            "http://e/b": {"http://e/p": [{"type": "literal", "value": "1"}]},
        }
    ),
    "application/hex+x-ndjson": "\n".join(
        json.dumps([subject, "http://e/p", value, kind, "", ""])
        for subject, value, kind in (
            ("http://e/a", "0", ""),
            (BAD, BAD, "globalId"),
            ("http://e/b", "1", ""),
        )
    ),
    "text/html": '<p about="http://e/a" property="http://e/p">0</p>'
    f'<p about="{ATTRIBUTE}"><a property="http://e/p" href="{ATTRIBUTE}"></a></p>'
    f'<p itemscope itemid="{ATTRIBUTE}"><a itemprop="http://e/p" href="{ATTRIBUTE}">'
    '</a></p><p about="http://e/b" property="http://e/p">1</p>',
}


@pytest.mark.parametrize("media_type", DOCUMENTS)
@pytest.mark.parametrize("is_file", [True, False])
async def test_mended_iris_are_counted_and_nothing_is_lost(
    media_type: str, tmp_path: Path, *, is_file: bool
) -> None:
    """If IRIs have such characters, then they are mended and counted everywhere."""
    body = DOCUMENTS[media_type]
    path = tmp_path / "document"
    path.write_text(body)
    job = ReadingJob(url=URL, graph=URL, media_type=media_type, trust="all")
    reading = DocumentReading(
        path if is_file else body.encode(), job, environment=BOUNDED
    )

    n_quads = await stored(reading, tmp_path / "store")

    for read in (by_rdflib, by_pyoxigraph):
        graph, _ = read(n_quads)
        assert {"0", "1"} < {str(term) for term in graph.objects()}
        names = {str(term) for triple in graph for term in triple}
        assert MEANT in names
        assert BAD not in names
        if b"r s" in body.encode():
            assert "http://data.example/r%20s" in names
    faults = {fault.reason: fault.count for fault in reading.outcome.faults}
    assert faults.keys() == {Reason.REPAIRED}
    assert faults[Reason.REPAIRED] >= 2
    assert not reading.outcome.is_partial


@pytest.mark.parametrize("media_type", ["text/turtle", "text/n3", "application/trig"])
@pytest.mark.parametrize(
    "literal",
    [
        r'"""a \q . e:x e:y e:z . b"""',
        r"'''a \uD800 . e:x e:y e:z . b'''@en",
        r'"""\ud83d " . e:x e:y e:z . \U00110000"""',
        r'"a \q . e:x e:y e:z . b"',
        r"'\u12 . e:x e:y e:z . '",
    ],
)
def test_bad_escapes_cost_their_statement_alone(literal: str, media_type: str) -> None:
    """If an escape is none, then no statement comes out of the text around it."""
    body = f'@prefix e: <http://e/> . e:a e:p 1 , {literal} , 2 . e:a e:p """3""" .'
    parsed = parse(
        body.encode(), url=URL, graph=None, media_type=media_type, environment=BOUNDED
    )
    lines = b"".join(parsed).decode().splitlines()
    assert [line.split()[2][:2] for line in lines] == ['"1', '"2', '"3']
    faults = {fault.reason: fault.count for fault in parsed.faults}
    assert faults[Reason.BAD_TERM] == 1
    assert Reason.SYNTAX not in faults
    assert not parsed.is_partial


def test_half_a_mile_of_iris_is_mended_in_a_stream(tmp_path: Path) -> None:
    """If a bad IRI lies over the border of two blocks, then it is mended, too."""
    path = tmp_path / "long.ttl"
    one = f'<http://e/a> <http://e/p> {TERM} , """x \\q "" <a b>""" , "y" .\n'
    path.write_text(one * 4000)
    parsed = parse(path, url=URL, graph=None, environment=BOUNDED)
    text = b"".join(parsed).decode()
    left = f'<http://e/a> <http://e/p> <{MEANT}> .\n<http://e/a> <http://e/p> "y" .\n'
    assert text == left * 4000
    faults = {fault.reason: fault.count for fault in parsed.faults}
    assert faults == {Reason.REPAIRED: 4000, Reason.BAD_TERM: 4000}


@pytest.mark.parametrize("escape", [r"\U80110000", r"\UFFFFFFFF", r"\U00110000"])
def test_escapes_beyond_unicode_cost_their_statement_alone(escape: str) -> None:
    """If an escape in an IRI is beyond all characters, then it is refused by name."""
    body = f"<http://e/{escape}> <e:p> <e:c> .\n<e:a> <e:p> <e:b> .\n"
    for media_type in ("application/n-triples", "application/n-quads", "text/turtle"):
        parsed = parse(body.encode(), url=URL, graph=None, media_type=media_type)
        assert b"<e:a> <e:p> <e:b>" in b"".join(parsed)
        assert {fault.reason for fault in parsed.faults} <= {
            Reason.SYNTAX,
            Reason.BAD_TERM,
        }
        assert parsed.faults
