"""The captures in a part of a WARC file: responses of servers, with their bodies.

Sources: The WARC Format 1.1 (IIPC), clauses 5 and 6; RFC 9110 for what is in a
response.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.extras import needed_by_document, needed_by_operator
from rdfcrawl.uri import BadUri, requestable
from rdfcrawl.warc.part import READ_BYTES, BadMember, FilePart, PackedRecords, PartEnds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import BinaryIO

    from rdfcrawl.faultlog import FaultLog

HEAD_BYTES: Final = 4096
_OTHERS: Final = frozenset(
    {
        *("warcinfo", "request", "metadata", "revisit", "conversion", "continuation"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WarcCapture:
    """What a server sent for one URI, as an archive has it.

    Attributes:
        url: that was requested, without fragment.
        at_ms: when the response was captured, Unix time in ms.
        content_type: of the body, as it was declared; empty if it was not.
        headers: of the response, in order; values as they are.
        body: decoded; or the file that has it.
        n_bytes: length of the body.
        is_cut: the archive has only its beginning.
    """

    url: str
    at_ms: int
    content_type: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | Path = b""
    n_bytes: int = 0
    is_cut: bool = False


class CaptureLimits(NamedTuple):
    """Limits on the bodies of captures, in bytes.

    Attributes:
        body_bytes: longest body that is read.
        memory_bytes: a longer one is written to a file.
    """

    body_bytes: int
    memory_bytes: int


@dataclass(slots=True, kw_only=True, eq=False)
class CaptureReader:
    """Reads the captures in a part of a WARC file.

    Attributes:
        part: that is read.
        log: takes what is wrong with the file and its records.
        limits: on bodies.
        until_ms: what was captured later cannot be, Unix time in ms.
        is_wanted: says by the capture and the first bytes of its body whether the body
            is read; the capture has no body then.
        seeks: the part may begin within a record.
        new_file: gives the path of a file for a long body; whoever takes the capture
            deletes it.
        next_offset: where the next record begins that was not read to its end.
        is_done: the file has been read to its end.
        is_lost: `next_offset` may lie within a record.
        counts: records by what became of them: `captured`, or why it was passed over.
    """

    part: FilePart
    log: FaultLog
    limits: CaptureLimits
    until_ms: int
    is_wanted: Callable[[WarcCapture, bytes], bool]
    new_file: Callable[[], Path]
    seeks: bool = False
    next_offset: int = field(init=False)
    is_done: bool = field(init=False, default=False)
    is_lost: bool = field(init=False, default=False)
    counts: Counter[str] = field(init=False, default_factory=Counter)

    def __post_init__(self) -> None:
        self.next_offset = self.part.tell()

    def __iter__(self) -> Iterator[WarcCapture]:
        """Yield the captures, one after another; damaged records are passed over.

        Raises:
            SourceFault: `NOT_INSTALLED`.
            OSError: the file cannot be read, or that of a body not be written.
        """
        try:
            if self.seeks:
                self._seek()
            while not self.is_done:
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
        """Yield the captures of a gzip member, or of a file without compression."""
        member = PackedRecords(self.part) if self.part.begins_gzip() else None
        try:
            yield from self._records(member or self.part, is_packed=member is not None)
        except _bad_archives() as error:
            self.log.note(
                Reason.BAD_ARCHIVE, f"at {self.next_offset}: {str(error)[:100]}"
            )
            if member is not None:
                member.abandon()
            self._seek()
        self.next_offset = self.part.tell()
        self.is_done = not self._has_more()

    def _has_more(self) -> bool:
        content = self.part.read()
        self.part.give_back(content)
        return bool(content)

    def _records(
        self, stream: FilePart | PackedRecords, *, is_packed: bool
    ) -> Iterator[WarcCapture]:
        with needed_by_document("warc"):
            from warcio.archiveiterator import WARCIterator  # noqa: PLC0415
        records = WARCIterator(stream)
        for record in records:
            capture = self._capture(record)
            # Only now it is known whether the record is whole, and sound.
            records.read_to_end()
            if getattr(record.raw_stream, "limit", 0) > 0:
                self.log.note(Reason.BAD_ARCHIVE, "the file ends within a record")
                capture = capture and replace(capture, is_cut=True)
            if capture is not None:
                yield capture
            if not is_packed:
                self.next_offset = records.offset

    def _capture(self, record: Any) -> WarcCapture | None:
        """Return the capture of a record; None if it is passed over."""
        head = _head_of(record, self.until_ms)
        if isinstance(head, str):
            self.counts[head] += 1
            if head == "malformed":
                where = f"near {self.next_offset}"
                self.log.note(
                    Reason.BAD_ARCHIVE, f"{where}: no URI, or no possible date"
                )
            return None
        stream = record.content_stream()
        begin = stream.read(HEAD_BYTES)
        if not self.is_wanted(head, begin):
            self.counts["unwanted"] += 1
            return None
        try:
            capture = self._with_body(head, begin, stream)
        except SourceFault as error:
            self.log.note(error.fault.reason, f"{head.url}: {error.fault.detail}")
            self.counts[error.fault.reason.value] += 1
            return None
        self.counts["captured"] += 1
        return capture

    def _with_body(self, head: WarcCapture, begin: bytes, stream: Any) -> WarcCapture:
        """Return a capture with its body, in memory or in a file.

        Raises:
            SourceFault: `TOO_LARGE`.
        """
        pieces, n_bytes = [begin], len(begin)
        while n_bytes <= self.limits.memory_bytes:
            piece = stream.read(READ_BYTES)
            if not piece:
                return replace(head, body=b"".join(pieces), n_bytes=n_bytes)
            pieces.append(piece)
            n_bytes += len(piece)
        path = self.new_file()
        try:
            with path.open("xb") as file:
                n_bytes = self._copy(pieces, stream, file)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return replace(head, body=path, n_bytes=n_bytes)

    def _copy(self, pieces: list[bytes], stream: Any, file: BinaryIO) -> int:
        n_bytes = sum(map(len, pieces))
        file.writelines(pieces)
        while piece := stream.read(READ_BYTES):
            n_bytes += len(piece)
            if n_bytes > self.limits.body_bytes:
                detail = f"over {self.limits.body_bytes} bytes"
                raise SourceFault(Reason.TOO_LARGE, detail)
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
    """Return what a record is a capture of; else why it is passed over.

    Only what was sent with status 200 is a document (`response`, or `resource` of other
    schemes); a `revisit` has no body of its own.
    """
    if record.rec_type not in ("response", "resource"):
        return record.rec_type if record.rec_type in _OTHERS else "unknown"
    warc, http = record.rec_headers, record.http_headers
    if http is not None and http.get_statuscode() != "200":
        return "status"
    try:
        url = requestable((warc.get_header("WARC-Target-URI") or "").strip("<>"))
        at = datetime.fromisoformat(warc.get_header("WARC-Date") or "")
        at_ms = int(at.replace(tzinfo=at.tzinfo or UTC).timestamp() * 1000)
    except (BadUri, ValueError, OverflowError):
        return "malformed"
    if not 0 < at_ms <= until_ms:  # it would be the latest version for ever
        return "malformed"
    declared = http.get_header("Content-Type") if http else record.content_type
    return WarcCapture(
        url=url,
        at_ms=at_ms,
        content_type=declared or "",
        headers=tuple((str(n), str(v)) for n, v in http.headers) if http else (),
        is_cut=bool(warc.get_header("WARC-Truncated")),
    )
