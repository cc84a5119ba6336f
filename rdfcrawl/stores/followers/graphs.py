"""The graphs that the statements of a document name."""

from __future__ import annotations

import io
from typing import IO, TYPE_CHECKING, cast

from rdfcrawl.stores.followers.ledger import key_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from rdfcrawl.stores.log.documents import LogDocument


def graph_of(line: bytes) -> str:
    r"""Return the graph of a line of a log, in which all statements have one.

    >>> graph_of(b'<http://e/s> <http://e/p> "a b" <http://e/g> .\n')
    'http://e/g'
    """
    return line[:-3].rpartition(b" ")[2][1:-1].decode()


def iter_foreign_graphs(document: LogDocument) -> Iterator[str]:
    """Yield the graphs that a document writes other than its own, with repetitions."""
    own = _tail(document.graph)
    for piece in document.pieces():
        if not _is_of_one(piece, own):
            lines = piece.splitlines(keepends=True)
            yield from {graph_of(line) for line in lines if not line.endswith(own)}


def split_lines(piece: bytes, graph: str, wanted: Collection[bytes]) -> bytes:
    """Return the lines of a piece in some graphs.

    Args:
        piece: of a document, complete lines.
        graph: of the document.
        wanted: keys of the graphs.
    """
    if _is_of_one(piece, _tail(graph)):
        return piece if key_of(graph.encode()) in wanted else b""
    lines = piece.splitlines(keepends=True)
    return b"".join(x for x in lines if key_of(graph_of(x).encode()) in wanted)


def _tail(graph: str) -> bytes:
    return b" <%s> .\n" % graph.encode()


def _is_of_one(piece: bytes, tail: bytes) -> bool:
    # A literal contains no line feed, so each tail ends a line.
    return piece.count(tail) == piece.count(b"\n")


class _PiecesFile(io.RawIOBase):
    """File that reads from pieces of bytes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._rest = memoryview(piece)
        size = len(self._rest) if size < 0 else size
        found, self._rest = self._rest[:size], self._rest[size:]
        return bytes(found)


def file_of(pieces: Iterator[bytes]) -> IO[bytes]:
    """Return a file that reads from pieces of bytes."""
    return cast("IO[bytes]", _PiecesFile(pieces))
