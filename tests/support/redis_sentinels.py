"""A primary, its replica and three Sentinels of the tests' own, on loopback."""

from __future__ import annotations

import signal
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from rdfcrawl.frontier.redis.embedded import find_server
from tests.support.redis_cluster import (
    ClusterNode,
    answers,
    free_ports,
    is_linked,
    wait_until,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

SERVICE = "frontier"
DOWN_AFTER_SECS = 1.0
_N_SENTINELS = 3
_ASIDE = ("--bind", "127.0.0.1", "--save", "", "--daemonize", "no")
_LASTING = ("--appendonly", "yes", "--repl-diskless-sync-delay", "0")


class WatchedRedis:
    """A primary and its replica, watched by Sentinels."""

    def __init__(self, folder: Path, *, program: str, tls: Sequence[str]) -> None:
        n = 2 + _N_SENTINELS
        ports = free_ports(2 * n if tls else n)
        tls_ports = ports[n:] or [0] * n
        self._tls = ("--tls-replication", "yes", *tls) if tls else ()
        self.primary, self.replica, *self.sentinels = (
            ClusterNode(program, folder / str(port), port, tls_port=tls_port)
            for port, tls_port in zip(ports[:n], tls_ports, strict=True)
        )
        for node in (self.primary, self.replica, *self.sentinels):
            node.directory.mkdir()

    @property
    def url(self) -> str:
        """The value of `REDIS_URL`."""
        ports = [each.tls_port or each.port for each in self.sentinels]
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        return f"redis{'s' * bool(self._tls)}+sentinel://{hosts}/{SERVICE}"

    def start(self) -> None:
        """Start all, and wait until each Sentinel knows the replica and the others."""
        self._run(self.primary, *_ASIDE, *_LASTING)
        origin = "127.0.0.1", str(self._port(self.primary))
        self._run(self.replica, *_ASIDE, *_LASTING, "--replicaof", *origin)
        for node in (self.primary, self.replica):
            with closing(node.client()) as client:
                wait_until(partial(answers, client))
        with closing(self.replica.client()) as client:
            wait_until(partial(is_linked, client))
        for sentinel in self.sentinels:
            self._start_sentinel(sentinel)
        for sentinel in self.sentinels:
            with closing(sentinel.client()) as client:
                wait_until(partial(answers, client))
                wait_until(partial(_knows_all, client))

    def fail_over(self) -> None:
        """Kill the primary, and wait until the replica has taken over."""
        self.primary.end(signal.SIGKILL)
        with closing(self.replica.client()) as client:
            wait_until(lambda: client.info("replication")["role"] == "master")

    def come_back(self) -> None:
        """Start the killed primary, which becomes the replica, and wait for that."""
        self.primary, self.replica = self.replica, self.primary
        self._run(self.replica, *_ASIDE, *_LASTING)
        with closing(self.replica.client()) as client:
            wait_until(partial(answers, client))
            wait_until(partial(is_linked, client))

    def end(self) -> None:
        """End all."""
        for node in (*self.sentinels, self.replica, self.primary):
            node.end(signal.SIGKILL)

    def _start_sentinel(self, sentinel: ClusterNode) -> None:
        lines = [
            f"sentinel monitor {SERVICE} 127.0.0.1 {self._port(self.primary)} 2",
            f"sentinel down-after-milliseconds {SERVICE} {int(DOWN_AFTER_SECS * 1000)}",
            f"sentinel failover-timeout {SERVICE} 5000",
        ]
        config = sentinel.directory / "sentinel.conf"
        config.write_text("\n".join(lines))
        self._run(sentinel, str(config), "--sentinel", "--bind", "127.0.0.1")

    def _run(self, node: ClusterNode, *words: str) -> None:
        own = ("--tls-port", str(node.tls_port)) if node.tls_port else ()
        node.run(*words, *own, *self._tls)

    @staticmethod
    def _port(node: ClusterNode) -> int:
        return node.tls_port or node.port


@contextmanager
def running_sentinels(
    folder: Path, *, program: str | None = None, tls: Sequence[str] = ()
) -> Iterator[WatchedRedis]:
    """Run them for a while; with `tls`, its options, they listen for TLS too."""
    watched = WatchedRedis(folder, program=program or find_server(), tls=tls)
    try:
        watched.start()
        yield watched
    finally:
        watched.end()


def _knows_all(client: Any) -> bool:
    (row,) = client.sentinel_masters().values()
    return bool(
        row["num-slaves"] == 1 and row["num-other-sentinels"] == _N_SENTINELS - 1
    )
