"""Find a URI in the frontier, also among those given up, and add URIs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, Literal, cast

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.records import Record
from rdfcrawl.frontier.queue.candidate import (
    STORED,
    stored_items,
    unpack_or_none,
)
from rdfcrawl.frontier.queue.host_addresses import AddressBook
from rdfcrawl.frontier.queue.host_rules import BlockedHosts
from rdfcrawl.frontier.queue.profiles import SpiderProfiles
from rdfcrawl.frontier.worker.link_ingest import LINK_BAND, LinkIngest
from rdfcrawl.frontier.worker.link_scopes import ProfileIngests
from rdfcrawl.monitor.operating.crawl import FrontierView, OperatedCrawl
from rdfcrawl.monitor.operating.hosts import url_of
from rdfcrawl.uri import BadUri, HostGrouping, PolitenessKey, registered_domain
from rdfcrawl.uri.guard.gate import refusal_of
from rdfcrawl.uri.parse import check_scheme, seed_url

OWED: Final = b"\x01"  # prefix of entries that the next run requests again
GivenUpList = Literal["dead", "failed", "unlikely"]
_BATCH_SIZE: Final = 500
_ORDER: Final = (0, 1, 4, 5, 6, 2, 7, 8, 3, 9)  # of bands (`lua/claim.lua`)
DEFERRED: Final = 10  # stands for URIs that wait after a refusal


@dataclass(frozen=True, slots=True)
class GivenUpUri:
    """One URI that was given up.

    Attributes:
        url: of the record, or a substitute for an unreadable one.
        key: politeness key of its host.
        why: `dead` if its workers died, `failed` if its host did not respond,
            `unlikely` if its form of URL led to nothing that is wanted.
    """

    url: str
    key: str
    why: GivenUpList


async def iter_given_up(
    crawl: FrontierView, name: GivenUpList
) -> AsyncIterator[GivenUpUri]:
    """Yield the entries of a list, partition by partition; it may grow meanwhile."""
    for prefix in crawl.prefixes:
        start = 0
        while page := await crawl.redis.lrange(
            f"{prefix}:{name}", start, start + _BATCH_SIZE - 1
        ):
            for entry in cast("list[bytes]", page):
                key, _, item = entry.removeprefix(OWED).partition(b"\0")
                text = key.decode(errors="replace")
                yield GivenUpUri(url_of(item, text), text, name)
            start += len(page)


async def discard_given_up(crawl: FrontierView, name: GivenUpList) -> int:
    """Remove all URIs from a list, so that no retry finds them; return their number."""
    total = 0
    for number in range(len(crawl.prefixes)):
        while n := await crawl.run("discard", number, name, _BATCH_SIZE):
            total += n
    return total


class UriPlace(StrEnum):
    """State of a URI in the frontier.

    DONE includes URIs that were only marked as seen, such as redirect targets.
    FAR_BEHIND: done, or queued behind the examined part of the queue.
    """

    UNKNOWN = "unknown"
    OVER_BUDGET = "over budget"
    WAITING = "waiting for an epoch"
    QUEUED = "queued"
    IN_FLIGHT = "in flight"
    DEAD = "dead"
    FAILED = "failed"
    UNLIKELY = "unlikely"
    DONE = "done"
    FAR_BEHIND = "done or far behind"


@dataclass(frozen=True, slots=True, kw_only=True)
class UriStatus:
    """One URI.

    Attributes:
        url: its requestable form.
        key: politeness key.
        partition: of the key.
        place: its state.
        band: of the queue, if it is queued.
        n_before: URIs of its host before it, in all bands; a lower limit if it is far
            behind.
        epoch: of the lease, if it is in flight.
        parent: the document that led to it, if it is queued or in flight; empty for
            seeds.
        depth: links from a seed, likewise.
        refusal: why its last try failed, likewise; empty if none did.
    """

    url: str
    key: str
    partition: int
    place: UriPlace
    band: int | None = None
    n_before: int | None = None
    epoch: int | None = None
    parent: str | None = None
    depth: int | None = None
    refusal: str | None = None


class UriLookup:
    """Finds URIs of one crawl, in any spelling.

    Args:
        crawl: the open crawl.
        most: limit of queued URIs of a host to examine, and of each kind of given-up
            ones; None: all.
    """

    def __init__(self, crawl: OperatedCrawl, *, most: int | None = None) -> None:
        self._crawl = crawl
        self._most = most

    async def find(self, text: str) -> UriStatus:
        """Return where a URL is.

        A URI that moves meanwhile may be missed, and is then searched a second time.

        Raises:
            ConfigError: it is not a URL that can be crawled.
        """
        try:
            url = seed_url(text)
            check_scheme(url, self._crawl.options.schemes.of_seeds)
        except BadUri as error:
            raise ConfigError(f"URI {text[:200]!a}: {error}") from error
        key = await self._crawl.key_of(url)
        mark = self._mark(Record(url))
        found = await self._find_once(url, key, mark)
        return (
            await self._find_once(url, key, mark)
            if found.place is UriPlace.DONE
            else found
        )

    def _mark(self, record: Record) -> int:
        return self._crawl.ingest.candidate(record, LINK_BAND).fingerprint

    async def _find_once(self, url: str, key: str, mark: int) -> UriStatus:
        crawl, best = self._crawl, None
        for partition in crawl.places_of(key):
            words = (key, mark, registered_domain(key))
            seen, over, waits = await crawl.run("locate", partition, *words)
            status = UriStatus(
                url=url, key=key, partition=partition, place=UriPlace.UNKNOWN
            )
            if over or waits:
                place = UriPlace.WAITING if waits else UriPlace.OVER_BUDGET
                return _at(status, place)
            if seen:
                return await self._find_seen(status, mark)
            best = best or status
        return cast("UriStatus", best)

    async def _find_seen(self, status: UriStatus, mark: int) -> UriStatus:
        crawl, key = self._crawl, status.key
        queued, n = await self._find_queued(status, mark)
        if queued is not None:
            return queued
        row = await crawl.run("host", status.partition, key, 0)
        prefix = crawl.prefixes[status.partition]
        for epoch in map(int, row[6][::3]):
            _, record = await self._index(f"{prefix}:i:{key}:{epoch}", key, mark)
            if record is not None:
                found = {"epoch": epoch, **_origin(record)}
                return _at(status, UriPlace.IN_FLIGHT, **found)
        names: tuple[GivenUpList, ...] = ("dead", "failed", "unlikely")
        for name in names:
            if await self._is_given_up(name, status):
                return _at(status, UriPlace(name))
        if self._most is not None and n > self._most:
            return _at(status, UriPlace.FAR_BEHIND, n_before=self._most)
        return _at(status, UriPlace.DONE)

    async def _find_queued(
        self, status: UriStatus, mark: int
    ) -> tuple[UriStatus | None, int]:
        """Return where a URI is in the queues of its host, and the number of others."""
        redis, key = self._crawl.redis, status.key
        prefix = self._crawl.prefixes[status.partition]

        def at(band: int, n_before: int, record: Record) -> UriStatus:
            found = {"band": band, "n_before": n_before, **_origin(record)}
            return _at(status, UriPlace.QUEUED, **found)

        stored = stored_items(await redis.hmget(f"{prefix}:h:{key}", *STORED))
        n = 0
        for band in _ORDER:
            for item in (item for place, item in stored if place == band):
                if record := self._read(item, key, mark):
                    return at(band, n, record), n
                n += 1
            left = None if self._most is None else max(self._most - n, 0)
            name = f"{prefix}:q:{key}:{band}"
            place, found = await self._index(name, key, mark, left)
            if found is not None:
                return at(band, n + place, found), n
            n += await redis.llen(name)
        deferred = await redis.zrange(f"{prefix}:later:{key}", 0, -1)
        for item in cast("list[bytes]", deferred):
            if record := self._read(item, key, mark):
                return at(DEFERRED, n, record), n
            n += 1
        return None, n

    async def _is_given_up(self, name: GivenUpList, status: UriStatus) -> bool:
        n_looked_at = 0
        async for each in iter_given_up(self._crawl, name):
            if each.key == status.key and each.url == status.url:
                return True
            n_looked_at += 1
            if n_looked_at == self._most:
                break
        return False

    async def _index(
        self, name: str, key: str, mark: int, most: int | None = None
    ) -> tuple[int, Record | None]:
        """Return the index of a URI in a list, and its record; a page at a time."""
        start = 0
        while most is None or start < most:
            n_wanted = _BATCH_SIZE if most is None else min(_BATCH_SIZE, most - start)
            page = await self._crawl.redis.lrange(name, start, start + n_wanted - 1)
            if not page:
                break
            for i, item in enumerate(cast("list[bytes]", page)):
                if record := self._read(item, key, mark):
                    return start + i, record
            start += len(page)
        return -1, None

    def _read(self, item: bytes, key: str, mark: int) -> Record | None:
        """Return the record of an item if it is for the URI."""
        record = unpack_or_none(item, key)
        is_it = record is not None and self._mark(record) == mark
        return record if is_it else None


def _origin(record: Record) -> dict[str, Any]:
    found = {"parent": record.parent, "depth": record.depth}
    return found | {"refusal": record.refusal}


def _at(status: UriStatus, place: UriPlace, **more: Any) -> UriStatus:
    return replace(status, place=place, **more)


@dataclass(frozen=True, slots=True)
class AddedUri:
    """Result of adding a URL.

    Attributes:
        url: its requestable form.
        fate: `queued`, `seen before` or `over budget`.
    """

    url: str
    fate: str


async def add_uris(
    crawl: OperatedCrawl, texts: Sequence[str], *, spider: str = ""
) -> list[AddedUri]:
    """Queue URLs as seeds of a spider, which extend its scope like its other seeds.

    Args:
        crawl: the open crawl.
        texts: the URLs.
        spider: name of one of its spiders; empty for the first.

    Raises:
        ConfigError: one is not a URL that can be crawled, or the guard refuses its
            address or port; or there is no such spider. Then none is queued.
    """
    async with ingests_of(crawl, spider) as (ingests, dns):
        guard = crawl.options.guard
        urls = [_seed(ingests.own, text) for text in texts]
        for url in urls:
            if detail := refusal_of(url, guard):
                raise ConfigError(f"{url}: {detail}")
        if dns is not None:
            await dns.prime(urls)
        await ingests.widen(urls)
        return [await _add(crawl, ingests.own, url) for url in urls]


@asynccontextmanager
async def ingests_of(
    crawl: OperatedCrawl, spider: str
) -> AsyncIterator[tuple[ProfileIngests, AddressBook | None]]:
    """Yield the ingests of a spider, and the addresses of hosts if these are keys.

    Raises:
        ConfigError: there is no such spider.
    """
    frontier, outage = crawl.frontier, crawl.connection.outage
    profiles = SpiderProfiles(frontier, outage)
    await profiles.learn_all()
    numbers = {name: number for number, name in profiles.names.items()}
    if (spider or not numbers) and spider not in numbers:
        there = ", ".join(numbers) or "none"
        raise ConfigError(f"--spider {spider}: the spiders of this crawl are {there}")
    profiles.own = numbers[spider] if spider else min(profiles.names)
    dns = AddressBook(frontier, outage, is_allowed=crawl.options.guard.allows_address)
    grouping = crawl.options.keys.grouping
    is_by_address = grouping is HostGrouping.IP
    try:
        ingests = ProfileIngests(
            frontier,
            crawl.options,
            profiles,
            keys=PolitenessKey(grouping, dns.address if is_by_address else None),
            blocked=BlockedHosts(),
            scores=None,
            retry=outage,
        )
        yield ingests, dns if is_by_address else None
    finally:
        await dns.close()


async def spider_names(crawl: OperatedCrawl) -> list[str]:
    """Return the spiders of a crawl, the first one first.

    Raises:
        RedisError: Redis is unreachable.
    """
    profiles = SpiderProfiles(crawl.frontier, crawl.connection.outage)
    numbers = await profiles.numbers()
    return sorted(numbers, key=lambda name: numbers[name])


def _seed(ingest: LinkIngest, text: str) -> str:
    try:
        return ingest.seed_url(text)
    except BadUri as error:
        raise ConfigError(f"URI {text[:200]!a}: {error}") from error


async def _add(crawl: OperatedCrawl, ingest: LinkIngest, url: str) -> AddedUri:
    added = await crawl.frontier.add([ingest.seed(url)])
    if added.new:
        return AddedUri(url, "queued")
    return AddedUri(url, "seen before" if added.seen else "over budget")
