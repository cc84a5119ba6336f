"""The exporter: `/metrics` of all crawls in one Redis, in one process.

Metrics follow the rules of Prometheus: base units, and labels from closed sets.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from time import monotonic
from typing import Final, Self, get_args

from aiohttp import web
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.exposition import choose_encoder
from redis.exceptions import RedisError
from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.formats import FORMATS
from rdfcrawl.core.options.scrapy_settings import apply_defaults
from rdfcrawl.core.small_server import SmallServer
from rdfcrawl.frontier.connection import FrontierConnection, begun_crawl
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.frontier.queue.worker_reports import (
    DOCUMENTS,
    LAG,
    SECS,
    SET_ASIDE,
    STUCK,
)
from rdfcrawl.frontier.redis.address import named_redis
from rdfcrawl.frontier.worker.worker_state import (
    FAULT,
    FORMAT,
    GUARD,
    HTTP_STATUS,
    PARSE_ERROR,
    PARSE_SECS,
    PARSE_SECS_BOUNDS,
    PARSE_SECS_SUM,
    STATUS,
    STORE_FLUSH_SECS,
    STORE_FLUSHES,
)
from rdfcrawl.monitor.metrics.reading import (
    CrawlReading,
    CrawlSearch,
    HighWater,
    RedisReading,
    read_redis,
)
from rdfcrawl.monitor.operating.status import sum_of
from rdfcrawl.stores.options import STORE_CLASSES
from rdfcrawl.stores.provenance.records import Status
from rdfcrawl.uri.guard.policy import RefusalCause

logger = logging.getLogger(__name__)

_OTHER: Final = "other"
_REASONS: Final = frozenset(map(str, Reason))
_FORMATS: Final = frozenset(each.name for each in FORMATS)
_CAUSES: Final = frozenset(map(str, RefusalCause))
_STORES: Final = frozenset(each.partition("+")[0] for each in STORE_CLASSES)
_STATUSES: Final = frozenset(each.lower() for each in get_args(Status))
_CLASSES: Final = frozenset(f"{digit}xx" for digit in range(1, 6))

# Metric, statistic, help: a counter of each crawl.
_COUNTERS: Final = (
    ("documents_stored", "document/stored", "Documents with statements."),
    ("triples", "document/quads", "Statements stored."),
    ("links", "link/offered", "Links that went to the frontier."),
    ("response_bytes", "http/bytes", "Decoded bytes of bodies."),
    (
        "useful_bytes",
        "http/useful_bytes",
        "Decoded bytes of documents with statements, and of sources.",
    ),
    (
        "robots_unreachable",
        f"{FAULT}{Reason.ROBOTS_UNREACHABLE}",
        "URIs that were not fetched, because robots.txt of their host was unavailable.",
    ),
)
# Metric, group of statistics, label and its values, help.
_GROUPS: Final = (
    ("documents", STATUS, "status", _STATUSES, "URIs that were processed."),
    ("documents_read", FORMAT, "format", _FORMATS, "Documents that were read."),
    ("responses", HTTP_STATUS, "status_class", _CLASSES, "Last responses of servers."),
    ("faults", FAULT, "reason", _REASONS, "Faults of documents."),
    ("guard_blocked", GUARD, "reason", _CAUSES, "Connections that were refused."),
)
_PARTITION_SUMS: Final = (
    ("hosts_ready", "n_ready", "Hosts and crowds that wait for their turn."),
    ("hosts_due", "n_due", "Waiting hosts and crowds that are due."),
    ("hosts_active", "n_leases", "Hosts that are being visited."),
    ("hosts_paused", "n_paused", "Hosts that an operator has paused."),
    ("hosts_refusing", "n_refusing", "Hosts with work that refused the last visit."),
    ("leases_expired", "n_expired", "Leases of dead workers."),
    (
        "frontier_failed_requests",
        "n_failed",
        "URIs given up because their hosts failed.",
    ),
)
_STATES: Final = ("queued", "leased", "waiting", "done", "dead", "known")
_LAGS: Final = (
    ("store_queue_documents", DOCUMENTS, "Documents that a store has not read yet."),
    ("store_lag_seconds", SECS, "Age of the latest document that a store has read."),
    ("store_set_aside_documents", SET_ASIDE, "Documents that a store has refused."),
    ("store_stuck", STUCK, "1 if a store waits, is unusable or has failed."),
)
PATH: Final = "/metrics"
_READ_SECS: Final = 8.0  # Prometheus waits for ten
_FRESH_SECS: Final = 1.0  # workers report no more often


def families_of(
    reading: RedisReading | None, figures: Mapping[str, Mapping[str, float]]
) -> list[Metric]:
    """Return all metrics.

    Args:
        reading: of the Redis; None if it could not be read.
        figures: of each crawl, from `HighWater`.
    """
    up = _overall("redis_up", "1 if Redis could be read.", reading is not None)
    if reading is None:
        return [up]
    return [
        up,
        *_server_families(reading),
        *_counter_families(figures),
        *_frontier_families(reading.crawls),
        *_worker_families(reading.crawls),
    ]


def _server_families(reading: RedisReading) -> Iterable[Metric]:
    servers = reading.servers
    yield _overall("crawls", "Crawls that have metrics.", len(reading.crawls))
    yield _overall("crawls_left_out", "Crawls without metrics.", reading.n_left_out)
    yield _overall(
        "redis_memory_used_bytes",
        "Memory of all primaries in use, for any purpose.",
        sum(each.used for each in servers),
    )
    yield _overall(
        "redis_memory_limit_bytes",
        "Sum of their maxmemory; 0: there is none.",
        sum(each.limit for each in servers),
    )
    yield _overall(
        "redis_memory_used_ratio",
        "Share of maxmemory, or of the machine, that the fullest primary uses.",
        max((each.share for each in servers), default=0.0),
    )


def _counter_families(figures: Mapping[str, Mapping[str, float]]) -> Iterable[Metric]:
    for name, statistic, help_text in _COUNTERS:
        counter = _counter(name, help_text)
        for crawl_id, own in figures.items():
            counter.add_metric([crawl_id], own.get(statistic, 0))
        yield counter
    for name, group, label, values, help_text in _GROUPS:
        counter = _counter(name, help_text, label)
        for crawl_id, own in figures.items():
            for value, n in _grouped(own, group, values).items():
                counter.add_metric([crawl_id, value], n)
        yield counter
    yield _parse_errors(figures)
    yield _parse_seconds(figures)
    writes = SummaryMetricFamily(
        "rdfcrawl_store_write_seconds",
        "Time of workers to make stored data durable, once a commit.",
        labels=["crawl"],
    )
    for crawl_id, own in figures.items():
        n, secs = own.get(STORE_FLUSHES, 0), own.get(STORE_FLUSH_SECS, 0.0)
        writes.add_metric([crawl_id], int(n), secs)
    yield writes


def _grouped(
    figures: Mapping[str, float], group: str, values: frozenset[str]
) -> dict[str, float]:
    """Return the statistics of a group by their last part; 0 for missing ones."""
    found = dict.fromkeys(sorted(values), 0.0)
    for name, n in figures.items():
        if name.startswith(group):
            value = _closed(name.removeprefix(group), values)
            found[value] = found.get(value, 0) + n
    return found


def _closed(value: str, values: frozenset[str]) -> str:
    """Return a label's value; all unknown ones become one."""
    return value if value in values else _OTHER


