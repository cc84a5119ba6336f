"""Spill data that does not fit into memory to unnamed files, packed if integers."""

from __future__ import annotations

from contextlib import ExitStack
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING

import numpy as np

from rdfcrawl.rdf.hdt.crc import CRC32C_BYTES, Crc32c
from rdfcrawl.rdf.hdt.sequences import TYPE_LOG, TYPE_PLAIN_BITMAP, pack
from rdfcrawl.rdf.hdt.vbyte import preamble

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray

    from rdfcrawl.rdf.hdt.crc import Buffer

_IN_MEMORY_BYTES = 512 * 1024
_COPY_BYTES = 2**20
_JOINED_BYTES = 256 * 1024


class SpillFile:
    """Bytes in the order they were added; a few stay in memory."""

    def __init__(self, file: SpooledTemporaryFile[bytes]) -> None:
        self._file = file
        self.n_bytes = 0

    def add(self, content: Buffer) -> tuple[int, int]:
        """Add bytes; return the offsets of begin and end."""
        begin = self.n_bytes
        self._file.seek(begin)
        self._file.write(content)
        self.n_bytes += len(content)
        return begin, self.n_bytes

    def read(self, begin: int, end: int) -> bytes:
        """Return the bytes between two offsets."""
        self._file.seek(begin)
        return self._file.read(end - begin)

    def pieces(self) -> Iterator[bytes]:
        """Yield all bytes, 1 MiB at a time."""
        for begin in range(0, self.n_bytes, _COPY_BYTES):
            yield self.read(begin, min(begin + _COPY_BYTES, self.n_bytes))

    def drop(self) -> None:
        """Free the disk space."""
        self._file.close()


class SpillFolder(ExitStack):
    """Factory of spills in a folder, which closes them on exit.

    The files are created once they are large, and vanish with the process.
    """

    def __init__(self, folder: Path | None) -> None:
        super().__init__()
        self._folder = None if folder is None else str(folder)

    def new(self) -> SpillFile:
        """Return a new spill."""
        return SpillFile(
            self.enter_context(SpooledTemporaryFile(_IN_MEMORY_BYTES, dir=self._folder))
        )


class CheckedSpill:
    """A spill whose checksum is computed on the way."""

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
    """A growing sequence of integers, packed into `width` bits each (from 1)."""

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
        self._write(bytes([TYPE_LOG, self._width]), out)

    def write_bitmap(self, out: BinaryIO) -> None:
        """Write all, of one bit each, as a bitmap."""
        self._write(bytes([TYPE_PLAIN_BITMAP]), out)

    def _write(self, head: bytes, out: BinaryIO) -> None:
        if len(self._rest):
            self._content.add(pack(self._rest, self._width))
        out.write(preamble(head, self.n_entries))
        self._content.write(out)
