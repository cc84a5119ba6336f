"""Lists of very many sources cost Redis round trips by the batch, not by the entry."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from redis import Redis

from rdfcrawl.frontier.redis.embedded import find_server
from tests.support.redis_fixtures import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import RawRequest
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

N_SOURCES = 300
SC = "http://sw.deri.org/2007/07/sitemapextension/scschema.xsd"
DATASET = (
    "<sc:dataset><sc:datasetURI>{url}#d</sc:datasetURI>"
    "<sc:dataDumpLocation>{url}</sc:dataDumpLocation></sc:dataset>"
)
XMLNS = "http://www.sitemaps.org/schemas/sitemap/0.9"


class Site:
    """A site whose list has many sources, and counts the reads of Redis meanwhile."""

    def __init__(self, loopback: Loopback, kind: str, n: int, redis: Redis) -> None:
        self._redis = redis
        self.n_reads: dict[str, int] = {}
        self._loopback = loopback
        self.server = loopback({}, host=f"127.81.61.{n + 1}")
        own = self.server.url("/")
        urls = [f"{own}m{number}.xml" for number in range(N_SOURCES)]
        each, name = "<sitemap><loc>{url}</loc></sitemap>", "sitemapindex"
        if kind == "datasets":
            each, name = DATASET, "urlset"
        entries = "".join(each.format(url=url) for url in urls)
        index = f'<{name} xmlns="{XMLNS}" xmlns:sc="{SC}">{entries}</{name}>'
        named = urls if kind == "robots" else [self.server.url("/index.xml")]
        robots = "".join(f"Sitemap: {url}\n" for url in named)
        self.is_index = kind != "robots"
        self._texts = {"/robots.txt": robots.encode(), "/index.xml": index.encode()}
        self.server.pages["*"] = self._reply

    def _reply(self, request: RawRequest) -> Iterator[bytes]:
        reads = self._redis.info("stats")["total_reads_processed"]
        self.n_reads.setdefault(request.target, int(reads))
        text = self._texts.get(request.target, b"<none/>")
        yield self._loopback.response(text, "application/xml")

    def is_over(self) -> bool:
        """Return whether anything was requested behind the list."""
        return self.cost() is not None

    def cost(self) -> int | None:
        """Return the reads between the list and the requests after it."""
        begin = self.n_reads.get("/index.xml" if self.is_index else "/robots.txt")
        ends = [n for target, n in self.n_reads.items() if target.startswith("/m")]
        return min(ends) - begin if begin is not None and ends else None


@pytest.mark.service
def test_sources_in_a_list_share_round_trips(
    commands: Commands, loopback: Loopback, server_directory: Path
) -> None:
    """If a list names many sources, then each costs a part of a round trip."""
    with ExitStack() as stack:
        sites = []
        for n, kind in enumerate(("robots", "index", "datasets")):
            place = server_directory / str(n)
            place.mkdir()
            server = RedisServer(find_server(), place)
            server.start()
            stack.callback(server.end)
            redis = Redis(unix_socket_path=str(server.socket))
            stack.callback(redis.close)
            site = Site(loopback, kind, n, redis)
            running = commands.start_crawl(
                spider="sitemap",
                arguments={"sites": site.server.url("/")},
                REDIS_URL=server.url,
            )
            sites.append((kind, site, running))
        for kind, site, running in sites:
            commands.wait_until(site.is_over)
            running.send(signal.SIGKILL)
            cost = site.cost()
            assert cost is not None
            assert cost < N_SOURCES / 2, (kind, site.n_reads)
