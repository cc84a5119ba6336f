"""A worker that loads contexts of JSON-LD."""

from __future__ import annotations

from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.downloader.contexts.cache import SharedContexts
from rdfcrawl.downloader.contexts.download import (
    ContextDownloader,
    ContextHosts,
    ContextOptions,
)
from rdfcrawl.downloader.contexts.store import ContextStore
from rdfcrawl.downloader.http.exchange import HttpExchange
from rdfcrawl.downloader.robots.cache import RobotsCache, RobotsOptions
from rdfcrawl.downloader.robots_txt import RobotsFetch
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.uri.guard.gate import ConnectionGate
from rdfcrawl.uri.guard.policy import Guard, parse_networks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from redis.asyncio import Redis

    from rdfcrawl.downloader.options import FetchOptions
    from rdfcrawl.rdf.environment import ContextDocument
    from tests.conftest import RawRequest

    MakeOptions = Callable[..., FetchOptions]

CONTEXT = b'{"@context": {"name": "http://schema.org/name"}}'
LD = "application/ld+json"
HTML = b"<!DOCTYPE html><html><head><title>schema</title>"
ELSEWHERE = "http://elsewhere.example/page"
# Servers on 127.0.0.1 stand for the public web, all else of loopback is private.
PUBLIC = Guard(parse_networks(["127.0.0.1"]))
PRIVATE = "127.0.0.2"
FAST = ContextOptions(delay_secs=0.0, load_secs=60.0, timeout_secs=30.0)
STALE = replace(FAST, fresh_secs=-1.0)


class Worker:
    """A store and its counters."""

    def __init__(self, store: ContextStore, counts: Counter[str]) -> None:
        self.store = store
        self.counts = counts

    async def load(self, url: str, of: str = ELSEWHERE) -> ContextDocument:
        """Return a context."""
        return await self.store.load(url, document_url=of)

    async def refusal(self, url: str, of: str = ELSEWHERE) -> str:
        """Return why a context is unavailable."""
        with pytest.raises(SourceFault) as raised:
            await self.load(url, of)
        assert raised.value.fault.reason is Reason.REMOTE_CONTEXT
        return raised.value.fault.detail


@asynccontextmanager
async def worker(
    fetch: FetchOptions,
    options: ContextOptions = FAST,
    *,
    redis: Redis | None = None,
    has_robots: bool = False,
    hosts: ContextHosts | None = None,
) -> AsyncIterator[Worker]:
    """Open a store as a worker has it, and check that no body is left."""
    fetch = replace(fetch, guard=PUBLIC)
    counts: Counter[str] = Counter()

    def count(what: str) -> None:
        counts[what] += 1

    shared = None
    if redis is not None:
        shared = SharedContexts(redis, "rc:{{c}}:{}".format, count=count)
    with Spool(fetch.spool_dir, memory_limit_bytes=1 << 22) as spool:
        async with HttpExchange(
            fetch, spool, gate=ConnectionGate(fetch.guard)
        ) as exchange:
            robots = None
            if has_robots:
                get = RobotsFetch(exchange, spool, fetch)
                robots = RobotsCache(get, RobotsOptions())
            download = ContextDownloader(
                exchange=exchange,
                robots=robots,
                spool=spool,
                fetch=fetch,
                options=options,
                hosts=hosts or ContextHosts(),
            )
            store = ContextStore(download, options, shared=shared, count=count)
            yield Worker(store, counts)
            await store.close()
        assert spool.memory_bytes == 0
        assert not list(spool.folder.iterdir())


def moved(location: str) -> bytes:
    """Return a redirect."""
    head = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
    return head.encode()


def endless(request: RawRequest) -> bytes:
    """Redirect to a URL that was not requested yet."""
    return moved(f"{request.target}x")


def response(body: bytes, media_type: str = LD, status: str = "200 OK") -> bytes:
    """Return a response."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
