"""The address of Redis: `REDIS_URL`, and the settings of scrapy-redis."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, Self
from urllib.parse import parse_qsl, unquote, urlencode

from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.values import load_setting
from rdfcrawl.uri import host_of_address

Settings = BaseSettings | Mapping[str, Any]


SCHEMES: Final = (
    *("redis", "rediss", "unix", "redis+cluster", "rediss+cluster"),
    *("redis+sentinel", "rediss+sentinel"),
)
_PORTS: Final = {"server": 6379, "cluster": 6379, "sentinel": 26379}
_SENTINEL: Final = "sentinel_"  # parameters for the Sentinels
_SENTINEL_PARAMETERS: Final = {"sentinel_username", "sentinel_password"}
_HOST: Final = r"(?:\[[0-9A-Fa-f:.]+\]|[^\[\]:@/?#,\s]+)"
_node = re.compile(rf"({_HOST})(?::([0-9]{{1,5}}))?").fullmatch
# Hosts, followed by a path: a database, or the name of a primary.
_place = re.compile(
    rf"(?:{_HOST})?(?::[0-9]{{1,5}})?(?:,\s*{_HOST}(?::[0-9]{{1,5}})?)*"
    r"(?:/[^:@/?#\s]*(?:/[0-9]*)?)?"
).fullmatch
_scheme = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*").fullmatch
_database = re.compile(r"(?:/[0-9]*)?").fullmatch
_is_reserved = re.compile(r"[/?#\[\]\s]").search  # in a user name or password
_ENDS: Final = re.compile(r"[/?#]")  # the first of them ends the list of hosts
_has_parameter = re.compile(r"[?&][a-z_]+=").search
_HIDDEN: Final = "***"
_UNIX: Final = "unix:///run/redis.sock, with three slashes"
ENCODE: Final = (
    "in a user name or password, characters like @ / # : ? % have to be"
    " percent-encoded (@ as %40, / as %2F, # as %23, : as %3A, ? as %3F, % as %25)"
)

PARAMS_SETTING: Final = "REDIS_PARAMS"
# Parameters of a client of `redis_cls` that hold for our own client, too.
_OF_CLIENT: Final = frozenset(
    {"host", "port", "db", "username", "password", "credential_provider", "client_name"}
)
_OF_SCRAPY_REDIS: Final = ("redis_cls", "retry_on_timeout")


class NodeAddress(NamedTuple):
    """Address at which a node listens."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return `host:port`."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisAddress:
    """The address of the frontier.

    Attributes:
        kind: server, cluster or Sentinels.
        url: for redis-py, of the server or the first node, with user and parameters.
        nodes: of a cluster, or the Sentinels; empty for a single server.
        service: name of the primary at the Sentinels.
        login: user name and password for the Sentinels, where set.
    """

    kind: Literal["server", "cluster", "sentinel"]
    url: str
    nodes: tuple[NodeAddress, ...] = ()
    service: str = ""
    login: tuple[tuple[str, str], ...] = ()


def parse_address(url: str) -> RedisAddress:
    """Parse a URL.

    >>> parse_address("redis+cluster://u:p@a,b:7001").nodes
    (NodeAddress(host='a', port=6379), NodeAddress(host='b', port=7001))

    Raises:
        ConfigError: the URL is not supported.
    """
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    if scheme not in SCHEMES:
        allowed = ", ".join(f"{each}://" for each in SCHEMES)
        raise ConfigError(f"REDIS_URL={describe(url)}: must begin with {allowed}")
    _check_login(url, scheme, rest)
    plain, plus, _ = scheme.partition("+")
    if not plus:
        if scheme != "unix":
            _check_server(url, rest)
        return RedisAddress(kind="server", url=url)
    before, _, query = rest.partition("?")
    login, at, place = before.rpartition("@")
    hosts, _, path = place.partition("/")
    begin = f"{plain}://{login}{at}"
    if scheme.endswith("+sentinel"):
        return _of_sentinels(url, begin, hosts, path, query)
    nodes = tuple(_nodes_of(hosts, url, _PORTS["cluster"]))
    if path not in {"", "0"}:
        raise ConfigError(
            f"REDIS_URL={describe(url)}: a cluster has the database 0 alone"
        )
    first = f"{begin}{_text(nodes[0])}{query and '?' + query}"
    return RedisAddress(kind="cluster", url=first, nodes=nodes)


