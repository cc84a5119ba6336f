"""Growth: CPU, memory and bytes on the disk for a document, in longer crawls.

Run: `python -m tests.bench.bench_growth [--documents N ...] [--hosts N] [--workers N]`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from rdfcrawl.dataweb.process import run_dataweb
from tests.bench.figures import Figure, judge
from tests.bench.measured import CrawlCost, crawl, crawled_web

_AT_MOST = 1.15  # times the CPU and the memory of the smallest crawl


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Print each crawl; return the growth."""
    parser = argparse.ArgumentParser(description=__doc__)
    sizes = [25_000, 100_000]
    parser.add_argument("--documents", type=int, nargs="+", default=sizes)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args(arguments)
    runs = [_crawl(n, options.hosts, options.workers) for n in options.documents]
    first, last = runs[0], runs[-1]
    name = f"{first.n_documents:,} to {last.n_documents:,} documents"
    return [
        Figure(f"{name}, CPU each", last.cpu_ms / first.cpu_ms, "x", _AT_MOST),
        Figure(f"{name}, Redis each", last.redis_us / first.redis_us, "x"),
        Figure(f"{name}, memory", last.worker_mb / first.worker_mb, "x", _AT_MOST),
    ]


def _crawl(n_documents: int, n_hosts: int, n_workers: int) -> CrawlCost:
    a_host = n_documents // n_hosts
    web = replace(crawled_web(n_hosts), triples=a_host, rdf_degree=2)
    with tempfile.TemporaryDirectory() as name, run_dataweb(web, Path(name)):
        run = crawl(Path(name), Path(name, "seeds.txt"), n_workers=n_workers)
        root = Path(name, "crawl", "linkeddata")
        sizes = ", ".join(
            f"{kind} {_n_bytes(root / kind) / run.n_documents:.0f}"
            for kind in ("quads", "provenance", "links", "frontier")
        )
    print(
        f"{run.n_documents:,} documents of {n_hosts:,} hosts: {run.cpu_ms:.3f} ms of"
        f" CPU each, of it Redis {run.redis_us:.0f} us; worker {run.worker_mb:.0f} MB;"
        f" bytes of each on the disk: {sizes};"
        f" ended {run.end_secs:.1f} s after its last document",
        flush=True,
    )
    return run


def _n_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    sys.exit(judge(main()))
