"""The protocol of FTP: that of `ftplib`, with limits, the guard and TLS."""

from __future__ import annotations

import ftplib
import socket
import ssl
from dataclasses import dataclass
from typing import Any, Final

from rdfcrawl.core.errors import Fault, Reason, one_line
from rdfcrawl.downloader.network_faults import dns_reason
from rdfcrawl.uri.guard.gate import ConnectionGate, GuardBlocked
from rdfcrawl.uri.guard.policy import ConnectionUse

MAX_REPLY_CHARS: Final = 64 * 1024


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
