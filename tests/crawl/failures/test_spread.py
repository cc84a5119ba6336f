"""A crawl of a domain that is spread over partitions, killed and run again."""

from __future__ import annotations

import signal
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from redis import Redis

from rdfcrawl.frontier.redis.embedded import ensure_server
from rdfcrawl.uri import partition_of
from tests.support.crawl_names import scripted_names

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RawRequest, RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

N_NAMES = 160
MOST_NAMES = 120
MOST_MORE = 50  # URIs of the domain in the second run
N_TOGETHER = 20
N_SITES = 6
N_PAGES = 10
N_PARTITIONS = 8


@dataclass(frozen=True)
class Spread:
    """Two runs of a crawl, the first of which was killed once and went on.

    Attributes:
        first: URLs requested in the first run.
        placed: how many hosts of the giant each partition has after it.
        more: URLs requested only in the second one.
    """

    first_result: CrawlResult
    first: set[str]
    placed: list[int]
    second_result: CrawlResult
    more: set[str]


def _url(request: RawRequest) -> str:
    return f"http://{request.headers['host']}{request.target}"


def _turtle(*links: str) -> bytes:
    return "".join(f"<> <urn:x:p> <{link}> .\n" for link in links).encode()


def _web(loopback: Loopback) -> RawServer:
    """Serve pages that link to all hosts of the giant, these, and other sites."""

    def reply(request: RawRequest) -> bytes:
        port, host = server.port, request.headers["host"]
        links = ["urn:x:o"]
        if host.startswith("index"):
            page = int(request.target.strip("/") or 0)
            numbers = range(page * 20, page * 20 + 40)
            links = [f"http://h{n % N_NAMES}.giant.example:{port}/" for n in numbers]
            links += [f"http://site{page % N_SITES}.example:{port}/"]
            links += [f"http://{host}/{page + 1}"] if page < N_NAMES // 20 else []
        elif host.startswith("site") and request.target == "/":
            links = [f"http://{host}/{n}" for n in range(N_PAGES)]
        elif request.target == "/":
            links = [f"http://{host}/more"]
        return loopback.response(_turtle(*links))

    server = loopback({"*": reply})
    return server


def _placed(folder: Path) -> list[int]:
    """Return how many hosts of the giant each partition has."""
    with (
        closing(ensure_server(folder / "frontier")) as server,
        Redis.from_url(str(server.url)) as redis,
    ):
        return [
            len(redis.keys(f"rc:{{{folder.name}/{n}}}:h:*.giant.example"))
            for n in range(N_PARTITIONS)
        ]


@pytest.fixture(scope="module")
def spread(
    commands: Commands, loopback: Loopback, tmp_path_factory: pytest.TempPathFactory
) -> Spread:
    """Crawl, kill the worker amid it, go on to the end; then raise the bound."""
    server = _web(loopback)
    names: dict[str, list[list[str] | str]] = {
        f"site{n}.example": [["127.0.0.1"]] for n in range(N_SITES)
    }
    names |= {f"{name}.example": [["127.0.0.1"]] for name in ("*.giant", "index")}
    settings: dict[str, Any] = {
        "ROBOTSTXT_OBEY": False,
        "CONCURRENT_REQUESTS": 8,
        "FRONTIER_PARTITIONS": N_PARTITIONS,
        "FRONTIER_DOMAIN_HOSTS": N_TOGETHER,
        "FRONTIER_LEASE_SECS": 1,
        "FRONTIER_COMMIT_SECS": 0.2,
    }
    folder = commands.folder()
    few = {"max_hosts_per_domain": MOST_NAMES}
    seeds = [f"http://index.example:{server.port}/"]
    with scripted_names(tmp_path_factory.mktemp("names"), names):
        running = commands.start_crawl(seeds, folder=folder, arguments=few, **settings)
        commands.wait_until(lambda: len(server.requests) > N_NAMES // 2)
        running.send(signal.SIGKILL)
        running.process.wait()
        first_result = commands.crawl(folder=folder, arguments=few, **settings)
        first = {_url(request) for request in server.requests}
        placed = _placed(first_result.folder)
        n_first = len(server.requests)
        more = {
            "max_hosts_per_domain": 0,
            "max_per_domain": MOST_MORE,
            "reset": "max_per_domain",
        }
        second_result = commands.crawl(folder=folder, arguments=more, **settings)
    later = {_url(request) for request in server.requests[n_first:]}
    return Spread(first_result, first, placed, second_result, later)


def _hosts(urls: set[str]) -> set[str]:
    return {url.split("/")[2] for url in urls if ".giant.example" in url}


def test_hosts_of_a_giant_are_in_many_partitions(spread: Spread) -> None:
    """If a domain has more hosts than may lie together, then these are everywhere."""
    assert spread.first_result.code == 0, spread.first_result.stderr
    assert sum(spread.placed) == MOST_NAMES
    home = partition_of("giant.example", N_PARTITIONS)
    assert spread.placed[home] == N_TOGETHER
    assert all(spread.placed)


def test_its_hosts_are_counted_once(spread: Spread) -> None:
    """If the worker is killed meanwhile, then as many hosts are crawled as allowed."""
    assert len(_hosts(spread.first)) == MOST_NAMES
    giant = {url for url in spread.first if ".giant.example" in url}
    assert len(giant) == 2 * MOST_NAMES
    assert spread.first_result.counts().is_over


def test_other_hosts_are_crawled_completely(spread: Spread) -> None:
    """If a giant is spread, then the other sites are crawled to their ends."""
    sites = {url for url in spread.first if "//site" in url}
    assert len(sites) == N_SITES * (N_PAGES + 1)


def test_its_uris_are_counted_where_its_hosts_are_not(spread: Spread) -> None:
    """If the domain may have more hosts, but few URIs, then exactly these are new."""
    assert spread.second_result.code == 0, spread.second_result.stderr
    assert len(spread.more) == MOST_MORE
    assert not spread.more & spread.first
    assert not _hosts(spread.more) & _hosts(spread.first)
