"""Hosts that are visited in their working hours only, through the crawl."""

from __future__ import annotations

import json
import signal
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

TRIPLE = b"<> <urn:x:p> 1 ."


def named(moment: datetime) -> str:
    """Return a time of day."""
    return f"{moment:%H:%M:%S}"


def test_hosts_wait_for_their_hours(commands: Commands, loopback: Loopback) -> None:
    """If a host is closed, then it is requested later, and no other host waits for it.

    A visit ends when the hours do.
    """
    always, later, ending = (loopback(host=f"127.0.96.{n}") for n in (1, 2, 3))
    for server in (always, later, ending):
        server.pages["*"] = loopback.response(TRIPLE)
        server.pages["/robots.txt"] = loopback.response(b"", "text/plain")
    now = datetime.now(UTC)
    begins = (now + timedelta(seconds=8)).replace(microsecond=0)
    until_then = f"{named(now - timedelta(hours=1))}-{named(begins)}"
    from_then = f"{named(begins)}-{named(now + timedelta(hours=12))}"
    seeds = [server.url(f"/{n}") for server in (always, later) for n in range(3)]
    seeds += [ending.url(f"/{n}") for n in range(40)]
    worker = commands.start_crawl(
        seeds,
        WORKING_HOURS=json.dumps({later.host: from_then, ending.host: until_then}),
        DOWNLOAD_DELAY=0.25,
        VISIT_WINDOW_SECS=60,
        VISIT_MAX_DOCUMENTS=100,
        TDM_POLICY="ignore",
        STATS_DUMP=True,
    )
    commands.wait_until(lambda: len(later.requests) >= 4)
    worker.send(signal.SIGINT)
    result = worker.wait()
    offset = begins.timestamp() - time.time() + time.monotonic()
    assert min(each.at for each in later.requests) >= offset - 0.01
    assert max(each.at for each in always.requests) < offset
    assert max(each.at for each in ending.requests) <= offset + 0.26
    assert 1 < len(ending.requests) < 40
    assert "'frontier/closed':" in result.stderr
    assert n_closed(result.stderr) < 10  # no worker repeats the request


def n_closed(text: str) -> int:
    """Return how many visits were put off."""
    return int(text.partition("'frontier/closed': ")[2].partition(",")[0])
