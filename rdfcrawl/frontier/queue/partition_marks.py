"""The incarnation of a crawl in each partition, to detect the loss of one server.

A single server loses a crawl completely or not at all. A primary of a cluster that
restarts without its data loses only its partitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rdfcrawl.frontier.redis.primaries import ManyPrimaries

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from redis.asyncio import Redis

    from rdfcrawl.frontier.redis.server_state import ServerState

MARK: Final = "in"  # field of a partition's counters


class PartitionMarks:
    """The marks of one crawl; unused with a single server.

    Attributes:
        are_needed: whether the partitions are on several servers.
    """

    def __init__(self, redis: Redis, state: ServerState) -> None:
        self.are_needed = isinstance(redis, ManyPrimaries)
        self._redis = redis
        self._state = state

    async def write(self, prefixes: Sequence[str], mark: bytes) -> None:
        """Mark new partitions, if marks are needed."""
        if not self.are_needed:
            return
        pipe = self._redis.pipeline(transaction=False)
        for prefix in prefixes:
            pipe.hget(f"{prefix}:cnt", MARK)
        found = await pipe.execute()
        pipe = self._redis.pipeline(transaction=False)
        for prefix, known in zip(prefixes, found, strict=True):
            if known is None:
                pipe.hsetnx(f"{prefix}:cnt", MARK, cast("str", mark))
        await pipe.execute()

    def check(self, found: Iterable[bytes | None]) -> None:
        """Check the marks found in all partitions of an existing crawl.

        Raises:
            CrawlGone: a partition is missing.
        """
        for number, mark in enumerate(found if self.are_needed else ()):
            self._state.check_partition(number, mark)
