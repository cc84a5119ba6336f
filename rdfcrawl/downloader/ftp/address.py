"""FTP URLs: a host, a port, and a path as its bytes.

Names on an FTP server are bytes. Here they are text of Latin-1, one character for each
byte, as the connection sends and receives them.

Sources: RFC 1738 3.2; RFC 3986 2.1; RFC 959 (paths have no fixed form).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.uri.hosts import DEFAULT_PORTS

FTP_PORTS: Final = frozenset({DEFAULT_PORTS["ftp"], DEFAULT_PORTS["ftps"]})

_PARTS = re.compile(
    r"(?P<root>(?P<scheme>ftps?)://(?P<host>\[[^\]/?#]+\]|[^:/?#@\[\]]+)"
    r"(?::(?P<port>[0-9]{1,5}))?)(?:/(?P<path>.*))?",
    re.DOTALL,
).fullmatch
# RFC 1738 3.2.2: ";type=" names a representation. Every file is read as an image.
_TYPE = re.compile(r";type=[aid]\Z", re.IGNORECASE)
# These end a command, or never occur in names of published files.
has_control = re.compile(r"[\x00-\x1f\x7f]").search
# RFC 3986 3.3 allows them in a segment. ";" is left out because of ";type=".
_SAFE: Final = "!$&'()*+,=:@~"
_is_plain = re.compile(r"[A-Za-z0-9_.~!$&'()*+,=:@-]*+").fullmatch
# repeated directories: a symbolic link points to an ancestor
_TIMES: Final = 3


@dataclass(frozen=True, slots=True)
class FtpAddress:
    """A parsed FTP URL."""

    url: str  # as written, without `;type=`
    scheme: str
    host: str  # without brackets
    port: int
    # decoded, without the first slash: relative to the login directory, empty for that
    # directory itself; absolute with another leading slash
    path: str
    is_directory: bool  # the URL ends with a slash

    @property
    def directory_url(self) -> str:
        """The URL, with a slash at its end."""
        return self.url if self.url.endswith("/") else f"{self.url}/"

    @property
    def is_endless(self) -> bool:
        """Whether the path ends with the same names, three times in a row."""
        return _ends_in_repeats(self.path.strip("/").split("/")[::-1])

    def absolute(self, home: str) -> str:
        """Return the absolute path, for a login directory `home`."""
        if self.path.startswith("/"):
            return self.path
        return f"{home.rstrip('/')}/{self.path}"


def parse_address(url: str) -> FtpAddress:
    """Parse an FTP URL.

    Raises:
        SourceFault: `BAD_URI`: not a URL of FTP, a control character in its path
            (command injection), or an escaped slash that leads upwards.

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
    """Return whether a path, in reverse order, starts with the same names `_TIMES`.

    `borders` has the lengths of the longest proper prefixes that are also suffixes
    (Knuth, Morris, Pratt), so that each name is compared only a few times.
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
