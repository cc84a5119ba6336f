"""Further addresses of hosts, after silent ones."""

from __future__ import annotations

import time
from typing import Final

from rdfcrawl.downloader.client import HttpClient, HttpResponse, RequestOptions
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.frontier.request_turns import FREE, SoloTurn
from rdfcrawl.uri import host_of

SILENT_SECS: Final = 300.0  # for so long, a silent address is tried last
MAX_SILENT: Final = 10_000


class OtherAddresses:
    """A client that tries further addresses of a host after a silent one.

    For a while, later requests then try the others first.
    """

    def __init__(self, exchange: HttpClient, spool: Spool) -> None:
        self._exchange = exchange
        self._spool = spool
        self._silent: dict[tuple[str, str], float] = {}  # host, address -> until

    async def get(
        self, url: str, options: RequestOptions, turn: SoloTurn = FREE
    ) -> HttpResponse:
        """See `HttpClient.get`."""
        place, now = (host_of(url), turn.address), time.monotonic()
        if self._silent.get(place, 0.0) > now:
            if not await turn.elsewhere(url) and not await turn.take_another():
                return HttpResponse(is_local_failure=True)
            return await self._exchange.get(url, options, turn)
        response = await self._exchange.get(url, options, turn)
        is_unanswered = (
            response.is_host_fault and not response.status and not turn.sent_at
        )
        if not (is_unanswered and turn.address and await turn.elsewhere(url)):
            return response
        if len(self._silent) >= MAX_SILENT:
            self._silent.clear()
        self._silent[place] = now + SILENT_SECS
        self._spool.release(response)
        return await self._exchange.get(url, options, turn)
