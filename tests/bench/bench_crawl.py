"""Webs of small documents: 200 hosts (ORCA's experiment II), 10,000 hosts, one host.

The references follow the same links of the same web in the same minutes, and parse and
write the same documents: `bare_crawl`, a loop of aiohttp, and `bare_floor`, the least
that Python does. Neither has robots.txt, a frontier, a store or provenance.
"""

from __future__ import annotations

import argparse
import compileall
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final

import rdfcrawl
from rdfcrawl.dataweb.process import run_dataweb
from tests.bench.budgets import line
from tests.bench.figures import Figure, judge
from tests.bench.measured import CrawlCost, crawl, crawled_web

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.dataweb.config import WebConfig

# LDSpider with 8 threads took 5.0 to 5.9 times the CPU of the loop of aiohttp for these
# documents when both were measured in turns. It is no part of this run.
_LDSPIDER_LOOPS: Final = 5.0


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Print each run; return the lines of the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=200)
    options = parser.parse_args(arguments)
    # Installations have it compiled; a checkout need not.
    compileall.compile_dir(Path(rdfcrawl.__file__).parent, quiet=1)
    with _web(crawled_web(options.nodes)) as web:
        figures = web.small_documents()
    with _web(three_documents(200)) as web:
        reference = web.ours("200 hosts, 150 documents each")
    with _web(three_documents(10_000)) as web:
        run = web.ours("10,000 hosts, 3 documents each")
    figures += [
        _ratio("10,000 hosts of 3 documents", run.cpu_ms, reference.cpu_ms),
        line("Redis, 10,000 hosts", run.redis_us),
    ]
    with _web(three_documents(1, n_documents=15_000)) as web:
        figures += web.one_host()
    return figures


def three_documents(n_hosts: int, *, n_documents: int = 30_000) -> WebConfig:
    """Return a web of as many small documents in all, on this many hosts."""
    # Half of a resource's two statements lead to other resources.
    return replace(crawled_web(n_hosts), triples=n_documents // n_hosts, rdf_degree=2)


@contextmanager
def _web(config: WebConfig) -> Iterator[_Web]:
    with tempfile.TemporaryDirectory() as name, run_dataweb(config, Path(name)):
        yield _Web(Path(name))


class _Web:
    """A web that is served, and its crawlers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seeds = folder / "seeds.txt"

    def small_documents(self) -> list[Figure]:
        """Return the lines of the web of 200 hosts."""
        loops, floors = [self.bare("bare_crawl")], [self.bare("bare_floor")]
        run = self.ours("one worker")
        floors.append(self.bare("bare_floor"))
        loops.append(self.bare("bare_crawl"))
        recall = self._recall()
        without = self.ours("one worker, no robots.txt", "-s", "ROBOTSTXT_OBEY=False")
        two = self.ours("two workers", n_workers=2)
        loop, cpu = fmean(loops), run.cpu_ms
        return [
            _ratio("small documents, 200 hosts", cpu, loop),
            _ratio("small documents, and the floor", cpu, fmean(floors)),
            line(
                "small documents, and LDSpider",
                cpu / loop / _LDSPIDER_LOOPS,
                f"{cpu:.3f} ms",
                f"{_LDSPIDER_LOOPS} aiohttp loops",
            ),
            _ratio("robots.txt on", cpu, without.cpu_ms),
            _ratio("two workers", two.cpu_ms, cpu),
            line("recall", recall),
            line("memory of a worker", run.worker_mb),
            line("Redis, 200 hosts", run.redis_us),
        ]

    def one_host(self) -> list[Figure]:
        """Return the line of a web of one host."""
        before = self.bare("bare_crawl")
        run = self.ours("one host")
        loop = fmean((before, self.bare("bare_crawl")))
        return [_ratio("one host", run.cpu_ms, loop)]

    def ours(self, name: str, *words: str, n_workers: int = 1) -> CrawlCost:
        """Crawl once, and print the cost."""
        run = crawl(self._folder, self._seeds, *words, n_workers=n_workers)
        print(
            f"{name}: {run.n_documents} documents,"
            f" {run.n_documents / run.wall_secs:.0f} in a second,"
            f" {run.cpu_ms:.3f} ms of CPU each, of it Redis"
            f" {run.redis_us:.0f} us; {run.worker_mb:.0f} MB",
            flush=True,
        )
        return run

    def bare(self, module: str) -> float:
        """Run a reference; return its milliseconds of CPU per document."""
        done = subprocess.run(
            [sys.executable, "-m", f"tests.bench.{module}", str(self._seeds)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            check=True,
        )
        n_documents, cpu, _ = done.stdout.split()
        ms = float(cpu) / int(n_documents) * 1000
        print(f"{module}: {int(n_documents)} documents, {ms:.3f} ms", flush=True)
        return ms

    def _recall(self) -> float:
        # In a separate process: a child's peak memory begins with its parent's.
        quads = self._folder / "crawl" / "linkeddata" / "quads"
        words = ["dataweb", "recall", str(self._folder / "truth.nq"), str(quads)]
        judged = subprocess.run(
            [sys.executable, "-m", "scrapy", *words],
            capture_output=True,
            text=True,
            check=False,
        )
        return float(judged.stdout.split("\nall ")[1].split()[1])


def _ratio(name: str, ms: float, reference_ms: float) -> Figure:
    return line(name, ms / reference_ms, f"{ms:.3f} ms", f"{reference_ms:.3f} ms")


if __name__ == "__main__":
    sys.exit(judge(main()))
