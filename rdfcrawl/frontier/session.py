"""One worker's connection to its crawl: Redis, frontier, worker and intake together."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, cast

from redis.exceptions import RedisError

from rdfcrawl.errors import ConfigError
from rdfcrawl.frontier.addresses import AddressBook
from rdfcrawl.frontier.client import Frontier
from rdfcrawl.frontier.connection import async_client, describe, server_facts
from rdfcrawl.frontier.embedded import EmbeddedServer, ensure_server
from rdfcrawl.frontier.intake import Intake
from rdfcrawl.frontier.outage import Outage, one_line
from rdfcrawl.frontier.scripts import Scripts
from rdfcrawl.frontier.worker import Worker
from rdfcrawl.links import LinkFilter, Scope
from rdfcrawl.uri import BadUri, Grouping, PolitenessKey

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from typing import Self

    from scrapy.settings import BaseSettings

    from rdfcrawl.arguments import CrawlArguments
    from rdfcrawl.options import CrawlOptions, CrawlPaths
    from rdfcrawl.records import Document, Record

logger = logging.getLogger(__name__)

_SEEDS_AT_ONCE = 500


class FrontierLink:
    """The frontier of a crawl with the connection to its Redis; not opened yet."""

    def __init__(self, frontier: Frontier, server: EmbeddedServer | None) -> None:
        self.frontier = frontier
        self.outage = Outage(revive=server.revive if server else None)
        self._server = server

    @classmethod
    async def connect(cls, options: CrawlOptions, settings: BaseSettings) -> Self:
        """Connect to the Redis of a crawl; start the embedded one if need be.

        Raises:
            ConfigError: a setting is wrong, or Redis cannot be used.
        """
        server = None
        if options.redis_url is None:
            server = await asyncio.to_thread(
                ensure_server, options.paths.frontier, options.redis_server
            )
        url = server.url if server else options.redis_url
        redis = async_client(settings, url)
        try:
            facts = await server_facts(redis)
        except RedisError as error:
            where = describe(str(url))
            raise ConfigError(f"REDIS_URL: {where}: {one_line(error)}") from error
        if facts.maxmemory and facts.maxmemory_policy != "noeviction":
            raise ConfigError(
                f"REDIS_URL: maxmemory-policy is {facts.maxmemory_policy}, which loses "
                "URIs when memory is full; want noeviction"
            )
        logger.info(
            "crawl %s, worker %s, frontier in %s",
            options.crawl_id,
            options.worker,
            describe(str(url)),
        )
        scripts = Scripts(redis, version=facts.version)
        frontier = Frontier(
            redis,
            scripts,
            crawl_id=options.crawl_id,
            options=options.frontier,
            intset_limit=facts.set_max_intset_entries,
        )
        return cls(frontier, server)

    async def close(self) -> None:
        """Disconnect; the embedded server stops if nobody else is connected."""
        await self.frontier.redis.aclose()
        if self._server:
            self._server.release()


class CrawlSession:
    """Everything that a worker needs of its crawl; `join` makes one."""

    def __init__(
        self,
        options: CrawlOptions,
        arguments: CrawlArguments,
        link: FrontierLink,
    ) -> None:
        self.options = options
        self.arguments = arguments
        self.frontier = link.frontier
        self.redis = link.frontier.redis
        self._link = link
        self._persistent = link.outage.persistent
        self._n_outages = 0
        self._addresses = AddressBook()
        self._scope = Scope(arguments.scope)
        self.worker: Worker
        self.intake: Intake

    @classmethod
    async def join(
        cls,
        options: CrawlOptions,
        arguments: CrawlArguments,
        settings: BaseSettings,
        *,
        flush_stores: Callable[[], Awaitable[None]],
        wake: Callable[[], None],
        figures: Callable[[], dict[str, float]],
        account_for: Callable[[Sequence[Record]], Awaitable[None]],
    ) -> Self:
        """Connect to Redis, create or join the crawl, start the worker's tasks.

        Raises:
            ConfigError: a setting is wrong, or Redis cannot be used.
        """
        link = await FrontierLink.connect(options, settings)
        session = cls(options, arguments, link)
        try:
            await session._open(
                flush_stores=flush_stores,
                wake=wake,
                figures=figures,
                account_for=account_for,
            )
        except BaseException:
            await link.close()
            raise
        return session

    async def _open(
        self,
        *,
        flush_stores: Callable[[], Awaitable[None]],
        wake: Callable[[], None],
        figures: Callable[[], dict[str, float]],
        account_for: Callable[[Sequence[Record]], Awaitable[None]],
    ) -> None:
        options = self.options
        if self.arguments.fresh:
            await start_anew(self.frontier, options.paths)
        self.worker = Worker(
            self.frontier,
            options.work,
            outage=self._link.outage,
            flush_stores=flush_stores,
            take_seeds=self._take_start_urls,
            wake=wake,
            figures=figures,
            account_for=account_for,
        )
        await self.frontier.open()
        self.intake = Intake(
            keys=self._keys(),
            normal_form=options.normal_form,
            link_filter=LinkFilter(
                self._scope, self.arguments.allow, self.arguments.deny
            ),
            partitions=self.frontier.partitions,
            max_depth=self.arguments.depth,
        )
        await self._widen_scope(())
        await self.worker.open()

    async def close(self, *, forget: bool = False) -> None:
        """Let go of Redis; the worker must have been closed.

        Args:
            forget: clear the frontier if the crawl is over.
        """
        try:
            if forget and (await self.frontier.counts()).is_over:
                await self.frontier.clear()
        finally:
            await self._link.close()

    # -- seeds ---------------------------------------------------------------------

    async def add_seeds(self, seeds: Iterable[str]) -> int:
        """Queue seeds, which are requestable URLs; return how many were new."""
        new = 0
        for group in _groups(seeds, _SEEDS_AT_ONCE):
            await self._widen_scope(group)
            await self._prime(group)
            candidates = [self.intake.seed(seed) for seed in group]
            added = await self._persistent(
                partial(self.frontier.add, candidates), what="seeds"
            )
            new += added.new
        return new

    async def _widen_scope(self, seeds: Iterable[str]) -> None:
        """Take seeds into the crawl's scope, which all of its workers share."""
        scope = self._scope
        entries = frozenset(map(scope.entry, seeds)) - {""} - scope.entries
        if scope.entry("http://example.org/") == "":
            return
        name = self.frontier.key("scope")
        if entries:
            await self._persistent(
                lambda: self.redis.sadd(name, *entries), what="scope"
            )
        stored = await self._persistent(
            lambda: self.redis.smembers(name), what="read the scope"
        )
        everything = frozenset(x.decode() for x in cast("set[bytes]", stored))
        if everything != scope.entries:
            self._scope = Scope(scope.extent, everything)
            self.intake.narrow(
                LinkFilter(self._scope, self.arguments.allow, self.arguments.deny)
            )

    async def _take_start_urls(self) -> int:
        """Add what was pushed to `<CRAWL_ID>:start_urls`; return how many there were.

        As scrapy-redis has it, that is a list, a set or a sorted set of URLs or of
        JSON objects with a `url`. An entry is taken away after it was added.
        """
        name = f"{self.options.crawl_id}:start_urls"
        kind = cast("bytes", await self.redis.type(name)).decode()
        entries = await self._peek(name, kind)
        if not entries:
            await self._widen_scope(())
            return 0
        good = [seed for entry in entries if (seed := _seed_url(entry)) is not None]
        await self.add_seeds(self._requestable(good))
        pipe = self.redis.pipeline(transaction=True)
        for entry in entries:
            if kind == "list":
                pipe.lrem(name, 1, cast("str", entry))
            elif kind == "set":
                pipe.srem(name, entry)
            else:
                pipe.zrem(name, entry)
        await pipe.execute()
        return len(entries)

    async def _peek(self, name: str, kind: str) -> list[bytes]:
        most = _SEEDS_AT_ONCE
        found: object = None
        if kind == "list":
            found = await self.redis.lrange(name, 0, most - 1)
        elif kind == "set":
            found = await self.redis.srandmember(name, most)
        elif kind == "zset":
            found = await self.redis.zrange(name, 0, most - 1)
        return cast("list[bytes]", found or [])

    def _requestable(self, seeds: Iterable[str]) -> Iterable[str]:
        for seed in seeds:
            try:
                self.intake.seed(seed)
            except BadUri as fault:
                self.intake.turned.bad += 1
                logger.warning("start_urls: %r: %s", seed[:200], fault)
            else:
                yield seed

    # -- links ---------------------------------------------------------------------

    async def add_links(self, document: Document, links: set[bytes]) -> int:
        """Offer the links of a document to the frontier; return how many went on."""
        if self._n_outages != self._link.outage.n_outages:
            # Redis may have lost what it took last. The parents are crawled again, as
            # it lost their release too, and must find their links forgotten here.
            self._n_outages = self._link.outage.n_outages
            self.intake.forget_recent()
        if self.options.keys.grouping is Grouping.IP:
            await self._prime([link.decode(errors="replace") for link in links])
        candidates = self.intake.links(
            links,
            parent=document.record,
            url=document.url,
            faults=document.faults,
        )
        self.worker.offer(candidates)
        return len(candidates)

    async def is_new(self, url: str) -> bool:
        """Mark a URL as seen; return whether it had not been."""
        if self.options.keys.grouping is Grouping.IP:
            await self._prime([url])
        return await self.worker.mark_seen(self.intake.seen_only(url))

    async def prime(self, url: str) -> None:
        """Look up what `key_of` needs, which cannot wait."""
        await self._prime([url])

    def key_of(self, url: str) -> str:
        """Return the politeness key of a URL; it must have been primed."""
        return self._keys().of(url)

    def add_outlinks(self, outlinks: Iterable[Record], known: Iterable[str]) -> None:
        """Offer redirect targets, and URLs that are only to be marked as seen."""
        wanted = (self.intake.redirected(record) for record in outlinks)
        self.worker.offer(candidate for candidate in wanted if candidate is not None)
        self.worker.offer(self.intake.seen_only(url) for url in known)

    def _keys(self) -> PolitenessKey:
        return PolitenessKey(self.options.keys.grouping, self._addresses.address)

    async def _prime(self, urls: Iterable[str]) -> None:
        if self.options.keys.grouping is Grouping.IP:
            await self._addresses.prime(urls)


async def start_anew(frontier: Frontier, paths: CrawlPaths) -> None:
    """Forget a crawl; what it stored is moved aside, not deleted.

    Raises:
        ConfigError: workers of the crawl are running.
    """
    if live := await frontier.live_workers():
        raise ConfigError(
            "argument fresh=1: workers of the crawl are running, or died within the "
            f"last 15 s: {', '.join(live)}"
        )
    await frontier.clear()
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
    for folder in (paths.quads, paths.provenance):
        if folder.exists():
            aside = paths.root / f"before-{stamp}" / folder.name
            aside.parent.mkdir(parents=True, exist_ok=True)
            folder.rename(aside)


def _groups(seeds: Iterable[str], size: int) -> Iterable[list[str]]:
    group: list[str] = []
    for seed in seeds:
        group.append(seed)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def _seed_url(entry: bytes) -> str | None:
    text = entry.decode(errors="replace").strip()
    if not text.startswith("{"):
        return text
    try:
        url = json.loads(text).get("url")
    except (ValueError, AttributeError):
        return text  # is refused as a URL, with a warning
    return str(url) if url else None
