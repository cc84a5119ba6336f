"""Sentinels have a replica take over under a crawl."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import BaseSettings

from rdfcrawl.errors import ConfigError
from rdfcrawl.frontier.client import StateCounts
from rdfcrawl.frontier.frontier_connection import FrontierConnection
from rdfcrawl.frontier.options import CrawlOptions
from tests.support.crawl_fixtures import count_in_redis
from tests.support.crawl_webs import TreeWeb
from tests.support.redis_sentinels import running_sentinels

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

pytestmark = pytest.mark.service

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
