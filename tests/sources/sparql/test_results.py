"""Result tables in all four formats."""

from __future__ import annotations

import io
import json
from itertools import islice
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.dataweb.nodes.results import WRITERS
from rdfcrawl.rdf.results import write_json, write_tsv, write_xml
from rdfcrawl.sources.sparql.results import iter_rows
from rdfcrawl.sources.sparql.settings import ResultLimits
from rdfcrawl.sources.sparql.writing import ResultTerm, Row, term
from tests.support.examples import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

JSON, XML, TSV, CSV = (
    "application/sparql-results+json",
    "application/sparql-results+xml",
    "text/tab-separated-values",
    "text/csv",
)
_FORMATS = {
    JSON: ox.QueryResultsFormat.JSON,
    XML: ox.QueryResultsFormat.XML,
    TSV: ox.QueryResultsFormat.TSV,
    CSV: ox.QueryResultsFormat.CSV,
}
_XSD = "http://www.w3.org/2001/XMLSchema#"


def _read(
    body: bytes, media_type: str, **limits: int
) -> tuple[list[Row], list[Reason], Reason | None]:
    """Return rows, faults noted, and the fault that ended the reading."""
    log, rows, ended = FaultLog(), list[Row](), None
    try:
        rows.extend(
            iter_rows(
                body, media_type=media_type, log=log, limits=ResultLimits(**limits)
            )
        )
    except SourceFault as error:
        ended = error.fault.reason
    return rows, [fault.reason for fault in log.all()], ended


def _kept(body: bytes, media_type: str) -> list[Row]:
    """Return the rows before a fault."""
    rows, _, ended = _read(body, media_type)
    assert ended is Reason.SYNTAX
    return rows


_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
_XML_TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Co", "Cn"])
    | st.sampled_from("\t\n\r")
)
_TERMS = st.one_of(
    st.sampled_from(["http://e/a", "urn:x:é", "http://e/日本"]).map(ox.NamedNode),
    st.sampled_from(["b0", "x12"]).map(ox.BlankNode),
    _XML_TEXT.map(ox.Literal),
    _XML_TEXT.map(lambda x: ox.Literal(x, language="en-GB")),
    _XML_TEXT.map(lambda x: ox.Literal(x, datatype=ox.NamedNode("http://e/dt"))),
    st.none(),
)


def _expected(row: Sequence[ox.NamedNode | ox.BlankNode | ox.Literal | None]) -> Row:
    cells: Row = {}
    for name, value in zip("spo", row, strict=True):
        if isinstance(value, ox.NamedNode):
            cells[name] = ResultTerm("iri", value.value)
        elif isinstance(value, ox.BlankNode):
            cells[name] = ResultTerm("blank", value.value)
        elif isinstance(value, ox.Literal):
            datatype = value.datatype.value
            plain = value.language or datatype == f"{_XSD}string"
            cells[name] = ResultTerm(
                "literal", value.value, "" if plain else datatype, value.language or ""
            )
    return cells


@pytest.mark.parametrize("media_type", [JSON, XML, TSV])
@settings(deadline=None, max_examples=60)
@given(rows=st.lists(st.tuples(_TERMS, _TERMS, _TERMS), max_size=5))
def test_terms_come_as_they_were_written(
    media_type: str, rows: list[tuple[ox.NamedNode | ox.BlankNode | ox.Literal | None]]
) -> None:
    """If a table is written by another library, then each term is the same."""
    body = WRITERS[_FORMATS[media_type]](list("spo"), rows).encode()
    found, faults, ended = _read(body, media_type)
    assert found == [_expected(row) for row in rows]
    assert (faults, ended) == ([], None)


def test_csv_has_guessed_kinds() -> None:
    """If a table is CSV, then IRIs are guessed and counted."""
    body = b'\xef\xbb\xbfs,p,o\r\nhttp://e/a,http://e/p,_:b1\r\n_:b1,http://e/p,"a, ""b"""\r\nx,y,http://e/c\r\n'
    found, faults, ended = _read(body, CSV)
    assert [row["o"] for row in found] == [
        ResultTerm("blank", "b1"),
        ResultTerm("literal", 'a, "b"'),
        ResultTerm("iri", "http://e/c"),
    ]
    assert found[1]["s"] == ResultTerm("blank", "b1")
    assert (faults, ended) == ([Reason.REPAIRED], None)


