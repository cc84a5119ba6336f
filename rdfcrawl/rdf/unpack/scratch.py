"""Spool bytes for random access or repeated reading: in memory, or in one file."""

from __future__ import annotations

import io
import mmap
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol

from rdfcrawl.core.content import PulledStream
from rdfcrawl.core.errors import PASSING, Reason, SourceFault
from rdfcrawl.core.messages import counted

if TYPE_CHECKING:
    Buffer = bytes | bytearray | memoryview

BLOCK_BYTES: Final = 256 * 1024
_FULL: Final = "no scratch space for random access"
_SHARE: Final = 4  # a document that fills a fourth of the disk is itself the cause


class SeekableBytes(Protocol):
    """Bytes that can be read in any order."""

    @property
    def n_bytes(self) -> int:
        """Length."""

    def read_at(self, offset: int, n_bytes: int) -> bytes:
        """Return `n_bytes` from an offset; fewer at the end."""

    def close(self) -> None:
        """Free the bytes; closing twice does nothing."""


class SpooledBytes(SeekableBytes, Protocol):
    """Bytes in a scratch space."""

    def append(self, data: Buffer) -> None:
        """Add bytes to the last blob, which must be open (`TOO_LARGE`)."""

    def map(self) -> memoryview:
        """Return all bytes as one buffer, to be released before `close`."""


class ScratchSpace(ABC):
    """A place to spool bytes.

    Attributes:
        refusal: `errno` of a disk that refused needed bytes but may accept them later;
            0 if there was none.
    """

    refusal = 0

    @abstractmethod
    def begin(self) -> SpooledBytes:
        """Return an empty blob, to be closed."""

    def hold(self, stream: BinaryIO, *, max_bytes: int | None = None) -> SpooledBytes:
        """Spool the rest of a stream (`TOO_LARGE`); the caller closes the blob."""
        held = self.begin()
        try:
            while data := stream.read(BLOCK_BYTES):
                if max_bytes is not None and held.n_bytes + len(data) > max_bytes:
                    detail = f"{_FULL}: more than {counted(max_bytes, 'byte')}"
                    raise SourceFault(Reason.TOO_LARGE, detail)  # noqa: TRY301
                held.append(data)
        except BaseException:
            held.close()
            raise
        return held


class BlobReader:
    """Reader of the part of a blob between two offsets."""

    def __init__(self, blob: SeekableBytes, begin: int, end: int) -> None:
        self._blob, self._at, self._end = blob, begin, min(end, blob.n_bytes)

    def read(self, n_bytes: int) -> bytes:
        """Return the next bytes, at most `n_bytes`; none at the end."""
        data = self._blob.read_at(self._at, max(0, min(n_bytes, self._end - self._at)))
        self._at += len(data)
        return data


class MemoryBlob:
    """Bytes in memory."""

    def __init__(self, data: Buffer) -> None:
        self._data = data

    @property
    def n_bytes(self) -> int:
        """Length."""
        return len(self._data)

    def read_at(self, offset: int, n_bytes: int) -> bytes:
        """Return `n_bytes` from an offset; fewer at the end."""
        return bytes(self._data[offset : offset + n_bytes])

    def close(self) -> None:
        """Do nothing."""


