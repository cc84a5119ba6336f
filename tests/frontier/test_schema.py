"""Workers of two versions of the package, and crawls that another one has begun."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from redis import Redis

from rdfcrawl import __version__
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.redis.server_state import SCHEMA
from tests.support.crawl_webs import TreeWeb
from tests.support.frontier_state import candidates
from tests.support.frontier_workers import paths

if TYPE_CHECKING:
    from redis.asyncio import Redis as AsyncRedis

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback
    from tests.support.redis_fixtures import MakeFrontier, RedisServer

CONF = "rc:{c}:conf"


async def settings(redis: AsyncRedis) -> dict[bytes, bytes]:
    """Return the fixed settings of the crawl."""
    return cast("dict[bytes, bytes]", await redis.hgetall(CONF))


LATER = (
    rf"schema 7 of a later version, rdfcrawl 9\.1, and rdfcrawl {__version__} reads"
    rf" schema {SCHEMA}: upgrade rdfcrawl on this machine, or begin another crawl"
)
EARLIER = (
    r"schema 0\.9 of an earlier version and rdfcrawl .*: finish the crawl with that"
    r" version, or begin another crawl \(another CRAWL_ID, or -a fresh=1\)"
)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"schema": "7", "version": "9.1"}, LATER),
        ({"schema": "0.9", "partitions": "16"}, EARLIER),
        ({"partitions": "16"}, "schema none of an earlier version"),
        ({"schema": "1.5\n"}, r"schema 1\.5\? of an earlier version"),
    ],
    ids=["later", "earlier", "none", "unknown"],
)
async def test_a_crawl_of_another_schema_is_refused_and_not_touched(
    make_frontier: MakeFrontier, redis: AsyncRedis, fields: dict[str, str], said: str
) -> None:
    """If another version has begun a crawl, then one line has a remedy.

    No key of an unknown version is changed.
    """
    for name, value in fields.items():
        await redis.hset(CONF, name, value)
    with pytest.raises(ConfigError, match=f"^CRAWL_ID=c: its frontier has {said}") as e:
        await make_frontier()
    assert "\n" not in str(e.value)
    assert await settings(redis) == {k.encode(): v.encode() for k, v in fields.items()}
    assert await redis.dbsize() == 1


async def test_a_crawl_says_which_version_has_begun_it(
    make_frontier: MakeFrontier, redis: AsyncRedis
) -> None:
    """If a later version of the same schema joins, then the first one still stands."""
    await make_frontier()
    assert (await settings(redis))[b"version"].decode() == __version__
    await redis.hset(CONF, "version", "0.0.1")
    frontier = await make_frontier()
    assert (await frontier.add(candidates(frontier, paths(2)))).new == 2
    assert (await settings(redis))[b"version"] == b"0.0.1"


def test_a_worker_of_another_schema_beside_a_running_crawl(
    commands: Commands, loopback: Loopback, lasting_server: RedisServer
) -> None:
    """If a version joins that cannot, then it ends at once, and the others go on."""
    web = TreeWeb(loopback, "127.0.86", n_hosts=3, n_docs=20, secs=0.05)
    crawl = commands.start_crawl([web.seed], REDIS_URL=lasting_server.url)
    commands.wait_until(lambda: web.asked().total() > 5)
    conf = "rc:{linkeddata}:conf"
    with Redis.from_url(lasting_server.url) as client:
        client.hset(
            conf, "schema", SCHEMA + 1
        )  # as the version does that it is upgraded to
        late = commands.crawl([web.seed], REDIS_URL=lasting_server.url)
        client.hset(conf, "schema", SCHEMA)
    assert late.code != 0
    assert f"schema {SCHEMA + 1} of a later version" in late.stderr
    assert "Traceback" not in late.stderr
    result = crawl.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == web.documents
