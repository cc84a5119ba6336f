"""Read segments back: all quads, document by document, or the latest of each."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from rdfcrawl.stores.members import iter_content, iter_members
from rdfcrawl.stores.segment_file import list_segments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

# Only at the begin of a line; a line feed never stands within a term of N-Quads.
_MARK = re.compile(rb"#\tdocument <([^>\n]*)> ([0-9]+)\n")
_LINE_FEED = 10


class StoredPiece(NamedTuple):
    """Whole lines of one document; its pieces follow each other.

    Attributes:
        graph: IRI of the document.
        version_ms: start of its fetch, Unix time in ms.
        ordinal: of the document in its segment, from 0.
        quads: N-Quads, at most about 256 KiB; empty only in the single piece of a
            document without statements.
    """

    graph: str
    version_ms: int
    ordinal: int
    quads: bytes


def iter_blocks(path: Path) -> Iterator[bytes]:
    """Yield the content of one segment in whole lines, about 256 KiB at a time.

    Of a segment being written, the lines written so far.

    Raises:
        TornMember: a member is damaged; run `recover` first.
    """
    fd = os.open(path, os.O_RDONLY)
    try:
        for member in iter_members(fd, os.fstat(fd).st_size):
            yield from iter_lines(iter_content(fd, member))
    finally:
        os.close(fd)


def iter_lines(contents: Iterable[bytes]) -> Iterator[bytes]:
    """Yield pieces of a text, cut anew so that each has whole lines."""
    rest = b""
    for content in contents:
        block = rest + content
        n_whole = block.rfind(b"\n") + 1
        rest = block[n_whole:]
        if n_whole:
            yield block[:n_whole]
    if rest:
        yield rest


def iter_quads(directory: Path) -> Iterator[bytes]:
    """Yield the quads of all segments of all workers, in whole lines."""
    for path in list_segments(directory):
        yield from iter_blocks(path)


def iter_pieces(path: Path) -> Iterator[StoredPiece]:
    """Yield the documents of one segment of an `NQuadsStore`, piece by piece."""
    current: StoredPiece | None = None
    is_empty = True
    for line, quads in iter_marked(iter_blocks(path)):
        if line is not None:
            if current is not None and is_empty:
                yield current
            ordinal = 0 if current is None else current.ordinal + 1
            current = StoredPiece(line[1].decode(), int(line[2]), ordinal, b"")
            is_empty = True
        elif current is not None:
            yield current._replace(quads=quads)
            is_empty = False
    if current is not None and is_empty:
        yield current


def iter_marked(
    blocks: Iterable[bytes],
) -> Iterator[tuple[re.Match[bytes] | None, bytes]]:
    """Yield the marks in whole lines, and the quads between them, never empty.

    A mark is a match with the graph and the version.
    """
    for block in blocks:
        begin = 0
        for mark in _MARK.finditer(block):
            if mark.start() > 0 and block[mark.start() - 1] != _LINE_FEED:
                continue
            if begin < mark.start():
                yield None, block[begin : mark.start()]
            yield mark, b""
            begin = mark.end()
        if begin < len(block):
            yield None, block[begin:]


def iter_latest(directory: Path) -> Iterator[StoredPiece]:
    """Yield the latest version of each document of an `NQuadsStore`, piece by piece.

    The version with the highest `version_ms` counts; of the same version written
    more than once, one. Reads the segments twice and keeps some 300 bytes for
    each document in memory.
    """
    paths = list_segments(directory)
    latest: dict[str, tuple[int, int, int]] = {}
    for number, path in enumerate(paths):
        for piece in iter_pieces(path):
            place = (piece.version_ms, number, piece.ordinal)
            if place > latest.get(piece.graph, (-1, 0, 0)):
                latest[piece.graph] = place
    for number, path in enumerate(paths):
        for piece in iter_pieces(path):
            place = (piece.version_ms, number, piece.ordinal)
            if latest.get(piece.graph) == place:
                yield piece
