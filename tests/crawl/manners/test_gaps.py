"""Three workers on three machines, and the gaps of their requests at the servers.

Each machine is a network namespace; web, FTP server and Redis are between these.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.frontier.redis.embedded import find_server
from rdfcrawl.uri.guard.policy import MAX_PORT
from tests.conftest import RawServers
from tests.support.crawl_names import scripted_names
from tests.support.namespaces import add_addresses, machines
from tests.support.redis_fixtures import RedisServer
from tests.support.stamping_servers import (
    StampedRequest,
    StampingFtp,
    StampingServer,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.namespaces import Machine

pytestmark = pytest.mark.soak

DELAY_SECS, CRAWL_DELAY_SECS, SLACK_SECS = 0.5, 1.0, 0.01
N_ADDRESSES, N_NAMES, N_PAGES = 4, 3, 12
ADDRESSES = [f"10.78.97.{n + 1}" for n in range(N_ADDRESSES)]
REDIS_AT, FTP_AT, NETWORK = "10.78.97.100", "10.78.97.101", "10.78.97.0/24"
REDIS_PORT, N_FILES = 6379, 12
FTP_NAME = "files.example"
NAMES = [f"h{n}.example" for n in range(N_ADDRESSES * N_NAMES)]
SLOW = NAMES[::4]  # their robots.txt has a `Crawl-delay`
LD = "application/ld+json"
XML = "application/xml"
SPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
RESULT = b'{"head": {"vars": []}, "results": {"bindings": []}}'
KINDS = ("p", "r", "x", "f", "b", "ld", "c", "m", "s", "robots.txt", "rules", "sparql")


def address_of(name: str) -> str:
    """Return the address of a host: neighbours are on other machines."""
    return ADDRESSES[NAMES.index(name) % N_ADDRESSES]


class GapWeb:
    """Hosts of a few addresses, with all kinds of URLs of a crawl."""

    def __init__(self, stack: ExitStack) -> None:
        first = stack.enter_context(StampingServer(self.reply, ADDRESSES[0]))
        self.port = first.port
        self.servers = [first]
        for address in ADDRESSES[1:]:
            server = StampingServer(self.reply, address, self.port)
            self.servers.append(stack.enter_context(server))

    def url(self, name: str, target: str) -> str:
        """Return a URL of a host."""
        return f"http://{name}:{self.port}{target}"

    def requests(self) -> list[StampedRequest]:
        """Return all requests, in order."""
        return sorted(each for server in self.servers for each in server.requests)

    def next_to(self, name: str) -> str:
        """Return the next host."""
        return NAMES[(NAMES.index(name) + 1) % len(NAMES)]

    def reply(self, request: StampedRequest) -> bytes:
        """Answer a request."""
        path, _, _ = request.target.partition("?")
        _, kind, *rest = path.split("/")
        if request.nth == 1 and kind == "f":
            return RawServers.response(status="500 Oops")
        if request.nth == 1 and kind == "b":
            return RawServers.response(status="503 Busy", Retry_After="1")
        if kind in ("p", "f", "b", "m"):
            return RawServers.response(self.page(request.host, kind, int(rest[0])))
        if kind in ("r", "x", "ld", "c"):
            return self.way(request.host, kind, rest[0])
        return self.file(request, kind)

    def way(self, name: str, kind: str, n: str) -> bytes:
        """Answer a request with a redirect, or about a context."""
        other = self.next_to(name)
        if kind == "r":
            return RawServers.redirect(f"/p/{n}?r")
        if kind == "x":
            return RawServers.redirect(self.url(other, f"/p/{n}?x"))
        if kind == "c":
            return RawServers.response(b'{"@context": {"name": "urn:x:name"}}', LD)
        body = {"@context": self.url(other, f"/c/{n}"), "@id": "urn:x:s", "name": "N"}
        return RawServers.response(json.dumps(body).encode(), LD)

    def file(self, request: StampedRequest, kind: str) -> bytes:
        """Respond to a request that is not for a document."""
        name, response = request.host, RawServers.response
        if kind == "robots.txt" and name not in SLOW and NAMES.index(name) % 2:
            target = self.url(self.next_to(name), f"/rules/{name}")
            return RawServers.redirect(target)
        if kind in ("robots.txt", "rules"):
            delay = f"Crawl-delay: {CRAWL_DELAY_SECS}\n" if name in SLOW else ""
            text = (
                f"User-agent: *\n{delay if kind == 'robots.txt' else ''}Disallow: /no"
            )
            return response(text.encode(), "text/plain")
        if kind == "sitemap.xml":
            url = self.url(name, "/s/1")
            text = f"<sitemapindex {SPACE}><sitemap><loc>{url}</loc></sitemap>"
            return response(f"{text}</sitemapindex>".encode(), XML)
        if kind == "s":
            urls = (self.url(name, f"/m/{n}") for n in range(4))
            text = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
            return response(f"<urlset {SPACE}>{text}</urlset>".encode(), XML)
        if kind == "sparql":
            return response(RESULT, "application/sparql-results+json")
        return response(status="404 No")

    def page(self, name: str, kind: str, n: int) -> bytes:
        """Return a document that leads to others, here and elsewhere."""
        links = [self.url(name, f"/p/{n + 1}")] if kind == "p" and n < N_PAGES else []
        if kind == "p" and n < 2:
            links += [self.url(name, f"/{each}/{n}") for each in ("r", "x", "f", "ld")]
        if kind == "p" and n == 0:
            links += [self.url(name, "/b/0"), self.url(self.next_to(name), "/p/0")]
        text = "".join(f"<> <urn:x:p> <{link}> .\n" for link in links)
        return (text or "<> <urn:x:p> 1 .").encode()


@contextmanager
def shared_redis(folder: Path) -> Iterator[str]:
    """Yield the address of a Redis that several machines use."""
    program = find_server()
    assert program
    options = ("--port", str(REDIS_PORT), "--bind", REDIS_AT, "--protected-mode", "no")
    server = RedisServer(program, folder, options)
    server.start()
    yield f"redis://{REDIS_AT}:{REDIS_PORT}"
    server.end()


@contextmanager
def served_files(folder: Path) -> Iterator[StampingFtp]:
    """Yield an FTP server with files of one statement."""
    folder.mkdir()
    for n in range(N_FILES):
        (folder / f"{n}.ttl").write_text(f'<> <urn:x:number> "{n}" .')
    with StampingFtp(folder, FTP_AT) as server:
        server.host = FTP_NAME
        yield server


def gaps_of(requests: list[StampedRequest], key: Any) -> dict[str, list[float]]:
    """Return the seconds between requests that have something in common."""
    times = defaultdict(list)
    for request in requests:
        times[key(request)].append(request.at)
    return {key: [b - a for a, b in pairwise(each)] for key, each in times.items()}


def gaps_after_rules(requests: list[StampedRequest], name: str) -> list[float]:
    """Return the gaps of a host from the request after its robots.txt on."""
    own = [each for each in requests if each.host == name]
    since = next(n for n, each in enumerate(own) if each.target == "/robots.txt")
    return [b.at - a.at for a, b in pairwise(own[since + 1 :])]


def crawl(places: list[Machine], folder: Path, kinds: list[list[str]]) -> list[str]:
    """Let three workers crawl, each on a machine; return their output."""
    given: dict[str, Any] = {
        "CRAWL_ID": "gaps",
        "DOWNLOAD_DELAY": DELAY_SECS,
        "DELAY_MAX_SECS": 1.5,
        "HOST_PATIENCE_SECS": 600,
        "HOST_BACKOFF_SECS": 0.05,
        "TDM_POLICY": "respect",
        "GUARD_ALLOW_NETS": NETWORK,
        "GUARD_PORTS": f"1-{MAX_PORT}",
        "GUARD_MAX_PORTS": MAX_PORT,
        "CONTACT_REQUIRED": False,
        "DESCRIBE": "off",
        "PROGRESS": "off",
    }
    workers = []
    for number, (machine, words) in enumerate(zip(places, kinds, strict=True)):
        line = [*machine.prefix, sys.executable, "-m", "scrapy", "crawl", *words]
        line += [f"-s{name}={value}" for name, value in given.items()]
        line += [f"-sUSER_AGENT=worker-{number}", f"-sCRAWL_DIR={folder / str(number)}"]
        said = (folder / f"said-{number}.txt").open("w+")
        workers.append((subprocess.Popen(line, stdout=said, stderr=said), said))
        time.sleep(1)  # the first one begins the crawl
    texts = []
    for process, said in workers:
        with said:
            code = process.wait(900)
            said.seek(0)
            texts.append(said.read())
        assert code == 0, texts[-1]
    return texts


def kinds_of(web: GapWeb, files: str) -> list[list[str]]:
    """Return the first configuration of each of three workers."""
    sites = ",".join(web.url(name, "/sitemap.xml") for name in NAMES[:6])
    endpoints = ",".join(web.url(name, "/sparql") for name in NAMES[1:4])
    return [
        ["linkeddata", f"-aseeds={web.url(NAMES[0], '/p/0')},{files}"],
        ["sitemap", f"-asites={sites}"],
        ["sparql", f"-aendpoints={endpoints}", "-sFETCH_WITH_SCRAPY=True"],
    ]


@pytest.mark.parametrize("address_secs", [0.0, DELAY_SECS])
def test_no_gap_is_shorter_than_its_delay(
    server_directory: Path, tmp_path: Path, address_secs: float
) -> None:
    """If three machines crawl a web, then each host and address has its delay."""
    names = {name: [[address_of(name)]] for name in NAMES} | {FTP_NAME: [[FTP_AT]]}
    with ExitStack() as stack:
        places = stack.enter_context(machines(3))
        add_addresses(places[0], [*ADDRESSES, REDIS_AT, FTP_AT])
        stack.enter_context(scripted_names(tmp_path, names))
        web = GapWeb(stack)
        files = stack.enter_context(served_files(tmp_path / "files"))
        url = stack.enter_context(shared_redis(server_directory))
        more = [f"-sREDIS_URL={url}", f"-sADDRESS_DELAY={address_secs}"]
        kinds = [[*each, *more] for each in kinds_of(web, files.url())]
        crawl(places, tmp_path, kinds)
        requests = web.requests()
    of_files = [b - a for a, b in pairwise(files.stamps)]
    hosts = gaps_of(requests, lambda each: each.host)
    addresses = gaps_of(requests, lambda each: address_of(each.host))
    least = {name: min(gaps) for name, gaps in hosts.items()}
    means = {name: sum(hosts[name]) / len(hosts[name]) for name in SLOW}
    later = [gap for name in SLOW for gap in gaps_after_rules(requests, name)]
    found = {request.target.split("/")[1].partition("?")[0] for request in requests}
    print(
        f"{len(requests)} requests of {len({each.agent for each in requests})} workers"
        f" in {requests[-1].at - requests[0].at:.0f} s; smallest gap of a host"
        f" {min(least.values()):.4f} s, of a host with Crawl-delay"
        f" {min(least[name] for name in SLOW):.4f} s, mean {min(means.values()):.4f} s;"
        f" once that is known {min(later):.4f} s;"
        f" of an address {min(map(min, addresses.values())):.4f} s;"
        f" of {len(files.stamps)} transfers by FTP {min(of_files):.4f} s"
    )
    assert len(files.stamps) > N_FILES
    assert min(of_files) >= DELAY_SECS - SLACK_SECS
    assert found >= set(KINDS)
    assert {each.agent for each in requests} == {f"worker-{n}" for n in range(3)}
    assert min(least.values()) >= DELAY_SECS - SLACK_SECS
    assert min(means.values()) >= CRAWL_DELAY_SECS
    # Before its robots.txt is read, no worker knows of a longer delay.
    assert min(later) >= CRAWL_DELAY_SECS - SLACK_SECS
    if address_secs:
        assert min(map(min, addresses.values())) >= address_secs - SLACK_SECS
