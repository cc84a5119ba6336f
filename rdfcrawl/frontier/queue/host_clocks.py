"""Requests for turns on the clocks of hosts, and reports of sent requests."""

from __future__ import annotations

import asyncio
import secrets
from itertools import count
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from asyncio import Future

    from rdfcrawl.frontier.queue.turn_taker import TurnEntry, TurnTaker
    from rdfcrawl.frontier.redis.retry import RedisRetry

_REPORT_SECS: Final = 0.02  # reports are delayed by this, unless a turn is requested


class HostClocks:
    """Requests turns from Redis; simultaneous requests share a round trip."""

    def __init__(self, turns: TurnTaker, retry: RedisRetry) -> None:
        self._take = turns.take
        self._persistent = retry.persistent
        self._name = secrets.token_hex(6)
        self._numbers = count(1)
        self._requests: list[tuple[TurnEntry, Future[tuple[int, int]]]] = []
        self._reports: list[TurnEntry] = []
        self._timer: asyncio.TimerHandle | None = None
        self._sending: asyncio.Task[None] | None = None
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def new_token(self) -> str:
        """Return the name of a new turn."""
        return f"{self._name}:{next(self._numbers)}"

    def lock(self, key: str) -> asyncio.Lock:
        """Return the lock of a host, which orders its requests in this process."""
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        return lock

    async def request(self, entry: TurnEntry) -> tuple[int, int]:
        """Request a turn; see `TurnTaker.take`."""
        future: Future[tuple[int, int]] = asyncio.get_running_loop().create_future()
        self._requests.append((entry, future))
        self._send()
        return await future

    def report(self, entry: TurnEntry) -> None:
        """Report the end of a turn, within a short time."""
        self._reports.append(entry)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_REPORT_SECS, self._send)

    async def close(self) -> None:
        """Send the remaining reports."""
        self._send()
        while self._sending is not None:
            await asyncio.wait([self._sending])

    def _send(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._sending is None and (self._reports or self._requests):
            self._sending = asyncio.create_task(self._send_all())

    async def _send_all(self) -> None:
        try:
            while self._reports or self._requests:
                reports, self._reports = self._reports, []
                requests = [each for each in self._requests if not each[1].done()]
                self._requests = []
                entries = [*reports, *(entry for entry, _ in requests)]
                try:
                    replies = await self._persistent("take turns", self._take, entries)
                except Exception as error:  # raised in the callers
                    for _, future in requests:
                        if not future.done():
                            future.set_exception(error)
                    continue
                for (_, future), reply in zip(requests, replies, strict=True):
                    if not future.done():
                        future.set_result(reply)
        finally:
            self._sending = None
