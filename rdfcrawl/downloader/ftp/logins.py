"""FTP logins: anonymous, or a user from the operator's configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.downloader.ftp.address import FTP_PORTS, has_control

_ENTRY = re.compile(
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s=:/@\[\]]+)(?::(?P<port>[0-9]{1,5}))?"
    r"=(?P<user>[^:]+):(?P<password>.*)"
).fullmatch
_TOKEN = re.compile(r"[A-Za-z0-9.-]+").match


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
