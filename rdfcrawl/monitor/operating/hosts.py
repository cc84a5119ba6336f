"""List the hosts of a crawl, or read one: the head of its queue, robots.txt rules."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from heapq import nlargest, nsmallest
from typing import Any, Final, cast

from redis.asyncio import Redis

from rdfcrawl.downloader.robots.parser import RobotsRecords
from rdfcrawl.downloader.robots.storage import unpack_records
from rdfcrawl.frontier.queue.candidate import unpack_or_none
from rdfcrawl.frontier.queue.host_rules import rules_partition
from rdfcrawl.frontier.redis.operations import query_primaries
from rdfcrawl.monitor.operating.crawl import OperatedCrawl

HostPlace = tuple[int, str]
"""Partition and key of a host."""
_PAGE: Final = 500  # hosts in one round trip
_SCANNED: Final = 1000  # keys likewise
_FIELDS: Final = (
    *("n", "a", "x", "d", "od", "ob", "na", "f", "fs", "ra", "lk", "p", "g", "o"),
)
MAX_LINES: Final = 200
"""Lines of a kind to show of a robots.txt."""
_MAX_PACKED: Final = 256 * 1024  # longer rules are not shown: they take a while
_MAX_CHARS: Final = 500  # of a line


class HostPhase(StrEnum):
    """State of a host.

    PAUSED by an operator; LEASED to a worker; REFUSING: it has work, and refused the
    last visit; READY: it has work, and is due now or later; IDLE: it has none.
    """

    PAUSED = "paused"
    LEASED = "leased"
    REFUSING = "refusing"
    READY = "ready"
    IDLE = "idle"


class HostOrder(StrEnum):
    """Order of a list of hosts: most URIs, delay or failures first; or by name."""

    QUEUE = "queue"
    DELAY = "delay"
    NEXT = "next"
    FAILURES = "failures"
    ACCEPTED = "accepted"
    NAME = "name"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSummary:
    """The state of one politeness key, most often a host.

    Attributes:
        key: the politeness key.
        partition: number of its partition.
        phase: its state.
        n_queued: URIs that wait.
        n_accepted: URIs ever queued.
        n_over: URIs over a budget that are kept outside the queue.
        delay_ms: least time between two requests.
        delay_from: origin of the delay: `operator`, `host` (its robots.txt
            or pace), `setting`.
        next_ms: when it may be visited, Unix time; 0 if now or not known.
        n_failures: consecutive visits that it refused.
        refusing_since_ms: time of the first of these; 0 if it does not refuse.
        rests_until_ms: end of the pause that the host requested; 0: it requested none.
        paused_at_ms: when it was paused; 0 if it is not.
        budget: most URIs, set by an operator; None: as its spider says.
        epoch: of the lease that locks it; 0 if it is not leased.
    """

    key: str
    partition: int
    phase: HostPhase
    n_queued: int
    n_accepted: int
    n_over: int
    delay_ms: int
    delay_from: str
    next_ms: int
    n_failures: int
    refusing_since_ms: int
    rests_until_ms: int
    paused_at_ms: int
    budget: int | None
    epoch: int

    def rank(self, order: HostOrder) -> tuple[int, str]:
        """Return the sort key of hosts: descending, except names and times."""
        ranks = {
            HostOrder.QUEUE: -self.n_queued,
            HostOrder.DELAY: -self.delay_ms,
            HostOrder.NEXT: self.next_ms,
            HostOrder.FAILURES: -self.n_failures,
            HostOrder.ACCEPTED: -self.n_accepted,
        }
        return ranks.get(order, 0), self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldLease:
    """A batch of a host in flight.

    Attributes:
        epoch: of the lease.
        n_uris: not acknowledged yet.
        left_ms: until the lease expires; negative if it has.
        is_locking: its visit is under way; else it only waits to be stored.
    """

    epoch: int
    n_uris: int
    left_ms: int
    is_locking: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDetail:
    """One host at one moment.

    Attributes:
        summary: its state.
        bands: URIs that wait, by band.
        head: the first of them with their bands, in the order of claims.
        leases: its batches in flight.
        due_ms: when it can be claimed, Unix time; None if it cannot.
        crowd: its crowd; empty if it has none.
        now_ms: time of the frontier.
    """

    summary: HostSummary
    bands: Mapping[int, int]
    head: tuple[tuple[int, str], ...]
    leases: tuple[HeldLease, ...]
    due_ms: int | None
    crowd: str
    now_ms: int


def summary_of(
    key: str, partition: int, fields: Mapping[str, str], *, least_delay_ms: int
) -> HostSummary:
    """Parse the state of a key from its fields in Redis."""
    lock, n = fields.get("lk", ""), int(fields.get("n", 0))
    own, given = int(fields.get("d", 0)), int(fields.get("od", 0))
    delay = max(own, given, least_delay_ms)
    if "p" in fields:
        phase = HostPhase.PAUSED
    elif lock:
        phase = HostPhase.LEASED
    elif not n:
        phase = HostPhase.IDLE
    else:
        phase = HostPhase.REFUSING if "fs" in fields else HostPhase.READY
    return HostSummary(
        key=key,
        partition=partition,
        phase=phase,
        n_queued=n,
        n_accepted=int(fields.get("a", 0)),
        n_over=int(fields.get("o", 0)),
        delay_ms=delay,
        delay_from=_origin(delay, given, own, least_delay_ms),
        next_ms=int(fields.get("na", 0)),
        n_failures=int(fields.get("f", 0)),
        refusing_since_ms=int(fields.get("fs", 0)),
        rests_until_ms=int(fields.get("ra", 0)),
        paused_at_ms=int(fields.get("p", 0)),
        budget=int(fields["ob"]) if "ob" in fields else None,
        epoch=int(lock) if lock.isdecimal() else 0,
    )


def _origin(delay: int, given: int, own: int, least: int) -> str:
    if delay == least:
        return "setting"
    return "host" if delay == own else "operator" if delay == given else "setting"


async def least_delay_ms(crawl: OperatedCrawl) -> int:
    """Return the delay of hosts without their own: the longest of the live workers."""
    frontier = crawl.frontier
    longest = await crawl.redis.zrange(frontier.key("delays"), -1, -1, withscores=True)
    pairs = cast("list[tuple[bytes, float]]", longest)
    if pairs and await frontier.live_workers():
        return int(pairs[0][1])
    return round(frontier.options.delay_secs * 1000)


async def iter_hosts(crawl: OperatedCrawl) -> AsyncIterator[HostSummary]:
    """Yield all hosts of a crawl, unordered; a new one may be missing or repeated.

    All keys of the server are scanned, a thousand at a time.
    """
    least = await least_delay_ms(crawl)
    page: list[HostPlace] = []
    async for some in iter_place_pages(crawl):
        page += some
        while len(page) >= _PAGE:
            for each in await read_places(crawl, page[:_PAGE], least):
                yield each
            del page[:_PAGE]
    for each in await read_places(crawl, page, least):
        yield each


async def iter_place_pages(crawl: OperatedCrawl) -> AsyncIterator[list[HostPlace]]:
    """Yield the hosts among each thousand keys of the servers, often none."""
    pattern = f"rc:{{{crawl.crawl_id}/*}}:h:*"
    for node in (await query_primaries(crawl.redis, _itself)).values():
        cursor = 0
        while True:
            page: Any = await node.scan(cursor, match=pattern, count=_SCANNED)
            cursor, names = page
            yield [place for raw in names if (place := _place_of(crawl, raw))]
            if not cursor:
                break


async def _itself(node: Redis) -> Redis:
    return node


def _place_of(crawl: OperatedCrawl, raw: bytes) -> HostPlace | None:
    head = len(f"rc:{{{crawl.crawl_id}/")
    number, _, key = raw.decode()[head:].partition("}:h:")
    if number.isdecimal() and int(number) < len(crawl.prefixes):
        return int(number), key
    return None


async def read_summaries(
    crawl: OperatedCrawl, keys: Sequence[str]
) -> list[HostSummary]:
    """Return the states of hosts that the frontier has."""
    least = await least_delay_ms(crawl)
    places = [(partition, key) for key in keys for partition in crawl.places_of(key)]
    return await read_places(crawl, places, least)


async def read_places(
    crawl: OperatedCrawl, page: Sequence[HostPlace], least: int
) -> list[HostSummary]:
    """Return the states of existing hosts in one round trip.

    Args:
        crawl: of the hosts.
        page: their places; a few hundred, for which other clients wait.
        least: delay of hosts without their own (`least_delay_ms`).
    """
    pipe = crawl.redis.pipeline(transaction=False)
    for partition, key in page:
        pipe.hmget(f"{crawl.prefixes[partition]}:h:{key}", *_FIELDS)
    rows = await pipe.execute() if page else []
    return [
        summary_of(key, partition, _fields(row), least_delay_ms=least)
        for (partition, key), row in zip(page, rows, strict=True)
        if any(each is not None for each in row)
    ]


def _fields(row: Sequence[bytes | None]) -> dict[str, str]:
    return {
        name: value.decode("latin-1")
        for name, value in zip(_FIELDS, row, strict=True)
        if value is not None
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class HostQuery:
    """Filter and order of a list of hosts.

    Attributes:
        order: sort order.
        is_reversed: reverse the order.
        phase: only hosts of this state.
        below: only this host or domain, and hosts below it.
        most: limit of hosts.
    """

    order: HostOrder = HostOrder.QUEUE
    is_reversed: bool = False
    phase: HostPhase | None = None
    below: str = ""
    most: int = 20

    def wants(self, host: HostSummary) -> bool:
        """Return whether a host passes the filter."""
        return (self.phase is None or host.phase is self.phase) and (
            not self.below
            or host.key == self.below
            or host.key.endswith(f".{self.below}")
        )


async def list_hosts(crawl: OperatedCrawl, query: HostQuery) -> list[HostSummary]:
    """Return the hosts of a query; memory is for `most` hosts and a page."""
    choose = nlargest if query.is_reversed else nsmallest
    chosen: list[HostSummary] = []
    pending: list[HostSummary] = []

    def keep() -> list[HostSummary]:
        found = {each.key: each for each in (*chosen, *pending)}
        return choose(query.most, found.values(), key=lambda x: x.rank(query.order))

    async for host in iter_hosts(crawl):
        if query.wants(host):
            pending.append(host)
            if len(pending) >= max(_PAGE, query.most):
                chosen, pending = keep(), []
    return keep()


async def read_host(
    crawl: OperatedCrawl, key: str, *, most: int = 10
) -> HostDetail | None:
    """Return one host with the head of its queue; None if there is none.

    Args:
        crawl: of the host.
        key: its politeness key.
        most: URIs of the head.
    """
    least = await least_delay_ms(crawl)
    for partition in crawl.places_of(key):
        row = await crawl.run("host", partition, key, most)
        if row[1]:
            return _detail(key, partition, row, least)
    return None


def _detail(key: str, partition: int, row: Sequence[Any], least: int) -> HostDetail:
    now, state, due, crowd, sizes, head, leases, *_ = row
    fields = _pairs(state)
    summary = summary_of(key, partition, fields, least_delay_ms=least)
    return HostDetail(
        summary=summary,
        bands={band: n for band, n in enumerate(sizes) if n},
        head=tuple(
            (int(band), url_of(item, key))
            for band, item in zip(head[::2], head[1::2], strict=True)
        ),
        leases=tuple(
            HeldLease(
                epoch=int(epoch),
                n_uris=n,
                left_ms=int(float(until)) - now,
                is_locking=int(epoch) == summary.epoch,
            )
            for epoch, until, n in zip(
                leases[::3], leases[1::3], leases[2::3], strict=True
            )
        ),
        due_ms=None if float(due) < 0 else int(float(due)),
        crowd=crowd.decode(errors="replace"),
        now_ms=now,
    )


def url_of(item: bytes, key: str) -> str:
    """Return the URL of a queued item, or a substitute for an unreadable one."""
    record = unpack_or_none(item, key)
    return record.url if record else f"unreadable: {item[:100]!r}"


def _pairs(row: Sequence[bytes]) -> dict[str, str]:
    names, values = row[::2], row[1::2]
    return {
        name.decode(errors="replace"): value.decode("latin-1")
        for name, value in zip(names, values, strict=True)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptOrigin:
    """The rules of one origin that all workers share.

    Attributes:
        origin: scheme, host and port.
        fetched_ms: when they were read, Unix time; 0 if they never were.
        due_ms: time of the next request for them.
        n_failures: consecutive failures to read them.
        status: of the last response; 0 if there was none.
        lines: of the group for this crawler, each `Allow` or `Disallow` and a
            pattern; the first of them.
        n_lines: number of all lines.
        delay_secs: `Crawl-delay`; 0 if there is none.
        sitemaps: the first named sitemaps.
        signals: lines of `Content-Signal`, each with its path.
        is_readable: the stored entry could be read.
    """

    origin: str
    fetched_ms: int
    due_ms: int
    n_failures: int
    status: int
    lines: tuple[tuple[str, str], ...] = ()
    n_lines: int = 0
    delay_secs: float = 0.0
    sitemaps: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    is_readable: bool = True


async def read_origins(
    crawl: OperatedCrawl, origins: Sequence[str]
) -> list[KeptOrigin]:
    """Return the stored rules of origins, for those that have any."""
    pipe = crawl.redis.pipeline(transaction=False)
    for origin in origins:
        prefix = crawl.prefixes[rules_partition(origin, len(crawl.prefixes))]
        pipe.hget(f"{prefix}:robots", origin)
        pipe.hget(f"{prefix}:robots:old", origin)
    values = await pipe.execute() if origins else []
    return [
        _kept(origin, young or old)
        for origin, young, old in zip(origins, values[::2], values[1::2], strict=True)
        if young or old
    ]


def _kept(origin: str, value: bytes) -> KeptOrigin:
    """Parse an entry written by `frontier/lua/robots.lua`."""
    head, _, packed = value.partition(b"|")
    numbers = [int(x) for x in head.split() if x.isdigit()]
    fetched, due, failures, status = (*numbers, 0, 0, 0, 0)[:4]
    kept = KeptOrigin(
        origin=origin,
        fetched_ms=fetched,
        due_ms=due,
        n_failures=failures,
        status=status,
        is_readable=not packed,
    )
    if not packed or len(packed) > _MAX_PACKED:
        return kept
    records = unpack_records(packed)
    return kept if records is None else _with_records(kept, records)


def _with_records(kept: KeptOrigin, records: RobotsRecords) -> KeptOrigin:
    lines = [
        ("Allow" if allows else "Disallow", pattern[:_MAX_CHARS])
        for pattern, allows in records.rules.items()
    ]
    signals = [
        f"{rule.pattern} {', '.join(f'{use}={word}' for use, word in rule.said)}"
        for rule in records.signals
    ]
    return replace(
        kept,
        is_readable=True,
        lines=tuple(lines[:MAX_LINES]),
        n_lines=len(lines),
        delay_secs=records.delay_secs,
        sitemaps=tuple(each[:_MAX_CHARS] for each in records.sitemaps[:MAX_LINES]),
        signals=tuple(each.strip()[:_MAX_CHARS] for each in signals[:MAX_LINES]),
    )
