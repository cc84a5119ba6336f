"""Bitmaps: a one closes a list of children."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.rdf.hdt.crc import CRC32C_BYTES, Crc32c, crc8
from rdfcrawl.rdf.hdt.vbyte import encode_vbyte

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rdfcrawl.rdf.hdt.cursor import FileCursor

_TYPE_PLAIN = 1


class WindowedBitmap:
    """A sequence of bits that is unpacked a window at a time.

    Args:
        content: the packed bytes, not copied.
        n_bits: how many bits count.
        n_ones: how many of them are set.

    Attributes:
        n_bits: as given.
        n_ones: as given.
    """

    __slots__ = ("_content", "n_bits", "n_ones")

    def __init__(self, content: memoryview, *, n_bits: int, n_ones: int) -> None:
        self._content = content
        self.n_bits, self.n_ones = n_bits, n_ones

    @classmethod
    def read(cls, cursor: FileCursor, what: str) -> WindowedBitmap:
        """Return the bitmap that comes next; its checksums are checked.

        Raises:
            SourceFault: it is none, is cut off, a checksum is wrong, or its last list
                is not closed.
        """
        begin = cursor.at
        kind = cursor.take(1, what)[0]
        n_bits = cursor.take_vbyte(what)
        cursor.check_crc8(begin, what)
        if kind != _TYPE_PLAIN:
            detail = f"HDT {what} of type {kind}"
            raise SourceFault(Reason.UNSUPPORTED_FORMAT, detail)
        ones: list[int] = []
        content = cursor.take_checked(
            (n_bits + 7) // 8 or _n_bytes_of_none(cursor),
            what,
            lambda piece: ones.append(
                int(np.bitwise_count(np.frombuffer(piece, np.uint8)).sum(dtype=int))
            ),
        )
        n_ones = sum(ones)
        if n_bits % 8 and content:  # what fills up the last byte does not count
            n_ones -= (content[-1] >> n_bits % 8).bit_count()
        bitmap = cls(content, n_bits=n_bits, n_ones=n_ones)
        if n_bits and not bitmap.window(n_bits - 1, n_bits)[0]:
            raise SourceFault(Reason.SYNTAX, f"{what}: its last list has no end")
        return bitmap

    def window(self, begin: int, end: int) -> NDArray[np.bool_]:
        """Return bits `begin` to `end`, both within the bitmap."""
        first = begin // 8
        octets = np.frombuffer(self._content[first : (end + 7) // 8], np.uint8)
        bits = np.unpackbits(octets, bitorder="little")
        return bits[begin - first * 8 : end - first * 8].astype(np.bool_)


def _n_bytes_of_none(cursor: FileCursor) -> int:
    """Return how many bytes a bitmap of no bits has: hdt-cpp writes one."""
    ahead = bytes(cursor.peek(1 + CRC32C_BYTES))
    crc = Crc32c()
    crc.update(ahead[:1])
    return int(ahead[1:] == crc.value.to_bytes(CRC32C_BYTES, "little"))


def bitmap_preamble(n_bits: int) -> bytes:
    """Return what comes before the packed bits."""
    preamble = bytes([_TYPE_PLAIN]) + encode_vbyte(n_bits)
    return preamble + bytes([crc8(preamble)])
