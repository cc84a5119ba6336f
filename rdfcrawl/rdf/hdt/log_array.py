"""Sequences of integers, all packed into the same number of bits ("log64")."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.rdf.hdt.crc import crc8
from rdfcrawl.rdf.hdt.vbyte import encode_vbyte

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rdfcrawl.rdf.hdt.cursor import FileCursor

_TYPE_LOG = 1
_MAX_WIDTH = 64


class LogArray:
    """A packed sequence that is unpacked a window at a time.

    Args:
        content: the packed bytes, not copied.
        width: bits of an entry, at most 64.
        n_entries: how many there are.
    """

    __slots__ = ("_content", "_width", "n_entries")

    def __init__(self, content: memoryview, *, width: int, n_entries: int) -> None:
        self._content, self._width = content, width
        self.n_entries = n_entries

    @classmethod
    def read(cls, cursor: FileCursor, what: str) -> LogArray:
        """Return the sequence that comes next; its checksums are checked.

        Raises:
            SourceFault: it is none, is cut off, or a checksum is wrong.
        """
        begin = cursor.at
        kind, width = cursor.take(2, what)
        n_entries = cursor.take_vbyte(what)
        cursor.check_crc8(begin, what)
        if kind != _TYPE_LOG:
            detail = f"HDT {what} of type {kind}"
            raise SourceFault(Reason.UNSUPPORTED_FORMAT, detail)
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
        # Two shifts, as one by 64 bits is not defined.
        high = padded[words + np.uint64(1)] << np.uint64(1) << np.uint64(63) - shifts
        mask = np.uint64((1 << width) - 1)
        return np.asarray((low | high) & mask, np.uint64)


def log_preamble(width: int, n_entries: int) -> bytes:
    """Return what comes before the packed entries."""
    preamble = bytes([_TYPE_LOG, width]) + encode_vbyte(n_entries)
    return preamble + bytes([crc8(preamble)])


def pack(values: NDArray[np.uint64], width: int) -> bytes:
    """Return values as packed entries, the last byte filled up with zeros.

    Args:
        values: below 2**width; a multiple of 8 of them fills whole bytes.
        width: bits of an entry, from 1 to 64.
    """
    octets = values.astype("<u8").view(np.uint8).reshape(len(values), 8)
    bits = np.unpackbits(octets, axis=1, count=width, bitorder="little")
    return np.packbits(bits, bitorder="little").tobytes()
