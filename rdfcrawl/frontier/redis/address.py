"""Parse `REDIS_URL`: one server, the nodes of a cluster, or Sentinels."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.uri import host_of_address

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
    before, question, query = rest.partition("?")
    login, at, place = before.rpartition("@")
    hosts, _, path = place.partition("/")
    kind: Literal["cluster", "sentinel"]
    kind = "cluster" if scheme.endswith("+cluster") else "sentinel"
    nodes = tuple(_nodes_of(hosts, url, _PORTS[kind]))
    if kind == "cluster":
        if path not in {"", "0"}:
            raise ConfigError(
                f"REDIS_URL={describe(url)}: a cluster has the database 0 alone"
            )
        first = f"{plain}://{login}{at}{_text(nodes[0])}{question}{query}"
        return RedisAddress(kind=kind, url=first, nodes=nodes)
    service, _, database = path.partition("/")
    if not service:
        raise ConfigError(
            f"REDIS_URL={describe(url)}: must name the primary behind its Sentinels,"
            f" as in {plain}+sentinel://host:26379/mymaster"
        )
    pairs = parse_qsl(query, keep_blank_values=True)
    kept = urlencode([pair for pair in pairs if pair[0] not in _SENTINEL_PARAMETERS])
    first = f"{plain}://{login}{at}{_text(nodes[0])}/{database}{kept and '?' + kept}"
    return RedisAddress(
        kind=kind,
        url=first,
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