def _of_sentinels(
    url: str, begin: str, hosts: str, path: str, query: str
) -> RedisAddress:
    nodes = tuple(_nodes_of(hosts, url, _PORTS["sentinel"]))
    service, _, database = path.partition("/")
    if not service:
        plain = begin.partition(":")[0]
        raise ConfigError(
            f"REDIS_URL={describe(url)}: must name the primary behind its Sentinels,"
            f" as in {plain}+sentinel://host:26379/mymaster"
        )
    pairs = parse_qsl(query, keep_blank_values=True)
    kept = urlencode([pair for pair in pairs if pair[0] not in _SENTINEL_PARAMETERS])
    return RedisAddress(
        kind="sentinel",
        url=f"{begin}{_text(nodes[0])}/{database}{kept and '?' + kept}",
        nodes=nodes,
        service=unquote(service),
        login=tuple(
            (name.removeprefix(_SENTINEL), value)
            for name, value in pairs
            if name in _SENTINEL_PARAMETERS
        ),
    )


def describe(url: str) -> str:
    """Return a URL for logs: without password and parameters.

    Anything that may belong to a password is left out, even of invalid URLs.

    >>> describe("rediss://crawler:s3cret@cache.example:6380/1?password=s3cret")
    'rediss://crawler:***@cache.example:6380/1'
    >>> describe("redis://:p@ss/w#rd@h:1/0"), describe("redis://h?password=p@ss")
    ('redis://:***@h:1/0', 'redis://***')
    """
    scheme, mark, rest = url.partition("://")
    if not mark or not _scheme(scheme):
        return _HIDDEN
    if scheme == "unix" and rest.startswith("/"):
        return f"{scheme}://{re.split('[?#]', rest)[0]}"
    login, at, place = rest.rpartition("@")
    place = re.split("[?#]", place)[0]
    is_parameter = bool(_has_parameter(login)) or (
        "?" in login and "@" not in _ENDS.split(login)[0]
    )
    is_path = scheme == "unix" and place.startswith("/")
    if is_parameter or not (is_path or _place(place)):
        return f"{scheme}://{_HIDDEN}"
    if not at:
        return f"{scheme}://{place}"
    user, colon, _ = login.partition(":")
    user = "" if not colon or _is_reserved(user) or "@" in user else user
    return f"{scheme}://{user}{colon}{_HIDDEN}@{place}"


def _check_login(url: str, scheme: str, rest: str) -> None:
    """Check that user name and password end where they seem to.

    Raises:
        ConfigError: the URL is ambiguous.
    """
    if scheme == "unix":
        login = _ENDS.split(rest)[0]
        if login and "@" not in rest:
            raise ConfigError(f"REDIS_URL={describe(url)}: must be like {_UNIX}")
        is_clear = not login or (login.endswith("@") and rest.count("@") == 1)
    else:
        is_clear = not _is_reserved(rest.rpartition("@")[0]) and "#" not in rest
    if not is_clear:
        raise ConfigError(f"REDIS_URL={describe(url)}: {ENCODE}")


def _check_server(url: str, rest: str) -> None:
    place = rest.rpartition("@")[2].partition("?")[0]
    host = _ENDS.split(place)[0]
    if (host and not _node(host) and not _node(f"h{host}")) or not _database(
        place.removeprefix(host)
    ):
        raise ConfigError(
            f"REDIS_URL={describe(url)}: must be like"
            " redis://user:password@host:6379/0, with the number of a database"
        )


def _nodes_of(hosts: str, url: str, port: int) -> list[NodeAddress]:
    found = []
    for text in hosts.split(","):
        match = _node(text.strip())
        if match is None:
            # Without a preceding login, it may be one.
            which = repr(text.strip()) if "@" in url else "one of its hosts"
            raise ConfigError(
                f"REDIS_URL={describe(url)}: {which} is no host or host:port"
            )
        host, given = match.groups()
        found.append(NodeAddress(host.strip("[]"), int(given or port)))
    return list(dict.fromkeys(found))


def _text(node: NodeAddress) -> str:
    return f"{host_of_address(node.host)}:{node.port}"


