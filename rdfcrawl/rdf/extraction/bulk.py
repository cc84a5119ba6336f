"""Pack the statements of a long document in the child that reads the document.

The child also finds the links: passing the lines through the pipe takes as long as
scanning them. `PiecePacker` packs in pieces: each ends on a byte and refers to no
other, so a stream may have any pieces, in any order, and end after any of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from isal import isal_zlib

from rdfcrawl.core.content import (
    RAW_DEFLATE,
    DeflatePiece,
    FoundLinks,
    QuadChunk,
    check_statements,
)
from rdfcrawl.uri.hosts import origin_of_link

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from rdfcrawl.rdf.extraction.messages import BulkOutput
    from rdfcrawl.rdf.output import QuadLines

_LEVEL = 1  # of compression, as isal has them: 0 is the fastest, 3 the smallest
_PLAIN_BYTES: Final = 256 * 1024  # a store gathers documents up to here into a member


class PiecePacker:
    """A compressor of one stream into `DeflatePiece`s."""

    def __init__(self) -> None:
        self._deflate = isal_zlib.compressobj(
            _LEVEL, isal_zlib.DEFLATED, RAW_DEFLATE, isal_zlib.DEF_MEM_LEVEL
        )

    def pack(self, content: bytes) -> DeflatePiece:
        """Return the piece of this content."""
        packed = self._deflate.compress(content)
        packed += self._deflate.flush(isal_zlib.Z_FULL_FLUSH)
        return DeflatePiece(packed, isal_zlib.crc32(content), len(content))


class BulkPacker:
    """Maker of the chunks of one document; the first ones are not packed."""

    def __init__(self, bulk: BulkOutput) -> None:
        self._bulk = bulk
        self._n_plain = 0
        self._packer: PiecePacker | None = None
        self._host = b""  # that most links were to

    def chunk(self, lines: QuadLines) -> QuadChunk:
        """Return the next chunk.

        Raises:
            ValueError: the lines cannot be stored.
        """
        check_statements(lines)
        if self._packer is None:
            self._n_plain += len(lines)
            if self._n_plain <= _PLAIN_BYTES:
                return QuadChunk(lines)
            self._packer = PiecePacker()
        links, is_describing = self._scan(lines)
        found = FoundLinks.sort(links, self._host)
        if 2 * found.n_of_host < len(links):
            host = origin_of_link(next(iter(links)))
            self._host = host if host.endswith(b"/") else b""
        n_quads, packed = lines.count(b"\n"), self._packer.pack(lines)
        return QuadChunk(b"", n_quads, found, packed, is_describing=is_describing)

    def _scan(self, lines: bytes) -> tuple[AbstractSet[bytes], bool]:
        bulk = self._bulk
        if not bulk.wants_links:
            return frozenset(), False
        if not bulk.follow.wants_datasets:
            return bulk.follow.scan(lines), False
        return bulk.follow.scan_bulk(lines)
