"""Hosts in Redis: their turns, the delays of workers, and requests for turns.

Each worker publishes its delay and the delay that it keeps. A joining worker with a
longer delay waits until the others keep it. No worker keeps less than it publishes: a
longer delay is kept before it is published; a shorter one only if, after publishing it,
no longer one is found.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from weakref import WeakValueDictionary

from rdfcrawl.frontier.redis.operations import Argument, LuaScripts, millisecs

if TYPE_CHECKING:
    from asyncio import Future

    from redis.asyncio import Redis

    from rdfcrawl.frontier.queue.candidate import KeyLocations
    from rdfcrawl.frontier.redis.errors import RedisRetry


_REPORT_SECS: Final = 0.02  # reports are delayed by this, unless a turn is requested

Scores = list[tuple[bytes, float]]
Live = Callable[[], Awaitable[list[str]]]
"""Returns the live workers."""
_ELSEWHERE = -3  # the clock of a key is in another partition


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


class WorkerDelays:
    """Least time between two requests to a host without a delay, for all workers.

    Attributes:
        own_secs: delay in the settings of this worker.
        secs: delay that it keeps.
        shortest_secs: shortest delay in the settings of all live workers.
    """

    def __init__(
        self, redis: Redis, key: Callable[[str], str], secs: float, live: Live
    ) -> None:
        self.own_secs = self.secs = self.shortest_secs = secs
        self._redis, self._live = redis, live
        self._delays, self._kept = key("delays"), key("kept")
        self._agreeing = asyncio.Lock()

    async def agree(self, worker: str) -> None:
        """Publish the delay of a live worker, and keep the longest of all."""
        async with self._agreeing:
            own, keeps = millisecs(self.own_secs), millisecs(self.secs)
            while True:
                pipe = self._redis.pipeline(transaction=True)
                pipe.zadd(self._delays, {worker: own})
                pipe.zadd(self._kept, {worker: keeps})
                longest = await self._longest(pipe)
                self.secs = max(self.secs, longest / 1000)
                if longest == keeps:
                    break
                keeps = longest
            self.secs = max(self.own_secs, longest / 1000)

    async def look(self) -> None:
        """Keep a longer delay of other workers, without writing."""
        async with self._agreeing:
            # Full memory refuses even reads in a transaction.
            longest = await self._longest(self._redis.pipeline(transaction=False))
            self.secs = max(self.secs, longest / 1000)

    async def are_kept(self, worker: str) -> bool:
        """Return whether all other live workers keep the delay of this one."""
        found = await self._redis.zrange(self._kept, 0, -1, withscores=True)
        kept = {name.decode(): ms for name, ms in cast("Scores", found)}
        own, live = millisecs(self.own_secs), await self._live()
        return all(kept.get(name, -1) >= own for name in live if name != worker)

    async def leave(self, worker: str) -> None:
        """Remove an ending worker from the lists."""
        await self._redis.zrem(self._delays, worker)
        await self._redis.zrem(self._kept, worker)

    async def _longest(self, pipe: Any) -> int:
        """Return the longest delay of live workers (ms), once the pipe is executed."""
        delays = self._delays
        while True:
            pipe.zrange(delays, 0, 0, withscores=True)
            pipe.zrange(delays, -1, -1, withscores=True)
            ends = [row for rows in (await pipe.execute())[-2:] for row in rows]
            live = await self._live()
            gone = {name: ms for name, ms in ends if name.decode() not in live}
            if not gone:
                break
            await self._forget(gone)
        own = millisecs(self.own_secs)
        self.shortest_secs = min([own, *(ms for _, ms in ends)]) / 1000
        return max([own, *(int(ms) for _, ms in ends)])

    async def _forget(self, gone: dict[bytes, float]) -> None:
        """Remove dead workers from the lists, except those alive again."""
        await self._redis.zrem(self._delays, *gone)
        await self._redis.zrem(self._kept, *gone)
        back = {n: ms for n, ms in gone.items() if n.decode() in await self._live()}
        if back:
            await self._redis.zadd(self._delays, back, nx=True)


class TurnEntry(NamedTuple):
    """A request for a turn of a host, or the report of one."""

    token: str  # of the turn, unique
    key: str  # politeness key of the host
    delay_secs: float  # least time since the previous request, or until the next
    epoch: int | None = None  # of its lease
    # for so long the turn is held; None if no turn is requested
    hold_secs: float | None = None
    sent_at: float = 0.0  # monotonic time of the request; 0 if it was not sent
    # of the leased key; None: looked up
    partition: int | None = None


class TurnTaker:
    """Takes turns in the partitions of the clocks of hosts."""

    def __init__(self, scripts: LuaScripts, locations: KeyLocations) -> None:
        self._scripts = scripts
        self._locations = locations
        self.prefixes: list[str] = []  # key prefix of each partition

    async def take(self, entries: Sequence[TurnEntry]) -> list[tuple[int, int]]:
        """Request turns of hosts, and report sent requests.

        Safe to repeat.

        Returns:
            For each request: 1 and the ms until the turn begins; 0 and the ms until the
            request may be repeated; -1, the lease is lost; or -2 and the ms for which
            the host rests after a refusal.
        """
        found = await self._take(entries)
        away = [i for i, (what, _) in enumerate(found) if what == _ELSEWHERE]
        if away:
            asked = [entry for entry in entries if entry.hold_secs is not None]
            again = [asked[i] for i in away]
            for entry in again:
                self._locations.note_away(entry.key)
            for i, reply in zip(away, await self._take(again), strict=True):
                found[i] = reply
        return found

    async def _take(self, entries: Sequence[TurnEntry]) -> list[tuple[int, int]]:
        calls: dict[int, list[Argument]] = {}
        places: dict[int, list[int]] = {}
        n_asked = 0
        for entry in entries:
            partition = entry.partition
            if partition is None:
                partition = self._locations.of(entry.key)
            calls.setdefault(partition, []).extend(_turn_arguments(entry))
            if entry.hold_secs is not None:
                places.setdefault(partition, []).append(n_asked)
                n_asked += 1
        replies = await self._scripts.run(
            "turn", [(self.prefixes[p], arguments) for p, arguments in calls.items()]
        )
        found = [(0, 0)] * n_asked
        rows = cast("list[list[tuple[int, int]]]", replies)
        for partition, given in zip(calls, rows, strict=True):
            for place, (what, ms) in zip(places.get(partition, ()), given, strict=True):
                found[place] = what, ms
        return found


def _turn_arguments(entry: TurnEntry) -> list[Argument]:
    hold, sent_at = entry.hold_secs, entry.sent_at
    return [
        entry.token,
        entry.key,
        "" if entry.epoch is None else entry.epoch,
        millisecs(entry.delay_secs),
        "" if hold is None else millisecs(hold),
        # Computed now, as the entry may have waited.
        millisecs(monotonic() - sent_at) if sent_at and hold is None else "",
    ]
