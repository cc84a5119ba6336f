"""Limits on contexts, and which hosts are asked for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rdfcrawl.frontier.blocked_hosts import BlockedHosts
from rdfcrawl.request_turns import FREE, SoloTurn, SoloTurns
from rdfcrawl.uri import host_of

if TYPE_CHECKING:
    from rdfcrawl.fetch.own_trouble import OwnTrouble
    from rdfcrawl.visits import Visit

_MAX_HOSTS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextOptions:
    """How contexts are fetched and kept; times in seconds, sizes in bytes.

    Attributes:
        delay_secs: least time between two requests to a host.
        load_secs: for all that one load takes, waits and redirects included.
        timeout_secs: for one request.
        most_per_document: contexts that are fetched for one document.
        memory_bytes: of contexts kept by a worker.
        fresh_secs: a context is used so long, if its `Cache-Control` says nothing.
        least_fresh_secs, most_fresh_secs: bounds on what that says.
        stale_secs: it is kept so much longer, to be asked for with its validators,
            or used if nobody answers.
        fault_secs: a fault of the context is remembered so long.
        passing_secs: a fault that passes, so long.
    """

    delay_secs: float = 1.0
    load_secs: float = 60.0
    timeout_secs: float = 20.0
    most_per_document: int = 20
    memory_bytes: int = 16 * 1024 * 1024
    fresh_secs: float = 24 * 3600.0
    least_fresh_secs: float = 600.0
    most_fresh_secs: float = 7 * 24 * 3600.0
    stale_secs: float = 7 * 24 * 3600.0
    fault_secs: float = 3600.0
    passing_secs: float = 300.0


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextHosts:
    """What decides when a host is asked for a context, and whether.

    Attributes:
        is_denied: tells which URLs the operator wants never to be asked for.
        trouble: failures of our own, which are waited out; None: they are not known.
        leaving: hosts that nothing is asked of, not even robots.txt.
    """

    turns: SoloTurns = field(default_factory=LocalTurns)
    is_denied: Callable[[str], bool] = lambda _: False
    trouble: OwnTrouble | None = None
    leaving: BlockedHosts = field(default_factory=BlockedHosts)
