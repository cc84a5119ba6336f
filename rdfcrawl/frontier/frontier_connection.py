"""The way to the frontier of a crawl: its Redis, found or started."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from redis import exceptions
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.exceptions import OutOfMemoryError, RedisError

from rdfcrawl.errors import ConfigError
from rdfcrawl.frontier.client import Frontier
from rdfcrawl.frontier.embedded import EmbeddedServer, ensure_server
from rdfcrawl.frontier.redis_address import describe
from rdfcrawl.frontier.redis_client import (
    SentinelClient,
    async_client,
    find_primaries,
    server_facts,
)
from rdfcrawl.frontier.redis_cluster import ClusterClient, ConnectionHooks
from rdfcrawl.frontier.redis_retry import MAX_PAUSE_SECS, RedisRetry, one_line
from rdfcrawl.frontier.scripts import LuaScripts
from rdfcrawl.frontier.server_state import ServerState

if TYPE_CHECKING:
    from redis.asyncio import Redis
    from scrapy.settings import BaseSettings

    from rdfcrawl.frontier.options import CrawlOptions, CrawlPaths

logger = logging.getLogger(__name__)

# Of each command, until the crawl is joined: of a server that may not be there at all,
# and of one that was seen to be there.
_FIRST_TRIES, _OPENING_TRIES = 6, 30
# The same where another server takes over from one that has just failed, and for a
# worker that is started while its crawl runs, so that one was there: half a minute.
_LATER_TRIES = 150
_FAILOVER_PAUSE_SECS = 0.4  # longest one between two tries meanwhile


class FrontierConnection:
    """The frontier of a crawl with the connection to its Redis; not opened yet."""

    def __init__(
        self, frontier: Frontier, server: EmbeddedServer | None, where: str
    ) -> None:
        self.frontier = frontier
        self._where = where
        self.outage = RedisRetry(
            revive=server.revive if server else None,
            reconnect=self._reconnect,
            max_pause_secs=_pause_secs(frontier.redis),
        )
        self._server = server

    @classmethod
    async def connect(cls, options: CrawlOptions, settings: BaseSettings) -> Self:
        """Connect to the Redis of a crawl, starting one if need be."""
        server = None
        if options.redis_url is None:
            server = await asyncio.to_thread(
                ensure_server, options.paths.frontier, options.redis_server
            )
        url = str(server.url if server else options.redis_url)
        where = describe(url)
        state = ServerState(where)
        hooks = ConnectionHooks(
            on_connect=state.on_connect, on_primaries=state.note_primaries
        )
        redis = async_client(settings, url, hooks=hooks)
        is_joining = options.run is not None
        redis.set_retry(_joining_tries() if is_joining else _tries(_FIRST_TRIES))
        try:
            with _explaining(where):
                if await find_primaries(redis) and not is_joining:
                    redis.set_retry(_tries(_LATER_TRIES))
                facts = await server_facts(redis)
            if not is_joining:
                redis.set_retry(_opening_tries(redis))
        except BaseException:
            await redis.aclose()
            if server:
                server.close()
            raise
        logger.info(
            "crawl %s, worker %s, frontier in %s",
            options.crawl_id,
            options.worker,
            where,
        )
        frontier = Frontier(
            redis,
            LuaScripts(redis, version=facts.version),
            crawl_id=options.crawl_id,
            options=options.frontier,
            intset_limit=facts.set_max_intset_entries,
            state=state,
        )
        return cls(frontier, server, where)

    def opened(self) -> None:
        """Leave retries to `RedisRetry` from now on.

        Until the crawl is joined, redis-py repeats commands a few times: a server that
        does not come back then is for the operator to mend.
        """
        self.frontier.redis.set_retry(Retry(NoBackoff(), 0))

    def ending(self) -> None:
        """Repeat commands a few times again: who ends does not wait without end."""
        self.frontier.redis.set_retry(_opening_tries(self.frontier.redis))

    def explaining(self) -> AbstractContextManager[None]:
        """Turn what Redis refuses while the crawl is joined into a `ConfigError`."""
        return _explaining(self._where)

    async def _reconnect(self) -> None:
        redis = self.frontier.redis
        if isinstance(redis, ClusterClient):
            await redis.reconnect()
        else:
            await redis.connection_pool.disconnect(inuse_connections=False)

    async def close(self) -> None:
        """Disconnect; the embedded server stops if nobody else is connected."""
        await self.frontier.redis.aclose()
        if self._server:
            self._server.close()


def _has_heirs(redis: Redis) -> bool:
    """Return whether other servers take over from one that fails."""
    return isinstance(redis, ClusterClient | SentinelClient)


def _opening_tries(redis: Redis) -> Retry:
    return _tries(_LATER_TRIES if _has_heirs(redis) else _OPENING_TRIES)


def _pause_secs(redis: Redis) -> float:
    return _FAILOVER_PAUSE_SECS if _has_heirs(redis) else MAX_PAUSE_SECS


def _joining_tries() -> Retry:
    """Return the tries of a worker whose crawl runs: a full server counts as away."""
    lost = exceptions.ConnectionError, exceptions.TimeoutError
    return Retry(
        ExponentialBackoff(cap=0.2, base=0.05), _LATER_TRIES, (*lost, OutOfMemoryError)
    )


def _tries(n: int) -> Retry:
    return Retry(ExponentialBackoff(cap=0.2, base=0.05), n)


@contextmanager
def _explaining(where: str) -> Iterator[None]:
    try:
        yield
    except RedisError as error:
        raise ConfigError(f"REDIS_URL: {where}: {one_line(error)}") from error


async def start_anew(frontier: Frontier, paths: CrawlPaths) -> None:
    """Forget a crawl without running workers; move its stored data aside."""
    if live := await frontier.live_workers():
        raise ConfigError(
            "argument fresh=1: workers of the crawl are running, or died within the "
            f"last 15 s: {', '.join(live)}"
        )
    await frontier.clear()
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
    logs = paths.quads, paths.provenance, paths.links, paths.decisions
    for folder in (*logs, paths.warc, paths.epochs):
        if folder.exists():
            aside = paths.root / f"before-{stamp}" / folder.name
            aside.parent.mkdir(parents=True, exist_ok=True)
            folder.rename(aside)
