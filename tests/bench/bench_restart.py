"""Cost of a start over a full frontier: that of a command, and of a crawl.

The frontier of a small crawl is filled with N URIs and with four times as many, a
hundred of each host, and then a command and a crawl of 100 documents begin with it.

Run: `python -m tests.bench.bench_restart [--uris N]`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scrapy.utils.project import get_project_settings

from rdfcrawl.core.records import Kind, Record
from rdfcrawl.frontier.worker.link_ingest import LINK_BAND
from rdfcrawl.monitor.operating.crawl import OperatedCrawl
from tests.bench.bench_frontier import used_memory
from tests.bench.documents.server import host, served
from tests.bench.figures import Figure, judge
from tests.bench.measured import crawl, crawl_line, redis_cpu_secs, run_measured

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.candidate import Candidate
    from tests.bench.documents.server import Documents

_FACTOR: Final = 4
_AT_MOST: Final = 1.25  # times the CPU of a start over a quarter
_BYTES_AT_MOST: Final = 60.0
_MAX_HOSTS: Final = 50_000
_A_HOST: Final = 100
_HOSTS_A_CALL: Final = 50


@dataclass(frozen=True, slots=True)
class RestartCost:
    """Cost of starts over a frontier; the least of two of each.

    Attributes:
        n_bytes: of Redis, for each URI.
        command_secs: CPU of `scrapy frontier status`.
        crawl_secs: of a crawl of 100 documents.
        redis_secs: of Redis during the crawl, which begins with loading.
    """

    n_bytes: float
    command_secs: float
    crawl_secs: float
    redis_secs: float


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Print each start; return the growth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uris", type=int, default=250_000)
    options = parser.parse_args(arguments)
    few, many = (_restart(n) for n in (options.uris, options.uris * _FACTOR))
    name = f"{options.uris:,} to {options.uris * _FACTOR:,} URIs"
    command, crawled = few.command_secs, few.crawl_secs
    loading = many.redis_secs / options.uris / _FACTOR * 1e6
    return [
        Figure(f"{name}, a command", many.command_secs / command, "x", _AT_MOST),
        Figure(f"{name}, a crawl", many.crawl_secs / crawled, "x", _AT_MOST),
        Figure(f"{name}, Redis", loading, "us/URI"),
        Figure(f"{name}, memory", many.n_bytes, "B/URI", _BYTES_AT_MOST),
    ]


def _restart(n_uris: int) -> RestartCost:
    with (
        served(_documents) as documents,
        tempfile.TemporaryDirectory() as name,
    ):
        folder, url = Path(name), next(iter(documents))
        root, seeds = folder / "crawl", folder / "seeds.txt"
        seeds.write_text(url)
        crawl(folder, seeds)
        n_bytes = asyncio.run(_fill(root, n_uris, port=int(url[:-1].split(":")[2])))
        status = [sys.executable, "-m", "scrapy", "frontier", "status"]
        command, _ = _least([*status, "-s", f"CRAWL_DIR={root}"], root)
        line = crawl_line(["crawl", "linkeddata"], root, seeds)
        crawled, loaded = _least([*line, "-s", "CLOSESPIDER_ITEMCOUNT=100"], root)
    run = RestartCost(n_bytes, command, crawled, loaded)
    print(f"{n_uris:,} URIs: {run}", flush=True)
    return run


def _documents(port: int) -> Documents:
    return {f"{host(0, port)}/": ("text/turtle", b"<a> <b> <c> .")}


async def _fill(root: Path, n_uris: int, *, port: int) -> float:
    """Queue URIs of many hosts; return the memory of Redis for each."""
    settings = get_project_settings()
    settings.set("CRAWL_DIR", str(root), priority="cmdline")
    n_hosts = min(max(1, n_uris // _A_HOST), _MAX_HOSTS)
    async with await OperatedCrawl.open(settings) as operated:
        frontier, ingest = operated.frontier, operated.ingest

        def link(number: int, i: int) -> Candidate:
            site = f"{host(number, port)}/resource"
            url = f"{site}/category-{i % 10}/item-{i * 7919 % 10**10:010}"
            parent = f"{site}/list-{i // 40}"
            return ingest.candidate(Record(url, Kind.PAGE, 3, parent), LINK_BAND)

        before = await used_memory(frontier.redis)
        for first in range(0, n_hosts, _HOSTS_A_CALL):
            numbers = range(first, min(first + _HOSTS_A_CALL, n_hosts))
            for begin in range(0, n_uris // n_hosts, _A_HOST):
                some = range(begin, min(begin + _A_HOST, n_uris // n_hosts))
                await frontier.add([link(n, i) for i in some for n in numbers])
        return (await used_memory(frontier.redis) - before) / n_uris


def _least(line: list[str], root: Path) -> tuple[float, float]:
    """Run a line twice; return the least CPU of it and of Redis, in seconds."""
    socket = root / "linkeddata" / "frontier" / "redis.sock"
    cpu, redis = [], []
    for _ in range(2):
        seen: list[float] = []
        look = partial(_look, socket, seen)
        cpu.append(run_measured(line, look).cpu_secs)
        redis.append(max(seen))
    return min(cpu), min(redis)


def _look(socket: Path, seen: list[float], _pid: int) -> None:
    seen.append(redis_cpu_secs(socket))


if __name__ == "__main__":
    sys.exit(judge(main()))
