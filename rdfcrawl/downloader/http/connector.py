"""Connections that send requests in their turns, and requests prepared once per host.

If hosts share a delay by address, the turn's address is used, even if name servers
meanwhile return another.

A client library merges headers, cookies, redirects, traces and timers for each request,
and splits its URL, which costs as much as the network. Consecutive plain GETs differ
only in their paths. The pool of connections is aiohttp's.
"""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import aiohttp
from aiohappyeyeballs import AddrInfoType
from aiohttp import ClientRequest, ClientTimeout
from aiohttp.abc import ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey
from aiohttp.connector import Connection
from aiohttp.tracing import Trace
from multidict import CIMultiDict, MultiMapping
from yarl import URL

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.downloader.client import HttpClient, HttpResponse, RequestOptions
from rdfcrawl.downloader.http.parsing import BodyReader
from rdfcrawl.downloader.http.protocol import ResponseProtocol
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.frontier.request_turns import FREE, NotSentError, SoloTurn
from rdfcrawl.uri import host_of
from rdfcrawl.uri.guard.resolver import GuardedResolver, resolved

SILENT_SECS: Final = 300.0  # for so long, a silent address is tried last
MAX_OTHERS: Final = 4  # kept connections to other addresses of a host
MAX_SILENT: Final = 10_000
# The turn of the current task's request.
connecting_for: Final[ContextVar[SoloTurn]] = ContextVar("connecting_for", default=FREE)


# The sockets opened by the current attempt to connect.
_opened: Final[ContextVar[list[socket.socket]]] = ContextVar("opened")
# Other URLs need a slower parser.
_PLAIN: Final = re.compile(
    r"(https?://(?:[A-Za-z0-9.\-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]+)?)(/[!-\"$-~]*)"
)
_NOT_IN_TARGET: Final = re.compile(r"[\x00-\x20\x7f]")
_NOT_IN_HEADER: Final = re.compile(r"[\x00-\x08\n-\x1f\x7f]")
_MAX_PREPARED: Final = 1024


class TurnConnector(aiohttp.TCPConnector):
    """Return a connection only while the turn of the request is valid.

    The caller writes the request without delay.

    Args:
        open_socket: opens a socket for an address; it may refuse.
        options: of `aiohttp.TCPConnector`.
    """

    def __init__(
        self, *, open_socket: Callable[[AddrInfoType], socket.socket], **options: Any
    ) -> None:
        super().__init__(socket_factory=self._open_socket, **options)
        self._open = open_socket

    def _open_socket(self, info: AddrInfoType) -> socket.socket:
        opened = self._open(info)
        _opened.get().append(opened)
        return opened

    async def _wrap_create_connection(
        self, *args: Any, **kwargs: Any
    ) -> tuple[asyncio.Transport, ResponseHandler]:
        """See `aiohttp.TCPConnector`, which has no public way to do this.

        uvloop closes the descriptors of its transports itself. A socket object attached
        too late would close the same number once more when freed, perhaps that of
        another connection.
        """
        opened: list[socket.socket] = []
        token, made = _opened.set(opened), None
        try:
            made = await super()._wrap_create_connection(*args, **kwargs)
        finally:
            _opened.reset(token)
            is_lost = made is None or made[0].is_closing()
            if is_lost and type(self._loop).__module__.startswith("uvloop"):
                for each in opened:
                    each.detach()
        return made

    async def connect(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: ClientTimeout,  # noqa: ASYNC109  (aiohttp's)
    ) -> Connection:
        """See `aiohttp.BaseConnector.connect`.

        Raises:
            NotSentError: the turn is over.
        """
        turn = connecting_for.get()
        connection = await super().connect(req, traces, timeout)
        n_others = 0
        while turn.address and _peer(connection) != turn.address:
            if n_others == MAX_OTHERS:
                break
            n_others += 1
            connection.close()  # a kept one, to another address of the host
            connection = await super().connect(req, traces, timeout)
        if not turn.is_good():
            connection.release()
            raise NotSentError
        turn.sent()
        return connection


class TurnNames(GuardedResolver):
    """Resolve a host to the address of the turn, if set."""

    async def look_up(
        self, host: str, port: int, family: socket.AddressFamily
    ) -> list[ResolveResult]:
        """See `GuardedResolver.look_up`."""
        address = connecting_for.get().address
        if not address:
            return await super().look_up(host, port, family)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [resolved(host, address, port, family)]


class OtherAddresses:
    """A client that tries further addresses of a host after a silent one.

    For a while, later requests then try the others first.
    """

    def __init__(self, exchange: HttpClient, spool: Spool) -> None:
        self._exchange = exchange
        self._spool = spool
        self._silent: dict[tuple[str, str], float] = {}  # host, address -> until

    async def get(
        self, url: str, options: RequestOptions, turn: SoloTurn = FREE
    ) -> HttpResponse:
        """See `HttpClient.get`."""
        place, now = (host_of(url), turn.address), time.monotonic()
        if self._silent.get(place, 0.0) > now:
            if not await turn.elsewhere(url) and not await turn.take_another():
                return HttpResponse(is_local_failure=True)
            return await self._exchange.get(url, options, turn)
        response = await self._exchange.get(url, options, turn)
        is_unanswered = (
            response.is_host_fault and not response.status and not turn.sent_at
        )
        if not (is_unanswered and turn.address and await turn.elsewhere(url)):
            return response
        if len(self._silent) >= MAX_SILENT:
            self._silent.clear()
        self._silent[place] = now + SILENT_SECS
        self._spool.release(response)
        return await self._exchange.get(url, options, turn)


