"""Cost of a crawl itself with stores that follow it, and fail.

The same web is crawled without followers, then with a store that accepts everything,
one that is absent, one that is busy all the time, and one whose disk is full; in turns.
CPU is that of the process that crawls alone, up to the end of the crawl: followers have
processes of their own, which share the machine with it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from rdfcrawl.dataweb.process import NETWORK, run_dataweb
from rdfcrawl.stores.crawl_folder import is_finished
from rdfcrawl.stores.followers.status import read_statuses
from tests.bench.figures import Figure, judge
from tests.bench.measured import cpu_secs, crawled_web
from tests.support.small_disk import small_disk
from tests.support.sparql_services import free_port
from tests.support.store_http import Answer, StoreServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from tests.support.store_http import StoreRequest

_LOOK_SECS = 0.05
_FULL_BYTES = 64 * 1024  # that are left


class CrawlCost(NamedTuple):
    """Cost of a crawl.

    Attributes:
        cpu_secs: of the process that crawls.
        wall_secs: from its start to the end of the crawl.
        progress: line of the progress about the store then.
    """

    cpu_secs: float
    wall_secs: float
    progress: str


Stores = dict[str, dict[str, Any]]


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Print a row per failure; return CPU relative to a crawl without followers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=40)
    parser.add_argument("--turns", type=int, default=2)
    options = parser.parse_args(arguments)
    config = crawled_web(options.nodes)
    n_documents = options.nodes * config.n_resources
    runs: dict[str, list[CrawlCost]] = {}
    with tempfile.TemporaryDirectory() as name, run_dataweb(config, Path(name)):
        for _ in range(options.turns):
            for failure, stores in FAILURES.items():
                folder = Path(name) / "crawls"
                try:
                    with stores(Path(name)) as named:
                        run = _crawl(Path(name) / "seeds.txt", folder, named)
                except pytest.skip.Exception as reason:
                    print(f"{failure}: {reason}")
                    continue
                shutil.rmtree(folder)
                runs.setdefault(failure, []).append(run)
                print(
                    f"{failure:10}{n_documents / run.wall_secs:7,.0f} documents/s,"
                    f" {run.cpu_secs / n_documents * 1e3:.3f} ms of CPU;"
                    f" {run.progress}",
                    flush=True,
                )
    cpu = {name: median(run.cpu_secs for run in each) for name, each in runs.items()}
    return [
        Figure(f"crawl, store {name}, CPU", secs / cpu["off"], "x off", at_most=1.1)
        for name, secs in cpu.items()
        if name != "off"
    ]


def _crawl(seeds: Path, folder: Path, stores: Stores) -> CrawlCost:
    root = folder / "linkeddata"
    line = [
        *(sys.executable, "-m", "scrapy", "crawl", "linkeddata"),
        *("-a", f"seeds=@{seeds}", "-s", f"CRAWL_DIR={folder}"),
        *("-s", "DOWNLOAD_DELAY=0", "-s", "CONCURRENT_REQUESTS=64"),
        *("-s", f"GUARD_ALLOW_NETS={NETWORK}", "-s", f"STORES={json.dumps(stores)}"),
    ]
    began = time.monotonic()
    process = subprocess.Popen(
        line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    secs = 0.0
    while process.poll() is None and not is_finished(root / "quads"):
        with suppress(OSError):
            secs = cpu_secs(process.pid)
        time.sleep(_LOOK_SECS)
    wall_secs = time.monotonic() - began
    progress = "; ".join(status.summary() for status in read_statuses(root))
    _end(process)
    return CrawlCost(secs, wall_secs, progress)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a crawl that waits for its followers; those end, or are ended, with it."""
    followers = _children(process.pid)
    process.kill()
    process.wait()
    for pid in followers:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    """Return the children of all threads of a process."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # the thread has ended
            found += map(int, path.read_text().split())
    return found


# -- the stores --------------------------------------------------------------------


def _off(_: Path) -> AbstractContextManager[Stores]:
    return nullcontext({})


def _well(folder: Path) -> AbstractContextManager[Stores]:
    path = folder / "crawls" / "followed"
    return nullcontext({f"oxigraph:{path}": {}})


def _gone(_: Path) -> AbstractContextManager[Stores]:
    return nullcontext({f"fuseki+http://127.0.0.1:{free_port()}/ds": {}})


@contextmanager
def _busy(_: Path) -> Iterator[Stores]:
    def answer(_: StoreRequest) -> Answer:
        return Answer(status=503, headers={"Retry-After": "1"})

    with StoreServer(answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {f"fuseki+{server.origin}/ds": {}}
        server.shutdown()


@contextmanager
def _full(folder: Path) -> Iterator[Stores]:
    place = folder / "disk"
    place.mkdir(exist_ok=True)
    with small_disk(place) as disk:
        disk.fill(_FULL_BYTES)
        yield {f"oxigraph:{disk.path / 'db'}": {}}


FAILURES: dict[str, Callable[[Path], AbstractContextManager[Stores]]] = {
    "off": _off,
    "well": _well,
    "gone": _gone,
    "busy": _busy,
    "full": _full,
}


if __name__ == "__main__":
    sys.exit(judge(main()))
