"""One request over a kept-alive connection, within all limits."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, Self

import aiohttp
from aiohttp import hdrs

from rdfcrawl.core.errors import SourceFault
from rdfcrawl.core.reservations import ROBOTS_TAG, TDM_POLICY, TDM_RESERVATION
from rdfcrawl.downloader.client import (
    DRAINED_BYTES,
    MAX_COOKIES,
    MAX_ERROR_BODY_BYTES,
    HttpResponse,
    RequestOptions,
    UnreadBody,
    UnreadTypes,
)
from rdfcrawl.downloader.http.connector import (
    ReceivedResponse,
    RequestSender,
    TurnConnector,
    TurnNames,
    connecting_for,
)
from rdfcrawl.downloader.http.protocol import ResponseProtocol
from rdfcrawl.downloader.http.receiving import ResponseReceiver
from rdfcrawl.downloader.network_faults import note_failure
from rdfcrawl.downloader.options import ACCEPT_ENCODING, FetchOptions
from rdfcrawl.downloader.retry_policy import by_its_own_clock
from rdfcrawl.downloader.watch import EventBudget, WatchedExchange, WatchedTransfer
from rdfcrawl.frontier.request_turns import FREE, SoloTurn
from rdfcrawl.uri.guard.gate import ConnectionGate
from rdfcrawl.uri.guard.resolver import NameResolver

if TYPE_CHECKING:
    from multidict import MultiMapping

    from rdfcrawl.downloader.http.parsing import BodyReader
    from rdfcrawl.downloader.local_failures import ClockCheck, KnownNames
    from rdfcrawl.downloader.spool import Spool

# An unwanted body is drained up to here, to keep the connection; a longer one is
# cheaper to cut off.
SKIP_BYTES: Final = 64 * 1024
# Linked Data servers send `Link` headers of many kilobytes; aiohttp's own limit is 8.
MAX_HEADER_BYTES: Final = 64 * 1024
MAX_RESERVATION_HEADERS: Final = 100  # lines of one name
MAX_VALUE_CHARS: Final = 1024  # of a validator kept for provenance


@dataclass(eq=False)
class HttpExchange(WatchedExchange):
    """Requests over one pool of connections for the entire process.

    An asynchronous context manager; open it in the loop that uses it.
    """

    options: FetchOptions
    spool: Spool
    _: KW_ONLY
    # checks each connection; built from `options.guard` if not given
    gate: ConnectionGate | None = None
    known: KnownNames | None = None  # records names and their addresses
    clock: ClockCheck | None = None  # records the `Date` of responses
    goes_by_address: bool = False  # connect to the address of the turn
    # report sent and received bytes (see `recording`)
    is_recorded: bool = False

    async def __aenter__(self) -> Self:
        self.open()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    def open(self) -> None:
        """Make the pool; needs a running loop."""
        options = self.options
        gate = self.gate or ConnectionGate(options.guard)
        super().__init__(options)
        names = NameResolver(self.known.note_found if self.known else None)
        self._names = TurnNames(names, gate)
        headers = {"User-Agent": options.user_agent, "Accept-Encoding": ACCEPT_ENCODING}
        timeout = aiohttp.ClientTimeout(total=None, connect=options.connect_secs)
        connector_class, protocol_class = self._connection_classes()
        pool = connector_class(
            resolver=self._names,
            # The address of a turn does not hold for the next one.
            use_dns_cache=not self.goes_by_address,
            open_socket=gate.open_socket,
            limit=0,  # the number of open visits is the limit
            keepalive_timeout=options.keep_alive_secs,
            ssl=options.verify_certificates,
        )
        # aiohttp has no public way to replace its response parser.
        protocols: Any = partial(protocol_class, EventBudget())
        pool._factory = protocols  # noqa: SLF001
        self._session = aiohttp.ClientSession(connector=pool)  # closes it
        self._sender = RequestSender(pool, headers, timeout)

    def _connection_classes(self) -> tuple[type[TurnConnector], type[ResponseProtocol]]:
        if not self.is_recorded:
            return TurnConnector, ResponseProtocol
        from rdfcrawl.downloader.http.recording import (  # noqa: PLC0415  (of few crawls)
            RecordingConnector,
            RecordingProtocol,
        )

        return RecordingConnector, RecordingProtocol

    async def close(self) -> None:
        """Close all connections."""
        await super().close()
        await self._session.close()
        await self._names.close()

    async def get(
        self, url: str, options: RequestOptions, turn: SoloTurn = FREE
    ) -> HttpResponse:
        """See `HttpClient.get`."""
        response = HttpResponse()
        token = connecting_for.set(turn)
        try:
            with self._watch.watching(url, options, response, note_failure) as transfer:
                receiving = ResponseReceiver(
                    self.spool,
                    url,
                    options,
                    response,
                    transfer,
                    max_ratio=self.options.max_ratio,
                )
                try:
                    await self._receive(url, receiving, response, transfer)
                finally:
                    receiving.end()
        finally:
            connecting_for.reset(token)
        return response

    async def _receive(
        self,
        url: str,
        receiving: ResponseReceiver,
        response: HttpResponse,
        transfer: WatchedTransfer,
    ) -> None:
        received = await self._sender.send(url, receiving.options)
        transfer.has_headers = True
        if self.clock is not None:
            self.clock.note(url, received.headers)
        try:
            status, headers = receiving.begin(received)
            note_headers(response, status, headers, receiving.options.kept_headers)
            if 200 <= status < 300:
                if receiving.options.unread is not None:
                    await _check_type(url, receiving.options.unread, response, received)
                await receiving.body(received, headers)
            else:
                error_body = await _skip(received.content)
                if received.status >= 400:
                    coding = received.headers.get(hdrs.CONTENT_ENCODING, "")
                    response.error_body = _decoded_begin(error_body, coding)
        finally:
            # Once the body has been read to its end, the connection returns to the
            # pool; otherwise it cannot be reused.
            received.close()


async def _check_type(
    url: str, unread: UnreadTypes, response: HttpResponse, received: ReceivedResponse
) -> None:
    """Raise `UnreadBody` for a body that no parser reads.

    A short one is received, to reuse the connection.
    """
    try:
        unread.check(url, response.media_type)
    except UnreadBody:
        length = received.headers.get(hdrs.CONTENT_LENGTH, "")
        if length.isdecimal() and int(length[:9]) <= DRAINED_BYTES:
            await _skip(received.content)
        raise


async def _skip(content: BodyReader) -> bytes:
    """Drain an unwanted body, and return its first bytes; ignore faults."""
    begin = b""
    n_bytes = 0
    try:
        while n_bytes < SKIP_BYTES and not content.at_eof():
            piece = await content.readany()
            n_bytes += len(piece)
            if len(begin) < MAX_ERROR_BODY_BYTES:
                begin += piece[: MAX_ERROR_BODY_BYTES - len(begin)]
    except (aiohttp.ClientError, SourceFault):
        pass
    return begin


def _decoded_begin(octets: bytes, coding: str) -> bytes:
    """Decode the first bytes of a body, as far as possible."""
    if not coding:
        return octets
    # Imports all codecs: not before the first coded body.
    from rdfcrawl.rdf.unpack.content_encoding import BodyDecoder  # noqa: PLC0415

    begin = b""
    try:
        for piece in BodyDecoder(coding, max_ratio=MAX_ERROR_BODY_BYTES).pieces(octets):
            begin += piece
            if len(begin) >= MAX_ERROR_BODY_BYTES:
                break
    except SourceFault:
        pass
    return begin[:MAX_ERROR_BODY_BYTES]


def note_headers(
    response: HttpResponse,
    status: int,
    headers: MultiMapping[str],
    kept: tuple[str, ...] = (),
) -> None:
    """Set `response` from a status and headers, whose names match in any case.

    Headers named in `kept` are kept, too.
    """
    get = headers.get
    response.status = status
    if value := get(hdrs.CONTENT_TYPE):
        response.media_type, response.charset = parse_content_type(value)
    if value := get(hdrs.ETAG):
        response.etag = _text(value)
    if value := get(hdrs.LAST_MODIFIED):
        response.last_modified = _text(value)
    if value := get(hdrs.CACHE_CONTROL):
        response.cache_control = _text(value)
    if hdrs.LINK in headers:
        value = ", ".join(headers.getall(hdrs.LINK))
        response.http_links = _text(value, MAX_HEADER_BYTES)
    if kept:
        response.headers = tuple((x, _text(get(x, ""))) for x in kept)
    if ROBOTS_TAG in headers or TDM_RESERVATION in headers:
        response.reservation_headers = tuple(
            (name, _text(value))
            for name in (ROBOTS_TAG, TDM_RESERVATION, TDM_POLICY)
            for value in headers.getall(name, [])[:MAX_RESERVATION_HEADERS]
        )
    if hdrs.SET_COOKIE in headers:
        lines = headers.getall(hdrs.SET_COOKIE)[:MAX_COOKIES]
        response.cookies = tuple(map(_text, lines))
    if status >= 300:
        response.location = _text(get(hdrs.LOCATION, ""), MAX_HEADER_BYTES)
        wait = _text(get(hdrs.RETRY_AFTER, ""))
        response.retry_after = by_its_own_clock(wait, get(hdrs.DATE, ""))


def _text(value: str, max_chars: int = MAX_VALUE_CHARS) -> str:
    """Return a header value without lone surrogates.

    aiohttp decodes UTF-8 and escapes other bytes, which are read as Latin-1 (RFC 9110
    5.5: obs-text is opaque, historically ISO-8859-1).
    """
    if not value.isascii():
        octets = value.encode("utf-8", "surrogateescape")
        try:
            value = octets.decode("utf-8")
        except UnicodeDecodeError:
            value = octets.decode("latin-1")
    return value[:max_chars]


@lru_cache(maxsize=1024)
def parse_content_type(value: str) -> tuple[str, str]:
    """Return media type and charset of a `Content-Type`, in lower case.

    >>> parse_content_type('Text/Turtle ; q=1; Charset="UTF-8"')
    ('text/turtle', 'utf-8')
    """
    media_type, *parameters = _text(value).split(";")
    charset = ""
    for parameter in parameters:
        name, _, content = parameter.partition("=")
        if name.strip().lower() == "charset":
            charset = content.strip().strip("\"'").lower()
            break
    return media_type.strip().lower(), charset