def test_virtuoso_tsv_is_read_like_csv() -> None:
    """If TSV names have no question mark, then its fields have lost their kinds."""
    body = b'"p"\t"o"\n"http://e/p"\t"nodeID://b10001"\n"http://e/q"\t2001-01-01\n'
    found, faults, _ = _read(body, TSV)
    assert found[0] == {
        "p": ResultTerm("iri", "http://e/p"),
        "o": ResultTerm("blank", "nodeID://b10001"),
    }
    assert found[1]["o"] == ResultTerm("literal", "2001-01-01")
    assert faults == [Reason.REPAIRED]


def test_tsv_shorthands_have_datatypes() -> None:
    """If TSV has numbers and booleans as Turtle has, then they are typed."""
    found, _, _ = _read(b"?s\t?p\t?o\n1\t-1.5\t1e3\ntrue\t'x'@en\t\n", TSV)
    assert [found[0][x].datatype for x in "spo"] == [
        f"{_XSD}{x}" for x in ("integer", "decimal", "double")
    ]
    assert found[1] == {
        "s": ResultTerm("literal", "true", f"{_XSD}boolean"),
        "p": ResultTerm("literal", "x", "", "en"),
    }


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ('"x"@en_US', ResultTerm("literal", "x", "", "en_US")),
        ('"""say "hi", \\""""', ResultTerm("literal", 'say "hi", "')),
        ("'''it's'''@en", ResultTerm("literal", "it's", "", "en")),
        ('""', ResultTerm("literal", "")),
        ('"x', None),
        ('"x"y"', None),
    ],
)
def test_literals_of_tsv(written: str, found: ResultTerm | None) -> None:
    """If a literal has long quotes or an unusual language tag, then it is kept."""
    rows, faults, _ = _read(f"?s\n{written}\n".encode(), TSV)
    assert rows == ([{"s": found}] if found else [])
    assert faults == ([] if found else [Reason.BAD_TERM])


def test_tsv_without_question_marks_but_with_brackets() -> None:
    """If IRIs have brackets in a table without question marks, then they are IRIs."""
    rows, _, _ = _read(b"s\to\n<http://e/a>\t<http://e/b>\n", TSV)
    assert rows == [
        {"s": ResultTerm("iri", "http://e/a"), "o": ResultTerm("iri", "http://e/b")}
    ]


def test_json_with_null_and_numbers() -> None:
    """If a binding is null or a number without quotes, then its row is kept."""
    body = (
        b'{"head":{"vars":["s","o"]},"results":{"bindings":[{"s":null,"o":'
        b'{"type":"literal","value":5}},{"o":{"type":"literal","value":true}}]}}'
    )
    rows, faults, _ = _read(body, JSON)
    assert rows == [
        {"o": ResultTerm("literal", "5")},
        {"o": ResultTerm("literal", "true")},
    ]
    assert set(faults) == {Reason.REPAIRED}


def test_json_of_virtuoso_and_of_the_old_note() -> None:
    """If JSON has typed-literal, raw control characters and more, it is read."""
    body = (
        b'{ "head": { "link": [], "vars": ["s"] }, "results": { "distinct": false, '
        b'"ordered": true, "bindings": [ { "s": { "type": "typed-literal", "datatype": '
        b'"http://e/dt", "value": "a\tb" }}, '
        b'{"s":{"type":"bnode","value":"nodeID://b1"}} ] } }'
    )
    found, faults, ended = _read(body, "application/json")
    assert [row["s"] for row in found] == [
        ResultTerm("literal", "a\tb", "http://e/dt"),
        ResultTerm("blank", "nodeID://b1"),
    ]
    assert (faults, ended) == ([], None)


