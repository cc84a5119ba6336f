"""Output written in pieces has all statements of the input, for other readers too."""

from __future__ import annotations

import json
import warnings
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyld.jsonld
import pyoxigraph as ox
import pytest
import rdflib
from rdflib.compare import isomorphic

from rdfcrawl.core.namespaces import RDF, XSD
from rdfcrawl.rdf.serializing import SERIALIZATIONS, StatementSerializer
from tests.support.nasty_statements import nasty_statements

if TYPE_CHECKING:
    from tests.support.nasty_statements import Statement, Term

XMLNS = "http://www.w3.org/2000/xmlns/x"
GRAPHS = ("http://e/doc", "http://e/_:other")
NAMES = sorted(SERIALIZATIONS)
MORE = f"""<http://e/s> <{XSD}p> "1.50"^^<{XSD}decimal> <http://e/doc> .
<http://e/s> <{XSD}p> "maybe"^^<{XSD}boolean> <http://e/doc> .
<http://xmlns.com/foaf/0.1/> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> "x" <http://e/doc> .
<http://xmlns.com/foaf/0.1/a.b/-c> <http://schema.org/%20~(x)> <http://schema.org/1:2> <http://e/doc> .
<http://e/list> <http://www.w3.org/1999/02/22-rdf-syntax-ns#first> <http://www.w3.org/1999/02/22-rdf-syntax-ns#nil> <http://e/doc> .
""".encode()  # noqa: E501
# pyld and rdflib reformat these numbers, and rdflib cannot read an escape at the end.
ODD = f"""<http://e/s> <{XSD}p> "01"^^<{XSD}integer> <http://e/doc> .
<http://e/s> <{XSD}p> "NaN"^^<{XSD}double> <http://e/doc> .
<http://e/s> <{XSD}p> "1E0"^^<{XSD}double> <http://e/doc> .
<http://xmlns.com/foaf/0.1/c.> <http://e/p> "x"@en--ltr <http://e/doc> .
""".encode()


def term_of(term: Term) -> Any:
    """Return a term of pyoxigraph."""
    if term.kind == "iri":
        return ox.NamedNode(term.value)
    if term.kind == "blank":
        return ox.BlankNode(term.value)
    if term.language:
        return ox.Literal(term.value, language=term.language)
    if term.datatype:
        return ox.Literal(term.value, datatype=ox.NamedNode(term.datatype))
    return ox.Literal(term.value)


def quad_of(statement: Statement, graph: str) -> ox.Quad:
    """Return a statement of pyoxigraph."""
    subject, predicate, value = map(term_of, statement)
    return ox.Quad(subject, predicate, value, ox.NamedNode(graph))


def quads_of(seed: int) -> bytes:
    """Return N-Quads as a crawl stores them: each line has a graph."""
    said = nasty_statements(seed, n=150, has_controls=False)
    quads = [quad_of(statement, GRAPHS[n % 7 == 0]) for n, statement in enumerate(said)]
    return (ox.serialize(quads, format=ox.RdfFormat.N_QUADS) or b"") + MORE


def written(name: str, quads: bytes, n_lines: int) -> bytes:
    """Return a file that is written so many lines at a time."""
    serializer = StatementSerializer(name)
    lines = quads.splitlines(keepends=True)
    pieces = [
        serializer.write(b"".join(lines[first : first + n_lines]))
        for first in range(0, len(lines), n_lines)
    ]
    assert serializer.n_left_out == 0
    return b"".join([*pieces, serializer.end()])


