"""Progress of a crawl: counts, partitions, workers, memory, and why nothing moves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from rdfcrawl.core.messages import counted
from rdfcrawl.frontier.queue.frontier_client import COUNTERS, StateCounts
from rdfcrawl.frontier.queue.worker_reports import HOSTS, STARTED
from rdfcrawl.frontier.redis.operations import query_primaries

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from rdfcrawl.monitor.operating.crawl import OperatedCrawl

_BATCH_SIZE: Final = 256  # partitions in one round trip
_COMMANDS: Final = 8  # of each partition
_FAULT: Final = "fault/"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionStatus:
    """One partition.

    Attributes:
        number: from 0.
        counts: URIs by state, and hosts.
        n_failed: done URIs that were given up because their hosts failed.
        n_ready: hosts and crowds that wait for their turn.
        n_due: waiting hosts and crowds that are due.
        n_leases: batches in flight.
        n_expired: batches in flight whose worker does not renew them.
        n_paused: hosts that an operator has paused.
        n_refusing: hosts with work that have refused the last visit.
        lag_ms: time for which the first of the due ones has been due; 0 if none is.
        next_ms: until the first one is due; None if none is ready.
    """

    number: int
    counts: StateCounts
    n_failed: int
    n_ready: int
    n_due: int
    n_leases: int
    n_expired: int
    n_paused: int
    n_refusing: int
    lag_ms: int
    next_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatus:
    """One worker that has not left.

    Attributes:
        name: of the worker.
        is_live: it has reported recently.
        silent_secs: since its last report.
        has_started: all its seeds are queued.
        is_drained: an operator has drained it.
        delay_secs: its `DOWNLOAD_DELAY`, None if it is not known.
        n_documents: processed documents.
        n_faults: faults of these.
        n_hosts: hosts that it visits by its last report; None if not reported.
    """

    name: str
    is_live: bool
    silent_secs: int
    has_started: bool
    is_drained: bool
    delay_secs: float | None
    n_documents: int
    n_faults: int
    n_hosts: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlStatus:
    """One crawl.

    Attributes:
        crawl_id: its name.
        counts: sums over all partitions.
        runs_over: runs that have ended.
        used_bytes: memory of the server or servers, for all their data.
        limit_bytes: its limit; 0: none.
        n_full: servers that use all of their own limit.
        is_scheduled: registered domains have quotas.
        partitions: by number.
        workers: by name.
    """

    crawl_id: str
    counts: StateCounts
    runs_over: int
    used_bytes: int
    limit_bytes: int
    n_full: int
    is_scheduled: bool
    partitions: tuple[PartitionStatus, ...]
    workers: tuple[WorkerStatus, ...]

    @property
    def lag_ms(self) -> int:
        """Time for which a host has been due and not claimed."""
        return max((each.lag_ms for each in self.partitions), default=0)

    def total(self, name: str) -> int:
        """Return the sum of a field of `PartitionStatus` over all partitions."""
        return sum(getattr(each, name) for each in self.partitions)

    def explanations(self) -> list[str]:
        """Return why nothing moves, or may soon, one line for each reason."""
        if self.counts.is_over:
            return ["the crawl is over: nothing is queued or in flight"]
        found = []
        if not any(each.is_live for each in self.workers):
            found.append("no worker is running: start the crawl again to continue")
        if self.n_full:
            found.append(
                f"Redis is full, {self.n_full:,} of its primaries: nothing can be"
                " queued there; raise maxmemory"
            )
        if n := self.total("n_expired"):
            leases = counted(n, "lease has", "leases have")
            found.append(
                f"{leases} expired: the worker died, and a running worker takes the"
                " URIs back"
            )
        if n := self.total("n_paused"):
            paused = counted(n, "host is", "hosts are")
            found.append(f"{paused} paused: `frontier resume HOST` ends a pause")
        if n := self.total("n_refusing"):
            refusing = counted(n, "host is", "hosts are")
            found.append(f"{refusing} refusing requests, with URIs queued")
        waits = [x.next_ms for x in self.partitions if x.next_ms is not None]
        if waits and min(waits) > 0 and not self.counts.leased:
            found.append(f"the next host is due in {min(waits) / 1000:.1f} s")
        if self.counts.waiting:
            waiting = counted(self.counts.waiting, "URI waits", "URIs wait")
            found.append(f"{waiting} for an epoch of a domain")
        return found


async def read_status(crawl: OperatedCrawl) -> CrawlStatus:
    """Return the progress of a crawl; each partition is read atomically.

    Raises:
        RedisError: Redis is unreachable.
    """
    redis, frontier = crawl.redis, crawl.frontier
    now = await crawl.now_ms()
    partitions = await read_partitions(redis, crawl.prefixes, now)
    infos = await query_primaries(redis, lambda node: node.info("memory"))
    memory = [_memory(each) for each in infos.values()]
    return CrawlStatus(
        crawl_id=crawl.crawl_id,
        counts=sum_of(each.counts for each in partitions),
        runs_over=await frontier.begin_run(),
        used_bytes=sum(used for used, _ in memory),
        limit_bytes=sum(limit for _, limit in memory),
        n_full=sum(0 < limit <= used for used, limit in memory),
        is_scheduled=frontier.epochs.is_scheduled,
        partitions=tuple(partitions),
        workers=await _read_workers(crawl, now // 1000),
    )


def sum_of(counts: Iterable[StateCounts]) -> StateCounts:
    """Return the sums of a non-empty list of counts."""
    return StateCounts(*map(sum, zip(*map(_values, counts), strict=True)))


def _values(counts: StateCounts) -> tuple[int, ...]:
    return tuple(getattr(counts, name) for name in StateCounts.__dataclass_fields__)


async def read_partitions(
    redis: Redis, prefixes: Sequence[str], now: int
) -> list[PartitionStatus]:
    """Return the state of partitions, each read atomically.

    Args:
        redis: server of the partitions.
        prefixes: of their keys, from partition 0.
        now: time of the server (ms).
    """
    partitions: list[PartitionStatus] = []
    for start in range(0, len(prefixes), _BATCH_SIZE):
        some = prefixes[start : start + _BATCH_SIZE]
        partitions += await _read_partitions(redis, some, start, now)
    return partitions


async def _read_partitions(
    redis: Redis, prefixes: Sequence[str], start: int, now: int
) -> list[PartitionStatus]:
    pipe = redis.pipeline(transaction=False)
    for prefix in prefixes:
        pipe.hgetall(f"{prefix}:cnt")
        pipe.zcard(f"{prefix}:ready")
        pipe.zcount(f"{prefix}:ready", "-inf", now)
        pipe.zrange(f"{prefix}:ready", 0, 0, withscores=True)
        pipe.zcard(f"{prefix}:lease")
        pipe.zcount(f"{prefix}:lease", "-inf", now)
        pipe.scard(f"{prefix}:paused")
        pipe.zcard(f"{prefix}:down")
    rows = await pipe.execute()
    return [
        _partition(start + i, rows[_COMMANDS * i : _COMMANDS * (i + 1)], now)
        for i in range(len(prefixes))
    ]


def _partition(number: int, row: list[Any], now: int) -> PartitionStatus:
    counters, n_ready, n_due, first, n_leases, n_expired, n_paused, n_down = row
    n = {name.decode(): int(x) for name, x in counters.items() if name != b"in"}
    due = int(first[0][1]) if first else None
    return PartitionStatus(
        number=number,
        counts=StateCounts(*(n.get(name, 0) for name in COUNTERS.values())),
        n_failed=n.get("failed", 0),
        n_ready=n_ready + n.get("cw", 0),
        n_due=n_due,
        n_leases=n_leases,
        n_expired=n_expired,
        n_paused=n_paused,
        n_refusing=n_down,
        lag_ms=0 if due is None else max(0, now - due),
        next_ms=None if due is None else max(0, due - now),
    )


def worker_state(worker: WorkerStatus) -> str:
    """Return the state of a worker: `at work`, `begins`, `ends` or `silent`."""
    if not worker.is_live:
        return "silent"
    if worker.is_drained:
        return "ends"
    return "at work" if worker.has_started else "begins"


def _memory(info: Mapping[str, Any]) -> tuple[int, int]:
    """Return used bytes and limit of one server."""
    return int(info["used_memory"]), int(info.get("maxmemory") or 0)


async def _read_workers(crawl: OperatedCrawl, now: int) -> tuple[WorkerStatus, ...]:
    frontier = crawl.frontier
    heard = await crawl.redis.zrange(frontier.key("workers"), 0, -1, withscores=True)
    delays = await crawl.redis.zrange(frontier.key("delays"), 0, -1, withscores=True)
    delay_of = {name.decode(): ms for name, ms in cast("list[Any]", delays)}
    figures, drained = await frontier.figures(), await frontier.drains.requested()
    found = []
    for raw, at in cast("list[tuple[bytes, float]]", heard):
        name = raw.decode()
        own = figures.get(name, {})
        delay, n_hosts = delay_of.get(name), own.get(HOSTS)
        found.append(
            WorkerStatus(
                name=name,
                is_live=abs(now - at) <= frontier.reports.silence_secs,
                silent_secs=max(0, now - int(at)),
                has_started=own.get(STARTED) == 1.0,
                is_drained=name in drained,
                delay_secs=None if delay is None else delay / 1000,
                n_documents=int(own.get("document/seen", 0)),
                n_faults=int(sum(v for k, v in own.items() if k.startswith(_FAULT))),
                n_hosts=None if n_hosts is None else int(n_hosts),
            )
        )
    return tuple(sorted(found, key=lambda each: each.name))
