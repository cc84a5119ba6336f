"""Find the host that delays the end of a crawl, a few hosts at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from rdfcrawl.monitor.operating.hosts import least_delay_ms
from rdfcrawl.monitor.page.estimate import LongestHost

if TYPE_CHECKING:
    from rdfcrawl.monitor.operating.crawl import OperatedCrawl

_HOSTS: Final = 500  # in one step, and so in one round trip
_PARTITIONS: Final = 32  # likewise
_FIELDS: Final = ("n", "d", "od")


class LongestHostSearch:
    """A repeated scan of the hosts that have work and wait.

    A step costs Redis 500 short commands at most; 100,000 hosts take 200 steps.
    """

    def __init__(self) -> None:
        self._partition = self._cursor = 0
        self._best: tuple[float, LongestHost] | None = None  # of this round, when read
        self._last: tuple[float, LongestHost] | None = None  # of the previous one

    def found(self, now_secs: float) -> LongestHost | None:
        """Return the longest host of the last round and of this one, if any.

        Args:
            now_secs: Unix time; requests since the read are subtracted.
        """
        there = [_aged(*each, now_secs) for each in (self._best, self._last) if each]
        return max(there, key=lambda each: each.secs, default=None)

    async def step(self, crawl: OperatedCrawl, now_secs: float) -> None:
        """Read some more hosts.

        Raises:
            RedisError: Redis is unreachable.
        """
        least = await least_delay_ms(crawl)
        names = await self._next_names(crawl)
        pipe = crawl.redis.pipeline(transaction=False)
        for partition, name in names:
            pipe.hmget(f"{crawl.prefixes[partition]}:h:{name}", *_FIELDS)
        rows = await pipe.execute() if names else []
        for (_, name), row in zip(names, rows, strict=True):
            n, own, given = (int(each or 0) for each in row)
            delay_secs = max(own, given, least) / 1000
            host = LongestHost(name=name, n_queued=n, delay_secs=delay_secs)
            if host.secs and (self._best is None or host.secs > self._best[1].secs):
                self._best = now_secs, host

    async def _next_names(self, crawl: OperatedCrawl) -> list[tuple[int, str]]:
        names: list[tuple[int, str]] = []
        for _ in range(_PARTITIONS):
            if self._partition >= len(crawl.prefixes):
                self._partition, self._last, self._best = 0, self._best, None
                break
            key = f"{crawl.prefixes[self._partition]}:ready"
            found: Any = await crawl.redis.zscan(key, self._cursor, count=_HOSTS)
            self._cursor, members = found
            for raw, _ in cast("list[tuple[bytes, float]]", members):
                name = raw.decode(errors="replace")
                if not name.startswith("@"):  # a crowd, whose hosts take turns
                    names.append((self._partition, name))
            self._partition += not self._cursor
            if len(names) >= _HOSTS:
                break
        return names


def _aged(read_at: float, host: LongestHost, now_secs: float) -> LongestHost:
    """Return a host without URIs that may have been requested since."""
    n_sent = max(0.0, now_secs - read_at) / host.delay_secs
    return replace(host, n_queued=max(0, host.n_queued - int(n_sent) - 1))
