"""How contexts are asked for: limits, hosts, and their turns."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rdfcrawl.leaving import Leaving
from rdfcrawl.uri import host_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rdfcrawl.fetch.answer import Answer, Ask, Exchange
    from rdfcrawl.fetch.context_cache import Turns


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextOptions:
    """How contexts are fetched and kept; times in seconds, sizes in bytes.

    Attributes:
        delay_secs: least time between two requests to a host for contexts.
        max_delay_secs: longest `Crawl-delay` that is obeyed; a host that asks for
            more is not asked for contexts.
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
    max_delay_secs: float = 60.0
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts:
    """How hosts are told apart, and waited for.

    Attributes:
        key_of: politeness key of a URL.
        prime: called with a URL before its key is asked for.
        sleep: waits before and after a request to a host that is being visited.
        is_denied: tells which URLs the operator wants never to be asked for.
        leaving: hosts that nothing is asked of, not even robots.txt.
    """

    key_of: Callable[[str], str] = host_of
    prime: Callable[[str], Awaitable[None]] | None = None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    is_denied: Callable[[str], bool] = lambda _: False
    leaving: Leaving = field(default_factory=Leaving)


class PacedExchange:
    """An exchange whose requests wait for the turn of their host."""

    def __init__(
        self, exchange: Exchange, turns: Turns, hosts: Hosts, *, delay_secs: float
    ) -> None:
        self._exchange = exchange
        self._turns = turns
        self._hosts = hosts
        self._delay_secs = delay_secs

    async def get(self, url: str, ask: Ask) -> Answer:
        """See `Exchange.get`."""
        await self._turns.take(self._hosts.key_of(url), self._delay_secs)
        return await self._exchange.get(url, ask)
