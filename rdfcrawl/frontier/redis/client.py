"""Connect to Redis, and check the server.

The settings are those of scrapy-redis.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import hiredis
import redis.asyncio
from redis.asyncio.connection import AbstractConnection, ConnectionPool, SSLConnection
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel, SentinelConnectionPool
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.exceptions import RedisError, ResponseError
from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.redis.address import (
    RedisAddress,
    describe,
    parse_address,
    read_client_settings,
)
from rdfcrawl.frontier.redis.embedded import MIN_VERSION
from rdfcrawl.frontier.redis.errors import (
    RetryWhileAway,
    SentinelLoginError,
    is_of_login,
    lost_connection,
    one_line,
)
from rdfcrawl.frontier.redis.operations import (
    ConnectionHooks,
    ManyPrimaries,
    query_primaries,
)

DEFAULT_SET_MAX_INTSET_ENTRIES = 512
WANTED_SET_MAX_INTSET_ENTRIES = 4096

_SENTINEL_SECS = 1.0  # timeout of a Sentinel; then the next one is asked
_SENTINEL_TRIES = 3  # per Sentinel
_UTF8 = ("utf-8", "utf8")  # encodings that hiredis packs

# Defaults that REDIS_PARAMS may override.
PARAMS: dict[str, Any] = {
    # Longer than any script, shorter than a third of a lease (20 s).
    "socket_timeout": 10.0,
    "socket_connect_timeout": 5.0,
    "health_check_interval": 30,
    # RESP2 saves a round trip on connecting and passes through every proxy.
    "protocol": 2,
    # Each visited host may send a command at the same time. A server accepts 10,000
    # clients by default; with redis-py 8, the 101st command would fail.
    "max_connections": 10_000,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """Kind and settings of the server."""

    # of Redis; for Valkey, the compatible version of Redis
    version: tuple[int, ...]
    set_max_intset_entries: int  # largest compact bucket of the seen set


class _PacksFast(AbstractConnection):
    """Packs commands with hiredis.

    redis-py uses hiredis only to parse replies, and packs commands in Python, one
    string per argument: for many small arguments, this dominates a round trip.
    """

    async def on_connect_check_health(self, check_health: bool = True) -> None:
        """Prepare a new connection, without a PING.

        If a server refused it, redis-py would reconnect endlessly.
        """
        del check_health
        try:
            await super().on_connect_check_health(check_health=False)
        except RuntimeError as error:
            raise lost_connection(error) from error

    def pack_command(self, *args: Any) -> list[bytes]:
        """See `AbstractConnection.pack_command`."""
        if self.encoder.encoding.lower() not in _UTF8:
            return super().pack_command(*args)
        name, *rest = args  # "SCRIPT LOAD" is sent as two words
        words = name.encode() if isinstance(name, str) else name
        try:
            return [hiredis.pack_command((*words.split(), *rest))]
        except TypeError:  # redis-py knows more types, and rejects the rest
            return super().pack_command(*args)


class SentinelClient(redis.asyncio.Redis):
    """A client that asks Sentinels for the primary on each new connection."""

    def __init__(self, pool: ConnectionPool) -> None:
        super().__init__(connection_pool=pool)
        self._service = str(cast("Any", pool).service_name)
        self._sentinels: Sentinel = cast("Any", pool).sentinel_manager

    async def check_service(self) -> None:
        """Check that a Sentinel watches the primary, which may be down.

        Raises:
            ConfigError: no responding Sentinel knows this name.
            RedisError: no Sentinel responds.
        """
        known: set[str] = set()
        last: RedisError | None = None
        for sentinel in self._sentinels.sentinels:
            try:
                known |= set(map(str, await sentinel.sentinel_masters()))
            except RedisError as error:
                last = error
        if not known and last is not None:
            if is_of_login(last):
                raise SentinelLoginError(one_line(last)) from last
            raise last
        if self._service not in known:
            raise ConfigError(
                f"REDIS_URL: the Sentinels watch no primary named {self._service}"
                f" (but {', '.join(sorted(known)) or 'none'})"
            )

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        """Disconnect from the primary and the Sentinels."""
        del close_connection_pool
        await self.connection_pool.disconnect()
        await self._sentinels.aclose()


def async_client(
    settings: BaseSettings | Mapping[str, Any],
    url: str | None = None,
    *,
    hooks: ConnectionHooks | None = None,
) -> redis.asyncio.Redis:
    """Return a client for the settings, which connects on first use.

    Replies are bytes. `RedisRetry` retries commands.

    Args:
        settings: those of scrapy-redis.
        url: of the embedded server; overrides the settings.
        hooks: called on changes of the servers.

    Raises:
        ConfigError: the URL or a parameter is wrong.
    """
    address: RedisAddress | None = None
    try:
        read = read_client_settings(settings, url, PARAMS)
        address, params = _address_of(read.url), read.params
        return _client_of(address, params, hooks)
    except (TypeError, ValueError, ImportError, RedisError) as error:
        where = f"REDIS_URL={describe(address.url)}" if address else "REDIS_HOST"
        raise ConfigError(f"{where} or REDIS_PARAMS: {one_line(error)}") from error


def _client_of(
    address: RedisAddress | None, params: dict[str, Any], hooks: ConnectionHooks | None
) -> redis.asyncio.Redis:
    plain = (
        redis.asyncio.Redis.from_url(address.url, **params)
        if address
        else redis.asyncio.Redis(**params)
    )
    pool = plain.connection_pool
    kwargs = pool.connection_kwargs
    kwargs.pop("retry_on_timeout", None)
    kwargs.update(  # override REDIS_PARAMS and the query of the URL
        decode_responses=False, encoding="utf-8", retry=Retry(NoBackoff(), 0)
    )
    pool.connection_class(**kwargs)  # only checks the arguments
    kind = address.kind if address else "server"
    if address and kind == "sentinel":
        pool = _sentinel_pool(pool, address)
    pool.connection_class = type(
        pool.connection_class.__name__, (_PacksFast, pool.connection_class), {}
    )
    if address and kind == "cluster":
        if kwargs.get("db"):
            raise ValueError("a cluster has the database 0 alone")
        from rdfcrawl.frontier.redis.cluster import ClusterClient

        return ClusterClient(pool, address.nodes, hooks)
    if hooks is not None:
        pool.connection_kwargs["redis_connect_func"] = partial(hooks.on_connect, "")
    return SentinelClient(pool) if kind == "sentinel" else plain


def _sentinel_pool(
    pool: ConnectionPool, address: RedisAddress
) -> SentinelConnectionPool:
    """Return a Sentinel pool with the parameters of another pool."""
    is_tls = issubclass(pool.connection_class, SSLConnection)
    kwargs = dict(pool.connection_kwargs)
    own = {
        name: x for name, x in kwargs.items() if name.startswith(("ssl_", "socket_"))
    }
    own |= {"socket_timeout": _SENTINEL_SECS, "socket_connect_timeout": _SENTINEL_SECS}
    sentinels = Sentinel(  # type: ignore[no-untyped-call]
        address.nodes,
        sentinel_kwargs={
            **own,
            **dict(address.login),
            "ssl": is_tls,
            "protocol": 2,
            "retry": RetryWhileAway(ExponentialBackoff(), _SENTINEL_TRIES),
        },
    )
    for name in ("host", "port"):
        kwargs.pop(name, None)
    kwargs["max_connections"] = pool.max_connections
    return SentinelConnectionPool(  # type: ignore[no-untyped-call]
        address.service, sentinels, ssl=is_tls, **kwargs
    )


def _address_of(url: object) -> RedisAddress | None:
    """Return the parsed URL, or None if there is none."""
    if not url:
        return None
    if not isinstance(url, str) or "://" not in url:
        raise ConfigError(
            "REDIS_URL is not a URL; for example redis://localhost:6379/0"
        )
    return parse_address(url)


async def find_primaries(client: redis.asyncio.Redis) -> bool:
    """Find the primaries; return whether replicas can take over.

    Raises:
        ConfigError: the URL names no cluster, or the Sentinels do not know the primary.
        RedisError: no server responds.
    """
    if isinstance(client, SentinelClient):
        await client.check_service()
        return True
    if not isinstance(client, ManyPrimaries):
        return False
    try:
        await client.primaries()
    except ResponseError as error:
        if "cluster support disabled" not in str(error):
            raise
        raise ConfigError(
            "REDIS_URL: it is no node of a Redis Cluster: write redis:// or rediss:// "
            "in place of redis+cluster:// or rediss+cluster://"
        ) from error
    return True


async def server_facts(client: redis.asyncio.Redis) -> ServerFacts:
    """Raise the limit of compact buckets, and return the facts of a server.

    For a cluster, the facts hold for all primaries.

    Raises:
        ConfigError: the server is older than 6.2, a replica, a Sentinel, or a cluster
            node whose URL is not that of a cluster.
        RedisError: the server does not respond.
    """
    is_cluster = isinstance(client, ManyPrimaries)
    infos = await query_primaries(client, lambda node: node.info())
    return ServerFacts(
        version=min(
            _checked(info, name, is_cluster=is_cluster) for name, info in infos.items()
        ),
        set_max_intset_entries=await raise_intset_limit(client),
    )


def _checked(
    info: Mapping[str, Any], name: str, *, is_cluster: bool
) -> tuple[int, ...]:
    """Return the version of a server, or raise `ConfigError`."""
    where = f"REDIS_URL: {name}" if name else "REDIS_URL"
    version = tuple(int(part) for part in str(info["redis_version"]).split(".")[:3])
    if version < MIN_VERSION:
        raise ConfigError(f"{where}: Redis {info['redis_version']} is older than 6.2")
    if not is_cluster:
        _check_role(info)
    policy = info.get("maxmemory_policy", "noeviction")
    if info.get("maxmemory") and policy != "noeviction":
        raise ConfigError(
            f"{where}: maxmemory-policy is {policy}, which loses "
            "URIs when memory is full; set it to noeviction"
        )
    return version


def _check_role(info: Mapping[str, Any]) -> None:
    mode = info.get("redis_mode") or info.get("server_mode")  # name in Valkey
    if mode == "cluster":
        raise ConfigError(
            "REDIS_URL: it is a node of a Redis Cluster: write redis+cluster:// or "
            "rediss+cluster:// in place of redis:// or rediss://"
        )
    if mode == "sentinel":
        watched = ", ".join(
            f"{value['name']} at {value['address']}"
            for key, value in info.items()
            if re.fullmatch(r"master[0-9]+", key) and isinstance(value, dict)
        )
        raise ConfigError(
            "REDIS_URL: it is a Sentinel, which keeps no data; name the primary that "
            f"it watches ({watched or 'none now'}), or write redis+sentinel://host:port"
            "/name"
        )
    if info.get("role") != "master":  # term of INFO for a primary
        primary = f"{info.get('master_host')}:{info.get('master_port')}"
        raise ConfigError(
            "REDIS_URL: it is a replica, which takes no writes; name its primary "
            f"({primary})"
        )


async def raise_intset_limit(client: redis.asyncio.Redis) -> int:
    """Raise `set-max-intset-entries` if allowed; return the resulting limit."""
    return min((await query_primaries(client, _raise_intset_limit)).values())


async def _raise_intset_limit(client: redis.asyncio.Redis) -> int:
    """Return the limit of one server.

    If a managed server or an ACL refuses CONFIG, the default is assumed.
    """
    name, limit = "set-max-intset-entries", 0
    with contextlib.suppress(ResponseError):
        limit = int((await client.config_get(name)).get(name) or 0)
        if limit < WANTED_SET_MAX_INTSET_ENTRIES:
            await client.config_set(name, WANTED_SET_MAX_INTSET_ENTRIES)
            limit = WANTED_SET_MAX_INTSET_ENTRIES
    return limit or DEFAULT_SET_MAX_INTSET_ENTRIES
