"""Requests through Scrapy's downloader and its middlewares.

All requests if `FETCH_WITH_SCRAPY` is on; else those that users' spiders yield.
"""

from __future__ import annotations

import asyncio
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from multidict import CIMultiDict
from scrapy import Request, signals
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
    StopDownload,
)
from scrapy.http.request import NO_CALLBACK

from rdfcrawl.core.errors import Fault, Reason, SourceFault, one_line
from rdfcrawl.downloader.client import (
    MAX_ERROR_BODY_BYTES,
    HttpResponse,
    RequestOptions,
    UnreadBody,
    UnreadTypes,
)
from rdfcrawl.downloader.http.exchange import note_headers, parse_content_type
from rdfcrawl.downloader.http.recording import WireListener, listening
from rdfcrawl.downloader.http.scrapy_handler import TURN, GuardRefused, TurnIsOver
from rdfcrawl.downloader.network_faults import errno_of, look_up, note_fault
from rdfcrawl.downloader.spool_sink import SpoolSink
from rdfcrawl.downloader.watch import WatchedExchange, WatchedTransfer
from rdfcrawl.frontier.queue.queued_records import meta_of, request_of
from rdfcrawl.frontier.request_turns import FREE, SoloTurn
from rdfcrawl.uri import host_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.http.headers import Headers

    from rdfcrawl.downloader.local_failures import KnownNames
    from rdfcrawl.downloader.options import FetchOptions
    from rdfcrawl.downloader.spool import Spool

logger = logging.getLogger(__name__)

# The visit does this itself: it tracks redirects, and retries in its turns.
_DONE_BY_VISIT: Final = {
    "dont_redirect": True,
    "dont_retry": True,
    "dont_obey_robotstxt": True,
    "handle_httpstatus_all": True,
}
_TRANSFER: Final = "rdfcrawl_transfer"
_EXCHANGE: Final = "rdfcrawl_exchange"  # of a request: signals concern all exchanges
_LISTENER: Final = "rdfcrawl_listener"
_UNREAD: Final = "rdfcrawl_unread"  # types whose bodies are not downloaded
# Keys of `meta` that concern the visit, not the request.
_OF_VISIT: Final = frozenset(
    {
        *_DONE_BY_VISIT,
        *("download_slot", "download_timeout", "download_maxsize"),
        *(TURN, _EXCHANGE, _TRANSFER, _LISTENER, _UNREAD),
    }
)
_OF_VISITS: Final = {"download_slot": "visits"}  # whose delay is that of the host
_OF_CODE: Final = (AttributeError, ImportError, NameError, TypeError)
_MEANINGS: Final[tuple[tuple[type[Exception], Reason, bool], ...]] = (
    (CannotResolveHostError, Reason.DNS, True),
    (DownloadConnectionRefusedError, Reason.UNREACHABLE, True),
    (DownloadTimeoutError, Reason.TIMEOUT, False),
    (DownloadCancelledError, Reason.TOO_LARGE, False),
    (ResponseDataLossError, Reason.TRUNCATED_BODY, False),
)


