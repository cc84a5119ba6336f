"""Statements of a document as readable Turtle, of bounded length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import pyoxigraph as ox

from rdfcrawl.core.counting import counted
from rdfcrawl.core.namespaces import PREFIXES, SCHEMA_HTTPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PREFIXES: Final = {
    **PREFIXES,
    "schemas": SCHEMA_HTTPS,
    "dc": "http://purl.org/dc/elements/1.1/",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "og": "http://ogp.me/ns#",
    "prof": "http://www.w3.org/ns/dx/prof/",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
}


class BoundedLines(NamedTuple):
    """Statements as N-Quads, up to a limit.

    Attributes:
        lines: complete lines.
        n_statements: in them.
        is_cut: there are more.
    """

    lines: bytes
    n_statements: int
    is_cut: bool


def first_lines(pieces: Iterable[bytes], *, most: int, most_bytes: int) -> BoundedLines:
    """Return the first statements of a document.

    Args:
        pieces: of N-Quads, in complete lines.
        most: limit of statements.
        most_bytes: limit of bytes; the statement that exceeds it is left out.
    """
    kept: list[bytes] = []
    n_bytes = 0
    for line in _iter_lines(pieces):
        n_bytes += len(line)
        if len(kept) == most or n_bytes > most_bytes:
            return BoundedLines(b"".join(kept), len(kept), is_cut=True)
        kept.append(line)
    return BoundedLines(b"".join(kept), len(kept), is_cut=False)


def _iter_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield from piece.splitlines(keepends=True)


def turtle_of(lines: bytes, graph: str, *, most_chars: int | None = None) -> str:
    """Return statements as Turtle, or as TriG if some are in other graphs.

    Args:
        lines: N-Quads.
        graph: of the document, omitted if all statements are in it.
        most_chars: of a literal, which is cut; None: no limit.

    Raises:
        SyntaxError: the lines are damaged.
    """
    quads = list(ox.parse(lines, format=ox.RdfFormat.N_QUADS))
    if most_chars is not None:
        quads = [_shortened(quad, most_chars) for quad in quads]
    prefixes = _used(lines)
    own = ox.NamedNode(graph)
    if all(quad.graph_name in (own, ox.DefaultGraph()) for quad in quads):
        triples = (quad.triple for quad in quads)
        text = ox.serialize(triples, format=ox.RdfFormat.TURTLE, prefixes=prefixes)
    else:
        text = ox.serialize(quads, format=ox.RdfFormat.TRIG, prefixes=prefixes)
    return (text or b"").decode()


def _shortened(quad: ox.Quad, most_chars: int) -> ox.Quad:
    literal = quad.object
    if not isinstance(literal, ox.Literal) or len(literal.value) <= most_chars:
        return quad
    n_more = len(literal.value) - most_chars
    text = f"{literal.value[:most_chars]}... ({counted(n_more, 'more character')})"
    short = ox.Literal(text)
    return ox.Quad(quad.subject, quad.predicate, short, quad.graph_name)


def _used(lines: bytes) -> dict[str, str]:
    return {
        prefix: iri for prefix, iri in _PREFIXES.items() if b"<" + iri.encode() in lines
    }
