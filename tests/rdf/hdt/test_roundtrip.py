"""Statements written as HDT are read back unchanged."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import (
    BlankNode,
    CanonicalizationAlgorithm,
    Dataset,
    Literal,
    NamedNode,
    Quad,
    RdfFormat,
)

from rdfcrawl.core.errors import FaultLog
from rdfcrawl.rdf.environment import DEFAULT_LIMITS
from rdfcrawl.rdf.hdt import read_hdt, write_hdt
from tests.support.examples import examples
from tests.support.hdt_files import BASE, hdt_of, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.support.conformance_suites import Suites

XSD = "http://www.w3.org/2001/XMLSchema#"
FORMATS = {".nt": RdfFormat.N_TRIPLES, ".ttl": RdfFormat.TURTLE}


def _n_quads(quads: Iterable[Quad]) -> bytes:
    written = pyoxigraph.serialize(quads, format=RdfFormat.N_QUADS)
    assert written is not None
    return written


def _canonical(quads: Iterable[Quad]) -> Dataset:
    dataset = Dataset(quads)
    dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return dataset


def _read_again(quads: list[Quad]) -> list[Quad]:
    lines = lines_of(hdt_of([_n_quads(quads)]))
    return list(pyoxigraph.parse(b"".join(lines), RdfFormat.N_QUADS))


@pytest.mark.parametrize(
    ("folder", "suffix", "least"),
    [("rdf-n-triples", ".nt", 40), ("rdf-turtle", ".ttl", 220)],
)
def test_files_of_the_suite_are_isomorphic(
    suites: Suites, folder: str, suffix: str, least: int
) -> None:
    """If a file of the RDF 1.1 suite that is right is written, the same is read."""
    n_files = 0
    root = suites.checkout("rdf-tests") / "rdf" / "rdf11" / folder
    for path in sorted(root.glob(f"*{suffix}")):
        try:
            parsed = pyoxigraph.parse(
                path.read_bytes(), FORMATS[suffix], base_iri=f"http://e/{path.name}"
            )
            quads = [
                quad for quad in parsed if "\0" not in getattr(quad.object, "value", "")
            ]
        except SyntaxError:
            continue
        again = _canonical(_read_again(quads))
        assert again == _canonical(quads), path.name
        n_files += 1
    assert n_files >= least


def test_all_kinds_of_terms_are_read_again() -> None:
    """If terms of all kinds, and of any characters, are written, they are read."""
    s, p = NamedNode("http://e/s"), NamedNode("http://e/p")
    every = "".join(map(chr, [*range(1, 0xD800), *range(0xE000, 0x11_0000, 97)]))
    objects: list[NamedNode | BlankNode | Literal] = [
        s,
        p,
        NamedNode("http://e/\u00e9\U0001f600"),
        NamedNode("urn:x"),
        BlankNode("b1"),
        BlankNode("a_b-c.d"),
        Literal(""),
        Literal("plain"),
        Literal(every),
        *map(Literal, every[:300]),
        Literal('"@en'),
        Literal('a"^^<http://e/d>'),
        Literal("\\u0041"),
        Literal("lang", language="de-at"),
        Literal('x"@en', language="en"),
        Literal("typed", datatype=NamedNode("http://e/d\u00e9")),
        Literal("1", datatype=NamedNode(XSD + "integer")),
        Literal("line\nbreak\r\ttab\b\f\x7f\x85"),
    ]
    quads = [Quad(s, p, o) for o in objects]
    quads += [Quad(BlankNode("b1"), s, BlankNode("a_b-c.d"))]
    assert set(_read_again(quads)) == set(quads)


def test_escapes_and_tags_are_written_canonically() -> None:
    """If lines are not canonical, then the result is."""
    lines = [
        b'<http://e/s> <http://e/p> "\\u0041\\t"^^<%sstring> .\n' % XSD.encode(),
        b'<http://e/s>\t<http://e/p>  "x"@EN-us.\n',
        b"<http://e/\\u00e9> <http://e/p> <http://e/s> . # comment\n",
    ]
    assert lines_of(hdt_of(lines)) == [
        b'<http://e/s> <http://e/p> "A\\t" .\n',
        b'<http://e/s> <http://e/p> "x"@en-us .\n',
        "<http://e/é> <http://e/p> <http://e/s> .\n".encode(),
    ]


def test_shared_terms_are_one() -> None:
    """If terms are subjects and objects, then both uses are read as the same term."""
    nodes = [f"<http://e/{i}>" for i in range(100)] + [f"_:b{i}" for i in range(50)]
    lines = {
        f"{one} <http://e/p> {other} .\n".encode()
        for i, one in enumerate(nodes)
        for other in (nodes[i * 7 % 150], nodes[i * 11 % 150], f'"{i}"', nodes[149])
    }
    assert set(lines_of(hdt_of(lines))) == lines


_IRIS = st.sampled_from([NamedNode(f"http://e/{i}") for i in range(5)])
_BLANKS = st.sampled_from([BlankNode(f"b{i}") for i in range(5)])
_TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=10
)
_LITERALS = st.one_of(
    st.builds(Literal, _TEXTS),
    st.builds(Literal, _TEXTS, language=st.sampled_from(["en", "de-at"])),
    st.builds(Literal, _TEXTS, datatype=_IRIS),
)
_QUADS = st.builds(Quad, _IRIS | _BLANKS, _IRIS, _IRIS | _BLANKS | _LITERALS)


@given(st.lists(_QUADS, max_size=40))
@settings(max_examples=examples(100), deadline=None)
def test_any_graph_is_read_again(quads: list[Quad]) -> None:
    """If a graph is written, then the same statements are read."""
    again = _read_again(quads)
    assert len(again) == len(set(quads))
    assert set(again) == set(quads)


def test_large_file_is_read_again_from_a_map(tmp_path: Path) -> None:
    """If a file has many blocks and windows, then its map gives all statements."""
    lines = {
        line
        for i in range(50_000)
        for line in (
            b"<http://example.org/r/%d> <http://e/p%d> <http://example.org/r/%d> .\n"
            % (i, i % 7, i * 7919 % 60_000),
            b'_:n%d <http://e/text> "text \\"%d\\" of a node" .\n' % (i % 20_000, i),
        )
    }
    path = tmp_path / "large.hdt"
    with path.open("wb") as out:
        write_hdt(lines, out, base=BASE, memory_bytes=2**24)
    log = FaultLog()
    found: set[bytes] = set()
    n_lines = 0
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        for block in read_hdt(memoryview(mapped), limits=DEFAULT_LIMITS, log=log):
            assert block.endswith(b"\n")
            n_lines += block.count(b"\n")
            found.update(block.splitlines(keepends=True))
    assert found == lines
    assert n_lines == len(lines)
    assert not log.all()


def test_terms_beyond_memory_are_read_a_few_at_a_time() -> None:
    """If the terms of a window are too many bytes, then all are read all the same."""
    text = b"x" * 900_000
    lines = {
        b'<http://e/s> <http://e/p%d> "%d %b" .\n' % (i % 3, i, text) for i in range(50)
    }
    assert set(lines_of(hdt_of(lines))) == lines
