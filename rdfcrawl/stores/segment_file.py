"""One segment file: its name, its gzip members, and its writer.

A member is an ordinary one (RFC 1952) with one extra subfield that holds its length,
so that readers skip from member to member without inflating:

    1f 8b 08 04  00000000  00 ff      fixed fields, FEXTRA set, no time, no system
    0c 00  'R' 'C'  08 00             12 bytes of extra field, one subfield of 8
    <u64>                             length of the member in bytes, little endian;
                                      bit 63: everything before it is on disk
    deflate, CRC-32, length modulo 2^32

A length of 0 marks a member that is still being written.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isal import isal_zlib

from rdfcrawl.stores.files import sync

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rdfcrawl.core.content import DeflatePiece


PREFIX = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x0c\0RC\x08\0"
LENGTH_AT = len(PREFIX)
HEADER_BYTES = LENGTH_AT + 8
_TRAILER_BYTES = 8
_SYNCED = 1 << 63
_RAW_DEFLATE = -15  # window bits; negative: neither zlib nor gzip header
_READ_BYTES = 64 * 1024
_INFLATE_BYTES = 256 * 1024
_SEARCH_BYTES = 1024 * 1024


def encode_length(n_bytes: int, *, is_synced: bool) -> bytes:
    """Return the value of the length subfield."""
    return (n_bytes | _SYNCED if is_synced else n_bytes).to_bytes(8, "little")


def pack_member(content: bytes, *, level: int = 1, is_synced: bool = False) -> bytes:
    """Return `content` as one complete member.

    `level` is of isal, 0 (fastest) to 3 (smallest). `is_synced`: everything before the
    member is known to be on disk.
    """
    deflated = isal_zlib.compress(content, level, _RAW_DEFLATE)
    n_bytes = HEADER_BYTES + len(deflated) + _TRAILER_BYTES
    return b"".join(
        (
            PREFIX,
            encode_length(n_bytes, is_synced=is_synced),
            deflated,
            _trailer(isal_zlib.crc32(content), len(content)),
        )
    )


def _trailer(crc: int, n_content: int) -> bytes:
    return crc.to_bytes(4, "little") + (n_content & 0xFFFFFFFF).to_bytes(4, "little")


# The last member of a finished segment. It is appended when everything before it is
# on disk (like the end-of-file block of BGZF), so a reader that finds it can stop.
SEAL = pack_member(b"", is_synced=True)


class MemberPacker:
    """Packer of one member, piece by piece; the pieces come without the header.

    `n_packed` is the number of bytes of deflate and trailer returned so far.
    """

    def __init__(self, level: int = 1) -> None:
        self._deflate = isal_zlib.compressobj(
            level, isal_zlib.DEFLATED, _RAW_DEFLATE, isal_zlib.DEF_MEM_LEVEL
        )
        self._crc = 0
        self._n_content = 0
        self._has_open_block = False
        self.n_packed = 0

    def pack(self, chunk: bytes) -> bytes:
        """Return the packed bytes of `chunk`; may be empty."""
        self._crc = isal_zlib.crc32(chunk, self._crc)
        self._n_content += len(chunk)
        self._has_open_block = True
        packed: bytes = self._deflate.compress(chunk)
        self.n_packed += len(packed)
        return packed

    def take(self, piece: DeflatePiece) -> bytes:
        """Return the packed bytes of content that another process has packed."""
        packed, crc, n_content, _ = piece
        if self._has_open_block:  # what follows must not refer to what came before
            packed = self._deflate.flush(isal_zlib.Z_FULL_FLUSH) + packed
            self._has_open_block = False
        self._crc = isal_zlib.crc32_combine(self._crc, crc, n_content)
        self._n_content += n_content
        self.n_packed += len(packed)
        return packed

    def finish(self) -> bytes:
        """Return the rest of the deflate stream and the trailer."""
        packed = self._deflate.flush() + _trailer(self._crc, self._n_content)
        self.n_packed += len(packed)
        return packed


@dataclass(frozen=True, slots=True)
class GzipMember:
    """Position of one member in its file, from its header."""

    offset: int  # of its first byte
    n_bytes: int  # header, deflate and trailer
    is_synced: bool  # everything before it was on disk when it was written


class TornMember(Exception):
    """A member is incomplete: its bytes do not match its trailer."""


def iter_members(fd: int, n_file_bytes: int, offset: int = 0) -> Iterator[GzipMember]:
    """Yield the members of an open segment by their headers, up to the first torn one.

    Only headers are read, so the content may be damaged. `offset` is where a member
    begins.
    """
    while True:
        header = os.pread(fd, HEADER_BYTES, offset)
        value = int.from_bytes(header[LENGTH_AT:], "little")
        n_bytes = value & ~_SYNCED
        if (
            len(header) < HEADER_BYTES
            or not header.startswith(PREFIX)
            or n_bytes < len(SEAL)
            or offset + n_bytes > n_file_bytes
        ):
            return
        yield GzipMember(offset, n_bytes, bool(value & _SYNCED))
        offset += n_bytes


def iter_content(fd: int, member: GzipMember) -> Iterator[bytes]:
    """Yield the content of `member`, in pieces of at most 256 KiB.

    Raises:
        TornMember: the deflate stream, its length or its checksum is wrong; pieces
            may have been yielded before.
    """
    inflate = isal_zlib.decompressobj(_RAW_DEFLATE)
    offset = member.offset + HEADER_BYTES
    end = member.offset + member.n_bytes - _TRAILER_BYTES
    crc = n_content = 0
    while not inflate.eof:
        pending = inflate.unconsumed_tail
        if not pending:
            pending = os.pread(fd, min(_READ_BYTES, end - offset), offset)
            offset += len(pending)
        try:
            piece: bytes = inflate.decompress(pending, _INFLATE_BYTES)
        except isal_zlib.IsalError as error:  # type: ignore[misc] # its stub is wrong
            raise TornMember(str(error)) from error
        if not piece and not pending and not inflate.eof:
            raise TornMember(member)
        crc = isal_zlib.crc32(piece, crc)
        n_content += len(piece)
        if piece:
            yield piece
    trailer = os.pread(fd, _TRAILER_BYTES, end)
    if offset < end or inflate.unused_data or trailer != _trailer(crc, n_content):
        raise TornMember(member)


def is_whole(fd: int, member: GzipMember) -> bool:
    """Return whether the content of a member matches its trailer."""
    try:
        for _ in iter_content(fd, member):
            pass
    except TornMember:
        return False
    return True


def is_sealed(fd: int, n_file_bytes: int) -> bool:
    """Return whether a segment is finished and no process will write to it."""
    return os.pread(fd, len(SEAL), max(n_file_bytes - len(SEAL), 0)) == SEAL


def find_member(fd: int, n_file_bytes: int, offset: int) -> GzipMember | None:
    """Return the first intact member that begins at or after `offset`, if any.

    For damaged segments: searches for headers byte by byte, and accepts a member only
    if its checksum matches.
    """
    while offset < n_file_bytes:
        window = os.pread(fd, _SEARCH_BYTES, offset)
        at = window.find(PREFIX)
        while at >= 0:
            member = next(iter_members(fd, n_file_bytes, offset + at), None)
            if member is not None and is_whole(fd, member):
                return member
            at = window.find(PREFIX, at + 1)
        if len(window) < len(PREFIX):
            return None
        offset += len(window) - len(PREFIX) + 1
    return None


SEGMENT_NAME = re.compile(
    r"(?P<worker>[A-Za-z0-9_][A-Za-z0-9._-]*)-(?P<number>[0-9]{5,})"
    r"(?:\.(?P<revision>[0-9]+))?"  # each compaction increments it
    r"\.(?P<form>nq|txt|jsonl)\.gz"
)


def list_segments(directory: Path, *, worker: str | None = None) -> list[Path]:
    """Return the segments in `directory`, of one worker or all, in writing order.

    Superseded segments, which have a later revision, are left out.
    """
    return [paths[-1] for paths in _revisions(directory, worker)]


def log_bytes(directory: Path) -> int:
    """Return the size of the segments in a folder; 0 if there is none."""
    n_bytes = 0
    for path in list_segments(directory) if directory.is_dir() else ():
        with suppress(FileNotFoundError):  # a compaction has replaced it
            n_bytes += path.stat().st_size
    return n_bytes


def list_superseded(directory: Path) -> list[Path]:
    """Return the segments that have a later revision."""
    return [path for paths in _revisions(directory, None) for path in paths[:-1]]


def next_revision(name: str) -> str:
    """Return the name of the next revision of a segment.

    >>> next_revision("w-00000.nq.gz"), next_revision("w-00000.1.nq.gz")
    ('w-00000.1.nq.gz', 'w-00000.2.nq.gz')
    """
    match = SEGMENT_NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"no segment: {name}")
    revision = int(match["revision"] or 0) + 1
    return f"{match['worker']}-{match['number']}.{revision}.{match['form']}.gz"


def _revisions(directory: Path, worker: str | None) -> list[list[Path]]:
    """Return the revisions of each segment, both in order."""
    found: dict[tuple[str, int], list[tuple[int, Path]]] = {}
    for path in directory.iterdir():
        match = SEGMENT_NAME.fullmatch(path.name)
        if match is not None and worker in (None, match["worker"]):
            key = match["worker"], int(match["number"])
            found.setdefault(key, []).append((int(match["revision"] or 0), path))
    return [[path for _, path in sorted(found[key])] for key in sorted(found)]


class SegmentFile:
    """One segment being written; locked until it is closed.

    Invariant: `n_bytes` is where the next member begins. Bytes behind it are torn, and
    are cut off before the next write.
    """

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self.n_bytes = 0
        self.n_synced = 0
        self._fd = fd
        self._is_named = False  # its directory entry is on disk
        self._has_changed = False  # before `n_synced`, and maybe not on disk

    @classmethod
    def create(cls, path: Path) -> SegmentFile | None:
        """Create and lock a segment; return None if the name is taken."""
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR
        try:
            fd = os.open(path, flags, 0o644)
        except FileExistsError:
            return None
        fcntl.flock(fd, fcntl.LOCK_EX)
        # A recovery may have removed the file, empty, before it was locked.
        if os.fstat(fd).st_nlink == 0:
            os.close(fd)
            return None
        return cls(path, fd)

    @property
    def is_synced(self) -> bool:
        """Whether all members are known to be on disk."""
        return self.n_synced == self.n_bytes and not self._has_changed

    def append(self, *pieces: bytes) -> None:
        """Write `pieces` after the last member, all or nothing.

        Raises:
            OSError: nothing was written.
        """
        content = b"".join(pieces)
        written = 0
        try:
            while written < len(content):
                written += os.pwrite(
                    self._fd, content[written:], self.n_bytes + written
                )
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self.n_bytes)
            raise
        self.n_bytes += written

    def patch_length(self, offset: int = 0) -> None:
        """Make the last member valid: write its length to its header at `offset`."""
        length = encode_length(self.n_bytes - offset, is_synced=False)
        os.pwrite(self._fd, length, offset + LENGTH_AT)
        # After the write: a `sync` in another thread may have begun before it.
        self._has_changed = True

    def cut(self, n_bytes: int) -> None:
        """Drop everything after the first `n_bytes`."""
        self.n_bytes, self.n_synced = n_bytes, min(self.n_synced, n_bytes)
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, n_bytes)
        self._has_changed = True

    def check_path(self) -> None:
        """Check that the path still leads to this file.

        Data written to a file whose folder was deleted is lost without an error.

        Raises:
            FileNotFoundError: the file was deleted or moved away.
        """
        ours = os.fstat(self._fd)
        with contextlib.suppress(FileNotFoundError):
            found = self.path.stat()
            if (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino):
                return
        reason = f"{self.path} was deleted or moved away"
        raise FileNotFoundError(errno.ENOENT, reason)

    def sync(self) -> int:
        """Make the file durable on disk; return the number of its durable bytes.

        Raises:
            OSError: the file may not be on disk; see also `check_path`.
        """
        n_bytes = self.n_bytes
        self._has_changed = False  # before the sync, which may miss later changes
        try:
            os.fdatasync(self._fd)
        except OSError:
            self._has_changed = True
            raise
        self.check_path()
        if not self._is_named:
            sync(self.path.parent)
            self._is_named = True
        return n_bytes

    def finish(self) -> int:
        """Make the file durable, seal and close it; return its size."""
        self.n_synced = self.sync()
        # A segment without a seal is valid; only its recovery takes longer.
        with contextlib.suppress(OSError):
            self.append(SEAL)
        self.close()
        return self.n_bytes

    def close(self) -> None:
        """Close the file without a seal, and release its lock."""
        os.close(self._fd)

    def remove(self) -> None:
        """Delete the segment."""
        self.path.unlink(missing_ok=True)
        os.close(self._fd)
