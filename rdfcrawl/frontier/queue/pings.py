"""Pinged sitemaps, which wait in Redis until a worker queues them.

Source: sitemaps.org, "Informing search engine crawlers".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from rdfcrawl.core.options.table import OptionsTable, integer
from rdfcrawl.core.records import FollowUp, Kind, Record, Urgency
from rdfcrawl.core.source_tasks import SitemapTask, SourceTask
from rdfcrawl.uri import host_of, registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from redis.asyncio import Redis

    from rdfcrawl.frontier.queue.state_store import StateStore
    from rdfcrawl.frontier.redis.scripts import Argument, LuaScripts

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
