"""Segments: gzip files to which documents are appended atomically.

`<directory>/<worker>-<n>.nq.gz` holds members (see `segment_file`), each of one or more
complete documents, so `gunzip` reads a segment and `nquads.recover` repairs it without
inflating it. Small documents are written together as one member. A document whose
deflated form is longer than `spill_bytes` streams into a separate segment. Logs whose
lines are not N-Quads are segments with the extension `.txt.gz`, or `.jsonl.gz` if each
line is JSON.

A segment is locked (`flock`) by its writer; the lock ends with the process.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import NO_FILES, PASSING, ConfigError, StoreFault
from rdfcrawl.core.options.table import OptionsTable, integer
from rdfcrawl.stores.segment_file import (
    HEADER_BYTES,
    PREFIX,
    SEGMENT_NAME,
    MemberPacker,
    SegmentFile,
    encode_length,
    list_segments,
    pack_member,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rdfcrawl.core.content import DeflatePiece

_WORKER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_GATHER_BYTES = 256 * 1024  # longest document that shares a member with others


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentLimits(OptionsTable):
    """Sizes of the segments of one writer."""

    rotate_bytes: int = integer("SEGMENT_MAX_BYTES", 256 * 1024 * 1024, 1024)
    """size at which a file of quads is finished and the next begins; see
    [stores](stores.md)"""
    # documents gathered into one member, before compression
    member_bytes: int = 1024 * 1024
    spill_bytes: int = 1024 * 1024  # deflated part of one open document in memory
    level: int = 1  # of compression, 0 (fastest) to 3 (smallest)


@dataclass(slots=True, eq=False)
class OpenDocument:
    """A document between `begin` and `end`, which only its writer may use."""

    gathered: list[bytes] = field(default_factory=list)
    n_gathered: int = 0
    packer: MemberPacker | None = None
    packed: list[bytes] = field(default_factory=list)
    file: SegmentFile | None = None

    def forget(self) -> None:
        """Release all data."""
        self.gathered, self.n_gathered = [], 0
        self.packer, self.packed, self.file = None, [], None


class QuadSegments:
    """Writer of documents to the segments of one worker.

    Not thread-safe: one event loop. A document is in the segments when a `flush` that
    began after its `end` has returned. Other documents are not, not even in part.

    Args:
        directory: created if missing.
        worker: letters, digits, `.`, `_` and `-`; at most 100 characters.
        form: extension of the files before `.gz`: `nq`, `txt` or `jsonl`.

    Raises:
        ConfigError: `worker` cannot be part of a file name.
    """

    def __init__(
        self,
        directory: Path,
        worker: str,
        limits: SegmentLimits | None = None,
        *,
        form: str = "nq",
    ) -> None:
        if not _WORKER_NAME.fullmatch(worker):
            raise ConfigError(
                f"worker name {worker!r}: must match {_WORKER_NAME.pattern}"
            )
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._worker, self._form = worker, form
        self._limits = limits or SegmentLimits()
        self._number = self._first_number()
        self._pending: list[bytes] = []
        self._n_pending = 0
        self._current: SegmentFile | None = None
        self._finished: list[SegmentFile] = []
        self._spilled: set[SegmentFile] = set()
        self._sync_lock = asyncio.Lock()
        self._syncing: set[asyncio.Future[None]] = set()
        self._sync_error: OSError | None = None

    def _first_number(self) -> int:
        taken = list_segments(self._directory, worker=self._worker)
        if not taken:
            return 0
        match = SEGMENT_NAME.fullmatch(taken[-1].name)
        return int(match["number"]) + 1 if match else 0

    def write_document(self, quads: bytes) -> None:
        """Write a small document; cheaper than `begin`, `write` and `end`.

        Args:
            quads: N-Quads with a final line end; any size, but compressed in one go.

        Raises:
            StoreFault: the disk refused documents gathered before; this one was not
                written either.
        """
        n_pending = self._n_pending + len(quads)
        if n_pending > self._limits.member_bytes:
            self._write_pending()
            n_pending = len(quads)
        self._pending.append(quads)
        self._n_pending = n_pending

    def begin(self, head: bytes = b"") -> OpenDocument:
        """Open a document that begins with `head`; several may be open at once."""
        return OpenDocument([head], len(head))

    def write(self, document: OpenDocument, chunk: bytes) -> None:
        """Append N-Quads to an open document.

        Raises:
            StoreFault: the disk refused them; `abandon` the document.
        """
        if document.packer is not None:
            self._write_packed(document, document.packer, document.packer.pack(chunk))
            return
        document.gathered.append(chunk)
        document.n_gathered += len(chunk)
        if document.n_gathered > _GATHER_BYTES:
            self._pack_gathered(document)

    def _pack_gathered(self, document: OpenDocument) -> MemberPacker:
        packer = document.packer = MemberPacker(self._limits.level)
        gathered = b"".join(document.gathered)
        document.gathered.clear()
        self._write_packed(document, packer, packer.pack(gathered))
        return packer

    def write_piece(self, document: OpenDocument, piece: DeflatePiece) -> None:
        """Append N-Quads that are packed.

        Raises:
            StoreFault: the disk refused them; `abandon` the document.
        """
        packer = document.packer or self._pack_gathered(document)
        self._write_packed(document, packer, packer.take(piece))

    def _write_packed(
        self, document: OpenDocument, packer: MemberPacker, packed: bytes
    ) -> None:
        if document.file is None:
            document.packed.append(packed)
            if packer.n_packed > self._limits.spill_bytes:
                self._spill(document)
        else:
            with _store_fault():
                document.file.append(packed)

    def _spill(self, document: OpenDocument) -> None:
        """Move `document` to a separate segment, with length 0 until its end."""
        document.file = self._create_file()
        self._spilled.add(document.file)
        with _store_fault():
            document.file.append(PREFIX, bytes(8), *document.packed)
        document.packed.clear()

    def end(self, document: OpenDocument) -> None:
        """Close a document: the next `flush` covers it.

        Raises:
            StoreFault: the disk refused it; `abandon` the document.
        """
        if document.packer is None:
            self.write_document(b"".join(document.gathered))
        elif document.file is None:
            self._end_packed(document.packed, document.packer)
        else:
            with _store_fault():
                document.file.append(document.packer.finish())
                document.file.patch_length()
            self._spilled.remove(document.file)
            self._finished.append(document.file)
        document.forget()

    def _end_packed(self, packed: list[bytes], packer: MemberPacker) -> None:
        # Gathered documents ended earlier, so they come first in the file.
        self._write_pending()
        packed.append(packer.finish())
        file = self._file()
        length = HEADER_BYTES + packer.n_packed
        header = PREFIX + encode_length(length, is_synced=file.is_synced)
        with _store_fault():
            file.append(header, *packed)
        self._rotate()

    def abandon(self, document: OpenDocument) -> None:
        """Discard an open document; no effect after `end`."""
        if document.file is not None:
            self._spilled.remove(document.file)
            document.file.remove()
        document.forget()

    async def flush(self, *, sync: bool = True) -> None:
        """Write every ended document to its file.

        Args:
            sync: make the files durable (`fdatasync`, in a thread). Without it,
                documents survive the death of the process but not of the machine.

        Raises:
            StoreFault: the disk refused data. After a failed write, flush again.
                After a failed `fdatasync` every later call fails too, since the
                kernel may have dropped pages that it could not write.
        """
        self._check_disk()
        self._write_pending()
        if sync or self._finished:
            # Not cancelled with the caller: later calls depend on its outcome.
            syncing = asyncio.ensure_future(self._sync_files(sync=sync))
            self._syncing.add(syncing)
            syncing.add_done_callback(self._syncing.discard)
            await asyncio.shield(syncing)

    async def _sync_files(self, *, sync: bool) -> None:
        async with self._sync_lock:
            self._check_disk()
            current = self._current
            if sync and current is not None:
                if current.is_synced:
                    with _store_fault():
                        current.check_path()
                else:
                    current.n_synced = await self._sync(current.sync)
            for file in self._finished.copy():
                await self._sync(file.finish)
                self._finished.remove(file)

    async def _sync(self, sync: Callable[[], int]) -> int:
        with _store_fault(is_final=True):
            try:
                return await asyncio.to_thread(sync)
            except OSError as error:
                self._sync_error = error
                raise

    def _check_disk(self) -> None:
        if self._sync_error is not None:
            with _store_fault(is_final=True):
                raise self._sync_error

    async def close(self) -> None:
        """Flush to disk, finish all segments and discard open documents.

        Raises:
            StoreFault: as `flush`; the segments are closed anyway.
        """
        try:
            self._write_pending()
            if self._current is not None:
                self._finished.append(self._current)
                self._current = None
            await self.flush()
        finally:
            async with self._sync_lock:  # wait for a running sync
                self._close_files()

    def _close_files(self) -> None:
        for file in self._spilled:
            file.remove()
        for file in self._finished:
            file.close()
        if self._current is not None:
            self._current.close()
            self._current = None
        self._spilled.clear()
        self._finished.clear()

    def _write_pending(self) -> None:
        if not self._pending:
            return
        self._check_disk()
        file = self._file()
        member = pack_member(
            b"".join(self._pending), level=self._limits.level, is_synced=file.is_synced
        )
        with _store_fault():
            file.append(member)
        self._pending.clear()
        self._n_pending = 0
        self._rotate()

    def _file(self) -> SegmentFile:
        if self._current is None:
            self._current = self._create_file()
        return self._current

    def _create_file(self) -> SegmentFile:
        while True:
            name = f"{self._worker}-{self._number:05}.{self._form}.gz"
            self._number += 1
            with _store_fault():
                file = SegmentFile.create(self._directory / name)
            if file is not None:
                return file

    def _rotate(self) -> None:
        file = self._current
        if file is not None and file.n_bytes >= self._limits.rotate_bytes:
            self._finished.append(file)
            self._current = None


@contextmanager
def _store_fault(*, is_final: bool = False) -> Iterator[None]:
    """Turn errors of the disk into a `StoreFault`."""
    try:
        yield
    except OSError as error:
        may_pass = not is_final and error.errno in (*PASSING, *NO_FILES)
        what = f"{error.filename or 'segments'}: {error.strerror or error}"
        raise StoreFault(what, may_pass=may_pass) from error
