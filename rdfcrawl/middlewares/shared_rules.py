"""Rules of robots.txt in Redis, for all processes with the same Redis settings."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Self

from rdfcrawl.downloader.robots.cache import RobotsOptions
from rdfcrawl.frontier.queue.frontier_client import Frontier
from rdfcrawl.frontier.queue.host_rules import KeepingOptions
from rdfcrawl.frontier.queue.options import FrontierOptions
from rdfcrawl.frontier.queue.shared_rules import KeptRobots
from rdfcrawl.frontier.redis.client import async_client, find_primaries
from rdfcrawl.frontier.redis.embedded import MIN_VERSION
from rdfcrawl.frontier.redis.errors import RedisRetry
from rdfcrawl.frontier.redis.operations import LuaScripts

if TYPE_CHECKING:
    from redis.asyncio import Redis
    from scrapy.settings import BaseSettings

    from rdfcrawl.frontier.session import CrawlSession

_NAME: Final = "~robots"  # no crawl can have this name


class SharedRules:
    """The keeper of rules, with its connection.

    Args:
        keeper: of one process.
        redis: closed with it; None for the connection of a crawl.
    """

    def __init__(self, keeper: KeptRobots, redis: Redis | None = None) -> None:
        self.keeper = keeper
        self._redis = redis

    @classmethod
    async def open(cls, settings: BaseSettings, session: CrawlSession | None) -> Self:
        """Return the rules of a crawl, or else those of all ordinary spiders.

        If Redis does not respond, each process fetches its own rules.

        Raises:
            ConfigError: a setting of the connection is wrong.
        """
        first_secs = RobotsOptions().put_off_secs
        options = KeepingOptions.from_settings(settings, first_secs=first_secs)
        if session is not None:
            return cls(session.kept_robots(options))
        redis = async_client(settings)
        await find_primaries(redis)
        frontier = Frontier(
            redis,
            LuaScripts(redis, version=MIN_VERSION),
            crawl_id=_NAME,
            options=FrontierOptions(),
        )
        is_brief = asyncio.Event()
        is_brief.set()
        return cls(KeptRobots(frontier, RedisRetry(stopping=is_brief), options), redis)

    async def close(self) -> None:
        """Close the connection."""
        await self.keeper.close()
        if self._redis is not None:
            await self._redis.aclose()
