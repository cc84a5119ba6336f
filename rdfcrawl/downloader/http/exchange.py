"""One request over a kept-alive connection, within all limits."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final, Self

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
from rdfcrawl.downloader.http.connections import ConnectionPool, ServerDialer
from rdfcrawl.downloader.http.protocol import ResponseProtocol
from rdfcrawl.downloader.http.receiving import ResponseReceiver, codings_of
from rdfcrawl.downloader.http.request_heads import RequestHeads
from rdfcrawl.downloader.network_faults import (
    ConnectionFailure,
    ConnectionLost,
    note_failure,
)
from rdfcrawl.downloader.options import ACCEPT_ENCODING, FetchOptions
from rdfcrawl.downloader.retry_policy import by_its_own_clock
from rdfcrawl.downloader.watch import EventBudget, WatchedExchange, WatchedTransfer
from rdfcrawl.frontier.request_turns import FREE, NotSentError, SoloTurn
from rdfcrawl.uri.guard.gate import ConnectionGate
from rdfcrawl.uri.guard.resolver import GuardedResolver, NameResolver

if TYPE_CHECKING:
    from multidict import MultiMapping

    from rdfcrawl.downloader.http.bodies import BodyReader
    from rdfcrawl.downloader.http.parsing import ReceivedHead
    from rdfcrawl.downloader.local_failures import ClockCheck, KnownNames
    from rdfcrawl.downloader.spool import Spool

# An unwanted body is drained up to here, to keep the connection; a longer one is
# cheaper to cut off.
SKIP_BYTES: Final = 64 * 1024
# Linked Data servers send `Link` headers of many kilobytes.
MAX_HEADER_BYTES: Final = 64 * 1024
MAX_RESERVATION_HEADERS: Final = 100  # lines of one name
MAX_VALUE_CHARS: Final = 1024  # of a validator kept for provenance
_MEDIA_TYPE: Final = re.compile(r"""[\s"',]*+([^\s"',;]*+)""")
_CHARSET: Final = re.compile(r"""[\s;,]charset\s*+=\s*+["']?\s*+([^\s"',;]++)""")


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
        self._names = GuardedResolver(names, gate)
        dialer = ServerDialer(
            self._names,
            gate,
            partial(self._protocol_class(), EventBudget()),
            connect_secs=options.connect_secs,
            verifies=options.verify_certificates,
        )
        self._pool = ConnectionPool(
            dialer, options.keep_alive_secs, options.idle_connections
        )
        self._heads = RequestHeads(
            {"User-Agent": options.user_agent, "Accept-Encoding": ACCEPT_ENCODING}
        )

    def _protocol_class(self) -> type[ResponseProtocol]:
        if not self.is_recorded:
            return ResponseProtocol
        from rdfcrawl.downloader.http.recording import (  # noqa: PLC0415  (of few crawls)
            RecordingProtocol,
        )

        return RecordingProtocol

    async def close(self) -> None:
        """Close all connections."""
        await super().close()
        await self._pool.close()
        await self._names.close()

    async def get(
        self, url: str, options: RequestOptions, turn: SoloTurn = FREE
    ) -> HttpResponse:
        """See `HttpClient.get`."""
        response = HttpResponse()
        with self._watch.watching(url, options, response, note_failure) as transfer:
            if not options.is_resumable:
                await self._fetch(url, options, turn, response, transfer)
                return response
            receiver = self._receiver(url, options, response, transfer)
            try:
                await self._fetch(
                    url, receiver.options, turn, response, transfer, receiver
                )
            finally:
                receiver.end()
        return response

    def _receiver(
        self,
        url: str,
        options: RequestOptions,
        response: HttpResponse,
        transfer: WatchedTransfer,
    ) -> ResponseReceiver:
        max_ratio = self.options.max_ratio
        return ResponseReceiver(
            self.spool, url, options, response, transfer, max_ratio=max_ratio
        )

    async def _fetch(
        self,
        url: str,
        options: RequestOptions,
        turn: SoloTurn,
        response: HttpResponse,
        transfer: WatchedTransfer,
        receiver: ResponseReceiver | None = None,
    ) -> None:
        """Send a request, and receive the response; `receiver` resumes a part."""
        server, request = self._heads.request_for(url, options)
        connection = await self._pool.connect(server, turn)
        try:
            head = await _response_head(connection, request, options)
            transfer.has_headers = True
            if self.clock is not None:
                self.clock.note(url, head.headers)
            status = head.status
            headers: MultiMapping[str] = head.headers
            if receiver is not None:
                status, headers = receiver.begin(head)
            note_headers(response, status, headers, options.kept_headers)
            body = connection.body
            if not 200 <= status < 300:
                response.error_body = await _error_body(head, body)
                return
            if options.unread is not None:
                await _check_type(url, options.unread, response, head, body)
            if receiver is None:
                if self._take_small_body(head, body, options, response, transfer):
                    return
                receiver = self._receiver(url, options, response, transfer)
            await receiver.body(head, body, headers)
        finally:
            # Once the body has been read to its end, the connection returns to the
            # pool; otherwise it cannot be reused.
            self._pool.put_back(connection)

    def _take_small_body(
        self,
        head: ReceivedHead,
        body: BodyReader,
        options: RequestOptions,
        response: HttpResponse,
        transfer: WatchedTransfer,
    ) -> bool:
        """Take a small body that arrived with its headers; return whether it was one.

        This avoids a buffer in the most frequent case.
        """
        n_bytes = body.total_bytes
        if not body.is_eof() or n_bytes > options.max_bytes or codings_of(head.headers):
            return False
        if not self.spool.holds(n_bytes, options):
            return False
        self.spool.memory_bytes += n_bytes
        transfer.n_bytes += n_bytes
        response.n_bytes = n_bytes
        response.body = body.read_nowait()
        return True


async def _response_head(
    connection: ResponseProtocol, request: bytes, options: RequestOptions
) -> ReceivedHead:
    """Return the head of the response to a request.

    Raises:
        SourceFault: `BAD_HTTP`: it is not a response.
        ConnectionLost: there was none.
        NotSentError: the server had closed a kept connection. The request is safe to
            repeat (RFC 9110 9.2.2), in its turn.
    """
    try:
        return await connection.send(request)
    except ConnectionLost as exc:
        if connection.is_stale and not options.data:
            raise NotSentError from exc
        raise


async def _check_type(
    url: str,
    unread: UnreadTypes,
    response: HttpResponse,
    head: ReceivedHead,
    body: BodyReader,
) -> None:
    """Raise `UnreadBody` for a body that no parser reads.

    A short one is received, to reuse the connection.
    """
    try:
        unread.check(url, response.media_type)
    except UnreadBody:
        length = head.headers.get("Content-Length", "")
        if length.isdecimal() and int(length[:9]) <= DRAINED_BYTES:
            await _skip(body)
        raise


async def _error_body(head: ReceivedHead, body: BodyReader) -> bytes:
    """Drain the body of another status; return the begin of an error, decoded."""
    begin = await _skip(body)
    if head.status < 400:
        return b""
    return _decoded_begin(begin, head.headers.get("Content-Encoding", ""))


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
    except (ConnectionFailure, SourceFault):
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
    if value := get("Content-Type"):
        response.media_type, response.charset = parse_content_type(value)
    if value := get("ETag"):
        response.etag = _text(value)
    if value := get("Last-Modified"):
        response.last_modified = _text(value)
    if value := get("Cache-Control"):
        response.cache_control = _text(value)
    if "Link" in headers:
        value = ", ".join(headers.getall("Link"))
        response.http_links = _text(value, MAX_HEADER_BYTES)
    if kept:
        response.headers = tuple((x, _text(get(x, ""))) for x in kept)
    if ROBOTS_TAG in headers or TDM_RESERVATION in headers:
        response.reservation_headers = tuple(
            (name, _text(value))
            for name in (ROBOTS_TAG, TDM_RESERVATION, TDM_POLICY)
            for value in headers.getall(name, [])[:MAX_RESERVATION_HEADERS]
        )
    if "Set-Cookie" in headers:
        lines = headers.getall("Set-Cookie")[:MAX_COOKIES]
        response.cookies = tuple(map(_text, lines))
    if status >= 300:
        response.location = _text(get("Location", ""), MAX_HEADER_BYTES)
        wait = _text(get("Retry-After", ""))
        response.retry_after = by_its_own_clock(wait, get("Date", ""))


def _text(value: str, max_chars: int = MAX_VALUE_CHARS) -> str:
    """Return a header value without lone surrogates.

    Heads are decoded as UTF-8; escaped bytes are read as Latin-1 (RFC 9110 5.5:
    obs-text is opaque, historically ISO-8859-1).
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

    Of several values that a proxy has joined by commas, the first counts. A semicolon
    may be missing.

    >>> parse_content_type('Text/Turtle ; q=1; Charset="UTF-8"')
    ('text/turtle', 'utf-8')
    """
    text = _text(value).lower()
    media_type, charset = _MEDIA_TYPE.match(text), _CHARSET.search(text)
    return media_type[1] if media_type else "", charset[1] if charset else ""