class ScrapyExchange(WatchedExchange):
    """Send each record as an ordinary request; see `HttpClient`.

    Args:
        is_recorded: report sent and received messages to a listener.
    """

    def __init__(
        self,
        crawler: Crawler,
        spool: Spool,
        options: FetchOptions,
        known: KnownNames,
        *,
        is_recorded: bool = False,
    ) -> None:
        self._crawler = crawler
        self._spool = spool
        self._known = known
        super().__init__(options)
        crawler.signals.connect(self._note_headers, signals.headers_received)
        crawler.signals.connect(self._note_bytes, signals.bytes_received)
        self._is_recorded = is_recorded
        if is_recorded:
            crawler.signals.connect(self._report_download, signals.response_downloaded)

    async def get(
        self, url: str, options: RequestOptions, turn: SoloTurn = FREE
    ) -> HttpResponse:
        """See `HttpClient.get`."""
        response = HttpResponse()
        with self._watch.watching(url, options, response) as transfer:
            await self._get(url, options, turn, response, transfer)
        return response

    def _note_headers(self, request: Request, headers: Headers) -> None:
        """Note the headers; stop the download of a body that no parser reads."""
        if request.meta.get(_EXCHANGE) is not self:
            return
        request.meta[_TRANSFER].has_headers = True
        unread: UnreadTypes | None = request.meta[_UNREAD]
        if unread is not None:
            try:
                unread.check(request.url, _media_type(headers))
            except UnreadBody:
                raise StopDownload(fail=False) from None

    def _note_bytes(self, request: Request, data: bytes) -> None:
        if request.meta.get(_EXCHANGE) is not self:
            return
        transfer = request.meta[_TRANSFER]
        unread: UnreadTypes | None = request.meta[_UNREAD]
        if unread is not None and not transfer.n_bytes:
            try:
                unread.check_begin(request.url, data)
            except UnreadBody:
                raise StopDownload(fail=False) from None
        transfer.n_bytes += len(data)

    def _report_download(self, response: Response, request: Request) -> None:
        """Report a download, before middlewares change the response."""
        listener = request.meta.get(_LISTENER)
        if listener is not None and request.meta.get(_EXCHANGE) is self:
            report(listener, request, response)

    async def _get(
        self,
        url: str,
        options: RequestOptions,
        turn: SoloTurn,
        response: HttpResponse,
        transfer: WatchedTransfer,
    ) -> None:
        request = self._request(url, options)
        request.meta.setdefault("download_timeout", options.timeout_secs)
        request.meta.setdefault("download_maxsize", options.max_bytes)
        request.meta.update(_DONE_BY_VISIT)
        request.meta.update({TURN: turn, _EXCHANGE: self, _TRANSFER: transfer})
        request.meta[_UNREAD] = options.unread
        if self._is_recorded:
            request.meta[_LISTENER] = listening.get()
        try:
            received = await self._crawler.engine.download_async(request)
        except TurnIsOver:
            response.is_unsent = True
        except GuardRefused as exc:
            response.fault = exc.blocked.fault
            response.is_host_fault = True
        except IgnoreRequest as exc:
            response.fault = Fault(Reason.CLIENT_ERROR, f"a middleware refused: {exc}")
        except _OF_CODE as exc:
            # Twisted wraps errors of its parser: this one comes from a middleware or
            # from us.
            logger.exception("%s: a middleware or handler failed", url)
            detail = one_line(repr(exc))
            response.fault = Fault(Reason.INTERNAL, detail, part="downloader")
        except Exception as exc:  # the edge: handlers may raise anything
            await _note_failure(exc, url, response)
        else:
            if received.ip_address is not None:
                self._known.add(host_of(url), str(received.ip_address))
            headers = _text_headers(received)
            note_headers(response, received.status, headers, options.kept_headers)
            self._take(received, options, response)

    def _request(self, url: str, options: RequestOptions) -> Request:
        return Request(
            url,
            method="POST" if options.data else "GET",
            body=options.data,
            headers={"Accept": options.accept, **dict(options.headers)},
            callback=NO_CALLBACK,
            dont_filter=True,
            # Accept truncated bodies, like our own client.
            meta={"download_fail_on_dataloss": False},
        )

    def _take(
        self, received: Response, options: RequestOptions, response: HttpResponse
    ) -> None:
        """Move a body into a response that has status and headers."""
        if not 200 <= received.status < 300:
            if received.status >= 400:
                response.error_body = received.body[:MAX_ERROR_BODY_BYTES]
            return
        try:
            if options.unread is not None:
                options.unread.check(received.url, response.media_type)
            self._keep_body(received, options, response)
        except UnreadBody as exc:
            note_fault(response, exc)
            return
        # A body delimited by the end of the connection is "partial", but complete.
        if "dataloss" in received.flags:
            response.fault = Fault(Reason.TRUNCATED_BODY, "the connection broke")
            response.is_partial = True

    def _keep_body(
        self, received: Response, options: RequestOptions, response: HttpResponse
    ) -> bool:
        """Spool a body as far as there is room; return whether it is complete."""
        sink = SpoolSink(self._spool, options, received.url, len(received.body))
        try:
            sink.write(received.body)
        except UnreadBody:
            sink.discard()
            raise
        except SourceFault as exc:
            note_fault(response, exc)
            response.errno = errno_of(exc)
            response.is_partial = True
        sink.keep(response)
        return not response.is_partial


