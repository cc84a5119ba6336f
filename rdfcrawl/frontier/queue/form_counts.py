"""The counts of forms of URLs in Redis, and the URLs that are set aside as unlikely."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

from rdfcrawl.frontier.queue.form_yields import UNLIKELY
from rdfcrawl.frontier.redis.operations import LuaScripts
from rdfcrawl.uri import partition_of

if TYPE_CHECKING:
    from redis.asyncio import Redis

_MAX_SHOWN: Final = 1000  # forms with URLs that are set aside
_BATCH_SIZE: Final = 500
_LIST: Final = "unlikely"


class FormCounts:
    """The counts of one crawl: a hash for each politeness key."""

    def __init__(
        self,
        redis: Redis,
        scripts: LuaScripts,
        prefixes: Sequence[str],
        key: Callable[[str], str],
    ) -> None:
        self._prefixes = prefixes  # of partitions
        self._redis = redis
        self._scripts = scripts
        self._shown = key(_LIST)

    async def read(self, keys: Sequence[str]) -> list[Counter[str]]:
        """Return the counts of politeness keys, in one round trip."""
        pipe = self._redis.pipeline(transaction=False)
        for key in keys:
            pipe.hgetall(self._name(key))
        rows = cast("list[dict[bytes, bytes]]", await pipe.execute())
        return [
            Counter({name.decode(errors="replace"): int(n) for name, n in row.items()})
            for row in rows
        ]

    async def add(self, changes: Mapping[str, Mapping[str, int]]) -> None:
        """Add changes to the counts of politeness keys.

        After a lost reply, a repetition counts twice, which does no harm.
        """
        pipe = self._redis.pipeline(transaction=False)
        is_shown = False
        for key, of_key in changes.items():
            for name, n in of_key.items():
                pipe.hincrby(self._name(key), name, n)
                if name[0] == UNLIKELY:
                    form = name[1:]
                    shown = f"{key}{form}" if form.startswith("/") else form
                    pipe.zincrby(self._shown, n, shown)
                    is_shown = True
        if is_shown:
            pipe.zremrangebyscore(self._shown, "-inf", 0)
            pipe.zremrangebyrank(self._shown, 0, -_MAX_SHOWN - 1)
        await pipe.execute()

    def _name(self, key: str) -> str:
        return f"{self._prefixes[partition_of(key, len(self._prefixes))]}:forms:{key}"

    async def reopen(self, partition: int, key: str) -> int:
        """Queue the URLs of a key that are set aside; return their number."""
        prefix, n_queued = self._prefixes[partition], 0
        left = int(await self._redis.llen(f"{prefix}:{_LIST}"))
        while left > 0:
            n = min(left, _BATCH_SIZE)
            replies = await self._scripts.run("retry", [(prefix, [_LIST, n, key])])
            n_queued += sum(cast("list[int]", replies))
            left -= n
        return n_queued

    async def forget_shown(self) -> None:
        """Forget the forms of URLs that were set aside, as these are queued again."""
        await self._redis.delete(self._shown)

    async def shown(self, most: int) -> list[tuple[str, int]]:
        """Return the forms of most URLs that are set aside, with these numbers."""
        found = await self._redis.zrange(
            self._shown, 0, most - 1, desc=True, withscores=True
        )
        rows = cast("list[tuple[bytes, float]]", found)
        return [(name.decode(errors="replace"), int(n)) for name, n in rows]
