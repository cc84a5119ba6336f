"""Convert statements of the log to the forms that SPARQL stores accept."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.stores.followers.graphs import graph_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rdfcrawl.stores.log.documents import LogDocument

_IRI: Final = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]*').fullmatch


@dataclass(frozen=True, slots=True)
class GraphContent:
    """The new content of a graph.

    Attributes:
        graph: its name.
        n_bytes: approximate length.
        pieces: returns an iterator of N-Triples in complete lines.
    """

    graph: str
    n_bytes: int
    pieces: Callable[[], Iterator[bytes]]

    @classmethod
    def of_lines(cls, graph: str, lines: bytes) -> GraphContent:
        """Return the content of a graph from memory."""
        return cls(graph, len(lines), lambda: iter((lines,) if lines else ()))


def is_iri(text: str) -> bool:
    """Return whether a name is safe within the angle brackets of a query.

    >>> is_iri("http://e/a"), is_iri("http://e/> } ; DROP ALL"), is_iri("a")
    (True, False, False)
    """
    return _IRI(text) is not None


def triples_of(quads: bytes, graph: str) -> bytes:
    r"""Return quads of one graph as triples.

    >>> triples_of(b"<a:s> <a:p> <a:g> <a:g> .\n", "a:g")
    b'<a:s> <a:p> <a:g> .\n'
    """
    # A literal contains no line feed, so each tail ends a line.
    return quads.replace(b" <%s> .\n" % graph.encode(), b" .\n")


def by_graph(quads: Iterable[bytes]) -> dict[str, list[bytes]]:
    """Return triples by their graph."""
    found: dict[str, list[bytes]] = {}
    for piece in quads:
        for line in piece.splitlines(keepends=True):
            graph = graph_of(line)
            triple = line[: -len(graph.encode()) - 5] + b".\n"
            found.setdefault(graph, []).append(triple)
    return found


def own_content(document: LogDocument) -> GraphContent:
    """Return the content of a document that writes only its own graph."""
    graph = document.graph

    def pieces() -> Iterator[bytes]:
        return (triples_of(piece, graph) for piece in document.pieces())

    return GraphContent(graph, document.n_bytes, pieces)


def data_block(graph: str, triples: Iterable[bytes]) -> bytes:
    """Return triples in the form of `INSERT DATA`."""
    return b"GRAPH <%s> {\n%s}\n" % (graph.encode(), b"".join(triples))
