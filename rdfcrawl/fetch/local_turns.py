"""Turns where one process makes all requests: a document for a command."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from rdfcrawl.request_turns import FREE, SoloTurn, SoloTurns
from rdfcrawl.uri import host_of

if TYPE_CHECKING:
    from rdfcrawl.records import Visit

_MAX_HOSTS: Final = 1000


class LocalTurns(SoloTurns):
    """Keep the delay between the requests of this process to a host."""

    def __init__(self) -> None:
        self._next_at: dict[str, float] = {}

    async def of_url(
        self, url: str, delay_secs: float = 0.0, *, visit: Visit | None = None
    ) -> SoloTurn | None:
        """See `SoloTurns.of_url`."""
        del visit
        if delay_secs <= 0:
            return FREE
        now, host = time.monotonic(), host_of(url)
        if len(self._next_at) > _MAX_HOSTS:
            kept = {host: at for host, at in self._next_at.items() if at > now}
            self._next_at = kept
        starts_at = max(now, self._next_at.get(host, now))
        self._next_at[host] = starts_at + delay_secs
        await asyncio.sleep(starts_at - now)
        return FREE
