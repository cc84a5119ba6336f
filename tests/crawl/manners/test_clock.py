"""One clock per host: for all kinds of requests, and for all workers."""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from scrapy import Request

from rdfcrawl.spiders.linkeddata import LinkedDataSpider
from tests.support.crawl_names import scripted_names
from tests.support.ftp_servers import OddFtp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy.http import Response

    from rdfcrawl.pipelines.callbacks.parsed_document import ParsedDocument
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

# A loaded machine holds up a request between its turn and the network.
DELAY_SECS, HASTY_SECS, LEAST_SECS = 0.5, 0.1, 0.45
HOST = "127.0.93.1"
TRIPLE = b"<urn:x:s> <urn:x:p> 1 ."
NOTHING = b'{"head": {"vars": []}, "results": {"bindings": []}}'
LD = "application/ld+json"


class AskingSpider(LinkedDataSpider):
    """Sends additional requests to the hosts of visits."""

    name = "asking"

    def parse_document(self, document: ParsedDocument) -> Iterator[Any]:
        """Request URLs that no other request covers."""
        yield Request(f"{document.url}?own", callback=self.take)

    def take(self, response: Response) -> None:
        """Have enough."""


class Times(list[str]):
    """Commands of FTP, and the times of those that request a file."""

    def __init__(self) -> None:
        super().__init__()
        self.at: list[float] = []

    def append(self, said: str) -> None:
        """Note a command."""
        if said.startswith(("RETR", "LIST", "MLSD", "NLST")):
            self.at.append(time.monotonic())
        super().append(said)


class Clocked(NamedTuple):
    """One crawl by three workers, of a host that gets all kinds of requests."""

    server: RawServer
    ftp: OddFtp
    results: list[CrawlResult]

    def times(self) -> list[tuple[float, str]]:
        """Return the requests to the host, with times, in order."""
        web = [(request.at, request.target) for request in self.server.requests]
        assert isinstance(self.ftp.commands, Times)
        return sorted([*web, *((at, "ftp") for at in self.ftp.commands.at)])


def naming(context: str) -> bytes:
    """Return a document that names a context."""
    return json.dumps({"@context": context, "@id": "urn:x:s", "name": "N"}).encode()


def fill(server: RawServer, loopback: Loopback) -> None:
    """Give a host its pages."""
    response = loopback.response
    page, context = response(TRIPLE), b'{"@context": {"name": "urn:x:name"}}'
    urls = "".join(f"<url><loc>{server.url(f'/m/{n}')}</loc></url>" for n in range(1))
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    sitemap = f'<urlset xmlns="{space}">{urls}</urlset>'.encode()
    server.pages |= {f"/{kind}/{n}": page for kind in "pm" for n in range(1)}
    server.pages |= {f"/c/{n}": response(context, LD) for n in range(3)}
    server.pages |= {f"/rules/{n}": response(b"", "text/plain") for n in range(3)}
    server.pages |= {
        "/moved": loopback.redirect(server.url("/p/0?x")),
        "/p/0?x": page,
        "/near": response(naming(server.url("/c/0")), LD),
        "/sitemap.xml": response(sitemap, "application/xml"),
        "*": lambda request: response(
            NOTHING if request.target.startswith("/sparql") else b"",
            "application/sparql-results+json",
            status="200 OK" if request.target.startswith("/sparql") else "404 No",
        ),
    }


def neighbours(server: RawServer, loopback: Loopback) -> list[str]:
    """Start hosts whose rules and contexts are on that host; return their documents."""
    seeds = []
    for n in range(2):
        other = loopback(host=f"127.0.93.{n + 10}")
        body = naming(server.url(f"/c/{n}"))
        other.pages["/robots.txt"] = loopback.redirect(server.url(f"/rules/{n}"))
        other.pages["/d"] = loopback.response(body, LD)
        seeds.append(other.url("/d"))
    return seeds


