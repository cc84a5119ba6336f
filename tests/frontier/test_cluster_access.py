"""Who may use the Redis of a frontier: users, passwords, rights, certificates."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.connection import FrontierConnection
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.monitor.metrics.exporter import MetricsExporter
from tests.support.crawl_webs import TreeWeb
from tests.support.ftp_servers import write_certificate
from tests.support.redis_cluster import running_cluster
from tests.support.redis_fixtures import server_programs
from tests.support.redis_sentinels import running_sentinels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback
    from tests.support.redis_cluster import RedisCluster

GUIDE = Path(__file__).parents[2] / "docs/how-to/several-machines.md"
EXAMPLE = re.compile(r"^user (crawler .*)$", re.MULTILINE)
N_HOSTS, N_DOCS = 4, 10


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    """Yield three primaries."""
    with (
        tempfile.TemporaryDirectory(prefix="rc-") as folder,
        running_cluster(Path(folder), with_replicas=False) as cluster,
    ):
        yield cluster


def set_user(cluster: RedisCluster, *more: str) -> None:
    """Make the user of the guide, with further rules."""
    (words,) = EXAMPLE.findall(GUIDE.read_text())
    for node in cluster.nodes:
        with closing(node.client()) as client:
            client.execute_command("ACL SETUSER", *words.split(), *more)
            client.acl_log_reset()


def with_login(url: str, login: str) -> str:
    """Return a URL with user and password."""
    return url.replace("://", f"://{login}@", 1)


async def refusal(url: str) -> str:
    """Return the message for a user who may not open a frontier."""
    settings = BaseSettings({"REDIS_URL": url})
    options = CrawlOptions.from_settings(settings, "c")
    with pytest.raises(ConfigError) as info:
        await open_and_close(options)
    text = str(info.value)
    assert "secret" not in text
    assert "\n" not in text
    return text


async def open_and_close(options: CrawlOptions) -> None:
    """Open a frontier."""
    connection = await FrontierConnection.connect(options, BaseSettings())
    try:
        with connection.explaining():
            await connection.frontier.open()
    finally:
        await connection.close()


@pytest.mark.service
def test_the_rights_of_the_guide_are_enough(
    commands: Commands, loopback: Loopback, cluster: RedisCluster
) -> None:
    """If a user has the rights of the guide, then a crawl lacks none."""
    set_user(cluster)
    web = TreeWeb(loopback, "127.0.79", n_hosts=N_HOSTS, n_docs=N_DOCS, secs=0.01)
    result = commands.crawl(
        [web.seed],
        REDIS_URL=with_login(cluster.url, "crawler:secret"),
        FRONTIER_ACK_LAG_SECS=0,
        SCHEDULER_PERSIST=False,
    )
    assert result.code == 0, result.stderr
    assert result.graphs == web.documents
    for node in cluster.nodes:
        with closing(node.client()) as client:
            denied = {each["object"].partition("|")[0] for each in client.acl_log()}
            assert denied <= {
                "client",
                "config",
            }  # its name, and CONFIG SET: as documented


@pytest.mark.service
async def test_metrics_of_all_crawls_of_a_cluster(cluster: RedisCluster) -> None:
    """If crawls are in a cluster, then the exporter finds all, with the same rights."""
    set_user(cluster)
    url = with_login(cluster.url, "crawler:secret")
    for n, crawl_id in enumerate(("one", "two"), 1):
        settings = BaseSettings({"REDIS_URL": url, "CRAWL_ID": crawl_id})
        options = CrawlOptions.from_settings(settings, "")
        connection = await FrontierConnection.connect(options, settings)
        await connection.frontier.open()
        await connection.frontier.beat("w", {"document/status/successful": n})
        await connection.close()
    exporter = await MetricsExporter.open(BaseSettings({"REDIS_URL": url}))
    families = {each.name: each for each in await exporter.families()}
    await exporter.close()
    found = {
        sample.labels["crawl"]: sample.value
        for sample in families["rdfcrawl_documents"].samples
        if sample.labels["status"] == "successful"
    }
    assert found == {"one": 1, "two": 2}
    (ratio,) = families["rdfcrawl_redis_memory_used_ratio"].samples
    assert 0 < ratio.value < 1


@pytest.mark.service
@pytest.mark.parametrize(
    ("login", "rule", "said"),
    [
        ("crawler:wrong-secret", "+time", "invalid username-password"),
        ("crawler:secret", "-evalsha", "no permissions to run the 'evalsha'"),
        ("crawler:secret", "-cluster", "no permissions to run the 'cluster"),
        ("crawler:secret", "resetkeys", "no permissions to access"),
    ],
    ids=["password", "command", "slots", "keys"],
)
async def test_what_a_user_lacks_is_said(
    cluster: RedisCluster, login: str, rule: str, said: str
) -> None:
    """If a password is wrong or a right is missing, then one line says so."""
    set_user(cluster, rule)
    assert said in (await refusal(with_login(cluster.url, login))).lower()


def tls_program() -> str:
    """Return a server program that was built with TLS."""
    beside = (Path(place, "redis-server") for place in os.get_exec_path())
    programs = [str(path) for path in beside if path.is_file()]
    for program in (*server_programs(), *programs):
        words = [program, "--port", "0", "--tls-port", "1"]
        done = subprocess.run(words, capture_output=True, timeout=20, check=False)
        if b"Failed to configure TLS" in done.stdout:
            return program
    pytest.skip("no server program here has TLS")


def tls_options(pem: Path) -> tuple[str, ...]:
    """Return the options of a server that has one file for all certificates."""
    return (
        *("--tls-cert-file", str(pem), "--tls-key-file", str(pem)),
        *("--tls-ca-cert-file", str(pem)),
    )


async def test_certificates_of_clients(tmp_path: Path, server_directory: Path) -> None:
    """If nodes ask for certificates, then only workers with one are served."""
    pem = write_certificate(tmp_path)
    options = (*tls_options(pem), "--tls-cluster", "yes")
    with running_cluster(
        server_directory, with_replicas=False, program=tls_program(), tls=options
    ) as cluster:
        trusting = f"{cluster.tls_url}?ssl_ca_certs={pem}"
        url = f"{trusting}&ssl_certfile={pem}&ssl_keyfile={pem}"
        settings = BaseSettings({"REDIS_URL": url})
        await open_and_close(CrawlOptions.from_settings(settings, "c"))
        assert "no node of the cluster responds" in await refusal(trusting)


@pytest.mark.soak
async def test_sentinels_with_tls(tmp_path: Path, server_directory: Path) -> None:
    """If Sentinels and primary have TLS, then workers with a certificate are served.

    Also by the replica, after it has taken over.
    """
    pem = write_certificate(tmp_path)
    with running_sentinels(
        server_directory, program=tls_program(), tls=tls_options(pem)
    ) as watched:
        trusting = f"{watched.url}?ssl_ca_certs={pem}"
        url = f"{trusting}&ssl_certfile={pem}&ssl_keyfile={pem}"
        settings = BaseSettings({"REDIS_URL": url})
        await open_and_close(CrawlOptions.from_settings(settings, "c"))
        # Either the alert or the closed connection comes first.
        assert "rediss+sentinel://127.0.0.1" in await refusal(trusting)
        await asyncio.to_thread(watched.fail_over)
        await open_and_close(CrawlOptions.from_settings(settings, "c"))
