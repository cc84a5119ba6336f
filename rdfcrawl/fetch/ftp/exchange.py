"""Files and directories of FTP servers, as answers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from rdfcrawl.errors import Fault, Reason, SourceFault
from rdfcrawl.fetch.answer import HttpResponse
from rdfcrawl.fetch.ftp.address import parse_address
from rdfcrawl.fetch.ftp.logins import NO_LOGINS
from rdfcrawl.fetch.ftp.pool import FtpLimits, FtpPool
from rdfcrawl.fetch.ftp.protocol import FtpProtocolError, NoConnection
from rdfcrawl.fetch.ftp.request import FtpRequest
from rdfcrawl.fetch.network_faults import note_fault
from rdfcrawl.fetch.system_errors import errno_of, is_untimely
from rdfcrawl.fetch.watch import TimeoutWatchdog
from rdfcrawl.guard.gate import ConnectionGate
from rdfcrawl.request_turns import FREE

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from rdfcrawl.fetch.answer import RequestOptions
    from rdfcrawl.fetch.ftp.logins import FtpLogins
    from rdfcrawl.fetch.options import FetchOptions
    from rdfcrawl.fetch.spool import Spool
    from rdfcrawl.fetch.watch import WatchedTransfer
    from rdfcrawl.request_turns import SoloTurn


class FtpExchange:
    """Ask FTP servers for files and directories; an asynchronous context manager.

    A directory is an LDP container in N-Triples; one that is asked for without its
    slash redirects to itself with one.

    Args:
        logins: users and passwords; others are anonymous.
        gate: judges each connection; one of its own by `options.guard`, if not given.
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
        self.spool = spool
        limits = limits or FtpLimits()
        self.pool = FtpPool(
            options, logins, gate or ConnectionGate(options.guard), limits
        )
        self._watch = TimeoutWatchdog(options)
        self._room = asyncio.Semaphore(limits.n_transfers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        self._watch.close()
        self.pool.close()

    def flowing(self) -> AbstractSet[object]:
        """Return the tasks whose transfers make progress."""
        return self._watch.flowing()

    async def get(
        self, url: str, ask: RequestOptions, turn: SoloTurn = FREE
    ) -> HttpResponse:
        """See `HttpClient.get`; `ftp.replies` maps replies to statuses."""
        answer = HttpResponse()
        async with self._room:
            with self._watch.watching(url, ask, answer, _note_failure) as transfer:
                await self._get(url, ask, answer, transfer, turn)
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
        request = FtpRequest(
            self.pool, self.spool, address, ask, answer, transfer, turn
        )
        try:
            await request.run()
        finally:
            request.end()


def _note_failure(answer: HttpResponse, exc: Exception) -> bool:
    """Set the fault of a response; return False if the web cannot have caused it."""
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
