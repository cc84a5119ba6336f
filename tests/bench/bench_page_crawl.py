"""A crawl whose live page is watched, next to the same crawl without.

One visitor follows the numbers of the moment, another one opens view after view. All
of it is on this machine: crawl, web, page and visitors share its processors.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.request import urlopen

from rdfcrawl.dataweb.config import EXPERIMENTS, WebConfig
from rdfcrawl.dataweb.process import run_dataweb
from tests.bench.figures import Figure, judge
from tests.bench.measured import crawl
from tests.support.page_browser import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

_VIEWS: Final = ("/", "/hosts", "/uri", "/datasets", "/datasets/graph", "/faults")


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Print documents/s and CPU of each crawl; return the ratios of the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    config = WebConfig(**EXPERIMENTS[2] | {"n_nodes": options.nodes, "port": 0})
    rates: dict[bool, list[float]] = {False: [], True: []}
    with tempfile.TemporaryDirectory() as name, run_dataweb(config, Path(name)):
        for _ in range(options.rounds):
            for has_page, found in rates.items():
                with _looked_at(Path(name) / "crawl") if has_page else nullcontext():
                    run = crawl(Path(name), Path(name, "seeds.txt"))
                found.append(run.n_documents / run.wall_secs)
                kind = "with page" if has_page else "without"
                print(f"{kind:12}{found[-1]:8.0f} docs/s{run.cpu_ms:8.3f} ms CPU/doc")
    ratio = statistics.median(rates[True]) / statistics.median(rates[False])
    return [Figure("documents/s with the page open", ratio, "x without")]


@contextmanager
def _looked_at(folder: Path) -> Iterator[None]:
    """Serve the page of a crawl that begins in a folder, and look at it meanwhile."""
    stopped = threading.Event()
    thread = threading.Thread(target=_look, args=(folder, stopped))
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def _look(folder: Path, stopped: threading.Event) -> None:
    stopped.wait(1.0)  # earlier data are removed
    while not list(folder.glob("*/quads/log.json")):
        if stopped.wait(0.05):
            return
    port = free_port()
    line = [sys.executable, "-m", "scrapy", "page", "--port", str(port)]
    page = subprocess.Popen(
        [*line, "-s", f"CRAWL_DIR={folder}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    follower = threading.Thread(target=_follow, args=(url, stopped))
    follower.start()
    n = n_seen = 0
    while not stopped.wait(1.0):
        with suppress(OSError), urlopen(url + _VIEWS[n % len(_VIEWS)], timeout=5) as it:
            n_seen += bool(it.read())
        n += 1
    follower.join()
    page.terminate()
    page.wait()
    print(f"{n_seen} views of the page were answered")


def _follow(url: str, stopped: threading.Event) -> None:
    while not stopped.wait(0.2):
        with suppress(OSError), urlopen(f"{url}/events", timeout=5) as events:
            while not stopped.is_set() and events.readline():
                pass


if __name__ == "__main__":
    sys.exit(judge(main()))
