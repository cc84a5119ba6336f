"""Spill content of an HDT file: with a checksum; integers are packed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rdfcrawl.rdf.hdt.crc import CRC32C_BYTES, Crc32c
from rdfcrawl.rdf.hdt.sequences import TYPE_LOG, TYPE_PLAIN_BITMAP, pack
from rdfcrawl.rdf.hdt.vbyte import preamble

if TYPE_CHECKING:
    from typing import BinaryIO

    from numpy.typing import NDArray

    from rdfcrawl.core.sorting import SpillFolder
    from rdfcrawl.rdf.hdt.crc import Buffer

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
