"""The start of an FTP connection: TLS, login, and features of the server.

A URL of ftps means implicit TLS, on port 990 and on others, like in curl. On port 21,
and if the server greets in the clear, the client requests TLS instead (`AUTH TLS`), and
sends nothing else without it. A URL of ftp means no TLS, with two exceptions: a
password is sent over TLS where available, and servers that require TLS get it.

Sources: RFC 959; RFC 2228 and 4217 (TLS); RFC 2389 (FEAT).
"""

from __future__ import annotations

import ftplib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Reason
from rdfcrawl.downloader.ftp.protocol import FtpProtocol, FtpProtocolError, NoConnection
from rdfcrawl.downloader.ftp.replies import FtpRefused

if TYPE_CHECKING:
    from rdfcrawl.downloader.ftp.address import FtpAddress
    from rdfcrawl.downloader.ftp.logins import FtpLogin

EXPLICIT_PORT: Final = 21  # port of ftps with explicit TLS
_REFUSALS: Final = (ftplib.error_perm, ftplib.error_temp)


@dataclass(frozen=True, slots=True)
class FtpFeatures:
    """Features of a server, and the login directory."""

    home: str = "/"  # login directory, absolute
    # name of a feature -> its parameters, lower case
    parameters: Mapping[str, str] = field(default_factory=dict)
    is_private: bool = False  # data connections use TLS


def greet(protocol: FtpProtocol, address: FtpAddress, login: FtpLogin) -> FtpFeatures:
    """Connect and log in.

    Raises:
        NoConnection: it failed, or TLS is required and unavailable.
        ftplib.Error, FtpRefused: the server refuses.
        FtpProtocolError, EOFError, OSError: the connection ended.
    """
    is_private = _connect(protocol, address, login)
    try:
        protocol.login(login.user, login.password)
    except ftplib.error_perm as exc:
        is_crowded = FtpRefused(str(exc)).status == 503
        # The server may require TLS, which anonymous users do not request at first.
        if is_crowded or protocol.is_secure or not _turns_to_tls(protocol):
            raise
        is_private = _protect(protocol, must=False)
        protocol.login(login.user, login.password)
    features = _ask_features(protocol)
    if "UTF8" in features:
        with suppress(*_REFUSALS):
            # some servers ignore names in UTF-8 without it
            protocol.sendcmd("OPTS UTF8 ON")
    home = "/"
    with suppress(*_REFUSALS, ftplib.error_reply):
        home = protocol.pwd()
    protocol.voidcmd("TYPE I")
    return FtpFeatures(home if home.startswith("/") else "/", features, is_private)


def _connect(protocol: FtpProtocol, address: FtpAddress, login: FtpLogin) -> bool:
    """Connect, with TLS where wanted; return whether data are under TLS."""
    protocol.dial(address.port)
    is_ftps = address.scheme == "ftps"
    if is_ftps and address.port != EXPLICIT_PORT and _is_implicit(protocol, address):
        _welcome(protocol)
        _protect(protocol, must=False)  # data are private, whether announced or not
        return True
    _welcome(protocol)
    if is_ftps or not login.is_anonymous:
        return _ask_for_tls(protocol, must=is_ftps) and _protect(protocol, must=is_ftps)
    return False


def _is_implicit(protocol: FtpProtocol, address: FtpAddress) -> bool:
    """Start TLS immediately; if the server greets in the clear, reconnect."""
    try:
        protocol.secure()
    except OSError as exc:
        if "WRONG_VERSION_NUMBER" not in str(exc):
            raise NoConnection(Reason.TLS, exc) from exc
        protocol.close()
        protocol.dial(address.port)
        return False
    return True


def _welcome(protocol: FtpProtocol) -> None:
    try:
        protocol.welcome = protocol.getresp()
    except _REFUSALS:
        raise
    except (ftplib.Error, FtpProtocolError) as exc:
        raise NoConnection(Reason.BAD_HTTP, f"no FTP: {exc}") from exc
    except TimeoutError as exc:
        raise NoConnection(Reason.TIMEOUT, "no greeting") from exc
    except (EOFError, OSError) as exc:
        raise NoConnection(Reason.UNREACHABLE, f"no greeting {exc}".strip()) from exc
    if not protocol.welcome.startswith("2"):
        raise FtpRefused(protocol.welcome)


def _ask_for_tls(protocol: FtpProtocol, *, must: bool) -> bool:
    """Start TLS (RFC 4217 4); return whether the server supports it."""
    try:
        protocol.voidcmd("AUTH TLS")
    except _REFUSALS as exc:
        if must:
            raise NoConnection(Reason.TLS, f"no TLS: {exc}") from exc
        return False
    try:
        protocol.secure()
    except OSError as exc:
        raise NoConnection(Reason.TLS, exc) from exc
    return True


def _turns_to_tls(protocol: FtpProtocol) -> bool:
    with suppress(NoConnection):
        return _ask_for_tls(protocol, must=False)
    return False


def _protect(protocol: FtpProtocol, *, must: bool) -> bool:
    """Protect data by TLS (RFC 2228 3, RFC 4217 9); return whether it is."""
    try:
        protocol.voidcmd("PBSZ 0")
        protocol.voidcmd("PROT P")
    except _REFUSALS as exc:
        if must:
            raise NoConnection(Reason.TLS, f"data without TLS: {exc}") from exc
        return False
    return True


def _ask_features(protocol: FtpProtocol) -> dict[str, str]:
    """Return the features of the server (RFC 2389 3)."""
    try:
        reply = protocol.sendcmd("FEAT")
    except _REFUSALS:
        return {}
    features = {}
    for line in reply.split("\n")[1:-1]:
        name, _, parameters = line.strip().partition(" ")
        features[name.upper()] = parameters.lower()
    return features
