"""URLs sent to a running crawl: start URLs as in scrapy-redis, and pings."""

from __future__ import annotations

import codecs
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, cast

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.table import OptionsTable, integer
from rdfcrawl.core.records import FollowUp, Kind, Record, Urgency
from rdfcrawl.core.source_tasks import SitemapTask, SourceTask
from rdfcrawl.uri import host_of, registered_domain

if TYPE_CHECKING:
    from redis.asyncio import Redis
    from scrapy import Spider
    from scrapy.settings import BaseSettings

    from rdfcrawl.frontier.queue.tables import StateStore
    from rdfcrawl.frontier.redis.operations import Argument, LuaScripts


_BATCH_SIZE: Final = 500

logger = logging.getLogger(__name__)


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

        def value(attribute: str, setting: str, otherwise: Any = None) -> _Value:
            found = getattr(spider, attribute, None)
            if found is not None:
                return _Value(attribute, found)
            found = settings.get(setting)
            return _Value(setting, otherwise if found is None else found)

        idle_secs = value("max_idle_time", "MAX_IDLE_TIME_BEFORE_CLOSE")
        return cls(
            key=_key(value("redis_key", "REDIS_START_URLS_KEY", default), spider.name),
            batch_size=_number(value("redis_batch_size", "", _BATCH_SIZE), 1, 100_000),
            encoding=_codec(value("redis_encoding", "REDIS_ENCODING", "utf-8")),
            max_idle_secs=None
            if idle_secs.given is None
            else _number(idle_secs, 0, 86_400 * 365),
        )


class _Value(NamedTuple):
    """A value with the name of its attribute or setting."""

    name: str
    given: Any


def _key(value: _Value, spider: str) -> str:
    template = str(value.given)
    try:
        key = template % {"name": spider}
    except (KeyError, TypeError, ValueError):
        key = ""
    if not key.strip():
        raise ConfigError(
            f"{value.name}={template!r}: must be a key of Redis, with %(name)s for"
            " the spider"
        )
    return key


def _number(value: _Value, least: int, most: int) -> int:
    try:
        number = int(value.given)
    except (TypeError, ValueError):
        number = -1
    if not least <= number <= most:
        raise ConfigError(f"{value.name}={value.given!r}: must be {least} to {most}")
    return number


def _codec(value: _Value) -> str:
    try:
        return codecs.lookup(str(value.given)).name
    except LookupError:
        raise ConfigError(f"{value.name}={value.given!r}: no such encoding") from None


class StartUrls:
    """The key of one crawl: a list, a set or a sorted set of URLs or JSON objects.

    Entries are read, queued, and only then removed.
    """

    def __init__(self, redis: Redis, pushed: PushedUrls) -> None:
        self._redis = redis
        self._pushed = pushed
        self.name = pushed.key
        self._has_warned = False

    async def peek(self) -> list[bytes]:
        """Return the next entries, which stay stored; the highest scores first."""
        found: object = None
        most = self._pushed.batch_size
        match await self._kind():
            case b"list":
                found = await self._redis.lrange(self.name, 0, most - 1)
            case b"set":
                found = await self._redis.srandmember(self.name, most)
            case b"zset":
                found = await self._redis.zrevrange(self.name, 0, most - 1)
            case kind if kind != b"none" and not self._has_warned:
                self._has_warned = True
                there = kind.decode(errors="replace")
                wanted = "a list, a set or a sorted set"
                logger.warning("%s: not read: %s, not %s", self.name, there, wanted)
        return cast("list[bytes]", found or [])

    def read(self, entry: bytes) -> PushedSeed:
        """Return the seed of an entry; see `seed_of`."""
        return seed_of(entry.decode(self._pushed.encoding, "replace"))

    async def remove(self, entries: Sequence[bytes]) -> None:
        """Remove entries; two workers may remove the same one."""
        kind = await self._kind()
        pipe = self._redis.pipeline(transaction=True)
        for entry in entries:
            if kind == b"list":
                pipe.lrem(self.name, 1, cast("str", entry))
            elif kind == b"set":
                pipe.srem(self.name, entry)
            elif kind == b"zset":
                pipe.zrem(self.name, entry)
        await pipe.execute()

    async def _kind(self) -> bytes:
        return cast("bytes", await self._redis.type(self.name))


