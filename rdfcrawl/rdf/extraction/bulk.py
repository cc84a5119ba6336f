"""Pack the statements of a long document in the child that reads the document.

The child also finds the links: passing the lines through the pipe takes as long as
scanning them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.quad_chunks import NO_LINKS, DeflatePiece, FoundLinks, QuadChunk
from rdfcrawl.rdf.deflate import PiecePacker, check_statements
from rdfcrawl.uri.hosts import origin_of_link

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from rdfcrawl.rdf.chunks import QuadLines
    from rdfcrawl.rdf.links.policy import LinkPolicy

# Checksum and length of the content, number of statements, length of the piece; lengths
# of the links to one host and of the host, number of these links, length of the other
# links; whether the statements may describe data elsewhere. These fields follow.
_HEAD: Final = struct.Struct(">IQIIIIII?")
_PLAIN_BYTES: Final = 256 * 1024  # a store gathers documents up to here into a member


@dataclass(kw_only=True)
class BulkOutput:
    """Options for the child."""

    follow: LinkPolicy  # selects the links
    wants_links: bool  # whether to look for links


def encode_chunk(chunk: QuadChunk) -> bytes:
    """Encode a chunk that is packed."""
    packed, crc, n_content = chunk.packed or DeflatePiece(b"", 0, 0)
    near, host, n_near, others = chunk.links or NO_LINKS
    head = _HEAD.pack(
        *(crc, n_content, chunk.n_quads, len(packed)),
        *(len(near), len(host), n_near, len(others), chunk.is_describing),
    )
    return b"".join((head, packed, near, host, others))


def decode_chunk(payload: bytes) -> QuadChunk:
    """Decode the result of `encode_chunk`."""
    crc, n_content, n_quads, n_packed, *lengths, is_describing = _HEAD.unpack_from(
        payload
    )
    n_links, n_host, n_near, n_others = lengths
    fields = []
    end = _HEAD.size
    for length in (n_packed, n_links, n_host, n_others):
        begin, end = end, end + length
        fields.append(payload[begin:end])
    packed, near, host, others = fields
    links = FoundLinks(near, host, n_near, others)
    piece = DeflatePiece(packed, crc, n_content)
    return QuadChunk(b"", n_quads, links, piece, is_describing=is_describing)


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
