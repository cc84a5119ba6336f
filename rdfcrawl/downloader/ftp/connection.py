"""Control connections to FTP servers, kept between requests, and their transfers.

`ftplib` blocks in threads: all methods of a connection except `run`, `abort`, `quit`
and `is_quiet` run in them, through `run`. Objects of the crawler (the spool, the
response) are used only in the event loop, which requests one block after another. So a
slow disk slows down the server, and nothing is read ahead.

Sources: RFC 959; RFC 2228 and 4217 (TLS); RFC 2389 (FEAT); RFC 2428 (EPSV); RFC 2577
(bounce attack); RFC 3659 (SIZE, MDTM, REST, MLST, MLSD).
"""

from __future__ import annotations

import asyncio
import ftplib
import select
import socket
import ssl
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any, Final, TypeVar

from rdfcrawl.core.errors import Reason, SourceFault, one_line
from rdfcrawl.downloader.ftp.address import FtpAddress, FtpLogin, FtpLogins, anonymous
from rdfcrawl.downloader.ftp.directories import (
    Format,
    FtpEntry,
    parse_facts,
    parse_time,
)
from rdfcrawl.downloader.ftp.protocol import (
    FtpFeatures,
    FtpProtocol,
    FtpProtocolError,
    FtpRefused,
    FtpSettings,
    greet,
)
from rdfcrawl.downloader.options import FetchOptions
from rdfcrawl.uri.guard.gate import ConnectionGate, GuardBlocked
from rdfcrawl.uri.guard.policy import ConnectionUse

T = TypeVar("T")

BLOCK_BYTES: Final = 256 * 1024
BLOCK_SECS: Final = 0.1  # after this, a block is returned, however small
MAX_UNIQUES: Final = 10_000
_Key = tuple[str, str, int, str, str]


