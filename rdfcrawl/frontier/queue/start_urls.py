"""Seeds pushed to a running crawl, as in scrapy-redis.

The key is a list, a set or a sorted set of URLs, or of JSON objects with a `url`.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self, cast

from rdfcrawl.core.errors import ConfigError

if TYPE_CHECKING:
    from redis.asyncio import Redis
    from scrapy import Spider
    from scrapy.settings import BaseSettings
_BATCH_SIZE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedUrls:
    """The key of pushed URLs, by settings and attributes of scrapy-redis."""

    key: str
    batch_size: int = _BATCH_SIZE  # entries read together
    encoding: str = "utf-8"
    # Time without work before the crawl ends; 0: it does not end; None: not set.
    max_idle_secs: int | None = None

    @classmethod
    def of_spider(cls, spider: Spider, settings: BaseSettings, default: str) -> Self:
        """Return the options of a spider; its attributes override the settings.

        Raises:
            ConfigError: a value is wrong.
        """

        def value(attribute: str, setting: str, otherwise: Any = None) -> Any:
            found = getattr(spider, attribute, None)
            found = settings.get(setting) if found is None else found
            return otherwise if found is None else found

        key = value("redis_key", "REDIS_START_URLS_KEY", default)
        encoding = value("redis_encoding", "REDIS_ENCODING", "utf-8")
        idle_secs = value("max_idle_time", "MAX_IDLE_TIME_BEFORE_CLOSE")
        batch_size = value("redis_batch_size", "", _BATCH_SIZE)
        return cls(
            key=_key(str(key), spider.name),
            batch_size=_number("redis_batch_size", batch_size, 1, 100_000),
            encoding=_codec(str(encoding)),
            max_idle_secs=None
            if idle_secs is None
            else _number("max_idle_time", idle_secs, 0, 86_400 * 365),
        )


def _key(template: str, spider: str) -> str:
    try:
        key = template % {"name": spider}
    except (KeyError, TypeError, ValueError):
        key = ""
    if not key.strip():
        raise ConfigError(
            f"redis_key={template!r}: must be a key of Redis, with %(name)s for the"
            " spider"
        )
    return key


def _number(name: str, value: Any, least: int, most: int) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = -1
    if not least <= number <= most:
        raise ConfigError(f"{name}={value!r}: must be {least} to {most}")
    return number


def _codec(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise ConfigError(f"redis_encoding={encoding!r}: no such encoding") from None


class StartUrls:
    """The key of one crawl. Entries are read, queued, and only then removed."""

    def __init__(self, redis: Redis, pushed: PushedUrls) -> None:
        self._redis = redis
        self._pushed = pushed
        self._name = pushed.key

    async def peek(self) -> list[bytes]:
        """Return the next entries, which stay stored; the highest scores first."""
        found: object = None
        most = self._pushed.batch_size
        match await self._kind():
            case b"list":
                found = await self._redis.lrange(self._name, 0, most - 1)
            case b"set":
                found = await self._redis.srandmember(self._name, most)
            case b"zset":
                found = await self._redis.zrevrange(self._name, 0, most - 1)
        return cast("list[bytes]", found or [])

    def url_of(self, entry: bytes) -> str:
        """Return the URL of an entry; see `seed_of`."""
        return seed_of(entry.decode(self._pushed.encoding, "replace"))

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


def seed_of(entry: str) -> str:
    """Return the URL of an entry; an entry without a URL is returned unchanged.

    >>> seed_of('{"url": "http://example.org/", "meta": {}}')
    'http://example.org/'
    """
    text = entry.strip()
    if text.startswith("{"):
        try:
            return str(json.loads(text)["url"])
        except (ValueError, KeyError, TypeError):
            return text  # refused as a URL, with a warning
    return text
