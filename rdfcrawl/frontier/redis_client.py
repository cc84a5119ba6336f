"""The connection to Redis, and the server at its end.

It has the settings of scrapy-redis, so that a project that uses them needs no others.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import hiredis
import redis.asyncio
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError
from scrapy.settings import BaseSettings

from rdfcrawl.errors import ConfigError
from rdfcrawl.frontier.redis_program import MIN_VERSION
from rdfcrawl.frontier.redis_retry import one_line

SCHEMES = ("redis", "rediss", "unix")
CLUSTER_SCHEMES = ("redis+cluster", "rediss+cluster")
DEFAULT_SET_MAX_INTSET_ENTRIES = 512
WANTED_SET_MAX_INTSET_ENTRIES = 4096

_UTF8 = ("utf-8", "utf8")  # what hiredis writes texts in

# Settings that go before `REDIS_PARAMS`, and what redis-py calls them.
NAMES: dict[str, str] = {
    "REDIS_URL": "url",
    "REDIS_HOST": "host",
    "REDIS_PORT": "port",
    "REDIS_DB": "db",
    "REDIS_ENCODING": "encoding",
}
# REDIS_PARAMS may change these.
PARAMS: dict[str, Any] = {
    # Longer than any script takes, shorter than a third of a lease (20 s).
    "socket_timeout": 10.0,
    "socket_connect_timeout": 5.0,
    "health_check_interval": 30,
    # RESP2: one round trip less to connect, passes through every proxy.
    "protocol": 2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """Kind and settings of the server."""

    # of Redis; for Valkey the version of Redis it is compatible with
    version: tuple[int, ...]
    set_max_intset_entries: int  # largest bucket of the seen-set that stays compact


class _PacksFast(AbstractConnection):
    """Writes commands as hiredis does.

    redis-py has its answers read by hiredis, but writes commands itself, a string for
    each argument: with many small ones, that is most of what a round trip takes.
    """

    def pack_command(self, *args: Any) -> list[bytes]:
        """See `AbstractConnection.pack_command`."""
        if self.encoder.encoding.lower() not in _UTF8:
            return super().pack_command(*args)
        name, *rest = args  # "SCRIPT LOAD" is sent as two words
        words = name.encode() if isinstance(name, str) else name
        try:
            return [hiredis.pack_command((*words.split(), *rest))]
        except TypeError:  # redis-py knows more types, and refuses the others
            return super().pack_command(*args)


def async_client(
    settings: BaseSettings | Mapping[str, Any],
    url: str | None = None,
    *,
    on_connect: Callable[[Any], Awaitable[None]] | None = None,
) -> redis.asyncio.Redis:
    """Return the client of the settings, which connects when used.

    Responses are bytes. Commands are not retried: that is for `RedisRetry`.

    Args:
        settings: those of scrapy-redis, as in `NAMES`, and `REDIS_PARAMS`.
        url: of the embedded server, in place of the settings.
        on_connect: prepares a new connection, before its first command.

    Raises:
        ConfigError: the URL or a parameter is wrong, or asks for a cluster.
    """
    own = BaseSettings({"REDIS_PARAMS": settings.get("REDIS_PARAMS")})
    given = {each: settings.get(name) for name, each in NAMES.items()}
    if url is not None:
        given["url"] = url
    where = _check_url(given["url"])
    try:
        params = {**PARAMS, **own.getdict("REDIS_PARAMS")}
        params |= {name: value for name, value in given.items() if value}
        for name in ("redis_cls", "retry_on_timeout"):  # of scrapy-redis alone
            params.pop(name, None)
        address = params.pop("url", None)
        client = (
            redis.asyncio.Redis.from_url(address, **params)
            if address
            else redis.asyncio.Redis(**params)
        )
        pool = client.connection_pool
        pool.connection_kwargs.pop("retry_on_timeout", None)
        pool.connection_kwargs.update(  # whatever REDIS_PARAMS or the URL's query say
            decode_responses=False, retry=Retry(NoBackoff(), 0)
        )
        if on_connect is not None:
            pool.connection_kwargs["redis_connect_func"] = on_connect
        pool.connection_class(**pool.connection_kwargs)  # checks them; no connection
    except (TypeError, ValueError, RedisError) as error:
        raise ConfigError(f"{where} or REDIS_PARAMS: {one_line(error)}") from error
    pool.connection_class = type(
        pool.connection_class.__name__, (_PacksFast, pool.connection_class), {}
    )
    return client


def describe(url: str) -> str:
    """Return a URL for logs: without password and parameters.

    >>> describe("rediss://crawler:s3cret@cache.example:6380/1?password=s3cret")
    'rediss://crawler:***@cache.example:6380/1'
    """
    scheme, _, rest = url.partition("://")
    before, at, host = rest.partition("?")[0].rpartition("@")
    user, colon, _ = before.partition(":")
    return f"{scheme}://{user}{colon and ':***'}{at}{host}"


def _check_url(url: object) -> str:
    """Check that a URL is for this client; return its name in errors."""
    if not url:
        return "REDIS_HOST"
    if not isinstance(url, str) or "://" not in url:
        raise ConfigError(
            "REDIS_URL is not a URL; for example redis://localhost:6379/0"
        )
    scheme = url.partition("://")[0].lower()
    if scheme in CLUSTER_SCHEMES:
        raise ConfigError(
            f"REDIS_URL={describe(url)}: Redis Cluster: not supported yet"
        )
    if scheme not in SCHEMES:
        allowed = ", ".join(f"{each}://" for each in SCHEMES)
        raise ConfigError(f"REDIS_URL={describe(url)}: must begin with {allowed}")
    return f"REDIS_URL={describe(url)}"


async def server_facts(client: redis.asyncio.Redis) -> ServerFacts:
    """Return the facts of a server, which now keeps larger buckets compact.

    Raises:
        ConfigError: the server is older than 6.2, a replica, a Sentinel, or a node of a
            cluster.
        RedisError: the server cannot be asked.
    """
    info: dict[str, Any] = await client.info()
    version = tuple(int(part) for part in str(info["redis_version"]).split(".")[:3])
    if version < MIN_VERSION:
        raise ConfigError(f"REDIS_URL: Redis {info['redis_version']} is older than 6.2")
    _check_role(info)
    policy = info.get("maxmemory_policy", "noeviction")
    if info.get("maxmemory") and policy != "noeviction":
        raise ConfigError(
            f"REDIS_URL: maxmemory-policy is {policy}, which loses "
            "URIs when memory is full; set it to noeviction"
        )
    return ServerFacts(
        version=version,
        set_max_intset_entries=await raise_intset_limit(client),
    )


def _check_role(info: Mapping[str, Any]) -> None:
    if info.get("redis_mode") == "cluster":
        raise ConfigError(
            "REDIS_URL: it is a node of a Redis Cluster: not supported yet"
        )
    if info.get("redis_mode") == "sentinel":
        watched = ", ".join(
            f"{value['name']} at {value['address']}"
            for key, value in info.items()
            if re.fullmatch(r"master[0-9]+", key) and isinstance(value, dict)
        )
        raise ConfigError(
            "REDIS_URL: it is a Sentinel, which keeps no data; name the primary that "
            f"it watches ({watched or 'none now'})"
        )
    if info.get("role") != "master":  # what INFO calls a primary
        primary = f"{info.get('master_host')}:{info.get('master_port')}"
        raise ConfigError(
            "REDIS_URL: it is a replica, which takes no writes; name its primary "
            f"({primary})"
        )


async def raise_intset_limit(client: redis.asyncio.Redis) -> int:
    """Raise set-max-intset-entries to what is wanted; return the resulting limit.

    A managed server or an ACL may refuse CONFIG: then the default is assumed.
    """
    name, limit = "set-max-intset-entries", 0
    with contextlib.suppress(ResponseError):
        limit = int((await client.config_get(name)).get(name) or 0)
        if limit < WANTED_SET_MAX_INTSET_ENTRIES:
            await client.config_set(name, WANTED_SET_MAX_INTSET_ENTRIES)
            limit = WANTED_SET_MAX_INTSET_ENTRIES
    return limit or DEFAULT_SET_MAX_INTSET_ENTRIES
