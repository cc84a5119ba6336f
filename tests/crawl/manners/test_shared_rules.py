"""Contents of robots.txt other than rules, and their lifetime, through the crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

HOST = "127.0.94.1"
ROBOTS = b"""User-agent: otherbot
Content-Signal: search=no

User-agent: *
Content-Signal: search=yes, ai-train=no, made-up=no
Content-Usage: /shut/ search=n
Licence: https://a.example/terms
Noindex: /open
Disallow: /no
"""
TRIPLE = b"<> <urn:x:p> </to/%d> ."


@pytest.fixture(scope="module")
def runs(commands: Commands, loopback: Loopback) -> tuple[RawServer, list[CrawlResult]]:
    """Crawl a host three times, the last time without minding signals."""
    server = loopback(host=HOST)
    server.pages["/robots.txt"] = loopback.response(ROBOTS, "text/plain")
    server.pages["*"] = lambda r: loopback.response(TRIPLE % len(r.target))
    folder, results = commands.folder(), []
    for n, policy in enumerate(("respect", "record", "ignore")):
        seeds = [server.url(f"/{path}{n}") for path in ("open", "shut/", "no")]
        results.append(
            commands.crawl(
                seeds,
                folder=folder,
                CRAWL_ID="rules",
                CONTENT_SIGNAL_POLICY=policy,
                STATS_DUMP=True,
            )
        )
    return server, results


def test_robots_is_requested_once_in_several_runs(
    runs: tuple[RawServer, list[CrawlResult]],
) -> None:
    """If a crawl is run again within a day, then robots.txt is not requested."""
    server, results = runs
    assert [result.code for result in results] == [0, 0, 0]
    assert server.targets.count("/robots.txt") == 1
    for n in range(3):
        assert results[-1].faults(server.url(f"/no{n}")) == ["robots_disallowed"]
        assert f"/no{n}" not in server.targets


def test_signals_are_obeyed_and_recorded(
    runs: tuple[RawServer, list[CrawlResult]],
) -> None:
    """If robots.txt forbids the use of the crawl, then nothing is taken."""
    server, results = runs
    result = results[-1]

    def said(path: str) -> list[str]:
        where = f"?a sq:crawled <{server.url(path)}> ; rc:contentSignal ?x ."
        return sorted(result.ask(where))

    usual, shut = ["ai-train=no", "search=yes"], ["ai-train=no", "search=no"]
    assert [said(f"/open{n}") for n in range(3)] == [usual, usual, []]
    assert [said(f"/shut/{n}") for n in range(3)] == [shut, shut, []]
    assert result.faults(server.url("/shut/0")) == ["content_signal"]
    stored = {server.url(f"/{path}") for path in ("open0", "open1", "shut/1")}
    stored |= {server.url(f"/{path}") for path in ("open2", "shut/2")}
    assert stored <= result.graphs
    assert server.url("/shut/0") not in result.graphs
    assert "'content_signal/search=no': 1," in results[0].stderr
