"""What the pages of a source know of each other, and of the crawls before: in Redis.

Pages are read at least once, by any worker, so that whatever is put here must be safe
to be put twice: entries are set, never counted up.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from rdfcrawl.frontier.batches import in_batches

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from rdfcrawl.frontier.redis_retry import RedisRetry

_AT_ONCE = 1000


class StateStore:
    """Tables of texts of any size, each of one source and crawl."""

    def __init__(
        self, redis: Redis, key: Callable[[str], str], outage: RedisRetry
    ) -> None:
        self._redis = redis
        self._key = key
        self._persistent = outage.persistent

    async def put(self, source: str, table: str, entries: Mapping[str, str]) -> None:
        """Set entries of a table; a source is named by a URL."""
        name = self._name(source, table)
        for group in in_batches(entries.items(), _AT_ONCE):
            await self._do(self._redis.hset, name, mapping=dict(group))

    async def get(self, source: str, table: str, key: str) -> str | None:
        """Return an entry, or None."""
        return (await self.get_many(source, table, [key]))[0]

    async def get_many(
        self, source: str, table: str, keys: Iterable[str]
    ) -> list[str | None]:
        """Return entries in the order of their keys; None where there is none."""
        name = self._name(source, table)
        found: list[str | None] = []
        for group in in_batches(keys, _AT_ONCE):
            values = await self._do(self._redis.hmget, name, group)
            found += (None if value is None else value.decode() for value in values)
        return found

    async def claim(self, source: str, table: str, key: str, value: str) -> str:
        """Set an entry if there is none; return the one that there is now."""
        name = self._name(source, table)
        await self._do(self._redis.hsetnx, name, key, value)
        found: bytes = await self._do(self._redis.hget, name, key)
        return found.decode()

    async def drop(self, source: str, table: str, keys: Iterable[str]) -> None:
        """Forget entries of a table."""
        name = self._name(source, table)
        for group in in_batches(keys, _AT_ONCE):
            await self._do(self._redis.hdel, name, *group)

    async def clear(self, source: str, table: str) -> None:
        """Forget a table."""
        await self._do(self._redis.unlink, self._name(source, table))

    async def size(self, source: str, table: str) -> int:
        """Return how many entries a table has."""
        n = await self._do(self._redis.hlen, self._name(source, table))
        return int(n)

    async def entries(self, source: str, table: str) -> AsyncIterator[tuple[str, str]]:
        """Yield the entries of a table, in no order; some may come twice."""
        name = self._name(source, table)
        cursor = 0
        while True:
            cursor, rows = await self._do(
                self._redis.hscan, name, cursor, count=_AT_ONCE
            )
            for key, value in rows.items():
                yield key.decode(), value.decode()
            if not cursor:
                return

    async def _do(
        self, command: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any
    ) -> Any:
        return await self._persistent("use the state store", command, *args, **kwargs)

    def _name(self, source: str, table: str) -> str:
        digest = blake2b(source.encode(), digest_size=8).hexdigest()
        return self._key(f"source:{digest}:{table}")
