"""The protocol of FTP: that of `ftplib`, with limits, the guard, TLS and login.

Replies are equivalent to HTTP statuses:

=========================== ====== ==========================================
Reply (RFC 959 4.2)         Status Meaning
=========================== ====== ==========================================
150, 226, 250               200    success
the path is a directory     301    its URL has a trailing slash
not modified since          304    `MDTM` and `SIZE` are unchanged
501                         400    invalid path
331, 332, 430, 530, 532     401    login refused
534, 550 "denied", 553      403    access denied
550, 551                    404    not found
450, 451, 452, 552          500    temporary failure
500, 502, 504               501    not implemented
425, 426                    502    no data connection
120, 421, 530 "too many"    503    the host refuses requests
=========================== ====== ==========================================

550 covers all errors of files, and 530 all errors of users: their text decides.

A URL of ftps means implicit TLS, on port 990 and on others, like in curl. On port 21,
and if the server greets in the clear, the client requests TLS instead (`AUTH TLS`), and
sends nothing else without it. A URL of ftp means no TLS, with two exceptions: a
password is sent over TLS where available, and servers that require TLS get it.

Sources: RFC 959; RFC 2228 and 4217 (TLS); RFC 2389 (FEAT).
"""

from __future__ import annotations

import ftplib
import re
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from rdfcrawl.core.errors import Fault, Reason, one_line
from rdfcrawl.downloader.ftp.address import FtpAddress, FtpLogin
from rdfcrawl.downloader.network_faults import dns_reason
from rdfcrawl.uri.guard.gate import ConnectionGate, GuardBlocked
from rdfcrawl.uri.guard.policy import ConnectionUse

MAX_REPLY_CHARS: Final = 64 * 1024
_CODES: Final = {
    400: (501,),
    401: (331, 332, 430, 530, 532),
    403: (534, 553),
    404: (550, 551),
    500: (450, 451, 452, 503, 552),
    501: (500, 502, 504),
    502: (425, 426),
    503: (120, 421),
}
_STATUSES: Final = {code: status for status in _CODES for code in _CODES[status]}
_IS_CROWDED = re.compile(
    r"too many|try (?:again|later)|\bbusy\b|overload|limit reached"
    r"|\bmax(?:imum)?\b.{0,200}?(?:users|clients|connections)"
    r"|(?:user|client|connection)s? limit",
    re.IGNORECASE | re.DOTALL,
).search
_IS_MISSING = re.compile(
    r"no such|not found|(?:does not|doesn't) exist|can(?:not|'t) find", re.IGNORECASE
).search
_IS_DENIED = re.compile(
    r"permission|denied|forbidden|not (?:allowed|permitted|authori[sz]ed)"
    r"|\b(?:ssl|tls)\b",
    re.IGNORECASE,
).search
_MINUTES = re.compile(r"\b([0-9]{1,4})\s*min", re.IGNORECASE).search
MAX_MINUTES: Final = 24 * 60
EXPLICIT_PORT: Final = 21  # port of ftps with explicit TLS
_REFUSALS: Final = (ftplib.error_perm, ftplib.error_temp)


class NoConnection(Exception):
    """The server is unreachable; the fault concerns all its files."""

    def __init__(self, reason: Reason, detail: object) -> None:
        super().__init__(f"{reason}: {detail}")
        self.fault = Fault(reason, one_line(detail))


class FtpProtocolError(Exception):
    """The connection ended in the middle, or a reply is invalid."""


@dataclass(frozen=True, slots=True)
class FtpSettings:
    """Parameters of connections."""

    connect_secs: float  # for connecting, and for each reply
    stall_secs: float  # longest silence within a transfer
    gate: ConnectionGate
    tls: ssl.SSLContext  # context of all connections of the process


