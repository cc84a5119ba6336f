"""Blank node labels are found in lines of canonical N-Quads, and nowhere else."""

from __future__ import annotations

import io
import random
from typing import Any

import pyoxigraph as ox
import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.formats import N_QUADS
from rdfcrawl.rdf.output import BlankNodes, without_labels
from rdfcrawl.rdf.parse import parse

URL = "http://e.example/d"
# Text in a literal that looks like the end of a line or the begin of a term.
PIECES = (
    *("_:b", "_:", " ", " ", " ", ".", " .", " .\n", "\n", "\r", "\t", '"', "\\", "<"),
    *(">", "<g>", "<http://e/g>", "@en", "^^", "<<(", ")>>", " <<( ", "x", "\u2028"),
    *(
        "\0",
        "\u0085",
        "\x0b",
        "\x0c",
        "\x7f",
        "\ud7ff",
        "\U0001f4a9",
        "_:b\u2028",
        "#\t",
    ),
)


def random_literal(rng: random.Random) -> ox.Literal:
    """Return a literal of such pieces."""
    text = "".join(rng.choices(PIECES, k=rng.randint(0, 6)))
    match rng.randrange(4):
        case 0:
            return ox.Literal(text, language="en")
        case 1:
            return ox.Literal(text, datatype=ox.NamedNode("http://e/_:d"))
        case 2:
            return ox.Literal(text, language="ar", direction=ox.BaseDirection.RTL)
    return ox.Literal(text)


def random_quads(rng: random.Random, n: int, *, deep: bool) -> list[ox.Quad]:
    """Return statements of such literals, with blank nodes in all positions."""

    def node() -> ox.NamedNode | ox.BlankNode:
        if rng.random() < 0.5:
            return ox.NamedNode("http://e/_:a" + rng.choice(["", "'(_:b)", "?_:b=."]))
        return ox.BlankNode(rng.choice(["b", "c", "d.e-f", "b0"]))

    def term(level: int) -> Any:
        if deep and level < 3 and rng.random() < 0.3:
            return ox.Triple(node(), ox.NamedNode("http://e/p"), term(level + 1))
        return random_literal(rng) if rng.random() < 0.7 else node()

    graphs: list[Any] = [
        ox.DefaultGraph(),
        ox.BlankNode("g"),
        ox.NamedNode("http://e/g"),
    ]
    predicate = ox.NamedNode("http://e/_:p")
    return [ox.Quad(node(), predicate, term(0), rng.choice(graphs)) for _ in range(n)]


def serialized(quads: list[ox.Quad]) -> bytes:
    """Return canonical N-Quads."""
    out = io.BytesIO()
    ox.serialize(quads, out, format=ox.RdfFormat.N_QUADS)
    return out.getvalue()


def renamed(quad: ox.Quad, labels: dict[str, str]) -> ox.Quad:
    """Return a statement with its blank nodes renamed, in order."""

    def new(term: Any) -> Any:
        if isinstance(term, ox.BlankNode):
            return ox.BlankNode(labels.setdefault(term.value, f"n{len(labels)}"))
        if isinstance(term, ox.Triple):
            return ox.Triple(*map(new, term))
        return term

    return ox.Quad(*map(new, quad))


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_relabelling_changes_labels_alone(seed: int, *, deep: bool) -> None:
    """If literals and IRIs have text like a label, then they stay unchanged."""
    quads = random_quads(random.Random(seed), 60, deep=deep)
    lines = serialized(quads)

    found = BlankNodes(URL).relabel(lines)

    labels: dict[str, str] = {}
    want = [renamed(quad, labels) for quad in quads]
    labels.clear()
    got = [renamed(x, labels) for x in ox.parse(found, ox.RdfFormat.N_QUADS)]
    assert got == want
    assert without_labels(found) == without_labels(lines)


@pytest.mark.parametrize(
    "literal",
    [
        '"see _:b"@en',
        '"see _:b"',
        '"_:a _:b"',
        '"_:a <b"^^<http://e/t>',
        '"_:a <http://e/g> ."',
        '"_:a ."@en--rtl',
        '"_:b _:b .\\n"',
    ],
)
@pytest.mark.parametrize("tail", [" .\n", " <http://e.example/g> .\n", " _:g .\n"])
def test_label_in_a_literal_is_text(literal: str, tail: str) -> None:
    """If a literal ends like a statement about a blank node, then it is kept."""
    body = f"<http://e/s> <http://e/p> {literal}{tail}".encode()

    parsed = parse(body, url=URL, graph=URL, media_type=N_QUADS.media_types[0])
    (quad,) = ox.parse(b"".join(parsed), ox.RdfFormat.N_QUADS)

    (want,) = ox.parse(body, ox.RdfFormat.N_QUADS)
    assert quad.object == want.object
    assert {x.reason for x in parsed.faults} <= {Reason.FOREIGN_GRAPH}


def test_texts_that_differ_in_a_literal_are_told_apart() -> None:
    """If two responses differ in a literal with `_:`, then they differ."""
    line = b'_:%s <http://e/p> "see _:%s" .\n'

    assert without_labels(line % (b"a", b"x")) == without_labels(line % (b"b", b"x"))
    assert without_labels(line % (b"a", b"x")) != without_labels(line % (b"a", b"y"))
