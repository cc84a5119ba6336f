"""Crawls that meet a domain of very many hosts, among ordinary ones."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.uri.traps import YEARS_AHEAD
from tests.support.crawl_names import scripted_names

if TYPE_CHECKING:
    from tests.conftest import RawRequest, RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

N_NAMES = 300
MOST_NAMES = 250
N_SITES = 10
N_PAGES = 40
RECORDS = [f"/item/{n}/{part}" for n in range(1000, 9999, 400) for part in (1, 12)]


@dataclass(frozen=True)
class Beside:
    """A crawl of a giant and ten other sites, and the next run."""

    first: CrawlResult
    hosts: list[str]  # of the requests of the first run, in their order
    second: CrawlResult
    more: list[str]


def _host(request: RawRequest) -> str:
    return request.headers["host"].partition(":")[0]


def _turtle(*links: str) -> bytes:
    return "".join(f"<> <urn:x:p> <{link}> .\n" for link in links).encode()


def _web(loopback: Loopback) -> RawServer:
    """Serve all names from one place."""

    def reply(request: RawRequest) -> bytes:
        port = server.port
        host = _host(request)
        links = ["urn:x:o"]
        if request.target == "/all":
            links = [f"http://h{n}.giant.example:{port}/" for n in range(N_NAMES)]
            links += [f"http://site{n}.example:{port}/" for n in range(N_SITES)]
            links += [f"http://growing.example:{port}/"]
            links += [f"http://records.example:{port}/"]
            links += [f"http://calendar.example:{port}/{time.gmtime().tm_year}/1"]
        elif host.startswith("site") and request.target == "/":
            links = [f"http://{host}:{port}/{n}" for n in range(N_PAGES)]
        elif host == "records.example" and request.target == "/":
            links = [f"http://{host}:{port}{path}" for path in RECORDS]
        elif host == "growing.example":
            links = [f"http://{host}:{port}{request.target}{x}/" for x in "ab"]
        elif host == "calendar.example":
            year, month = map(int, request.target.split("/")[1:])
            months = 12 * year + month
            links = [f"http://{host}:{port}/{months // 12}/{months % 12 + 1}"]
        return loopback.response(_turtle(*links))

    server = loopback({"*": reply})
    return server


@pytest.fixture(scope="module")
def beside(
    commands: Commands, loopback: Loopback, tmp_path_factory: pytest.TempPathFactory
) -> Beside:
    """Crawl a page that names all hosts, the giant's first; then once more."""
    server = _web(loopback)
    names = {f"site{n}.example": [["127.0.0.1"]] for n in range(N_SITES)}
    others = ("*.giant", "index", "growing", "calendar", "records")
    names |= {f"{name}.example": [["127.0.0.1"]] for name in others}
    settings: dict[str, Any] = {
        "ROBOTSTXT_OBEY": False,
        "VISIT_MAX_DOCUMENTS": 5,
        "CONCURRENT_REQUESTS": 8,
        "FRONTIER_PARTITIONS": 4,
        "TRAP_REPEATS": 1,
        "TRAP_FORM_URLS": 15,
    }
    folder = commands.folder()
    with scripted_names(tmp_path_factory.mktemp("names"), names):
        first = commands.crawl(
            [f"http://index.example:{server.port}/all"],
            folder=folder,
            arguments={"max_hosts_per_domain": MOST_NAMES},
            **settings,
        )
        hosts = [_host(request) for request in server.requests]
        second = commands.crawl(
            folder=folder, arguments={"max_hosts_per_domain": 0}, **settings
        )
    more = [_host(request) for request in server.requests[len(hosts) :]]
    return Beside(first, hosts, second, more)


@pytest.mark.in_turn(2, rooms=("frontier",))
def test_other_hosts_than_a_giant_have_their_turns(beside: Beside) -> None:
    """If a giant comes first, then ten other sites are done long before it is."""
    sites = [n for n, host in enumerate(beside.hosts) if host.startswith("site")]
    assert len(sites) == N_SITES * (N_PAGES + 1)
    before = [h for h in beside.hosts[: sites[-1]] if h.endswith(".giant.example")]
    # Sixteen of its hosts stand for themselves; the others have as many turns as a site
    # has visits, nine of five pages, and the idle time.
    assert len(before) < N_NAMES / 2, len(before)


def test_hosts_of_a_giant_are_bounded(beside: Beside) -> None:
    """If a domain has more hosts than allowed, then a line counts the waiting links."""
    assert beside.first.code == 0, beside.first.stderr
    giant = {host for host in beside.hosts if host.endswith(".giant.example")}
    assert len(giant) == MOST_NAMES
    n_over = N_NAMES - MOST_NAMES
    assert f"domain_budget {n_over}" in beside.first.stderr
    assert beside.first.statistics["fault/domain_budget"] == n_over


def test_wildcard_dns_is_noticed(beside: Beside) -> None:
    """If any name below a domain has one address, then one line says so."""
    assert beside.first.stderr.count("(wildcard DNS)") == 1
    assert (
        "*.giant.example: every name has the address 127.0.0.1" in beside.first.stderr
    )
    assert beside.first.statistics["frontier/wildcards"] == 1
    assert "(wildcard DNS)" not in beside.second.stderr


def test_hosts_over_the_bound_are_taken_up_when_it_is_raised(beside: Beside) -> None:
    """If the bound is lifted, then exactly the URLs over it are requested."""
    assert beside.second.code == 0, beside.second.stderr
    assert len(beside.more) == N_NAMES - MOST_NAMES
    assert len({*beside.hosts, *beside.more}) == N_NAMES + N_SITES + 4


def test_traps_end(beside: Beside) -> None:
    """If paths grow with each link, and a calendar has no end, then both are left."""
    # With "a" and "b", these are all paths without a run that comes twice in a row:
    # "", a, b, ab, ba, aba and bab.
    assert beside.hosts.count("growing.example") == 7
    assert beside.hosts.count("calendar.example") == 12 * (YEARS_AHEAD + 1)
    assert beside.hosts.count("records.example") == len(RECORDS) + 1
    statistics = beside.first.statistics
    assert statistics["link/trap"] == 8 + 1
    assert statistics["fault/url_trap"] == 8 + 1
    assert statistics["link/large_form"] > 0