def test_head_after_results_and_unknown_members() -> None:
    """If JSON has its members in another order, then its rows are still read."""
    body = (
        b'{"x":[1,{"bindings":[]}],"results":{"y":1,"bindings":'
        b'[{"s":{"type":"uri","value":"u:a"}}]},"head":{}}'
    )
    assert _read(body, JSON)[0] == [{"s": ResultTerm("iri", "u:a")}]


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (b"<html><body>sparql error</body></html>", "text/html"),
        (b"<html><body>error</body></html>", JSON),
        (b"{}", JSON),
        (b'{"results":{}}', JSON),
        (b"", JSON),
        (b"<sparql/>", XML),
        (b"Virtuoso S1T00 Error", "text/plain"),
        (b"<!DOCTYPE html><p>", CSV),
    ],
)
def test_what_is_no_table_is_refused(body: bytes, media_type: str) -> None:
    """If a response is not a table, then there is a fault and no row is made up."""
    found, _, ended = _read(body, media_type)
    assert found == []
    assert ended is not None


def test_boolean_has_no_rows() -> None:
    """If the response is a boolean, then there are no rows."""
    assert _read(b'{"head":{},"boolean":true}', JSON) == ([], [], None)
    assert _read(b"<sparql><head/><boolean>true</boolean></sparql>", XML) == (
        [],
        [],
        None,
    )