@pytest.fixture(scope="module")
def clocked(commands: Commands, loopback: Loopback) -> Iterator[Clocked]:
    """Yield the crawl; two of its workers use Scrapy's downloader."""
    server = loopback(host=HOST)
    fill(server, loopback)
    near = neighbours(server, loopback)
    with OddFtp(files={"/a.nt": TRIPLE, "/b.nt": TRIPLE}, host=HOST) as ftp:
        ftp.commands = Times()
        own = [server.url(path) for path in ("/p/0", "/moved", "/near")]
        own += [ftp.url("a.nt"), ftp.url("b.nt")]
        folder = commands.folder()
        given: dict[str, Any] = {"CRAWL_ID": "clock", "DOWNLOAD_DELAY": DELAY_SECS}
        workers = [
            commands.start_crawl([*own, *near], folder=folder, **given),
            commands.start_crawl(
                folder=folder,
                spider="sitemap",
                arguments={"sites": server.url("/sitemap.xml")},
                FETCH_WITH_SCRAPY=True,
                **given,
            ),
        ]
        commands.wait_until(lambda: server.requests)
        hasty = commands.start_crawl(
            folder=folder,
            spider="sparql",
            arguments={"endpoints": server.url("/sparql")},
            FETCH_WITH_SCRAPY=True,
            **given | {"DOWNLOAD_DELAY": HASTY_SECS},
        )
        workers.append(hasty)
        yield Clocked(server, ftp, [worker.wait() for worker in workers])


def test_all_kinds_of_requests_keep_the_delay_together(clocked: Clocked) -> None:
    """If workers send a host all kinds of requests, then no two are too close."""
    for result in clocked.results:
        assert result.code == 0, result.stderr
    times = clocked.times()
    close = [
        (earlier[1], later[1], later[0] - earlier[0])
        for earlier, later in pairwise(times)
        if later[0] - earlier[0] < LEAST_SECS
    ]
    assert close == []


def test_other_delay_is_reported(clocked: Clocked) -> None:
    """If a worker joins with another delay than others, then one line says so."""
    line = (
        f"DOWNLOAD_DELAY is {HASTY_SECS} s here, and from {HASTY_SECS} to {DELAY_SECS}"
    )
    assert clocked.results[-1].stderr.count(line) == 1


def test_requests_of_spiders_keep_the_delay(
    commands: Commands, loopback: Loopback
) -> None:
    """If a spider makes additional requests, then visits keep the delay from them."""
    server = loopback(host="127.0.93.4")
    server.pages["*"] = loopback.response(TRIPLE)
    result = commands.crawl(
        [server.url(f"/{n}") for n in range(4)],
        spider="asking",
        SPIDER_MODULES=f"{__name__},rdfcrawl.spiders",
        DOWNLOAD_DELAY=0.2,
        VISIT_MAX_DOCUMENTS=2,
    )
    assert result.code == 0, result.stderr
    assert sum(target.endswith("?own") for target in server.targets) == 4
    times = [request.at for request in server.requests]
    assert min(later - each for each, later in pairwise(times)) >= 0.15


def test_worker_that_wakes_up_asks_for_its_leases_first(
    commands: Commands, loopback: Loopback
) -> None:
    """If a worker was stopped until others have its hosts, then it requests nothing."""
    server = loopback(host="127.0.93.3")
    server.pages["*"] = [0.05, loopback.response(TRIPLE)]
    server.pages["/robots.txt"] = loopback.response(b"", "text/plain")
    urls = [server.url(f"/{n}") for n in range(30)]
    given: dict[str, Any] = {"FRONTIER_LEASE_SECS": 1}
    folder = commands.folder()
    sleeper = commands.start_crawl(urls, folder=folder, USER_AGENT="sleeper", **given)
    commands.wait_until(lambda: len(server.requests) > 5)
    sleeper.send(signal.SIGSTOP)
    time.sleep(0.2)  # running requests have arrived
    n_asked = len(server.requests)
    other = commands.crawl(folder=folder, USER_AGENT="other", **given)
    assert other.code == 0, other.stderr
    sleeper.send(signal.SIGCONT)
    assert sleeper.wait().code == 0, sleeper.stderr
    late = {request.headers["user-agent"] for request in server.requests[n_asked:]}
    assert late == {"other"}


def turned(names: dict[str, list[str]], n: int) -> dict[str, list[list[str]]]:
    """Return the replies of a name server that rotates addresses, from nth on."""
    return {
        name: [[addresses[(n + k) % len(addresses)]] for k in range(40)]
        for name, addresses in names.items()
    }


