"""Writes packed sequences and dictionary sections whose length is not yet known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rdfcrawl.rdf.hdt.bitmap import bitmap_preamble
from rdfcrawl.rdf.hdt.crc import CRC32C_BYTES, Crc32c, crc8
from rdfcrawl.rdf.hdt.dictionary import TYPE_FRONT_CODING
from rdfcrawl.rdf.hdt.front_coding import encode_blocks
from rdfcrawl.rdf.hdt.log_array import log_preamble, pack
from rdfcrawl.rdf.hdt.vbyte import encode_vbyte

if TYPE_CHECKING:
    from typing import BinaryIO

    from numpy.typing import NDArray

    from rdfcrawl.rdf.hdt.crc import Buffer
    from rdfcrawl.rdf.hdt.spill import SpillFolder

BLOCK_STRINGS = 16  # as hdt-cpp and hdt-java
_JOINED_BYTES = 256 * 1024


class CheckedSpill:
    """Bytes put aside whose checksum is computed on the way."""

    __slots__ = ("_crc", "_n_waiting", "_spill", "_waiting")

    def __init__(self, spills: SpillFolder) -> None:
        self._spill, self._crc = spills.new(), Crc32c()
        self._waiting: list[Buffer] = []
        self._n_waiting = 0

    @property
    def n_bytes(self) -> int:
        """How many there are."""
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
        """Write all and the checksum, and drop it."""
        self._flush()
        out.writelines(self._spill.pieces())
        out.write(self._crc.value.to_bytes(CRC32C_BYTES, "little"))
        self._spill.drop()


class IntegerPacker:
    """A sequence of integers, packed while it comes.

    Args:
        width: bits of each, from 1.
        spills: for what is put aside.

    Attributes:
        n_entries: how many there are.
    """

    __slots__ = ("_content", "_rest", "_width", "n_entries")

    def __init__(self, width: int, spills: SpillFolder) -> None:
        self._width, self._content = width, CheckedSpill(spills)
        self._rest = np.empty(0, np.uint64)
        self.n_entries = 0

    def add(self, values: NDArray[np.uint64]) -> None:
        """Add integers below 2**width."""
        self.n_entries += len(values)
        values = np.concatenate((self._rest, values))
        n_whole = len(values) - len(values) % 8
        self._content.add(pack(values[:n_whole], self._width))
        self._rest = values[n_whole:]

    def write_log_array(self, out: BinaryIO) -> None:
        """Write all as a packed sequence."""
        self._write(log_preamble(self._width, self.n_entries), out)

    def write_bitmap(self, out: BinaryIO) -> None:
        """Write all, of one bit each, as a bitmap."""
        self._write(bitmap_preamble(self.n_entries), out)

    def _write(self, preamble: bytes, out: BinaryIO) -> None:
        if len(self._rest):
            self._content.add(pack(self._rest, self._width))
        out.write(preamble)
        self._content.write(out)


class SectionWriter:
    """One sorted list of strings, front-coded while it comes.

    Attributes:
        n_strings: how many there are.
        string_bytes: what they have together.
    """

    __slots__ = (
        "_offsets",
        "_packed",
        "_rest",
        "_spills",
        "n_strings",
        "string_bytes",
    )

    def __init__(self, spills: SpillFolder) -> None:
        self._spills = spills
        self._packed, self._offsets = CheckedSpill(spills), spills.new()
        self._rest: list[bytes] = []
        self.n_strings = self.string_bytes = 0

    def add(self, strings: list[bytes]) -> None:
        """Add strings, each above all before."""
        self.n_strings += len(strings)
        self.string_bytes += sum(map(len, strings))
        strings = self._rest + strings
        n_whole = len(strings) - len(strings) % BLOCK_STRINGS
        self._add_blocks(strings[:n_whole])
        self._rest = strings[n_whole:]

    def _add_blocks(self, strings: list[bytes]) -> None:
        content, lengths = encode_blocks(strings, BLOCK_STRINGS)
        begins = np.cumsum(lengths, dtype=np.uint64) - lengths
        begins += np.uint64(self._packed.n_bytes)
        self._offsets.add(begins.astype("<u8").tobytes())
        self._packed.add(content)

    def write(self, out: BinaryIO) -> None:
        """Write the section."""
        self._add_blocks(self._rest)
        n_bytes = self._packed.n_bytes
        self._offsets.add(n_bytes.to_bytes(8, "little"))
        counts = self.n_strings, n_bytes, BLOCK_STRINGS
        preamble = bytes([TYPE_FRONT_CODING]) + b"".join(map(encode_vbyte, counts))
        out.write(preamble + bytes([crc8(preamble)]))
        offsets = IntegerPacker(max(n_bytes.bit_length(), 1), self._spills)
        for piece in self._offsets.pieces():
            offsets.add(np.frombuffer(piece, "<u8"))
        offsets.write_log_array(out)
        self._offsets.drop()
        self._packed.write(out)
