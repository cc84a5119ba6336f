"""Connections to FTP servers, kept between requests.

`ftplib` blocks in threads; objects of the crawler (the spool, the response) are used
only in the event loop, which requests one block after another. So a slow disk slows
down the server, and nothing is read ahead.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from rdfcrawl.downloader.ftp.connection import FtpConnection
from rdfcrawl.downloader.ftp.logins import FtpLogins, anonymous
from rdfcrawl.downloader.ftp.protocol import FtpSettings

if TYPE_CHECKING:
    from rdfcrawl.downloader.ftp.address import FtpAddress
    from rdfcrawl.downloader.options import FetchOptions
    from rdfcrawl.uri.guard.gate import ConnectionGate

T = TypeVar("T")
_Key = tuple[str, str, int, str, str]


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
