"""Sentinels have a replica take over under a crawl."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.dataweb.process import run_dataweb
from rdfcrawl.frontier.connection import FrontierConnection
from rdfcrawl.frontier.queue.frontier_client import StateCounts
from rdfcrawl.frontier.queue.options import CrawlOptions
from tests.crawl.failures.test_cluster import (
    LARGE,
    check,
    find_pauses,
    longest_pause_secs,
)
from tests.support.crawl_fixtures import count_in_redis
from tests.support.crawl_webs import TreeWeb
from tests.support.redis_sentinels import running_sentinels

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.dataweb.process import ServedWeb
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

pytestmark = pytest.mark.service

WEB = replace(LARGE, n_nodes=100, first_address="127.64.0.1")
N_HOSTS, N_DOCS = 6, 40
N_ALL = N_HOSTS * N_DOCS


def test_the_primary_is_killed(
    commands: Commands, loopback: Loopback, server_directory: Path
) -> None:
    """If Sentinels have a replica take over, then nothing is lost or done twice."""
    web = TreeWeb(loopback, "127.0.84", n_hosts=N_HOSTS, n_docs=N_DOCS, secs=0.05)
    with running_sentinels(server_directory) as watched:
        crawl = commands.start_crawl(
            [web.seed],
            REDIS_URL=watched.url,
            FRONTIER_LEASE_SECS=2,
            FRONTIER_COMMIT_SECS=0.3,
        )
        commands.wait_until(lambda: web.asked().total() > N_DOCS)
        watched.fail_over()
        result = crawl.wait()
        counts = asyncio.run(count_in_redis(watched.url, "linkeddata"))
        other = watched.url.replace("/frontier", "/other")
        options = CrawlOptions.from_settings(BaseSettings({"REDIS_URL": other}), "c")
        with pytest.raises(ConfigError, match=r"no primary named other \(but frontier"):
            asyncio.run(FrontierConnection.connect(options, BaseSettings()))
    assert result.code == 0, result.stderr
    assert result.graphs == web.documents
    assert "another one took over" in result.stderr
    assert counts == StateCounts(done=N_ALL, seen=N_ALL, hosts=N_HOSTS)


@pytest.mark.soak
def test_a_large_crawl_loses_nothing(
    commands: Commands, tmp_path: Path, server_directory: Path
) -> None:
    """If primaries are killed twice under 100 hosts, then recall is exactly 1.

    The number of repeated requests, and the pauses of workers, are printed.
    """
    with (
        running_sentinels(server_directory) as watched,
        run_dataweb(WEB, tmp_path) as web,
    ):
        crew = commands.start(
            *("workers", "-n4", "linkeddata", f"-aseeds=@{web.seeds_path}"),
            REDIS_URL=watched.url,
            DOWNLOAD_DELAY=0.5,
            FRONTIER_LEASE_SECS=10,
            FRONTIER_COMMIT_SECS=0.3,
            VISIT_MAX_DOCUMENTS=4,
        )
        for n_before in (100, 1000):
            commands.wait_until(partial(has_sent, web, n_before))
            began = time.monotonic()
            watched.fail_over()
            print(f"taken over after {time.monotonic() - began:.1f} s")
            watched.come_back()
            assert not crew.has_ended()
        result = crew.wait()
        counts = asyncio.run(count_in_redis(watched.url, "linkeddata"))
        n_asked = n_documents(web)
        web.stop()
    logs = [x.read_text() for x in (result.folder / "logs").glob("*.log")]
    pauses = sorted(float(each) for log in logs for each in find_pauses(log))
    print(f"{pauses=} {n_asked=} {result.secs=:.1f} {counts=}")
    print(f"{longest_pause_secs(result)=:.1f}")
    check(result, counts, tmp_path / "truth.nq")


def n_documents(web: ServedWeb) -> int:
    """Return how many documents a web has sent so far."""
    return web.log().total("n_documents")


def has_sent(web: ServedWeb, n: int) -> bool:
    """Return whether a web has sent more documents than a number."""
    return n_documents(web) > n
