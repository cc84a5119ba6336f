"""Chunks of statements: the unit that passes from one pipeline to the next."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

RAW_DEFLATE: Final = -15  # window bits; negative: neither zlib nor gzip header
_MARK_BEGIN = re.compile(rb"^#\t", re.MULTILINE)


class DeflatePiece(NamedTuple):
    """A part of a deflate stream that can be inflated alone.

    Attributes:
        packed: the part; it ends on a byte.
        crc: CRC-32 of its content.
        n_content: length of its content.
    """

    packed: bytes
    crc: int
    n_content: int


class FoundLinks(NamedTuple):
    """Links, with those to one host separate: most links of a chunk are to one host."""

    of_host: bytes = b""  # links to the host, a line each
    host: bytes = b""  # common beginning of these; see `links.authority`
    n_of_host: int = 0  # number of these
    others: bytes = b""  # links to other hosts, a line each

    @classmethod
    def sort(cls, links: AbstractSet[bytes], host: bytes) -> Self:
        """Return links by host, given the one of most links so far."""
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


class QuadChunk:
    """Statements as complete lines of N-Quads, at most about 256 KiB.

    A child process that reads a long document packs its chunks and finds their links.

    Args:
        lines: the statements; empty if they are packed.
        n_quads: their number; counted if it is not given.
        links: in the statements; None if they are still to be found.
        packed: the statements, packed; None if they are not.
        is_describing: the statements may describe data elsewhere.
    """

    __slots__ = ("is_describing", "lines", "links", "n_quads", "packed")
    lines: bytes

    def __init__(
        self,
        lines: bytes,
        n_quads: int | None = None,
        links: FoundLinks | None = None,
        packed: DeflatePiece | None = None,
        *,
        is_describing: bool = True,
    ) -> None:
        if packed is None:
            self.lines = lines
        self.n_quads = lines.count(b"\n") if n_quads is None else n_quads
        self.links, self.packed, self.is_describing = links, packed, is_describing

    def __getattr__(self, name: str) -> bytes:
        """Return `lines`, which are inflated at their first use if they are packed."""
        if name != "lines" or self.packed is None:
            raise AttributeError(name)
        from isal import isal_zlib  # noqa: PLC0415  (most chunks are not packed)

        inflating = isal_zlib.decompressobj(RAW_DEFLATE)
        self.lines = inflating.decompress(self.packed.packed)
        return self.lines


def check_statements(lines: bytes) -> None:
    """Raise `ValueError` if lines cannot be stored behind others.

    The last one has no end, or one begins as a document's mark does.
    """
    # A tab is rare and found at the speed of memory, a comment is not.
    if lines[-1:] != b"\n" or (b"\t" in lines and _MARK_BEGIN.search(lines)):
        raise ValueError("want complete lines of N-Quads without marks")