def test_addresses_keep_the_delay_while_names_turn(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If names change their addresses all the time, then each keeps the delay."""
    first = loopback(host="127.0.93.21")
    second = loopback(host="127.0.93.22", port=first.port)
    servers = (first, second)
    context = loopback.response(b'{"@context": {"name": "urn:x:name"}}', LD)
    body = naming(f"http://d.example:{first.port}/c")
    for server in servers:
        server.pages |= {f"/{n}": loopback.response(TRIPLE) for n in range(3)}
        server.pages |= {"/c": context, "/ld": loopback.response(body, LD)}
    both = [server.host for server in servers]
    names = {"a.example": both, "b.example": both, "d.example": both}
    names["gone.example"] = ["127.0.93.29", first.host]
    seeds = [
        f"http://{name}.example:{first.port}/{path}"
        for name, path in [*product("ab", ("0", "ld")), ("gone", "2")]
    ]
    folder, workers = commands.folder(), []
    for n in range(3):
        (tmp_path / str(n)).mkdir()
        with scripted_names(tmp_path / str(n), turned(names, n)):
            worker = commands.start_crawl(
                seeds,
                folder=folder,
                POLITENESS_KEY="ip",
                DOWNLOAD_DELAY=DELAY_SECS,
                FETCH_WITH_SCRAPY=n == 2,
            )
        workers.append(worker)
    results = [worker.wait() for worker in workers]
    for result in results:
        assert result.code == 0, result.stderr
    assert results[0].graphs == set(seeds)
    asked = Counter(
        request.headers["host"] + request.target
        for server in servers
        for request in server.requests
        if request.target != "/robots.txt"
    )
    assert set(asked.values()) == {1}
    assert len(asked) == len(seeds) + 1  # and the context
    for server in servers:
        gaps = [later.at - each.at for each, later in pairwise(server.requests)]
        assert min(gaps, default=1.0) >= LEAST_SECS


class Rested(NamedTuple):
    """A host that refuses, and is requested on behalf of another; one with a delay."""

    result: CrawlResult
    busy: RawServer
    slow: RawServer


@pytest.fixture(scope="module")
def rested(commands: Commands, loopback: Loopback) -> Rested:
    """Crawl them without a delay of our own."""
    busy, slow = loopback(host="127.0.93.31"), loopback(host="127.0.93.32")
    other = loopback(host="127.0.93.33")
    busy.pages["/c"] = loopback.response(b'{"@context": {"name": "urn:x:name"}}', LD)
    refusal = loopback.response(b"", status="429 No", Retry_After="3")
    page = loopback.response(TRIPLE)
    busy.pages["/p"] = lambda _: refusal if len(asked_for(busy, "/p")) < 2 else page
    rules = b"User-agent: *\nCrawl-delay: 1\n"
    slow.pages |= {
        "/robots.txt": loopback.response(rules, "text/plain"),
        "/0": loopback.response(TRIPLE),
    }
    other.pages["/d"] = [1.0, loopback.response(naming(busy.url("/c")), LD)]
    seeds = [busy.url("/p"), slow.url("/0"), other.url("/d")]
    return Rested(commands.crawl(seeds, HOST_BACKOFF_SECS=0.1), busy, slow)


def asked_for(server: RawServer, target: str) -> list[float]:
    """Return the times of the requests to a host."""
    return [each.at for each in server.requests if each.target == target]


def test_host_that_refuses_gets_no_requests(rested: Rested) -> None:
    """If a host wants to be left alone, then no document has its context meanwhile."""
    assert rested.result.code == 0, rested.result.stderr
    (first, _), (context,) = asked_for(rested.busy, "/p"), asked_for(rested.busy, "/c")
    assert context - first >= 2.9
    assert ("urn:x:s", "urn:x:name") in {(s, p) for s, p, *_ in rested.result.quads}


def test_delay_counts_from_the_rules_that_name_it(rested: Rested) -> None:
    """If robots.txt names the first delay, then it counts from robots.txt on."""
    (rules,) = asked_for(rested.slow, "/robots.txt")
    (page,) = asked_for(rested.slow, "/0")
    assert page - rules >= 0.99
