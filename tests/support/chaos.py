"""A crawl that faults of all kinds befall at random, in an order that a seed gives."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from redis import Redis
from redis.exceptions import RedisError, ResponseError

from rdfcrawl.uri.guard.policy import MAX_PORT
from tests.conftest import LOOPBACK_NETS
from tests.support.bad_urls import PASSING_WAYS, bad_robots, misbehaving
from tests.support.crawl_fixtures import CrawlResult, count_in_redis
from tests.support.crawl_names import lying_names, names_outage
from tests.support.operated_crawls import assert_sound
from tests.support.processes import descendants, is_running

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rdfcrawl.dataweb.process import ServedWeb
    from rdfcrawl.frontier.queue.frontier_client import StateCounts
    from tests.support.crawl_webs import TreeWeb
    from tests.support.redis_fixtures import RedisServer
    from tests.support.redis_proxy import RedisProxy
    from tests.support.small_disk import SmallDisk

CRAWL_ID = "linkeddata"
LEASE_SECS = 3.0
_NOBODY = "127.255.255.1"  # no server listens there
_FORBIDDEN = "169.254.169.254"  # the guard lets no request through
_LIES = (_NOBODY, _FORBIDDEN, "EAI_NONAME", "EAI_AGAIN")
_JUMPS = (-3600, -100, -5, 5, 100, 3600)
_LOST_SECS = 0.8  # of the append-only file: a machine that fails loses up to a second
_REWRITE_SECS = 5.0  # in which workers request it
_STALLED_SECS = 180.0
_REFUSED = (
    2  # exit code of a command that Redis refuses, as of one with a wrong argument
)
_MOST_REFUSED = 100
_SETTINGS: Final[dict[str, Any]] = {
    "DOWNLOAD_DELAY": 0.25,
    "FRONTIER_LEASE_SECS": LEASE_SECS,
    "FRONTIER_COMMIT_SECS": 0.3,
    "VISIT_MAX_DOCUMENTS": 4,
    "CONCURRENT_REQUESTS": 8,
    "TRANSFER_FIRST_BYTE_SECS": 2,
    "HOST_BACKOFF_SECS": 0.2,
    "HOST_PATIENCE_SECS": 600,
    "HOST_LAST_WAIT_SECS": 600,
    "DISK_MIN_FREE_BYTES": 4 << 20,
    "DESCRIBE": "off",
    "MEMUSAGE_ENABLED": False,
    "GUARD_ALLOW_NETS": LOOPBACK_NETS,
    "GUARD_PORTS": f"1-{MAX_PORT}",
    "GUARD_MAX_PORTS": MAX_PORT,
    "CONTACT_REQUIRED": False,
    "TDM_POLICY": "ignore",
}


class Crew:
    """The workers of a crawl, which may be started again after they were killed."""

    def __init__(
        self,
        folder: Path,
        words: Sequence[str],
        environment: dict[str, str],
        said: Path,
    ) -> None:
        self.folder = folder
        self._line = [sys.executable, "-m", "scrapy", "workers", *words]
        self._line += [f"-s{k}={v}" for k, v in _SETTINGS.items()]
        self._environment = os.environ | environment
        self._said = said
        self._process: subprocess.Popen[bytes] | None = None
        self._n_said = self._n_refused = 0  # characters before this start; starts

    @property
    def stderr(self) -> str:
        """Their output so far."""
        return self._said.read_text(errors="replace")

    def start(self) -> None:
        """Start them."""
        self._n_said = len(self.stderr) if self._said.exists() else 0
        with self._said.open("ab") as said:
            self._process = subprocess.Popen(
                self._line, stdout=said, stderr=said, env=self._environment
            )

    def has_ended(self) -> bool:
        """Return whether their command has ended.

        If Redis was away or full when it began, it begins again, as a service does.
        """
        if self._process is None or self._process.poll() is None:
            return self._process is None
        last = self.stderr[self._n_said :].rstrip().rpartition("\n")[2]
        is_refused = last.startswith("scrapy: REDIS_URL: ")
        if self._process.returncode != _REFUSED or not is_refused:
            return True
        self._n_refused += 1
        assert self._n_refused <= _MOST_REFUSED, self.stderr[-5000:]
        self.start()
        return False

    def workers(self) -> list[int]:
        """Return their processes: grandchildren of the command, which forks them."""
        if self._process is None:
            return []
        own = self._process.pid
        return [
            pid
            for pid in descendants(own)
            if _grandparent(pid) == own and is_running(pid)
        ]

    def kill(self) -> None:
        """Kill all of its processes, as a machine that fails does."""
        if self._process is None:
            return
        pids = [self._process.pid, *descendants(self._process.pid)]
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        while any(map(is_running, pids)):
            time.sleep(0.01)

    def code(self, secs: float) -> int:
        """Wait for the end; return the exit code."""
        assert self._process is not None
        return self._process.wait(secs)


def _parent(pid: int) -> int:
    with suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123
        return int(file.read().rpartition(")")[2].split()[1])
    return -1


def _grandparent(pid: int) -> int:
    return _parent(_parent(pid))


@dataclass(frozen=True)
class ChaosCrawl:
    """A crawl, and all that it stands on.

    Attributes:
        crew: its workers.
        server: its Redis, which keeps an append-only file.
        way: from the workers to it.
        web: the data web, in a separate process.
        tree: a second web, whose hosts have names.
        names: of its hosts.
        folder: of the script of names.
        clocks: files that shift the clocks of the workers, and of Redis.
        disk: of crawl and Redis; None where none is available.
    """

    crew: Crew
    server: RedisServer
    way: RedisProxy
    web: ServedWeb
    tree: TreeWeb
    names: Sequence[str]
    folder: Path
    clocks: Sequence[Path]
    disk: SmallDisk | None

    def counts(self) -> StateCounts:
        """Return the counters of the frontier."""
        return asyncio.run(count_in_redis(self.server.url, CRAWL_ID))

    def result(self) -> CrawlResult:
        """Return the files it left behind."""
        return CrawlResult(0, self.crew.stderr, self.crew.folder / CRAWL_ID, 0.0, 0)

    def goes_on(self, n_more: int = 10) -> None:
        """Wait until it has gone on for a while, or has ended."""
        deadline = time.monotonic() + _STALLED_SECS
        wanted = self.counts().done + n_more
        while not self.crew.has_ended() and self.counts().done < wanted:
            left = f"stalled: {self.counts()}\n{self.crew.stderr[-3000:]}"
            assert time.monotonic() < deadline, left
            time.sleep(0.3)

    def check(self) -> None:
        """Have `scrapy frontier check` find nothing."""
        assert_sound(self.crew.folder, self.server.url, CRAWL_ID)


# -- faults ------------------------------------------------------------------------


Fault = Callable[[ChaosCrawl, random.Random], AbstractContextManager[None]]


@contextmanager
def _kill_one(crawl: ChaosCrawl, rng: random.Random) -> Iterator[None]:
    if pids := crawl.crew.workers():
        with suppress(ProcessLookupError):
            os.kill(rng.choice(pids), signal.SIGKILL)
    yield


@contextmanager
def _kill_machine(crawl: ChaosCrawl, _: random.Random) -> Iterator[None]:
    if not crawl.crew.has_ended():
        crawl.crew.kill()
        crawl.crew.start()
    yield


@contextmanager
def _stop_one(crawl: ChaosCrawl, rng: random.Random) -> Iterator[None]:
    pids = crawl.crew.workers()
    pid = rng.choice(pids) if pids else 0
    secs = rng.uniform(1.3, 2.5) * LEASE_SECS
    if not pid:
        yield
        return
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    try:
        yield
        time.sleep(max(0.0, secs - (time.monotonic() - began)))
    finally:
        if _grandparent(pid) > 1:  # it is the one that was stopped
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@contextmanager
def _restart_redis(crawl: ChaosCrawl, rng: random.Random) -> Iterator[None]:
    crawl.server.end(rng.choice((signal.SIGKILL, signal.SIGTERM)))
    time.sleep(rng.uniform(0, 2))
    crawl.server.start()
    yield


@contextmanager
def _cut_file(crawl: ChaosCrawl, rng: random.Random) -> Iterator[None]:
    """Cut the end of the append-only file: up to one second of writes."""
    _write_anew(crawl.server)  # else the end may be in another file by then
    path = _append_only_file(crawl.server)
    before = path.stat().st_size
    time.sleep(_LOST_SECS)
    crawl.server.end(signal.SIGKILL)
    os.truncate(path, rng.randint(before, path.stat().st_size))
    crawl.server.start()
    _write_anew(crawl.server)
    yield


def _write_anew(server: RedisServer) -> None:
    """Wait until the file is rewritten; request that if workers are cut off."""
    deadline = time.monotonic() + _REWRITE_SECS
    with Redis(unix_socket_path=str(server.socket)) as redis:
        while (facts := redis.info("persistence"))["aof_last_rewrite_time_sec"] < 0 or (
            facts["aof_rewrite_in_progress"]
        ):
            if time.monotonic() > deadline:
                with suppress(ResponseError):
                    redis.bgrewriteaof()
            time.sleep(0.2)


def _append_only_file(server: RedisServer) -> Path:
    with Redis(unix_socket_path=str(server.socket)) as redis:
        (place,) = redis.config_get("dir").values()
    found = Path(place).rglob("*.aof")
    return max(
        (path for path in found if ".base." not in path.name),
        key=lambda path: path.stat().st_mtime,
    )


@contextmanager
def _fill_disk(crawl: ChaosCrawl, rng: random.Random) -> Iterator[None]:
    assert crawl.disk is not None
    crawl.disk.fill(rng.choice((0, 64 << 10, 2 << 20)))
    try:
        yield
    finally:
        crawl.disk.empty()
    with (
        Redis(unix_socket_path=str(crawl.server.socket)) as redis,
        suppress(RedisError),
    ):
        redis.bgrewriteaof()  # as the guide says, if workers have not seen that
    _write_anew(crawl.server)


@contextmanager
def _fill_memory(crawl: ChaosCrawl, _: random.Random) -> Iterator[None]:
    with Redis(unix_socket_path=str(crawl.server.socket)) as redis:
        redis.config_set("maxmemory", 1)
    yield
    with Redis(unix_socket_path=str(crawl.server.socket)) as redis:
        redis.config_set("maxmemory", 0)


@contextmanager
def _slow_redis(crawl: ChaosCrawl, rng: random.Random) -> Iterator[None]:
    crawl.way.delay_secs = rng.uniform(0.1, 1.0)
    yield
    crawl.way.delay_secs = 0.0


@contextmanager
def _half_open_redis(crawl: ChaosCrawl, rng: random.Random) -> Iterator[None]:
    crawl.way.is_stalled = True
    yield
    if rng.random() < 0.5:
        crawl.way.cut_all()
    crawl.way.is_stalled = False


@contextmanager
def _lost_answers(crawl: ChaosCrawl, rng: random.Random) -> Iterator[None]:
    crawl.way.cut_share = rng.uniform(0.05, 0.4)
    yield
    crawl.way.cut_share = 0.0


@contextmanager
def _half_open_web(crawl: ChaosCrawl, _: random.Random) -> Iterator[None]:
    """Have all hosts of the data web accept connections, and say nothing."""
    os.kill(crawl.web.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(crawl.web.pid, signal.SIGCONT)


@contextmanager
def _slow_web(crawl: ChaosCrawl, rng: random.Random) -> Iterator[None]:
    for _ in range(rng.randint(3, 6)):
        with _half_open_web(crawl, rng):
            time.sleep(rng.uniform(0.3, 1.0))
        time.sleep(0.1)
    yield


@contextmanager
def _bad_urls(crawl: ChaosCrawl, rng: random.Random) -> Iterator[None]:
    """Have a few URLs of each host misbehave, each in a different way."""
    with misbehaving(crawl.tree.servers, rng, share=rng.uniform(0.03, 0.4)):
        yield


@contextmanager
def _bad_host(crawl: ChaosCrawl, rng: random.Random) -> Iterator[None]:
    """Have all URLs of a host misbehave in one way, and its robots.txt, too."""
    server, way = rng.choice(crawl.tree.servers), rng.choice(PASSING_WAYS)
    with misbehaving([server], rng, share=1.0, ways=[way]), bad_robots(server, way):
        yield


@contextmanager
def _no_names(crawl: ChaosCrawl, _: random.Random) -> Iterator[None]:
    with names_outage(crawl.folder):
        yield


@contextmanager
def _lying_names(crawl: ChaosCrawl, rng: random.Random) -> Iterator[None]:
    lies: dict[str, Any] = {}
    for name in crawl.names:
        lie = rng.choice(_LIES)
        lies[name] = lie if lie.startswith("EAI") else [lie]
    with lying_names(crawl.folder, lies):
        yield


@contextmanager
def _clock_jump(crawl: ChaosCrawl, rng: random.Random) -> Iterator[None]:
    clock = rng.choice(crawl.clocks)
    _set_clock(clock, rng.choice(_JUMPS))
    yield
    _set_clock(clock, 0)


def _set_clock(path: Path, secs: int) -> None:
    whole = path.with_suffix(".whole")  # no clock reads half of it
    whole.write_text(str(secs))
    whole.replace(path)


FAULTS: Final[dict[str, Fault]] = {
    "kill -9": _kill_one,
    "machine": _kill_machine,
    "SIGSTOP": _stop_one,
    "redis restart": _restart_redis,
    "AOF cut": _cut_file,
    "full disk": _fill_disk,
    "maxmemory": _fill_memory,
    "slow redis": _slow_redis,
    "half-open redis": _half_open_redis,
    "lost answers": _lost_answers,
    "half-open web": _half_open_web,
    "slow web": _slow_web,
    "bad URLs": _bad_urls,
    "bad host": _bad_host,
    "no names": _no_names,
    "lying names": _lying_names,
    "clock": _clock_jump,
}
# Redis does not start on a full disk, and prints that to stderr.
_NOT_WITH_FULL_DISK: Final = frozenset({"redis restart", "AOF cut"})


def faults_of(rng: random.Random, *, has_disk: bool) -> list[str]:
    """Return which faults a round has, in order."""
    kinds = [kind for kind in FAULTS if has_disk or kind != "full disk"]
    chosen = rng.sample(kinds, k=rng.choice((1, 1, 2, 3)))
    if "full disk" in chosen:
        chosen = [kind for kind in chosen if kind not in _NOT_WITH_FULL_DISK]
    return chosen


def befall(crawl: ChaosCrawl, kinds: Sequence[str], rng: random.Random) -> None:
    """Have faults befall a crawl: one begins after the other, and all end together."""
    with ExitStack() as stack:
        for kind in kinds:
            stack.enter_context(FAULTS[kind](crawl, rng))
            time.sleep(rng.uniform(0, 1.5))
        time.sleep(rng.uniform(1.0, 5.0))
