"""Crawls that a benchmark runs as processes: their cost and their stored statements."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rdfcrawl.dataweb.config import EXPERIMENTS, WebConfig

if TYPE_CHECKING:
    from collections.abc import Callable

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


def count_lines(folder: Path, grep: str) -> int:
    """Return how many lines of a folder's segments `grep -c` and these options find."""
    found = subprocess.run(
        f"zcat {folder}/*.nq.gz | grep -c {grep}",
        shell=True,
        capture_output=True,
        check=False,
    )
    return int(found.stdout)
