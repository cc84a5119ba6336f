"""Sequences of integers packed into equal numbers of bits ("log64"), and bitmaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.hdt.crc import CRC32C_BYTES, Crc32c

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rdfcrawl.rdf.hdt.cursor import FileCursor

TYPE_LOG: Final = 1
TYPE_PLAIN_BITMAP: Final = 1
_MAX_WIDTH = 64


class LogArray:
    """A packed sequence, unpacked in windows.

    Args:
        content: the packed bytes, not copied.
        width: bits of an entry, at most 64.
    """

    def __init__(self, content: memoryview, *, width: int, n_entries: int) -> None:
        self._content, self._width = content, width
        self.n_entries = n_entries

    @classmethod
    def read(cls, cursor: FileCursor, what: str) -> LogArray:
        """Return the next sequence, and verify its checksums.

        Raises:
            SourceFault: not a sequence, truncated, or a wrong checksum.
        """
        width, n_entries = cursor.take_preamble(TYPE_LOG, what, n_octets=1)
        if width > _MAX_WIDTH:
            raise SourceFault(Reason.SYNTAX, f"{what}: entries of {width} bits")
        content = cursor.take_checked((width * n_entries + 7) // 8, what)
        return cls(content, width=width, n_entries=n_entries)

    def window(self, begin: int, end: int) -> NDArray[np.uint64]:
        """Return entries `begin` to `end`, both within the sequence."""
        width, n_entries = self._width, end - begin
        if not width or not n_entries:
            return np.zeros(n_entries, np.uint64)
        first_word = begin * width // 64
        padded = np.zeros(end * width // 64 - first_word + 2, "<u8")
        packed = self._content[first_word * 8 : (end * width + 7) // 8]
        padded.view(np.uint8)[: len(packed)] = packed
        bits = np.arange(n_entries, dtype=np.uint64) * np.uint64(width)
        bits += np.uint64(begin * width - first_word * 64)
        words, shifts = bits >> np.uint64(6), bits & np.uint64(63)
        low = padded[words] >> shifts
        # Two shifts, because a shift by 64 bits is undefined.
        high = padded[words + np.uint64(1)] << np.uint64(1) << np.uint64(63) - shifts
        mask = np.uint64((1 << width) - 1)
        return np.asarray((low | high) & mask, np.uint64)


def pack(values: NDArray[np.uint64], width: int) -> bytes:
    """Return values below 2**width as packed entries, padded with zeros.

    `width` is from 1 to 64; a multiple of 8 values needs no padding.
    """
    octets = values.astype("<u8").view(np.uint8).reshape(len(values), 8)
    bits = np.unpackbits(octets, axis=1, count=width, bitorder="little")
    return np.packbits(bits, bitorder="little").tobytes()


class WindowedBitmap:
    """Bits, unpacked in windows; a one closes a list of children."""

    def __init__(self, content: memoryview, *, n_bits: int, n_ones: int) -> None:
        self._content = content
        self.n_bits, self.n_ones = n_bits, n_ones

    @classmethod
    def read(cls, cursor: FileCursor, what: str) -> WindowedBitmap:
        """Return the next bitmap, and verify its checksums.

        Raises:
            SourceFault: not a bitmap, truncated, a wrong checksum, or an open last
                list.
        """
        (n_bits,) = cursor.take_preamble(TYPE_PLAIN_BITMAP, what)
        ones: list[int] = []
        content = cursor.take_checked(
            (n_bits + 7) // 8 or _n_bytes_of_none(cursor),
            what,
            lambda piece: ones.append(
                int(np.bitwise_count(np.frombuffer(piece, np.uint8)).sum(dtype=int))
            ),
        )
        n_ones = sum(ones)
        if n_bits % 8 and content:  # ignore the padding of the last byte
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
    """Return the number of bytes of an empty bitmap: hdt-cpp writes one byte."""
    ahead = bytes(cursor.peek(1 + CRC32C_BYTES))
    crc = Crc32c()
    crc.update(ahead[:1])
    return int(ahead[1:] == crc.value.to_bytes(CRC32C_BYTES, "little"))
