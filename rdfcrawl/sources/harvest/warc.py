"""WARC files as a source: each capture a document, each part of a file a record.

A file is read in parts (`WARC_PART_BYTES`), so a crash costs one part, and other
workers read other files meanwhile.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from http import HTTPStatus
from io import BytesIO
from typing import BinaryIO, Final

from rdfcrawl.core.content import body_of
from rdfcrawl.core.errors import Fault, FaultLog, Reason, SourceFault
from rdfcrawl.core.formats import file_name
from rdfcrawl.core.messages import counted
from rdfcrawl.core.records import Document, FetchedResponse, FollowUp, Kind, Record
from rdfcrawl.core.reservations import ROBOTS_TAG, TDM_POLICY, TDM_RESERVATION
from rdfcrawl.core.source_tasks import LOCAL_SCHEME, SourceTask, WarcTask, file_of_url
from rdfcrawl.downloader.client import HttpRequest
from rdfcrawl.downloader.http.exchange import parse_content_type
from rdfcrawl.downloader.redirects import REDIRECTS, resolve_redirect
from rdfcrawl.downloader.retry_policy import fault_of_status
from rdfcrawl.downloader.scheme_fetcher import SchemeRequest, SchemeResponse
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.downloader.warc.captures import (
    GONE,
    CaptureLimits,
    CaptureReader,
    WarcCapture,
)
from rdfcrawl.downloader.warc.part import Dictionary, FilePart, read_dictionary
from rdfcrawl.frontier.queue.candidate import kind_of
from rdfcrawl.rdf import sniffing
from rdfcrawl.rdf.links.link_sets import is_link_set
from rdfcrawl.sources.harvest.protocol import (
    HarvestContext,
    Harvester,
    has_moved,
    next_step,
    read_task,
)
from rdfcrawl.uri.link_filter import LinkFilter
from rdfcrawl.uri.parse import scheme_of

_MAX_DOUBLINGS: Final = 6
MAX_RATIO: Final = 200.0  # of content codings, like for fetched bodies
_BEHIND: Final = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
_MAX_VALUE_CHARS: Final = 64 * 1024
_RESERVATIONS: Final = frozenset(
    name.lower() for name in (ROBOTS_TAG, TDM_RESERVATION, TDM_POLICY)
)
_content_range: Final = re.compile(
    r"\s*bytes\s+([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)\s*", re.IGNORECASE
).fullmatch


@dataclass(frozen=True, slots=True)
class _Opened:
    """A part of a file, opened."""

    file: BinaryIO  # at the start of the part
    offset: int  # of that byte in the file
    is_last: bool  # the file ends with the readable part
    seeks: bool = False  # the part may begin within a record
    # end of the part, if more of the file is readable
    end: int = sys.maxsize
    dictionary: Dictionary | None = None  # of Zstandard


def _opened_at(
    file: BinaryIO, task: WarcTask, *, is_last: bool, end: int = sys.maxsize
) -> _Opened:
    """Return the part for a task of a complete file.

    Raises:
        SourceFault: its dictionary cannot be read.
        OSError: it cannot be read.
    """
    try:
        dictionary = read_dictionary(file)
        file.seek(task.offset)
    except BaseException:
        file.close()
        raise
    return _Opened(file, task.offset, is_last, task.seeks, end, dictionary)


class WarcHarvester(Harvester):
    """See `protocol.Harvester`."""

    def __init__(self, context: HarvestContext) -> None:
        self._context = context
        self._spool = Spool(context.crawl.paths.spool, memory_limit_bytes=0)
        arguments = context.arguments
        self._filter = LinkFilter(
            allow=arguments.allow, deny=arguments.deny, domains=arguments.domains
        )

    def root(self, url: str, *, is_named: bool = True) -> Record:
        """Return the first record of a file."""
        task = SourceTask(self._context.run, is_named, WarcTask())
        return Record(url, Kind.WARC, task=task)

    async def request_for(self, record: Record) -> HttpRequest | None:
        """Return the request for a part of a file."""
        if scheme_of(record.url) == LOCAL_SCHEME:
            return None
        task = _task_of(record)
        last = task.offset + self._part_bytes(task) - 1
        # Each part of a file of Zstandard needs the dictionary at its beginning.
        is_whole = file_name(record.url).endswith(".zst")
        ranges = () if is_whole else (("Range", f"bytes={task.offset}-{last}"),)
        return HttpRequest(
            url=record.url,
            # a range applies to the encoded bytes
            headers=(*ranges, ("Accept-Encoding", "identity")),
            kept_headers=("content-range",),
        )

    async def harvest(self, document: Document) -> AsyncIterator[Document | FollowUp]:
        """Yield the captures in a part of a file, and the next part."""
        if has_moved(document) or not 200 <= document.status < 300:
            is_behind = document.status == _BEHIND and _task_of(document.record).offset
            yield document.harvested(faults=[] if is_behind else document.faults)
            return
        log = FaultLog()
        n_captures = 0
        try:
            opened = await asyncio.to_thread(self._open, document)
        except SourceFault as error:
            yield document.harvested(faults=[*document.faults, error.fault])
            return
        reader = self._reader(opened, document.response.ended_ms, log)
        with opened.file:
            async for capture in iter_captures(reader, log):
                n_captures += 1
                yield document_of_capture(capture, document)
        for what, number in reader.counts.items():
            self._context.count(f"warc/read/{what}", number)
        following = self._following(document, reader, log)
        if following is not None:
            yield following
        faults = [*document.faults, *log.all()]
        yield document.harvested(faults=faults, n_documents=n_captures)

    def _part_bytes(self, task: WarcTask) -> int:
        return self._context.options.warc_part_bytes << task.doublings

    def _open(self, document: Document) -> _Opened:
        """Open the part of a file for a record.

        Raises:
            SourceFault: the response has no such part.
            OSError: a file cannot be read.
        """
        task = _task_of(document.record)
        path = file_of_url(document.record.url)
        file: BinaryIO
        if path is not None:
            end = task.offset + self._part_bytes(task)
            return _opened_at(path.open("rb"), task, is_last=True, end=end)
        body = body_of(document.response)
        if body is None:
            raise SourceFault(Reason.TRUNCATED_BODY, "an empty response")
        file = BytesIO(body) if isinstance(body, bytes) else body.open("rb")
        is_last = not document.is_partial
        if document.status != HTTPStatus.PARTIAL_CONTENT:  # the complete file
            return _opened_at(file, task, is_last=is_last)
        value = dict(document.response.headers).get("content-range", "")
        found = _content_range(value)
        if found is None or int(found[1]) != task.offset:
            file.close()
            raise SourceFault(Reason.BAD_HTTP, f"Content-Range: {value[:100]}")
        # Without a total (RFC 9110 14.4), the part after the last one is requested.
        is_last &= found[3] != "*" and int(found[2]) + 1 >= int(found[3])
        return _Opened(file, task.offset, is_last, task.seeks)

    def _reader(self, opened: _Opened, until_ms: int, log: FaultLog) -> CaptureReader:
        options = self._context.options
        return CaptureReader(
            part=FilePart(
                *(opened.file, opened.offset),
                is_last=opened.is_last,
                dictionary=opened.dictionary,
            ),
            log=log,
            limits=CaptureLimits(self._most_bytes, options.spool_bytes, MAX_RATIO),
            until_ms=until_ms,
            is_wanted=self._is_selected,
            new_file=self._spool.new_path,
            seeks=opened.seeks,
            end=opened.end,
        )

    def _most_bytes(self, url: str) -> int:
        """Return the maximum size of a body, the same as for a fetch."""
        options = self._context.options
        is_dump = kind_of(url) is Kind.DUMP
        return options.max_dump_bytes if is_dump else options.max_document_bytes

    def _is_selected(self, capture: WarcCapture, head: bytes) -> bool:
        """Return whether a capture is in scope, and has a readable format."""
        if capture.status in REDIRECTS and not _target_of(capture):
            return False
        if capture.status in GONE | REDIRECTS:
            return self._filter.admits(capture.url)
        return is_readable(capture, head) and self._filter.admits(capture.url)

    def _following(
        self, document: Document, reader: CaptureReader, log: FaultLog
    ) -> FollowUp | None:
        """Return the record of the next part; None at the end of the file."""
        task = _task_of(document.record)
        if reader.is_done:
            return None
        if reader.next_offset > task.offset:
            following = WarcTask(reader.next_offset, seeks=reader.is_lost)
        elif document.is_partial:
            return None  # reported by its fault
        elif task.doublings < _MAX_DOUBLINGS:
            following = replace(task, doublings=task.doublings + 1)
        else:
            n_bytes = self._part_bytes(task)
            log.note(
                Reason.TOO_LARGE, f"at {task.offset}: over {counted(n_bytes, 'byte')}"
            )
            following = WarcTask(task.offset + n_bytes, seeks=True)
        return next_step(document.record, following)


def is_readable(capture: WarcCapture, head: bytes) -> bool:
    """Return whether a capture is a success in a format that is read."""
    if capture.status >= HTTPStatus.MULTIPLE_CHOICES:
        return False
    media_type, _ = parse_content_type(capture.content_type)
    decision = sniffing.decide(media_type, capture.url, head)
    return (
        decision.format is not None
        or decision.packing is not None
        or is_link_set(media_type, decision, head)
    )


async def iter_captures(
    reader: CaptureReader, log: FaultLog
) -> AsyncIterator[WarcCapture]:
    """Yield captures; the file of each body is deleted afterwards."""
    captures = iter(reader)
    with log.noting():  # the library may not be installed
        while capture := await asyncio.to_thread(next, captures, None):
            try:
                yield capture
            finally:
                if not isinstance(capture.body, bytes):
                    capture.body.unlink(missing_ok=True)


def _task_of(record: Record) -> WarcTask:
    payload = read_task(record).payload
    return payload if isinstance(payload, WarcTask) else WarcTask()


def _target_of(capture: WarcCapture) -> str:
    """Return the URL that a capture redirects to; empty for none."""
    try:
        return resolve_redirect(capture.url, _value(capture, "location"))
    except SourceFault:
        return ""


def document_of_capture(capture: WarcCapture, document: Document) -> Document:
    """Return a capture as a document, with the time of the capture."""
    if capture.status in REDIRECTS:
        return _redirect_of(capture, document)
    media_type, charset = parse_content_type(capture.content_type)
    is_gone, body = capture.status in GONE, capture.body
    found = capture.fault, fault_of_status(capture.status)
    faults = [fault for fault in found if fault is not None]
    if capture.is_cut and not faults:
        faults = [Fault(Reason.TRUNCATED_BODY, "in the archive")]
    return Document(
        record=replace(document.record, chain=()),
        url=capture.url,
        response=FetchedResponse(
            status=capture.status,
            media_type=media_type,
            charset=charset,
            etag=_value(capture, "etag"),
            last_modified=_value(capture, "last-modified"),
            http_links=_value(capture, "link"),
            reservation_headers=tuple(
                (name, value)
                for name, value in capture.headers
                if name.lower() in _RESERVATIONS
            ),
            body=body if isinstance(body, bytes) else None,
            path=None if isinstance(body, bytes) else body,
            n_bytes=capture.n_bytes,
            is_partial=bool(faults) and not is_gone,
            started_ms=capture.at_ms,
            ended_ms=capture.at_ms,
        ),
        is_followed=False,
        is_deleted=is_gone,
        is_read=is_gone,
        faults=faults,
    )


def _redirect_of(capture: WarcCapture, document: Document) -> Document:
    """Return a redirect without statements, which keeps the stored ones.

    Its target is a separate capture, or not archived.
    """
    chain = capture.url, _target_of(capture)
    return Document(
        record=replace(document.record, chain=chain),
        url=capture.url,
        response=FetchedResponse(
            status=capture.status, started_ms=capture.at_ms, ended_ms=capture.at_ms
        ),
        is_followed=False,
        is_read=True,
    )


def _value(capture: WarcCapture, name: str) -> str:
    """Return the value of a header, of several lines with commas between them."""
    values = (value for each, value in capture.headers if each.lower() == name)
    return ", ".join(values)[:_MAX_VALUE_CHARS]


class LocalWarcFetcher:
    """See `SchemeFetcher`. `WarcHarvester` reads the file in place."""

    async def fetch(self, request: SchemeRequest) -> SchemeResponse:
        """Return an empty response for a file, and 404 if there is none.

        Raises:
            OSError: the file cannot be read.
        """
        path = file_of_url(request.url)
        if path is None:
            return SchemeResponse(status=404)
        with await asyncio.to_thread(path.open, "rb"):
            pass
        return SchemeResponse()
