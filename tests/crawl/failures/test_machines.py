"""Machines of one crawl: their clocks differ, and some vanish and come back."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.conftest import LOOPBACK_NETS
from tests.crawl.failures.test_ground import shifted_clock
from tests.support.crawl_fixtures import CrawlResult, count_in_redis
from tests.support.crawl_webs import TreeWeb

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback
    from tests.support.redis_fixtures import RedisServer

pytestmark = pytest.mark.service

DELAY_SECS, LEASE_SECS = 0.25, 1.5
N_HOSTS, N_DOCS = 8, 16
N_MACHINES, N_AT_ONCE = 3, 2
N_FREE = 30  # requests that the web answers before all machines have begun


def start_machine(
    stack: ExitStack, folder: Path, web: TreeWeb, url: str, minutes: int
) -> subprocess.Popen[bytes]:
    """Start a worker whose clock is some minutes ahead, in its own folder."""
    folder.mkdir()
    shift, environment = shifted_clock(folder)
    shift.write_text(str(60 * minutes))
    given = {
        "CRAWL_DIR": folder,
        "REDIS_URL": url,
        "DOWNLOAD_DELAY": DELAY_SECS,
        "FRONTIER_LEASE_SECS": LEASE_SECS,
        "FRONTIER_COMMIT_SECS": 0.2,
        "VISIT_MAX_DOCUMENTS": 3,
        "CONCURRENT_REQUESTS": N_AT_ONCE,
        "GUARD_ALLOW_NETS": LOOPBACK_NETS,
        "CONTACT_REQUIRED": False,
        "DESCRIBE": "off",
    }
    line = [sys.executable, "-m", "scrapy", "crawl", "linkeddata"]
    line += [f"-aseeds={web.seed}", *(f"-s{k}={v}" for k, v in given.items())]
    said = stack.enter_context((folder / "said.txt").open("wb"))
    process = subprocess.Popen(line, stderr=said, env=os.environ | environment)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


def has_begun(folder: Path) -> bool:
    """Return whether a worker has joined the crawl."""
    return b"Spider opened" in (folder / "said.txt").read_bytes()


@pytest.mark.in_turn(2, rooms=("frontier",))
def test_machines_vanish_and_come_back_with_other_clocks(
    commands: Commands,
    loopback: Loopback,
    lasting_server: RedisServer,
    tmp_path: Path,
) -> None:
    """If machines stop, and come back after others have their hosts, nothing is lost.

    Nor does any work take effect twice, or any host get a request too soon, although
    their clocks differ by a quarter of an hour. One of them comes back when all is
    over.
    """
    web = TreeWeb(loopback, "127.0.87", n_hosts=N_HOSTS, n_docs=N_DOCS, secs=0.02)
    may_go_on = web.hold_after(N_FREE)
    url = lasting_server.url
    folders = [tmp_path / name for name in ("ahead", "behind", "right")]
    with ExitStack() as stack:
        ahead, behind, right = (
            start_machine(stack, folder, web, url, minutes)
            for folder, minutes in zip(folders, (7, -8, 0), strict=True)
        )
        for folder in folders:  # until it has begun
            commands.wait_until(partial(has_begun, folder))
        # Until each visits as many hosts as it may, and has leases of them.
        n_held = N_MACHINES * N_AT_ONCE
        commands.wait_until(lambda: web.asked().total() == N_FREE + n_held)
        for process in (ahead, behind):
            process.send_signal(signal.SIGSTOP)
        may_go_on.set()
        n_asked = web.asked().total()
        commands.wait_until(lambda: web.asked().total() > n_asked + 30)
        ahead.send_signal(signal.SIGCONT)
        codes = [process.wait(600) for process in (ahead, right)]
        n_asked = web.asked().total()
        behind.send_signal(signal.SIGCONT)
        codes.append(behind.wait(600))
    said_all = "".join((folder / "said.txt").read_text() for folder in folders)
    assert codes == [0, 0, 0], said_all
    assert web.asked().total() <= n_asked + 2  # its earlier output
    results = [
        CrawlResult(0, "", folder / "linkeddata", 0.0, 0)
        for folder in folders
        if (folder / "linkeddata" / "quads").exists()
    ]
    assert set.union(*(result.graphs for result in results)) == web.documents
    counts = asyncio.run(count_in_redis(url, "linkeddata"))
    assert (counts.done, counts.seen) == (N_HOSTS * N_DOCS,) * 2
    gaps = [b - a for times in web.times() for a, b in pairwise(times)]
    # A loaded machine holds up a request between its turn and the network.
    assert min(gaps) >= 0.8 * DELAY_SECS
    assert "recovered" in said_all
