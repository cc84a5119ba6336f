"""The clock of one visit, and an interruptible sleep."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import Future


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
    """

    def __init__(
        self, sleepers: InterruptibleSleep, *, delay_secs: float, max_secs: float
    ) -> None:
        self._sleepers = sleepers
        self._delay_secs = delay_secs
        self.next_at = time.monotonic()
        self.ends_at = self.next_at + max_secs

    async def turn(self, not_before: float = 0.0) -> bool:
        """Wait for the turn of the next request.

        Args:
            not_before: monotonic time of another lower bound.

        Returns:
            False if the visit is out of time or stopped.
        """
        starts_at = max(self.next_at, not_before)
        now = time.monotonic()
        if self._sleepers.is_stopping or max(starts_at, now) >= self.ends_at:
            return False
        while starts_at > now:  # a timer may fire a clock tick early
            await self._sleepers.sleep(starts_at - now)
            if self._sleepers.is_stopping:
                return False
            now = time.monotonic()
        self.next_at = now + self._delay_secs
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
