"""The live page of a crawl of 100,000 hosts and a million documents.

usage: python -m tests.bench.bench_page [--hosts N] [--documents N] [--asks N]
    [--folder FOLDER]

A folder is kept, so that its logs and index are written once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from rdfcrawl.crawl_index.building import IndexBuilder
from rdfcrawl.crawl_index.database import index_path
from rdfcrawl.crawl_index.tallies import all_tallies
from rdfcrawl.errors import Fault, Reason
from rdfcrawl.frontier.embedded import OPTIONS
from rdfcrawl.frontier.redis_program import find_server, program_version
from rdfcrawl.pipelines.provenance import describe
from rdfcrawl.records import Record
from rdfcrawl.stores.nquads import NQuadsStore, document_mark
from rdfcrawl.stores.segments import QuadSegments
from tests.bench.figures import Figure, judge
from tests.bench.measured import cpu_secs
from tests.support.described_documents import WORKER, document
from tests.support.frontier_state import candidates
from tests.support.page_browser import free_port
from tests.support.redis_fixtures import RedisServer, frontier_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.records import Document

CRAWL: Final = "c"
PARTITIONS: Final = 16
BUDGET_MS: Final = 300
BUDGET_MB: Final = 200
PATHS: Final = (
    "/",
    "/hosts",
    "/hosts?sort=queue&q=7",
    "/hosts?sort=last&direction=asc&page=1500",
    "/hosts?sort=name&faulty=1&phase=ready",
    "/host?key={host}",
    "/uri?u={uri}",
    "/datasets",
    "/datasets/graph",
    "/query",
    "/report",
)
"""What is asked; a view that is not there is passed over."""
_A_MEMBER: Final = 500  # documents
_WORKERS: Final = 4
_FIRST_MS: Final = 1_790_000_000_000


def host_of(number: int) -> str:
    """Return the name of a host: some registered domains have many."""
    return f"h{number}.site{number % 20_011}.example"


def uri_of(number: int, n_hosts: int) -> str:
    """Return the URI of a document; some hosts have many more than others."""
    host = number % n_hosts if number % 4 else number % max(1, n_hosts // 1000)
    return f"http://{host_of(host)}/resource/{number}"


def crawled(number: int, n_hosts: int) -> Document:
    """Return a document as a crawl leaves it; every tenth has a fault."""
    started = _FIRST_MS + 20 * number
    faults = (Fault(Reason.EMPTY, "nothing in it"),) if number % 10 == 3 else ()
    parent = uri_of(number // 7, n_hosts) if number else ""
    return document(
        record=Record(url=uri_of(number, n_hosts), depth=2, parent=parent),
        started_ms=started,
        ended_ms=started + 5 + number % 90,
        n_quads=0 if faults else 9,
        faults=faults,
    )


async def write_logs(root: Path, n_documents: int, n_hosts: int) -> None:
    """Write the logs of some workers, with two statements and links a document."""
    for worker in range(_WORKERS):
        name = f"w{worker}"
        store = NQuadsStore(root / "quads", name)
        await store.open()
        logs = {
            kind: QuadSegments(root / kind, name) for kind in ("provenance", "links")
        }
        numbers = range(worker, n_documents, _WORKERS)
        for position, number in enumerate(numbers, 1):
            each = crawled(number, n_hosts)
            logs["provenance"].write_document(describe(each, WORKER))
            target = uri_of(number * 7 % n_documents, n_hosts)
            store.put(each.url, each.response.started_ms, _quads(each.url, target))
            mark = document_mark(each.url, each.response.started_ms)
            logs["links"].write_document(mark + f"<urn:p> <{target}>\n".encode())
            if position % _A_MEMBER == 0:
                await store.flush()
                for log in logs.values():
                    await log.flush(sync=False)
        await store.close()
        for log in logs.values():
            await log.close()


def _quads(url: str, target: str) -> bytes:
    return (
        f'<{url}> <http://www.w3.org/2000/01/rdf-schema#label> "a" <{url}> .\n'
        f"<{url}> <http://www.w3.org/2000/01/rdf-schema#seeAlso> <{target}> <{url}> .\n"
    ).encode()


async def fill_frontier(server: RedisServer, program: str, n_hosts: int) -> None:
    """Queue one to three URIs of each host."""
    redis = server.client()
    version = program_version(program) or ()
    frontier = frontier_on(redis, version, crawl_id=CRAWL, partitions=PARTITIONS)
    await frontier.open()
    choose = random.Random(1)
    for start in range(0, n_hosts, 2000):
        urls = [
            f"http://{host_of(number)}/queued/{n}"
            for number in range(start, min(n_hosts, start + 2000))
            for n in range(choose.randint(1, 3))
        ]
        await frontier.add(candidates(frontier, urls))
    await redis.aclose()


@contextmanager
def _served(folder: Path, server: RedisServer) -> Iterator[tuple[str, int]]:
    """Yield the URL and the process of a page."""
    port = free_port()
    words = ("-m", "scrapy", "page", "--port", str(port))
    settings = {
        "CRAWL_DIR": folder,
        "CRAWL_ID": CRAWL,
        "REDIS_URL": server.url,
        "CONTACT_REQUIRED": False,
    }
    given = [f"-s{name}={value}" for name, value in settings.items()]
    process = subprocess.Popen(
        [sys.executable, *words, *given], stdout=subprocess.DEVNULL
    )
    try:
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait()


def _ask(url: str, *, is_json: bool = False) -> bytes:
    kind = "application/json" if is_json else "text/html"
    with urlopen(Request(url, headers={"Accept": kind}), timeout=60) as answer:
        return bytes(answer.read())


def _wait_for_hosts(url: str, n_hosts: int) -> None:
    """Wait until all hosts are in the table."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        with suppress(URLError, OSError):
            if json.loads(_ask(f"{url}/hosts", is_json=True))["n_swept"] >= n_hosts:
                return
        time.sleep(0.5)
    raise TimeoutError("the hosts were not read")