def by_rdflib(content: bytes, name: str) -> dict[str, rdflib.Graph]:
    """Return the graphs of a file as rdflib reads them."""
    rdflib.NORMALIZE_LITERALS = False
    dataset = rdflib.Dataset()
    names = {"nq": "nquads", "trig": "trig", "nt": "nt", "ttl": "turtle", "rdf": "xml"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dataset.parse(data=content, format=names[name])
    found: dict[str, rdflib.Graph] = {}
    for subject, predicate, value, graph in dataset.quads():
        key = str(graph or "") if name in ("nq", "trig") else ""
        found.setdefault(key, rdflib.Graph()).add((subject, predicate, value))
    return found


def by_pyld(content: bytes) -> bytes:
    """Return the statements of JSON-LD as pyld reads them."""
    options = {"format": "application/n-quads"}
    read: str = pyld.jsonld.to_rdf(json.loads(content), options)
    return read.encode()


@pytest.mark.parametrize("n_lines", [1, 40, 10_000])
@pytest.mark.parametrize("name", NAMES)
def test_pieces_say_what_came_in(name: str, n_lines: int) -> None:
    """If statements are written a few at a time, then others read the same ones."""
    quads = StatementSerializer(name).expressible(quads_of(n_lines))
    content = written(name, quads, n_lines)
    if name == "jsonld":
        got = by_rdflib(by_pyld(content), "nq")
    else:
        got = by_rdflib(content, name)
    want = by_rdflib(quads, "nq")
    if not StatementSerializer(name).has_graphs:
        union = rdflib.Graph()
        for graph in want.values():
            union += graph
        want = {"": union}
    assert got.keys() == want.keys()
    for key, graph in want.items():
        assert isomorphic(got[key], graph), key


@pytest.mark.parametrize("name", NAMES)
def test_pieces_of_any_size_are_one_file(name: str) -> None:
    """If statements have U+0000 and the like, then pyoxigraph reads the same ones."""
    said = nasty_statements(7, n=150)
    quads = [quad_of(each, GRAPHS[0]) for each in said]
    lines = (ox.serialize(quads, format=ox.RdfFormat.N_QUADS) or b"") + ODD
    lines = StatementSerializer(name).expressible(lines)
    want = {x.triple for x in ox.parse(lines, format=ox.RdfFormat.N_QUADS)}
    kind = ox.RdfFormat.from_extension(name)
    assert kind is not None
    for n_lines in (1, 17, 1000):
        got = {x.triple for x in ox.parse(written(name, lines, n_lines), format=kind)}
        assert got == want


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_a_file_too(name: str) -> None:
    """If there are no statements, then the file is sound, and says nothing."""
    kind = ox.RdfFormat.from_extension(name)
    assert kind is not None
    assert not list(ox.parse(written(name, b"", 1), format=kind))


def test_what_a_format_cannot_say_is_counted() -> None:
    """If JSON-LD cannot say a statement, then those around it are written."""
    line = b'<http://e/s> <http://e/p> "%d" <http://e/g> .\n'
    odd = b"<http://e/s> <http://e/p> <<( <urn:a> <urn:b> <urn:c> )>> <http://e/g> .\n"
    serializer = StatementSerializer("jsonld")
    pieces = [serializer.write(line % 1 + odd + line % 2), serializer.write(odd)]
    content = b"".join([*pieces, serializer.end()])
    assert serializer.n_left_out == 2
    assert by_pyld(content) == line % 1 + line % 2
    assert StatementSerializer("nt").write(odd) == odd.replace(b" <http://e/g>", b"")


def test_statements_without_form_in_xml_are_counted_by_reason() -> None:
    """If RDF/XML cannot express a statement, then the others are written."""
    line = "<http://e/s> <{}> {} <http://e/g> .\n".format
    kept = [
        line("http://e/p", '"\\t\\r\\n \\\\b <&\\">"@en'),
        line("http://e/ns#é.1", "_:b"),
        line("http://e/a?x=1&y=z", '"]]>"'),
        line(f"{RDF}_1", "<http://e/?a=1&b='2'>"),
    ]
    lost = {
        "with a character that XML excludes": [
            line("http://e/p", f'"{each}"') for each in ("\\b", "\\u0000", "\uffff")
        ],
        "with a predicate that no element names": [
            line(each, "_:b")
            for each in ("urn:x:1", "http://e/", f"{RDF}li", f"{RDF}bagID", XMLNS)
        ],
        "with a triple term": [line("http://e/p", "<<( <urn:a> <urn:b> _:b )>>")],
        "with a base direction": [line("http://e/p", '"x"@en--ltr')],
    }
    serializer = StatementSerializer("rdf")
    lines = "".join([*kept, *chain(*lost.values())]).encode()
    content = serializer.write(lines) + serializer.end()
    assert serializer.left_out == {reason: len(x) for reason, x in lost.items()}
    want = by_rdflib("".join(kept).encode(), "nq")["http://e/g"]
    assert isomorphic(by_rdflib(content, "rdf")[""], want)


def test_prefixes_are_told_once() -> None:
    """If Turtle is written in several pieces, then only the first has prefixes."""
    line = b"<http://e/s> <http://schema.org/name> <http://e/%d> <http://e/g> .\n"
    serializer = StatementSerializer("ttl")
    first, second = serializer.write(line % 1), serializer.write(line % 2)
    assert b"@prefix schema:" in first
    assert second == b"<http://e/s> schema:name <http://e/2> .\n"
