"""HTTP servers for untrusted clients: few connections, all with a time limit."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from aiohttp import web

_MAX_CONNECTIONS: Final = 100
_CONNECTION_SECS: Final = 15.0  # from start to end
_UNREAD_MS: Final = 20_000  # for a client that does not read the response
_BEGIN_SECS: Final = 1.0  # after which a connection has a socket


class BoundedConnections:
    """Creates the handlers of connections, with limits of number and time.

    Args:
        handlers: of aiohttp; its `keepalive_timeout` is the time for a request's head.
        most: number of connections; further ones are closed.
        secs: from start to end of a connection; None: no limit.
    """

    def __init__(self, handlers: web.Server, most: int, secs: float | None) -> None:
        self._handlers = handlers
        self._most = most
        self._secs = secs

    def __call__(self) -> asyncio.Protocol:
        """Return the handler of a new connection."""
        if len(self._handlers.connections) >= self._most:
            return _Refusal()
        handler = self._handlers()
        loop = asyncio.get_running_loop()
        if self._secs is not None:
            loop.call_later(self._secs, handler.force_close)
        else:
            loop.call_later(_BEGIN_SECS, _end_unread, handler)
        return handler


def _end_unread(handler: web.RequestHandler) -> None:
    """Let the system end a connection whose client reads nothing for a while."""
    transport = handler.transport
    found = transport and transport.get_extra_info("socket")
    if found and hasattr(socket, "TCP_USER_TIMEOUT"):
        with suppress(OSError):
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_MS)


class SmallServer:
    """Server of one function from requests to responses."""

    def __init__(
        self, respond: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
    ) -> None:
        self._server: asyncio.Server | None = None
        self._handlers = web.Server(
            respond, keepalive_timeout=0, access_log=None, max_line_size=8190
        )

    async def open(self, host: str, port: int) -> int:
        """Listen; return the port.

        Raises:
            OSError: the address cannot be used.
        """
        loop = asyncio.get_running_loop()
        connected = BoundedConnections(
            self._handlers, _MAX_CONNECTIONS, _CONNECTION_SECS
        )
        self._server = await loop.create_server(connected, host, port)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop listening, and finish current requests."""
        if self._server is not None:
            self._server.close()
        await self._handlers.shutdown(1.0)


class _Refusal(asyncio.Protocol):
    """A connection beyond the allowed number."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close the connection."""
        transport.close()