def _parse_errors(figures: Mapping[str, Mapping[str, float]]) -> Metric:
    help_text = "Documents with an unreadable part, by the first reason."
    counter = _counter("parse_errors", help_text, "format", "reason")
    for crawl_id, own in figures.items():
        found: dict[tuple[str, str], float] = {}
        for name, n in own.items():
            if name.startswith(PARSE_ERROR):
                form, _, reason = name.removeprefix(PARSE_ERROR).rpartition("/")
                labels = _closed(form, _FORMATS), _closed(reason, _REASONS)
                found[labels] = found.get(labels, 0) + n
        for labels, n in found.items():
            counter.add_metric([crawl_id, *labels], n)
    return counter


def _parse_seconds(figures: Mapping[str, Mapping[str, float]]) -> Metric:
    times = HistogramMetricFamily(
        "rdfcrawl_parse_seconds",
        "Time from the body of a document to its last statement, stored and searched.",
        labels=["crawl"],
    )
    for crawl_id, own in figures.items():
        n = 0
        buckets: list[tuple[str, float]] = []
        for bound in PARSE_SECS_BOUNDS:
            n += int(own.get(f"{PARSE_SECS}{bound}", 0))
            buckets.append((str(bound), n))
        n += int(own.get(f"{PARSE_SECS}more", 0))
        buckets.append(("+Inf", n))
        times.add_metric([crawl_id], buckets, own.get(PARSE_SECS_SUM, 0.0))
    return times


def _frontier_families(crawls: Iterable[CrawlReading]) -> Iterable[Metric]:
    requests = _gauge("frontier_requests", "URIs by state.", "state")
    known = _gauge("hosts_known", "Hosts with accepted URIs.")
    lag = _gauge(
        "frontier_lag_seconds", "Time for which a host has been due and not claimed."
    )
    for crawl in crawls:
        counts = sum_of(each.counts for each in crawl.partitions)
        for state in _STATES:
            requests.add_metric([crawl.crawl_id, state], getattr(counts, state))
        known.add_metric([crawl.crawl_id], counts.hosts)
        longest = max(each.lag_ms for each in crawl.partitions)
        lag.add_metric([crawl.crawl_id], longest / 1000)
    yield from (requests, known, lag)
    for name, field, help_text in _PARTITION_SUMS:
        family = _gauge(name, help_text)
        for crawl in crawls:
            total = sum(getattr(each, field) for each in crawl.partitions)
            family.add_metric([crawl.crawl_id], total)
        yield family


