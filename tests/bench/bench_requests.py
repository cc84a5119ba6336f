"""Requests of later runs, of hosts with dumps and of endpoints, at their real sizes.

Run: `python -m tests.bench.bench_requests [--only PART]`, of these parts:

* index: the second run of an unchanged sitemap index of 200 x 1,000 entries;
* portal: the second run of an unchanged CKAN portal of 5,000 datasets;
* dump: hosts of 2,000 pages with a dump, in each spider and by each offer. They take
  five requests; one more if an index lists the sitemap, and a seed is a page;
* endpoint: 200,000 statements with caps and time-outs, and the planner that knows both;
* judge: the endpoints of `tests/sources/sparql/test_requests.py`, without HTTP.

Counts of requests do not depend on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.portal import PortalOptions
from rdfcrawl.sources.sparql.plan import EndpointPlan
from tests.bench.figures import Figure, judge
from tests.sources.sparql.test_requests import CASES
from tests.support.sitemap_sites import dump_at, index, urlset
from tests.support.sparql_driver import harvest_all
from tests.support.sparql_planner import (
    CostlyEndpoint,
    CostlyServer,
    EndpointLimits,
    described,
    ideal_requests,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_N_SITEMAPS: Final = 200
_N_ENTRIES: Final = 1_000
_N_DATASETS: Final = 5_000
_N_PAGES: Final = 2_000
_XML: Final = "application/xml"
_NT: Final = "application/n-triples"
_VOID: Final = "http://rdfs.org/ns/void#"
_LONGEST_SECS: Final = 3_000.0


# -- sites -----------------------------------------------------------------------------


@dataclass
class CountedSite:
    """A site whose responses are made when they are requested.

    Attributes:
        origin: of its URLs.
        respond: returns media type and body for a target; None: there is no such page.
        targets: that were requested, and how often.
    """

    origin: str
    respond: Callable[[str], tuple[str, bytes] | None] = lambda _: None
    targets: Counter[str] = field(default_factory=Counter)


class _Connection(asyncio.Protocol):
    def __init__(self, site: CountedSite) -> None:
        self._site, self._rest = site, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *heads, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for head in heads:
            self._transport.write(self._answer(head))

    def _answer(self, head: bytes) -> bytes:
        target = head.split(b" ", 2)[1].decode()
        self._site.targets[target] += 1
        found = self._site.respond(target)
        if found is None:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        media_type, body = found
        tag = f'"{len(body)}"'
        if f"if-none-match: {tag}".encode() in head.lower():
            return f"HTTP/1.1 304 Same\r\nETag: {tag}\r\n\r\n".encode()
        fields = (
            f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nETag: {tag}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return fields.encode() + body


@contextmanager
def counted_site(host: str) -> Iterator[CountedSite]:
    """Serve a site while the context is open."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    site = CountedSite("")
    serving = loop.create_server(lambda: _Connection(site), host, 0)
    server = asyncio.run_coroutine_threadsafe(serving, loop).result()
    site.origin = f"http://{host}:{server.sockets[0].getsockname()[1]}"
    try:
        yield site
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def run(folder: Path, *words: str) -> str:
    """Run `scrapy` for a crawl in a folder, without delay; return its messages.

    Raises:
        RuntimeError: it ended with another code than 0.
    """
    line = [
        *(sys.executable, "-m", "scrapy", *words, "-s", "DOWNLOAD_DELAY=0"),
        *("-s", f"CRAWL_DIR={folder}", "-s", "CRAWL_ID=c", "-s", "PROGRESS=off"),
        *("-s", "GUARD_ALLOW_NETS=127.0.0.0/8", "-s", "CONTACT_REQUIRED=False"),
        *("-s", "GUARD_PORTS=1-65535"),
    ]
    began = time.monotonic()
    done = subprocess.run(
        line, check=False, capture_output=True, text=True, timeout=_LONGEST_SECS
    )
    if done.returncode:
        raise RuntimeError(f"{words}: {done.returncode}\n{done.stderr[-2000:]}")
    print(f"  {' '.join(words)}: {time.monotonic() - began:.0f} s", flush=True)
    return done.stderr


# -- later runs ------------------------------------------------------------------------


