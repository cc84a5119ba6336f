"""Memory: of Redis for a URI, and of a worker that begins with a million seeds.

Run: `python -m tests.bench.bench_memory [--seeds N]`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rdfcrawl.frontier.redis.embedded import find_server
from tests.bench.bench_frontier import Bench
from tests.bench.budgets import line
from tests.bench.documents.server import host, served
from tests.bench.figures import Figure, judge
from tests.bench.measured import crawl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.bench.documents.server import Documents


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Return the lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    bench = Bench(find_server(), 0)
    figures = [
        line(
            "frontier, 1,000 hosts", asyncio.run(bench.bytes_per_uri(1000, a_host=100))
        ),
        line(
            "frontier, 3 URIs a host",
            asyncio.run(bench.bytes_per_uri(13_000, a_host=3)),
        ),
    ]
    return [*figures, _seeds(options.seeds)]


def _seeds(n_seeds: int) -> Figure:
    """Begin with many seeds of 1,000 hosts, of which the first are fetched."""

    def documents(port: int) -> Documents:
        return {f"{host(0, port)}/": ("text/plain", b"")}

    with served(documents) as found, tempfile.TemporaryDirectory() as name:
        path = many_seeds(Path(name), found, n_seeds)
        closing = ("-s", "CLOSESPIDER_ITEMCOUNT=1000", "-a", "depth=0")
        run = crawl(Path(name), path, *closing, exit_code=1)
    print(f"{n_seeds} seeds: {run.cpu_secs:.1f} s, {run.n_documents} documents")
    return line("memory of a worker with a million seeds", run.worker_mb)


def many_seeds(folder: Path, served: Iterable[str], n_seeds: int) -> Path:
    """Write seeds of 1,000 hosts at the port of served documents into a new file."""
    port = int(next(iter(served)).rsplit(":", 1)[1].rstrip("/"))
    path = folder / f"seeds-{n_seeds}.txt"
    with path.open("w") as file:
        for number in range(n_seeds):
            file.write(f"{host(number % 1000, port)}/resource/item-{number}\n")
    return path


if __name__ == "__main__":
    sys.exit(judge(main()))
