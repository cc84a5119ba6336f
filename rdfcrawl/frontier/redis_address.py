"""What `REDIS_URL` says: one server, the nodes of a cluster, or Sentinels."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import parse_qsl, unquote, urlencode

from rdfcrawl.errors import ConfigError
from rdfcrawl.frontier.redis_cluster import NodeAddress
from rdfcrawl.uri import host_of_address

SCHEMES: Final = (
    *("redis", "rediss", "unix", "redis+cluster", "rediss+cluster"),
    *("redis+sentinel", "rediss+sentinel"),
)
_PORTS: Final = {"server": 6379, "cluster": 6379, "sentinel": 26379}
_SENTINEL: Final = "sentinel_"  # parameters of the Sentinels themselves
_SENTINEL_PARAMETERS: Final = {"sentinel_username", "sentinel_password"}
_node = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:@/]+)(?::([0-9]{1,5}))?").fullmatch


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisAddress:
    """Where the frontier is.

    Attributes:
        kind: what answers there.
        url: for redis-py, of the server or the first node, with user and parameters.
        nodes: of a cluster, or the Sentinels; empty for a single server.
        service: what the Sentinels call the primary.
        login: username and password for the Sentinels, as far as they have any.
    """

    kind: Literal["server", "cluster", "sentinel"]
    url: str
    nodes: tuple[NodeAddress, ...] = ()
    service: str = ""
    login: tuple[tuple[str, str], ...] = ()


def parse_address(url: str) -> RedisAddress:
    """Return what a URL says.

    >>> parse_address("redis+cluster://u:p@a,b:7001").nodes
    (NodeAddress(host='a', port=6379), NodeAddress(host='b', port=7001))

    Raises:
        ConfigError: the URL is none of this client.
    """
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    if scheme not in SCHEMES:
        allowed = ", ".join(f"{each}://" for each in SCHEMES)
        raise ConfigError(f"REDIS_URL={describe(url)}: must begin with {allowed}")
    plain, plus, _ = scheme.partition("+")
    if not plus:
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

    >>> describe("rediss://crawler:s3cret@cache.example:6380/1?password=s3cret")
    'rediss://crawler:***@cache.example:6380/1'
    """
    scheme, _, rest = url.partition("://")
    before, at, host = rest.partition("?")[0].rpartition("@")
    user, colon, _ = before.partition(":")
    return f"{scheme}://{user}{colon and ':***'}{at}{host}"


def _nodes_of(hosts: str, url: str, port: int) -> list[NodeAddress]:
    found = []
    for text in hosts.split(","):
        match = _node(text.strip())
        if match is None:
            raise ConfigError(
                f"REDIS_URL={describe(url)}: {text.strip()!r} is no host or host:port"
            )
        host, given = match.groups()
        found.append(NodeAddress(host.strip("[]"), int(given or port)))
    return list(dict.fromkeys(found))


def _text(node: NodeAddress) -> str:
    return f"{host_of_address(node.host)}:{node.port}"