def index_requests() -> list[Figure]:
    """Count the requests of the second run of an index of sitemaps."""
    with counted_site("127.77.1.1") as site, tempfile.TemporaryDirectory() as name:
        site.respond = lambda target: _of_index(site.origin, target)
        counts = []
        for _ in range(2):
            site.targets.clear()
            run(Path(name), "crawl", "sitemap", "-a", f"sites={site.origin}")
            counts.append(site.targets.total())
    title = f"unchanged index of {_N_SITEMAPS} x {_N_ENTRIES:,}"
    return [
        Figure(
            f"{title}, first run",
            counts[0],
            "requests",
            at_least=_N_SITEMAPS * _N_ENTRIES,
        ),
        Figure(f"{title}, second run", counts[1], "requests", at_most=230),
    ]


def _of_index(origin: str, target: str) -> tuple[str, bytes] | None:
    if target == "/robots.txt":
        return "text/plain", f"Sitemap: {origin}/index.xml\n".encode()
    if target == "/index.xml":
        maps = (f"<loc>{origin}/map/{n}.xml</loc>" for n in range(_N_SITEMAPS))
        return _XML, index(maps)
    kind, _, number = target[1:].partition("/")
    if kind == "map":
        first = int(number.partition(".")[0]) * _N_ENTRIES
        urls = (f"{origin}/p/{n}" for n in range(first, first + _N_ENTRIES))
        return _XML, urlset(
            f"<loc>{url}</loc><lastmod>2024-01-01</lastmod>" for url in urls
        )
    if kind == "p":
        return _NT, f'<{origin}{target}> <urn:x:says> "{number}" .\n'.encode()
    return None


def portal_requests() -> list[Figure]:
    """Count the requests of the second run of a portal."""
    options = PortalOptions(n_datasets=_N_DATASETS)
    with LocalWeb(first_address="127.77.2.1") as web:
        portal, counts = web.start(options), []
        with tempfile.TemporaryDirectory() as name:
            for _ in range(2):
                web.forget()
                run(Path(name), "crawl", "ckan", "-a", f"portals={portal.origin}")
                counts.append(len(web.targets(portal)))
    title = f"unchanged portal of {_N_DATASETS:,} datasets"
    return [
        Figure(f"{title}, first run", counts[0], "requests"),
        Figure(f"{title}, second run", counts[1], "requests", at_most=10),
    ]


# -- hosts with dumps ------------------------------------------------------------------


@dataclass(frozen=True)
class DumpSite:
    """A site of many pages with a dump.

    Attributes:
        origin: of its URLs.
        offer: that leads to the dump: `sitemap`, `index`, `void` or `page`.
    """

    origin: str
    offer: str

    def respond(self, target: str) -> tuple[str, bytes] | None:
        """Return media type and body."""
        origin, name = self.origin, target.rpartition("/")[2]
        if target.startswith("/r/") and name.isdecimal():
            return _NT, self._resource(int(name))
        if target == "/":
            links = (f"<{origin}/> <urn:x:l> <{origin}/r/{n}> .\n" for n in range(50))
            named = f"<{origin}/> <{_VOID}inDataset> <{origin}/void#d> .\n"
            return _NT, ("".join(links) + named * (self.offer == "page")).encode()
        if target == "/dump.nt":
            return _NT, b"".join(map(self._resource, range(_N_PAGES)))
        place = _PLACES.get(self.offer)
        if target == place:
            return "text/turtle", (
                f"<{origin}{place}#d> a <{_VOID}Dataset> ; <{_VOID}uriSpace>"
                f" '{origin}/r/' ; <{_VOID}dataDump> <{origin}/dump.nt> ."
            ).encode()
        return self._sitemap(target) if place is None else None

    def _sitemap(self, target: str) -> tuple[str, bytes] | None:
        origin = self.origin
        if target == "/robots.txt":
            return "text/plain", f"Sitemap: {origin}/{self.offer}.xml\n".encode()
        if target == "/index.xml":
            return _XML, index([f"<loc>{origin}/sitemap.xml</loc>"])
        if target == "/sitemap.xml":
            dataset = (
                f"<sc:dataset><sc:linkedDataPrefix>{origin}/r/</sc:linkedDataPrefix>"
                f"{dump_at(f'{origin}/dump.nt')}</sc:dataset>"
            )
            return _XML, urlset((f"{origin}/r/{n}" for n in range(_N_PAGES)), dataset)
        return None

    def _resource(self, number: int) -> bytes:
        url = f"{self.origin}/r/{number}"
        linked = f"{self.origin}/r/{(number + 1) % _N_PAGES}"
        value = f'<{url}> <urn:x:says> "{number}" .\n'
        return f"{value}<{url}> <urn:x:l> <{linked}> .\n".encode()


