"""A small HTTP server for strangers: connections are few, and all end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

_MAX_CONNECTIONS: Final = 100
_CONNECTION_SECS: Final = 15.0  # from its begin to its end


class SmallServer:
    """Server of one function from requests to responses."""

    def __init__(
        self, answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
    ) -> None:
        self._server: asyncio.Server | None = None
        self._handlers = web.Server(
            answer, keepalive_timeout=0, access_log=None, max_line_size=8190
        )

    async def open(self, host: str, port: int) -> int:
        """Listen; return the port.

        Raises:
            OSError: the address cannot be used.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connected, host, port)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Answer what is under way, and listen no more."""
        if self._server is not None:
            self._server.close()
        await self._handlers.shutdown(1.0)

    def _connected(self) -> asyncio.Protocol:
        """Return the handler of a new connection, which ends in any case."""
        if len(self._handlers.connections) >= _MAX_CONNECTIONS:
            return _Refusal()
        handler = self._handlers()
        asyncio.get_running_loop().call_later(_CONNECTION_SECS, handler.force_close)
        return handler


class _Refusal(asyncio.Protocol):
    """A connection beyond the allowed number."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close the connection at once."""
        transport.close()
