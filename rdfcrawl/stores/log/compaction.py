"""Drop replaced versions of documents from the finished segments of a log.

A segment is rewritten under the name of its next revision, which replaces it by a
rename; the old file is deleted when no reader is left. A reader does not know the new
name, so it reads the new segment from the beginning: versions may repeat, none is
missed. A crash at any point leaves a draft that no reader opens, or a superseded file.

* A dropped version has a later version in another finished segment of the same log, or
  is a copy. Segments that are still being written are not considered.
* The latest version of a document stays, even if it is a tombstone: an earlier version
  may be in the log of another machine, or in a follower that is behind.
* A line with time and digest replaces each dropped version.
* Damaged segments and the provenance are not changed.

Next to a crawl, `BackgroundCompaction` runs this module as a process, and writes one
line of JSON to its standard input. The process ends when its standard input does.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn, Self

from rdfcrawl.core.errors import ConfigError, RdfcrawlError, StoreFault, passing_fault
from rdfcrawl.core.json_logs import json_lines, log_to
from rdfcrawl.core.processes import finish, start_module
from rdfcrawl.stores.crawl_folder import read_identity
from rdfcrawl.stores.log.crawl_log import CrawlLog, LatestVersions, find_latest
from rdfcrawl.stores.log.documents import DroppedVersion, LogDocument, iter_documents
from rdfcrawl.stores.nquads import document_mark
from rdfcrawl.stores.reading import COMPACTION, READERS, locked_alone, reading
from rdfcrawl.stores.segment_file import (
    SEAL,
    GzipMember,
    TornMember,
    is_sealed,
    iter_members,
    list_superseded,
    next_revision,
    pack_member,
)

logger = logging.getLogger(__name__)

_DRAFT: Final = ".draft"
_COPIED_BYTES: Final = 1024 * 1024  # per read
_DROPPED_BYTES: Final = 1024 * 1024  # of lines in one member
_WAIT_SECS: Final = 0.1
_MODULE: Final = "rdfcrawl.stores.log.compaction"
_LEAST_SHARE: Final = 0.5  # of a segment, so that each byte is rarely copied
_GROWTH: Final = 1.25  # of the log since the last compaction
_PATIENCE_SECS: Final = 10.0  # at the end of the crawl


@dataclass(slots=True)
class CompactionReport:
    """Result of a compaction.

    Attributes:
        n_segments: finished segments that were examined.
        n_written: rewritten segments.
        n_dropped: versions.
        n_bytes_before: of the rewritten files.
        n_bytes_after: of those that replace them.
        n_read: old files that could not be removed yet because of a reader.
    """

    n_segments: int = 0
    n_written: int = 0
    n_dropped: int = 0
    n_bytes_before: int = 0
    n_bytes_after: int = 0
    n_read: int = 0


def compact(
    log: CrawlLog,
    *,
    least_share: float = 0.0,
    patience_secs: float = 10.0,
    scratch: Path | None = None,
) -> CompactionReport:
    """Drop replaced versions from the finished segments of a log.

    Args:
        log: others may read and write it at the same time.
        least_share: rewrite a segment only if at least this share of its bytes can be
            dropped. 0: if anything can be dropped.
        patience_secs: longest wait for readers; the next compaction removes the files
            that they still read.
        scratch: folder of scratch files; by default that of the system.

    Raises:
        ConfigError: another compaction is running.
        StoreFault: the disk is full or cannot be read.
    """
    with _disk_fault():
        directory_fd = os.open(log.root / "quads", os.O_RDONLY)
        try:
            with locked_alone(directory_fd, COMPACTION) as is_alone:
                if not is_alone:
                    raise ConfigError(f"{log.root}: another compaction is running")
                compaction = _Compaction(log, directory_fd)
                return compaction.run(least_share, patience_secs, scratch)
        finally:
            os.close(directory_fd)


class _Compaction:
    """One compaction; files are relative to `directory_fd`: the folder may move."""

    def __init__(self, log: CrawlLog, directory_fd: int) -> None:
        self._log, self._directory_fd = log, directory_fd
        self._report = CompactionReport()

    def run(
        self, least_share: float, patience_secs: float, scratch: Path | None
    ) -> CompactionReport:
        self._remove_drafts()
        self._remove_superseded(0)
        with reading(self._log.root / "quads"):
            segments = [path for path in self._log.segments() if _is_finished(path)]
            self._report.n_segments = len(segments)
            latest = find_latest(self._log, segments, scratch=scratch)
            damaged = {damage.segment for damage in self._log.damages}
            for path in _wanted(segments, latest, least_share):
                if f"quads/{path.name}" not in damaged:
                    self._replace(path, latest)
        self._remove_superseded(patience_secs)
        return self._report

    def _replace(self, path: Path, latest: LatestVersions) -> None:
        name = next_revision(path.name)
        # A unique name: without shared locks, another process may write one, too.
        draft = f".{name}.{secrets.token_hex(6)}{_DRAFT}"
        try:
            n_bytes = self._write(path, draft, latest)
            os.rename(
                draft,
                name,
                src_dir_fd=self._directory_fd,
                dst_dir_fd=self._directory_fd,
            )
        except BaseException:
            with suppress(OSError):
                os.unlink(draft, dir_fd=self._directory_fd)
            raise
        os.fsync(self._directory_fd)
        report = self._report
        report.n_written += 1
        report.n_dropped += latest.n_versions[path.name] - latest.n_kept[path.name]
        report.n_bytes_before += path.stat().st_size
        report.n_bytes_after += n_bytes

    def _write(self, path: Path, draft: str, latest: LatestVersions) -> int:
        """Write the kept content of a segment to a file; return its length."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        fd = os.open(draft, flags, 0o644, dir_fd=self._directory_fd)
        try:
            with open(fd, "wb", closefd=False) as file:
                file.writelines(_iter_kept(path, latest))
                file.write(SEAL)
                n_bytes = file.tell()
            os.fsync(fd)
        finally:
            os.close(fd)
        return n_bytes

    def _remove_drafts(self) -> None:
        for path in (self._log.root / "quads").glob(f".*{_DRAFT}"):
            with suppress(FileNotFoundError):
                os.unlink(path.name, dir_fd=self._directory_fd)

    def _remove_superseded(self, patience_secs: float) -> None:
        """Remove superseded segments when no reader is left."""
        paths = list_superseded(self._log.root / "quads")
        deadline = time.monotonic() + patience_secs
        while paths:
            with locked_alone(self._directory_fd, READERS) as is_unread:
                if is_unread:
                    for path in paths:
                        with suppress(FileNotFoundError):
                            os.unlink(path.name, dir_fd=self._directory_fd)
                    break
            if time.monotonic() >= deadline:
                self._report.n_read = len(paths)
                return
            time.sleep(_WAIT_SECS)
        self._report.n_read = 0


