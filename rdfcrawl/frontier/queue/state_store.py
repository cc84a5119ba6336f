"""State store: tables in Redis for the harvesters of sources.

Pages are read at least once, by any worker, so every write must be idempotent: entries
are set, never incremented.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, TypeVar

from rdfcrawl.core.counting import in_batches

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from rdfcrawl.frontier.redis.retry import RedisRetry

_AT_ONCE = 1000
_CALLS_AT_ONCE: Final = 100  # in `gather`; between two groups the worker may stop
_COMMANDS_AT_ONCE: Final = 200  # per pipeline
_USE: Final = "use the state store"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Command:
    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    reply: asyncio.Future[Any]


class StateStore:
    """Tables of texts, each of one source and crawl."""

    def __init__(
        self, redis: Redis, key: Callable[[str], str], outage: RedisRetry
    ) -> None:
        self._redis = redis
        self._key = key
        self._persistent = outage.persistent
        self._n_gathering = 0
        self._waiting: list[_Command] = []  # until the next iteration of the event loop
        self._sending: set[asyncio.Task[None]] = set()

    async def gather(self, calls: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
        """Return the results of calls that use the store, in order.

        Groups of calls run concurrently and share round trips, so no call may depend on
        an earlier one.
        """
        results: list[T] = []
        self._n_gathering += 1
        try:
            for group in in_batches(calls, _CALLS_AT_ONCE):
                for each in await asyncio.gather(*group, return_exceptions=True):
                    if isinstance(each, BaseException):
                        raise each
                    results.append(each)
        finally:
            self._n_gathering -= 1
        return results

    async def put(self, source: str, table: str, entries: Mapping[str, str]) -> None:
        """Set entries of a table of a source, which is named by a URL."""
        name = self._name(source, table)
        for group in in_batches(entries.items(), _AT_ONCE):
            await self._do("hset", name, mapping=dict(group))

    async def put_up_to(
        self, source: str, table: str, entries: Mapping[str, str], most: int
    ) -> list[str]:
        """Set entries until a table has `most`; return the keys of the others.

        Entries with existing keys are replaced.
        """
        over: list[str] = []
        room = max(0, most - await self.size(source, table))
        if len(entries) > room:
            known = await self.get_many(source, table, entries)
            new = [key for key, x in zip(entries, known, strict=True) if x is None]
            over = new[room:]
            gone = set(over)
            entries = {key: x for key, x in entries.items() if key not in gone}
        if entries:
            await self.put(source, table, entries)
        return over

    async def get(self, source: str, table: str, key: str) -> str | None:
        """Return an entry, or None."""
        return (await self.get_many(source, table, [key]))[0]

    async def get_many(
        self, source: str, table: str, keys: Iterable[str]
    ) -> list[str | None]:
        """Return entries in the order of their keys; None for missing ones."""
        name = self._name(source, table)
        found: list[str | None] = []
        for group in in_batches(keys, _AT_ONCE):
            values = await self._do("hmget", name, group)
            found += (None if value is None else value.decode() for value in values)
        return found

    async def claim(self, source: str, table: str, key: str, value: str) -> str:
        """Set an entry if it is missing; return the stored one."""
        name = self._name(source, table)
        await self._do("hsetnx", name, key, value)
        found: bytes = await self._do("hget", name, key)
        return found.decode()

    async def drop(self, source: str, table: str, keys: Iterable[str]) -> None:
        """Delete entries of a table."""
        name = self._name(source, table)
        for group in in_batches(keys, _AT_ONCE):
            await self._do("hdel", name, *group)

    async def clear(self, source: str, table: str) -> None:
        """Delete a table."""
        await self._do("unlink", self._name(source, table))

    async def size(self, source: str, table: str) -> int:
        """Return the number of entries of a table."""
        n = await self._do("hlen", self._name(source, table))
        return int(n)

    async def entries(self, source: str, table: str) -> AsyncIterator[tuple[str, str]]:
        """Yield the entries of a table, unordered; some may be repeated."""
        async for batch in self.batches(source, table):
            for entry in batch.items():
                yield entry

    async def batches(self, source: str, table: str) -> AsyncIterator[dict[str, str]]:
        """Yield the entries of a table in batches of about a thousand."""
        name = self._name(source, table)
        cursor = 0
        while True:
            cursor, rows = await self._do("hscan", name, cursor, count=_AT_ONCE)
            if rows:
                yield {key.decode(): value.decode() for key, value in rows.items()}
            if not cursor:
                return

    async def _do(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if not self._n_gathering:
            call = getattr(self._redis, name)
            return await self._persistent(_USE, call, *args, **kwargs)
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._send_waiting)
        command = _Command(name, args, kwargs, loop.create_future())
        self._waiting.append(command)
        return await command.reply

    def _send_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for commands in in_batches(waiting, _COMMANDS_AT_ONCE):
            task = asyncio.create_task(self._send(commands))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _send(self, commands: Sequence[_Command]) -> None:
        """Send commands together, and set the result of each."""
        waiting = [each for each in commands if not each.reply.done()]  # not cancelled
        try:
            replies = await self._persistent(_USE, self._run, waiting)
        except Exception as error:
            for command in waiting:
                if not command.reply.done():
                    command.reply.set_exception(error)
            return
        for command, reply in zip(waiting, replies, strict=True):
            if not command.reply.done():
                command.reply.set_result(reply)

    async def _run(self, commands: Sequence[_Command]) -> list[Any]:
        pipe = self._redis.pipeline(transaction=False)
        for each in commands:
            getattr(pipe, each.name)(*each.args, **each.kwargs)
        return await pipe.execute()

    def _name(self, source: str, table: str) -> str:
        digest = blake2b(source.encode(), digest_size=8).hexdigest()
        return self._key(f"source:{digest}:{table}")
