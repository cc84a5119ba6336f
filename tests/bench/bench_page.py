"""The live page of a crawl of 100,000 hosts and a million documents.

usage: python -m tests.bench.bench_page [--hosts N] [--documents N] [--datasets N]
    [--asks N] [--folder FOLDER]

A folder is kept, so that its logs and index are written once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from rdfcrawl.analysis.crawl_index.building import IndexBuilder
from rdfcrawl.analysis.crawl_index.database import index_path
from rdfcrawl.analysis.crawl_index.tallies import all_tallies
from rdfcrawl.frontier.redis.embedded import OPTIONS, find_server
from rdfcrawl.uri import NormalForm
from tests.bench.figures import Figure, judge
from tests.bench.measured import cpu_secs
from tests.bench.page_logs import (
    CRAWL,
    HUB,
    REFUSED,
    dataset_of,
    fill_frontier,
    host_of,
    uri_of,
    write_datasets,
    write_logs,
)
from tests.support.page_browser import free_port
from tests.support.redis_fixtures import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator

BUDGET_MS: Final = 300
BUDGET_MB: Final = 200
PATHS: Final = (
    "/",
    "/hosts",
    "/hosts?sort=queue&q=7",
    "/hosts?sort=last&direction=asc&page=1000",
    "/hosts?sort=bytes&page=300",
    "/hosts?sort=name&faulty=1&phase=ready",
    "/host?key={host}",
    "/uri",
    "/uri?u={uri}",
    "/uri?u={hub}",
    "/uri?u={unseen}",
    "/uri?u={refused}",
    "/datasets",
    "/datasets?sort=complete&page=200",
    "/datasets?text=7&stored=nothing&sort=modified",
    "/dataset?u={dataset}",
    "/datasets/graph",
    "/datasets/graph?nodes=300",
    "/query",
    "/report",
    "/faults?reason=empty",
    "/metrics",
)
"""The requests; charts are redrawn meanwhile."""


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
    """One crawl whose page gets requests.

    Args:
        folder: of crawls.
        n_hosts: in its frontier.
        n_documents: in its logs.
        n_datasets: that some of these describe.
        n_asks: of each view.
    """

    def __init__(
        self,
        folder: Path,
        *,
        n_hosts: int,
        n_documents: int,
        n_datasets: int,
        n_asks: int,
    ) -> None:
        self._folder, self._root = folder, folder / CRAWL
        self._n_hosts, self._n_documents = n_hosts, n_documents
        self._n_datasets = n_datasets
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
            asyncio.run(write_datasets(self._root, self._n_datasets))
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
        with closing(IndexBuilder(self._root, all_tallies(NormalForm()))) as builder:
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
            uris = {
                "uri": uri_of(1001, self._n_hosts),
                "hub": HUB,
                "unseen": "http://h5.site5.example/not/there",
                "refused": REFUSED,
                "dataset": dataset_of(7),
            }
            names = {name: quote(uri, safe="") for name, uri in uris.items()}
            names["host"] = quote(host_of(5))
            for path in PATHS:
                target = url + path.format_map(names)
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
    parser.add_argument("--datasets", type=int, default=100_000)
    parser.add_argument("--asks", type=int, default=200)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args(words)

    def bench(folder: Path) -> list[Figure]:
        return PageBench(
            folder.absolute(),
            n_hosts=given.hosts,
            n_documents=given.documents,
            n_datasets=given.datasets,
            n_asks=given.asks,
        ).run()

    if given.folder:
        return bench(given.folder)
    with tempfile.TemporaryDirectory(prefix="rc-") as folder:
        return bench(Path(folder))


if __name__ == "__main__":
    sys.exit(judge(main()))
