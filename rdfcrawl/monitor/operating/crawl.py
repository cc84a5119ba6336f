"""The frontier of a crawl, opened by its operator; opening begins no crawl."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, Final, Self, cast

from redis.asyncio import Redis
from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.messages import listed
from rdfcrawl.core.options.scrapy_settings import apply_defaults
from rdfcrawl.core.records import NO_BUDGET
from rdfcrawl.frontier.connection import FrontierConnection, begun_crawl
from rdfcrawl.frontier.queue.candidate import away_partition
from rdfcrawl.frontier.queue.frontier_client import Frontier
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.frontier.queue.profiles import keep_settings
from rdfcrawl.frontier.redis.operations import AnyOperation, Argument
from rdfcrawl.frontier.worker.link_ingest import LinkIngest
from rdfcrawl.uri import HostGrouping, PolitenessKey, host_of, partition_of
from rdfcrawl.uri.link_filter import LinkFilter
from rdfcrawl.uri.parse import named_url

_CONF: Final = re.compile(r"rc:\{([A-Za-z0-9._-]+)\}:conf").fullmatch
_SHOWN: Final = 20  # names of crawls in an error


class FrontierView:
    """An open frontier, partition by partition.

    Attributes:
        frontier: its operations.
        prefixes: of the keys of its partitions, by number.
    """

    def __init__(self, frontier: Frontier) -> None:
        self.frontier = frontier
        crawl_id, n = frontier.crawl_id, frontier.partitions
        self.prefixes = [f"rc:{{{crawl_id}/{p}}}" for p in range(n)]

    @property
    def redis(self) -> Redis:
        """The client; keys of one call lie in one slot."""
        return self.frontier.redis

    @property
    def crawl_id(self) -> str:
        """The name that the workers of the crawl share."""
        return self.frontier.crawl_id

    async def run(
        self, name: AnyOperation, partition: int, *arguments: Argument
    ) -> Any:
        """Return the result of one operation in one partition."""
        calls = [(self.prefixes[partition], arguments)]
        return (await self.frontier.scripts.run(name, calls))[0]

    async def now_ms(self) -> int:
        """Return the time of the server."""
        seconds, micros = await self.redis.time()
        return int(seconds) * 1000 + int(micros) // 1000

    def places_of(self, key: str) -> list[int]:
        """Return where a key may be: in its domain's partition, or away."""
        n = self.frontier.partitions
        return list(dict.fromkeys((partition_of(key, n), away_partition(key, n))))


class OperatedCrawl(FrontierView):
    """An existing crawl; `open` connects.

    Attributes:
        connection: which explains and retries.
        options: with the settings of its beginning.
    """

    def __init__(self, connection: FrontierConnection, options: CrawlOptions) -> None:
        super().__init__(connection.frontier)
        self.connection = connection
        self.options = options

    @classmethod
    async def open(cls, settings: BaseSettings, *, is_read: bool = True) -> Self:
        """Connect to the frontier of the crawl that settings name.

        The embedded server of a crawl that does not run is started for this time.

        Args:
            settings: of the command.
            is_read: require our schema and a complete crawl.

        Raises:
            ConfigError: a setting is wrong, Redis cannot be used or has no such crawl.
        """
        settings = settings.copy()
        apply_defaults(settings)
        options = CrawlOptions.from_settings(settings, begun_crawl(settings))
        async with FrontierConnection.joining(options, settings) as connection:
            frontier = connection.frontier
            await _check_there(frontier)
            if is_read:
                await frontier.open()
                options = await keep_settings(frontier, options, settings)
        return cls(connection, options)

    async def __aenter__(self) -> Self:
        """Return this crawl."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Disconnect."""
        await self.connection.close()

    @cached_property
    def ingest(self) -> LinkIngest:
        """Makes candidates of records as this crawl does, without filters."""
        return LinkIngest(
            keys=self.options.keys,
            normal_form=self.options.normal_form,
            link_filter=LinkFilter(),
            partitions=self.frontier.partitions,
            max_depth=255,
            budget=NO_BUDGET,
        )

    async def key_of(self, text: str) -> str:
        """Return the politeness key of a host, a URL or a printed key.

        Raises:
            ConfigError: it is none of these.
        """
        if "!" in text and "://" not in text:
            return text  # of a user's scheme
        url = named_url(text)
        if self.options.keys.grouping is not HostGrouping.IP:
            return self.options.keys.of(url)
        known = await self.frontier.addresses.of([host_of(url)])
        return PolitenessKey(HostGrouping.IP, lambda host: known.get(host) or None).of(
            url
        )


async def crawls_in(redis: Redis) -> list[str]:
    """Return the names of all crawls in a Redis; scans all its keys."""
    found = set()
    async for name in redis.scan_iter(match="rc:{*}:conf", count=1000):
        if match := _CONF(cast("bytes", name).decode(errors="replace")):
            found.add(match[1])
    return sorted(found)


async def _check_there(frontier: Frontier) -> None:
    if await frontier.redis.hexists(frontier.key("conf"), "schema"):
        return
    names = await crawls_in(frontier.redis)
    there = f"there are {listed(names, _SHOWN)}" if names else "it has none"
    raise ConfigError(
        f"CRAWL_ID={frontier.crawl_id}: no crawl of this name is in Redis; {there}"
    )
