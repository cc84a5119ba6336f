"""Statements that one process deflates and another one writes, in pieces.

Each piece ends on a byte boundary, and has the checksum of all content so far: a stream
may end after any piece.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from isal import isal_zlib

_RAW_DEFLATE = -15  # window bits; negative: neither zlib nor gzip header
_MARK_BEGIN = re.compile(rb"^#\t", re.MULTILINE)


class DeflatePiece(NamedTuple):
    """A part of a deflate stream, with CRC-32 and length of all content so far."""

    packed: bytes
    crc: int
    n_content: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceOrder:
    """Format of the pieces of one document, for a store."""

    head: str  # first bytes of the content
    level: int  # of compression, on the scale of isal
    # content to pass uncompressed; the first compressed piece, if any, repeats it
    n_plain_bytes: int


class PiecePacker:
    """A compressor of one stream into `DeflatePiece`s."""

    def __init__(self, level: int) -> None:
        self._deflate = isal_zlib.compressobj(
            level, isal_zlib.DEFLATED, _RAW_DEFLATE, isal_zlib.DEF_MEM_LEVEL
        )
        self._crc = 0
        self._n_content = 0

    def pack(self, content: bytes) -> DeflatePiece:
        """Return the piece of this content."""
        self._crc = isal_zlib.crc32(content, self._crc)
        self._n_content += len(content)
        packed = self._deflate.compress(content)
        packed += self._deflate.flush(isal_zlib.Z_SYNC_FLUSH)
        return DeflatePiece(packed, self._crc, self._n_content)


def check_statements(chunk: bytes) -> None:
    """Raise `ValueError` if a chunk cannot be stored after others.

    Its last line has no end, or a line looks like a mark between documents.
    """
    # Searching for a tab, which is rare, is much faster than searching for a comment.
    if chunk[-1:] != b"\n" or (b"\t" in chunk and _MARK_BEGIN.search(chunk)):
        raise ValueError("chunks must be complete lines of N-Quads without marks")
