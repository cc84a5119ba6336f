"""The WARC files of one worker: locked, appended to, rotated and repaired.

Names have the form `<crawl>-<time>-<worker>-<n>.warc.gz`, with the suffix `.open`
during writing. Each record is a gzip member that declares its own length, like in
segments (`stores`), so that the torn end of a dead worker's file can be found and cut
off.

Source: The WARC Format 1.1 (IIPC), clauses 5 and 6, annex D.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import logging
import os
import time
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Final, Literal

from rdfcrawl.core.messages import counted
from rdfcrawl.core.times import moment_text
from rdfcrawl.stores.files import open_locked
from rdfcrawl.stores.nquads import count_whole_bytes
from rdfcrawl.stores.segment_file import PREFIX, MemberPacker, SegmentFile, pack_member

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    RecordType = Literal[
        "warcinfo", "response", "resource", "request", "metadata", "revisit"
    ]

logger = logging.getLogger(__name__)


SAME_PAYLOAD: Final = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED: Final = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
RESPONSE_TYPE: Final = "application/http; msgtype=response"
REQUEST_TYPE: Final = "application/http; msgtype=request"
FIELDS_TYPE: Final = "application/warc-fields"
COPY_KEPT: Final = ("X-Crawler-Copy", "kept")
"""Field of a 404 that does not yet mean that the document is gone."""
_MAX_PACKED_BYTES: Final = 1024 * 1024
_LEVEL: Final = 2  # of isal, 0 to 3
OPEN_SUFFIX: Final = ".open"


def new_record_id() -> str:
    """Return the name of a new record."""
    return uuid.uuid4().urn


def sha1(content: bytes) -> bytes:
    """Return the digest that tools expect; security does not depend on it."""
    return hashlib.sha1(content, usedforsecurity=False).digest()


@lru_cache(maxsize=64)  # most requests have an empty body
def digest_field(digest: bytes) -> str:
    """Return a SHA-1 digest in the form of WARC fields."""
    return f"sha1:{base64.b32encode(digest).decode()}"


@dataclass(slots=True, kw_only=True)
class WarcRecord:
    """A record to be written.

    Attributes:
        type: of the record.
        record_id: its URN.
        fields: further fields, except type, ID, digest of the block, content type and
            length; values have no line breaks.
        content_type: of the block.
        head: start of the block.
        body: rest of the block; supports repeated iteration.
        n_body: its length.
        block_digest: SHA-1 of head and body; computed if not given.
    """

    type: RecordType
    record_id: str
    fields: list[tuple[str, str]]
    content_type: str
    head: bytes = b""
    body: Iterable[bytes] = ()
    n_body: int = 0
    block_digest: bytes = b""

    @property
    def is_long(self) -> bool:
        """Whether the record should be written piece by piece."""
        return self.n_body > _MAX_PACKED_BYTES

    def _parts(self) -> Iterator[bytes]:
        digest = self.block_digest or sha1(self.head)
        fields = [
            ("WARC-Type", self.type),
            ("WARC-Record-ID", f"<{self.record_id}>"),
            *self.fields,
            ("WARC-Block-Digest", digest_field(digest)),
            ("Content-Type", self.content_type),
            ("Content-Length", str(len(self.head) + self.n_body)),
        ]
        lines = "".join([f"{name}: {value}\r\n" for name, value in fields])
        yield f"WARC/1.1\r\n{lines}\r\n".encode("utf-8", "replace") + self.head
        yield from self.body
        yield b"\r\n\r\n"

    def packed(self, *, is_synced: bool = False) -> bytes:
        """Return the record as one member; only if it fits in memory."""
        content = b"".join(self._parts())
        return pack_member(content, level=_LEVEL, is_synced=is_synced)

    def stream_into(self, file: SegmentFile) -> None:
        """Append the record to a file, piece by piece.

        Raises:
            OSError: the file may contain a part of it.
        """
        begin, packer = file.n_bytes, MemberPacker(_LEVEL)
        file.append(PREFIX, bytes(8))  # a length of 0: the end of the member is unknown
        for part in self._parts():
            if packed := packer.pack(part):
                file.append(packed)
        file.append(packer.finish())
        file.patch_length(begin)


def fields_block(fields: Iterable[tuple[str, str]]) -> bytes:
    r"""Return a block of `application/warc-fields`.

    >>> fields_block([("fault", "a\nb")])
    b'fault: a b\r\n'
    """
    lines = (f"{name}: {' '.join(value.split())}\r\n" for name, value in fields)
    return "".join(lines).encode("utf-8", "replace")


class ArchiveFile:
    """An open WARC file; it begins with a `warcinfo`.

    Attributes:
        file: accepts complete records.
        info_id: of the `warcinfo`.
    """

    def __init__(self, file: SegmentFile, info_id: str) -> None:
        self.file, self.info_id = file, info_id

    @classmethod
    def create(cls, path: Path, info: list[tuple[str, str]]) -> ArchiveFile:
        """Create a file with the suffix `.open`.

        Raises:
            OSError: the disk does not accept it.
        """
        segment = SegmentFile.create(path.with_name(path.name + OPEN_SUFFIX))
        if segment is None:
            raise FileExistsError(errno.EEXIST, f"{path} exists")
        record = WarcRecord(
            type="warcinfo",
            record_id=new_record_id(),
            fields=[
                ("WARC-Date", moment_text(time.time_ns() // 1_000_000)),
                ("WARC-Filename", path.name),
            ],
            content_type=FIELDS_TYPE,
            head=fields_block(info),
        )
        try:
            segment.append(record.packed())
        except OSError:
            segment.remove()
            raise
        return cls(segment, record.record_id)

    def append(self, records: list[WarcRecord]) -> int:
        """Append records, all of them or none; return their size in bytes.

        Raises:
            OSError: none was written.
        """
        begin = self.file.n_bytes
        with self._all_or_nothing(begin):
            if any(record.is_long for record in records):
                for record in records:
                    record.stream_into(self.file)
            else:
                first, *others = records
                members = [first.packed(is_synced=self.file.is_synced)]
                members += (record.packed() for record in others)
                self.file.append(*members)
        return self.file.n_bytes - begin

    @contextmanager
    def _all_or_nothing(self, begin: int) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.file.cut(begin)
            raise

    def sync(self) -> None:
        """Write the file to the disk.

        Raises:
            OSError: it may not be on disk.
        """
        if not self.file.is_synced:
            self.file.n_synced = self.file.sync()

    def finish(self) -> None:
        """Write the file to the disk, close it and remove the suffix `.open`.

        Raises:
            OSError: it may not be on disk.
        """
        self.sync()
        path = self.file.path
        path.rename(path.with_suffix(""))
        self.file.close()


class ArchiveFolder:
    """The files of one worker, in a folder that workers share.

    A file has one writer at a time: a long write holds its file, and other writers use
    another one. Methods may be called from any thread.

    Args:
        folder: created if missing.
        name: prefix of the file names, unique among workers.
        max_bytes: a file of this size is finished.
        info: content of the `warcinfo` of each file.
        count: called with the name of a statistic.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        max_bytes: int,
        info: list[tuple[str, str]],
        count: Callable[[str, int], None],
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._name = folder, name
        self._max_bytes = max_bytes
        self._info = info
        self._count = count
        self._lock = Lock()
        self._n_files = 0
        self._free: list[ArchiveFile] = []
        self._taken: list[ArchiveFile] = []
        self._full: list[ArchiveFile] = []

    @contextmanager
    def borrowed(self) -> Iterator[ArchiveFile]:
        """Yield a file with exclusive access.

        Raises:
            OSError: there is none, and none can be created.
        """
        with self._lock:
            file = self._free.pop() if self._free else self._create()
            self._taken.append(file)
        try:
            yield file
        finally:
            with self._lock:
                self._taken.remove(file)
                is_full = file.file.n_bytes >= self._max_bytes
                (self._full if is_full else self._free).append(file)

    def _create(self) -> ArchiveFile:
        path = self._folder / f"{self._name}-{self._n_files:05}.warc.gz"
        self._n_files += 1
        file = ArchiveFile.create(path, self._info)
        self._count("warc/files", 1)
        return file

    def sync(self) -> None:
        """Write all data to the disk; finish the files that are full.

        Raises:
            OSError: the disk does not accept it.
        """
        with self._lock:
            full, self._full = self._full, []
            others = [*self._free, *self._taken]
        try:
            while full:
                full[-1].finish()
                full.pop()
            for file in others:
                file.sync()
        finally:
            with self._lock:
                self._full += full

    def close(self) -> None:
        """Finish all files.

        Raises:
            OSError: the disk does not accept it.
        """
        with self._lock:
            self._full += self._free
            self._free = []
        self.sync()


def repair_archives(folder: Path) -> None:
    """Finish the files of dead workers, without their torn ends.

    Raises:
        OSError: the disk cannot be read or written.
    """
    for path in sorted(folder.glob(f"*.warc.gz{OPEN_SUFFIX}")):
        # Another worker may have been faster, or its worker is alive.
        with open_locked(path) as fd:
            if fd is not None and os.fstat(fd).st_nlink and path.exists():
                _repair(path, fd)


def _repair(path: Path, fd: int) -> None:
    n_bytes = os.fstat(fd).st_size
    n_whole = count_whole_bytes(fd, n_bytes)
    if n_whole < n_bytes:
        n_cut = counted(n_bytes - n_whole, "byte")
        logger.warning("%s: cut %s of unfinished records", path, n_cut)
        os.ftruncate(fd, n_whole)
    if n_whole == 0:
        path.unlink(missing_ok=True)
        return
    os.fdatasync(fd)
    with suppress(FileNotFoundError):
        path.rename(path.with_suffix(""))
