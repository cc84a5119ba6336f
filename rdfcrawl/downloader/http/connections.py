"""Connections to servers: made within the guard and the time limit, kept while idle.

The guard judges each address when it is connected to. If hosts share a delay by
address, a connection to the turn's address is used, even if name servers meanwhile
return another.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
import sys
from collections import OrderedDict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

from aiohappyeyeballs import (
    AddrInfoType,
    remove_addr_infos,
    start_connection,
)

from rdfcrawl.downloader.http.protocol import ResponseProtocol
from rdfcrawl.downloader.http.request_heads import HttpServer
from rdfcrawl.downloader.network_faults import (
    ConnectFailure,
    ConnectionFailure,
    ConnectTimeout,
    NameFailure,
    TlsFailure,
    caused,
)
from rdfcrawl.frontier.request_turns import NotSentError, SoloTurn
from rdfcrawl.uri.guard.gate import ConnectionGate, GuardBlocked
from rdfcrawl.uri.guard.resolver import GuardedResolver

MAX_OTHERS: Final = 4  # kept connections to other addresses of a host
_IDLE_PART: Final = 2  # half of the files that a process may open
_NEXT_ADDRESS_SECS: Final = 0.25  # RFC 8305 8: until the next address is tried, too


@dataclass(slots=True, eq=False)
class ServerDialer:
    """Make connections to servers.

    Args:
        names: resolves names, and leaves out refused addresses.
        gate: checks each address that is connected to.
        make: makes the protocol of a connection.
        connect_secs: for name lookup, connecting and the TLS handshake.
        verifies: refuse certificates that cannot be verified.
    """

    names: GuardedResolver
    gate: ConnectionGate
    make: Callable[[], ResponseProtocol]
    connect_secs: float
    verifies: bool
    _tls: ssl.SSLContext | None = None

    async def dial(self, server: HttpServer, address: str) -> ResponseProtocol:
        """Return a new connection to an address of a server; by default, to any.

        Raises:
            ConnectionFailure: there is none.
            GuardBlocked: the guard refuses all addresses.
            UnicodeError: the host cannot be a name.
        """
        try:
            async with asyncio.timeout(self.connect_secs):
                return await self._dial(server, address)
        except TimeoutError as exc:
            text = f"no connection to {server.host} after {self.connect_secs:g} s"
            raise ConnectTimeout(text) from exc

    async def _dial(self, server: HttpServer, address: str) -> ResponseProtocol:
        try:
            found = await self.names.resolve(server.host, server.port, address)
        except GuardBlocked:
            raise
        except OSError as exc:
            raise NameFailure(server.host, exc) from exc
        left = [_address_info(each, server.port) for each in found]
        failure: ConnectionFailure = ConnectFailure(f"{server.host} has no address")
        while left:
            sock, peer = await self._connected(server, left)
            try:
                return await self._open(server, sock)
            except ssl.SSLError as exc:
                failure = caused(TlsFailure(f"no TLS with {server.host}: {exc}"), exc)
            except OSError as exc:
                failure = caused(ConnectFailure(_text_of(server, exc)), exc)
            remove_addr_infos(left, peer)
        raise failure

    async def _connected(
        self, server: HttpServer, addresses: list[AddrInfoType]
    ) -> tuple[socket.socket, Any]:
        """Return a socket that is connected to one of the addresses, and which."""
        try:
            sock = await start_connection(
                addresses,
                happy_eyeballs_delay=_NEXT_ADDRESS_SECS,
                socket_factory=self.gate.open_socket,
            )
            with ExitStack() as stack:
                stack.callback(sock.close)
                peer = sock.getpeername()  # fails if the connection was lost at once
                stack.pop_all()
        except GuardBlocked:
            raise
        except OSError as exc:
            raise ConnectFailure(_text_of(server, exc)) from exc
        else:
            return sock, peer

    async def _open(self, server: HttpServer, sock: socket.socket) -> ResponseProtocol:
        loop = asyncio.get_running_loop()
        transport: asyncio.Transport | None = None
        try:
            if server.is_tls:
                transport, connection = await loop.create_connection(
                    self.make,
                    sock=sock,
                    ssl=self._tls_context(),
                    server_hostname=server.host.rstrip("."),
                )
            else:
                transport, connection = await loop.create_connection(
                    self.make, sock=sock
                )
        finally:
            # uvloop closes the descriptors of its transports itself. A socket object
            # attached too late would close the same number once more when freed,
            # perhaps that of another connection.
            is_lost = transport is None or transport.is_closing()
            if is_lost and type(loop).__module__.startswith("uvloop"):
                sock.detach()
        connection.server = server
        return connection

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:  # takes 20 ms
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
            if not self.verifies:
                self._tls.check_hostname = False
                self._tls.verify_mode = ssl.CERT_NONE
        return self._tls


class ConnectionPool:
    """Idle connections of a process; used ones belong to their users.

    Args:
        dialer: makes further connections.
        keep_secs: lifetime of an idle connection.
        most: idle connections; further ones are closed, those that were used longest
            ago first.
    """

    def __init__(self, dialer: ServerDialer, keep_secs: float, most: int) -> None:
        self._dialer = dialer
        self._keep_secs = keep_secs
        self._most = min(most, _n_files() // _IDLE_PART)
        self._n_idle = 0
        # the servers that were used longest ago first; none is empty
        self._idle: OrderedDict[HttpServer, list[ResponseProtocol]] = OrderedDict()
        self._used: set[ResponseProtocol] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def connect(self, server: HttpServer, turn: SoloTurn) -> ResponseProtocol:
        """Return a connection, on which a request is sent without delay.

        Raises:
            NotSentError: the turn is over.
            Exception: see `ServerDialer.dial`.
        """
        connection = self._take(server, turn.address)
        if connection is None:
            connection = await self._dialer.dial(server, turn.address)
        if not turn.is_good():
            self.put_back(connection)
            raise NotSentError
        turn.sent()
        self._used.add(connection)
        return connection

    def _take(self, server: HttpServer, address: str) -> ResponseProtocol | None:
        """Return an idle connection to a server, or to one of its addresses."""
        idle = self._idle.get(server, [])
        n_others = 0
        while idle and n_others <= MAX_OTHERS:
            connection = idle.pop()
            self._n_idle -= 1
            if not idle:
                del self._idle[server]
            if self._is_usable(connection):
                if not address or connection.address == address:
                    return connection
                n_others += 1
            connection.close()
        return None

    def put_back(self, connection: ResponseProtocol) -> None:
        """Keep a connection whose response is complete; close any other."""
        self._used.discard(connection)
        if connection.should_close or self._is_closed:
            connection.close()
            connection.forget_body()
            return
        connection.become_idle()
        server = connection.server
        self._idle.setdefault(server, []).append(connection)
        self._idle.move_to_end(server)
        self._n_idle += 1
        if self._n_idle > self._most:
            self._drop_first()
        if self._timer is None:
            self._start_timer()

    def _drop_first(self) -> None:
        """Close a connection to the server that was used longest ago."""
        server, idle = next(iter(self._idle.items()))
        idle.pop(0).close()
        self._n_idle -= 1
        if not idle:
            del self._idle[server]

    def _sweep(self) -> None:
        """Close the connections that were idle for too long, or that have ended."""
        self._timer = None
        for server, idle in list(self._idle.items()):
            kept = [each for each in idle if self._is_usable(each)]
            for each in idle:
                if each not in kept:
                    each.close()
            self._n_idle += len(kept) - len(idle)
            if kept:
                self._idle[server] = kept
            else:
                del self._idle[server]
        if self._idle:
            self._start_timer()

    def _is_usable(self, connection: ResponseProtocol) -> bool:
        is_fresh = monotonic() - connection.idle_since < self._keep_secs
        return is_fresh and connection.is_connected()

    def _start_timer(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._keep_secs, self._sweep)

    async def close(self) -> None:
        """Close all connections, including used ones."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        idle = (each for group in self._idle.values() for each in group)
        for connection in [*idle, *self._used]:
            connection.abort()
        self._idle.clear()
        self._n_idle = 0
        await asyncio.sleep(0)  # transports end in the next cycle


def _n_files() -> int:
    """Return how many files this process may open."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit


def _address_info(address: str, port: int) -> AddrInfoType:
    kind, protocol = socket.SOCK_STREAM, socket.IPPROTO_TCP
    if ":" in address:
        return socket.AF_INET6, kind, protocol, "", (address, port, 0, 0)
    return socket.AF_INET, kind, protocol, "", (address, port)


def _text_of(server: HttpServer, error: OSError) -> str:
    return f"no connection to {server.host}:{server.port}: {error.strerror or error}"
