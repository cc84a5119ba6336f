"""Metrics computed from reports of workers."""

from __future__ import annotations

import json
from math import inf
from typing import TYPE_CHECKING

import pytest
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from rdfcrawl.frontier.queue.worker_reports import lag_of
from rdfcrawl.frontier.worker.worker_state import figures_of
from rdfcrawl.monitor.metrics.exporter import families_of
from rdfcrawl.monitor.metrics.reading import (
    MAX_CRAWLS,
    CrawlSearch,
    HighWater,
    read_redis,
)
from rdfcrawl.pipelines.discover import add_reading_times
from tests.support.crawl_webs import TreeWeb

if TYPE_CHECKING:
    from pathlib import Path

    from redis.asyncio import Redis

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback
    from tests.support.redis_fixtures import MakeFrontier


async def told(redis: Redis, marks: HighWater) -> dict[str, float]:
    """Return the samples of crawl c, by name and all labels but the crawl."""
    search = CrawlSearch(redis, "")
    await search.look()
    reading = await read_redis(redis, search.names)
    return {
        "/".join([x.name.removeprefix("rdfcrawl_"), *list(x.labels.values())[1:]]): (
            x.value
        )
        for family in families_of(reading, marks.raised(reading.crawls))
        for x in family.samples
        if x.labels.get("crawl", "c") == "c"
    }


async def test_counter_goes_back_with_the_crawl_alone(
    make_frontier: MakeFrontier, redis: Redis
) -> None:
    """If Redis has lost a report, then counters stay; of a new crawl, they begin."""
    marks = HighWater()
    frontier = await make_frontier()
    for n, shown in ((7, 7), (5, 7), (8, 8)):
        await frontier.beat("w", {"document/quads": n})
        assert (await told(redis, marks))["triples_total"] == shown
    await frontier.leave("w")
    await frontier.clear()
    await frontier.open()
    await frontier.beat("w", {"document/quads": 2})
    assert (await told(redis, marks))["triples_total"] == 2


async def test_labels_are_of_closed_sets(
    make_frontier: MakeFrontier, redis: Redis
) -> None:
    """If a report has an unknown name, then it is counted as `other`."""
    frontier = await make_frontier()
    report = {
        "fault/http://a.example/": 1,
        "fault/syntax": 2,
        "http/status/7xx": 3,
        "document/parse_error/RDF/XML/syntax": 4,
        "document/parse_error/x/y/z": 5,
    }
    await frontier.beat("w", report)
    found = await told(redis, HighWater())
    assert found["faults_total/other"] == 1
    assert found["faults_total/syntax"] == 2
    assert found["responses_total/other"] == 3
    assert found["parse_errors_total/RDF/XML/syntax"] == 4
    assert found["parse_errors_total/other/other"] == 5


async def test_histogram_of_times_adds_up(
    make_frontier: MakeFrontier, redis: Redis
) -> None:
    """If workers report times in buckets, then the histogram has their sum."""
    frontier = await make_frontier()
    stats = MemoryStatsCollector(get_crawler())
    add_reading_times(stats, [0.0001, 0.0005, 0.0007, 0.04, 99])
    add_reading_times(stats, [0.25])
    for worker in ("v", "w"):
        await frontier.beat(worker, figures_of(stats.get_stats()))
    found = await told(redis, HighWater())
    buckets = {k: n for k, n in found.items() if k.startswith("parse_seconds_bucket/")}
    n_until = {float(name.partition("/")[2]): n for name, n in buckets.items()}
    assert n_until[0.0005] == 4
    assert n_until[0.001] == n_until[0.025] == 6
    assert (n_until[0.05], n_until[60], n_until[inf]) == (8, 10, 12)
    assert found["parse_seconds_count"] == 12
    assert found["parse_seconds_sum"] == pytest.approx(2 * 99.2913)


async def test_crawls_beyond_the_limit_are_counted(
    make_frontier: MakeFrontier, redis: Redis
) -> None:
    """If a Redis has very many crawls, then only a limited number have metrics."""
    await make_frontier()
    for n in range(MAX_CRAWLS + 4):
        await redis.copy("rc:{c}:conf", f"rc:{{more-{n}}}:conf")
    await redis.hset("rc:{more-0}:conf", "schema", "99")
    found = await told(redis, HighWater())
    assert found["crawls"] == MAX_CRAWLS
    assert found["crawls_left_out"] == 5


async def test_lag_of_stores_is_of_live_workers(
    make_frontier: MakeFrontier, redis: Redis
) -> None:
    """If workers report stores, then the worst figure of a live one counts."""
    frontier = await make_frontier()
    for name, secs in (("dead", 900), ("w1", 70), ("w2", 80)):
        await frontier.beat(name, {"now/store/fuseki+http/secs": secs})
    await redis.zadd(frontier.key("workers"), {"dead": 1})
    found = await told(redis, HighWater())
    assert found["store_lag_seconds/fuseki"] == 80
    assert found["workers"] == 2


def test_worker_reports_the_lag_of_its_stores(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If a store is behind the log of a crawl, then a worker there says how far."""
    web = TreeWeb(loopback, "127.94.8", n_hosts=1, n_docs=3, secs=0)
    stores = json.dumps({f"oxigraph:{tmp_path}": {}})
    crawled = commands.crawl([web.seed], STORES=stores)
    assert crawled.code == 0, crawled.stderr
    assert lag_of(crawled.folder)["now/store/oxigraph/documents"] == 0
    (path,) = (crawled.folder / "followers").glob("*.json")
    status = json.loads(path.read_text())
    status["checkpoint"]["offsets"] = {}  # as if nothing was read
    path.write_text(json.dumps(status | {"state": "waiting", "secs_behind": 9.0}))
    found = lag_of(crawled.folder)
    assert found["now/store/oxigraph/documents"] > 0
    assert found["now/store/oxigraph/secs"] == 9
    assert found["now/store/oxigraph/stuck"] == 1
