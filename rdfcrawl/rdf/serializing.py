"""Write statements in formats of RDF piece by piece, however many there are.

Statements come as N-Quads, some lines at a time, and each piece is written for itself:
of a node that several pieces tell of, a document of JSON-LD has several objects, which
readers put together again. Blank nodes keep their labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import IO, Any, Final

from rdfcrawl.core.namespaces import PREFIXES

# Of each format, by the extension of its files, the name in pyoxigraph.
_NAMES: Final = {
    "nq": "N_QUADS",
    "nt": "N_TRIPLES",
    "trig": "TRIG",
    "ttl": "TURTLE",
    "jsonld": "JSON_LD",
}
SERIALIZATIONS: Final = frozenset(_NAMES)
"""Formats that `StatementSerializer` writes, by the extension of their files."""

_WITHOUT_GRAPHS: Final = frozenset({"nt", "ttl"})
_WITH_PREFIXES: Final = frozenset({"trig", "ttl"})
_PREFIXES: Final = re.compile(rb"\A(?:@prefix [^\n]*+\n)*+")
# What pyoxigraph raises; of a format without triple terms, an OSError.
_UNWRITABLE: Final = OSError, SyntaxError, ValueError


class StatementSerializer:
    r"""Serializer of N-Quads into one file of a format.

    Args:
        name: extension of the format, one of `SERIALIZATIONS`.

    Attributes:
        name: of the format.
        n_left_out: statements that the format cannot say.

    >>> turtle = StatementSerializer("ttl")
    >>> turtle.write(b"<urn:s> <urn:p> <urn:o> <urn:g> .\n").splitlines()[-1]
    b'<urn:s> <urn:p> <urn:o> .'
    >>> turtle.end()
    b''
    """

    __slots__ = ("_has_begun", "n_left_out", "name")

    def __init__(self, name: str) -> None:
        if name not in SERIALIZATIONS:
            raise ValueError(f"no format of RDF: {name}")
        self.name = name
        self.n_left_out = 0
        self._has_begun = False

    @property
    def title(self) -> str:
        """Name of the format for people, e.g. JSON-LD."""
        return _NAMES[self.name].replace("_", "-")

    @property
    def has_graphs(self) -> bool:
        """Whether the format says in which graph a statement is."""
        return self.name not in _WITHOUT_GRAPHS

    def write(self, quads: bytes) -> bytes:
        """Return what to write next.

        Args:
            quads: whole lines of N-Quads, as a crawl stores them: each has a graph.
                They are held in memory several times.
        """
        if self.name == "nq":
            return quads
        if self.name == "nt":
            return _triples(quads)
        try:
            written = self._serialized(quads)
        except _UNWRITABLE:
            written = self._serialized(self._writable(quads))
        return self._continued(written)

    def end(self) -> bytes:
        """Return what to write after all statements."""
        if self.name != "jsonld":
            return b""
        return b"\n]\n" if self._has_begun else b"[\n]\n"

    def _serialized(self, quads: bytes) -> bytes:
        """Return lines of N-Quads in the format.

        Raises:
            OSError, SyntaxError, ValueError: pyoxigraph cannot read or write one.
        """
        import pyoxigraph as ox  # noqa: PLC0415

        # They were checked when they were stored.
        parsed: Iterable[Any] = ox.parse(
            quads, format=ox.RdfFormat.N_QUADS, lenient=True
        )
        if not self.has_graphs:
            parsed = (quad.triple for quad in parsed)
        prefixes = PREFIXES if self.name in _WITH_PREFIXES else None
        kind = getattr(ox.RdfFormat, _NAMES[self.name])
        return ox.serialize(parsed, format=kind, prefixes=prefixes) or b""

    def _writable(self, quads: bytes) -> bytes:
        """Return the lines that the format can say, and count the others."""
        lines = quads.splitlines(keepends=True)
        writable = [line for line in lines if self._can_say(line)]
        self.n_left_out += len(lines) - len(writable)
        return b"".join(writable)

    def _can_say(self, line: bytes) -> bool:
        try:
            self._serialized(line)
        except _UNWRITABLE:
            return False
        return True

    def _continued(self, written: bytes) -> bytes:
        """Return a piece as it goes on after those before."""
        if self.name == "jsonld":
            objects = written.strip()[1:-1]
            if not objects:
                return b""
            written = (b",\n" if self._has_begun else b"[\n") + objects
        elif self._has_begun:
            written = _PREFIXES.sub(b"", written, count=1)
        self._has_begun = True
        return written


def read_statements(
    file: IO[bytes], name: str, graph: str | None = None
) -> Iterator[bytes]:
    """Yield the statements of a file of a `StatementSerializer` as N-Quads.

    Args:
        file: that is read.
        name: extension of its format.
        graph: of all statements, if the format has none.

    Raises:
        OSError, SyntaxError, ValueError: the file is damaged.
    """
    import pyoxigraph as ox  # noqa: PLC0415

    kind = getattr(ox.RdfFormat, _NAMES[name])
    for quad in ox.parse(file, format=kind, lenient=True):
        named = quad.graph_name if graph is None else ox.NamedNode(graph)
        yield f"{quad.triple} {named} .\n".encode()


def _triples(quads: bytes) -> bytes:
    """Return the statements without their graphs.

    Faster than by way of a parser, which would write the same.
    """
    lines = quads.split(b" .\n")
    return b"".join([line.rpartition(b" ")[0] + b" .\n" for line in lines[:-1]])