def _is_finished(path: Path) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:  # it was empty
        return False
    try:
        return is_sealed(fd, os.fstat(fd).st_size)
    finally:
        os.close(fd)


def _wanted(
    segments: Sequence[Path], latest: LatestVersions, least_share: float
) -> Iterator[Path]:
    """Yield the segments with enough bytes to drop."""
    for path in segments:
        name = path.name
        n_bytes, n_kept_bytes = latest.n_bytes[name], latest.n_kept_bytes[name]
        has_enough = n_bytes - n_kept_bytes >= least_share * n_bytes
        if latest.n_versions[name] > latest.n_kept[name] and has_enough:
            yield path


def _iter_kept(path: Path, latest: LatestVersions) -> Iterator[bytes]:
    """Yield the members of a segment without the replaced versions."""
    fd = os.open(path, os.O_RDONLY)
    try:
        copy = _SegmentCopy(path, fd, latest)
        for member in iter_members(fd, os.fstat(fd).st_size):
            if member.n_bytes != len(SEAL):
                yield from copy.of_member(member)
        copy.check_end()
        yield from copy.dropped_lines()
    except TornMember as error:
        raise StoreFault(f"{path}: damaged while it was read") from error
    finally:
        os.close(fd)


class _SegmentCopy:
    """The copy of a segment, member by member."""

    def __init__(self, path: Path, fd: int, latest: LatestVersions) -> None:
        self._path, self._fd, self._latest = path, fd, latest
        self._number = 0  # of the next version
        self._dropped: list[bytes] = []
        self._n_dropped_bytes = 0

    def of_member(self, member: GzipMember) -> Iterator[bytes]:
        """Yield the bytes that replace a member."""
        first = self._number
        kept = []
        for each in iter_documents(self._path, self._fd, member):
            if isinstance(each, LogDocument):
                if self._latest.has(self._path.name, self._number):
                    kept.append(each)
                else:
                    self._drop(each)
                self._number += 1
        if len(kept) == self._number - first:
            yield from _iter_copied(self._fd, member)
        elif kept:
            yield _packed(kept)
        if self._n_dropped_bytes >= _DROPPED_BYTES:
            yield from self.dropped_lines()

    def check_end(self) -> None:
        """Raise `TornMember` if fewer versions were read than `find_latest` found."""
        if self._number != self._latest.n_versions[self._path.name]:
            raise TornMember(self._path)

    def _drop(self, document: LogDocument) -> None:
        line = DroppedVersion(
            document.graph, document.version_ms, document.digest, document.n_bytes
        ).line
        self._dropped.append(line)
        self._n_dropped_bytes += len(line)

    def dropped_lines(self) -> Iterator[bytes]:
        """Yield a member with the lines of versions dropped since the last call."""
        if self._dropped:
            yield pack_member(b"".join(self._dropped))
        self._dropped.clear()
        self._n_dropped_bytes = 0


