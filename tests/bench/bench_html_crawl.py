"""Pages of shops, blogs and portals through a complete crawl, by their annotations.

CPU is that of all processes of the crawl (worker, children, Redis), the web server
excluded. Two crawls of different lengths are subtracted, so that start-up does not
count. The yardstick is a Scrapy spider that gives the same pages to extruct.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.bench.figures import Figure, judge
from tests.bench.measured import count_activities, count_lines, run_measured
from tests.bench.web_pages import KINDS, make_page

if TYPE_CHECKING:
    from collections.abc import Iterator

# Pages per second and core.
_LEAST: Final = {"plain": 250, "JSON-LD": 150, "Microdata": 150, "RDFa": 110}
_N_DISTINCT: Final = 40
_N_HOSTS: Final = 8
_N_SHORT: Final = 100  # pages of the crawl that is subtracted
_SPIDER: Final = """
import sys, extruct, scrapy
from scrapy.crawler import CrawlerProcess

class Pages(scrapy.Spider):
    name = "pages"
    start_urls = open(sys.argv[1]).read().split()

    def parse(self, response):
        found = extruct.extract(response.text, base_url=response.url, uniform=False,
            syntaxes=["json-ld", "microdata", "rdfa", "opengraph"])
        yield {"n": sum(map(len, found.values()))}

process = CrawlerProcess({"LOG_LEVEL": "ERROR", "DOWNLOAD_DELAY": 0})
crawler = process.create_crawler(Pages)
process.crawl(crawler)
process.start()
sys.exit(crawler.stats.get_value("item_scraped_count") != len(Pages.start_urls))
"""


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Print a row per kind of page; return pages per second and core."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    parser.add_argument("--extruct", type=int, default=60, help="pages; 0: none")
    options = parser.parse_args(arguments)
    print(
        f"{'pages':12}{'KB':>6}{'pages/s':>9}{'quads each':>12}{'MB':>6}{'extruct':>9}"
    )
    figures = []
    for kind in options.kinds:
        figures += _measure(kind, options.pages, options.extruct)
    return figures


def _measure(kind: str, n_pages: int, n_of_extruct: int) -> list[Figure]:
    pages = [make_page(kind, number) for number in range(_N_DISTINCT)]
    with _served(pages) as port, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        short, *_ = _crawl(folder, port, _N_SHORT)
        secs, n_quads, rss_mb = _crawl(folder, port, _N_SHORT + n_pages)
        rate = n_pages / (secs - short)
        theirs = _rate_of_extruct(folder, port, n_of_extruct) if n_of_extruct else 0.0
    n_bytes = sum(map(len, pages)) / len(pages)
    print(
        f"{kind:12}{n_bytes / 1000:6.0f}{rate:9.0f}"
        f"{n_quads / (_N_SHORT + n_pages):12.0f}{rss_mb:6.0f}{theirs:9.0f}",
        flush=True,
    )
    least = _LEAST.get(kind)
    figures = [Figure(f"pages, {kind}", rate, "pages/s", at_least=least)]
    if theirs:
        figures.append(
            Figure(f"pages, {kind}", rate / theirs, "x Scrapy + extruct", at_least=5.0)
        )
    return figures


def _write_seeds(folder: Path, port: int, n_pages: int) -> Path:
    seeds = folder / "seeds.txt"
    urls = [f"http://127.0.3.{n % _N_HOSTS + 1}:{port}/{n}" for n in range(n_pages)]
    seeds.write_text("\n".join(urls))
    return seeds


def _crawl(folder: Path, port: int, n_pages: int) -> tuple[float, int, float]:
    """Return CPU seconds, statements, and MB of the largest process."""
    seeds, crawl = _write_seeds(folder, port, n_pages), folder / f"crawl{n_pages}"
    line = [
        *(sys.executable, "-m", "scrapy", "crawl", "linkeddata"),
        *("-a", f"seeds=@{seeds}", "-a", "depth=0"),
        *("-s", f"CRAWL_DIR={crawl}", "-s", "PROGRESS=off", "-s", "DESCRIBE=off"),
        *("-s", "DOWNLOAD_DELAY=0", "-s", "GUARD_ALLOW_NETS=127.0.0.0/8"),
    ]
    usage = run_measured(line, lambda _: None)
    folder = crawl / "linkeddata"
    n_read = count_activities(folder)
    if n_read < n_pages:
        print(f"read {n_read} of {n_pages} pages")
    return usage.cpu_secs, count_lines(folder / "quads", "-v '^#'"), usage.rss_mb


def _rate_of_extruct(folder: Path, port: int, n_pages: int) -> float:
    spider = folder / "pages.py"
    spider.write_text(_SPIDER)
    times = []
    for n in (10, 10 + n_pages):
        seeds = _write_seeds(folder, port, n)
        line = [sys.executable, str(spider), str(seeds)]
        times.append(run_measured(line, lambda _: None))
        if times[-1].exit_code:
            print(f"extruct did not read all of {n} pages")
    return n_pages / (times[1].cpu_secs - times[0].cpu_secs)


@contextmanager
def _served(pages: list[bytes]) -> Iterator[int]:
    """Serve the pages on all loopback addresses; yield the port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 18

        def do_GET(self) -> None:
            number = self.path[1:]
            body = pages[int(number) % len(pages)] if number.isdigit() else b""
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("0.0.0.0", 0), Handler)
    # Of `make bench` too, whose own processes are spawned.
    process = get_context("fork").Process(target=server.serve_forever)
    process.start()
    try:
        yield server.server_port
    finally:
        process.terminate()
        process.join()
        server.server_close()


if __name__ == "__main__":
    sys.exit(judge(main()))
