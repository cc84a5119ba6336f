"""Statements that one process deflates and another one writes, in pieces.

Each piece ends on a byte and refers to no other: a stream may have any pieces, in any
order, and end after any of them.
"""

from __future__ import annotations

import re

from isal import isal_zlib

from rdfcrawl.core.quad_chunks import DeflatePiece

_LEVEL = 1  # of compression, as isal has them: 0 is the fastest, 3 the smallest
_RAW_DEFLATE = -15  # window bits; negative: neither zlib nor gzip header
_MARK_BEGIN = re.compile(rb"^#\t", re.MULTILINE)


class PiecePacker:
    """A compressor of one stream into `DeflatePiece`s."""

    def __init__(self) -> None:
        self._deflate = isal_zlib.compressobj(
            _LEVEL, isal_zlib.DEFLATED, _RAW_DEFLATE, isal_zlib.DEF_MEM_LEVEL
        )

    def pack(self, content: bytes) -> DeflatePiece:
        """Return the piece of this content."""
        packed = self._deflate.compress(content)
        packed += self._deflate.flush(isal_zlib.Z_FULL_FLUSH)
        return DeflatePiece(packed, isal_zlib.crc32(content), len(content))


def check_statements(lines: bytes) -> None:
    """Raise `ValueError` if lines cannot be stored behind others.

    The last one has no end, or one begins as a document's mark does.
    """
    # A tab is rare and found at the speed of memory, a comment is not.
    if lines[-1:] != b"\n" or (b"\t" in lines and _MARK_BEGIN.search(lines)):
        raise ValueError("want complete lines of N-Quads without marks")
