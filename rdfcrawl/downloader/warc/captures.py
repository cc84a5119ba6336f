"""Read captures from a part of a web archive: responses of servers, with bodies.

Sources: The WARC Format 1.1 (IIPC), clauses 5 and 6; RFC 9110 for responses.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

from rdfcrawl.core.errors import (
    Fault,
    FaultLog,
    Reason,
    SourceFault,
    needed_by_document,
    needed_by_operator,
)
from rdfcrawl.core.messages import counted
from rdfcrawl.downloader.warc.archive_files import COPY_KEPT
from rdfcrawl.downloader.warc.part import (
    READ_BYTES,
    BadMember,
    FilePart,
    PackedRecords,
    PartEnds,
    RecordBody,
)
from rdfcrawl.uri import BadUri, requestable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rdfcrawl.downloader.warc.records import ArchiveRecords, BoundedHeads


HEAD_BYTES: Final = 4096
_OTHERS: Final = frozenset(
    {*("warcinfo", "request", "metadata", "revisit", "conversion", "continuation")}
)
_REDIRECTION: Final = 300  # and above: RFC 9110 15.4
GONE: Final = frozenset({404, 410})
_SCHEMES: Final = "http://", "https://", "ftp://", "ftps://"


@dataclass(frozen=True, slots=True, kw_only=True)
class WarcCapture:
    """A server's response for one URI, from an archive.

    Attributes:
        url: requested URL, without fragment.
        at_ms: when the response was captured, Unix time in ms.
        status: of the response; 3xx, 404 and 410 have no body here.
        content_type: of the body, as declared; empty if undeclared.
        headers: of the response, in order; unmodified values.
        body: decoded; or the file that contains it.
        n_bytes: length of the body.
        is_cut: the archive contains only its beginning.
        fault: error that ended the body.
    """

    url: str
    at_ms: int
    status: int = 200
    content_type: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | Path = b""
    n_bytes: int = 0
    is_cut: bool = False
    fault: Fault | None = None


class CaptureLimits(NamedTuple):
    """Limits on the bodies of captures.

    Attributes:
        body_bytes: returns the longest length of a body, by its URL.
        memory_bytes: longer bodies are written to a file.
        max_ratio: decoded : encoded.
    """

    body_bytes: Callable[[str], int]
    memory_bytes: int
    max_ratio: float


@dataclass(slots=True, kw_only=True, eq=False)
class CaptureReader:
    """Reads the captures in a part of a WARC file.

    Attributes:
        part: to be read.
        log: receives errors of the file and its records.
        limits: on bodies.
        until_ms: later captures are invalid, Unix time in ms.
        is_wanted: decides by the capture, which has no body yet, and the first bytes of
            the body whether the body is read. With a status of 3xx, it decides whether
            the redirect is wanted.
        seeks: the part may begin within a record.
        end: of the part; a record that begins there belongs to the next one.
        new_file: returns the path of a file for a long body, deleted by the consumer of
            the capture.
        next_offset: start of the next record that was not read to its end.
        is_done: the file has been read to its end.
        is_lost: `next_offset` may lie within a record.
        counts: records by outcome: `captured`, `gone`, `redirected`, or why they were
            skipped.
    """

    part: FilePart
    log: FaultLog
    limits: CaptureLimits
    until_ms: int
    is_wanted: Callable[[WarcCapture, bytes], bool]
    new_file: Callable[[], Path]
    seeks: bool = False
    end: int = sys.maxsize
    next_offset: int = field(init=False)
    is_done: bool = field(init=False, default=False)
    is_lost: bool = field(init=False, default=False)
    counts: Counter[str] = field(init=False, default_factory=Counter)
    _member: PackedRecords | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.next_offset = self.part.tell()

    def __iter__(self) -> Iterator[WarcCapture]:
        """Yield the captures, one after another; damaged records are skipped.

        Raises:
            SourceFault: `NOT_INSTALLED`.
            OSError: the file cannot be read, or a body not be written.
        """
        try:
            if self.seeks:
                self._seek()
            while not self.is_done and self.next_offset < self.end:
                yield from self._captures()
        except PartEnds:
            return

    def _seek(self) -> None:
        """Go to the next record.

        Raises:
            PartEnds: none begins in the part.
        """
        self.is_lost = True
        try:
            self.part.seek_record()
            self.is_lost = False
        finally:
            self.next_offset = self.part.tell()

    def _captures(self) -> Iterator[WarcCapture]:
        """Yield the captures of a packed member, or of a file without compression."""
        if self.part.begins_zip():
            self._seek()
            self.is_done = not self._has_more()
            return
        is_packed = self.part.begins_packed()
        ratio = self.limits.max_ratio
        member = PackedRecords(self.part, max_ratio=ratio) if is_packed else None
        self._member = member
        try:
            yield from self._records(member or self.part, is_packed=is_packed)
        except _bad_archives() as error:
            self.log.note(
                Reason.BAD_ARCHIVE, f"at {self.next_offset}: {str(error)[:100]}"
            )
            if member is not None:
                member.abandon()
            self._seek()
        else:
            if not is_packed and self.next_offset >= self.end:
                return  # already read beyond
        self.next_offset = self.part.tell()
        self.is_done = not self._has_more()

    def _has_more(self) -> bool:
        content = self.part.read()
        self.part.push_back(content)
        return bool(content)

    def _records(
        self, stream: FilePart | PackedRecords, *, is_packed: bool
    ) -> Iterator[WarcCapture]:
        with needed_by_document("warc"):
            from rdfcrawl.downloader.warc.records import (  # noqa: PLC0415
                ArchiveRecords,
                BoundedHeads,
            )
        bounded = BoundedHeads(stream)
        records = ArchiveRecords(bounded)
        try:
            yield from self._of_records(records, bounded, is_packed=is_packed)
        except _bad_archives():
            if not is_packed:  # the next record may have been read ahead
                ahead = records.reader.read(records.reader.rem_length())
                self.part.push_back(ahead + bounded.rest())
            raise

    def _of_records(
        self, records: ArchiveRecords, bounded: BoundedHeads, *, is_packed: bool
    ) -> Iterator[WarcCapture]:
        while (record := next(records, None)) is not None:
            bounded.end_head()
            if record.length is None:
                self._skip_endless(records, is_packed=is_packed)
                return
            capture = self._capture(record)
            # Validates the complete record.
            records.read_to_end()
            if records.err_count:
                detail = "records without a final empty line"
                self.log.note(Reason.REPAIRED, detail, records.err_count)
                records.err_count = 0
            if getattr(record.raw_stream, "limit", 0) > 0:
                self.log.note(Reason.BAD_ARCHIVE, "the file ends within a record")
                capture = capture and replace(capture, is_cut=True)
            if capture is not None:
                yield capture
            if not is_packed:
                self.next_offset = records.offset
                if self.next_offset >= self.end:
                    return
            bounded.begin_head()

    def _skip_endless(self, records: Any, *, is_packed: bool) -> None:
        """Skip a record without a known end.

        Raises:
            BadMember: the next record must be searched for.
        """
        self.counts["malformed"] += 1
        detail = "a record without Content-Length"
        if not is_packed:
            raise BadMember(detail)
        self.log.note(Reason.BAD_ARCHIVE, f"at {self.next_offset}: {detail}")
        while records.reader.read(READ_BYTES):
            pass

    def _capture(self, record: Any) -> WarcCapture | None:
        """Return the capture of a record; None if skipped."""
        head = _head_of(record, self.until_ms)
        if isinstance(head, str):
            self.counts[head] += 1
            if head == "malformed":
                where = f"near {self.next_offset}"
                self.log.note(
                    Reason.BAD_ARCHIVE, f"{where}: no URI, or no possible date"
                )
            return None
        if head.status >= _REDIRECTION:
            is_wanted, is_gone = self.is_wanted(head, b""), head.status in GONE
            taken, passed = (
                ("gone", "unwanted") if is_gone else ("redirected", "status")
            )
            self.counts[taken if is_wanted else passed] += 1
            return head if is_wanted else None
        try:
            body = RecordBody(record, max_ratio=self.limits.max_ratio)
            begin = body.begin(HEAD_BYTES)
            if not self.is_wanted(head, begin):
                self.counts["unwanted"] += 1
                return None
            capture = self._with_body(head, begin, body)
        except SourceFault as error:
            self.log.note(error.fault.reason, f"{head.url}: {error.fault.detail}")
            self.counts[error.fault.reason.value] += 1
            return None
        self.counts["captured"] += 1
        return replace(capture, fault=body.fault)

    def _with_body(
        self, head: WarcCapture, begin: bytes, body: RecordBody
    ) -> WarcCapture:
        """Return a capture with its body, in memory or in a file.

        Raises:
            SourceFault: `TOO_LARGE`.
        """
        pieces, n_bytes = [begin], len(begin)
        while n_bytes <= self.limits.memory_bytes:
            piece = body.read(READ_BYTES)
            if not piece:
                return replace(head, body=b"".join(pieces), n_bytes=n_bytes)
            pieces.append(piece)
            n_bytes += len(piece)
        path, most = self.new_file(), self.limits.body_bytes(head.url)
        if self._member is not None:
            self._member.allow(most)
        try:
            with path.open("xb") as file:
                n_bytes = _copy(pieces, body, file, most)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return replace(head, body=path, n_bytes=n_bytes)


def _copy(
    pieces: list[bytes], body: RecordBody, file: BinaryIO, most_bytes: int
) -> int:
    """Write a body to a file, and return its length.

    Raises:
        SourceFault: `TOO_LARGE`.
    """
    n_bytes = sum(map(len, pieces))
    file.writelines(pieces)
    while piece := body.read(READ_BYTES):
        n_bytes += len(piece)
        if n_bytes > most_bytes:
            raise SourceFault(Reason.TOO_LARGE, f"over {counted(most_bytes, 'byte')}")
        file.write(piece)
    return n_bytes


def check_library() -> None:
    """Raise `ConfigError` if the library for web archives is not installed."""
    with needed_by_operator("warc", "the spider warc"):
        import warcio  # noqa: F401, PLC0415


def _bad_archives() -> tuple[type[Exception], ...]:
    from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415

    return BadMember, ArchiveLoadFailed, EOFError, ValueError


def _head_of(record: Any, until_ms: int) -> WarcCapture | str:
    """Return the capture of a record; else why it is skipped.

    A successful response is a document (`response`, or `resource` for other schemes), a
    missing one is gone, and a redirect leads to another; a `revisit` has no body of its
    own, which a missing document does not need.
    """
    warc, http = record.rec_headers, record.http_headers
    code = (http.get_statuscode() or "") if http is not None else "200"
    status = int(code) if code.isascii() and code.isdigit() else 0
    is_gone = record.rec_type == "revisit" and status in GONE
    if record.rec_type not in ("response", "resource") and not is_gone:
        kind = "warcinfo" if record.rec_type == "arc_header" else record.rec_type
        return kind if kind in _OTHERS else "unknown"
    # The crawl that wrote the archive may not have considered the document gone yet.
    is_kept = warc.get_header(COPY_KEPT[0]) == COPY_KEPT[1]
    if not 200 <= status < 400 and (is_kept or status not in GONE):
        return "status"
    uri = warc.get_header("WARC-Target-URI") or warc.get_header("uri") or ""
    uri = uri.strip("<>")
    if uri and not uri.lower().startswith(_SCHEMES):
        return "unwanted"  # DNS names, screenshots, text of pages
    try:
        url = requestable(uri)
        at = _date_of(warc.get_header("WARC-Date"), warc.get_header("archive-date"))
        at_ms = int(at.replace(tzinfo=at.tzinfo or UTC).timestamp() * 1000)
    except (BadUri, ValueError, OverflowError):
        return "malformed"
    if not 0 < at_ms <= until_ms:  # it would remain the latest version for ever
        return "malformed"
    declared = http.get_header("Content-Type") if http else record.content_type
    return WarcCapture(
        url=url,
        at_ms=at_ms,
        status=status,
        content_type=declared or "",
        headers=tuple((str(n), str(v)) for n, v in http.headers) if http else (),
        is_cut=bool(warc.get_header("WARC-Truncated")),
    )


def _date_of(of_warc: str | None, of_arc: str | None) -> datetime:
    """Return the time of a record.

    Raises:
        ValueError: there is none.
    """
    if of_warc or not of_arc:
        return datetime.fromisoformat(of_warc or "")
    return datetime.strptime(of_arc[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
