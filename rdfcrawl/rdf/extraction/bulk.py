"""Pack the statements of a large document in the child that reads the document.

The child also finds the links: passing the lines through the pipe takes as long as
scanning them.
"""

from __future__ import annotations

import struct
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from rdfcrawl.rdf.deflate import (
    DeflatePiece,
    PieceOrder,
    PiecePacker,
    check_statements,
)
from rdfcrawl.uri.origin import origin_of_link

if TYPE_CHECKING:
    from rdfcrawl.rdf.chunks import QuadChunk
    from rdfcrawl.rdf.links.policy import LinkPolicy

# Checksum and length of the content, length of the piece; lengths of the links to one
# host and of the host, number of these links, length of the other links; whether the
# statements may describe data elsewhere. These fields follow, and then the lines.
_HEAD: Final = struct.Struct(">IQIIIII?")


@dataclass(kw_only=True)
class BulkOutput:
    """Options for the child."""

    order: PieceOrder  # how to pack the statements
    follow: LinkPolicy  # selects the links
    wants_links: bool  # whether to search for links
    # whether lines are needed once any may describe data elsewhere
    wants_describing: bool


class FoundLinks(NamedTuple):
    """Links, with those to one host separate: usually almost all are to one host."""

    of_host: bytes = b""  # links to the host, one per line
    host: bytes = b""  # common prefix of these; see `links.authority`
    n_of_host: int = 0  # number of these
    others: bytes = b""  # links to other hosts, one per line

    @classmethod
    def sort(cls, links: AbstractSet[bytes], host: bytes) -> Self:
        """Return links by host, given the most frequent host so far."""
        lines = b"\n".join(links)
        n_of_host = lines.count(b"\n" + host) + lines.startswith(host)
        if not host or not n_of_host:
            return cls(others=lines)
        if n_of_host == len(links):
            return cls(lines, host, n_of_host)
        of_host = [link for link in links if link.startswith(host)]
        others = [link for link in links if not link.startswith(host)]
        return cls(b"\n".join(of_host), host, len(of_host), b"\n".join(others))


NO_LINKS: Final = FoundLinks()


class BulkPart(NamedTuple):
    """Result of one chunk."""

    # of the chunk; empty if packed, unless any so far may describe data elsewhere
    lines: bytes
    piece: DeflatePiece | None = None  # the packed lines; unset if not packed yet
    links: FoundLinks | None = None  # of `LinkPolicy.scan`; unset if not scanned yet
    is_describing: bool = True  # the lines may describe data elsewhere

    def to_bytes(self) -> bytes:
        """Encode a part with a piece and links."""
        packed, crc, n_content = self.piece or DeflatePiece(b"", 0, 0)
        near, host, n_near, others = self.links or NO_LINKS
        head = _HEAD.pack(
            *(crc, n_content, len(packed)),
            *(len(near), len(host), n_near, len(others), self.is_describing),
        )
        return b"".join((head, packed, near, host, others, self.lines))

    @classmethod
    def from_bytes(cls, payload: bytes) -> Self:
        """Decode the result of `to_bytes`."""
        crc, n_content, n_packed, *lengths, is_describing = _HEAD.unpack_from(payload)
        n_links, n_host, n_near, n_others = lengths
        fields = []
        end = _HEAD.size
        for length in (n_packed, n_links, n_host, n_others):
            begin, end = end, end + length
            fields.append(payload[begin:end])
        packed, near, host, others = fields
        piece = DeflatePiece(packed, crc, n_content)
        links = FoundLinks(near, host, n_near, others)
        return cls(payload[end:], piece, links, is_describing)


class BulkPacker:
    """Converter of the chunks of one document to parts."""

    def __init__(self, bulk: BulkOutput) -> None:
        self._bulk = bulk
        self._plain = [bulk.order.head.encode()]
        self._n_plain = len(self._plain[0])
        self._packer: PiecePacker | None = None
        self._describes = False  # any lines so far may describe data elsewhere
        self._host = b""  # target of most links

    def part(self, chunk: QuadChunk) -> BulkPart:
        """Return the part of the next chunk.

        Raises:
            ValueError: the chunk cannot be stored.
        """
        check_statements(chunk)
        content: bytes = chunk
        links, is_describing = self._scan(chunk)
        self._describes |= is_describing
        if self._packer is None:
            self._plain.append(chunk)
            self._n_plain += len(chunk)
            if self._n_plain <= self._bulk.order.n_plain_bytes:
                return BulkPart(chunk)
            self._packer = PiecePacker(self._bulk.order.level)
            content = b"".join(self._plain)
            self._plain.clear()
        piece = self._packer.pack(content)
        found = FoundLinks.sort(links, self._host)
        if 2 * found.n_of_host < len(links):
            host = origin_of_link(next(iter(links)))
            self._host = host if host.endswith(b"/") else b""
        return BulkPart(chunk if self._describes else b"", piece, found, is_describing)

    def _scan(self, chunk: bytes) -> tuple[AbstractSet[bytes], bool]:
        bulk = self._bulk
        if not bulk.wants_links:
            return frozenset(), False
        if not bulk.wants_describing:
            return bulk.follow.scan(chunk), False
        return bulk.follow.scan_bulk(chunk)
