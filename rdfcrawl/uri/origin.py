"""Origin, site, host and port of a URL."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple
from urllib.parse import urlsplit

DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ftp": 21, "ftps": 990}

_HOST = re.compile(r"[a-zA-Z][\w+.-]*://(?:[^/?#@]*@)?(\[[^\]/]*\]|[^:/?#]*)").match
_AUTHORITY = re.compile(r"([a-z][a-z0-9+.-]*)://([^/?#]*)").match
_PORT = re.compile(r":([0-9]+)$").search
_LONGEST_SCHEME_CHARS: Final = 8  # "https://"
_MAX_PREFIXES: Final = 8  # up to here, prefixes are faster than a set


class Origin(NamedTuple):
    """Origin of a URL (RFC 6454 section 4); the host is empty if there is none.

    >>> Origin.parse("HTTP://A.example/b")
    Origin(scheme='http', host='a.example', port=80)
    """

    scheme: str
    host: str
    port: int

    @classmethod
    def parse(cls, url: str) -> Origin:
        """Return the origin of any URL; `NO_ORIGIN` if it is malformed."""
        try:
            parts = urlsplit(url)
            scheme = parts.scheme.lower()
            port = parts.port or DEFAULT_PORTS.get(scheme, 0)
        except ValueError:
            return NO_ORIGIN
        return cls(scheme, (parts.hostname or "").lower(), port)

    def is_of(self, url: str) -> bool:
        """Return whether a URL has this origin; false for an origin without a host."""
        return self.host != "" and Origin.parse(url) == self


NO_ORIGIN: Final = Origin("", "", 0)


def is_same_origin(url: str, other: str) -> bool:
    """Return whether two URLs have the same origin, with a host."""
    return Origin.parse(other).is_of(url)


def origin_of(url: str) -> str:
    """Return scheme, host and port of a requestable URL, as written.

    >>> origin_of("https://example.org:8443/a?b")
    'https://example.org:8443'
    """
    end = url.find("/", url.find("://") + 3)
    return url if end < 0 else url[:end]


def origin_of_link(link: bytes) -> bytes:
    """Return scheme, host and port of a link, up to the slash; the link if it has none.

    >>> origin_of_link(b"https://example.org/a")
    b'https://example.org/'
    """
    return link[: link.find(b"/", _LONGEST_SCHEME_CHARS) + 1 or None]


def is_same_server(url: str, other: str) -> bool:
    """Return whether two requestable URLs have the same origin.

    A change from http to https, each on its default port, keeps the server.

    >>> is_same_server("http://a.example/", "https://a.example/b")
    True
    """
    origin, target = origin_of(url), origin_of(other)
    if origin == target:
        return True
    scheme, _, host = origin.partition("://")
    has_port = ":" in host[host.rfind("]") + 1 :]
    return scheme == "http" and not has_port and target == f"https://{host}"


def site_of(url: str) -> str:
    """Return host and port of a requestable URL, as written.

    >>> site_of("http://a.example:8080/x?y"), site_of("https://a.example")
    ('a.example:8080', 'a.example')
    """
    return url.partition("://")[2].partition("/")[0].partition("?")[0]


def host_of(url: str) -> str:
    """Return the host of a URL: lower case, no port, no final dot; empty if none."""
    match = _HOST(url)
    return match[1].lower().removesuffix(".") if match else ""


def port_of(url: str) -> int:
    """Return the port of a requestable URL, default ports included; 0 if unknown."""
    found = _AUTHORITY(url)
    if found is None:
        return 0
    written = _PORT(found[2])
    return int(written[1]) if written else DEFAULT_PORTS.get(found[1], 0)


def without_origins(far: set[bytes], links: Iterable[bytes]) -> list[bytes]:
    """Return the links that begin with none of the origins in `far`."""
    begins = tuple(far)
    if len(begins) <= _MAX_PREFIXES and all(begin.endswith(b"/") for begin in begins):
        return [x for x in links if not x.startswith(begins)]  # three times as fast
    # `origin_of_link`, inlined: the call would double the time.
    return [x for x in links if x[: x.find(b"/", 8) + 1 or None] not in far]