@pytest.mark.parametrize("media_type", [JSON, XML])
def test_rows_before_the_end_of_a_cut_answer_are_kept(media_type: str) -> None:
    """If a response is truncated, then the rows before are kept, with a fault."""
    row = (ox.NamedNode("http://e/a"), None, ox.Literal("x" * 100))
    body = WRITERS[_FORMATS[media_type]](list("spo"), [row] * 2_000).encode()
    assert 900 < len(_kept(body[: len(body) // 2], media_type)) <= 1_000


TRIPLE = ox.Triple(
    ox.BlankNode("x"),
    ox.NamedNode("u:b"),
    ox.Triple(
        ox.NamedNode("u:a"), ox.NamedNode("u:c"), ox.Literal("d>> .", language="en")
    ),
)
OUR_WRITERS = {JSON: write_json, XML: write_xml, TSV: write_tsv}
LINE = '<<( _:x <u:b> <<( <u:a> <u:c> "d>> ."@en )>> )>>'


@pytest.mark.parametrize("media_type", [JSON, XML, TSV])
def test_triple_terms_and_directions_are_read(media_type: str) -> None:
    """If a field is a triple term, or a literal has a direction, then it is kept."""
    arabic = ox.Literal("x", language="ar", direction=ox.BaseDirection.RTL)
    file = io.StringIO()
    OUR_WRITERS[media_type](["o"], [(TRIPLE,), (arabic,)], file)
    found, faults, _ = _read(file.getvalue().encode(), media_type)
    assert [term(row["o"], str) for row in found] == [LINE, '"x"@ar--rtl']
    assert faults == []


_A, _B = b'{"type":"uri","value":"u:a"}', b'{"type":"literal","value":"b"}'
OLD_FORMS = [
    (JSON, b'{"type":"triple","value":{"subject":%s,"property":%s,"object":%s}}'),
    (JSON, b'{"type":"triple","value":{"s":%s,"p":%s,"o":%s}}'),
    (JSON, b'{"type":"statement","value":{"s":%s,"p":%s,"o":%s}}'),
    (TSV, b'?s\t?o\n<u:x>\t<< <u:a> <u:a> "b" >>\n'),
]


@pytest.mark.parametrize(("media_type", "form"), OLD_FORMS)
def test_triples_of_rdf_star_are_read(media_type: str, form: bytes) -> None:
    """If a store writes triples as before RDF 1.2, then they are triple terms."""
    if media_type == JSON:
        cell = form % (_A, _A, _B)
        form = b'{"results":{"bindings":[{"o":%s}]}}' % cell
    found, faults, _ = _read(form, media_type)
    assert [term(row["o"], str) for row in found] == ['<<( <u:a> <u:a> "b" )>>']
    assert faults == []


BAD_TRIPLES = [
    (JSON, b'{"results":{"bindings":[{"o":{"type":"triple","value":{"s":%s}}}]}}' % _A),
    (JSON, b'{"results":{"bindings":[{"o":%s1%s}]}}'
     % (b'{"type":"triple","value":{"s":' * 300, b"}}" * 300)),
    (XML, (b"<sparql><results><result><binding name='o'><triple><subject><uri>u:a</uri>"
          b"</subject></triple></binding></result></results></sparql>")),
    (TSV, b"?o\n<<( <u:a> <u:b> )>>\n"),
    (TSV, b"?o\n%s <u:b> )>>\n" % (b"<<( <u:a> <u:b> " * 5000)),
]  # fmt: skip


@pytest.mark.parametrize(("media_type", "body"), BAD_TRIPLES)
def test_bad_triple_terms_cost_their_row(media_type: str, body: bytes) -> None:
    """If a triple term lacks a part or is too deep, then its row is counted."""
    found, faults, _ = _read(body, media_type)
    assert (found, faults) == ([], [Reason.BAD_TERM])


_JSON_ROW = b'{"o":{"type":"literal","value":"%s"}}'
_XML_ROW = b"<result><binding name='o'><literal>%s</literal></binding></result>"
_TABLES = {
    JSON: (b'{"results":{"bindings":[', b",", b"]}}", _JSON_ROW),
    XML: (b"<q:sparql><head/><q:results>", b"", b"</q:results></q:sparql>", _XML_ROW),
    TSV: (b"?s\t?o\n", b"", b"", b'<u:s>\t"%s"\n'),
    CSV: (b"s,o\n", b"", b"", b"u:s,%s\n"),
}
BAD_ROWS = [
    (JSON, _JSON_ROW % b'a"b'),
    *((JSON, text) for text in (b'{"o":{"type":"literal"', b"## error ##")),
    *((XML, _XML_ROW % text) for text in (b"a & b", b"a < b", b"&nbsp;", b"\xff")),
    *((XML, text) for text in (_XML_ROW[:-20] % b"a", b"## < ##", b"</x>")),
    *((TSV, text) for text in (b"<u:s>\n", b'<u:s>\t"a\tb"\n', b"## error ##\n")),
    *((CSV, text) for text in (b"u:s\n", b"u:s,a,b\n", b"## error ##\n")),
]


@pytest.mark.parametrize(("media_type", "bad"), BAD_ROWS)
def test_rows_after_a_bad_one_are_kept(media_type: str, bad: bytes) -> None:
    """If a row is ill-formed, then it is counted; at the end, the table is cut."""
    begin, between, end, row = _TABLES[media_type]
    for size in (1, 70_000):
        first, last = row % (b"a" * size), row % b"z"
        body = begin + between.join((first, bad, bad, last)) + end
        found, faults, ended = _read(body, media_type)
        assert [len(each["o"].text) for each in found] == [size, 1]
        assert Reason.SYNTAX in faults
        assert ended is None
        found, faults, ended = _read(
            begin + between.join((first, bad)) + end, media_type
        )
        assert ([len(each["o"].text) for each in found], ended) == (
            [size],
            Reason.SYNTAX,
        )
        assert Reason.SYNTAX not in faults


def test_commas_between_rows_are_mended() -> None:
    """If JSON has too few or many commas between rows, then all rows are read."""
    for between in (b" ", b", ,"):
        rows = between.join([_JSON_ROW % b"a", _JSON_ROW % b"b"])
        found, faults, ended = _read(b'{"results":{"bindings":[%s]}}' % rows, JSON)
        assert [each["o"].text for each in found] == ["a", "b"]
        assert (faults, ended) == ([Reason.REPAIRED], None)


def test_an_open_quotation_mark_in_csv_ends_the_table() -> None:
    """If a quotation mark of CSV is not closed, then no text beyond its row is read."""
    assert [row["o"].text for row in _kept(b's,o\nu:s,a\nu:s,"b\nu:s,c\n', CSV)] == [
        "a"
    ]


def test_xml_in_other_charsets_ends_at_an_error() -> None:
    """If XML is not in UTF-8, then it ends at its first error."""
    head = b'<?xml version="1.0" encoding="iso-8859-1"?><sparql><results>'
    rows = _XML_ROW % b"\xe9" + _XML_ROW % b"a & b" + _XML_ROW % b"c"
    body = head + rows + b"</results></sparql>"
    assert [row["o"].text for row in _kept(body, XML)] == ["\xe9"]


def test_references_to_control_characters_in_xml() -> None:
    """If XML refers to characters that it has not, then they are still read."""
    for before in range(65_400, 65_560, 3):
        body = (
            b"<sparql><results><result><binding name='o'>"
            b"<literal>%s&#11;b&#x1F;\x0c&#xA;</literal></binding></result></results></sparql>"
            % (b"a" * before)
        )
        found, _, ended = _read(body, XML)
        assert ended is None
        assert found[0]["o"].text == "a" * before + "\x0bb\x1f\x0c\n"


def test_xml_in_utf_16() -> None:
    """If XML is in UTF-16, then it is read as it says."""
    text = (
        '<?xml version="1.0" encoding="UTF-16"?><sparql><results><result>'
        f"<binding name='o'><literal>{'é' * 70_000}</literal></binding>"
        "</result></results></sparql>"
    )
    found, _, _ = _read(text.encode("utf-16"), XML)
    assert found[0]["o"].text == "é" * 70_000


def test_entities_are_refused() -> None:
    """If XML declares entities, then nothing is unfolded."""
    bomb = (
        b'<!DOCTYPE sparql [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
        b"<sparql><results/></sparql>"
    )
    assert _read(bomb, XML)[2] is Reason.ENTITY_EXPANSION


@pytest.mark.parametrize("media_type", [JSON, XML, TSV, CSV])
def test_limits_are_kept(media_type: str) -> None:
    """If a row, the rows or the response are too much, then the limit is named."""
    row = (ox.NamedNode("http://e/a"), ox.NamedNode("http://e/p"), ox.Literal("x" * 99))
    body = WRITERS[_FORMATS[media_type]](list("spo"), [row] * 100).encode()
    found, faults, ended = _read(body, media_type, rows=7)
    assert (len(found), ended) == (7, None)
    assert Reason.TOO_MANY_ENTRIES in faults
    assert _read(body, media_type, body_bytes=1_000)[2] is Reason.TOO_LARGE
    long = (row[0], row[1], ox.Literal("x" * 500_000))
    body = WRITERS[_FORMATS[media_type]](list("spo"), [long]).encode()
    assert _read(body, media_type, row_chars=1_000)[2] is Reason.TOO_LARGE


def test_deep_json_is_refused() -> None:
    """If JSON is nested without end, then it is refused."""
    body = b'{"results":{"bindings":[' + b"[" * 100_000
    assert _read(body, JSON)[2] is Reason.TOO_DEEP


class _Endless(io.RawIOBase):
    """A table without end, which counts the bytes read."""

    def __init__(self) -> None:
        self.n_read = 0
        self._head = b'{"head":{"vars":["s"]},"results":{"bindings":[{}'

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        row = b',{"s":{"type":"uri","value":"http://example.org/a"}}'
        data = self._head or row * (len(buffer) // len(row) or 1)
        self._head = b""
        data = data[: len(buffer)]
        buffer[: len(data)] = data
        self.n_read += len(data)
        return len(data)


def test_tables_are_read_as_streams() -> None:
    """If a table has no end, then its first rows come after a few bytes."""
    endless = _Endless()
    source = ByteSource(stream=io.BufferedReader(endless, 4_096))
    rows = iter_rows(source, media_type=JSON, log=FaultLog())
    assert len(list(islice(rows, 60))) == 60
    assert endless.n_read < 500_000


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_damage_raises_nothing_but_source_faults(data: st.DataObject) -> None:
    """If bytes of a table are changed, then there are rows or a fault."""
    media_type = data.draw(st.sampled_from([JSON, XML, TSV, CSV]))
    row = (
        ox.NamedNode("http://e/a"),
        ox.BlankNode("b"),
        ox.Literal("é", language="fr"),
    )
    body = bytearray(WRITERS[_FORMATS[media_type]](list("spo"), [row] * 3).encode())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
        body = body or bytearray(b"x")
    for found in _read(bytes(body), media_type)[0]:
        for cell in found.values():
            assert term(cell, str)


def test_json_numbers_at_the_edge_of_a_window() -> None:
    """If a value ends at the end of the window, then it is read completely."""
    for n in range(65_480, 65_560):
        body = json.dumps({"pad": "x" * n, "n": 123456, "results": {"bindings": [{}]}})
        assert len(_read(body.encode(), JSON)[0]) == 1
