"""Growth with the number of hosts: CPU, memory and descriptors of a crawl.

Hosts have three small documents each, and a quarter of the greatest number of them is
crawled first. All hosts are addresses of loopback with one port.

Run: `python -m tests.bench.bench_hosts [--hosts N]`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.bench.documents.server import host, served
from tests.bench.figures import Figure, judge
from tests.bench.measured import CrawlCost, crawl

if TYPE_CHECKING:
    from tests.bench.documents.server import Documents

_FACTOR: Final = 4
_AT_MOST: Final = 1.15  # times the CPU of a document, or the memory, of the quarter
_A_HOST: Final = 3
_SEED_STEP: Final = 10  # hosts, of which one is a seed


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Print each crawl; return the growth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=20_000, help="at most 60,000")
    options = parser.parse_args(arguments)
    few, many = (_crawl(n) for n in (options.hosts // _FACTOR, options.hosts))
    recall = many.n_documents / options.hosts / _A_HOST
    name = f"{options.hosts // _FACTOR:,} to {options.hosts:,} hosts"
    return [
        Figure(f"{name}, CPU of a document", many.cpu_ms / few.cpu_ms, "x", _AT_MOST),
        Figure(f"{name}, Redis", many.redis_us / few.redis_us, "x", _AT_MOST),
        Figure(f"{name}, memory", many.worker_mb / few.worker_mb, "x", _AT_MOST),
        Figure(f"{name}, recall", recall, "", at_least=1),
    ]


def _crawl(n_hosts: int) -> CrawlCost:
    with (
        served(lambda port: _documents(n_hosts, port)) as documents,
        tempfile.TemporaryDirectory() as name,
    ):
        first = [url for url in documents if url.endswith("/0")]
        seeds = Path(name, "seeds.txt")
        seeds.write_text("\n".join(first[::_SEED_STEP]))
        run = crawl(Path(name), seeds)
    print(
        f"{run.n_documents:,} documents of {n_hosts:,} hosts: {run.cpu_ms:.3f} ms of"
        f" CPU each, of it Redis {run.redis_us:.0f} us; worker {run.worker_mb:.0f} MB,"
        f" {run.wall_secs:.0f} s",
        flush=True,
    )
    return run


def _documents(n_hosts: int, port: int) -> Documents:
    return {
        f"{host(n, port)}/{i}": ("text/turtle", _document(n, i, n_hosts, port))
        for n in range(n_hosts)
        for i in range(_A_HOST)
    }


def _document(number: int, i: int, n_hosts: int, port: int) -> bytes:
    """Return a document; that of a seed leads to hosts up to the next seed."""
    near = range(number + 1, min(number + _SEED_STEP, n_hosts))
    others = [f"{host(n, port)}/0" for n in near if not (number % _SEED_STEP or i)]
    links = [f"/{(i + 1) % _A_HOST}", *others]
    targets = ", ".join(f"<{link}>" for link in links)
    return f'<> <http://v.example/p> {targets} ; <http://v.example/q> "{i}" .'.encode()


if __name__ == "__main__":
    sys.exit(judge(main()))
