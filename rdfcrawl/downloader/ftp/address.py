"""FTP URLs, and the logins of FTP servers: anonymous, or those of the operator.

A URL is a host, a port, and a path as its bytes. Names on an FTP server are bytes. Here
they are text of Latin-1, one character for each byte, as the connection sends and
receives them.

Sources: RFC 1738 3.2; RFC 3986 2.1; RFC 959 (paths have no fixed form).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from rdfcrawl.core.errors import ConfigError, Reason, SourceFault
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
_ENTRY = re.compile(
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s=:/@\[\]]+)(?::(?P<port>[0-9]{1,5}))?"
    r"=(?P<user>[^:]+):(?P<password>.*)"
).fullmatch
_TOKEN = re.compile(r"[A-Za-z0-9.-]+").match


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


@dataclass(frozen=True, slots=True)
class FtpLogin:
    """A user and a password, which `repr` does not show."""

    user: str
    password: str = field(repr=False)
    is_anonymous: bool = False


def anonymous(user_agent: str) -> FtpLogin:
    """Return the anonymous login; its password names the crawler (RFC 1635).

    >>> anonymous("rdfcrawl/0.1 (+https://example.org)").password
    'rdfcrawl@'
    """
    token = _TOKEN(user_agent)
    return FtpLogin(
        "anonymous", f"{token[0] if token else 'guest'}@", is_anonymous=True
    )


@dataclass(frozen=True, slots=True)
class FtpLogins:
    """The logins of an operator.

    Attributes:
        known: host and port -> login; port 0 means the default ports only, so that
            links to other ports never get a password.
    """

    known: Mapping[tuple[str, int], FtpLogin] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, name: str, text: str) -> FtpLogins:
        """Read `HOST=user:password` or `HOST:PORT=user:password`, separated by blanks.

        Args:
            name: of the environment variable.
            text: UTF-8; no blanks in names and passwords, no colons in names.

        Raises:
            ConfigError: an entry is invalid; the message has its number, not its text.

        >>> FtpLogins.parse("V", "a.example=me:pw").of("a.example", 21)
        FtpLogin(user='me', is_anonymous=False)
        """
        known = {}
        for number, entry in enumerate(text.split(), start=1):
            parts = _ENTRY(entry)
            port = int(parts["port"] or 0) if parts else 0
            if parts is None or port > 0xFFFF or has_control(entry):
                raise ConfigError(
                    f"{name}: entry {number}: must be HOST=user:password, or"
                    " HOST:PORT=user:password, separated by blanks"
                )
            host = parts["host"].strip("[]").lower().removesuffix(".")
            user, password = parts["user"], parts["password"]
            known[host, port] = FtpLogin(_octets(user), _octets(password))
        return cls(known)

    def of(self, host: str, port: int) -> FtpLogin | None:
        """Return the login for a server, if there is one."""
        host = host.lower().removesuffix(".")
        login = self.known.get((host, port))
        if login is None and port in FTP_PORTS:
            login = self.known.get((host, 0))
        return login


def _octets(text: str) -> str:
    """Return text in UTF-8, one character per byte."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")
