"""Growth: crawls of more and more documents, and the start over a full frontier.

CPU, memory and bytes of Redis for a document stay the same if a crawl gets longer. A
crawl with millions of queued URIs starts as fast as an empty one, but for Redis, which
reads its file.

Run: `python -m tests.bench.bench_growth [--documents N ...] [--hosts N] [--queued N]`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rdfcrawl.dataweb.process import run_dataweb
from tests.bench.bench_memory import many_seeds
from tests.bench.documents.server import host, served
from tests.bench.figures import Figure, judge
from tests.bench.measured import CrawlCost, crawl, crawled_web

if TYPE_CHECKING:
    from tests.bench.documents.server import Documents

_AT_MOST = 1.15  # times the CPU and the memory of the smallest crawl


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Print each crawl; return the growth."""
    parser = argparse.ArgumentParser(description=__doc__)
    sizes = [25_000, 100_000]
    parser.add_argument("--documents", type=int, nargs="*", default=sizes)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--queued", type=int, default=500_000)
    options = parser.parse_args(arguments)
    figures: list[Figure] = []
    runs = [_crawl(n, options.hosts) for n in options.documents]
    if runs:
        first, last = runs[0], runs[-1]
        name = f"{first.n_documents:,} to {last.n_documents:,} documents"
        figures += [
            Figure(f"{name}, CPU each", last.cpu_ms / first.cpu_ms, "x", _AT_MOST),
            Figure(f"{name}, Redis each", last.redis_us / first.redis_us, "x"),
            Figure(f"{name}, memory", last.worker_mb / first.worker_mb, "x", _AT_MOST),
        ]
    return [*figures, *(_restart(options.queued) if options.queued else [])]


def _crawl(n_documents: int, n_hosts: int) -> CrawlCost:
    a_host = n_documents // n_hosts
    web = replace(crawled_web(n_hosts), triples=a_host, rdf_degree=2)
    with tempfile.TemporaryDirectory() as name, run_dataweb(web, Path(name)):
        run = crawl(Path(name), Path(name, "seeds.txt"))
        root = Path(name, "crawl", "linkeddata")
        # The log is flushed at the end; the last document was before that.
        written = max(x.stat().st_mtime for x in (root / "quads").glob("*.nq.gz"))
        end_secs = time.time() - written
        sizes = ", ".join(
            f"{kind} {_n_bytes(root / kind) / run.n_documents:.0f}"
            for kind in ("quads", "provenance", "links", "frontier")
        )
    print(
        f"{run.n_documents:,} documents of {n_hosts:,} hosts: {run.cpu_ms:.3f} ms of"
        f" CPU each, of it Redis {run.redis_us:.0f} us; worker {run.worker_mb:.0f} MB;"
        f" bytes of each on the disk: {sizes};"
        f" ended at most {end_secs:.1f} s after its last write",
        flush=True,
    )
    return run


def _n_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _restart(n_queued: int) -> list[Figure]:
    """Stop a crawl with many queued URIs, and start it again."""

    def documents(port: int) -> Documents:
        return {f"{host(0, port)}/": ("text/plain", b"")}

    stopping = ("-s", "CLOSESPIDER_ITEMCOUNT=100", "-a", "depth=0")
    with served(documents) as found, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seeds = many_seeds(folder, found, n_queued)
        first = crawl(folder, seeds, *stopping, exit_code=1)
        again = crawl(folder, seeds, *stopping, exit_code=1, is_new=False)
        few = many_seeds(folder, found, 1000)
        empty = crawl(folder, few, *stopping, exit_code=1)
    print(
        f"{n_queued:,} queued URIs: {first.cpu_secs:.1f} s of CPU to queue them,"
        f" {first.worker_mb:.0f} MB; started again: {again.cpu_secs:.1f} s,"
        f" of it Redis {again.redis_secs:.1f}, {again.worker_mb:.0f} MB;"
        f" a crawl of 1,000: {empty.cpu_secs:.1f} s",
        flush=True,
    )
    own = again.cpu_secs - again.redis_secs - (empty.cpu_secs - empty.redis_secs)
    return [
        Figure(f"start over {n_queued:,} URIs", own, "s beyond 1,000"),
        Figure(f"  of Redis, for each {n_queued:,}", again.redis_secs, "s"),
    ]


if __name__ == "__main__":
    sys.exit(judge(main()))
