"""Statements become rows and the same statements again, for any content."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from rdfcrawl.stores.columns.rows import SCHEMA, iter_batches, iter_lines
from tests.support.nasty_statements import Term, nasty_statements

DOCUMENT = "http://e/d"
XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


EVERY = (
    Term("iri", "http://e/s"),
    Term("iri", "http://e/p"),
    Term("literal", "".join(map(chr, [*range(0x2FF), 0xFFFE, 0xFFFF, 0x1F4A9]))),
)


def rows(quads: bytes, document: str = DOCUMENT) -> list[dict[str, object]]:
    """Return the rows of one document."""
    found = []
    for batch in iter_batches([(document, 7, [quads])]):
        assert batch.schema == SCHEMA
        batch.validate(full=True)
        found += batch.to_pylist()
    return found


def nasty_quads() -> list[ox.Quad]:
    """Return statements whose literals look like syntax."""
    return [_quad(*terms) for terms in nasty_statements(3, n=300)] + [_quad(*EVERY)]


def _quad(subject: Term, predicate: Term, value: Term) -> ox.Quad:
    of_blank = subject.kind == "blank"
    return ox.Quad(
        ox.BlankNode(subject.value) if of_blank else ox.NamedNode(subject.value),
        ox.NamedNode(predicate.value),
        _object(value),
        ox.NamedNode("http://e/é?g"),
    )


def _object(term: Term) -> ox.BlankNode | ox.NamedNode | ox.Literal:
    if term.kind != "literal":
        cls = ox.BlankNode if term.kind == "blank" else ox.NamedNode
        return cls(term.value)
    datatype = ox.NamedNode(term.datatype) if term.datatype else None
    return ox.Literal(term.value, language=term.language or None, datatype=datatype)


def test_rows_have_the_terms_that_another_reader_finds() -> None:
    """If literals look like syntax, then their rows have them as they are."""
    quads = nasty_quads()
    found = rows(ox.serialize(quads, format=ox.RdfFormat.N_QUADS) or b"")
    assert len(found) == len(quads)
    for row, quad in zip(found, quads, strict=True):
        assert row["graph"] == "http://e/é?g"
        assert row["predicate"] == quad.predicate.value
        assert row["subject"] == str(quad.subject).removeprefix("<").removesuffix(">")
        if isinstance(quad.object, ox.Literal):
            assert row["object"] == quad.object.value
            assert row["object_kind"] == "literal"
            assert row["language"] == quad.object.language
            assert row["datatype"] == quad.object.datatype.value
        else:
            named = str(quad.object).removeprefix("<").removesuffix(">")
            assert row["object"] == named


def test_rows_become_the_same_lines_again() -> None:
    """If rows are written as N-Quads, then these equal the original."""
    lines = ox.serialize(nasty_quads(), format=ox.RdfFormat.N_QUADS) or b""
    pieces = lines.splitlines(keepends=True)
    batches = list(iter_batches([(DOCUMENT, 1, pieces), ("http://e/o", 2, [lines])]))
    again = b"".join(line for batch in batches for line in iter_lines(batch))
    assert set(ox.parse(again, format=ox.RdfFormat.N_QUADS)) == set(nasty_quads())
    assert again == lines * 2


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("<http://e/o>", ("http://e/o", "iri", None, None, None)),
        ("_:b0", ("_:b0", "blank", None, None, None)),
        ('"a b"', ("a b", "literal", f"{XSD}string", None, None)),
        ('""', ("", "literal", f"{XSD}string", None, None)),
        ('"01"^^<http://e/t>', ("01", "literal", "http://e/t", None, None)),
        ('""@en', ("", "literal", f"{RDF}langString", "en", None)),
        ('"a"@de-at', ("a", "literal", f"{RDF}langString", "de-at", None)),
        ('"a"@ar--rtl', ("a", "literal", f"{RDF}dirLangString", "ar", "rtl")),
        (r'"\\n\n\"\u0007\U0001F4A9"@en', ('\\n\n"\a💩', "literal")),
        (
            '<<( _:b <http://e/p> "a b"@en )>>',
            ('<<( _:b <http://e/p> "a b"@en )>>', "triple", None, None, None),
        ),
    ],
)
def test_each_kind_of_object_has_its_columns(
    term: str, expected: tuple[str | None, ...]
) -> None:
    """If an object is of some kind, then its row says so."""
    line = f"_:s <http://e/p> {term} <http://e/g> .\n".encode()
    (row,) = rows(line)
    names = ("object", "object_kind", "datatype", "language", "direction")
    assert tuple(row[name] for name in names[: len(expected)]) == expected
    rest = (row[name] for name in ("subject", "predicate", "graph"))
    assert tuple(rest) == ("_:s", "http://e/p", "http://e/g")
    assert (row["document"], row["version"]) == (DOCUMENT, 7)


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"<http://e/s> <http://e/p> <http://e/o> .\n",
        b'<http://e/s> <http://e/p> "a\n',
        b'<http://e/s> <http://e/p> "a"~ <http://e/g> .\n',
        b"<http://e/s> <http://e/p> <http://e/o> <http://e/g>\n",
        b'<http://e/s> <http://e/p> "\xff" <http://e/g> .\n',
    ],
)
def test_line_that_is_no_statement_is_refused(line: bytes) -> None:
    """If a line is no statement in a graph, then its batch is refused."""
    good = b"<http://e/s> <http://e/p> <http://e/o> <http://e/g> .\n"
    with pytest.raises(ValueError, match=r"not a|UTF8|utf-8"):
        rows(good + line)
    assert len(rows(good)) == 1
