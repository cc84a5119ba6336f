"""Spool what must be read out of order: in memory, or in one file."""

from __future__ import annotations

import io
import mmap
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol, cast

from rdfcrawl.errors import PASSING, Reason, SourceFault

if TYPE_CHECKING:
    from typing import BinaryIO

    Buffer = bytes | bytearray | memoryview

BLOCK_BYTES: Final = 256 * 1024
_FULL: Final = "no room to read it out of order"
_SHARE: Final = 4  # who has put aside the fourth part of a disk is not its victim


class SeekableBytes(Protocol):
    """Bytes that can be read in any order.

    Attributes:
        n_bytes: how many there are.
    """

    @property
    def n_bytes(self) -> int:
        """See above."""

    def read_at(self, offset: int, n_bytes: int) -> bytes:
        """Return so many bytes from there; less at the end."""

    def close(self) -> None:
        """Free the bytes; closing twice does nothing."""


class SpooledBytes(SeekableBytes, Protocol):
    """Bytes that were put aside."""

    def append(self, data: Buffer) -> None:
        """Add bytes to the blob that was begun last and is open (`TOO_LARGE`)."""

    def map(self) -> memoryview:
        """Return all bytes as one buffer; release it before `close`."""

    def open(self) -> BinaryIO:
        """Return the bytes as a stream from their begin."""


class ScratchSpace(Protocol):
    """Where bytes are put aside.

    Attributes:
        refusal: number of the error by which a disk has kept somebody from it who
            could not do without, and which may pass; 0: there was none.
    """

    refusal: int

    def begin(self) -> SpooledBytes:
        """Return an empty place; close it."""

    def hold(self, stream: BinaryIO, *, max_bytes: int | None = None) -> SpooledBytes:
        """Spool the rest of a stream (`TOO_LARGE`); close what is returned."""


class BlobStream(io.RawIOBase):
    """A blob as a stream; wrap it into a `BufferedReader`."""

    def __init__(self, blob: SeekableBytes) -> None:
        self._blob = blob
        self._at = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer; zero bytes mean the end."""
        data = self._blob.read_at(self._at, len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


class _Scratch:
    """The base of both kinds of scratch space."""

    refusal = 0

    def begin(self) -> SpooledBytes:
        raise NotImplementedError

    def hold(self, stream: BinaryIO, *, max_bytes: int | None = None) -> SpooledBytes:
        """Put the rest of a stream aside; see `ScratchSpace`."""
        held = self.begin()
        try:
            while data := stream.read(BLOCK_BYTES):
                _check_room(held.n_bytes + len(data), max_bytes)
                held.append(data)
        except BaseException:
            held.close()
            raise
        return held


class MemoryBlob:
    """Bytes in memory."""

    def __init__(self, data: Buffer) -> None:
        self._data = memoryview(data)
        self.n_bytes = len(self._data)

    def read_at(self, offset: int, n_bytes: int) -> bytes:
        """Return so many bytes from there; less at the end."""
        return bytes(self._data[offset : offset + n_bytes])

    def close(self) -> None:
        """Do nothing."""


class FileBlob:
    """A file that is open for reading; closes it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._fd = file.fileno()
        self.n_bytes = os.fstat(self._fd).st_size

    def read_at(self, offset: int, n_bytes: int) -> bytes:
        """Return so many bytes from there; less at the end."""
        return _read_at(self._fd, offset, n_bytes)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class MemoryScratch(_Scratch):
    """Puts aside in memory.

    Args:
        max_bytes: that are held at once.
    """

    def __init__(self, max_bytes: int) -> None:
        self._n_free = max_bytes

    def begin(self) -> SpooledBytes:
        """Return an empty place; close it."""
        return _HeldInMemory(self)

    def take(self, n_bytes: int) -> None:
        """Take room; negative gives it back.

        Raises:
            SourceFault: `TOO_LARGE` if there is not enough.
        """
        if n_bytes > self._n_free:
            raise SourceFault(Reason.TOO_LARGE, _FULL)
        self._n_free -= n_bytes


class _HeldInMemory:
    def __init__(self, scratch: MemoryScratch) -> None:
        self._scratch = scratch
        self._data = bytearray()

    @property
    def n_bytes(self) -> int:
        return len(self._data)

    def append(self, data: Buffer) -> None:
        self._scratch.take(len(memoryview(data)))
        self._data += data

    def read_at(self, offset: int, n_bytes: int) -> bytes:
        return bytes(self._data[offset : offset + n_bytes])

    def map(self) -> memoryview:
        return memoryview(self._data)

    def open(self) -> BinaryIO:
        return _stream_of(self)

    def close(self) -> None:
        self._scratch.take(-len(self._data))
        self._data = bytearray()