_PLACES: Final = {"void": "/.well-known/void", "page": "/void"}
_COMMANDS: Final = {
    "linkeddata": ("crawl", "linkeddata", "-a", "seeds={}/"),
    "linkeddata, a page": ("crawl", "linkeddata", "-a", "seeds={}/r/7"),
    "linkeddata, all": ("crawl", "linkeddata", "-a", "seeds={}/", "-a", "harvest=all"),
    "sitemap": ("crawl", "sitemap", "-a", "sites={}"),
    "keep": ("keep", "{}/"),
}
_OFFERS: Final = {
    "sitemap": tuple(_COMMANDS),
    "index": tuple(_COMMANDS),
    "void": ("linkeddata, all", "sitemap", "keep"),
    "page": ("linkeddata", "linkeddata, all", "keep"),
}


def dump_requests() -> list[Figure]:
    """Count the requests of two runs of hosts with a dump."""
    figures = []
    for offer, names in _OFFERS.items():
        for name in names:
            with counted_site("127.77.3.1") as site:
                figures += _of_dump(site, offer, name)
    return figures


def _of_dump(site: CountedSite, offer: str, name: str) -> list[Figure]:
    site.respond = DumpSite(site.origin, offer).respond
    words = [word.format(site.origin) for word in _COMMANDS[name]]
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        for number in ("first", "second"):
            site.targets.clear()
            run(Path(folder), *words)
            print(f"    {dict(site.targets)}", flush=True)
            title = f"dump by {offer}, {name}, {number} run"
            n_requests = site.targets.total()
            at_most = 5 + (offer == "index" and name != "sitemap")
            figures.append(Figure(title, n_requests, "requests", at_most=at_most))
            n_dumps = site.targets["/dump.nt"]
            figures.append(Figure(f"{title}: dumps", n_dumps, "", at_least=1))
    return figures


# -- endpoints -------------------------------------------------------------------------

_LARGE: Final = described(22_000, n_hub=20_000, n_blank=1_500)
_LARGE_CASES: Final = {
    "cap of 10,000": EndpointLimits(),
    "every 7th query times out": EndpointLimits(every=7),
    "cap of 1,000, every 7th times out": EndpointLimits(cap=1_000, every=7),
    "cap of 1,000, ORDER BY above 20,000 rows times out": EndpointLimits(
        cap=1_000, sorted=20_000
    ),
    "seven time-outs in a row": EndpointLimits(cap=1_000, outages=range(30, 37)),
}


def endpoint_requests() -> list[Figure]:
    """Count the queries of endpoints of 200,000 statements."""
    figures = []
    for name, limits in _LARGE_CASES.items():
        endpoint = CostlyEndpoint(_LARGE, limits)
        ideal = ideal_requests(_LARGE, limits)
        with (
            CostlyServer("127.77.4.1", endpoint) as server,
            tempfile.TemporaryDirectory() as folder,
        ):
            run(Path(folder), "crawl", "sparql", "-a", f"endpoints={server.url}")
            n_queries = endpoint.n_queries
            run(Path(folder), "export", "--to", f"{folder}/all.nq")
            stored = {*Path(folder, "all.nq").read_text().splitlines(keepends=True)}
        figures.append(
            Figure(
                f"endpoint of {len(_LARGE):,}: {name}",
                n_queries / ideal,
                "x planner",
                at_most=1.5,
                measured=f"{n_queries} queries",
                yardstick=f"{ideal}",
            )
        )
        # Blank nodes have other labels in the export.
        known = {line for line in _LARGE if "_:" not in line}
        share = len(known & stored) / len(known)
        figures.append(Figure(f"  {name}: statements", share, "", at_least=1))
    return figures


def judged_requests() -> list[Figure]:
    """Count the queries of small endpoints of many kinds."""
    figures = []
    for name, (lines, limits) in CASES.items():
        endpoint = CostlyEndpoint(lines, limits)
        plan = EndpointPlan("http://e.org/sparql")
        found = harvest_all(plan, endpoint, max_requests=500)
        ideal = ideal_requests(lines, limits)
        title = f"judge: {name}{'' if found.is_complete else ', INCOMPLETE'}"
        ratio = endpoint.n_queries / ideal
        figures.append(Figure(title, ratio, "x planner", at_most=1.5))
    return figures


_PARTS: Final = {
    "judge": judged_requests,
    "dump": dump_requests,
    "portal": portal_requests,
    "endpoint": endpoint_requests,
    "index": index_requests,
}


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Return the numbers of requests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=_PARTS, action="append")
    options = parser.parse_args(arguments)
    return [figure for name in options.only or _PARTS for figure in _PARTS[name]()]


if __name__ == "__main__":
    sys.exit(judge(main()))