def _iter_copied(fd: int, member: GzipMember) -> Iterator[bytes]:
    offset, end = member.offset, member.offset + member.n_bytes
    while offset < end:
        piece = os.pread(fd, min(_COPIED_BYTES, end - offset), offset)
        if not piece:
            raise TornMember(member)
        yield piece
        offset += len(piece)


def _packed(documents: Sequence[LogDocument]) -> bytes:
    """Return documents as one member; documents that share a member are small."""
    lines = []
    for document in documents:
        lines.append(document_mark(document.graph, document.version_ms))
        lines += document.pieces()
    return pack_member(b"".join(lines))


@contextmanager
def _disk_fault() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise passing_fault(error) or StoreFault(f"compaction: {error}") from error


class BackgroundCompaction:
    """The process that compacts the log of a crawl, if `COMPACTION_SECS` is set."""

    def __init__(self, process: subprocess.Popen[bytes] | None) -> None:
        self._process = process

    @classmethod
    def begin(cls, root: Path, secs: float) -> Self:
        """Return the process, started; it compacts every so many seconds."""
        if not secs:
            return cls(None)
        log_file = root / "logs" / "compaction.log"
        log_file.parent.mkdir(parents=True, exist_ok=True)
        with log_file.open("ab") as file:
            job = {"root": str(root), "secs": secs, "is_json": bool(json_lines())}
            return cls(start_module(_MODULE, job=job, stdout=file, stderr=file))

    def finish(self) -> None:
        """End the process; terminate a compaction that takes too long."""
        if self._process is not None:
            finish(self._process, patience_secs=_PATIENCE_SECS)


def main() -> None:
    """Compact the log each time it has grown, until standard input ends."""
    given = json.loads(sys.stdin.buffer.readline())
    root, secs = Path(given["root"]), given["secs"]
    log_to(None, is_json=given["is_json"])
    signal.signal(signal.SIGTERM, _leave)
    n_last = 0
    while not select.select([sys.stdin], [], [], secs)[0]:
        n_bytes = _n_bytes(root / "quads")
        if n_bytes < n_last * _GROWTH:
            continue
        try:
            if read_identity(root / "quads") is None:  # nothing is stored yet
                continue
            report = compact(CrawlLog(root), least_share=_LEAST_SHARE, scratch=root)
        except (RdfcrawlError, OSError) as error:
            logger.warning("%s", error)
            continue
        n_last = n_bytes - report.n_bytes_before + report.n_bytes_after
        logger.info("%s", report)


def _n_bytes(folder: Path) -> int:
    """Return the length of all segments in a folder."""
    n_bytes = 0
    for path in folder.glob("*.nq.gz"):
        with suppress(FileNotFoundError):  # it was empty
            n_bytes += path.stat().st_size
    return n_bytes


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    """Exit by an exception, so that `compact` removes its draft."""
    sys.exit(1)


if __name__ == "__main__":
    main()
