"""The default store: gzip-compressed N-Quads in segments.

Each document begins with its mark, a comment line. Readers of N-Quads skip it;
`reading` uses it to separate documents and their versions:

    #<TAB>document <http://example.org/me> 1790000000000

`recover` repairs segments after a crash: torn ends are cut off.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Self

from rdfcrawl.core.content import QuadChunk, check_statements
from rdfcrawl.core.errors import StoreFault
from rdfcrawl.stores.crawl_folder import ensure_identity, note_worker
from rdfcrawl.stores.files import open_locked
from rdfcrawl.stores.segment_file import (
    HEADER_BYTES,
    PREFIX,
    SEAL,
    GzipMember,
    find_member,
    is_sealed,
    is_whole,
    iter_members,
    list_segments,
)
from rdfcrawl.stores.segments import OpenDocument, QuadSegments, SegmentLimits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy.crawler import Crawler


logger = logging.getLogger(__name__)

DECISION_IRI: Final = "urn:rdfcrawl:decision:"
OPERATOR: Final = "urn:rdfcrawl:operator"
"""Parent of seeds in the log of decisions."""

_NOT_IN_MARK = re.compile(r"[\x00-\x20<>\ud800-\udfff]")


@lru_cache(maxsize=256)  # shared by the logs of statements and of links
def document_mark(graph: str, version_ms: int) -> bytes:
    r"""Return the line that begins a document.

    Raises:
        ValueError: `graph` is not an IRI.

    >>> document_mark("http://example.org/me", 1790000000000)
    b'#\tdocument <http://example.org/me> 1790000000000\n'
    """
    if _NOT_IN_MARK.search(graph):
        raise ValueError(f"not an IRI: {graph!r}")
    return f"#\tdocument <{graph}> {version_ms:d}\n".encode()


class NQuadsDocument:
    """Writer of one document into the segments; see `protocol.DocumentWriter`."""

    def __init__(self, segments: QuadSegments, document: OpenDocument) -> None:
        self._segments = segments
        self._document = document

    async def write(self, chunk: QuadChunk) -> None:
        """Write the next statements.

        Raises:
            StoreFault: the disk is full or broken; `abandon` the document.
            ValueError: the last line has no line end, or a line begins like a mark.
        """
        if chunk.packed is not None:
            self._segments.write_piece(self._document, chunk.packed)
            return
        check_statements(chunk.lines)
        self._segments.write(self._document, chunk.lines)

    async def end(self) -> None:
        """Commit the document to the segments; the next `flush` covers it."""
        self._segments.end(self._document)

    async def abandon(self) -> None:
        """Discard the document, unless ended."""
        self._segments.abandon(self._document)


class NQuadsStore:
    """Store of documents as N-Quads in gzip files; see `protocol.Store`.

    Args:
        directory: of the segments; workers may share it.
        worker: unique among the workers that write to `directory`.
        run: returns the number of the crawl's current run.
    """

    def __init__(
        self,
        directory: Path,
        worker: str,
        limits: SegmentLimits | None = None,
        *,
        run: Callable[[], int] | None = None,
    ) -> None:
        self._directory = directory
        self._worker = worker
        self._limits = limits
        self._run = run
        self._segments: QuadSegments | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler, _uri: str) -> Self:
        """Return the store of a worker, in the folder of its crawl."""
        spider: Any = crawler.spider
        crawl = spider.options.crawl
        return cls(
            crawl.paths.quads,
            crawl.worker,
            spider.options.crawl.stores.segments,
            run=lambda: int(spider.session.run),
        )

    async def open(self) -> None:
        """Repair the segments without a live writer, and begin new ones.

        Raises:
            ConfigError: `worker` cannot be part of a file name.
            StoreFault: the directory cannot be created, read or written.
        """
        try:
            await asyncio.to_thread(recover, self._directory)
            self._segments = QuadSegments(self._directory, self._worker, self._limits)
            await asyncio.to_thread(ensure_identity, self._directory)
            if self._run is not None:
                note_worker(self._directory, self._run(), self._worker)
        except OSError as error:
            raise StoreFault(f"{self._directory}: {error}") from error

    @property
    def _opened(self) -> QuadSegments:
        if self._segments is None:
            raise StoreFault("the N-Quads store is not open")
        return self._segments

    async def begin(self, graph: str, version_ms: int) -> NQuadsDocument:
        """Open a document; several may be open at once.

        Raises:
            ValueError: `graph` is not an IRI.
        """
        segments = self._opened
        head = document_mark(graph, version_ms)
        return NQuadsDocument(segments, segments.begin(head))

    async def flush(self) -> None:
        """Make all ended documents durable on disk.

        Raises:
            StoreFault: the disk is full or broken.
        """
        await self._opened.flush()

    async def close(self) -> None:
        """Flush to disk, seal the segments, discard open documents."""
        if self._segments is not None:
            segments, self._segments = self._segments, None
            await segments.close()


def recover(directory: Path) -> int:
    """Cut torn ends off all segments, and seal them; return the length of these ends.

    Segments of live processes, and files of other programs, are not changed.

    A sealed segment costs one read of 34 bytes. In any other, all headers are read, and
    members that were not known to be on disk when the last one was written are
    inflated: after power loss a file may hold zeros in the middle.

    Args:
        directory: nothing is done if it is missing.

    Raises:
        OSError: the disk cannot be read or written.
    """
    if not directory.is_dir():
        return 0
    return sum(_recover_segment(path) for path in list_segments(directory))


def _recover_segment(path: Path) -> int:
    # Another recovery may have removed it, or a live process writes to it.
    with open_locked(path) as fd:
        return 0 if fd is None else _recover_locked(path, fd)


def _recover_locked(path: Path, fd: int) -> int:
    n_bytes = os.fstat(fd).st_size
    if is_sealed(fd, n_bytes) or not _is_ours(fd):
        return 0
    n_whole = count_whole_bytes(fd, n_bytes)
    if n_whole < n_bytes:
        logger.warning(
            "segment %(path)s: cut %(n)d bytes of unfinished documents",
            {"path": path, "n": n_bytes - n_whole},
        )
        os.ftruncate(fd, n_whole)
    if n_whole == 0:
        path.unlink(missing_ok=True)
    else:
        os.fdatasync(fd)
        os.pwrite(fd, SEAL, n_whole)
    return n_bytes - n_whole


def _is_ours(fd: int) -> bool:
    """Return whether the file begins like a segment, up to its end or to zeros.

    Power loss leaves zeros in pages that were not written yet.
    """
    head = os.pread(fd, len(PREFIX), 0)
    return PREFIX.startswith(head.rstrip(b"\0"))


def count_whole_bytes(fd: int, n_file_bytes: int) -> int:
    """Return the length of the valid part of a segment that is not sealed.

    Damage before a member with the flag `is_synced` is not a torn end: it stays, with
    everything behind it.
    """
    n_whole = 0
    while True:
        end = _end_of_whole(fd, n_file_bytes, n_whole)
        synced = _find_synced(fd, n_file_bytes, end)
        if synced is None:
            return end
        n_whole = synced.offset


def _end_of_whole(fd: int, n_file_bytes: int, offset: int) -> int:
    """Return the end of the consecutive intact members from `offset` on."""
    doubtful: list[GzipMember] = []
    for member in iter_members(fd, n_file_bytes, offset):
        if member.is_synced:
            doubtful.clear()
        doubtful.append(member)
        offset = member.offset + member.n_bytes
    for member in doubtful:
        if not is_whole(fd, member):
            return member.offset
    return offset


def _find_synced(fd: int, n_file_bytes: int, offset: int) -> GzipMember | None:
    """Return the first member behind a torn one that has the flag `is_synced`."""
    header = os.pread(fd, HEADER_BYTES, offset)
    if header == PREFIX + bytes(8):  # a document still being written: nothing follows
        return None
    found = find_member(fd, n_file_bytes, offset + 1)
    while found is not None and not found.is_synced:
        found = find_member(fd, n_file_bytes, found.offset + found.n_bytes)
    return found
