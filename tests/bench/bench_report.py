"""Cost of a report, relative to its crawl: the first one, and another with nothing new.

Run: `python -m tests.bench.bench_report [--nodes N]`.
"""

from __future__ import annotations

import argparse
import compileall
import sys
import tempfile
from pathlib import Path

import rdfcrawl
from rdfcrawl.dataweb.process import run_dataweb
from tests.bench.bench_crawl import crawl_web
from tests.bench.figures import Figure, judge
from tests.bench.measured import crawled_web, run_measured

MOST_FIRST = 1.5  # of documents of a few statements, which are crawled fastest
MOST_AGAIN = 0.1
MOST_MB = 250.0


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Crawl a web of small documents, and report twice; return the costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100)
    options = parser.parse_args(arguments)
    compileall.compile_dir(Path(rdfcrawl.__file__).parent, quiet=1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with run_dataweb(crawled_web(options.nodes), folder):
            crawl = crawl_web(folder, 1)
        line = [sys.executable, "-m", "scrapy", "report"]
        line += ["-s", f"CRAWL_DIR={folder / 'crawl'}"]
        first, again = (run_measured(line, lambda _: None) for _ in range(2))
    print(
        f"{crawl.documents} documents: crawl {crawl.cpu_secs:.1f} s of CPU, report"
        f" {first.cpu_secs:.1f} s and {first.rss_mb:.0f} MB, again"
        f" {again.cpu_secs:.2f} s",
        flush=True,
    )
    costs = first.cpu_secs / crawl.cpu_secs, again.cpu_secs / crawl.cpu_secs
    return [
        Figure("report, the first", costs[0], "x crawl", at_most=MOST_FIRST),
        Figure("report, nothing new", costs[1], "x crawl", at_most=MOST_AGAIN),
        Figure("report, memory", first.rss_mb, "MB", at_most=MOST_MB),
    ]


if __name__ == "__main__":
    sys.exit(judge(main()))
