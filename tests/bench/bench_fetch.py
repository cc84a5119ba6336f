"""CPU per small response: `HttpExchange` against the barest aiohttp loop.

Run: `python -m tests.bench.bench_fetch [requests] [rounds]`. The server is a separate
process on loopback; both clients run in turns in this one.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

import aiohttp
import uvloop

from rdfcrawl.core.records import Kind, Record
from rdfcrawl.core.visits import Visit
from rdfcrawl.downloader.http.exchange import HttpExchange
from rdfcrawl.downloader.options import FetchOptions
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.downloader.visit import VisitMaker
from rdfcrawl.uri.guard.policy import Guard, parse_networks
from tests.bench.figures import Figure, judge

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

BODY = b"<http://example.org/s> <http://example.org/p> <http://example.org/o> .\n" * 25
HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/turtle; charset=utf-8\r\n"
    b'ETag: "5f3-1"\r\nLast-Modified: Sat, 01 Jan 2022 00:00:00 GMT\r\n'
    b"Content-Length: %d\r\n\r\n" % len(BODY)
)
WORKERS = 16


class Server(asyncio.Protocol):
    """Answers every request with the same small document."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Respond to the end of a request head."""
        self.transport.write((HEAD + BODY) * data.count(b"\r\n\r\n"))


async def serve() -> None:
    """Listen on a free port and say which."""
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def cpu_ms(n_requests: int, get: Callable[[int], Awaitable[None]]) -> float:
    """Return CPU ms per request of this process."""

    async def worker(first: int) -> None:
        for number in range(first, n_requests, WORKERS):
            await get(number)

    began = time.process_time()
    await asyncio.gather(*(worker(first) for first in range(WORKERS)))
    return (time.process_time() - began) * 1000 / n_requests


async def compare(port: int, n_requests: int, n_rounds: int) -> list[Figure]:
    """Return medians of all rounds, in units of the bare loop."""
    base = f"http://127.0.0.1:{port}/resource/"
    figures: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        options = FetchOptions(
            user_agent="bench",
            spool_dir=Path(folder),
            guard=Guard(parse_networks(["127.0.0.1"])),
        )
        with Spool(options.spool_dir, memory_limit_bytes=1 << 26) as spool:
            async with (
                aiohttp.ClientSession(
                    connector=aiohttp.TCPConnector(limit=0),
                    cookie_jar=aiohttp.DummyCookieJar(),
                ) as session,
                HttpExchange(options, spool) as exchange,
            ):
                ask = options.request_options(Kind.PAGE)

                async def bare(number: int) -> None:
                    async with session.get(f"{base}{number}") as response:
                        await response.read()

                async def ours(number: int) -> None:
                    answer = await exchange.get(f"{base}{number}", ask)
                    assert answer.n_bytes == len(BODY)
                    spool.release(answer)

                ways = {"bare": bare, "exchange": ours}
                for _ in range(n_rounds):
                    for name, get in ways.items():
                        figure = await cpu_ms(n_requests, get)
                        figures.setdefault(name, []).append(figure)
                visitor = VisitMaker(
                    exchange, spool, options, key_of=lambda _: "k", is_new=is_new
                )
                for _ in range(n_rounds):
                    figure = await cpu_ms(n_requests, visits(visitor, base))
                    figures.setdefault("visit", []).append(figure)
    medians = {name: statistics.median(values) for name, values in figures.items()}
    for name, values in figures.items():
        print(f"{name:10s} median {medians[name]:.4f} ms", end="  ")
        print("all", *(f"{value:.3f}" for value in values))
    return [
        Figure(name, medians[name] / medians["bare"], "x bare aiohttp")
        for name in ("exchange", "visit")
    ]


async def is_new(_: str) -> bool:
    """Answer for the frontier; nothing redirects here."""
    return True


def visits(visitor: VisitMaker, base: str) -> Callable[[int], Awaitable[None]]:
    """Return visits of 20 records at every 20th number."""

    async def visit_20(number: int) -> None:
        if number % 20:
            return
        records = tuple(Record(f"{base}{number + i}") for i in range(20))
        visit = Visit(key="k", partition=0, epoch=0, records=records, delay_secs=0.0)
        visit.pending = list(range(20))
        await visitor.visit(visit)
        for document in visit.documents:
            assert document.response.n_bytes == len(BODY)
            visitor.spool.release(document.response)

    return visit_20


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Start the server, compare, stop the server."""
    given = sys.argv[1:] if arguments is None else arguments
    if given == ["serve"]:
        uvloop.run(serve())
        return []
    n_requests, n_rounds = (int(arg) for arg in [*given, "4000", "5"][:2])
    command = [sys.executable, "-m", "tests.bench.bench_fetch", "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        try:
            return uvloop.run(compare(port, n_requests, n_rounds))
        finally:
            server.terminate()


if __name__ == "__main__":
    sys.exit(judge(main()))