class FileBlob:
    """A file that is open for reading; closed with the blob."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._fd = file.fileno()
        self.n_bytes = os.fstat(self._fd).st_size

    def read_at(self, offset: int, n_bytes: int) -> bytes:
        """Return `n_bytes` from an offset; fewer at the end."""
        return _read_at(self._fd, offset, n_bytes)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class MemoryScratch(ScratchSpace):
    """Scratch space in memory, limited to `max_bytes`."""

    def __init__(self, max_bytes: int) -> None:
        self._n_free = max_bytes

    def begin(self) -> SpooledBytes:
        """Return an empty blob, to be closed."""
        return _HeldInMemory(self)

    def take(self, n_bytes: int) -> None:
        """Reserve bytes; a negative number frees some.

        Raises:
            SourceFault: `TOO_LARGE`.
        """
        if n_bytes > self._n_free:
            raise SourceFault(Reason.TOO_LARGE, _FULL)
        self._n_free -= n_bytes


class _HeldInMemory(MemoryBlob):
    _data: bytearray

    def __init__(self, scratch: MemoryScratch) -> None:
        super().__init__(bytearray())
        self._scratch = scratch

    def append(self, data: Buffer) -> None:
        self._scratch.take(len(memoryview(data)))
        self._data += data

    def map(self) -> memoryview:
        return memoryview(self._data)

    def close(self) -> None:
        self._scratch.take(-len(self._data))
        self._data = bytearray()


class FileScratch(ScratchSpace):
    """Scratch space in one open file; no other file is opened.

    Blobs are consecutive, which suits nested archives: the space of a blob is free when
    all later blobs are closed too.

    Args:
        fd: open for reading and writing; its content is overwritten.
        max_bytes: largest size of the file.
    """

    def __init__(self, fd: int, max_bytes: int) -> None:
        self.fd = fd
        self.max_bytes = max_bytes
        self._open: list[_HeldInFile] = []

    def begin(self) -> SpooledBytes:
        """Return an empty blob, to be closed."""
        held = _HeldInFile(self, self._end())
        self._open.append(held)
        return held

    def is_last(self, held: _HeldInFile) -> bool:
        """Return whether this is the last open blob."""
        return bool(self._open) and self._open[-1] is held

    def drop(self, held: _HeldInFile) -> None:
        """Remove a blob; empty the file after the last one."""
        self._open = [each for each in self._open if each is not held]
        if not self._open and not held.is_mapped():
            # The process may lack permission; then the space is reused.
            with suppress(OSError):
                os.ftruncate(self.fd, 0)

    def note(self, error: OSError, n_bytes: int) -> None:
        """Record the refusal of the disk after `n_bytes` were written."""
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
        """Return whether the file may still be mapped and must not shrink."""
        if self._map is not None:
            try:
                self._map.close()
            except BufferError:
                return True
        return False

    def close(self) -> None:
        self._scratch.drop(self)


class ScratchTee:
    """Two readers of one stream: the first spools bytes for the second.

    If the scratch space is full, the first reader continues without spooling, and
    there is no second one.
    """

    def __init__(self, stream: BinaryIO, scratch: ScratchSpace) -> None:
        self._stream = stream
        self._scratch = scratch
        self._refusal = 0
        self._held = scratch.begin()
        self._is_full = False

    def first(self) -> io.BufferedReader:
        """Return the stream; call once."""
        return _buffered(partial(self._read_at, is_first=True))

    def reopen(self) -> io.BufferedReader:
        """Return the stream from its beginning.

        Raises:
            SourceFault: `TOO_LARGE` if it was too long to be spooled.
        """
        if self._is_full:
            self._scratch.refusal = self._scratch.refusal or self._refusal
            raise SourceFault(Reason.TOO_LARGE, "too long to be read twice")
        return _buffered(partial(self._read_at, is_first=False))

    def close(self) -> None:
        """Free the scratch space."""
        self._held.close()

    def _read_at(self, at: int, n_bytes: int, *, is_first: bool) -> bytes:
        """Return bytes from an offset, pulled from the stream as needed."""
        if self._is_full and is_first:
            return self._stream.read(n_bytes)
        if at < self._held.n_bytes:
            return self._held.read_at(at, n_bytes)
        data = self._stream.read(n_bytes)
        try:
            self._held.append(data)
        except SourceFault:
            self._is_full = True
            if not is_first:
                raise
            # Record the refusal only if a second reader needs the bytes.
            self._refusal, self._scratch.refusal = self._scratch.refusal, 0
        return data


class _OffsetStream(PulledStream):
    """Stream over a function that reads from an offset."""

    def __init__(self, read_at: Callable[[int, int], bytes]) -> None:
        self._read_at, self._at = read_at, 0

    def _pull(self, n_bytes: int) -> bytes:
        data = self._read_at(self._at, n_bytes)
        self._at += len(data)
        return data


def _buffered(read_at: Callable[[int, int], bytes]) -> io.BufferedReader:
    return io.BufferedReader(_OffsetStream(read_at), BLOCK_BYTES)


def _read_at(fd: int, offset: int, n_bytes: int) -> bytes:
    data = os.pread(fd, n_bytes, offset)
    while len(data) < n_bytes:
        more = os.pread(fd, n_bytes - len(data), offset + len(data))
        if not more:
            break
        data += more
    return data