def _peer(connection: Connection) -> str:
    transport = connection.transport
    if transport is None:
        return ""
    return str(transport.get_extra_info("peername", ("",))[0])


@dataclass(slots=True, eq=False)
class ReceivedResponse:
    """A response whose headers have arrived; end it with `close`."""

    status: int
    headers: MultiMapping[str]
    content: BodyReader
    _connection: Connection

    def close(self) -> None:
        """Release the connection if the body is complete; else close the connection."""
        if self.content.is_eof():
            self._connection.release()
        else:
            self._connection.close()


class _Prepared(aiohttp.ClientRequest):
    """The part of requests that is the same for a host."""

    head: bytes

    @cached_property
    def connection_key(self) -> ConnectionKey:
        """See `aiohttp.ClientRequest`."""
        return super().connection_key


@dataclass(eq=False)
class RequestSender:
    """Requests over the connections of a pool."""

    pool: aiohttp.BaseConnector
    headers: Mapping[str, str]  # of all requests, except `Accept`
    timeout: aiohttp.ClientTimeout

    def __post_init__(self) -> None:
        self._prepared = lru_cache(maxsize=_MAX_PREPARED)(self._prepare)

    async def send(self, url: str, options: RequestOptions) -> ReceivedResponse:
        """Return the response once its headers have arrived.

        Raises:
            aiohttp.ClientError: it failed.
            SourceFault: `BAD_URI`, or `BAD_HTTP`: the response is invalid.
            NotSentError: the server had closed a kept connection. The request is safe
                to repeat (RFC 9110 9.2.2), in its turn.
        """
        parts = _PLAIN.fullmatch(url)
        origin, path = parts.groups() if parts is not None else _split(url)
        prepared = self._prepared(origin, options.accept)
        if options.headers or options.data:
            request = _request(prepared, path, options)
        else:
            request = b"GET " + path.encode() + prepared.head
        connection = await self._connect(prepared)
        try:
            protocol: ResponseProtocol | Any = connection.protocol
            protocol.send(request)
            head, body = await protocol.response()
        except aiohttp.ClientConnectionError as exc:
            connection.close()
            if protocol.is_stale and not options.data:
                raise NotSentError from exc
            raise
        except BaseException:
            connection.close()
            raise
        return ReceivedResponse(head.status, head.headers, body, connection)

    def _prepare(self, origin: str, accept: str) -> _Prepared:
        headers = {**self.headers, "Accept": accept}
        try:
            url = URL(f"{origin}/", encoded=True)
            _ = url.port
        except ValueError as exc:
            raise SourceFault(Reason.BAD_URI, str(exc)) from exc
        loop = asyncio.get_running_loop()
        prepared = _Prepared("GET", url, headers=headers, loop=loop)
        prepared.head = _head(prepared.headers)
        return prepared

    async def _connect(self, prepared: _Prepared) -> Connection:
        try:
            return await self.pool.connect(prepared, traces=[], timeout=self.timeout)
        except TimeoutError as exc:
            text = f"Connection timeout to host {prepared.url}"
            raise aiohttp.ConnectionTimeoutError(text) from exc


def _split(url: str) -> tuple[str, str]:
    """Return origin and request target of a URL, byte for byte.

    Raises:
        SourceFault: `BAD_URI`: it cannot be requested.
    """
    try:
        target = URL(url, encoded=True)
        origin, user = target.origin(), target.raw_user
    except ValueError as exc:
        raise SourceFault(Reason.BAD_URI, str(exc)) from exc
    if user is not None:
        raise SourceFault(Reason.BAD_URI, "user information in the URI")
    path = target.raw_path_qs or "/"
    if url.endswith("?") and not path.endswith("?"):  # yarl drops an empty query
        path += "?"
    if target.scheme not in ("http", "https") or _NOT_IN_TARGET.search(path):
        raise SourceFault(Reason.BAD_URI, "not requestable by HTTP")
    return str(origin), path


def _request(prepared: _Prepared, path: str, options: RequestOptions) -> bytes:
    """Return a request with its own headers or a body."""
    headers = CIMultiDict(prepared.headers)
    headers.update(options.headers)
    if options.data:
        headers["Content-Length"] = str(len(options.data))
        headers.setdefault("Content-Type", "application/octet-stream")
    method = "POST " if options.data else "GET "
    return (method + path).encode() + _head(headers) + options.data


def _head(headers: Mapping[str, str]) -> bytes:
    lines = [f"{name}: {value}" for name, value in headers.items()]
    if any(map(_NOT_IN_HEADER.search, lines)):
        raise ValueError("a control character in a header of the request")
    return "\r\n".join([" HTTP/1.1", *lines, "", ""]).encode()
