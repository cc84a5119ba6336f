"""Requests over the pool of connections, prepared once per host.

A client library merges headers, cookies, redirects, traces and timers for each request,
and splits its URL, which costs as much as the network. Consecutive plain GETs differ
only in their paths. The pool of connections is aiohttp's.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.frontier.request_turns import NotSentError

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ConnectionKey
    from aiohttp.connector import Connection
    from multidict import MultiMapping

    from rdfcrawl.downloader.client import RequestOptions
    from rdfcrawl.downloader.http.body import BodyReader
    from rdfcrawl.downloader.http.protocol import ResponseProtocol

# Other URLs need a slower parser.
_PLAIN: Final = re.compile(
    r"(https?://(?:[A-Za-z0-9.\-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]+)?)(/[!-\"$-~]*)"
)
_NOT_IN_TARGET: Final = re.compile(r"[\x00-\x20\x7f]")
_NOT_IN_HEADER: Final = re.compile(r"[\x00-\x08\n-\x1f\x7f]")
_MAX_PREPARED: Final = 1024


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
