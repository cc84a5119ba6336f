"""The graphs that the statements of a document name, and the hash of all of them."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterator
from hashlib import blake2b
from itertools import chain
from typing import IO, Final, NamedTuple, cast

from rdfcrawl.rdf.output import BlankNodes
from rdfcrawl.stores.followers.local_disk import key_of
from rdfcrawl.stores.log.documents import LogDocument

HASH_BYTES: Final = 16
_OWN: Final = b" *\n"  # no other graph name ends like this


def graph_of(line: bytes) -> str:
    r"""Return the graph of a line of a log, in which all statements have one.

    >>> graph_of(b'<http://e/s> <http://e/p> "a b" <http://e/g> .\n')
    'http://e/g'
    """
    return line[:-3].rpartition(b" ")[2][1:-1].decode()


def iter_foreign_graphs(document: LogDocument) -> Iterator[str]:
    """Yield the graphs that a document writes other than its own, with repetitions."""
    own = b" <%s> .\n" % document.graph.encode()
    for piece in document.pieces():
        # A literal contains no line feed, so each tail ends a line.
        if piece.count(own) < piece.count(b"\n"):
            lines = piece.splitlines(keepends=True)
            yield from {graph_of(line) for line in lines if not line.endswith(own)}


def split_lines(piece: bytes, graph: str, wanted: Collection[bytes]) -> bytes:
    """Return the lines of a piece in some graphs.

    Args:
        piece: of a document, complete lines.
        graph: of the document.
        wanted: keys of the graphs.
    """
    name = graph.encode()
    if piece.count(b" <%s> .\n" % name) == piece.count(b"\n"):
        return piece if key_of(name) in wanted else b""
    lines = piece.splitlines(keepends=True)
    return b"".join(x for x in lines if key_of(graph_of(x).encode()) in wanted)


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


_lacks_object: Final = re.compile(rb"[^ \n]++ [^ \n]++ \*\n").fullmatch


class StatementHash(NamedTuple):
    """Hash of the statements of a document.

    Attributes:
        digest: equal for documents with the same statements; None: cannot be compared.
        n_statements: lines of the document.
    """

    digest: bytes | None
    n_statements: int


def hash_statements(document: LogDocument) -> StatementHash:
    """Return the hash of a document's statements.

    Two hashes are equal only if both documents have the same triples in the graph of
    their own URL, up to the labels of blank nodes, and the same statements in other
    graphs. Only the name of its own graph is removed from a document, so statements
    about its own URL make it unique. The order of the lines is ignored up to 1 MiB.

    Documents with less than two statements in their own graph have no digest, since a
    link to a representative is one statement; nor have those with an invalid line.

    Raises:
        OSError: the segment is gone or cannot be read.
        TornMember: the segment has been damaged since it was read.
    """
    lines = _lines(document)
    found = blake2b(digest_size=HASH_BYTES)
    n_statements = n_own = 0
    if document.quads is not None:
        distinct = set(chain.from_iterable(lines))
        lines = iter([sorted(distinct)])
    for some in lines:
        n_statements += len(some)
        n_own += sum(map(_is_own, some))
        found.update(b"".join(some))
        if any(map(_lacks_object, some)):
            return StatementHash(None, n_statements)
    return StatementHash(found.digest() if n_own > 1 else None, n_statements)


def _lines(document: LogDocument) -> Iterator[list[bytes]]:
    """Yield statements with common labels, and without the name of their own graph."""
    labels, tail = BlankNodes(""), b" <%s> .\n" % document.graph.encode()
    for piece in document.pieces():
        # A literal contains no line feed, so each tail ends a line.
        lines = labels.relabel(piece).replace(tail, _OWN)
        yield lines.splitlines(keepends=True)


def _is_own(line: bytes) -> bool:
    return line.endswith(_OWN)
