"""Visits whose records are all refused, between visits that send requests."""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import RawServers
from tests.support.stamping_servers import StampedRequest, StampingServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.crawl_fixtures import Commands

DELAY_SECS, LEAST_SECS = 0.5, 0.45
# For each host, its URLs in the order of the queue: "p" allowed, "no" disallowed.
ORDERS = list(product(("p", "no"), repeat=3))[:-1]


def _replies(rules: str) -> Callable[[StampedRequest], bytes]:
    def reply(request: StampedRequest) -> bytes:
        if request.target == "/robots.txt":
            text = f"User-agent: *\n{rules}Disallow: /no"
            return RawServers.response(text.encode(), "text/plain")
        return RawServers.response(b"<urn:x:s> <urn:x:p> 1 .")

    return reply


@pytest.mark.parametrize(
    ("delay_secs", "rules"), [(DELAY_SECS, ""), (0, f"Crawl-delay: {DELAY_SECS}\n")]
)
def test_refused_visits_shorten_no_delay(
    commands: Commands, delay_secs: float, rules: str
) -> None:
    """If visits are refused by robots.txt, then requests around them keep the delay.

    Each visit has one record, so that refused ones precede, separate and follow those
    that are requested; two workers share all hosts.
    """
    with ExitStack() as stack:
        servers = [
            stack.enter_context(StampingServer(_replies(rules), f"127.0.97.{n + 1}"))
            for n in range(len(ORDERS))
        ]
        seeds = [
            f"http://127.0.97.{n + 1}:{server.port}/{kind}/{i}"
            for n, server in enumerate(servers)
            for i, kind in enumerate(ORDERS[n])
        ]
        given: dict[str, Any] = {
            "CRAWL_ID": "refused",
            "DOWNLOAD_DELAY": delay_secs,
            "VISIT_MAX_DOCUMENTS": 1,
        }
        folder = commands.folder()
        first = commands.start_crawl(seeds, folder=folder, **given)
        workers = [first, commands.start_crawl(folder=folder, **given)]
        results = [worker.wait() for worker in workers]
    n_refused = sum(x.statistics.get("fault/robots_disallowed", 0) for x in results)
    assert n_refused == sum(order.count("no") for order in ORDERS)
    gaps: dict[str, float] = defaultdict(float)
    for server, order in zip(servers, ORDERS, strict=True):
        times = sorted(request.at for request in server.requests)
        # robots.txt, and the pages
        assert len(times) == 1 + order.count("p"), server.requests
        gaps["".join(order)] = min(b - a for a, b in pairwise(times))
    assert min(gaps.values()) >= LEAST_SECS, gaps
