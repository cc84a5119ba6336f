"""GETs as a crawl makes them by the thousand: prepared once per host.

What aiohttp's session does for each request (merging headers, cookies, redirects,
traces, timers, splitting the URL) costs as much as all of the network; of a plain GET
only the path differs from the one before. The pool of connections is aiohttp's, and so
is the reader of answers.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

import aiohttp
from aiohttp.helpers import TimerNoop
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ConnectionKey
    from aiohttp.connector import Connection
    from multidict import MultiMapping

# All others are left to the session, which knows what to do with odd ones.
_PLAIN: Final = re.compile(
    r"(https?://(?:[A-Za-z0-9.\-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]+)?)(/[!-\"$-~]*)"
)
_NOT_IN_HEADER: Final = re.compile(r"[\x00-\x08\n-\x1f\x7f]")
_MAX_PREPARED: Final = 1024
_SWITCHING: Final = 101


class PlainResponse:
    """An answer whose headers are there; end it with `close`."""

    def __init__(
        self,
        status: int,
        headers: MultiMapping[str],
        content: aiohttp.StreamReader,
        connection: Connection,
    ) -> None:
        self.status, self.headers = status, headers
        self.content, self.connection = content, connection

    @property
    def closed(self) -> bool:
        """Whether the connection is given back."""
        return self.connection.protocol is None

    def close(self) -> None:
        """Release the connection if the body is complete; else close the connection."""
        if self.content.is_eof():
            self.connection.release()
        else:
            self.connection.close()


class _Prepared(aiohttp.ClientRequest):
    """The part of requests that is the same for all to a host."""

    head: bytes

    @cached_property
    def connection_key(self) -> ConnectionKey:
        """See `aiohttp.ClientRequest`."""
        return super().connection_key


@dataclass(eq=False)
class PlainGets:
    """GETs without a body, over the pool of a session."""

    session: aiohttp.ClientSession
    headers: Mapping[str, str]  # of all requests, but for `Accept`
    timeout: aiohttp.ClientTimeout
    max_header_bytes: int  # of a line of the answer

    def __post_init__(self) -> None:
        self._timer = TimerNoop()
        self._prepared = lru_cache(maxsize=_MAX_PREPARED)(self._prepare)

    async def get(self, url: str, accept: str) -> PlainResponse | None:
        """Return the response; None if the request is not plain.

        Raises:
            aiohttp.ClientError: there is none.
        """
        parts = _PLAIN.fullmatch(url)
        if parts is None:
            return None
        origin, path = parts.groups()
        prepared = self._prepared(origin, accept)
        if prepared is None:
            return None
        connection = await self._connect(prepared)
        try:
            return await self._ask(connection, prepared, path)
        except BaseException:
            connection.close()
            raise

    def _prepare(self, origin: str, accept: str) -> _Prepared | None:
        headers = {**self.headers, "Accept": accept}
        if any(map(_NOT_IN_HEADER.search, headers.values())):
            return None
        try:
            url = URL(f"{origin}/", encoded=True)
            _ = url.port
        except ValueError:
            return None
        prepared = _Prepared(
            "GET",
            url,
            headers=headers,
            loop=asyncio.get_running_loop(),
            session=self.session,
        )
        lines = (f"{name}: {value}\r\n" for name, value in prepared.headers.items())
        prepared.head = f" HTTP/1.1\r\n{''.join(lines)}\r\n".encode()
        return prepared

    async def _connect(self, prepared: _Prepared) -> Connection:
        connector = self.session.connector
        if connector is None:
            raise aiohttp.ClientConnectionError("the pool is closed")
        try:
            return await connector.connect(prepared, traces=[], timeout=self.timeout)
        except TimeoutError as exc:
            text = f"Connection timeout to host {prepared.url}"
            raise aiohttp.ConnectionTimeoutError(text) from exc

    async def _ask(
        self, connection: Connection, prepared: _Prepared, path: str
    ) -> PlainResponse:
        protocol, transport = connection.protocol, connection.transport
        if protocol is None or transport is None or transport.is_closing():
            raise aiohttp.ClientConnectionResetError("the connection was closed")
        protocol.set_response_params(
            timer=self._timer,
            read_until_eof=True,
            auto_decompress=False,
            max_line_size=self.max_header_bytes,
            max_field_size=self.max_header_bytes,
        )
        transport.write(b"GET " + path.encode() + prepared.head)
        try:
            while True:
                message, content = await protocol.read()
                # RFC 9110 15.2: any number of interim answers may come before.
                if not 100 <= message.code < 200 or message.code == _SWITCHING:
                    break
        except HttpProcessingError as exc:
            raise aiohttp.ClientResponseError(
                prepared.request_info,
                (),
                status=exc.code,
                message=exc.message,
                headers=exc.headers,
            ) from exc
        return PlainResponse(message.code, message.headers, content, connection)
