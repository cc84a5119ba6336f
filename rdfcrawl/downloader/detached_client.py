"""Fetch one document for a command, like a crawl."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rdfcrawl.core.records import Document, Record
from rdfcrawl.core.visits import Visit
from rdfcrawl.downloader.client import HttpClient
from rdfcrawl.downloader.contexts.download import (
    ContextDownloader,
    ContextHosts,
    ContextOptions,
)
from rdfcrawl.downloader.contexts.store import ContextStore
from rdfcrawl.downloader.crawler_clients import SchemeExchange
from rdfcrawl.downloader.fetcher_exchange import FetcherExchange
from rdfcrawl.downloader.ftp.address import FtpLogins
from rdfcrawl.downloader.ftp.exchange import FtpExchange
from rdfcrawl.downloader.http.exchange import HttpExchange
from rdfcrawl.downloader.options import FetchOptions
from rdfcrawl.downloader.redirects import RedirectJudge
from rdfcrawl.downloader.robots.cache import RobotsCache, RobotsOptions
from rdfcrawl.downloader.robots_txt import RobotsFetch
from rdfcrawl.downloader.scheme_fetcher import SchemeFetcher
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.downloader.visit import VisitMaker
from rdfcrawl.frontier.queue.candidate import kind_of
from rdfcrawl.uri.guard.gate import ConnectionGate
from rdfcrawl.uri.hosts import origin_of


@dataclass(frozen=True, slots=True)
class DetachedClient:
    """Client that fetches single documents outside of a crawl."""

    options: FetchOptions
    spool: Spool
    exchange: HttpClient
    robots: RobotsCache | None
    contexts: ContextStore

    async def look_up(self, url: str) -> Document:
        """Return the document at a requestable URL, after redirects.

        The limits are those of a page or a dump; robots.txt is obeyed on each host.
        """
        visitor = VisitMaker(
            self.exchange,
            self.spool,
            self.options,
            key_of=origin_of,
            is_new=_is_new,
            hops=RedirectJudge(robots=self.robots),
        )
        record = Record(url, kind_of(url))
        while True:
            visit = Visit(
                key=origin_of(record.url),
                partition=0,
                epoch=0,
                records=(record,),
                delay_secs=0.0,
                failures=self.options.retry_times,
                is_only=True,
                pending=[0],
            )
            if self.robots is not None:
                await self.robots.apply(visit)
            if visit.pending:
                await visitor.visit(visit)
            document = visit.documents[-1]
            if not visit.outlinks:
                return document
            self.spool.release(document.response)
            record = visit.outlinks[0]


@asynccontextmanager
async def open_web(
    options: FetchOptions,
    folder: Path,
    *,
    robots_agent: str,
    logins: FtpLogins | None,
    fetchers: Mapping[str, SchemeFetcher],
) -> AsyncIterator[DetachedClient]:
    """Open a client for a block, with spool files below `folder`.

    Without `robots_agent`, the product token, robots.txt is ignored.
    """
    options = replace(options, spool_dir=folder / "spool")
    n_bytes = options.visit_memory_bytes
    gate = ConnectionGate(options.guard)
    async with AsyncExitStack() as stack:
        spool = stack.enter_context(
            Spool(options.spool_dir, memory_limit_bytes=n_bytes)
        )
        web = HttpExchange(options, spool, gate=gate)
        web.open()
        exchange = SchemeExchange(
            web,
            FtpExchange(options, spool, logins=logins, gate=gate),
            fetchers=FetcherExchange(fetchers, options, spool),
            own=fetchers,
        )
        stack.push_async_callback(exchange.close)
        robots = None
        if robots_agent:
            rules = RobotsOptions(agent=robots_agent, retry_times=0)
            robots = RobotsCache(RobotsFetch(exchange, spool, options), rules)
        limits = ContextOptions()
        download = ContextDownloader(
            exchange=exchange,
            robots=robots,
            spool=spool,
            fetch=options,
            options=limits,
            hosts=ContextHosts(),
        )
        contexts = ContextStore(download, limits)
        stack.push_async_callback(contexts.close)
        yield DetachedClient(options, spool, exchange, robots, contexts)


async def _is_new(_url: str) -> bool:
    return True
