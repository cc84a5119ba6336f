"""All that can fail fails while a crawl runs; nothing may be lost or made up."""

from __future__ import annotations

import asyncio
import os
import random
import resource
import signal
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest
from redis import Redis

from rdfcrawl.core.errors import Reason
from rdfcrawl.dataweb.config import NodeKind, WebConfig
from rdfcrawl.dataweb.process import run_dataweb
from rdfcrawl.dataweb.recall import judge
from rdfcrawl.frontier.redis.embedded import find_server
from rdfcrawl.stores.log.links import LinkLog
from tests.support.crawl_fixtures import count_in_redis
from tests.support.crawl_kills import kill_redis, worker_pids
from tests.support.crawl_names import lying_names, names_outage, scripted_names
from tests.support.crawl_webs import TreeWeb
from tests.support.operated_crawls import assert_sound
from tests.support.redis_fixtures import RedisServer
from tests.support.redis_proxy import RedisProxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import RawRequest, Reply, Step
    from tests.support.crawl_fixtures import Commands, RunningCrawl
    from tests.support.crawl_webs import Loopback

WEB = WebConfig(
    n_nodes=12,
    triples=80,
    degree=4,
    weights={NodeKind.DEREFERENCING: 1.0},
    port=0,
    first_address="127.60.0.1",
    latency_ms=80,
)
N_KILLS, BETWEEN_KILLS_SECS = 4, 2.0


def test_killed_workers_and_redis_lose_nothing(
    commands: Commands, tmp_path: Path
) -> None:
    """If workers and Redis are killed again and again, then recall is exactly 1."""
    with run_dataweb(WEB, tmp_path) as web:
        crew = commands.start(
            *("workers", "-n2", "linkeddata", f"-aseeds=@{web.seeds_path}"),
            FRONTIER_LEASE_SECS=3,
            FRONTIER_COMMIT_SECS=0.3,
            VISIT_MAX_DOCUMENTS=4,
        )
        commands.wait_until(lambda: web.log().total("n_documents") > 0)
        n_killed = 0
        for number in range(N_KILLS):
            time.sleep(BETWEEN_KILLS_SECS)
            if number == N_KILLS // 2:
                kill_redis(crew.folder)
            pids = worker_pids(crew)
            if len(pids) == 2:
                os.kill(random.choice(pids), signal.SIGKILL)
                n_killed += 1
        result = crew.wait()
        log = web.stop()
    assert result.code == 0, result.stderr
    assert n_killed >= 2
    assert result.stderr.count("died (-9)") == n_killed

    report = judge(tmp_path / "truth.nq", [str(result.folder / "quads")])
    assert report.micro == 1.0, report.missing
    assert report.n_surplus == 0, report.surplus

    counts = result.counts()
    assert (counts.queued, counts.leased, counts.dead) == (0, 0, 0)
    assert counts.seen == counts.done + counts.known
    assert len(set(result.ask("?a sq:crawled ?x"))) == counts.done
    assert result.latest_quads == result.quads
    logged = {
        (document.graph, target)
        for batch in LinkLog(result.folder).read()
        for document in batch.documents
        for target, _ in document.links
    }
    stated = {(g, iri) for s, _, o, g in result.quads for iri in (s, o)}
    assert logged == {(g, x) for g, x in stated if x.startswith("http") and x != g}
    assert max(host.max_in_progress for host in log.hosts) <= 2


N_HOSTS, N_DOCS = 12, 30
DOC_SECS = 0.5
NOBODY = "127.255.255.1"  # no server listens there
SILENT_SECS, DUMP_SECS = 20.0, 6.0
N_LINES = 4000
DUMP_LINE = b"<urn:x:s%d> <urn:x:p> <urn:x:o> .\n"


def silent_for(secs: float, good: bytes) -> Reply:
    """Return a reply that does not come within so long after the first request."""
    began: list[float] = []

    def reply(_request: RawRequest) -> bytes | list[Step]:
        began.append(time.monotonic())
        return good if began[-1] - began[0] > secs else [600.0]

    return reply


def slow_dump(loopback: Loopback) -> list[Step]:
    """Return a dump that takes its time."""
    lines = [DUMP_LINE % n for n in range(N_LINES)]
    head = loopback.response(b"".join(lines), "application/n-triples")
    steps: list[Step] = [head[: head.index(b"\r\n\r\n") + 4]]
    for n in range(0, N_LINES, 200):
        steps += [b"".join(lines[n : n + 200]), DUMP_SECS / (N_LINES / 200)]
    return steps


