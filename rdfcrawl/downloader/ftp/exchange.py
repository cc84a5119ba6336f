"""Files and directories of FTP servers, as responses."""

from __future__ import annotations

import asyncio
from typing import Self

from rdfcrawl.core.errors import Fault, Reason, SourceFault
from rdfcrawl.downloader.client import HttpResponse, RequestOptions
from rdfcrawl.downloader.ftp.address import FtpLogins, parse_address
from rdfcrawl.downloader.ftp.connection import FtpLimits, FtpPool
from rdfcrawl.downloader.ftp.protocol import FtpProtocolError, NoConnection
from rdfcrawl.downloader.ftp.request import FtpRequest
from rdfcrawl.downloader.network_faults import errno_of, is_untimely, note_fault
from rdfcrawl.downloader.options import FetchOptions
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.downloader.watch import WatchedExchange
from rdfcrawl.frontier.request_turns import FREE, SoloTurn
from rdfcrawl.uri.guard.gate import ConnectionGate


class FtpExchange(WatchedExchange):
    """Request files and directories from FTP servers; an asynchronous context manager.

    A directory is an LDP container in N-Triples; a URL of a directory without a
    trailing slash redirects to the one with it.

    Args:
        logins: users and passwords; others are anonymous.
        gate: checks each connection; built from `options.guard` if not given.
    """

    def __init__(
        self,
        options: FetchOptions,
        spool: Spool,
        *,
        logins: FtpLogins | None = None,
        gate: ConnectionGate | None = None,
        limits: FtpLimits | None = None,
    ) -> None:
        self.spool = spool
        limits = limits or FtpLimits()
        self.pool = FtpPool(
            options,
            logins or FtpLogins(),
            gate or ConnectionGate(options.guard),
            limits,
        )
        super().__init__(options)
        self._room = asyncio.Semaphore(limits.n_transfers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await super().close()
        self.pool.close()

    async def get(
        self, url: str, options: RequestOptions, turn: SoloTurn = FREE
    ) -> HttpResponse:
        """See `HttpClient.get`; `ftp.protocol` maps replies to statuses."""
        if options.data:
            return HttpResponse(status=405)  # FTP has no other methods
        response = HttpResponse()
        watching = self._watch.watching(url, options, response, _note_failure)
        async with self._room:
            with watching as transfer:
                address = parse_address(url)
                if address.is_endless:
                    detail = "the same directories three times in a row"
                    raise SourceFault(Reason.PAGING_LOOP, detail)
                await FtpRequest(
                    self.pool, self.spool, address, options, response, transfer, turn
                ).run()
        return response


def _note_failure(response: HttpResponse, exc: Exception) -> bool:
    """Set the fault of a response; return False if the web cannot have caused it."""
    response.errno = errno_of(exc)
    if isinstance(exc, SourceFault):
        note_fault(response, exc)
    elif isinstance(exc, NoConnection):
        response.fault = exc.fault
        response.is_host_fault = True
        response.is_untimely = is_untimely(exc)
    elif isinstance(exc, FtpProtocolError):
        response.fault = Fault(Reason.BAD_HTTP, str(exc)[: Fault.MAX_DETAIL])
    else:
        response.fault = Fault(Reason.INTERNAL, type(exc).__name__)
        return False
    return True
