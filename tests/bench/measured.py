"""Crawls that a benchmark runs as processes: their cost and their stored statements."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import redis

from rdfcrawl.dataweb.config import EXPERIMENTS, WebConfig
from rdfcrawl.dataweb.process import NETWORK
from rdfcrawl.stores.log.crawl_log import iter_activities
from tests.support.processes import children, peak_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rdfcrawl.stores.provenance.records import Activity

_LOOK_SECS = 0.2
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """Cost of a process, and of those of its children that it has waited for.

    Attributes:
        wall_secs: from its start to its end.
        cpu_secs: user and system time.
        rss_mb: peak of the largest of them.
        exit_code: of the process; negative if a signal has ended it.
    """

    wall_secs: float
    cpu_secs: float
    rss_mb: float
    exit_code: int = 0


def run_measured(
    line: list[str], look: Callable[[int], None], most_secs: float = 3600.0
) -> Usage:
    """Run a command to its end.

    Args:
        line: program and arguments; output is dropped.
        look: called every 0.2 s with the id of the process.
        most_secs: after which it is killed.
    """
    began = time.monotonic()
    process = subprocess.Popen(
        line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        look(process.pid)
        if time.monotonic() - began > most_secs:
            process.kill()
        time.sleep(_LOOK_SECS)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Usage(
        time.monotonic() - began,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss / 1024,
        process.returncode,
    )


@dataclass(frozen=True, slots=True)
class CrawlCost:
    """Cost of a crawl.

    Attributes:
        n_documents: that it fetched.
        wall_secs: from its start to its end, start-up included.
        cpu_secs: user and system time of its processes, Redis included.
        redis_secs: of these, the Redis server.
        worker_mb: peak memory of a worker.
        child_mb: of the largest child process of it; 0 if there was none.
        end_secs: from the end of its last document to its own.
    """

    n_documents: int
    wall_secs: float
    cpu_secs: float
    redis_secs: float
    worker_mb: float
    child_mb: float
    end_secs: float

    @property
    def cpu_ms(self) -> float:
        """Milliseconds of CPU per document."""
        return self.cpu_secs / self.n_documents * 1000

    @property
    def redis_us(self) -> float:
        """Microseconds of CPU of Redis per document."""
        return self.redis_secs / self.n_documents * 1e6


def crawl(
    folder: Path,
    seeds: Path,
    *words: str,
    n_workers: int = 1,
    exit_code: int = 0,
) -> CrawlCost:
    """Crawl Linked Data without delay, into a new folder `crawl` in this one.

    Args:
        folder: of the benchmark.
        seeds: file of them.
        words: further ones of the command.
        n_workers: of the crawl.
        exit_code: wanted; 1 if the crawl is stopped before its end.

    Raises:
        RuntimeError: it fetched nothing, or ended otherwise.
    """
    root = folder / "crawl"
    shutil.rmtree(root, ignore_errors=True)
    command = ["crawl"] if n_workers == 1 else ["workers", f"-n{n_workers}"]
    line = crawl_line([*command, "linkeddata"], root, seeds)
    watch = _Watch(root / "linkeddata" / "frontier" / "redis.sock")
    usage = run_measured([*line, *words], watch.look)
    ended_at = time.time()
    ends_ms = [each.ended_ms for each in _activities(root / "linkeddata")]
    n_documents = len(ends_ms)
    if usage.exit_code != exit_code or not n_documents:
        raise RuntimeError(f"a crawl of {n_documents} documents: {usage}")
    return CrawlCost(
        n_documents,
        usage.wall_secs,
        usage.cpu_secs + watch.redis_secs,
        watch.redis_secs,
        watch.worker_bytes / 1e6,
        watch.child_bytes / 1e6,
        ended_at - max(ends_ms) / 1000,
    )


def crawl_line(command: list[str], root: Path, seeds: Path) -> list[str]:
    """Return the command line of a crawl of loopback without delay."""
    return [
        *(sys.executable, "-m", "scrapy", *command),
        *("-a", f"seeds=@{seeds}"),
        *("-s", "DOWNLOAD_DELAY=0", "-s", "CONCURRENT_REQUESTS=64"),
        *("-s", f"CRAWL_DIR={root}", "-s", "PROGRESS=off"),
        # Else a small crawl is read again when it has ended, and a large one is not.
        *("-s", "DESCRIBE=off"),
        *("-s", f"GUARD_ALLOW_NETS={NETWORK}"),
    ]


@dataclass(slots=True)
class _Watch:
    """Peaks of a crawl that runs: `wait4` counts the memory of the parent, too."""

    socket: Path
    redis_secs: float = 0.0
    worker_bytes: int = 0
    child_bytes: int = 0

    def look(self, pid: int) -> None:
        self.redis_secs = max(self.redis_secs, redis_cpu_secs(self.socket))
        self.worker_bytes = max(self.worker_bytes, peak_bytes(pid))
        self.child_bytes = max([self.child_bytes, *map(peak_bytes, children(pid))])


def redis_cpu_secs(socket: Path) -> float:
    """Return the CPU of an embedded Redis; 0 if there is none."""
    try:
        with redis.Redis(unix_socket_path=str(socket)) as client:
            info = client.info("cpu")
    except redis.RedisError:
        return 0.0
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


def crawled_web(n_nodes: int) -> WebConfig:
    """Return a web as that of experiment II, of any number of hosts."""
    degree = min(20, n_nodes - 1)
    return WebConfig(
        **EXPERIMENTS[2] | {"n_nodes": n_nodes, "degree": degree, "port": 0}
    )


def cpu_secs(pid: int) -> float:
    """Return user and system time of a process that runs, of all its threads.

    Raises:
        OSError: the process is gone.
    """
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(stat[11]) + int(stat[12])) / _TICKS


def count_activities(root: Path) -> int:
    """Return the number of activities in the provenance of a crawl."""
    return sum(1 for _ in _activities(root))


def _activities(root: Path) -> Iterator[Activity]:
    return iter_activities(root / "provenance")


def count_lines(folder: Path, grep: str) -> int:
    """Return how many lines of a folder's segments `grep -c` and these options find."""
    found = subprocess.run(
        f"zcat {folder}/*.nq.gz | grep -c {grep}",
        shell=True,
        capture_output=True,
        check=False,
    )
    return int(found.stdout)