class Frontiers:
    """A primary and its replica, and the ways to them; the replica may take over."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._primary = self._start(folder / "p", stack)
        self._replication = stack.enter_context(RedisProxy(self._primary.socket))
        port = str(self._replication.port)
        self.replica = self._start(
            folder / "s", stack, "--replicaof", "127.0.0.1", port
        )
        self.way = stack.enter_context(RedisProxy(self._primary.socket))
        self._redis = Redis(unix_socket_path=str(self.replica.socket))
        stack.callback(self._redis.close)

    def is_linked(self) -> bool:
        """Return whether the replica follows."""
        return bool(self._redis.info("replication")["master_link_status"] == "up")

    def fail_over(self) -> None:
        """Kill the primary, and have the replica take over, a second behind."""
        self._replication.is_silent = True
        time.sleep(1.0)
        self._primary.end(signal.SIGKILL)
        self._replication.cut_all()
        self._redis.replicaof("NO", "ONE")
        self.way.target = self.replica.socket
        self.way.cut_all()

    @staticmethod
    def _start(place: Path, stack: ExitStack, *options: str) -> RedisServer:
        place.mkdir()
        aof = ("--appendonly", "yes", "--repl-diskless-sync-delay", "0")
        server = RedisServer(find_server(), place, (*aof, *options))
        server.start()
        stack.callback(server.end)
        return server


def kill_one(crew: RunningCrawl) -> int:
    """Kill one of two workers; return how many were."""
    pids = worker_pids(crew)
    if len(pids) < 2:
        return 0
    os.kill(random.choice(pids), signal.SIGKILL)
    return 1


@contextmanager
def no_descriptors(crew: RunningCrawl) -> Iterator[None]:
    """Let no worker open a further file within the block."""
    before = {}
    for pid in worker_pids(crew):
        before[pid] = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (12, before[pid][1]))
    yield
    for pid, limits in before.items():
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)


def cut_answers(way: RedisProxy, secs: float) -> None:
    """Have three in ten answers of Redis never arrive for a while."""
    way.cut_share = 0.3
    time.sleep(secs)
    way.cut_share = 0.0


@pytest.fixture
def frontiers(server_directory: Path) -> Iterator[Frontiers]:
    """Yield a primary and its replica."""
    with ExitStack() as stack:
        yield Frontiers(server_directory, stack)


@pytest.mark.service
@pytest.mark.in_turn(2, rooms=("frontier",))
def test_all_kinds_of_outages_lose_nothing(
    commands: Commands, loopback: Loopback, frontiers: Frontiers
) -> None:
    """If one thing after the other fails, then all reachable documents are stored.

    Answers of Redis, workers, name servers, descriptors, and Redis itself, whose
    replica is behind; and hosts that are silent at first, and a long dump. A check of
    the frontier finds nothing, neither meanwhile nor at the end.
    """
    folder = commands.folder()
    names = [f"www.site{n}.example" for n in range(N_HOSTS // 2)]
    web = TreeWeb(
        *(loopback, "127.0.93"),
        n_hosts=N_HOSTS,
        n_docs=N_DOCS,
        secs=DOC_SECS,
        names=names,
    )
    body = loopback.response(b"<> <urn:x:p> <urn:x:o> .")
    silent = [
        loopback({"*": silent_for(SILENT_SECS, body)}, host=f"127.0.94.{n}")
        for n in range(1, 6)
    ]
    dumps = loopback({"/dump.nt": slow_dump(loopback)}, host="127.0.94.9")
    seeds = [web.seed, dumps.url("/dump.nt"), *(each.url("/a") for each in silent)]
    wanted = {*web.documents, *seeds}
    hopeless = "http://none.example/"
    (folder / "seeds.txt").write_text("\n".join([hopeless, *seeds]))
    commands.wait_until(frontiers.is_linked)
    addresses = {name: [[f"127.0.93.{n}"]] for n, name in enumerate(names, start=1)}
    with scripted_names(folder, {**addresses, "none.example": ["EAI_NONAME"]}):
        crew = commands.start(
            *("workers", "-n2", "linkeddata", f"-aseeds=@{folder / 'seeds.txt'}"),
            folder=folder,
            REDIS_URL=frontiers.way.url,
            FRONTIER_LEASE_SECS=2,
            FRONTIER_COMMIT_SECS=0.3,
            VISIT_MAX_DOCUMENTS=4,
            CONCURRENT_REQUESTS=8,
            TRANSFER_FIRST_BYTE_SECS=2,
            HOST_BACKOFF_SECS=1,  # or names that lie for a second use up all tries
            HOST_PATIENCE_SECS=120,
            HOST_LAST_WAIT_SECS=120,
            FAILED_EXIT_CODE=4,
        )

        def logs() -> str:
            paths = (crew.folder / "logs").glob("*.log")
            return "".join(path.read_text() for path in paths)

        lacking = (
            "requests pause, hosts are not at fault: this machine has no descriptors"
        )
        commands.wait_until(lambda: web.asked().total() > N_HOSTS)
        n_killed = 0
        cut_answers(frontiers.way, 4.0)
        for _ in range(3):
            n_killed += kill_one(crew)
            time.sleep(2.0)
        with lying_names(folder, {key: [NOBODY] for key in names}):
            time.sleep(1.0)
        with names_outage(folder):
            # A worker that knows no name yet waits for each host instead of pausing.
            time.sleep(4.0)
        with no_descriptors(crew):
            commands.wait_until(lambda: lacking in logs(), secs=60)
            time.sleep(2.0)
        assert len(web.asked()) < len(web.documents)
        frontiers.fail_over()
        time.sleep(2.0)
        n_killed += kill_one(crew)
        cut_answers(frontiers.way, 3.0)
        assert_sound(folder, frontiers.replica.url)
        result = crew.wait()
    assert_sound(folder, frontiers.replica.url)
    counts = asyncio.run(count_in_redis(frontiers.replica.url, "linkeddata"))
    assert result.code == 4, result.stderr  # the worker that gave it up, and died since
    assert Reason.DNS in result.faults(hopeless)
    assert n_killed >= 2
    assert result.stderr.count("died (-9)") == n_killed
    assert frontiers.way.n_cut > 10
    assert "another one took over" in logs()
    assert result.graphs == wanted
    assert len(result.about(dumps.url("/dump.nt"))) == N_LINES
    assert (counts.queued, counts.leased, counts.dead) == (0, 0, 0)
    assert counts.done == counts.seen == len({*wanted, hopeless})