def _p95_ms(url: str, n_asks: int) -> float:
    took = []
    for _ in range(n_asks):
        began = time.perf_counter()
        _ask(url)
        took.append(time.perf_counter() - began)
    return 1000 * sorted(took)[max(0, round(0.95 * n_asks) - 1)]


def _peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


class PageBench:
    """One crawl, whose page is asked.

    Args:
        folder: of crawls.
        n_hosts: in its frontier.
        n_documents: in its logs.
        n_asks: of each view.
    """

    def __init__(
        self, folder: Path, *, n_hosts: int, n_documents: int, n_asks: int
    ) -> None:
        self._folder, self._root = folder, folder / CRAWL
        self._n_hosts, self._n_documents = n_hosts, n_documents
        self._n_asks = n_asks
        self._figures: list[Figure] = []

    def _show(
        self, name: str, value: float, unit: str, at_most: float | None = None
    ) -> None:
        figure = Figure(name, value, unit, at_most=at_most)
        print(figure, flush=True)
        self._figures.append(figure)

    def run(self) -> list[Figure]:
        """Return all figures."""
        if not index_path(self._root).exists():
            asyncio.run(write_logs(self._root, self._n_documents, self._n_hosts))
            self._index()
        program = find_server()
        with tempfile.TemporaryDirectory(prefix="rc-") as name:
            options = (*OPTIONS, "--appendonly", "no")
            server = RedisServer(program, Path(name), options)
            server.start()
            try:
                asyncio.run(fill_frontier(server, program, self._n_hosts))
                self._views(server)
            finally:
                server.end()
        return self._figures

    def _index(self) -> None:
        began = time.process_time()
        with closing(IndexBuilder(self._root, all_tallies())) as builder:
            builder.catch_up()
        took = time.process_time() - began
        path = index_path(self._root)
        n = self._n_documents
        self._show("index", 1e6 * took / n, "us CPU/document")
        self._show("  on disk", path.stat().st_size / n, "B/document")

    def _views(self, server: RedisServer) -> None:
        with _served(self._folder, server) as (url, pid):
            began, before = time.monotonic(), cpu_secs(server.pid)
            _wait_for_hosts(url, self._n_hosts)
            secs, took = time.monotonic() - began, cpu_secs(server.pid) - before
            self._show("hosts read for the first time in", secs, "s")
            self._show("  Redis meanwhile", 100 * took / secs, "% of a core", 5)
            names = {
                "host": quote(host_of(5)),
                "uri": quote(uri_of(1001, self._n_hosts), safe=""),
            }
            for path in PATHS:
                target = url + path.format_map(names)
                try:
                    _ask(target)
                except HTTPError as error:
                    print(f"{path}: {error.code}, passed over")
                    continue
                before = cpu_secs(pid)
                p95 = _p95_ms(target, self._n_asks)
                used = 1000 * (cpu_secs(pid) - before) / self._n_asks
                self._show(f"p95 of {path}", p95, "ms", BUDGET_MS)
                self._show("  CPU of the page, all its threads", used, "ms/ask")
            self._show("page, peak of memory", _peak_mb(pid), "MB", BUDGET_MB)


def main(words: list[str] | None = None) -> list[Figure]:
    """Return all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=100_000)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--asks", type=int, default=200)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args(words)

    def bench(folder: Path) -> list[Figure]:
        return PageBench(
            folder.absolute(),
            n_hosts=given.hosts,
            n_documents=given.documents,
            n_asks=given.asks,
        ).run()

    if given.folder:
        return bench(given.folder)
    with tempfile.TemporaryDirectory(prefix="rc-") as folder:
        return bench(Path(folder))


if __name__ == "__main__":
    sys.exit(judge(main()))
