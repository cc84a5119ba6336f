"""The delay between the requests of a visit, adapted to its host.

It grows after slow or failed responses, and never falls below the delay of the settings
and robots.txt. A host without a delay, such as one of the operator's, keeps none.
"""

from __future__ import annotations

import asyncio
import time
from asyncio import Future
from dataclasses import dataclass
from typing import Final

from rdfcrawl.core.options.table import OptionsTable, number

_CLOSE: Final = 1.05  # relative difference that is ignored


class InterruptibleSleep:
    """Sleep that ends early when the worker stops."""

    def __init__(self) -> None:
        self.is_stopping = False
        self._futures: set[Future[None]] = set()

    async def sleep(self, secs: float) -> None:
        """Wait for `secs`, or until `stop`."""
        if secs <= 0 or self.is_stopping:
            return
        loop = asyncio.get_running_loop()
        future: Future[None] = loop.create_future()
        timer = loop.call_later(secs, _wake, future)
        self._futures.add(future)
        try:
            await future
        finally:
            timer.cancel()
            self._futures.discard(future)

    def stop(self) -> None:
        """End all waits, present and future."""
        self.is_stopping = True
        for future in self._futures:
            _wake(future)


class HostDelay:
    """When the next request of a visit may start.

    Uses the monotonic clock: uvloop's own clock stands still while the loop is busy,
    and would shorten the next gap.

    Attributes:
        next_at: monotonic time of the earliest next request.
        ends_at: monotonic time of the latest next request.
        is_used: a request had its turn.
    """

    def __init__(
        self, sleepers: InterruptibleSleep, *, delay_secs: float, max_secs: float
    ) -> None:
        self._sleepers = sleepers
        self._delay_secs = delay_secs
        self.next_at = time.monotonic()
        self.ends_at = self.next_at + max_secs
        self.is_used = False

    async def turn(self, not_before: float = 0.0) -> bool:
        """Wait for the turn of the next request.

        Args:
            not_before: monotonic time of another lower bound.

        Returns:
            False if the visit is out of time or stopped.
        """
        while not self.take(not_before):  # a timer may fire a clock tick early
            starts_at, now = max(self.next_at, not_before), time.monotonic()
            if self._sleepers.is_stopping or max(starts_at, now) >= self.ends_at:
                return False
            await self._sleepers.sleep(starts_at - now)
        return True

    def take(self, not_before: float) -> bool:
        """Take the turn of the next request if it is due; return whether it is."""
        now = time.monotonic()
        if self._sleepers.is_stopping or now >= self.ends_at:
            return False
        if now < self.next_at or now < not_before:
            return False
        self.next_at = now + self._delay_secs
        self.is_used = True
        return True

    def note_sent(self, at: float) -> None:
        """Count the delay of the last request from the time of sending, if known.

        Args:
            at: monotonic time; 0 if unknown.
        """
        if at:
            self.next_at = max(self.next_at, at + self._delay_secs)

    def is_over(self) -> bool:
        """Return whether no request may start: out of time, or stopped."""
        starts_at = max(self.next_at, time.monotonic())
        return self._sleepers.is_stopping or starts_at >= self.ends_at

    def change(self, delay_secs: float) -> None:
        """Change the delay between requests, starting with the last request."""
        self.next_at += delay_secs - self._delay_secs
        self._delay_secs = delay_secs

    def rest(self, secs: float) -> None:
        """Delay the next request by at least `secs` from now."""
        self.next_at = max(self.next_at, time.monotonic() + secs)

    def rest_secs(self) -> float:
        """Return how long the host still rests."""
        return max(0.0, self.next_at - time.monotonic())


def _wake(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceOptions(OptionsTable):
    """How the delay of a host follows its responses."""

    factor: float = number("DELAY_FACTOR", 0.0, 0, 100)
    """multiple of the last response time for which a host rests at least;
    see [pace](../explanation/politeness.md#rules-for-all-requests). 0:
    disabled"""
    max_secs: float = number("DELAY_MAX_SECS", 30.0, 0, 3600)
    """longest delay of that kind, and of hosts that fail, whose delay doubles with each
    failure"""


def next_delay(
    delay_secs: float,
    *,
    least_secs: float,
    response_secs: float,
    has_failed: bool,
    options: PaceOptions,
) -> float:
    """Return the delay after a response; 0 stays 0.

    A failure doubles the delay; each later response halves the difference.

    Args:
        delay_secs: present delay.
        least_secs: delay of settings and robots.txt.
        response_secs: from the request to the end of the response.
        has_failed: the server failed, or did not respond in time.
        options: of the crawl.

    >>> options, delay, delays = PaceOptions(max_secs=3), 1.0, []
    >>> for has_failed in (True, True, False, False, False):
    ...     delay = next_delay(delay, least_secs=1, response_secs=0,
    ...         has_failed=has_failed, options=options)
    ...     delays.append(delay)
    >>> delays
    [2.0, 3, 2.0, 1.5, 1.25]
    """
    wanted = max(least_secs, min(options.max_secs, options.factor * response_secs))
    if delay_secs <= 0:
        return 0.0
    if has_failed:
        return max(wanted, delay_secs, min(options.max_secs, 2 * delay_secs))
    if delay_secs <= wanted * _CLOSE:
        return wanted
    return (delay_secs + wanted) / 2
