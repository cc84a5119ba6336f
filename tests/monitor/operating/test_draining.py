"""`scrapy frontier drain` ends one worker of a crawl, and loses nothing."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING, Any

from tests.support.crawl_webs import TreeWeb
from tests.support.operated_crawls import operate, told

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback
    from tests.support.redis_fixtures import MakeFrontier, RedisServer

SHORT: dict[str, Any] = {"FRONTIER_LEASE_SECS": 2, "VISIT_MAX_DOCUMENTS": 30}


def live_workers(folder: Path) -> set[str]:
    """Return the names of the workers that run."""
    (status,) = told(folder, "status", CRAWL_ID="linkeddata")
    return {each["name"] for each in status["workers"] if each["is_live"]}


def pid_of(worker: str) -> int:
    """Return the process of a worker, which its name has."""
    return int(worker.split("-")[-2])


def only(names: Iterable[str]) -> str:
    """Return the only one."""
    (name,) = names
    return name


def test_drained_worker_gives_its_hosts_to_others(
    commands: Commands, loopback: Loopback
) -> None:
    """If a worker is drained, then it ends with 0, and the other crawls the rest.

    Its URIs wait for no lease to expire, and are requested once.
    """
    web = TreeWeb(loopback, "127.0.78", n_hosts=3, n_docs=60, secs=0.1)
    folder = commands.folder()
    lasting = {**SHORT, "FRONTIER_LEASE_SECS": 3600}
    first = commands.start_crawl([web.seed], folder=folder, **lasting)
    commands.wait_until(lambda: web.asked().total() > 5)
    name = only(live_workers(folder))
    second = commands.start_crawl([], folder=folder, **lasting)
    commands.wait_until(lambda: len(live_workers(folder)) == 2)
    (drained,) = told(folder, "drain", name)
    ended = first.wait()
    assert (ended.code, drained["outcome"]) == (0, "drained"), ended.stderr
    assert "an operator drains this worker" in ended.stderr
    assert re.search("outcome +drained\n", ended.stderr)
    assert name not in live_workers(folder)
    assert (folder / "linkeddata" / "quads").exists()
    result = second.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == web.documents
    assert set(web.asked().values()) == {1}
    gone = operate(folder, "drain", name)
    assert (gone.returncode, gone.stdout) == (0, f"{name}: has ended already\n")
    assert operate(folder, "check").returncode == 0


def test_signal_drains_as_well_and_a_dead_worker_is_reported(
    commands: Commands, loopback: Loopback
) -> None:
    """If a worker gets SIGTERM, then it returns its URIs; a dead one is reported."""
    web = TreeWeb(loopback, "127.0.79", n_hosts=2, n_docs=40, secs=0.05)
    folder = commands.folder()
    running = commands.start_crawl([web.seed], folder=folder, **SHORT)
    commands.wait_until(lambda: web.asked().total() > 5)
    running.send(signal.SIGTERM)
    stopped = running.wait()
    assert stopped.code == 1
    counts = stopped.counts()
    assert counts.queued > 0 == counts.leased
    running = commands.start_crawl([], folder=folder, **SHORT)
    n_before = web.asked().total()
    commands.wait_until(lambda: web.asked().total() > n_before + 3)
    name = only(live_workers(folder))
    assert pid_of(name) == running.process.pid
    running.send(signal.SIGKILL)
    running.wait()
    dead = operate(folder, "drain", name, FRONTIER_LEASE_SECS=2)
    assert dead.returncode == 1, dead.stderr
    assert dead.stdout.startswith(f"{name}: is dead: no report for ")
    unknown = operate(folder, "drain", "worker-1-ab")
    assert unknown.returncode == 2
    assert (
        "WORKER 'worker-1-ab': the crawl has no such worker; live ones"
        in (unknown.stderr.splitlines()[-1])
    )
    result = commands.crawl([], folder=folder, **SHORT)
    assert result.graphs == web.documents


def test_drained_pool_has_not_finished(commands: Commands, loopback: Loopback) -> None:
    """If all workers of a command are drained, then it says so with exit code 0."""
    web = TreeWeb(loopback, "127.0.85", n_hosts=1, n_docs=60, secs=0.05)
    folder = commands.folder()
    crew = commands.start(
        *("workers", "-n1", "linkeddata", f"-aseeds={web.seed}"),
        folder=folder,
        **SHORT,
    )
    commands.wait_until(lambda: web.asked().total() > 5)
    assert told(folder, "drain", only(live_workers(folder)))[0]["outcome"] == "drained"
    ended = crew.wait()
    assert ended.code == 0, ended.stderr
    assert re.search("outcome +drained\n", ended.stderr)
    result = commands.crawl([], folder=folder)
    assert result.graphs == web.documents
    assert set(web.asked().values()) == {1}


async def test_worker_that_is_to_end_is_shown(
    make_frontier: MakeFrontier, redis_server: RedisServer, tmp_path: Path
) -> None:
    """If a worker is being drained, then `status` shows it until it has left."""
    frontier = await make_frontier()
    await frontier.beat("w1", {})
    named = {"REDIS_URL": redis_server.url, "CRAWL_ID": "c"}
    assert re.search(r"\nw1 +begins", operate(tmp_path, "status", **named).stdout)
    await frontier.drains.request("w1")
    assert re.search(r"\nw1 +ends", operate(tmp_path, "status", **named).stdout)
    await frontier.leave("w1")
    assert not await frontier.drains.requested()