class FileScratch(_Scratch):
    """Puts aside in one file, that is there already: nothing else is opened.

    Places lie behind one another, as what is nested needs them: room is free again
    when all that were begun later are closed too.

    Args:
        fd: open for reading and writing; what is in it is overwritten.
        max_bytes: longest that the file may get.
    """

    def __init__(self, fd: int, max_bytes: int) -> None:
        self.fd = fd
        self.max_bytes = max_bytes
        self._open: list[_HeldInFile] = []

    def begin(self) -> SpooledBytes:
        """Return an empty place; close it."""
        held = _HeldInFile(self, self._end())
        self._open.append(held)
        return held

    def is_last(self, held: _HeldInFile) -> bool:
        """Return whether nothing lies behind a blob."""
        return bool(self._open) and self._open[-1] is held

    def drop(self, held: _HeldInFile) -> None:
        """Forget a place, and give back the room that is free now."""
        self._open = [each for each in self._open if each is not held]
        if not self._open and not held.is_mapped():
            # The process may not be allowed to; then the room is used again.
            with suppress(OSError):
                os.ftruncate(self.fd, 0)

    def note(self, error: OSError, n_bytes: int) -> None:
        """Take note of what the disk has refused.

        Args:
            error: says so.
            n_bytes: were written before.
        """
        facts = os.fstatvfs(self.fd)
        is_large = n_bytes * _SHARE > facts.f_blocks * facts.f_frsize
        if error.errno in PASSING and not is_large:
            self.refusal = error.errno or 0

    def _end(self) -> int:
        if not self._open:
            return 0
        end = self._open[-1].begin + self._open[-1].n_bytes
        return -(-end // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY


class _HeldInFile:
    def __init__(self, scratch: FileScratch, begin: int) -> None:
        self._scratch = scratch
        self._map: mmap.mmap | None = None
        self.begin = begin
        self.n_bytes = 0

    def append(self, data: Buffer) -> None:
        scratch, at = self._scratch, self.begin + self.n_bytes
        view = memoryview(data)
        if not scratch.is_last(self) or at + len(view) > scratch.max_bytes:
            raise SourceFault(Reason.TOO_LARGE, _FULL)
        try:
            while view:
                n_written = os.pwrite(scratch.fd, view, at)
                view, at = view[n_written:], at + n_written
        except OSError as error:
            scratch.note(error, at)
            raise SourceFault(Reason.TOO_LARGE, f"{_FULL}: {error.strerror}") from error
        self.n_bytes = at - self.begin

    def read_at(self, offset: int, n_bytes: int) -> bytes:
        n_bytes = max(0, min(n_bytes, self.n_bytes - offset))
        return _read_at(self._scratch.fd, self.begin + offset, n_bytes)

    def map(self) -> memoryview:
        if not self.n_bytes:
            return memoryview(b"")
        self._map = mmap.mmap(
            self._scratch.fd,
            self.n_bytes,
            offset=self.begin,
            flags=mmap.MAP_SHARED,
            prot=mmap.PROT_READ,
        )
        return memoryview(self._map)

    def is_mapped(self) -> bool:
        """Return whether the file may still be mapped, so that it must not shrink."""
        if self._map is not None:
            try:
                self._map.close()
            except BufferError:
                return True
        return False

    def open(self) -> BinaryIO:
        return _stream_of(self)

    def close(self) -> None:
        self._scratch.drop(self)


def _check_room(n_bytes: int, max_bytes: int | None) -> None:
    if max_bytes is not None and n_bytes > max_bytes:
        raise SourceFault(Reason.TOO_LARGE, f"{_FULL}: more than {max_bytes} bytes")


def _stream_of(held: SpooledBytes) -> BinaryIO:
    return cast("BinaryIO", io.BufferedReader(BlobStream(held), BLOCK_BYTES))


def _read_at(fd: int, offset: int, n_bytes: int) -> bytes:
    data = os.pread(fd, n_bytes, offset)
    while len(data) < n_bytes:
        more = os.pread(fd, n_bytes - len(data), offset + len(data))
        if not more:
            break
        data += more
    return data
