"""A delay of addresses in addition to that of hosts, measured at the servers."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tests.support.crawl_names import scripted_names

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

TRIPLE = b"<> <urn:x:p> 1 ."
# A loaded machine holds up a request between its turn and the network.
HOST_SECS, ADDRESS_SECS, SLACK_SECS = 0.5, 0.2, 0.05


def gaps_by(what: str, server: RawServer) -> list[float]:
    """Return the seconds between requests that have a header in common."""
    times = defaultdict(list)
    for request in server.requests:
        times[request.headers[what] if what else ""].append(request.at)
    return [b - a for each in times.values() for a, b in pairwise(each)]


def test_delays_of_hosts_and_addresses_both_hold(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If hosts share an address, then two workers keep its delay and those of hosts."""
    first = loopback(host="127.0.95.1")
    second = loopback(host="127.0.95.2", port=first.port)
    names: dict[str, list[list[str]]] = {}
    for n in range(3):
        names[f"{n}.one.example"] = [[first.host]]
        # A name server that gives addresses in turn does not lead elsewhere.
        names[f"{n}.two.example"] = [[second.host], [first.host], [second.host]]
    for server in (first, second):
        server.pages["*"] = loopback.response(TRIPLE)
        server.pages["/robots.txt"] = loopback.response(b"", status="404 No")
    seeds = [f"http://{name}:{first.port}/{n}" for name in names for n in range(2)]
    seeds.append(first.url("/by-address"))
    folder, workers = commands.folder(), []
    given: dict[str, Any] = {"CRAWL_ID": "both", "DOWNLOAD_DELAY": HOST_SECS}
    with scripted_names(tmp_path, names):
        for n in range(2):
            worker = commands.start_crawl(
                seeds if n == 0 else [],
                folder=folder,
                ADDRESS_DELAY=ADDRESS_SECS,
                TDM_POLICY="ignore",
                FETCH_WITH_SCRAPY=n == 1,
                **given,
            )
            workers.append(worker)
            commands.wait_until(lambda: first.requests)
        results = [worker.wait() for worker in workers]
    for result in results:
        assert result.code == 0, result.stderr
    assert results[0].graphs == set(seeds)
    for server in (first, second):
        assert min(gaps_by("host", server)) >= HOST_SECS - SLACK_SECS
        assert min(gaps_by("", server)) >= ADDRESS_SECS - SLACK_SECS
    # Several hosts of an address proceed in parallel: their delays do not add up.
    (one,) = [max(r.at for r in first.requests) - first.requests[0].at]
    assert one < HOST_SECS * len(first.requests)


def test_delay_of_addresses_stays_as_the_crawl_was_begun(commands: Commands) -> None:
    """If addresses have the delay anyway, then a second one is refused in a line."""
    result = commands.crawl([], POLITENESS_KEY="ip", ADDRESS_DELAY=1)
    assert result.code == 2
    assert result.stderr.count("ADDRESS_DELAY: with POLITENESS_KEY=ip") == 1
