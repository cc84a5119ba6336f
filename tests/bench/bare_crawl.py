"""The reference of `bench_crawl`: a bare loop of aiohttp, pyoxigraph and a set.

No robots.txt, no delay, no limits, nothing stored: `python -m tests.bench.bare_crawl
SEEDS` prints documents, CPU seconds and peak memory in MB.
"""

from __future__ import annotations

import asyncio
import re
import resource
import sys
from collections import defaultdict, deque
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pyoxigraph as ox
import uvloop

_LINK = re.compile(rb"<(https?://[^>#]*)")
_AT_ONCE = 64
_BATCH = 20


class BareCrawl:
    """Follows all links of a web of N-Triples, one host at a time per task."""

    def __init__(self, seeds: list[str]) -> None:
        self.n_documents = 0
        self._queues: dict[str, deque[str]] = defaultdict(deque)
        self._ready: asyncio.Queue[str] = asyncio.Queue()
        self._seen: set[bytes] = set()
        self._busy: set[str] = set()
        self._n_open = 0
        self._over = asyncio.Event()
        for seed in seeds:
            self._push(seed.encode())

    async def run(self) -> None:
        """Crawl to the end."""
        connector = aiohttp.TCPConnector(limit=0)
        headers = {"Accept": "application/n-triples"}
        async with aiohttp.ClientSession(connector=connector, headers=headers) as s:
            tasks = [asyncio.create_task(self._work(s)) for _ in range(_AT_ONCE)]
            await self._over.wait()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _push(self, url: bytes) -> None:
        if url in self._seen:
            return
        self._seen.add(url)
        self._n_open += 1
        text = url.decode()
        host = urlsplit(text).netloc
        queue = self._queues[host]
        queue.append(text)
        if len(queue) == 1 and host not in self._busy:
            self._ready.put_nowait(host)

    async def _work(self, session: aiohttp.ClientSession) -> None:
        while True:
            host = await self._ready.get()
            self._busy.add(host)
            queue = self._queues[host]
            for _ in range(min(_BATCH, len(queue))):
                await self._fetch(session, queue.popleft())
                self._n_open -= 1
            self._busy.discard(host)
            if queue:
                self._ready.put_nowait(host)
            if self._n_open == 0:
                self._over.set()

    async def _fetch(self, session: aiohttp.ClientSession, url: str) -> None:
        async with session.get(url) as response:
            body = await response.read()
        if response.status != 200:
            return
        triples = ox.parse(body, format=ox.RdfFormat.N_TRIPLES, base_iri=url)
        quads = ox.serialize(triples, format=ox.RdfFormat.N_QUADS) or b""
        self.n_documents += 1
        for link in set(_LINK.findall(quads)):
            self._push(link)


def main() -> None:
    """Crawl from a file of seeds."""
    crawl = BareCrawl(Path(sys.argv[1]).read_text().split())
    uvloop.run(crawl.run())
    usage = resource.getrusage(resource.RUSAGE_SELF)
    secs = usage.ru_utime + usage.ru_stime
    print(crawl.n_documents, secs, usage.ru_maxrss / 1024)


if __name__ == "__main__":
    main()
