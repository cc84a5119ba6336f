"""A server of generated documents, on all loopback addresses.

It has its answers in memory, so that it takes little of the CPU that a crawler needs.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING, Final, cast

import uvloop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Documents = dict[str, tuple[str, bytes]]

_MISSING: Final = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
_ROBOTS: Final = b"User-agent: *\nCrawl-delay: 0\nDisallow: /private/\n"


@contextmanager
def served(make: Callable[[int], Documents], *, port: int = 0) -> Iterator[Documents]:
    """Serve documents in another process while the context is open.

    Args:
        make: called with the port, returns URL to media type and body, or to nothing
            and the target of a redirect. Hosts are addresses of 127.0.0.0/8; each has a
            robots.txt.
        port: of all hosts, or 0 for a free one.
    """
    listener = socket.create_server(("0.0.0.0", port), backlog=4096)
    documents = make(listener.getsockname()[1])
    answers = {
        url.removeprefix("http://").encode(): _answer(*document)
        for url, document in documents.items()
    }
    # Of a benchmark that is a spawned process itself, too.
    process = get_context("fork").Process(target=_run, args=(listener, answers))
    process.start()
    listener.close()
    try:
        yield documents
    finally:
        process.terminate()
        process.join()


def free_port() -> int:
    """Return a port that nothing listens at."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def host(number: int, port: int) -> str:
    """Return the begin of the URLs of a host, by its number below 60,000."""
    return f"http://127.77.{number // 250}.{number % 250 + 1}:{port}"


class _Protocol(asyncio.Protocol):
    """Answers each request of a connection, in order."""

    def __init__(self, answers: dict[bytes, bytes]) -> None:
        self._answers = answers
        self._robots = _answer("text/plain", _ROBOTS)
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        address, port = transport.get_extra_info("sockname")[:2]
        self._host = f"{address}:{port}".encode()

    def data_received(self, data: bytes) -> None:
        *heads, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for head in heads:
            path = head.split(b" ", 2)[1]
            answer = self._answers.get(self._host + path, _MISSING)
            self._transport.write(self._robots if path == b"/robots.txt" else answer)


def _answer(media_type: str, body: bytes) -> bytes:
    if not media_type:
        head = b"HTTP/1.1 301 Moved Permanently\r\nContent-Length: 0\r\nLocation: "
        return head + body + b"\r\n\r\n"
    fields = (
        f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\n"
        'ETag: "5f3-1"\r\nLast-Modified: Sat, 01 Jan 2022 00:00:00 GMT\r\n'
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return fields.encode() + body


def _run(listener: socket.socket, answers: dict[bytes, bytes]) -> None:
    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Protocol(answers), sock=listener)
        await server.serve_forever()

    uvloop.run(serve())