def _worker_families(crawls: Iterable[CrawlReading]) -> Iterable[Metric]:
    live = _gauge("workers", "Live workers.")
    seen = _gauge(
        "worker_last_seen_timestamp_seconds", "Time of the last report of a worker."
    )
    runs = _counter("runs", "Runs that have ended.")
    for crawl in crawls:
        live.add_metric([crawl.crawl_id], crawl.n_workers)
        seen.add_metric([crawl.crawl_id], crawl.last_seen)
        runs.add_metric([crawl.crawl_id], crawl.n_runs)
    yield from (live, seen, runs)
    for name, what, help_text in _LAGS:
        family = _gauge(name, help_text, "store")
        for crawl in crawls:
            for kind, value in _lags(crawl.current, what).items():
                family.add_metric([crawl.crawl_id, kind], value)
        yield family


def _lags(current: Mapping[str, float], what: str) -> dict[str, float]:
    """Return a figure of the followers by kind, the highest of each."""
    found: dict[str, float] = {}
    for name, value in current.items():
        kind, _, last = name.removeprefix(LAG).rpartition("/")
        if name.startswith(LAG) and last == what:
            kind = _closed(kind.partition("+")[0], _STORES)
            found[kind] = max(value, found.get(kind, value))
    return found


def _overall(name: str, help_text: str, value: float) -> Metric:
    """Return a metric of the server."""
    return GaugeMetricFamily(f"rdfcrawl_{name}", help_text, value=float(value))


def _gauge(name: str, help_text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"rdfcrawl_{name}", help_text, labels=["crawl", *labels])


def _counter(name: str, help_text: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(f"rdfcrawl_{name}", help_text, labels=["crawl", *labels])


class MetricsEndpoint:
    """Metrics for Prometheus, from readings of a Redis.

    Redis is read once a second at most, for any number of requests.

    Args:
        read: returns a reading; None if Redis cannot be read.
    """

    def __init__(self, read: Callable[[], Awaitable[RedisReading | None]]) -> None:
        self._read = read
        self._marks = HighWater()
        self._reading = asyncio.Lock()
        self._families: list[Metric] = []
        self._read_at = float("-inf")

    async def respond(self, accept: str) -> web.Response:
        """Return the present metrics, at most a second old.

        Args:
            accept: formats that the client accepts (header `Accept`).
        """
        encode, content_type = choose_encoder(accept)
        body = encode(_Read(await self.families()))
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def families(self) -> list[Metric]:
        """Return the present metrics, at most a second old."""
        async with self._reading:
            if monotonic() - self._read_at >= _FRESH_SECS:
                reading = await self._read()
                crawls = reading.crawls if reading else ()
                figures = self._marks.raised(crawls) if reading else {}
                self._families = families_of(reading, figures)
                self._read_at = monotonic()
        return self._families


class MetricsExporter:
    """Reads the crawls of a Redis, and serves metrics."""

    def __init__(self, connection: FrontierConnection, named: str) -> None:
        self._connection = connection
        self._redis = connection.frontier.redis
        self._search = CrawlSearch(self._redis, named)
        self._metrics = MetricsEndpoint(self._read)
        self._server = SmallServer(self._answer)
        self._looking: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, settings: BaseSettings) -> Self:
        """Connect to the Redis that settings name, or to that of a local crawl.

        Raises:
            ConfigError: a setting is wrong, or Redis cannot be used.
        """
        settings = settings.copy()
        apply_defaults(settings)
        named = str(settings.get("CRAWL_ID") or "")
        if named_redis(settings) is None:
            named = begun_crawl(settings)
        options = CrawlOptions.from_settings(settings, named or "exporter")
        async with FrontierConnection.joining(options, settings) as connection:
            exporter = cls(connection, named)
            await exporter._search.look()
        connection.opened()
        return exporter

    async def listen(self, host: str, port: int) -> int:
        """Start to serve; return the port.

        Raises:
            OSError: the address cannot be used.
        """
        bound = await self._server.open(host, port)
        self._looking = asyncio.create_task(self._look())
        return bound

    async def close(self) -> None:
        """Stop serving, and disconnect."""
        if self._looking is not None:
            self._looking.cancel()
        await self._server.close()
        await self._connection.close()

    async def _look(self) -> None:
        """Search for new crawls regularly."""
        while True:
            await asyncio.sleep(_FRESH_SECS)
            try:
                await self._search.look()
            except (RedisError, OSError) as error:
                logger.debug("cannot search for crawls: %s", error)

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        if request.path != PATH:
            response = web.Response(status=404, text=f"metrics are at {PATH}\n")
        elif request.method not in ("GET", "HEAD"):
            response = web.Response(status=405, headers={"Allow": "GET, HEAD"})
        else:
            accept = request.headers.get("Accept", "")
            response = await self._metrics.respond(accept)
        response.force_close()
        return response

    async def families(self) -> list[Metric]:
        """Return the present metrics."""
        return await self._metrics.families()

    async def _read(self) -> RedisReading | None:
        try:
            async with asyncio.timeout(_READ_SECS):
                return await read_redis(self._redis, self._search.names)
        except (RedisError, OSError) as error:  # a timeout is an `OSError`
            logger.warning("Redis cannot be read: %s", error)
            return None


class _Read:
    """A reading, in place of a registry of `prometheus_client`."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """Return all metrics."""
        return self._families
