"""Connections that send requests in their turns.

If hosts share a delay by address, the turn's address is used, even if name servers
meanwhile return another.
"""

from __future__ import annotations

import socket
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import aiohttp

from rdfcrawl.downloader.client import HttpClient, HttpResponse, RequestOptions
from rdfcrawl.frontier.request_turns import FREE, NotSentError, SoloTurn
from rdfcrawl.uri import host_of
from rdfcrawl.uri.guard.resolver import GuardedResolver, resolved

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from aiohappyeyeballs import AddrInfoType
    from aiohttp import ClientRequest, ClientTimeout
    from aiohttp.abc import ResolveResult
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

    from rdfcrawl.downloader.spool import Spool

SILENT_SECS: Final = 300.0  # for so long, a silent address is tried last
MAX_OTHERS: Final = 4  # kept connections to other addresses of a host
MAX_SILENT: Final = 10_000
# The turn of the current task's request.
connecting_for: Final[ContextVar[SoloTurn]] = ContextVar("connecting_for", default=FREE)


# The sockets opened by the current attempt to connect.
_opened: Final[ContextVar[list[socket.socket]]] = ContextVar("opened")


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
