"""Read counts, figures and workers of each crawl in a Redis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final, cast

from redis.asyncio import Redis

from rdfcrawl.frontier.queue.worker_reports import (
    CURRENT,
    parsed,
    silence_secs,
    sums_of,
)
from rdfcrawl.frontier.redis.operations import query_primaries
from rdfcrawl.frontier.redis.server_state import INCARNATION, SCHEMA
from rdfcrawl.monitor.operating.crawl import crawls_in
from rdfcrawl.monitor.operating.status import PartitionStatus, read_partitions

MAX_CRAWLS: Final = 100  # limit of crawls with metrics; others are counted
_MAX_PARTITIONS: Final = 16_384  # of all crawls together
_LEASE_SECS: Final = (
    60.0  # workers that report more rarely count as live no longer than this
)
# The search for crawls reads all names in the Redis: at most a fiftieth of the time.
_LOOK_SHARE: Final = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlReading:
    """One crawl.

    Attributes:
        crawl_id: its name.
        incarnation: distinguishes it from an earlier crawl of the same name.
        partitions: by number; at least one.
        figures: statistics of all workers, past ones included, added up.
        current: present values of live workers, the highest of each.
        n_workers: live workers.
        last_seen: last report of a worker (Unix time); 0 for never.
        n_runs: runs that have ended.
    """

    crawl_id: str
    incarnation: str
    partitions: tuple[PartitionStatus, ...]
    figures: Mapping[str, float]
    current: Mapping[str, float]
    n_workers: int
    last_seen: float
    n_runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerMemory:
    """Memory of one primary, in bytes.

    Attributes:
        used: for all its data.
        limit: its `maxmemory`; 0 for none.
        machine: of its machine; 0 if unknown.
    """

    used: int
    limit: int
    machine: int

    @property
    def share(self) -> float:
        """Used share of the limit or of the machine's memory; 0 if unknown."""
        there = self.limit or self.machine
        return self.used / there if there else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisReading:
    """A Redis and its crawls.

    Attributes:
        crawls: by name.
        n_left_out: crawls without metrics: too many, or of another version.
        servers: the primaries, or the one server.
    """

    crawls: tuple[CrawlReading, ...]
    n_left_out: int
    servers: tuple[ServerMemory, ...]


class CrawlSearch:
    """The names of the crawls in a Redis, found in the background.

    Args:
        redis: to search.
        named: the one crawl that is wanted; empty for all.
    """

    def __init__(self, redis: Redis, named: str) -> None:
        self._redis = redis
        self._named = named
        self.names: list[str] = [named] if named else []
        self._next = 0.0

    async def look(self) -> None:
        """Search for crawls, unless the last search was long and recent."""
        began = monotonic()
        if self._named or began < self._next:
            return
        self.names = await crawls_in(self._redis)
        took = monotonic() - began
        self._next = monotonic() + took / _LOOK_SHARE


async def read_redis(redis: Redis, names: Iterable[str]) -> RedisReading:
    """Read the crawls of these names.

    Raises:
        RedisError: it is unreachable.
    """
    seconds, micros = await redis.time()
    now = seconds * 1000 + micros // 1000
    crawls: list[CrawlReading] = []
    n_left_out = n_partitions = 0
    for name in names:
        conf = await _read_conf(redis, name)
        if conf is None:  # it was forgotten since it was found
            continue
        n_partitions += conf.n_partitions
        is_ours = conf.schema == SCHEMA and conf.n_partitions > 0
        if not is_ours or n_partitions > _MAX_PARTITIONS or len(crawls) >= MAX_CRAWLS:
            n_left_out += 1
            continue
        crawls.append(await _read_crawl(redis, conf, now))
    infos = await query_primaries(redis, lambda node: node.info("memory"))
    return RedisReading(
        crawls=tuple(crawls),
        n_left_out=n_left_out,
        servers=tuple(map(_memory, infos.values())),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Conf:
    crawl_id: str
    schema: int
    n_partitions: int
    incarnation: str

    def key(self, name: str) -> str:
        return f"rc:{{{self.crawl_id}}}:{name}"


async def _read_conf(redis: Redis, crawl_id: str) -> _Conf | None:
    fields = ("schema", "partitions", INCARNATION)
    key = f"rc:{{{crawl_id}}}:conf"
    schema, n, mark = cast("list[bytes | None]", await redis.hmget(key, fields))
    if schema is None or n is None:
        return None
    return _Conf(
        crawl_id=crawl_id,
        schema=_number(schema),
        n_partitions=_number(n),
        incarnation=(mark or b"").decode(errors="replace"),
    )


async def _read_crawl(redis: Redis, conf: _Conf, now: int) -> CrawlReading:
    prefixes = [f"rc:{{{conf.crawl_id}/{p}}}" for p in range(conf.n_partitions)]
    partitions = await read_partitions(redis, prefixes, now)
    # One command reads all: a worker that leaves moves its figures between fields.
    pipe = redis.pipeline(transaction=False)
    pipe.hgetall(conf.key("figures"))
    pipe.zrange(conf.key("workers"), 0, -1, withscores=True)
    pipe.scard(conf.key("runs"))
    figures, heard, n_runs = await pipe.execute()
    silence = silence_secs(_LEASE_SECS)
    live = {name for name, at in heard if abs(now / 1000 - at) <= silence}
    rows = {name: parsed(text) for name, text in figures.items()}
    return CrawlReading(
        crawl_id=conf.crawl_id,
        incarnation=conf.incarnation,
        partitions=tuple(partitions),
        figures=sums_of(rows.values()),
        current=highest_of(row for name, row in rows.items() if name in live),
        n_workers=len(live),
        last_seen=max((at for _, at in heard), default=0.0),
        n_runs=n_runs,
    )


def highest_of(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the present values of all workers, the highest of each."""
    found: dict[str, float] = {}
    for row in rows:
        for name, value in row.items():
            if name.startswith(CURRENT):
                found[name] = max(value, found.get(name, value))
    return found


def _memory(info: Any) -> ServerMemory:
    return ServerMemory(
        used=int(info["used_memory"]),
        limit=int(info.get("maxmemory") or 0),
        machine=int(info.get("total_system_memory") or 0),
    )


def _number(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) < 10 else 0


class HighWater:
    """Counters that never decrease during a crawl.

    A server that takes over, or reads its file again, may have lost the last second;
    to Prometheus, a counter that decreases has restarted at zero.
    """

    def __init__(self) -> None:
        self._highest: dict[tuple[str, str], dict[str, float]] = {}

    def raised(self, crawls: Iterable[CrawlReading]) -> dict[str, Mapping[str, float]]:
        """Return the figures of each crawl by name, never below earlier ones."""
        kept: dict[tuple[str, str], dict[str, float]] = {}
        for crawl in crawls:
            mark = crawl.crawl_id, crawl.incarnation
            highest = kept[mark] = self._highest.get(mark, {})
            for name, value in crawl.figures.items():
                highest[name] = max(value, highest.get(name, value))
        self._highest = kept
        return {crawl_id: figures for (crawl_id, _), figures in kept.items()}
