"""Turns to send requests to a host, and waits between requests.

A request takes a turn, is sent during it, and reports when it was sent: the delay of
the next request to the host, by any worker, counts from there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from rdfcrawl.core.visits import Visit


Take = Callable[[str], Awaitable["SoloTurn | None"]]
"""Waits for the turn to request a URL; None if there is none."""

# Includes the time in which the machine sleeps, where the system has such a clock, so
# that a worker notices it.
steady_time: Callable[[], float] = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME)
    if hasattr(time, "CLOCK_BOOTTIME")
    else time.monotonic
)


class NotSentError(Exception):
    """The turn of a request ended before the request was sent."""


class HostRestsError(Exception):
    """A host has refused requests, and rests for longer than requests wait."""

    def __init__(self, secs: float) -> None:
        super().__init__(f"the host rests for {secs:.0f} s")
        self.secs = secs


class SoloTurn:
    """A turn without competition.

    Attributes:
        address: address to connect to; empty for any address of the host.
        sent_at: monotonic time when the request was sent; 0 if unknown.
    """

    __slots__ = ("address", "sent_at")

    def __init__(self) -> None:
        self.address = ""
        self.sent_at = 0.0

    def is_good(self) -> bool:
        """Return whether the request may still be sent now."""
        return True

    def sent(self) -> None:
        """Record that the request is written to its connection now."""

    def end(self) -> None:
        """End the turn after the request."""

    def rest(self, delay_secs: float) -> None:
        """Report a longer delay of the host, counted from the sent request."""

    async def take_another(self) -> bool:
        """Take another turn for the same request; False if there is none."""
        return True

    async def elsewhere(self, url: str) -> bool:
        """Take a turn for a URL at an address other than `address`, if needed."""
        del url
        return False


FREE: Final = SoloTurn()


class SoloTurns:
    """Turns of requests without competition."""

    async def of_visit(
        self, visit: Visit, url: str, *, is_for_rules: bool = False
    ) -> SoloTurn | None:
        """Wait for the turn of a visit to send a request to its host.

        Args:
            visit: of the host.
            url: to be requested.
            is_for_rules: the request is for its robots.txt, which may set a delay.

        Returns:
            None if the lease is lost, or the worker stops.
        """
        del url, is_for_rules
        return None if visit.is_lost else FREE

    async def of_url(
        self, url: str, delay_secs: float = 0.0, *, visit: Visit | None = None
    ) -> SoloTurn | None:
        """Wait for a turn to request a URL.

        Args:
            url: on any host.
            delay_secs: least time from the last request to its host, if longer than the
                known one.
            visit: that needs the URL; may be that of its host.

        Returns:
            None if the worker stops.

        Raises:
            HostRestsError: the host has refused, and rests.
        """
        del url, delay_secs, visit
        return FREE


class WorkerSleep(Protocol):
    """Waits that may end when the worker stops."""

    is_stopping: bool

    async def sleep(self, secs: float) -> None:
        """Wait for `secs`, or until the worker stops."""


class PlainSleep:
    """Waits that do not end when the worker stops."""

    is_stopping = False

    async def sleep(self, secs: float) -> None:
        """Wait for `secs`."""
        await asyncio.sleep(secs)
