"""Quotas of registered domains, as a server sees them: `-a schedule=domain`."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from redis import Redis

from rdfcrawl.frontier.redis.embedded import ensure_server
from tests.support.crawl_kills import worker_pids
from tests.support.sitemap_sites import Site, urlset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands, RunningCrawl
    from tests.support.crawl_webs import Loopback

QUOTA = 6
PAGE_SECS = 0.1
_NO_PAGES = {"/robots.txt", "/sitemap.xml", "/.well-known/void"}


class Epoch(NamedTuple):
    """When an epoch of a domain began, in seconds; the one that is open has no log."""

    began: float
    log: dict[str, Any]


def epochs_of(folder: Path, domain: str) -> list[Epoch]:
    """Return the epochs of a domain, from the embedded frontier of a crawl."""
    found = []
    with (
        closing(ensure_server(folder / "frontier")) as server,
        Redis.from_url(server.url, decode_responses=True) as redis,
    ):
        for name in redis.scan_iter(match=f"rc:*:el:{domain}"):
            rows = [json.loads(row) for row in redis.lrange(name, 0, -1)]
            found += [Epoch(row["began_ms"] / 1000, row) for row in rows]
        for name in redis.scan_iter(match=f"rc:*:e:{domain}"):
            found.append(Epoch(int(redis.hget(name, "at")) / 1000, {}))
    return found


def linked_site(loopback: Loopback, host: str) -> tuple[Site, set[str]]:
    """Return a site, and all that is there to be fetched: half listed, half linked.

    One page leads to another by a redirect, one is not there, and one is not allowed.
    """
    site = Site(loopback, host)
    listed = [f"/s/{n}" for n in range(9)]
    linked = [f"/d/{n}" for n in range(8)]
    hub = [*linked, "/old", "/missing", "/private", "/s/3"]
    bodies = {
        path: f'<> <urn:x:says> "{path}" .' for path in [*listed, *linked, "/new"]
    }
    bodies["/hub"] = "".join(f"<> <urn:x:child> <{site.at(x)}> .\n" for x in hub)
    for path, body in bodies.items():
        reply = loopback.response(body.encode(), "text/turtle")
        site.server.pages[path] = [PAGE_SECS, reply]
    site.server.pages["/old"] = loopback.redirect("/new")
    site.put("/sitemap.xml", urlset(map(site.at, listed)))
    rules = f"User-agent: *\nDisallow: /private\nSitemap: {site.at('/sitemap.xml')}\n"
    site.put("/robots.txt", rules.encode(), "text/plain")
    return site, {*bodies, "/old", "/missing"}


def _has_more(n_requests: Callable[[], int], n: int, crew: RunningCrawl) -> bool:
    return n_requests() >= n or crew.has_ended()


def kill_workers(
    commands: Commands, crew: RunningCrawl, n_requests: Callable[[], int], n_kills: int
) -> int:
    """Kill a worker each time that some more requests were made; return how often."""
    n_killed = 0
    for _ in range(n_kills):
        enough = n_requests() + 3
        commands.wait_until(partial(_has_more, n_requests, enough, crew))
        time.sleep(PAGE_SECS / 2)
        for pid in worker_pids(crew)[:2]:
            os.kill(pid, signal.SIGKILL)
            n_killed += 1
    return n_killed


@pytest.mark.in_turn(2, rooms=("frontier",))
def test_server_sees_no_more_than_the_quota(
    commands: Commands, loopback: Loopback
) -> None:
    """If workers are killed, then each epoch has its quota, and all is fetched.

    Redirects and repeated requests count, robots.txt and sitemaps do not.
    """
    site, pages = linked_site(loopback, "127.20.61.1")
    arguments = {
        "sites": site.at("/"),
        "seeds": site.at("/hub"),
        "follow": "abox",
        "scope": "host",
        "schedule": "domain",
        "quota": QUOTA,
    }
    crew = commands.start(
        *("workers", "-n2", "sitemap"),
        *(f"-a{name}={value}" for name, value in arguments.items()),
        CRAWL_ID="sitemap",
        SCHEDULE_EPOCH_SECS=0,  # an epoch waits for URLs that died in it
        # Longer than a busy machine holds a worker up between the look at its lease
        # and the request: that would be of the next epoch.
        FRONTIER_LEASE_SECS=3,
        FRONTIER_COMMIT_SECS=0.3,
    )
    n_killed = kill_workers(commands, crew, lambda: len(site.server.requests), 2)
    result = crew.wait()
    assert result.code == 0, result.stderr
    assert n_killed >= 2
    asked = set(site.asked()) - _NO_PAGES
    assert asked == pages
    assert result.graphs >= {site.at(x) for x in pages - {"/old", "/missing"}}

    epochs = epochs_of(result.folder, site.server.host)
    since = time.time() - time.monotonic()
    times = [
        request.at + since
        for request in site.server.requests
        if request.target not in _NO_PAGES
    ]
    counts = [
        sum(epoch.began <= at < end for at in times)
        for epoch, end in zip(
            epochs, [*(each.began for each in epochs[1:]), float("inf")], strict=True
        )
    ]
    assert sum(counts) == len(times) >= len(pages)
    assert max(counts) <= QUOTA, counts
    assert len(epochs) >= len(times) / QUOTA
    kept = [
        json.loads(line)
        for path in (result.folder / "epochs").glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert kept
    assert {each["domain"] for each in kept} == {site.server.host}
    assert all(each in [epoch.log for epoch in epochs] for each in kept)
    assert sum(each.log["links"] for each in epochs[:-1]) > 0
    assert sum(each.log["sitemaps"] for each in epochs[:-1]) > 0
    changed = commands.start(
        *("crawl", "sitemap", "-areset=schedule"),
        CRAWL_ID="sitemap",
        CRAWL_DIR=result.folder.parent,
    ).wait()
    assert "crawl sitemap was begun with schedule=domain, and keeps" in changed.stderr
    assert changed.code == 2
    counts_left = result.counts()
    assert (counts_left.waiting, counts_left.queued, counts_left.dead) == (0, 0, 0)
    assert "0 wait for an epoch" in result.stderr


def test_wrong_quotas_are_reported_in_one_line(commands: Commands) -> None:
    """If quotas are given wrongly, then one line names the correct form."""
    for arguments, told in (
        ({"quota": 10}, "argument quota=10: must be given with schedule=domain"),
        ({"schedule": "domain"}, "argument schedule=domain: must be given with quota"),
        ({"schedule": "host"}, "argument schedule=host: must be one of none, domain"),
        ({"schedule": "domain", "quota": 1}, "argument quota=1: must be an integer"),
    ):
        given = [f"-a{name}={value}" for name, value in arguments.items()]
        result = commands.start("crawl", "linkeddata", *given).wait()
        assert result.code == 2
        assert told in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1
