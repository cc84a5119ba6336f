"""Seeds pushed to a running crawl, as in scrapy-redis.

`<CRAWL_ID>:start_urls` is a list, a set or a sorted set of URLs, or of JSON objects
with a `url`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from redis.asyncio import Redis


class StartUrls:
    """The key of one crawl. Entries are read, queued, and only then removed."""

    def __init__(self, redis: Redis, crawl_id: str) -> None:
        self._redis = redis
        self._name = f"{crawl_id}:start_urls"

    async def peek(self, most: int) -> list[bytes]:
        """Return up to `most` entries, which stay stored."""
        found: object = None
        match await self._kind():
            case b"list":
                found = await self._redis.lrange(self._name, 0, most - 1)
            case b"set":
                found = await self._redis.srandmember(self._name, most)
            case b"zset":
                found = await self._redis.zrange(self._name, 0, most - 1)
        return cast("list[bytes]", found or [])

    async def remove(self, entries: Sequence[bytes]) -> None:
        """Remove entries; two workers may remove the same one."""
        kind = await self._kind()
        pipe = self._redis.pipeline(transaction=True)
        for entry in entries:
            if kind == b"list":
                pipe.lrem(self._name, 1, cast("str", entry))
            elif kind == b"set":
                pipe.srem(self._name, entry)
            elif kind == b"zset":
                pipe.zrem(self._name, entry)
        await pipe.execute()

    async def _kind(self) -> bytes:
        return cast("bytes", await self._redis.type(self._name))


def seed_of(entry: bytes) -> str:
    """Return the URL of an entry; an entry without a URL is returned unchanged.

    >>> seed_of(b'{"url": "http://example.org/", "meta": {}}')
    'http://example.org/'
    """
    text = entry.decode(errors="replace").strip()
    if text.startswith("{"):
        try:
            return str(json.loads(text)["url"])
        except (ValueError, KeyError, TypeError):
            return text  # refused as a URL, with a warning
    return text
