"""A crawl that is copied while workers run, as the guide says, and restored."""

from __future__ import annotations

import shutil
import signal
import subprocess
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from redis import Redis

from rdfcrawl.frontier.redis.embedded import find_server
from tests.support.crawl_webs import TreeWeb
from tests.support.operated_crawls import operate
from tests.support.redis_cluster import (
    ClusterNode,
    answers,
    free_ports,
    running_cluster,
    wait_until,
)
from tests.support.redis_fixtures import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

pytestmark = pytest.mark.service


def test_crawl_is_restored_from_copies_made_while_it_ran(
    commands: Commands,
    loopback: Loopback,
    lasting_server: RedisServer,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """If Redis is copied first and the files then, then the restored crawl has all."""
    redis_cli = shutil.which("redis-cli") or pytest.skip("no redis-cli here")
    web = TreeWeb(loopback, "127.94.7", n_hosts=2, n_docs=40, secs=0.03)
    folder, backup = commands.folder(), tmp_path / "backup"
    named: dict[str, Any] = {"CRAWL_ID": "web", "FRONTIER_COMMIT_SECS": 0.1}
    named |= {"FRONTIER_LEASE_SECS": 2, "VISIT_MAX_DOCUMENTS": 4}
    running = commands.start_crawl(
        [web.seed], folder=folder, REDIS_URL=lasting_server.url, **named
    )
    commands.wait_until(lambda: web.asked().total() > 30)
    with Redis(unix_socket_path=str(lasting_server.socket)) as client:
        rights = "-@all +sync +psync +replconf +ping"
        client.execute_command("ACL SETUSER backup on >secret", *rights.split())
    words = ["-s", str(lasting_server.socket), "--user", "backup", "--pass", "secret"]
    words += ["--no-auth-warning", "--rdb", str(tmp_path / "frontier.rdb")]
    subprocess.run([redis_cli, *words], check=True, capture_output=True, timeout=60)
    commands.wait_until(lambda: web.asked().total() > 40)
    shutil.copytree(folder / "web", backup / "web")
    running.send(signal.SIGKILL)
    running.wait()
    n_before = web.asked().total()

    other = tmp_path_factory.mktemp("r", numbered=True)
    shutil.copy(tmp_path / "frontier.rdb", other / "dump.rdb")
    restored = RedisServer(find_server(), other, ("--appendonly", "no"))
    restored.start()
    try:
        with Redis(unix_socket_path=str(restored.socket)) as client:
            client.config_set("appendonly", "yes")
        where = {"REDIS_URL": restored.url, "CRAWL_ID": "web"}
        checked = operate(backup, "check", "--repair", **where)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        result = commands.crawl(
            folder=backup, REDIS_URL=restored.url, SCHEDULER_PERSIST=True, **named
        )
        assert result.code == 0, result.stderr
        assert result.graphs == web.documents
        again = web.asked().total() - n_before
        assert again < len(web.documents), "finished URLs were not requested again"
        assert operate(backup, "check", **where).returncode == 0
    finally:
        restored.end()


def copy_primary(redis_cli: str, node: ClusterNode, path: Path) -> None:
    """Copy a primary as the guide says."""
    words = [redis_cli, "-p", str(node.port), "--rdb", str(path)]
    subprocess.run(words, check=True, capture_output=True, timeout=60)


@contextmanager
def restored_cluster(
    redis_cli: str, folder: Path, snapshots: Sequence[Path]
) -> Iterator[str]:
    """Yield the URL of a new cluster of the snapshots, made as the guide says."""
    nodes = []
    for number, (port, path) in enumerate(
        zip(free_ports(len(snapshots)), snapshots, strict=True)
    ):
        (place := folder / f"n{number}").mkdir()
        shutil.copy(path, place / "dump.rdb")
        options = ("--appendonly", "no")
        nodes.append(ClusterNode(find_server(), place, port, options))
    try:
        for node in nodes:
            node.start()
        with ExitStack() as stack:
            clients = [stack.enter_context(closing(x.client())) for x in nodes]
            for client in clients:
                wait_until(partial(answers, client))
                client.config_set("appendonly", "yes")
            for node in nodes[1:]:
                clients[0].execute_command("CLUSTER MEET", node.host, node.port)
            for client in clients:
                wait_until(partial(knows, client, len(nodes)))
        at = f"{nodes[0].host}:{nodes[0].port}"
        words = [redis_cli, "--cluster", "fix", at]
        done = subprocess.run(
            words, input=b"yes\n" * 9, capture_output=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout[-2000:]
        for node in nodes:
            wait_until(partial(is_whole, node))
        hosts = ",".join(f"{x.host}:{x.port}" for x in nodes)
        yield f"redis+cluster://{hosts}"
    finally:
        for node in nodes:
            node.end(signal.SIGKILL)


def is_whole(node: ClusterNode) -> bool:
    """Return whether a node knows of an owner of each slot."""
    with closing(node.client()) as client:
        info = client.execute_command("CLUSTER INFO")
    return bool(info["cluster_slots_ok"] == "16384")


def knows(client: Any, n_nodes: int) -> bool:
    """Return whether a node knows this number of others."""
    return int(client.execute_command("CLUSTER INFO")["cluster_known_nodes"]) == n_nodes


@pytest.mark.in_turn(3)
def test_cluster_is_restored_without_its_own_configuration(
    commands: Commands, loopback: Loopback, server_directory: Path, tmp_path: Path
) -> None:
    """If only snapshots of a cluster are left, then a new cluster of these has all."""
    redis_cli = shutil.which("redis-cli") or pytest.skip("no redis-cli here")
    web = TreeWeb(loopback, "127.94.8", n_hosts=4, n_docs=30, secs=0.03)
    folder, backup = commands.folder(), tmp_path / "backup"
    named: dict[str, Any] = {"CRAWL_ID": "web", "FRONTIER_COMMIT_SECS": 0.1}
    named |= {"FRONTIER_LEASE_SECS": 10, "VISIT_MAX_DOCUMENTS": 4}
    named["FRONTIER_ACK_LAG_SECS"] = 1
    with running_cluster(server_directory, with_replicas=False) as cluster:
        running = commands.start_crawl(
            [web.seed], folder=folder, REDIS_URL=cluster.url, **named
        )
        commands.wait_until(lambda: web.asked().total() > 40)
        snapshots = [tmp_path / f"{node.port}.rdb" for node in cluster.nodes]
        for node, path in zip(cluster.nodes, snapshots, strict=True):
            copy_primary(redis_cli, node, path)
        shutil.copytree(folder / "web", backup / "web")
        running.send(signal.SIGKILL)
        running.wait()
    (new := server_directory / "new").mkdir()
    with restored_cluster(redis_cli, new, snapshots) as url:
        where = {"REDIS_URL": url, "CRAWL_ID": "web"}
        checked = operate(backup, "check", "--repair", **where)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        # Links on their way from one primary to another may be in no snapshot.
        result = commands.crawl(
            sorted(web.documents),
            folder=backup,
            REDIS_URL=url,
            SCHEDULER_PERSIST=True,
            **named,
        )
        assert result.code == 0, result.stderr
        assert result.graphs == web.documents
        assert operate(backup, "check", **where).returncode == 0