class RequestExchange(ScrapyExchange):
    """Send the request of a record's task; keep the response, whatever its status."""

    def _request(self, url: str, options: RequestOptions) -> Request:
        if options.request is None:
            raise TypeError(f"no request for {url}")
        request = request_of(url, options.request, None)
        return request.replace(meta={**_OF_VISITS, **request.meta})

    def _take(
        self, received: Response, options: RequestOptions, response: HttpResponse
    ) -> None:
        if self._keep_body(received, options, response):
            kept = response.scrapy_response = received.replace(body=b"")
            if received.request is not None:
                kept.request = _as_sent(received.request, options)


def _as_sent(request: Request, options: RequestOptions) -> Request:
    """Return a request without the keys that concern its visit."""
    own = meta_of(options.request) if options.request else {}
    meta = {
        name: own.get(name, value)
        for name, value in request.meta.items()
        if name in own or name not in _OF_VISIT
    }
    return request.replace(meta=meta)


def _media_type(headers: Headers) -> str:
    value = headers.get("Content-Type") or b""
    return parse_content_type(value.decode("utf-8", "surrogateescape"))[0]


def _text_headers(response: Response) -> CIMultiDict[str]:
    """Return the headers in the form of our own client."""
    return CIMultiDict(
        (name.decode("latin-1"), value.decode("utf-8", "surrogateescape"))
        for name, values in response.headers.items()
        for value in values
    )


def report(listener: WireListener, request: Request, response: Response) -> None:
    """Report the messages that Scrapy has sent and received.

    They have the form of Scrapy's HTTP handler: header names in Scrapy's capitals,
    bodies without chunks, but in their content coding.
    """
    listener.keeps_all = True  # middlewares may change it
    listener.address = str(response.ip_address or "")
    listener.send(_request_head(request) + request.body)
    listener.receive(_response_head(response))
    listener.receive(response.body)


def _request_head(request: Request) -> bytes:
    parts = urlsplit(request.url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{request.method} {target} HTTP/1.1".encode()]
    if "Host" not in request.headers:
        lines.append(b"Host: " + parts.netloc.rpartition("@")[2].encode())
    if request.body:
        lines.append(b"Content-Length: %d" % len(request.body))
    return _head(lines, request.headers)


def _response_head(response: Response) -> bytes:
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = ""
    line = f"HTTP/1.1 {response.status} {phrase}".encode()
    return _head([line], response.headers)


def _head(lines: list[bytes], headers: Headers) -> bytes:
    for name, values in headers.items():
        lines += (name + b": " + value for value in values)
    return b"\r\n".join([*lines, b"", b""])


async def _note_failure(exc: Exception, url: str, response: HttpResponse) -> None:
    meanings = (x[1:] for x in _MEANINGS if isinstance(exc, x[0]))
    reason, response.is_host_fault = next(meanings, (Reason.BAD_HTTP, False))
    if reason is Reason.DNS:
        # Twisted does not report the reason. A name found now was temporarily
        # unavailable.
        found = await asyncio.to_thread(look_up, host_of(url))
        reason = found or Reason.DNS_UNANSWERED
    response.errno = errno_of(exc)
    response.fault = Fault(reason, str(exc)[: Fault.MAX_DETAIL])
