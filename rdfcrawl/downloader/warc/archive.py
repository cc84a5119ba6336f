"""The archive of a crawl: requests and responses as records of WARC files.

Source: The WARC Format 1.1 (IIPC), clauses 5 and 6.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final, Literal

from rdfcrawl.core.times import moment_text
from rdfcrawl.downloader.warc.archive_files import (
    COPY_KEPT,
    FIELDS_TYPE,
    NOT_MODIFIED,
    REQUEST_TYPE,
    RESPONSE_TYPE,
    SAME_PAYLOAD,
    ArchiveFile,
    ArchiveFolder,
    WarcRecord,
    digest_field,
    fields_block,
    new_record_id,
    repair_archives,
    sha1,
)
from rdfcrawl.downloader.warc.capture_index import CaptureIndex, LastCapture
from rdfcrawl.downloader.warc.http_messages import (
    BodyFrame,
    ResponseHead,
    find_head,
    redacted,
    split_request,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    Truncation = Literal["length", "time", "disconnect", "unspecified"]

HEAD_BYTES: Final = 256 * 1024  # limit of heads, like in the HTTP client
_BLOCK_BYTES: Final = 256 * 1024
_GONE: Final = frozenset({404, 410})
_INDEX: Final = "index.sqlite"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveOptions:
    """Options of a crawl's archive.

    Attributes:
        folder: of the files.
        name: prefix of their names, unique among workers.
        max_bytes: a file of this size is finished.
        redacted_headers: request headers whose values are removed.
        info: content of the `warcinfo` of each file.
    """

    folder: Path
    name: str
    max_bytes: int
    redacted_headers: tuple[str, ...]
    info: list[tuple[str, str]]


@dataclass(slots=True, kw_only=True)
class ArchivedExchange:
    """A request and its response, as transferred.

    Attributes:
        url: requested URL, without fragment.
        at_ms: when it was sent, Unix time in ms.
        took_ms: time to the end of the response.
        address: of the server; empty if unknown.
        request: bytes as sent.
        received: all bytes of the response, or the file with them.
        head: of the response, in place of all bytes.
        body: that belongs to `head`, without chunks; or the file with it.
        is_complete: this body is complete.
        truncation: why the response is incomplete.
        fault: fault of the response, in a line.
        keeps_copy: a missing document may return soon: its copy stays.
    """

    url: str
    at_ms: int
    took_ms: int = 0
    address: str = ""
    request: bytes = b""
    received: bytes | Path = b""
    head: ResponseHead | None = None
    body: bytes | Path = b""
    is_complete: bool = True
    truncation: Truncation = "unspecified"
    fault: str = ""
    keeps_copy: bool = False


@dataclass(slots=True, kw_only=True)
class ArchivedResource:
    """A document without an HTTP exchange: a file of FTP, or a reassembled one.

    Attributes:
        url: of the document.
        at_ms: when it was requested, Unix time in ms.
        content_type: of the body.
        body: its bytes, or the file with them.
        truncation: why it is incomplete; None if complete.
        address: of the server; empty if unknown.
        note: how it was made, in a line.
    """

    url: str
    at_ms: int
    content_type: str
    body: bytes | Path
    truncation: Truncation | None = None
    address: str = ""
    note: str = ""


class WebArchive:
    """Writer of an archive; `open` it, and `close` it at the end.

    Records may be written from any thread.

    Args:
        count: called with the name of a statistic and a number.
    """

    def __init__(
        self, options: ArchiveOptions, count: Callable[[str, int], None]
    ) -> None:
        self.options = options
        self._told, self._lock = count, Lock()
        self._failure: OSError | None = None
        self._files: ArchiveFolder
        self._index: CaptureIndex
        self.is_open = False

    def _count(self, name: str, number: int) -> None:
        with self._lock:
            self._told(name, number)

    def open(self) -> None:
        """Repair the files of dead workers, and start a new file.

        Raises:
            OSError: the disk cannot be read or written.
        """
        options = self.options
        options.folder.mkdir(parents=True, exist_ok=True)
        repair_archives(options.folder)
        self._files = ArchiveFolder(
            options.folder,
            options.name,
            max_bytes=options.max_bytes,
            info=options.info,
            count=self._count,
        )
        self._index = CaptureIndex(options.folder / _INDEX)
        self.is_open = True

    def write_exchange(self, exchange: ArchivedExchange) -> None:
        """Write response, request and metadata; nothing without a response.

        Raises:
            OSError: nothing was written.
        """
        head = exchange.head or find_head(_begin_of(exchange.received))
        if head is None:
            self._count("warc/unanswered", 1)
            return
        frame = head.frame()
        begin = head.without_chunks() if frame.is_chunked else head.raw
        if exchange.head is None:
            body = _Body(exchange.received, head.end, frame, begin)
            is_complete = frame.is_complete and (frame.has_end or exchange.is_complete)
        else:
            body = _Body(exchange.body, 0, None, begin)
            is_complete = exchange.is_complete
        digest = digest_field(body.payload_digest)
        fields = [*_shared_fields(exchange), ("WARC-Payload-Digest", digest)]
        response = WarcRecord(
            type="response",
            record_id=new_record_id(),
            fields=fields,
            content_type=RESPONSE_TYPE,
            head=begin,
            body=body,
            n_body=body.n_bytes,
            block_digest=body.block_digest,
        )
        if head.status in _GONE and exchange.keeps_copy:
            response.fields.append(COPY_KEPT)
        if not is_complete:
            response.fields.append(("WARC-Truncated", exchange.truncation))
            self._count(f"warc/truncated/{exchange.truncation}", 1)
        self._write_captured(
            exchange, response, body, head.status, is_complete=is_complete
        )

    def _write_captured(
        self,
        exchange: ArchivedExchange,
        response: WarcRecord,
        body: _Body,
        status: int,
        *,
        is_complete: bool,
    ) -> None:
        """Write an exchange, as a revisit of the last capture if it is one."""
        # An error with the same body is no other capture of the document.
        is_good = 200 <= status < 300 or status == 304
        kept_as = exchange.url if is_good else f"{status} {exchange.url}"
        found = self._index.find(kept_as)
        if is_complete and status == 304:
            _make_revisit(response, NOT_MODIFIED, exchange.url, found)
        elif (
            is_complete
            and body.n_bytes
            and found
            and found.digest == body.payload_digest
            and not (is_good and self._was_gone_since(exchange.url, found))
        ):
            _make_revisit(response, SAME_PAYLOAD, exchange.url, found)
        shared = _shared_fields(exchange)
        self._write([response, *self._about(exchange, response, shared)])
        if response.type == "response" and is_complete and body.n_bytes:
            last = LastCapture(body.payload_digest, exchange.at_ms, response.record_id)
            self._index.note(kept_as, last)
        if status in _GONE and not exchange.keeps_copy:
            last = LastCapture(b"", exchange.at_ms, response.record_id)
            self._index.note(f"gone {exchange.url}", last)

    def _was_gone_since(self, url: str, last: LastCapture) -> bool:
        """Return whether a document was gone after its last capture.

        A revisit would then have no effect: readers know that the document is gone.
        """
        gone = self._index.find(f"gone {url}")
        return gone is not None and gone.at_ms >= last.at_ms

    def _about(
        self,
        exchange: ArchivedExchange,
        response: WarcRecord,
        shared: list[tuple[str, str]],
    ) -> Iterator[WarcRecord]:
        """Yield the other records of an exchange."""
        shared = [*shared, ("WARC-Concurrent-To", f"<{response.record_id}>")]
        head, data = split_request(exchange.request)
        yield WarcRecord(
            type="request",
            record_id=new_record_id(),
            fields=[*shared, ("WARC-Payload-Digest", digest_field(sha1(data)))],
            content_type=REQUEST_TYPE,
            head=redacted(head, self.options.redacted_headers) + data,
        )
        about = [("fetchTimeMs", str(exchange.took_ms))]
        if exchange.fault:
            about.append(("fault", exchange.fault))
        yield _metadata(about, shared)

    def write_resource(self, resource: ArchivedResource) -> None:
        """Write a document without an HTTP exchange.

        Raises:
            OSError: nothing was written.
        """
        body = _Body(resource.body, 0, None, b"")
        shared = _shared_fields(resource)
        digest = digest_field(body.payload_digest)
        record = WarcRecord(
            type="resource",
            record_id=new_record_id(),
            fields=[*shared, ("WARC-Payload-Digest", digest)],
            content_type=" ".join(resource.content_type.split()),
            body=body,
            n_body=body.n_bytes,
            block_digest=body.block_digest,
        )
        if resource.truncation:
            record.fields.append(("WARC-Truncated", resource.truncation))
            self._count(f"warc/truncated/{resource.truncation}", 1)
        records = [record]
        if resource.note:
            concurrent = ("WARC-Concurrent-To", f"<{record.record_id}>")
            records.append(_metadata([("note", resource.note)], [*shared, concurrent]))
        self._write(records)

    def _write(self, records: list[WarcRecord]) -> None:
        with self._files.borrowed() as file:
            n_bytes = self._append(file, records)
        for record in records:
            self._count(f"warc/records/{record.type}", 1)
        self._count("warc/bytes", n_bytes)

    def _append(self, file: ArchiveFile, records: list[WarcRecord]) -> int:
        for record in records:
            record.fields.append(("WARC-Warcinfo-ID", f"<{file.info_id}>"))
        return file.append(records)

    def fail(self, error: OSError) -> None:
        """Note that a record is missing: every later flush fails."""
        self._failure = error

    def flush(self) -> None:
        """Write all records to the disk.

        Raises:
            OSError: they may not be on disk. Every later call fails, too, since the
                kernel may have dropped the data.
        """
        if self._failure is not None:
            raise self._failure
        self._index.take()
        try:
            self._files.sync()
        except OSError as error:
            self.fail(error)
            raise
        self._index.keep()

    def close(self) -> None:
        """Finish all files.

        Raises:
            OSError: the disk does not accept it.
        """
        self.is_open = False
        self._index.take()
        self._files.close()
        self._index.keep()
        self._index.close()


class _Body:
    """A body, in memory or in a file; supports repeated iteration.

    Attributes:
        n_bytes: its length.
        payload_digest: SHA-1 of the body.
        block_digest: SHA-1 of head and body.
    """

    def __init__(
        self, received: bytes | Path, offset: int, frame: BodyFrame | None, head: bytes
    ) -> None:
        self._received, self._offset, self._frame = received, offset, frame
        payload = hashlib.sha1(usedforsecurity=False)
        block = hashlib.sha1(head, usedforsecurity=False)
        self.n_bytes = 0
        for piece in self:
            payload.update(piece)
            block.update(piece)
            self.n_bytes += len(piece)
        self.payload_digest, self.block_digest = payload.digest(), block.digest()

    def __iter__(self) -> Iterator[bytes]:
        blocks = self._blocks()
        return self._frame.pieces(blocks) if self._frame is not None else blocks

    def _blocks(self) -> Iterator[bytes]:
        if isinstance(self._received, bytes):
            yield self._received[self._offset :]
            return
        with self._received.open("rb", buffering=0) as file:
            file.seek(self._offset)
            yield from iter(partial(file.read, _BLOCK_BYTES), b"")


def _begin_of(received: bytes | Path) -> bytes:
    if isinstance(received, bytes):
        return received
    with received.open("rb") as file:
        return file.read(HEAD_BYTES)


def _shared_fields(
    source: ArchivedExchange | ArchivedResource,
) -> list[tuple[str, str]]:
    """Return the fields common to all records of a source."""
    fields = [("WARC-Date", moment_text(source.at_ms)), ("WARC-Target-URI", source.url)]
    if source.address:
        fields.append(("WARC-IP-Address", source.address))
    return fields


def _metadata(
    about: Iterable[tuple[str, str]], fields: list[tuple[str, str]]
) -> WarcRecord:
    return WarcRecord(
        type="metadata",
        record_id=new_record_id(),
        fields=fields.copy(),
        content_type=FIELDS_TYPE,
        head=fields_block(about),
    )


def _make_revisit(
    record: WarcRecord, profile: str, url: str, original: LastCapture | None
) -> None:
    """Turn a response into a revisit, with the payload of an earlier record."""
    record.type = "revisit"
    record.fields.append(("WARC-Profile", profile))
    if original is not None:
        record.fields += [
            ("WARC-Refers-To", f"<{original.record_id}>"),
            ("WARC-Refers-To-Target-URI", url),
            ("WARC-Refers-To-Date", moment_text(original.at_ms)),
        ]
        if profile == NOT_MODIFIED:
            digest = ("WARC-Payload-Digest", digest_field(original.digest))
            record.fields = [
                digest if name == digest[0] else (name, value)
                for name, value in record.fields
            ]
    record.body, record.n_body, record.block_digest = (), 0, b""
