"""Pictures of the live page for the docs: `python -m tests.support.page_pictures`.

A small web of many kinds is crawled by two workers; the first pictures are taken while
they run, the others at the end.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote
from urllib.request import urlopen

from playwright.sync_api import sync_playwright

from rdfcrawl.dataweb.config import DumpProfile, NodeKind, WebConfig
from rdfcrawl.dataweb.process import NETWORK, SEEDS_NAME, run_dataweb
from tests.support.command_forks import shared_forks
from tests.support.page_browser import CHROMIUM_FLAGS, find_chromium, free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from playwright.sync_api import Browser

    from tests.support.command_forks import ForkedCommand

FOLDER: Final = Path(__file__).parents[2] / "docs" / "images"
QUERY: Final = (
    "SELECT ?status (COUNT(*) AS ?n)\n"
    "{ ?activity sq:status ?status }\nGROUP BY ?status ORDER BY DESC(?n)"
)
_KINDS: Final = {
    NodeKind.DEREFERENCING: 6.0,
    NodeKind.CKAN: 1.0,
    NodeKind.SPARQL: 1.0,
    NodeKind.DUMP: 1.0,
    NodeKind.RDFA: 2.0,
    NodeKind.SEMANTIC: 1.0,
}
_WIDTH, _HEIGHT = 1100, 800


@dataclass(frozen=True, slots=True)
class PagePicture:
    """One picture.

    Attributes:
        name: of its file, without ending.
        path: that is looked at.
        scheme: `light` or `dark`.
        is_running: it is taken while the crawl runs.
        secs: until it is drawn, or made.
    """

    name: str
    path: str
    scheme: str = "light"
    is_running: bool = False
    secs: float = 1.5


def pictures_of(url: str, seed: str) -> list[PagePicture]:
    """Return the pictures of the page at a URL.

    A seed of the crawl stands for all URIs, and the host with most documents for all.
    """
    host = _largest_host(url)
    return [
        PagePicture("page-now", "/", is_running=True),
        PagePicture("page-now-dark", "/", "dark", is_running=True),
        PagePicture("page-result", "/"),
        PagePicture("page-hosts", "/hosts?sort=documents"),
        PagePicture("page-host", f"/host?key={quote(host, safe='')}"),
        PagePicture("page-uri", f"/uri?u={quote(seed, safe='')}"),
        PagePicture("page-datasets", "/datasets"),
        PagePicture("page-graph", "/datasets/graph"),
        PagePicture("page-classes", "/classes"),
        PagePicture("page-query", f"/query?q={quote(QUERY)}"),
        PagePicture("page-report", "/report?make=1", secs=8.0),
    ]


def take_pictures(
    folder: Path,
    work: Path,
    *,
    n_nodes: int,
    run_secs: float,
    delay_secs: float,
    patience: float = 1.0,
) -> None:
    """Crawl a web, and take all pictures of its page.

    Args:
        folder: gets them as PNG.
        work: of the crawl.
        n_nodes: of the web.
        run_secs: how long the crawl runs before the first pictures.
        delay_secs: between two requests to a host.
        patience: share of the time that pictures have until they are drawn.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config = WebConfig(
        n_nodes=n_nodes,
        weights=_KINDS,
        profile=DumpProfile.EXTENDED,
        delay_secs=delay_secs,
        disallowed=0.1,
        port=0,
    )
    with run_dataweb(config, work) as _, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=CHROMIUM_FLAGS
        )
        seed = (work / SEEDS_NAME).read_text().split()[0]
        with _crawling(work, delay_secs) as crawl, _serving(work) as url:
            time.sleep(run_secs)
            pictures = pictures_of(url, seed)
            first = [x for x in pictures if x.is_running]
            _take(browser, url, first, folder, patience)
            crawl.wait()
            time.sleep(2 * patience)  # the index is as far
            others = [x for x in pictures if not x.is_running]
            _take(browser, url, others, folder, patience)
        browser.close()


def _largest_host(url: str) -> str:
    hosts: list[dict[str, str]] = []
    while not hosts:  # the first sweep may take longer than the first visit
        with urlopen(f"{url}/hosts?sort=documents&format=json", timeout=30) as answer:
            hosts = json.load(answer)["hosts"]
        time.sleep(0.1)
    return hosts[0]["key"]


def _take(
    browser: Browser,
    url: str,
    pictures: Sequence[PagePicture],
    folder: Path,
    patience: float,
) -> None:
    for each in pictures:
        context = browser.new_context(
            viewport={"width": _WIDTH, "height": _HEIGHT},
            color_scheme="dark" if each.scheme == "dark" else "light",
        )
        page = context.new_page()
        answer = page.goto(url + each.path, wait_until="load")
        if answer is None or not answer.ok:
            raise LookupError(f"{each.path}: {answer and answer.status}")
        page.wait_for_timeout(patience * each.secs * 1000)  # it is drawn, or made
        page.screenshot(path=folder / f"{each.name}.png")
        context.close()


@contextmanager
def _crawling(work: Path, delay_secs: float) -> Iterator[ForkedCommand]:
    allow = work / "allow.txt"
    allow.write_text("^https?://127[.]\n")  # the web links to vocabularies, too
    line = [
        *("-m", "scrapy", "workers", "-n", "2", "linkeddata"),
        *("-a", f"seeds=@{work / SEEDS_NAME}", "-s", f"CRAWL_DIR={work / 'crawl'}"),
        *("-a", f"allow={allow}"),
        *("-s", f"GUARD_ALLOW_NETS={NETWORK}", "-s", f"DOWNLOAD_DELAY={delay_secs}"),
    ]
    with _started(line) as process:
        yield process


@contextmanager
def _serving(work: Path) -> Iterator[str]:
    """Serve the page once the crawl has begun; yield its URL, without `/`."""
    port = free_port()
    _wait_for(lambda: list((work / "crawl").glob("*/quads/log.json")))
    line = [
        *("-m", "scrapy", "page", "--port", str(port)),
        *("-s", f"CRAWL_DIR={work / 'crawl'}"),
    ]
    with _started(line):
        url = f"http://127.0.0.1:{port}"
        _wait_for(lambda: _answers(url))
        yield url


@contextmanager
def _started(line: Sequence[str]) -> Iterator[ForkedCommand]:
    """Run a command that says nothing, and end it."""
    with Path(os.devnull).open("wb") as nothing:
        process = shared_forks().start(line, nothing)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def _wait_for(claim: Callable[[], object]) -> None:
    for _ in range(600):
        if claim():
            return
        time.sleep(0.1)
    raise TimeoutError("the crawl or its page does not begin")


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as scratch:
        take_pictures(FOLDER, Path(scratch), n_nodes=40, run_secs=20.0, delay_secs=0.8)
    sys.stdout.write("".join(f"{path}\n" for path in sorted(FOLDER.glob("page-*.png"))))
