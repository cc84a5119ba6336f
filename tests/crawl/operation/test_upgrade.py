"""A crawl begun by an earlier version, and the steps of the upgrade guide."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest
from redis import Redis

from rdfcrawl.frontier.redis.server_state import SCHEMA
from tests.support.crawl_webs import TreeWeb
from tests.support.operated_crawls import operate

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback
    from tests.support.redis_fixtures import RedisServer

pytestmark = pytest.mark.service
CONF = "rc:{web}:conf"


def test_crawl_of_an_earlier_version_is_finished_or_restarted(
    commands: Commands, loopback: Loopback, lasting_server: RedisServer
) -> None:
    """If an earlier version has begun a crawl, then both ways of the guide lead on.

    Until then, nothing of this version touches the old files.
    """
    web = TreeWeb(loopback, "127.94.9", n_hosts=2, n_docs=15, secs=0.03)
    folder = commands.folder()
    named: dict[str, Any] = {
        "CRAWL_ID": "web",
        "REDIS_URL": lasting_server.url,
        "FRONTIER_COMMIT_SECS": 0.1,
    }
    begun = commands.start_crawl([web.seed], folder=folder, **named)
    commands.wait_until(lambda: web.asked().total() > 6)
    begun.send(signal.SIGTERM)
    begun.wait()
    n_before = web.asked().total()

    def becomes(schema: object) -> None:
        with Redis.from_url(lasting_server.url) as client:
            client.hset(CONF, "schema", str(schema))

    becomes(0.9)
    refused = commands.crawl(folder=folder, **named)
    exported = operate(folder, "export", str(folder / "web.gz"), **named)
    for code, text in (
        (refused.code, refused.stderr),
        (exported.returncode, exported.stderr),
    ):
        assert code == 2, text
        last = text.rstrip().rpartition("\n")[2]
        assert "Traceback" not in text
        assert "schema 0.9 of an earlier version" in last
        assert "finish the crawl with that version" in last
        assert "-a fresh=1" in last
    assert web.asked().total() == n_before

    becomes(SCHEMA)  # for the workers of that version, which finish
    finished = commands.crawl(folder=folder, **named)
    assert finished.code == 0, finished.stderr
    assert finished.graphs == web.documents

    becomes(0.9)
    anew = commands.crawl([web.seed], folder=folder, arguments={"fresh": 1}, **named)
    assert anew.code == 0, anew.stderr
    assert anew.graphs == web.documents
    (former,) = anew.folder.glob("before-*")
    assert (former / "quads").exists()
    assert web.asked().total() >= 2 * len(web.documents)
