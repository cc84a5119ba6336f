"""Throughput and fairness of 1 to 64 workers on one frontier, with simulated fetches.

Fetches are waited for, everything else is real. In the first table each worker adds 40
hosts, in the second one there are 320 hosts in all.

usage: python -m tests.bench.bench_workers [--secs N] [--partitions P] [--machines M]
                                           [--workers N ...]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

from rdfcrawl.frontier.queue.candidate import machine_of
from rdfcrawl.frontier.redis.embedded import OPTIONS, find_server, program_version
from tests.bench.bench_frontier import percentile, server_cpu
from tests.bench.figures import Figure, judge
from tests.support.redis_fixtures import RedisServer
from tests.support.simulated_workers import SimulatedCrawl, SimulatedRun, simulate

_COUNTS = (1, 2, 4, 8, 16, 32, 64)
_HOSTS_A_WORKER, _FEW_HOSTS = 40, 320
_WARM_SECS = 6.0
_HEAD = (
    "workers  hosts  of the ceiling  share of a worker  share of a host  longest wait"
    "  claim p50, p99 ms  calls/s  CPU us/URI  at home"
)


async def _measure(
    program: str, crawl: SimulatedCrawl, secs: float
) -> tuple[SimulatedRun, float, float]:
    """Return a run, the commands per second, and the CPU of Redis per request."""
    with tempfile.TemporaryDirectory(prefix="rc-") as folder:
        server = RedisServer(program, Path(folder), OPTIONS)
        server.start()
        watch = server.client()
        try:
            version = program_version(program) or ()
            run = await simulate(
                crawl, server.client, version, secs=secs, warm_secs=_WARM_SECS
            )
            stats: Any = await watch.info("commandstats")
            calls = sum(
                x["calls"] for name, x in stats.items() if "evalsha" in name
            ) / (secs + _WARM_SECS)
            cpu = await server_cpu(watch) / len(run.fetches)
        finally:
            await watch.aclose()
            server.end()
    return run, calls, cpu


def _print_row(run: SimulatedRun, calls: float, cpu: float) -> None:
    crawl, waits = run.crawl, run.claim_secs
    whole = run.rate / crawl.ceiling
    workers, hosts = run.shares("worker"), run.shares("host")
    at_home = run.at_home(machine_of)
    print(
        f"{crawl.workers:7}{crawl.hosts:7}{run.rate:9.0f} {whole:6.3f}"
        f"{workers[0]:12.2f} {workers[-1]:6.2f}{hosts[0]:11.2f} {hosts[-1]:5.2f}"
        f"{run.longest_wait_secs / run.round_secs:9.2f} rds"
        f"{percentile(waits, 50) * 1e3:11.1f} {percentile(waits, 99) * 1e3:6.1f}"
        f"{calls:10.0f}{cpu * 1e6:11.0f}{at_home:10.2f}",
        flush=True,
    )


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Print a row per number of workers; return how 64 share the work."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--secs", type=float, default=20.0)
    parser.add_argument("--partitions", type=int, default=16)
    parser.add_argument("--machines", type=int, default=4)
    parser.add_argument("--workers", type=int, nargs="+", default=_COUNTS)
    given = parser.parse_args(arguments)
    program, figures = find_server(), []
    for name, hosts_of in (("many", _HOSTS_A_WORKER), ("few", 0)):
        print(f"{name} hosts\n{_HEAD}")
        for count in given.workers:
            crawl = SimulatedCrawl(
                workers=count,
                machines=min(count, given.machines),
                hosts=count * hosts_of or _FEW_HOSTS,
                a_host=2 * int(given.secs + _WARM_SECS),
                partitions=given.partitions,
            )
            run, calls, cpu = asyncio.run(_measure(program, crawl, given.secs))
            _print_row(run, calls, cpu)
        figures += _figures(name, run)
    return figures


def _figures(name: str, run: SimulatedRun) -> list[Figure]:
    whole, workers = run.rate / run.crawl.ceiling, run.shares("worker")
    rounds = run.longest_wait_secs / run.round_secs
    who = f"{run.crawl.workers} workers, {name} hosts"
    return [
        Figure(f"{who}: rate", whole, "of the ceiling", at_least=0.75),
        Figure(f"{who}: worker with most", workers[-1], "x mean"),
        Figure(f"{who}: worker with least", workers[0], "x mean"),
        Figure(f"{who}: longest wait", rounds, "rounds", at_most=2),
    ]


if __name__ == "__main__":
    sys.exit(judge(main()))
