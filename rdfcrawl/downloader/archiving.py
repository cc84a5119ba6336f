"""Write requests and responses to the web archive of a crawl, before parsing."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from rdfcrawl.core import __version__
from rdfcrawl.core.content import body_of, head_of
from rdfcrawl.core.errors import NO_FILES, PASSING, Fault, Reason, SourceFault
from rdfcrawl.core.times import now_ms
from rdfcrawl.downloader.client import HttpClient, HttpResponse, RequestOptions
from rdfcrawl.downloader.http.recording import listening
from rdfcrawl.downloader.network_faults import errno_of, note_fault
from rdfcrawl.downloader.spool_sink import SpoolSink
from rdfcrawl.downloader.warc.archive import (
    HEAD_BYTES,
    ArchivedExchange,
    ArchivedResource,
    ArchiveOptions,
    WebArchive,
)
from rdfcrawl.downloader.warc.http_messages import ResponseHead, find_head
from rdfcrawl.frontier.request_turns import FREE, SoloTurn

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from rdfcrawl.core.tasks import RefreshedPage
    from rdfcrawl.downloader.spool import Spool
    from rdfcrawl.downloader.warc.archive import Truncation

_FORMAT: Final = (
    "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
)
_WAITED_FOR: Final = frozenset((*PASSING, *NO_FILES))  # see `local_failures`
_ENDLESS: Final = 2**62
_OK: Final = 200
_PARTIAL: Final = 206
_SMALL_BYTES: Final = 256 * 1024  # longer records are written by a thread
_TRUNCATIONS: Final[dict[Reason, Truncation]] = {
    Reason.TIMEOUT: "time",
    Reason.TOO_LARGE: "length",
    Reason.TRUNCATED_BODY: "disconnect",
}
# A pipeline and the services of the fetch share it; see `services`.
_archives: WeakKeyDictionary[Crawler, WebArchive] = WeakKeyDictionary()


class WireCapture:
    """The bytes of one request and its response on the wire.

    Attributes:
        keeps_all: also keep the bodies of large responses here.
        fault: why some received bytes are missing.
        head: of a large response whose body the client keeps.
    """

    def __init__(self, sink: SpoolSink, most_bytes: int) -> None:
        self.head: ResponseHead | None = None
        self._most_bytes = most_bytes
        self.address = ""
        self.keeps_all = False
        self.sent = b""
        self.fault: SourceFault | None = None
        self._sink: SpoolSink | None = sink

    def send(self, content: bytes) -> None:
        """See `WireListener`."""
        if self._sink is not None:
            self.sent += content

    def receive(self, content: bytes) -> None:
        """See `WireListener`; lack of room sets `fault`."""
        sink = self._sink
        if sink is None or self.head is not None or self.fault is not None:
            return
        is_large = sink.n_bytes + len(content) > self._most_bytes
        if is_large and sink.path is None and not self.keeps_all:
            self.head = _head_of_plain(sink.held() + content)
            if self.head is not None:
                return
        try:
            sink.write(content)
        except SourceFault as fault:
            self.fault = fault

    def take(self) -> HttpResponse:
        """Return the received bytes, as the body of a response to be released."""
        taken = HttpResponse()
        if self._sink is not None:
            self._sink.keep(taken)
            self._sink = None
        return taken

    def drop(self) -> None:
        """Discard the received bytes."""
        if self._sink is not None:
            self._sink.discard()
            self._sink = None


class ArchivingExchange:
    """A client that writes each request and its response to an archive.

    Lack of room is a local failure: the request is repeated when there is room, like
    one whose body does not fit on the disk.
    """

    def __init__(self, exchange: HttpClient, archive: WebArchive, spool: Spool) -> None:
        self._exchange = exchange
        self._archive = archive
        self._spool = spool

    async def get(
        self, url: str, options: RequestOptions, turn: SoloTurn = FREE
    ) -> HttpResponse:
        """See `HttpClient.get`."""
        sink = SpoolSink(
            self._spool, replace(options, max_bytes=_ENDLESS), url, is_copy=True
        )
        capture, began_ms = WireCapture(sink, options.spool_bytes), now_ms()
        token = listening.set(capture)
        try:
            response = await self._exchange.get(url, options, turn)
            if not response.is_unsent:
                await self._keep(url, options, response, capture, began_ms)
        finally:
            listening.reset(token)
            capture.drop()
        return response

    async def _keep(
        self,
        url: str,
        options: RequestOptions,
        response: HttpResponse,
        capture: WireCapture,
        began_ms: int,
    ) -> None:
        fault = capture.fault
        if fault is not None and fault.fault.reason is not Reason.TOO_LARGE:
            note_fault(response, fault)
            response.errno = errno_of(fault)
            return
        received = capture.take()
        try:
            if _is_http(url):
                exchange = _exchange_of(url, response, capture, received, began_ms)
                exchange.keeps_copy = _keeps_copy(options.refreshed, response, began_ms)
                holder = response if capture.head is not None else received
                await self._write(
                    holder, lambda: self._archive.write_exchange(exchange)
                )
            resource = _resource_of(url, response, received, capture.address, began_ms)
            if resource is not None:
                await self._write(
                    response, lambda: self._archive.write_resource(resource)
                )
        except OSError as error:
            response.errno = errno_of(error)
            if response.errno not in _WAITED_FOR:
                self._archive.fail(error)
            response.fault = Fault(Reason.INTERNAL, f"warc: {error.strerror or error}")
        finally:
            self._spool.release(received)

    async def _write(self, holder: HttpResponse, write: Callable[[], None]) -> None:
        """Write records; long ones in a thread."""
        if holder.path is None and len(holder.body or b"") <= _SMALL_BYTES:
            write()
        else:
            await _to_its_end(asyncio.ensure_future(asyncio.to_thread(write)))


async def _to_its_end(writing: asyncio.Future[None]) -> None:
    """Wait for a thread, even when cancelled: it reads a temporary file."""
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        await asyncio.wait([writing])
        raise


def _is_http(url: str) -> bool:
    return url.startswith(("http://", "https://"))


def _keeps_copy(
    task: RefreshedPage | None, response: HttpResponse, began_ms: int
) -> bool:
    """Return whether the stored copy of a missing page stays for now."""
    if task is None or not task.is_stored:
        return False
    return not task.is_gone(response.status, began_ms)


def _exchange_of(
    url: str,
    response: HttpResponse,
    capture: WireCapture,
    received: HttpResponse,
    began_ms: int,
) -> ArchivedExchange:
    fault = response.fault
    # A response without a fault that is incomplete was cut off as useless.
    truncation: Truncation = "length"
    if fault is not None and capture.fault is None:
        truncation = _TRUNCATIONS.get(fault.reason, "unspecified")
    return ArchivedExchange(
        url=url.partition("#")[0],
        at_ms=began_ms,
        took_ms=now_ms() - began_ms,
        address=capture.address,
        request=capture.sent,
        received=body_of(received) or b"",
        head=capture.head,
        body=body_of(response) or b"",
        truncation=truncation,
        is_complete=fault is None,
        fault=f"{fault.reason}: {fault.detail}" if fault else "",
    )


def _resource_of(
    url: str,
    response: HttpResponse,
    received: HttpResponse,
    address: str,
    began_ms: int,
) -> ArchivedResource | None:
    """Return a document that differs from the bytes of one HTTP response.

    Examples: a file of FTP or of a custom scheme, a body that was resumed.
    """
    body = body_of(response)
    if not 200 <= response.status < 300 or not body or not response.n_bytes:
        return None
    note = ""
    if _is_http(url):
        if response.fault is not None or not _is_rest(response, received):
            return None
        note = "combined from this response and the start of an earlier one"
        began_ms = max(now_ms(), began_ms + 1)  # later than both parts
    fault = response.fault
    is_cut = response.is_partial and fault is not None
    charset = f"; charset={response.charset}" if response.charset else ""
    return ArchivedResource(
        url=url.partition("#")[0],
        at_ms=began_ms,
        content_type=f"{response.media_type or 'application/octet-stream'}{charset}",
        body=body,
        truncation=_TRUNCATIONS.get(fault.reason, "unspecified")
        if is_cut and fault
        else None,
        address=address,
        note=note,
    )


def _head_of_plain(received: bytes) -> ResponseHead | None:
    """Return the head of a response whose body the client keeps unchanged.

    The client has the complete body of a resumed one; others are decoded or dropped.
    """
    head = find_head(received)
    if head is None or head.status == _PARTIAL or not 200 <= head.status < 300:
        return None
    return None if head.values(b"Content-Encoding") else head


def _is_rest(response: HttpResponse, received: HttpResponse) -> bool:
    """Return whether a complete response was resumed: only its rest was received."""
    if response.status != _OK or not body_of(received):
        return False
    head = find_head(head_of(received, HEAD_BYTES))
    return head is not None and head.status == _PARTIAL


def archive_of(crawler: Crawler) -> WebArchive:
    """Return the archive of a crawler that keeps one."""
    if crawler not in _archives:
        spider: Any = crawler.spider
        _archives[crawler] = _make(crawler, spider.options)
    return _archives[crawler]


def _make(crawler: Crawler, options: Any) -> WebArchive:
    crawl = options.crawl
    obeys = "obey" if options.robots.is_obeyed else "ignore"
    began = datetime.now(UTC).strftime("%Y%m%d%H%M%S")
    return WebArchive(
        ArchiveOptions(
            folder=crawl.paths.warc,
            name=f"{crawl.crawl_id}-{began}-{crawl.worker}",
            max_bytes=options.archive.max_bytes,
            redacted_headers=options.archive.redacted_headers,
            info=[
                ("software", f"rdfcrawl/{__version__}"),
                ("format", "WARC File Format 1.1"),
                ("conformsTo", _FORMAT),
                ("isPartOf", crawl.crawl_id),
                ("hostname", socket.gethostname()),
                ("http-header-user-agent", options.fetch.user_agent),
                ("robots", obeys),
            ],
        ),
        partial(_count, crawler.stats),
    )


def _count(stats: StatsCollector | None, name: str, count: int) -> None:
    if stats is not None:
        stats.inc_value(name, count)
