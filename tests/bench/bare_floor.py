"""The floor of a crawler in Python: a protocol of uvloop, pyoxigraph and a set.

One connection per host, responses with `Content-Length` alone, no robots.txt, no
limits, nothing stored: `python -m tests.bench.bare_floor SEEDS` prints documents, CPU
seconds and peak memory in MB, as `bare_crawl` does for the same work.
"""

from __future__ import annotations

import asyncio
import re
import resource
import sys
from pathlib import Path
from typing import cast

import pyoxigraph as ox
import uvloop

_LINK = re.compile(rb"<(https?://[^>#]*)")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_HEAD_END = b"\r\n\r\n"


class FloorCrawler:
    """Follows all links of a web of N-Triples."""

    def __init__(self) -> None:
        self.n_documents = 0
        self._seen: set[bytes] = set()
        self._hosts: dict[bytes, _Host] = {}
        self._n_open = 0
        self._is_over = asyncio.Event()

    async def run(self, seeds: list[bytes]) -> None:
        """Crawl to the end."""
        for seed in seeds:
            self.push(seed)
        await self._is_over.wait()

    def push(self, url: bytes) -> None:
        """Queue a URL that was not seen yet."""
        if url in self._seen:
            return
        self._seen.add(url)
        self._n_open += 1
        name, _, path = url[7:].partition(b"/")
        if name not in self._hosts:
            self._hosts[name] = _Host(self, name)
        self._hosts[name].push(path)

    def read(self, url: bytes, body: bytes | None) -> None:
        """Parse a document, write its statements and follow its links."""
        if body is not None:
            triples = ox.parse(
                body, format=ox.RdfFormat.N_TRIPLES, base_iri=url.decode()
            )
            quads = ox.serialize(triples, format=ox.RdfFormat.N_QUADS) or b""
            self.n_documents += 1
            for link in set(_LINK.findall(quads)):
                self.push(link)
        self._n_open -= 1
        if not self._n_open:
            self._is_over.set()


class _Host(asyncio.Protocol):
    """A host with one connection, which asks for one document after another."""

    def __init__(self, floor: FloorCrawler, name: bytes) -> None:
        self._floor, self._name = floor, name
        self._paths: list[bytes] = []
        self._asked: bytes | None = None
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._end = b" HTTP/1.1\r\nHost: %s\r\nAccept: application/n-triples" % name
        address, _, port = name.decode().partition(":")
        loop = asyncio.get_running_loop()
        self._opening = loop.create_task(
            loop.create_connection(lambda: self, address, int(port or 80))
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._ask()

    def push(self, path: bytes) -> None:
        self._paths.append(path)
        self._ask()

    def _ask(self) -> None:
        if self._transport and self._asked is None and self._paths:
            self._asked = self._paths.pop()
            self._transport.write(b"GET /" + self._asked + self._end + _HEAD_END)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(_HEAD_END)
        length = _LENGTH.search(self._buffer, 0, end) if end >= 0 else None
        if length is None or len(self._buffer) < end + 4 + int(length[1]):
            return
        is_found = self._buffer[9:12] == b"200"
        body, self._buffer = self._buffer[end + 4 :] if is_found else None, b""
        path, self._asked = self._asked or b"", None
        self._floor.read(b"http://%s/%s" % (self._name, path), body)
        self._ask()


async def _crawl(seeds: list[bytes]) -> int:
    floor = FloorCrawler()
    await floor.run(seeds)
    return floor.n_documents


def main() -> None:
    """Crawl from a file of seeds."""
    n_documents = uvloop.run(_crawl(Path(sys.argv[1]).read_bytes().split()))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(n_documents, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


if __name__ == "__main__":
    main()