class FtpProtocol(ftplib.FTP):
    """Speak FTP like `ftplib`, with limits, the guard and TLS."""

    def __init__(self, host: str, settings: FtpSettings, at: str = "") -> None:
        super().__init__(encoding="latin-1")
        self.host = host
        self._at = at  # an address of the host; empty for any
        self.timeout = settings.connect_secs
        self._settings = settings

    @property
    def is_secure(self) -> bool:
        """Whether the connection is under TLS."""
        return isinstance(self.sock, ssl.SSLSocket)

    def dial(self, port: int) -> None:
        """Connect to the first address of the host that responds.

        Raises:
            NoConnection: none responds, or the guard refuses.
        """
        try:
            self._dial(port)
        except GuardBlocked as exc:
            raise NoConnection(exc.fault.reason, exc.detail) from exc

    def _dial(self, port: int) -> None:
        gate = self._settings.gate
        gate.check_literal(self.host, port, ConnectionUse.FTP)
        try:
            found = socket.getaddrinfo(
                self._at or self.host,
                port,
                type=socket.SOCK_STREAM,
                flags=socket.AI_NUMERICHOST if self._at else socket.AI_ADDRCONFIG,
            )
        except OSError as exc:
            raise NoConnection(dns_reason(exc), exc) from exc
        except UnicodeError as exc:
            raise NoConnection(Reason.DNS, exc) from exc
        addresses = [str(address[0]) for *_, address in found]
        allowed = gate.allowed(self.host, port, addresses)
        failure: OSError = OSError("no address")
        for family, _, _, _, address in found:
            if str(address[0]) not in allowed:
                continue
            try:
                self.sock = self.open_socket(
                    family, address, self._settings.connect_secs
                )
            except GuardBlocked:
                raise
            except OSError as exc:
                failure = exc
                continue
            self.af = family
            self._listen()
            return
        is_late = isinstance(failure, TimeoutError)
        reason = Reason.TIMEOUT if is_late else Reason.UNREACHABLE
        raise NoConnection(reason, failure) from failure

    def open_socket(
        self,
        family: int,
        address: Any,
        timeout_secs: float,
        use: ConnectionUse = ConnectionUse.FTP,
    ) -> socket.socket:
        """Return a connection to an address.

        Raises:
            GuardBlocked: the guard does not allow it.
            OSError: it failed.
        """
        self._settings.gate.check(str(address[0]), int(address[1]), use)
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            # The control connection is idle during a long transfer: firewalls in
            # between must not drop it.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)
            sock.settimeout(self._settings.connect_secs)
            sock.connect(address)
            sock.settimeout(timeout_secs)
        except BaseException:
            sock.close()
            raise
        return sock

    def secure(self) -> None:
        """Start TLS.

        Buffered plain text, perhaps injected by an attacker, is discarded.
        """
        if self.sock is None:
            raise EOFError("no connection")
        if self.file is not None:
            self.file.close()
        tls = self._settings.tls
        self.sock = secure = tls.wrap_socket(
            self.sock, server_hostname=self.host, do_handshake_on_connect=False
        )
        secure.do_handshake()
        self._listen()

    def _listen(self) -> None:
        if self.sock is not None:
            self.file = self.sock.makefile("r", encoding=self.encoding)

    def getmultiline(self) -> str:
        """Return a reply with a bounded number of lines (RFC 959 4.2)."""
        line = self.getline()
        if line[3:4] != "-":
            return line
        lines, n_chars, end = [line], len(line), line[:3] + " "
        while not (line.startswith(end) or line == line[:3] == end[:3]):
            line = self.getline()
            lines.append(line)
            n_chars += len(line) + 1
            if n_chars > MAX_REPLY_CHARS:
                raise FtpProtocolError("a reply without an end")
        return "\n".join(lines)


class FtpRefused(Exception):
    """The server refuses, by a reply code and a text of any number of lines."""

    def __init__(self, reply: str) -> None:
        super().__init__(reply)
        self.text = reply
        self.code = int(reply[:3]) if reply[:3].isdecimal() else 0

    @property
    def status(self) -> int:
        """The equivalent HTTP status."""
        return status_of(self.code, self.text)

    @property
    def retry_after(self) -> str:
        """Seconds to wait, if a reply 120 names minutes; else empty."""
        minutes = _MINUTES(self.text) if self.code == 120 else None
        return str(60 * min(int(minutes[1]), MAX_MINUTES)) if minutes else ""

    @property
    def is_unknown_command(self) -> bool:
        """Whether the server does not know the command."""
        return self.code in (500, 502, 504)


def status_of(code: int, text: str) -> int:
    """Return the equivalent HTTP status of a reply.

    >>> status_of(550, "550 No such file"), status_of(421, "421 Timeout")
    (404, 503)
    """
    if code == 530 and _IS_CROWDED(text):
        return 503
    if code == 550 and _IS_DENIED(text) and not _IS_MISSING(text):
        return 403
    known = _STATUSES.get(code)
    if known is not None:
        return known
    return 500 if code < 500 else 501


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
