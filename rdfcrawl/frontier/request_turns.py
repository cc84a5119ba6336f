"""Turns to send requests to a host.

A request takes a turn, is sent while that holds, and reports when it was sent: the next
request to the same host, whoever makes it, counts its delay from there.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rdfcrawl.core.visits import Visit

Take = Callable[[str], Awaitable["SoloTurn | None"]]
"""Waits for the turn to ask for a URL; None if there is none."""

# It goes on while the machine sleeps, where the system has such a clock: whoever wakes
# up must notice.
steady_time: Callable[[], float] = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME)
    if hasattr(time, "CLOCK_BOOTTIME")
    else time.monotonic
)


class NotSentError(Exception):
    """The turn of a request was over before it could be sent."""


class HostRestsError(Exception):
    """A host has refused others, and is left alone for longer than requests wait."""

    def __init__(self, secs: float) -> None:
        super().__init__(f"the host is left alone for {secs:.0f} s")
        self.secs = secs


class SoloTurn:
    """A turn that nobody competes for.

    Attributes:
        address: where the request is to go; empty if wherever its host is.
        sent_at: monotonic time when the request was sent; 0 if it is not known.
    """

    __slots__ = ("address", "sent_at")

    def __init__(self) -> None:
        self.address = ""
        self.sent_at = 0.0

    def is_good(self) -> bool:
        """Return whether the request may still be sent, now."""
        return True

    def sent(self) -> None:
        """Store the time when the request is written to its connection."""

    def end(self) -> None:
        """End the turn: the request is over, and others may have theirs."""

    def rest(self, delay_secs: float) -> None:
        """Say that the host needs a longer delay after the request that was sent."""

    async def again(self) -> bool:
        """Take another turn for the same request; False if there is none."""
        return True

    async def elsewhere(self, url: str) -> bool:
        """Take a turn to request a URL at another address than `address`, if any."""
        del url
        return False


FREE: Final = SoloTurn()


class SoloTurns:
    """A source of turns for requests that compete with no others."""

    async def of_visit(
        self, visit: Visit, url: str, *, is_for_rules: bool = False
    ) -> SoloTurn | None:
        """Wait for the turn of a visit to send a request to its host.

        Args:
            visit: of the host.
            url: that is requested.
            is_for_rules: to request its robots.txt, which may name a delay that counts
                from then on.

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
            delay_secs: least time from the last request to its host, if that is longer
                than what is known of the host.
            visit: for which the URL is requested; perhaps that of its host.

        Returns:
            None if the worker stops.

        Raises:
            HostRestsError: the host has refused, and is left alone for now.
        """
        del url, delay_secs, visit
        return FREE
