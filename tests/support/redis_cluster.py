"""A Redis Cluster of the tests' own, on loopback."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from redis import Redis
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.exceptions import RedisError, ResponseError

from rdfcrawl.frontier.redis.embedded import find_server
from tests.support.processes import end_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tests.support.namespaces import Machine

N_PRIMARIES = 3
NODE_TIMEOUT_SECS = 2.0
_START_SECS = 60.0
# Below those that the system gives out itself, from 32,768.
_PORTS = range(12_000, 22_000)
_BUS = 10_000  # the port of the bus is so much higher


@dataclass(slots=True)
class ClusterNode:
    """One server of a cluster.

    Attributes:
        program, directory, port: its executable, working directory and port.
        options: of its command line, beyond those of a cluster.
        tls_port: where it listens for TLS as well; 0 for nowhere.
        machine: where it runs, if not here.
    """

    program: str
    directory: Path
    port: int
    options: tuple[str, ...] = ()
    tls_port: int = 0
    machine: Machine | None = None
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def pid(self) -> int:
        """The process, which must be running."""
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it was started, and not ended here."""
        return self._process is not None

    @property
    def host(self) -> str:
        """Where it is reached."""
        return self.machine.address if self.machine else "127.0.0.1"

    def start(self) -> None:
        """Start it as a node of a cluster; does not wait."""
        words = ["--bind", self.host, "--cluster-announce-ip", self.host]
        words += ["--protected-mode", "no"]
        words += ["--cluster-enabled", "yes", "--save", "", "--appendonly", "yes"]
        words += ["--cluster-node-timeout", str(int(NODE_TIMEOUT_SECS * 1000))]
        words += ["--cluster-require-full-coverage", "no"]
        words += ["--repl-diskless-sync-delay", "0", "--daemonize", "no"]
        # A replica is known to the others once it was sent anything.
        words += ["--repl-ping-replica-period", "1"]
        words += ["--tls-port", str(self.tls_port)] if self.tls_port else []
        self.run(*words, *self.options)

    def run(self, *words: str) -> None:
        """Start it with these words; does not wait."""
        prefix = self.machine.prefix if self.machine else ()
        self._process = subprocess.Popen(
            [*prefix, self.program, *words, "--port", str(self.port)],
            cwd=self.directory,
            stdout=subprocess.DEVNULL,
            preexec_fn=end_with_parent,  # noqa: PLW1509  # no other thread forks
        )

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal that ends it, and wait until it has ended."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(_START_SECS)
            self._process = None

    def client(self) -> Any:
        """Return a client of this node alone, with text answers."""
        return Redis(host=self.host, port=self.port, decode_responses=True)


