"""Sequences of integers packed into equal numbers of bits ("log64"), and bitmaps.

Written ones are spilled with a checksum. Sorted runs of integers or strings are merged
as in `core.sorting`, with positions.
"""

from __future__ import annotations

from operator import ne
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.sorting import piece_bytes
from rdfcrawl.rdf.hdt.crc import CRC32C_BYTES, Crc32c
from rdfcrawl.rdf.hdt.cursor import preamble

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

    from numpy.typing import NDArray

    from rdfcrawl.core.sorting import SpillFile, SpillFolder, StringRun
    from rdfcrawl.rdf.hdt.crc import Buffer
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


_JOINED_BYTES = 256 * 1024


class CheckedSpill:
    """A spill with a running checksum."""

    def __init__(self, spills: SpillFolder) -> None:
        self._spill, self._crc = spills.new(), Crc32c()
        self._waiting: list[Buffer] = []
        self._n_waiting = 0

    @property
    def n_bytes(self) -> int:
        """Length."""
        return self._spill.n_bytes + self._n_waiting

    def add(self, content: Buffer) -> None:
        """Add bytes."""
        self._waiting.append(content)
        self._n_waiting += len(content)
        if self._n_waiting > _JOINED_BYTES:
            self._flush()

    def _flush(self) -> None:
        content = b"".join(self._waiting)
        self._crc.update(content)
        self._spill.add(content)
        self._waiting.clear()
        self._n_waiting = 0

    def write(self, out: BinaryIO) -> None:
        """Write all bytes and the checksum, and free the disk space."""
        self._flush()
        out.writelines(self._spill.pieces())
        out.write(self._crc.value.to_bytes(CRC32C_BYTES, "little"))
        self._spill.drop()


class IntegerPacker:
    """A growing sequence of integers, packed into `width` bits each (at least 1)."""

    def __init__(self, width: int, spills: SpillFolder) -> None:
        self._width, self._content = width, CheckedSpill(spills)
        self._rest = np.empty(0, np.uint64)
        self.n_entries = 0

    def add(self, values: NDArray[np.uint64]) -> None:
        """Add integers below 2**width."""
        self.n_entries += len(values)
        values = np.concatenate((self._rest, values))
        n_packed = len(values) - len(values) % 8
        self._content.add(pack(values[:n_packed], self._width))
        self._rest = values[n_packed:]

    def write_log_array(self, out: BinaryIO) -> None:
        """Write all as a packed sequence."""
        self._write(bytes([TYPE_LOG, self._width]), out)

    def write_bitmap(self, out: BinaryIO) -> None:
        """Write all, of one bit each, as a bitmap."""
        self._write(bytes([TYPE_PLAIN_BITMAP]), out)

    def _write(self, head: bytes, out: BinaryIO) -> None:
        if len(self._rest):
            self._content.add(pack(self._rest, self._width))
        out.write(preamble(head, self.n_entries))
        self._content.write(out)


Keys: TypeAlias = "NDArray[Any]"  # words, or strings of bytes
Places: TypeAlias = "NDArray[np.int64]"


def merge_strings(
    runs: Sequence[StringRun], memory_bytes: int
) -> Iterator[tuple[list[bytes], list[Places]]]:
    """Yield the distinct strings of all runs, sorted, in batches.

    Each batch comes with the positions of each run's strings in it. Pieces take
    `memory_bytes` in total.
    """
    size = piece_bytes(memory_bytes // 8, len(runs))  # objects are far larger
    while live := [run for run in runs if run.refill(size)]:
        bound = min(run.piece[-1] for run in live)
        parts = [run.take(bound) if run.piece else [] for run in runs]
        strings: list[bytes] = []
        for part in parts:
            strings += part
        # sorted() detects ascending runs: this is a merge.
        order = sorted(range(len(strings)), key=strings.__getitem__)
        ordered = [strings[index] for index in order]
        is_new = np.fromiter(
            map(ne, ordered, [None, *ordered[:-1]]), np.bool_, len(ordered)
        )
        places = np.empty(len(ordered), np.int64)
        places[order] = np.cumsum(is_new) - 1
        different = [ordered[index] for index in np.flatnonzero(is_new).tolist()]
        cuts = np.cumsum([len(part) for part in parts])[:-1]
        yield different, np.split(places, cuts)


class KeyRun:
    """Spilled run of sorted, distinct keys."""

    def __init__(self, spill: SpillFile, keys: Keys) -> None:
        self._spill, self._dtype = spill, keys.dtype
        self._at, self._end = spill.add(memoryview(keys.tobytes()))
        self.piece: Keys = keys[:0]

    def refill(self, n_bytes: int) -> bool:
        """Read the next piece if none is loaded; return whether one is loaded now."""
        if not len(self.piece) and self._at < self._end:
            n_bytes -= n_bytes % self._dtype.itemsize
            end = min(self._at + n_bytes, self._end)
            content = self._spill.read(self._at, end)
            self.piece = np.frombuffer(content, self._dtype)
            self._at = end
        return len(self.piece) > 0

    def take(self, bound: np.uint64 | np.bytes_) -> Keys:
        """Remove and return the entries of the piece up to a bound."""
        n = int(np.searchsorted(self.piece, bound, "right"))
        taken, self.piece = self.piece[:n], self.piece[n:]
        return taken


def merge_keys(runs: Sequence[KeyRun], memory_bytes: int) -> Iterator[Keys]:
    """Yield the distinct keys of all runs, sorted, in batches."""
    size = piece_bytes(memory_bytes // 4, len(runs))
    while live := [run for run in runs if run.refill(size)]:
        bound = min(run.piece[-1] for run in live)
        parts = [run.take(bound) for run in live]
        yield parts[0] if len(parts) == 1 else sort_keys(np.concatenate(parts))


def sort_keys(keys: Keys) -> Keys:
    """Return the distinct keys, sorted."""
    ordered = np.sort(keys)  # `np.unique` hashes first, which is much slower
    is_new = np.ones(len(keys), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return ordered[is_new]
