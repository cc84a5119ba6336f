"""Repair the damage that a check has found, without losing a URI.

Each step is one script, which checks again whether it is needed. An interruption
between two steps leaves damage that the next check finds.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Final, cast

from rdfcrawl.core.batches import in_batches
from rdfcrawl.frontier.queue.candidate import (
    STORED,
    Candidate,
    bucket_of,
    stored_items,
    unpack_or_none,
)
from rdfcrawl.frontier.worker.link_ingest import LINK_BAND
from rdfcrawl.monitor.operating.checking import pages_of, total_words
from rdfcrawl.monitor.operating.crawl import OperatedCrawl
from rdfcrawl.monitor.operating.damages import OF_KEYS, DamageKind, FrontierDamage
from rdfcrawl.monitor.operating.key_names import PartitionKeys, read_keys

_BATCH_SIZE: Final = 500
_OF_KEY: Final = frozenset(OF_KEYS.values())
# Counters come last: they are computed from the repaired queues.
_ORDER: Final = (
    DamageKind.LEASE_WITHOUT_BATCH,
    DamageKind.BATCH_WITHOUT_LEASE,
    DamageKind.WRONG_CROWD,
    DamageKind.CROWD_PLACE,
    *sorted(_OF_KEY),
    DamageKind.TWO_PARTITIONS,
    DamageKind.WRONG_PARTITION,
    DamageKind.WAITS_BY_NO_SOURCE,
    DamageKind.SOURCE_WITHOUT_URI,
    DamageKind.DOMAIN_COUNT,
    DamageKind.OVER_OF_HOST,
    DamageKind.OVER_OF_DOMAIN,
    DamageKind.GRANTED,
    DamageKind.OVER_QUOTA,
)


class FrontierRepair:
    """Repairs one crawl."""

    def __init__(self, crawl: OperatedCrawl) -> None:
        self._crawl = crawl

    async def run(self, damages: Sequence[FrontierDamage]) -> None:
        """Repair damage, except unknown keys of Redis."""
        for kind in _ORDER:
            for damage in damages:
                if damage.kind is kind:
                    await self._repair(damage)
        numbers = {each.partition for each in damages if each.partition >= 0}
        if not numbers:
            return
        has_workers = bool(await self._crawl.frontier.live_workers())
        keys = (await read_keys(self._crawl)).partitions
        for damage in damages:
            if damage.kind is DamageKind.HOSTS_COUNTER:
                off = int(damage.expected) - int(damage.found)
                await self._crawl.run("mend", damage.partition, "hosts", off)
        for number in sorted(numbers):
            await self._repair_totals(number, keys[number], has_workers=has_workers)

    async def _repair(self, damage: FrontierDamage) -> None:
        crawl, kind = self._crawl, damage.kind
        number, name = damage.partition, damage.name
        match kind:
            case DamageKind.TWO_PARTITIONS | DamageKind.WRONG_PARTITION:
                await self._move(number, name)
            case DamageKind.WAITS_BY_NO_SOURCE | DamageKind.SOURCE_WITHOUT_URI:
                await self._repair_waiting(number, name)
            case _:
                await crawl.run("mend", number, *_words(damage))

    async def _move(self, number: int, key: str) -> None:
        """Move the URIs of a host in a wrong partition to the right one.

        They are queued there first, without URIs seen there, and only then removed
        here. A host that is leased here waits for the next repair.
        """
        crawl, prefix = self._crawl, self._crawl.prefixes[number]
        row = await crawl.run("steer", number, "pause", key)
        if row[0] < 0 or row[2]:
            return
        stored = await crawl.redis.hmget(f"{prefix}:h:{key}", *STORED)
        await self._queue(key, [item for _, item in stored_items(stored)])
        async for page in self._queued(number, key):
            await self._queue(key, page)
        await crawl.run("steer", number, "drop", key)
        await crawl.run("mend", number, "forget", key)

    async def _queue(self, key: str, items: Iterable[bytes]) -> None:
        found = [self._candidate(item, key) for item in items]
        await self._crawl.frontier.add([each for each in found if each])

    def _candidate(self, item: bytes, key: str) -> Candidate | None:
        record = unpack_or_none(item, key)
        return self._crawl.ingest.candidate(record, LINK_BAND) if record else None

    async def _repair_waiting(self, number: int, domain: str) -> None:
        crawl, prefix = self._crawl, self._crawl.prefixes[number]
        for kind in ("ew", "es", "ed"):
            scan = crawl.redis.hscan if kind == "ew" else crawl.redis.zscan
            async for rows in pages_of(scan, f"{prefix}:{kind}:{domain}"):
                names = list(rows) if kind == "ew" else [name for name, _ in rows]
                for some in in_batches(names, _BATCH_SIZE):
                    await crawl.run("mend", number, "lost", domain, *some)

    async def _repair_totals(
        self, number: int, names: PartitionKeys, *, has_workers: bool
    ) -> None:
        crawl = self._crawl
        words = total_words(crawl, names.domains, has_workers=has_workers)
        if await crawl.run("mend", number, "totals", *words):
            for key in names.hosts:
                await self._mark(number, key)
            await crawl.run("mend", number, "totals", *words)

    async def _mark(self, number: int, key: str) -> None:
        """Mark the queued URIs of a host as seen."""
        fill = self._crawl.frontier.fill
        async for page in self._queued(number, key):
            found = [self._candidate(item, key) for item in page]
            marks = [each.fingerprint for each in found if each]
            await self._crawl.run("mend", number, "marks", fill, *marks)

    async def _queued(self, number: int, key: str) -> AsyncIterator[list[bytes]]:
        """Yield the items in all queues of a host, page by page."""
        redis, prefix = self._crawl.redis, self._crawl.prefixes[number]
        for band in range(10):
            start, name = 0, f"{prefix}:q:{key}:{band}"
            while page := await redis.lrange(name, start, start + _BATCH_SIZE - 1):
                yield cast("list[bytes]", page)
                start += len(page)
        deferred = await redis.zrange(f"{prefix}:later:{key}", 0, -1)
        for items in in_batches(cast("list[bytes]", deferred), _BATCH_SIZE):
            yield items


def _words(damage: FrontierDamage) -> tuple[str | int, ...]:
    """Return the arguments of `mend` for damage that one script repairs."""
    name = damage.name
    if damage.kind in _OF_KEY:
        return "key", name
    words: dict[DamageKind, tuple[str | int, ...]] = {
        DamageKind.LEASE_WITHOUT_BATCH: ("lease", name),
        DamageKind.BATCH_WITHOUT_LEASE: ("flight", name, damage.found),
        DamageKind.WRONG_CROWD: ("member", damage.found, name),
        DamageKind.CROWD_PLACE: ("crowd", name),
        DamageKind.DOMAIN_COUNT: ("domain", name, bucket_of(name), damage.expected),
        DamageKind.OVER_OF_HOST: ("over", name, ""),
        DamageKind.OVER_OF_DOMAIN: ("over", name, bucket_of(name)),
        DamageKind.GRANTED: ("grants", name),
        DamageKind.OVER_QUOTA: ("grants", name),
    }
    return words[damage.kind]
