"""Rules of origins as bytes for all workers, and deaths by robots.txt.

Only the records for this crawler are packed, not the text: most long files are long
because of other crawlers.

robots.txt is fetched before any URI of the origin, so no URI is blamed for it
(`frontier/lua/reap.lua`). For URIs that have lost a life, each attempt is recorded, and
costs the origin as much as a URI: a decompression bomb ends after a few deaths.
"""

from __future__ import annotations

import json
import zlib
from contextlib import suppress
from typing import Any, Final

from redis.asyncio import Redis
from redis.exceptions import RedisError

from rdfcrawl.downloader.robots.parser import RobotsRecords, SignalRule
from rdfcrawl.downloader.robots.policy import ALLOW_ALL, RobotsRules, rules_of

# Three times the maximum size of a robots.txt (escapes), and of a TDM file.
_MAX_BYTES: Final = 8 * 1024 * 1024
DAMAGES: Final = (
    *(zlib.error, AttributeError, ValueError, TypeError, LookupError),
    RecursionError,
)
# As for URIs: three lives of eight parts; a request costs one part, parsing a full
# life.
_LIVES: Final = 24
_REQUESTED: Final = 1
_READ: Final = 7  # in addition
_SECS: Final = 24 * 3600  # robots.txt is fetched once a day


def pack_rules(records: RobotsRecords | None) -> bytes:
    """Return the records of a robots.txt for the crawler as bytes.

    Args:
        records: None if there is no such file.
    """
    found: list[Any] = []
    if records is not None and rules_of(records) is not ALLOW_ALL:
        found.append([
            list(records.rules.items()),
            records.delay_secs,
            records.sitemaps,
            records.has_more_sitemaps,
            records.signals,
        ])  # fmt: skip
    return packed(found)


def unpack_rules(data: bytes) -> RobotsRules | None:
    """Return packed rules; None for anything else."""
    records = unpack_records(data)
    return None if records is None else rules_of(records)


def unpack_records(data: bytes) -> RobotsRecords | None:
    """Return packed records of a robots.txt; None for anything else."""
    try:
        found = unpacked(data)
        return _records(found[0]) if found else RobotsRecords()
    except DAMAGES:
        return None  # not our data


def packed(found: list[Any]) -> bytes:
    """Return JSON values as bytes."""
    return zlib.compress(json.dumps(found, separators=(",", ":")).encode(), 6)


def unpacked(data: bytes) -> Any:
    """Return packed values.

    Raises one of `DAMAGES` for other data.
    """
    return json.loads(zlib.decompressobj().decompress(data, _MAX_BYTES))


def _records(found: Any) -> RobotsRecords:
    rules, delay_secs, sitemaps, has_more, signals = found
    return RobotsRecords(
        rules={str(pattern): bool(allows) for pattern, allows in rules},
        delay_secs=float(delay_secs),
        sitemaps=[str(url) for url in sitemaps],
        has_more_sitemaps=bool(has_more),
        signals=[
            SignalRule(str(pattern), tuple((str(a), str(b)) for a, b in said))
            for pattern, said in signals
        ],
    )


class RobotsDeathStore:
    """How many workers a robots.txt has killed; shared by all workers.

    Args:
        key: of the hash: origin -> eighths of lives.
    """

    def __init__(self, redis: Redis, key: str) -> None:
        self._redis = redis
        self._key = key
        self._known: set[str] | None = None  # origins that are not requested
        self._watched: set[str] = set()

    async def is_deadly(self, origin: str) -> bool:
        """Return whether the robots.txt of an origin must not be fetched."""
        if self._known is None:
            # Read once per worker: a new one starts after each death.
            self._known = set()
            with suppress(RedisError):
                found: Any = await self._redis.hgetall(self._key)
                self._known = {
                    name.decode() for name, n in found.items() if int(n) >= _LIVES
                }
        return origin in self._known

    async def begin(self, origin: str) -> None:
        """Record that the robots.txt of an origin is about to be requested."""
        self._watched.add(origin)
        await self._add(origin, _REQUESTED)

    async def read(self, origin: str) -> None:
        """Record that a fetched robots.txt is about to be parsed."""
        if origin in self._watched:
            await self._add(origin, _READ)

    async def forget(self, origin: str) -> None:
        """Delete the records of this attempt."""
        self._watched.discard(origin)
        with suppress(RedisError):
            await self._redis.hdel(self._key, origin)

    async def _add(self, origin: str, eighths: int) -> None:
        with suppress(RedisError):
            total = await self._redis.hincrby(self._key, origin, eighths)
            await self._redis.expire(self._key, _SECS)
            if total > _LIVES and self._known is not None:
                self._known.add(origin)