class RedisCluster:
    """Primaries, and a replica of each; `nodes` are in this order."""

    def __init__(
        self,
        folder: Path,
        *,
        with_replicas: bool,
        program: str,
        tls: Sequence[str] = (),
        machines: Sequence[Machine] = (),
    ) -> None:
        n_nodes = N_PRIMARIES * (1 + with_replicas)
        ports = free_ports(2 * n_nodes if tls else n_nodes)
        self.nodes = []
        for number, port in enumerate(ports[:n_nodes]):
            place = folder / f"n{number}"
            place.mkdir()
            tls_port = ports[n_nodes + number] if tls else 0
            machine = machines[number] if machines else None
            node = ClusterNode(program, place, port, tuple(tls), tls_port, machine)
            self.nodes.append(node)

    @property
    def tls_url(self) -> str:
        """The value of `REDIS_URL` for TLS."""
        hosts = ",".join(f"127.0.0.1:{x.tls_port}" for x in self.nodes[:N_PRIMARIES])
        return f"rediss+cluster://{hosts}"

    @property
    def url(self) -> str:
        """The value of `REDIS_URL`."""
        hosts = ",".join(f"{x.host}:{x.port}" for x in self.nodes[:N_PRIMARIES])
        return f"redis+cluster://{hosts}"

    @property
    def pids(self) -> list[int]:
        """The processes that run."""
        return [node.pid for node in self.nodes if node.is_running]

    def start(self) -> None:
        """Start all, and wait until each primary has its slots and its replica.

        The files hold the state that they would learn from each other within ten
        seconds.
        """
        for number, node in enumerate(self.nodes):
            lines = [self._line(other, is_own=other == number) for other in self._all()]
            lines.append(f"vars currentEpoch {len(self.nodes)} lastVoteEpoch 0\n")
            (node.directory / "nodes.conf").write_text("".join(lines))
            node.start()
        with ExitStack() as stack:
            clients = [stack.enter_context(closing(x.client())) for x in self.nodes]
            for client in clients:
                wait_until(partial(answers, client))
            for client in clients[N_PRIMARIES:]:
                wait_until(partial(is_linked, client))
            n_replicas = len(clients) - N_PRIMARIES
            for client in clients:
                wait_until(partial(_is_ok, client, n_replicas))

    def _all(self) -> range:
        return range(len(self.nodes))

    def _line(self, number: int, *, is_own: bool) -> str:
        node, role = self.nodes[number], "master"
        port = node.tls_port or node.port  # where the other nodes are redirected to
        place = f"{node.host}:{port}@{port + _BUS}"
        primary, slots = "-", ""
        if number < N_PRIMARIES:
            slots = f" {_bound(number)}-{_bound(number + 1) - 1}"
        else:
            role, primary = "slave", _id(number - N_PRIMARIES)
        return (
            f"{_id(number)} {place} {'myself,' * is_own}{role} "
            f"{primary} 0 0 {number + 1} connected{slots}\n"
        )

    def end(self) -> None:
        """End all."""
        for node in self.nodes:
            node.end(signal.SIGKILL)

    def node_of(self, key: str) -> ClusterNode:
        """Return the primary that has a key, as a running node knows."""
        slot = key_slot(key.encode())
        for node in self.nodes:
            if not node.is_running:
                continue
            with closing(node.client()) as client:
                for first, last, owner, *_ in client.execute_command("CLUSTER SLOTS"):
                    if first <= slot <= last:
                        return next(x for x in self.nodes if x.port == owner[1])
        raise AssertionError(f"no node has slot {slot}")

    def primaries(self) -> list[ClusterNode]:
        """Return the running nodes that take writes."""
        found = []
        for node in self.nodes:
            if node.is_running:
                with closing(node.client()) as client:
                    if client.info("replication")["role"] == "master":
                        found.append(node)
        return found

    @contextmanager
    def moving(
        self, slot: int, source: ClusterNode, target: ClusterNode
    ) -> Iterator[Callable[[int], object]]:
        """Yield a function that moves a number of keys of a slot; then move all others.

        As `redis-cli --cluster reshard` does.
        """
        with closing(source.client()) as old, closing(target.client()) as new:
            ids = node_id(old), node_id(new)

            def move(most: int) -> bool:
                keys = old.execute_command("CLUSTER GETKEYSINSLOT", slot, most)
                place = target.host, target.port
                if keys:
                    old.execute_command("MIGRATE", *place, "", 0, 5000, "KEYS", *keys)
                return bool(keys)

            new.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", ids[0])
            old.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", ids[1])
            yield move
            while move(10):
                pass
            new.execute_command("CLUSTER SETSLOT", slot, "NODE", ids[1])
            with suppress(ResponseError):  # without slots, it is a replica immediately
                old.execute_command("CLUSTER SETSLOT", slot, "NODE", ids[1])

    def move_slot(self, slot: int, source: ClusterNode, target: ClusterNode) -> None:
        """Move a slot with all of its keys."""
        with self.moving(slot, source, target):
            pass

    def move_all(self, source: ClusterNode, target: ClusterNode) -> None:
        """Move all slots of a primary."""
        with closing(source.client()) as old, closing(target.client()) as new:
            own = node_id(old)
            slots = [
                slot
                for first, last, owner, *_ in old.execute_command("CLUSTER SLOTS")
                for slot in range(first, last + 1)
                if owner[2] == own
            ]
            counting = old.pipeline(transaction=False)
            for slot in slots:
                counting.execute_command("CLUSTER COUNTKEYSINSLOT", slot)
            sizes = dict(zip(slots, counting.execute(), strict=True))
            for client in (new, old):
                naming = client.pipeline(transaction=False)
                for slot in slots:
                    if not sizes[slot]:
                        words = "CLUSTER SETSLOT", slot, "NODE", node_id(new)
                        naming.execute_command(*words)
                naming.execute()
        for slot in slots:
            if sizes[slot]:
                self.move_slot(slot, source, target)


@contextmanager
def running_cluster(
    folder: Path,
    *,
    with_replicas: bool = True,
    program: str | None = None,
    tls: Sequence[str] = (),
    machines: Sequence[Machine] = (),
) -> Iterator[RedisCluster]:
    """Run a cluster for a while; with `tls`, its options, it listens for TLS too.

    Each node has a separate machine, if there are any.
    """
    cluster = RedisCluster(
        folder,
        with_replicas=with_replicas,
        program=program or find_server(),
        tls=tls,
        machines=machines,
    )
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.end()


def is_linked(client: Any) -> bool:
    """Return whether a server is a replica that follows its primary."""
    return bool(client.info("replication").get("master_link_status") == "up")


def node_id(client: Any) -> str:
    """Return the name of a node within its cluster."""
    return str(client.execute_command("CLUSTER MYID"))


def answers(client: Any) -> bool:
    """Return whether a server answers."""
    try:
        return bool(client.ping())
    except RedisError:
        return False


def _is_ok(client: Any, n_replicas: int) -> bool:
    info = client.execute_command("CLUSTER INFO")
    rows = client.execute_command("CLUSTER SLOTS")
    n_known = sum(len(row) - 3 for row in rows)
    return (
        info["cluster_state"] == "ok"
        and len(rows) == N_PRIMARIES
        and n_known == n_replicas
    )


def _bound(number: int) -> int:
    return number * REDIS_CLUSTER_HASH_SLOTS // N_PRIMARIES


def _id(number: int) -> str:
    return f"{number:040x}"


def wait_until(holds: Callable[[], object], secs: float = _START_SECS) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + secs
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def free_ports(n: int) -> Sequence[int]:
    """Return free ports; those 10,000 higher, of the bus, are free as well."""
    found: list[int] = []
    with ExitStack() as stack:
        for port in random.sample(_PORTS, len(_PORTS)):
            if len(found) == n:
                break
            try:
                for number in (port, port + _BUS):
                    taken = stack.enter_context(socket.socket())
                    taken.bind(("127.0.0.1", number))
            except OSError:
                continue
            found.append(port)
    return found
