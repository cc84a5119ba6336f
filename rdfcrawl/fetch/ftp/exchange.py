"""Files and directories of FTP servers, as answers.

`ftplib` waits in threads; what belongs to the crawler (the spool, the answer) is
touched in the event loop alone, which asks for one block after another. So a slow disk
slows the server down, and nothing is read ahead.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rdfcrawl.errors import Fault, Reason, SourceFault
from rdfcrawl.fetch.answer import HttpResponse
from rdfcrawl.fetch.ftp.address import parse_address
from rdfcrawl.fetch.ftp.connection import FtpConnection
from rdfcrawl.fetch.ftp.logins import NO_LOGINS, anonymous
from rdfcrawl.fetch.ftp.protocol import FtpProtocolError, FtpSettings, NoConnection
from rdfcrawl.fetch.ftp.request import FtpRequest
from rdfcrawl.fetch.network_faults import note_fault
from rdfcrawl.fetch.parts import UnfitPart
from rdfcrawl.fetch.system_errors import errno_of, is_untimely
from rdfcrawl.fetch.watch import TimeoutWatchdog
from rdfcrawl.guard.gate import ConnectionGate
from rdfcrawl.turns import FREE, NotSentError

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from rdfcrawl.fetch.answer import RequestOptions
    from rdfcrawl.fetch.ftp.address import FtpAddress
    from rdfcrawl.fetch.ftp.logins import FtpLogin, FtpLogins
    from rdfcrawl.fetch.options import FetchOptions
    from rdfcrawl.fetch.spool import Spool
    from rdfcrawl.fetch.watch import WatchedTransfer
    from rdfcrawl.turns import SoloTurn

T = TypeVar("T")
_Key = tuple[str, str, int, str, str]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FtpLimits:
    """Limits that HTTP has no counterpart of.

    Attributes:
        n_entries: of one directory.
        n_transfers: at the same time; each may hold a thread.
        stall_secs: longest silence within a transfer, before it is begun anew.
    """

    n_entries: int = 1_000_000
    n_transfers: int = 128
    stall_secs: float = 60.0


class FtpExchange:
    """Asks FTP servers; an asynchronous context manager.

    It asks for files and directories alike. A directory is an LDP container in
    N-Triples; one that is asked for without its slash redirects to itself with one.
    Connections are made when they are needed, and kept for a while.

    Args:
        options: limits and manners.
        spool: keeps the bodies.
        logins: users and passwords; others are anonymous.
        gate: judges each connection; one of its own by `options.guard`, if not given.
        limits: further ones.
    """

    def __init__(
        self,
        options: FetchOptions,
        spool: Spool,
        *,
        logins: FtpLogins = NO_LOGINS,
        gate: ConnectionGate | None = None,
        limits: FtpLimits | None = None,
    ) -> None:
        self.options = options
        self.spool = spool
        self.limits = limits or FtpLimits()
        self._logins = logins
        self._gate = gate or ConnectionGate(options.guard)
        self._anonymous = anonymous(options.user_agent)
        self._manners: FtpSettings | None = None
        self._watch: TimeoutWatchdog | None = None
        self._room = asyncio.Semaphore(self.limits.n_transfers)
        self._threads = ThreadPoolExecutor(
            self.limits.n_transfers, thread_name_prefix="ftp"
        )
        self._idle: dict[_Key, tuple[FtpConnection, asyncio.TimerHandle]] = {}
        self._used: set[FtpConnection] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        if self._watch is not None:
            self._watch.close()
        for key in list(self._idle):
            self._forget(key)
        for connection in self._used:
            connection.abort()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def flowing(self) -> AbstractSet[object]:
        """Return the tasks whose transfers come forward."""
        return self._watch.flowing() if self._watch is not None else frozenset()

    async def get(
        self, url: str, ask: RequestOptions, turn: SoloTurn = FREE
    ) -> HttpResponse:
        """See `Exchange.get`; the statuses are those of `ftp.replies`."""
        answer = HttpResponse()
        async with self._room:
            if self._watch is None:
                self._watch = TimeoutWatchdog(self.options)
            transfer = self._watch.begin(ask)
            try:
                await self._get(url, ask, answer, transfer, turn)
            except NotSentError:
                answer.is_unasked = True
            except UnfitPart:
                answer.is_anew = True
            except asyncio.CancelledError:
                if not transfer.is_own_cancel():
                    raise
                answer.fault = transfer.verdict
                answer.is_host_fault = transfer.is_silent
            except Exception as exc:  # the edge: whatever it was, the visit goes on
                if not _note_failure(answer, exc):
                    logger.exception("Unexpected error on %(url)s", {"url": url})
            finally:
                self._watch.end(transfer)
        return answer

    async def _get(
        self,
        url: str,
        ask: RequestOptions,
        answer: HttpResponse,
        transfer: WatchedTransfer,
        turn: SoloTurn,
    ) -> None:
        if ask.data:
            answer.status = 405  # there is nothing that it could be sent to
            return
        address = parse_address(url)
        if address.is_endless:
            detail = "the same directories three times in a row"
            raise SourceFault(Reason.PAGING_LOOP, detail)
        course = FtpRequest(self, address, ask, answer, transfer, turn)
        try:
            await course.run()
        finally:
            course.end()

    async def connect(
        self, address: FtpAddress, login: FtpLogin, at: str = ""
    ) -> FtpConnection:
        """Return a connection that is logged in: a kept one, or a new one.

        Args:
            address: of the server.
            login: of the user.
            at: the address of its host that is dialled; empty for any.
        """
        while (kept := self._idle.pop(_key(address, login, at), None)) is not None:
            connection, timer = kept
            timer.cancel()
            if connection.is_quiet():
                self._used.add(connection)
                return connection
            connection.abort()
        if self._manners is None:
            self._manners = FtpSettings(
                connect_secs=self.options.connect_secs,
                stall_secs=self.limits.stall_secs,
                gate=self._gate,
                tls=_tls_context(verifies=self.options.verify_certificates),
            )
        connection = FtpConnection(address, login, self._manners, at)
        self._used.add(connection)
        try:
            await self.call(connection, connection.open)
        except BaseException:
            self.drop(connection)
            raise
        return connection

    async def call(
        self, connection: FtpConnection, function: Callable[..., T], *arguments: Any
    ) -> T:
        """Do something with a connection in a thread; see `FtpConnection.run`."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(
                self._threads, connection.run, function, *arguments
            )
        except asyncio.CancelledError:
            connection.abort()
            raise

    def keep(
        self,
        address: FtpAddress,
        login: FtpLogin,
        connection: FtpConnection,
        at: str = "",
    ) -> None:
        """Keep a connection for the next request to the same server."""
        self._used.discard(connection)
        key = _key(address, login, at)
        self._forget(key)
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self.options.keep_alive_secs, self._forget, key)
        self._idle[key] = connection, timer

    def drop(self, connection: FtpConnection) -> None:
        """Close a connection, in whatever state it is."""
        self._used.discard(connection)
        connection.abort()

    def login_for(self, address: FtpAddress) -> FtpLogin:
        """Return who the crawler is on a server."""
        return self._logins.of(address.host, address.port) or self._anonymous

    def _forget(self, key: _Key) -> None:
        kept = self._idle.pop(key, None)
        if kept is not None:
            kept[1].cancel()
            kept[0].leave()


def _key(address: FtpAddress, login: FtpLogin, at: str) -> _Key:
    return address.scheme, address.host, address.port, login.user, at


def _tls_context(*, verifies: bool) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not verifies:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _note_failure(answer: HttpResponse, exc: Exception) -> bool:
    """Set the fault of an answer; False if the web cannot have caused it."""
    answer.errno = errno_of(exc)
    if isinstance(exc, SourceFault):
        note_fault(answer, exc)
    elif isinstance(exc, NoConnection):
        answer.fault = exc.fault
        answer.is_host_fault = True
        answer.is_untimely = is_untimely(exc)
    elif isinstance(exc, FtpProtocolError):
        answer.fault = Fault(Reason.BAD_HTTP, str(exc)[: Fault.MAX_DETAIL])
    else:
        answer.fault = Fault(Reason.INTERNAL, type(exc).__name__)
        return False
    return True
