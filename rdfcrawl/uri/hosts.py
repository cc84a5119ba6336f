"""Sets of hosts, as operators name them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from rdfcrawl.uri.origin import host_of, port_of
from rdfcrawl.uri.parse import BadUri, requestable

_WILDCARD: Final = "*."
# Commas separate the hosts of a list, although a host of a URL may contain commas.
_is_name = re.compile(r"[^\s/?#@\\*%,]+").fullmatch
_is_number = re.compile(r".*\.[0-9]+|\[.*").fullmatch  # an address, or the end of one
_port_in = re.compile(r":([0-9]+)$").search


@dataclass(frozen=True, slots=True)
class HostNames:
    """A set of hosts.

    Attributes:
        names: hosts; a name with a port stands for that port alone.
        above: domains whose subdomains belong to the set; the domain itself does not.
    """

    names: frozenset[str] = frozenset()
    above: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, entries: Iterable[str]) -> Self:
        """Parse host names, `host:port` and `*.domain`.

        Raises:
            BadUri: an entry is not a host, or covers too much, like `*`.

        >>> HostNames.parse(["B.example", "*.c.example"]).covers("ftp://x.c.example/y")
        True
        """
        names, above = set(), set()
        for entry in entries:
            is_below = entry.startswith(_WILDCARD)
            name = entry.removeprefix(_WILDCARD)
            url = requestable(f"ftp://{name}/") if _is_name(name) else ""
            host, port = host_of(url), _port_in(name)
            if "" in host.split(".") or (is_below and (port or _is_number(host))):
                raise BadUri(f"not a host: {entry!r}")
            if is_below:
                above.add(host)
            else:
                names.add(f"{host}:{int(port[1])}" if port else host)
        return cls(frozenset(names), frozenset(above))

    def __bool__(self) -> bool:
        return bool(self.names or self.above)

    def covers(self, url: str) -> bool:
        """Return whether the host of a requestable URL is in the set."""
        if not self:
            return False
        host = host_of(url)
        if host in self.names or f"{host}:{port_of(url)}" in self.names:
            return True
        while "." in host:
            host = host.partition(".")[2]
            if host in self.above:
                return True
        return False


NO_HOSTS: Final = HostNames()
