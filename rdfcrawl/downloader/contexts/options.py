"""Limits on contexts, and the hosts that may be requested."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rdfcrawl.frontier.queue.host_rules import BlockedHosts
from rdfcrawl.frontier.request_turns import FREE, SoloTurn, SoloTurns
from rdfcrawl.uri import host_of

if TYPE_CHECKING:
    from rdfcrawl.core.visits import Visit
    from rdfcrawl.downloader.local_failures import LocalFailures

_MAX_HOSTS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextOptions:
    """How contexts are fetched and kept; times in seconds, sizes in bytes.

    Attributes:
        delay_secs: minimum time between two requests to a host.
        load_secs: for one load, including waits and redirects.
        timeout_secs: for one request.
        most_per_document: contexts fetched for one document.
        memory_bytes: memory of a worker's contexts.
        fresh_secs: lifetime of a context without `Cache-Control`.
        least_fresh_secs, most_fresh_secs: bounds on that of `Cache-Control`.
        stale_secs: further lifetime for revalidation, or for use if the host fails.
        fault_secs: lifetime of a fault of the context.
        passing_secs: lifetime of a temporary fault.
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


@dataclass(slots=True)
class _HostClock:
    next_at: float = 0.0
    queue: asyncio.Lock = field(default_factory=asyncio.Lock)


class LocalTurns(SoloTurns):
    """Keep the delay between the requests of this process to a host.

    It counts from the actual start of a turn, which is later than planned in a busy
    process.
    """

    def __init__(self) -> None:
        self._clocks: dict[str, _HostClock] = {}

    async def of_url(
        self, url: str, delay_secs: float = 0.0, *, visit: Visit | None = None
    ) -> SoloTurn | None:
        """See `SoloTurns.of_url`."""
        del visit
        if delay_secs <= 0:
            return FREE
        if len(self._clocks) > _MAX_HOSTS:
            self._forget()
        clock = self._clocks.setdefault(host_of(url), _HostClock())
        async with clock.queue:
            now = time.monotonic()
            while now < clock.next_at:  # a timer may fire a clock tick early
                await asyncio.sleep(clock.next_at - now)
                now = time.monotonic()
            clock.next_at = now + delay_secs
        return FREE

    def _forget(self) -> None:
        """Forget the clocks of hosts without waiting requests."""
        now = time.monotonic()
        self._clocks = {
            host: clock
            for host, clock in self._clocks.items()
            if clock.next_at > now or clock.queue.locked()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextHosts:
    """Decide when and whether a host may be requested for a context.

    Attributes:
        is_denied: returns whether the operator has denied a URL.
        local_failures: local failures to wait out; None to ignore them.
        blocked_hosts: blocked hosts, which get no requests, not even for robots.txt.
    """

    turns: SoloTurns = field(default_factory=LocalTurns)
    is_denied: Callable[[str], bool] = lambda _: False
    local_failures: LocalFailures | None = None
    blocked_hosts: BlockedHosts = field(default_factory=BlockedHosts)
