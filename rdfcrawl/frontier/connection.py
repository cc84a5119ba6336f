"""Connect to the frontier of a crawl, by finding or starting its Redis."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.exceptions import OutOfMemoryError, RedisError
from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.messages import counted
from rdfcrawl.frontier.queue.frontier_client import Frontier
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.frontier.redis.address import describe, named_redis
from rdfcrawl.frontier.redis.client import (
    SentinelClient,
    ServerFacts,
    async_client,
    find_primaries,
    server_facts,
)
from rdfcrawl.frontier.redis.embedded import EmbeddedServer, ensure_server
from rdfcrawl.frontier.redis.errors import (
    MAX_PAUSE_SECS,
    RedisRetry,
    RetryWhileAway,
    WorkerRefusedError,
    explain,
    explain_command,
    is_loading,
    one_line,
)
from rdfcrawl.frontier.redis.operations import (
    ConnectionHooks,
    LuaScripts,
    ManyPrimaries,
)
from rdfcrawl.frontier.redis.server_state import ServerState
from rdfcrawl.stores.crawl_folder import CrawlLocation, CrawlPaths
from rdfcrawl.stores.options import SEGMENTS
from rdfcrawl.stores.segment_file import list_segments

logger = logging.getLogger(__name__)

# Tries of each command before the crawl is joined: for an unknown server, and for one
# that has responded.
_FIRST_TRIES, _OPENING_TRIES = 6, 30
# The same with a failover, and for a worker that joins a running crawl: half a minute.
_LATER_TRIES = 150
_LOADING_SECS = 2.0  # between two checks of a loading server
_FAILOVER_PAUSE_SECS = 0.4  # longest pause between two tries during a failover


class FrontierConnection:
    """The frontier of a crawl with its connection to Redis; not opened yet."""

    def __init__(
        self, frontier: Frontier, server: EmbeddedServer | None, url: str
    ) -> None:
        self.frontier = frontier
        self._url = url
        self.outage = RedisRetry(
            revive=server.revive if server else None,
            reconnect=self._reconnect,
            refuse=self._refuse,
            max_pause_secs=_FAILOVER_PAUSE_SECS
            if _has_replicas(frontier.redis)
            else MAX_PAUSE_SECS,
        )
        self._server = server

    @classmethod
    async def connect(
        cls, options: CrawlOptions, settings: BaseSettings, *, may_load: bool = False
    ) -> Self:
        """Connect to the Redis of a crawl, starting one if needed.

        Args:
            options: of the crawl.
            settings: as for `async_client`.
            may_load: wait for a server that loads its data, without limit.

        Raises:
            ConfigError: a setting is wrong, or Redis is unusable.
        """
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
        tries = _tries_of_full(_LATER_TRIES) if is_joining else _tries(_FIRST_TRIES)
        redis.set_retry(tries)
        try:
            facts = await _facts_of_new(
                redis, url, is_joining=is_joining, may_load=may_load
            )
        except BaseException:
            await redis.aclose()
            if server:
                server.close()
            raise
        named = options.crawl_id, options.worker, where
        logger.info("crawl %s, worker %s, frontier in %s", *named)
        frontier = Frontier(
            redis,
            LuaScripts(redis, version=facts.version),
            crawl_id=options.crawl_id,
            options=options.frontier,
            intset_limit=facts.set_max_intset_entries,
            state=state,
        )
        return cls(frontier, server, url)

    @classmethod
    @asynccontextmanager
    async def joining(
        cls, options: CrawlOptions, settings: BaseSettings, *, may_load: bool = False
    ) -> AsyncIterator[Self]:
        """Connect as `connect` does, and explain refusals of Redis in the context.

        The connection is closed if the context fails; otherwise it stays open.
        """
        connection = await cls.connect(options, settings, may_load=may_load)
        try:
            with connection.explaining():
                yield connection
        except BaseException:
            await connection.close()
            raise

    def opened(self) -> None:
        """Leave retries to `RedisRetry` from now on.

        Until the crawl is joined, redis-py retries commands only a few times, so that
        the operator learns of a missing server.
        """
        self.frontier.redis.set_retry(Retry(NoBackoff(), 0))

    def ending(self) -> None:
        """Limit retries again, so that the end of the worker is not delayed."""
        self.frontier.redis.set_retry(_opening_tries(self.frontier.redis))

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Turn refusals of Redis while joining the crawl into `ConfigError`."""
        try:
            yield
        except RedisError as error:
            raise explain_command(error, self._url) from error

    def _refuse(self, error: RedisError) -> WorkerRefusedError:
        why = explain_command(error, self._url)
        return WorkerRefusedError(f"{why}; the worker stops")

    async def _reconnect(self) -> None:
        redis = self.frontier.redis
        if isinstance(redis, ManyPrimaries):
            await redis.reconnect()
        else:
            await redis.connection_pool.disconnect(inuse_connections=False)

    async def close(self) -> None:
        """Disconnect; the embedded server stops with its last worker."""
        await self.frontier.redis.aclose()
        if self._server:
            self._server.close()


def _has_replicas(redis: Redis) -> bool:
    """Return whether replicas take over from a failing server."""
    return isinstance(redis, ManyPrimaries | SentinelClient)


def _opening_tries(redis: Redis) -> RetryWhileAway:
    return _tries_of_full(_LATER_TRIES if _has_replicas(redis) else _OPENING_TRIES)


