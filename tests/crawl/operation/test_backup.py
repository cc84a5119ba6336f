"""A crawl that is copied while workers run, as the guide says, and restored."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from redis import Redis

from rdfcrawl.frontier.redis_program import find_server
from tests.support.crawl_webs import TreeWeb
from tests.support.operated_crawls import operate
from tests.support.redis_fixtures import RedisServer

if TYPE_CHECKING:
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
        assert again < len(web.documents), "what was done before was not asked for"
        assert operate(backup, "check", **where).returncode == 0
    finally:
        restored.end()
