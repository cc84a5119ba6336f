"""ORCA's experiment II: a dereferencing web, crawled by one and by two workers.

The reference is `bare_crawl`, without robots.txt, frontier, store or provenance, on the
same web in the same minute.
"""

from __future__ import annotations

import argparse
import compileall
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import redis

import rdfcrawl
from rdfcrawl.dataweb.config import EXPERIMENTS, WebConfig
from rdfcrawl.dataweb.process import NETWORK, ServedWeb, run_dataweb
from tests.bench.figures import Figure, judge
from tests.bench.measured import count_lines, run_measured

_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Run:
    """Cost of one crawl.

    Attributes:
        name: of the crawler.
        documents: fetched.
        wall_secs: from its start to its end, start-up included.
        cpu_secs: user and system time of its processes.
        redis_secs: of these, the Redis server.
        rss_mb: peak of the largest process.
        recall: share of the web's statements that it found.
    """

    name: str
    documents: int
    wall_secs: float
    cpu_secs: float
    redis_secs: float
    rss_mb: float
    recall: float

    @property
    def cpu_per_doc(self) -> float:
        """Milliseconds of CPU per document."""
        return self.cpu_secs / self.documents * 1000


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Print a row per crawler; return its cost relative to the bare loop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    options = parser.parse_args(arguments)
    # Installations have it compiled; a checkout need not.
    compileall.compile_dir(Path(rdfcrawl.__file__).parent, quiet=1)
    config = WebConfig(**EXPERIMENTS[2] | {"n_nodes": options.nodes, "port": 0})
    with tempfile.TemporaryDirectory() as name, run_dataweb(config, Path(name)) as web:
        folder = Path(name)
        documents = options.nodes * config.n_resources
        print(f"experiment II: {options.nodes} hosts, {documents} documents")
        print(
            f"{'':24}{'docs':>7}{'GETs':>7}{'wall s':>8}{'docs/s':>8}{'CPU ms/doc':>12}"
            f"{'of it Redis':>12}{'ratio':>7}{'peak MB':>9}{'recall':>8}"
        )
        bare = _bare(folder)
        _print_row(bare, bare, bare.documents)
        runs = []
        for n in options.workers:
            before = _n_gets(web)
            runs.append(crawl_web(folder, n))
            _print_row(runs[-1], bare, _n_gets(web) - before)
        again = _bare(folder)
        _print_row(again, bare, again.documents)
        both = _bare_side_by_side(folder)
        _print_row(both, bare, both.documents)
    return _figures(runs, (bare.cpu_per_doc + again.cpu_per_doc) / 2)


def _figures(runs: list[Run], bare_cpu: float) -> list[Figure]:
    figures = []
    for run in runs:
        ratio = run.cpu_per_doc / bare_cpu
        most = 2.0 * (1.0 if run is runs[0] else 1.15)
        figures += [
            Figure(f"{run.name}, CPU", ratio, "x bare loop", at_most=most),
            Figure(f"{run.name}, memory", run.rss_mb, "MB", at_most=150),
            Figure(f"{run.name}, recall", run.recall, "", at_least=1.0),
        ]
    for more in runs[1:]:
        ratio = more.cpu_per_doc / runs[0].cpu_per_doc
        name = f"{more.name}, CPU"
        figures.append(Figure(name, ratio, f"x {runs[0].name}", at_most=1.15))
    return figures


def _n_gets(web: ServedWeb) -> int:
    log = web.log()
    return log.total("n_requests") - log.total("n_robots")


def _print_row(run: Run, bare: Run, n_gets: int) -> None:
    ratio = run.cpu_per_doc / bare.cpu_per_doc
    print(
        f"{run.name:24}{run.documents:7}{n_gets:7}{run.wall_secs:8.1f}"
        f"{run.documents / run.wall_secs:8.0f}{run.cpu_per_doc:12.3f}"
        f"{run.redis_secs / run.documents * 1000:12.3f}{ratio:7.2f}"
        f"{run.rss_mb:9.0f}{run.recall:8.4f}"
    )


def crawl_web(folder: Path, n_workers: int, *more: str) -> Run:
    """Crawl the web of a folder; `more` are further words of the command."""
    crawl = folder / "crawl"
    shutil.rmtree(crawl, ignore_errors=True)
    socket = crawl / "linkeddata" / "frontier" / "redis.sock"
    command = (
        ["scrapy", "crawl"]
        if n_workers == 1
        else ["scrapy", "workers", f"-n{n_workers}"]
    )
    line = [
        *(sys.executable, "-m", *command, "linkeddata"),
        *("-a", f"seeds=@{folder / 'seeds.txt'}"),
        *("-s", "DOWNLOAD_DELAY=0", "-s", f"CONCURRENT_REQUESTS={_AT_ONCE}"),
        *("-s", f"CRAWL_DIR={crawl}", "-s", "PROGRESS=off"),
        # Else a small crawl is read again when it has ended, and a large one is not.
        *("-s", "DESCRIBE=off"),
        *("-s", f"GUARD_ALLOW_NETS={NETWORK}"),
        *more,
    ]
    redis_secs = 0.0

    def look(_: int) -> None:
        nonlocal redis_secs
        redis_secs = max(redis_secs, _redis_cpu(socket))

    usage = run_measured(line, look)
    return Run(
        f"rdfcrawl, {n_workers} worker{'s' * (n_workers > 1)}",
        count_lines(crawl / "linkeddata" / "provenance", "'ns/prov#Activity>'"),
        usage.wall_secs,
        usage.cpu_secs + redis_secs,
        redis_secs,
        usage.rss_mb,
        _recall(folder, crawl),
    )


def _recall(folder: Path, crawl: Path) -> float:
    # In a separate process: a child's peak memory begins with its parent's.
    judge = subprocess.run(
        [
            *(sys.executable, "-m", "scrapy", "dataweb", "recall"),
            *(str(folder / "truth.nq"), str(crawl / "linkeddata" / "quads")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    return float(judge.stdout.split("\nall ")[1].split()[1])


def _redis_cpu(socket: Path) -> float:
    try:
        with redis.Redis(unix_socket_path=str(socket)) as client:
            info = client.info("cpu")
    except redis.RedisError:
        return 0.0
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


def _bare(folder: Path) -> Run:
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.bare_crawl", str(folder / "seeds.txt")],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    out, _ = process.communicate()
    documents, cpu, rss = out.split()
    return Run(
        "bare loop",
        int(documents),
        time.monotonic() - began,
        float(cpu),
        0.0,
        float(rss),
        1.0,
    )


def _bare_side_by_side(folder: Path) -> Run:
    """Run two bare loops in parallel, each over the full web.

    They share nothing: the time beyond one alone is the machine's, and two workers meet
    it, too.
    """
    with ThreadPoolExecutor(2) as threads:
        runs = list(threads.map(_bare, [folder, folder]))
    return Run(
        "bare loop, 2 at once",
        sum(run.documents for run in runs),
        max(run.wall_secs for run in runs),
        sum(run.cpu_secs for run in runs),
        0.0,
        max(run.rss_mb for run in runs),
        1.0,
    )


if __name__ == "__main__":
    sys.exit(judge(main()))