def _tries_of_full(n: int) -> RetryWhileAway:
    """Return retries that treat a full server as unreachable."""
    lost = exceptions.ConnectionError, exceptions.TimeoutError
    return RetryWhileAway(
        ExponentialBackoff(cap=0.2, base=0.05), n, (*lost, OutOfMemoryError)
    )


def _tries(n: int) -> RetryWhileAway:
    return RetryWhileAway(ExponentialBackoff(cap=0.2, base=0.05), n)


async def _facts_of_new(
    redis: Redis, url: str, *, is_joining: bool, may_load: bool
) -> ServerFacts:
    """Return the facts of a server at its first connection.

    Raises:
        ConfigError: the server is unusable.
    """
    while True:
        try:
            return await _first_facts(redis, is_joining=is_joining)
        except RedisError as error:
            if not (may_load and is_loading(error)):
                raise await explain(error, url) from error
            text = one_line(error)
            logger.warning("Redis: %s: waiting for it: %s", describe(url), text)
            await asyncio.sleep(_LOADING_SECS)


async def _first_facts(redis: Redis, *, is_joining: bool) -> ServerFacts:
    if await find_primaries(redis) and not is_joining:
        redis.set_retry(_tries(_LATER_TRIES))
    facts = await server_facts(redis)
    if not is_joining:
        redis.set_retry(_opening_tries(redis))
    return facts


async def restart_crawl(frontier: Frontier, paths: CrawlPaths) -> None:
    """Delete a crawl without running workers; move its stored data aside."""
    if live := await frontier.live_workers():
        raise ConfigError(
            "argument fresh=1: workers of the crawl are running, or died within the "
            f"last 15 s: {', '.join(live)}"
        )
    await frontier.clear()
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
    logs = paths.quads, paths.provenance, paths.links, paths.decisions
    for folder in (*logs, paths.results, paths.warc, paths.epochs):
        if folder.exists():
            aside = paths.root / f"before-{stamp}" / folder.name
            aside.parent.mkdir(parents=True, exist_ok=True)
            folder.rename(aside)


KEY: Final = "logs"  # in Redis: the folders of workers


async def lost_logs(frontier: Frontier, options: CrawlOptions) -> list[str]:
    """Return and log a line for each log of this machine that was deleted or moved.

    Call it before a worker opens its store. The crawl does not fetch these documents
    again, as they are done in the frontier.
    """
    paths, is_known = options.paths, True
    if options.redis_url is not None:  # else the frontier is in the same folder
        # A machine that is new to the crawl has lost nothing.
        place = f"{socket.gethostname()}:{paths.root}"
        is_known = not await frontier.redis.sadd(frontier.key(KEY), place)
    if not is_known:
        return []
    total: dict[str, float] = {}
    for figures in (await frontier.figures()).values():
        for name in ("document/stored", "document/seen"):
            total[name] = total.get(name, 0) + figures.get(name, 0)
    lines = []
    if options.stores.uri == SEGMENTS:
        lines += _line(paths.quads, int(total.get("document/stored", 0)), "statements")
    lines += _line(paths.provenance, int(total.get("document/seen", 0)), "provenance")
    if lines:
        logger.warning("Missing: %s; %s", "; ".join(lines), HINT)
    return lines


def _line(folder: Path, n_documents: int, what: str) -> list[str]:
    if not n_documents or (folder.is_dir() and list_segments(folder)):
        return []
    documents = counted(n_documents, "document")
    return [f"the {what} of {documents}: {folder} was emptied or deleted"]


HINT: Final = (
    "put the deleted folder back, or -a fresh=1 fetches its documents again, as the"
    " crawl has them as done"
)


async def begin_run(frontier: Frontier, run: int) -> int:
    """Queue the owed URIs of earlier runs, if this is the run's first worker.

    Return when the run began (Unix time in ms).
    """
    if run and not await frontier.has_begun(run):
        n_hosts, n_uris = await frontier.owed.forgive(), await frontier.retry_owed()
        if n_hosts or n_uris:
            logger.info(
                "queued again, as owed by earlier runs: URIs of %s that refused them,"
                " and %s",
                counted(n_hosts, "host"),
                counted(n_uris, "URI that failed", "URIs that failed"),
            )
    return await frontier.note_begin(run)  # last, as a worker may die before


def begun_crawl(settings: BaseSettings) -> str:
    """Return the name of the crawl `CRAWL_ID`, or of the only one in `CRAWL_DIR`.

    Raises:
        ConfigError: there is no crawl on this machine, or there are several.
    """
    location = CrawlLocation.from_settings(settings)
    folder, name = location.folder, location.crawl_id
    if not name:
        found = (*folder.glob("*/quads"), *folder.glob("*/frontier"))
        names = sorted({path.parent.name for path in found})
        if len(names) != 1:
            there = f"there are {', '.join(names)}" if names else "there is none here"
            raise ConfigError(f"CRAWL_DIR={folder}: say -s CRAWL_ID=NAME; {there}")
        (name,) = names
    paths = CrawlPaths(folder / name)
    if named_redis(settings) is None and not paths.frontier.exists():
        raise ConfigError(
            f"CRAWL_ID={name}: no crawl of this name has begun in"
            f" CRAWL_DIR={paths.root.parent}; REDIS_URL names a crawl's Redis elsewhere"
        )
    return name
