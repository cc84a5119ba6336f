"""FTP URLs: a host, a port, and a path as its bytes.

Names on an FTP server are bytes. Here they are text of Latin-1, one character for
each byte, as the connection sends and receives them.

Sources: RFC 1738 3.2; RFC 3986 2.1; RFC 959 (paths are of no form of their own).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.uri.origin import DEFAULT_PORTS

FTP_PORTS: Final = frozenset({DEFAULT_PORTS["ftp"], DEFAULT_PORTS["ftps"]})

_PARTS = re.compile(
    r"(?P<root>(?P<scheme>ftps?)://(?P<host>\[[^\]/?#]+\]|[^:/?#@\[\]]+)"
    r"(?::(?P<port>[0-9]{1,5}))?)(?:/(?P<path>.*))?",
    re.DOTALL,
).fullmatch
# RFC 1738 3.2.2: ";type=" names a representation. All is read as it is, as images.
_TYPE = re.compile(r";type=[aid]\Z", re.IGNORECASE)
# What ends a command, and what else no name of a published file has in it.
has_control = re.compile(r"[\x00-\x1f\x7f]").search
# RFC 3986 3.3 allows them in a segment. ";" is left out, since ";type=" has a meaning.
_SAFE: Final = "!$&'()*+,=:@~"
_is_plain = re.compile(r"[A-Za-z0-9_.~!$&'()*+,=:@-]*+").fullmatch
# The same directories again and again: a link leads back to where it lies.
_TIMES: Final = 3


@dataclass(frozen=True, slots=True)
class FtpAddress:
    """A parsed FTP URL."""

    url: str  # as it is written, without `;type=`
    scheme: str
    host: str  # without brackets
    port: int
    # decoded, without the first slash; empty for the directory that a user begins in;
    # one that begins with a slash does not begin there
    path: str
    is_directory: bool  # the URL says that it is one

    @property
    def directory_url(self) -> str:
        """The URL, with a slash at its end."""
        return self.url if self.url.endswith("/") else f"{self.url}/"

    @property
    def is_endless(self) -> bool:
        """Whether the path ends with the same names, three times in a row."""
        return _ends_in_repeats(self.path.strip("/").split("/")[::-1])

    def absolute(self, home: str) -> str:
        """Return the path on a server where the user begins in the directory `home`."""
        if self.path.startswith("/"):
            return self.path
        return f"{home.rstrip('/')}/{self.path}"


def parse_address(url: str) -> FtpAddress:
    """Parse an FTP URL.

    Raises:
        SourceFault: `BAD_URI`: it is not a URL of FTP, has a control character in its
            path, which could be a command of its own, or goes up by an escaped slash.

    >>> parse_address("ftp://h.example/a%20b/c?d;type=i").path
    'a b/c?d'
    """
    parts = _PARTS(url)
    if parts is None or int(parts["port"] or 1) > 0xFFFF:
        raise SourceFault(Reason.BAD_URI, "not a URL of FTP")
    scheme = parts["scheme"]
    escaped = _TYPE.sub("", parts["path"] or "")
    path = unquote_to_bytes(escaped).decode("latin-1")
    if has_control(path):
        raise SourceFault(Reason.BAD_URI, "control character in the path")
    if ".." in path.split("/"):
        raise SourceFault(Reason.BAD_URI, "'..' in the path")
    return FtpAddress(
        f"{parts['root']}/{escaped}",
        scheme,
        parts["host"].strip("[]"),
        int(parts["port"] or DEFAULT_PORTS[scheme]),
        path,
        is_directory=path == "" or path.endswith("/"),
    )


def _ends_in_repeats(names: list[str]) -> bool:
    """Return whether a path, given from its end, ends with the same names `_TIMES`.

    `borders` has the lengths of the longest proper prefixes that are suffixes, too
    (Knuth, Morris, Pratt): so each name is compared a few times only.
    """
    borders = [0, 0]
    for n in range(2, len(names) + 1):
        border = borders[-1]
        while border and names[border] != names[n - 1]:
            border = borders[border]
        borders.append(border + (names[border] == names[n - 1]))
        period = n - borders[-1]
        if n % _TIMES == 0 and n // _TIMES % period == 0:
            return True
    return False


def quote_name(name: str) -> str:
    r"""Return a name as a segment of a URL.

    >>> quote_name("caf\xe9 50%.ttl")
    'caf%E9%2050%25.ttl'
    """
    if _is_plain(name):
        return name
    return quote_from_bytes(name.encode("latin-1"), _SAFE)