class ClientSettings(NamedTuple):
    """The URL of Redis, None if there is only a host, and parameters of redis-py."""

    url: str | None
    params: dict[str, Any]


class _Recorder:
    """A client class that records its parameters."""

    def __init__(self, **params: Any) -> None:
        self.url: str | None = None
        self.params = params

    @classmethod
    def from_url(cls, url: str, **params: Any) -> Self:
        """Record a URL with the parameters."""
        client = cls(**params)
        client.url = url
        return client


def read_client_settings(
    settings: Settings, url: str | None, defaults: Mapping[str, Any]
) -> ClientSettings:
    """Return the parameters of the client that the settings of scrapy-redis describe.

    Args:
        settings: those of `SETTINGS_PARAMS_MAP` and `REDIS_PARAMS`.
        url: replaces `REDIS_URL`, if given.
        defaults: parameters below `REDIS_PARAMS`.

    Raises:
        ValueError, TypeError: a value is wrong.
    """
    from scrapy_redis.connection import (  # noqa: PLC0415 (with the first connection)
        SETTINGS_PARAMS_MAP,
        get_redis_from_settings,
    )

    given = {name: settings.get(name) for name in SETTINGS_PARAMS_MAP}
    if url is not None:
        given["REDIS_URL"] = url
    params = {**defaults, **redis_params(settings)}
    if _has_own_class(params):
        client = get_redis_from_settings(
            BaseSettings({**given, PARAMS_SETTING: redis_params(settings)})
        )
        for name in ("url", *_OF_SCRAPY_REDIS):
            params.pop(name, None)
        return ClientSettings(None, params | dict(_params_of(client)))
    recorder = get_redis_from_settings(
        BaseSettings({**given, PARAMS_SETTING: {**params, "redis_cls": _Recorder}})
    )
    for name in _OF_SCRAPY_REDIS:
        recorder.params.pop(name, None)
    return ClientSettings(recorder.url, recorder.params)


def redis_params(settings: Settings) -> dict[str, Any]:
    """Return `REDIS_PARAMS`; raise `ValueError` if it is no dict."""
    value = settings.get(PARAMS_SETTING)
    return BaseSettings({PARAMS_SETTING: value}).getdict(PARAMS_SETTING)


def named_redis(settings: Settings) -> str | None:
    """Return the URL of the Redis that the settings name; None if they name none.

    >>> named_redis({"REDIS_PORT": "6380"}), named_redis({})
    ('redis://localhost:6380', None)

    Raises:
        ConfigError: `REDIS_PARAMS` is not a dict or names no class, or `REDIS_PORT` is
            not a number.
    """
    try:
        params = redis_params(settings)
        has_own_class = _has_own_class(params)
        if url := settings.get("REDIS_URL") or params.get("url"):
            return str(url)
        if has_own_class:
            client = read_client_settings(settings, None, {}).params
            params = params | client
    except (TypeError, ValueError, ImportError, AttributeError) as error:
        raise ConfigError(f"REDIS_PARAMS: {error}") from error
    if path := params.get("unix_socket_path"):
        return f"unix://{path}"
    host, port, database = (
        settings.get(f"REDIS_{name.upper()}") or params.get(name)
        for name in ("host", "port", "db")
    )
    if not str(port or 6379).isdecimal():
        raise ConfigError(f"REDIS_PORT={port!r}: must be an integer")
    if host or port or database:
        return f"redis://{host or 'localhost'}:{port or 6379}"
    return None


def _has_own_class(params: Mapping[str, Any]) -> bool:
    """Return whether `redis_cls` is a class of the user."""
    given = params.get("redis_cls")
    if given is None:
        return False
    import redis  # noqa: PLC0415 (slow to import)

    return load_setting(PARAMS_SETTING, "redis_cls", given) is not redis.Redis


def _params_of(client: Any) -> Iterator[tuple[str, Any]]:
    """Yield the address and the credentials of a client of redis-py."""
    kwargs = client.connection_pool.connection_kwargs
    for name, value in kwargs.items():
        if value is not None and (name in _OF_CLIENT or name.startswith("ssl_")):
            yield name, value
    if kwargs.get("path"):
        yield "unix_socket_path", kwargs["path"]
    if "SSL" in client.connection_pool.connection_class.__name__:
        yield "ssl", True