class PushedSeed(NamedTuple):
    """A URL, and the other keys of its JSON object, as of scrapy-redis."""

    url: str
    fields: dict[str, Any]


def seed_of(entry: str) -> PushedSeed:
    """Return the seed of an entry; an entry without a URL is its own URL.

    >>> seed_of('{"url": "http://example.org/", "method": "POST"}')
    PushedSeed(url='http://example.org/', fields={'method': 'POST'})
    """
    text = entry.strip()
    if text.startswith("{"):
        try:
            fields = json.loads(text)
            return PushedSeed(str(fields.pop("url")), fields)
        except (ValueError, KeyError, RecursionError):
            pass  # refused as a URL, with a warning
    return PushedSeed(text, {})


MAX_WAITING: Final = 10_000
_NAMED: Final = "named by"  # table of a sitemap; see `SitemapHosts`


@dataclass(frozen=True, slots=True)
class PingLimits(OptionsTable):
    """Most pings accepted in an hour; 0 is no limit."""

    of_host: int = integer("PING_PER_HOST", 10, 0, unread=0)
    """[pings](../explanation/sources.md#pings) of sitemaps of one host that
    `scrapy ping serve` accepts in an hour; 0 is no limit, here and in the next two"""
    of_domain: int = integer("PING_PER_DOMAIN", 100, 0, unread=0)
    """the same of one registered domain"""
    of_all: int = integer("PING_PER_HOUR", 1000, 0, unread=0)
    """the same of all hosts"""


@dataclass(frozen=True, slots=True)
class KeptPing:
    """The result of a ping.

    Attributes:
        word: `kept`; `none`: there is no such crawl; `full`: too many sitemaps wait;
            `late`: there were too many pings in this hour.
        number: with `kept` the time in ms, with `late` the seconds until the next hour.
    """

    word: str
    number: int


class WaitingPings:
    """The waiting sitemaps of a crawl, each with its last ping."""

    def __init__(self, redis: Redis, scripts: LuaScripts, crawl_id: str) -> None:
        self._redis = redis
        self._scripts = scripts
        self._crawl = f"rc:{{{crawl_id}}}"
        self._name = f"{self._crawl}:pings"

    async def keep(self, url: str, limits: PingLimits) -> KeptPing:
        """Keep a requestable URL until a worker queues it; count the ping."""
        host = host_of(url)
        most = limits.of_host, limits.of_domain, limits.of_all, MAX_WAITING
        arguments: list[Argument] = [url, host, registered_domain(host), *most]
        (reply,) = await self._scripts.run("ping", [(self._crawl, arguments)])
        word, number = cast("tuple[bytes, int]", reply)
        return KeptPing(word.decode(), number)

    async def peek(self, most: int) -> dict[str, int]:
        """Return about `most` URLs, which stay stored, with the time of their ping."""
        _, rows = await self._redis.hscan(self._name, 0, count=most)
        found = cast("dict[bytes, bytes]", rows)
        return {url.decode(): int(mark) for url, mark in found.items()}

    async def forget(self, pings: dict[str, int]) -> None:
        """Remove queued URLs, except those pinged since."""
        arguments = [text for url, mark in pings.items() for text in (url, str(mark))]
        await self._scripts.run("pinged", [(self._crawl, arguments)])


class SitemapHosts:
    """The hosts whose robots.txt named a sitemap at its last reading.

    After a ping, the sitemap is read by the same rules and compared with the same
    state.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store

    async def note(self, url: str, hosts: Iterable[str]) -> None:
        """Note the hosts of a sitemap."""
        if text := " ".join(hosts):
            await self._store.put(url, _NAMED, {"hosts": text})

    async def of(self, url: str) -> tuple[str, ...]:
        """Return the hosts that name a sitemap."""
        return tuple((await self._store.get(url, _NAMED, "hosts") or "").split())


def follow_up_of(url: str, mark: int, *, run: int, hosts: tuple[str, ...]) -> FollowUp:
    """Return the record of a pinged sitemap; equal pings give equal records."""
    task = SitemapTask(robots_hosts=hosts, ping=mark)
    record = Record(url, Kind.SITEMAP, task=SourceTask(run, payload=task))
    return FollowUp(record, is_part_of_source=True, urgency=Urgency.SOON)
