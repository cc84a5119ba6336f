"""Delete the Redis keys of a crawl."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from redis.asyncio import Redis

_AT_ONCE: Final = 1000


async def delete_keys(
    redis: Redis, crawl_id: str, *, but: Collection[str] = ()
) -> None:
    """Delete all keys of a crawl, those of its partitions first.

    Args:
        redis: the client.
        crawl_id: name of the crawl.
        but: names of keys to keep.
    """
    kept = {name.encode() for name in but}
    # Crawl names contain no "/", so this never matches partitions of other crawls.
    for pattern in (f"rc:{{{crawl_id}/*}}:*", f"rc:{{{crawl_id}}}:*"):
        doomed: list[bytes] = []
        async for name in redis.scan_iter(match=pattern, count=_AT_ONCE):
            if name not in kept:
                doomed.append(name)
            if len(doomed) >= _AT_ONCE:
                await redis.unlink(*doomed)
                doomed.clear()
        if doomed:
            await redis.unlink(*doomed)