class FtpConnection:
    """A connection of one user to one server; `open` it first.

    Args:
        at: address of the host to connect to; empty for any.
    """

    def __init__(
        self, address: FtpAddress, login: FtpLogin, settings: FtpSettings, at: str = ""
    ) -> None:
        self._address = address
        self._login = login
        self._settings = settings
        self._protocol = FtpProtocol(address.host, settings, at)
        self._data: socket.socket | None = None
        self._pending: Exception | None = None
        self._features = FtpFeatures()
        self._lacks: set[str] = set()  # commands that the server lacks
        # Path of a directory -> its `unique` fact, as far as requested.
        self._uniques: dict[str, str] = {}
        self._busy = Lock()
        self._is_aborted = False

    def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run one operation, and close the connection if aborted meanwhile.

        Raises:
            FtpRefused: the server refuses.
            NoConnection: there is no connection.
            FtpProtocolError: it ended, or a reply is invalid.
            SourceFault: of the operation.
        """
        with self._busy:
            try:
                if self._is_aborted:
                    raise FtpProtocolError("given up")
                return function(*arguments)
            except (ftplib.error_temp, ftplib.error_perm, ftplib.error_reply) as exc:
                raise FtpRefused(str(exc)) from exc
            except (ftplib.Error, EOFError, OSError, ValueError) as exc:
                raise FtpProtocolError(one_line(exc)) from exc
            finally:
                if self._is_aborted:
                    self._close()

    def abort(self) -> None:
        """Close the connection, from any thread, even during a blocking call."""
        self._is_aborted = True
        for each in (self._data, self._protocol.sock):
            if each is not None:
                # Not the method of the TLS socket, which must not be shared any longer.
                with suppress(OSError):
                    socket.socket.shutdown(each, socket.SHUT_RDWR)
        if self._busy.acquire(blocking=False):
            try:
                self._close()
            finally:
                self._busy.release()

    def quit(self) -> None:
        """End the connection between two commands with `QUIT`."""
        if self._protocol.sock is not None:
            with suppress(OSError, ValueError):
                # a few bytes always fit into the buffer
                self._protocol.sock.settimeout(0.1)
                self._protocol.sock.sendall(b"QUIT\r\n")
        self.abort()

    def is_quiet(self) -> bool:
        """Return whether no bytes arrived since the last reply."""
        sock = self._protocol.sock
        if sock is None or self._is_aborted:
            return False
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return not poll.poll(0)

    def open(self) -> None:
        """Connect and log in."""
        self._features = greet(self._protocol, self._address, self._login)

    @property
    def home(self) -> str:
        """The absolute login directory."""
        return self._features.home

    def facts(self, path: str) -> FtpEntry:
        """Return the facts of a path, as far as the server provides them."""
        if "MLST" in self._features.parameters and "MLST" not in self._lacks:
            return self._mlst(path)
        size, modified = -1, ""
        if (reply := self._try("SIZE", path)).startswith("213"):
            with suppress(ValueError):
                size = int(reply[3:].split()[-1])
        if (reply := self._try("MDTM", path)).startswith("213"):
            modified = parse_time(reply[3:].strip())
        return FtpEntry(path, size=size, modified=modified)

    def _mlst(self, path: str) -> FtpEntry:
        for line in self._try("MLST", path).split("\n")[1:2]:
            if (entry := parse_facts(line.removeprefix(" "))) is not None:
                return entry
        return FtpEntry(path)

    def _try(self, command: str, path: str) -> str:
        """Return the reply to an optional command; empty if refused."""
        if command in self._lacks:
            return ""
        try:
            return self._protocol.sendcmd(f"{command} {path}")
        except (ftplib.error_perm, ftplib.error_temp) as exc:
            refused = FtpRefused(str(exc))
            if refused.status == 503:
                raise
            if refused.is_unknown_command:
                self._lacks.add(command)
        return ""

    def is_directory(self, path: str) -> bool:
        """Return whether the server accepts `CWD` to a path."""
        return self._try("CWD", path or "/").startswith("2")

    def above(self, path: str) -> set[str]:
        """Return the known `unique` facts of a directory and its ancestors."""
        if "unique" not in self._features.parameters.get("MLST", ""):
            return set()
        found = set()
        parts = path.rstrip("/").split("/")
        for n in range(len(parts), 0, -1):
            directory = "/".join(parts[:n]) or "/"
            unique = self._uniques.get(directory)
            if unique is None:
                unique = self._mlst(directory).unique
                if len(self._uniques) >= MAX_UNIQUES:
                    self._uniques.clear()
                self._uniques[directory] = unique
            found.add(unique)
        return found - {""}

    def open_file(self, path: str, offset: int = 0) -> bool:
        """Start to read a file, at an offset.

        Returns:
            False if the server cannot start there.
        """
        return self._open_data(f"RETR {path}", offset)

    def open_listing(self, path: str, form: Format | None = None) -> Format:
        """Start to read a directory, and return the listing format."""
        # LIST does not accept names with blanks or leading dashes, but always the
        # current directory.
        self._protocol.voidcmd(f"CWD {path}")
        if form is None:
            has_mlsd = bool({"MLST", "MLSD"} & self._features.parameters.keys())
            form = "MLSD" if has_mlsd and "MLSD" not in self._lacks else "LIST"
        try:
            self._open_data(form)
        except (ftplib.error_perm, ftplib.error_temp) as exc:
            if form != "MLSD" or not FtpRefused(str(exc)).is_unknown_command:
                raise
            self._lacks.add("MLSD")
            form = "LIST"
            self._open_data(form)
        return form

    def _open_data(self, command: str, offset: int = 0) -> bool:
        protocol = self._protocol
        data = self._dial_data()
        try:
            if offset:
                try:
                    reply = protocol.sendcmd(f"REST {offset}")
                except (ftplib.error_perm, ftplib.error_temp):
                    reply = ""
                if not reply.startswith("350"):
                    data.close()
                    return False
            reply = protocol.sendcmd(command)
            if reply.startswith("2"):  # some servers send it before the 150
                reply = protocol.getresp()
            if not reply.startswith("1"):
                raise FtpRefused(reply)  # noqa: TRY301
            self._data = data
            if self._features.is_private:
                self._data = self._secure_data(data)
                self._data.do_handshake()
        except BaseException:
            data.close()
            self._close_data()
            raise
        self._pending = None
        return True

    def _dial_data(self) -> socket.socket:
        """Open a data connection, to the address of the server and to no other.

        The address in a reply to PASV is ignored (RFC 2577 3: bounce attack); a reply
        to EPSV has none.
        """
        protocol = self._protocol
        if protocol.sock is None:
            raise EOFError("no connection")
        host, *_ = peer = protocol.sock.getpeername()
        address = (host, self._passive_port(peer), *peer[2:])
        try:
            return protocol.open_socket(
                protocol.af, address, self._settings.stall_secs, ConnectionUse.FTP_DATA
            )
        except GuardBlocked as exc:
            raise SourceFault(Reason.GUARD_BLOCKED, exc.detail) from exc
        except (ConnectionRefusedError, TimeoutError) as exc:
            # The server's own reply if a connection fails.
            raise FtpRefused(f"425 port {address[1]}: {one_line(exc)}") from exc

    def _passive_port(self, peer: Any) -> int:
        """Return the port for data, by `PASV` if the server supports it."""
        protocol = self._protocol
        if protocol.af != socket.AF_INET6 and "PASV" not in self._lacks:
            try:
                reply = protocol.sendcmd("PASV")
                return ftplib.parse227(reply)[1]  # noqa: S321  for FTP
            except ftplib.error_perm as exc:
                if not FtpRefused(str(exc)).is_unknown_command:
                    raise
                self._lacks.add("PASV")
        return ftplib.parse229(protocol.sendcmd("EPSV"), peer)[1]  # noqa: S321

    def _secure_data(self, data: socket.socket) -> ssl.SSLSocket:
        """Wrap a data connection in TLS, in the session of the control connection.

        Some servers require this as proof that both belong to one client.
        """
        control = self._protocol.sock
        session = control.session if isinstance(control, ssl.SSLSocket) else None
        return self._settings.tls.wrap_socket(
            data,
            server_hostname=self._address.host,
            session=session,
            do_handshake_on_connect=False,  # `abort` could not interrupt it
        )

    def read(self) -> bytes:
        """Return the next block of the current transfer; empty at the end."""
        if self._pending is not None:
            pending, self._pending = self._pending, None
            raise pending
        data = self._data
        if data is None:
            return b""
        data.settimeout(self._settings.stall_secs)
        pieces = [data.recv(BLOCK_BYTES)]
        n_bytes, ends_at = len(pieces[0]), time.monotonic() + BLOCK_SECS
        while pieces[-1] and n_bytes < BLOCK_BYTES:
            left = ends_at - time.monotonic()
            if left <= 0:
                break
            data.settimeout(left)
            try:
                pieces.append(data.recv(BLOCK_BYTES - n_bytes))
            except TimeoutError:
                break
            except OSError as exc:  # raised after the received bytes are returned
                self._pending = exc
                break
            n_bytes += len(pieces[-1])
        return b"".join(pieces)

    def finish(self) -> None:
        """Read the reply after the data, which confirms that all was sent."""
        self._close_data()
        self._protocol.voidresp()

    def _close_data(self) -> None:
        if self._data is not None:
            self._data.close()
            self._data = None

    def _close(self) -> None:
        self._close_data()
        self._protocol.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class FtpLimits:
    """Limits without a counterpart in HTTP."""

    n_entries: int = 1_000_000  # of one directory
    n_transfers: int = 128  # in parallel; each may hold a thread
    # longest silence within a transfer, before it is restarted
    stall_secs: float = 60.0


class FtpPool:
    """Make connections on demand, and keep idle connections for a while."""

    def __init__(
        self,
        options: FetchOptions,
        logins: FtpLogins,
        gate: ConnectionGate,
        limits: FtpLimits,
    ) -> None:
        self.options = options
        self.limits = limits
        self._logins = logins
        self._gate = gate
        self._anonymous = anonymous(options.user_agent)
        self._settings: FtpSettings | None = None
        self._threads = ThreadPoolExecutor(limits.n_transfers, thread_name_prefix="ftp")
        self._idle: dict[_Key, tuple[FtpConnection, asyncio.TimerHandle]] = {}
        self._used: dict[FtpConnection, _Key] = {}

    def close(self) -> None:
        """Close all connections."""
        for key in list(self._idle):
            self._forget(key)
        for connection in self._used:
            connection.abort()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def connect(self, address: FtpAddress, at: str = "") -> FtpConnection:
        """Return a logged-in connection: a kept one, or a new one.

        Only the address `at` is used, if given.
        """
        login = self._logins.of(address.host, address.port) or self._anonymous
        key = address.scheme, address.host, address.port, login.user, at
        while (kept := self._idle.pop(key, None)) is not None:
            connection, timer = kept
            timer.cancel()
            if connection.is_quiet():
                self._used[connection] = key
                return connection
            connection.abort()
        if self._settings is None:
            self._settings = FtpSettings(
                connect_secs=self.options.connect_secs,
                stall_secs=self.limits.stall_secs,
                gate=self._gate,
                tls=_tls_context(verifies=self.options.verify_certificates),
            )
        connection = FtpConnection(address, login, self._settings, at)
        self._used[connection] = key
        try:
            await self.call(connection, connection.open)
        except BaseException:
            self.drop(connection)
            raise
        return connection

    async def call(
        self, connection: FtpConnection, function: Callable[..., T], *arguments: Any
    ) -> T:
        """Run a function of a connection in a thread; see `FtpConnection.run`."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(
                self._threads, connection.run, function, *arguments
            )
        except asyncio.CancelledError:
            connection.abort()
            raise

    def keep(self, connection: FtpConnection) -> None:
        """Keep a connection for the next request to the same server."""
        key = self._used.pop(connection)
        self._forget(key)
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self.options.keep_alive_secs, self._forget, key)
        self._idle[key] = connection, timer

    def drop(self, connection: FtpConnection) -> None:
        """Close a connection in any state."""
        self._used.pop(connection, None)
        connection.abort()

    def _forget(self, key: _Key) -> None:
        kept = self._idle.pop(key, None)
        if kept is not None:
            kept[1].cancel()
            kept[0].quit()


def _tls_context(*, verifies: bool) -> ssl.SSLContext:
    return _context_of(ssl.get_default_verify_paths(), verifies=verifies)


@cache  # reading the certificates of authorities takes 20 ms
def _context_of(places: ssl.DefaultVerifyPaths, *, verifies: bool) -> ssl.SSLContext:
    del places  # other places have other certificates
    context = ssl.create_default_context()
    if not verifies:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
