"""Estimate when a crawl ends: from its queue, its rate and its longest host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from rdfcrawl.core.messages import counted
from rdfcrawl.monitor.operating.crawl import OperatedCrawl
from rdfcrawl.monitor.operating.hosts import least_delay_ms
from rdfcrawl.monitor.page.samples import FigureSample

LEAST_SECS: Final = 20.0  # of samples, before an estimate
_MOST_SECS: Final = 10 * 365 * 86_400.0  # longer estimates are not shown
_HOSTS: Final = 500  # in one step, and so in one round trip
_PARTITIONS: Final = 32  # likewise
_FIELDS: Final = ("n", "d", "od")


@dataclass(frozen=True, slots=True, kw_only=True)
class LongestHost:
    """The host that takes longest to finish its queue.

    Attributes:
        name: its politeness key.
        n_queued: URIs that wait.
        delay_secs: least time between two requests.
    """

    name: str
    n_queued: int
    delay_secs: float

    @property
    def secs(self) -> float:
        """Least time for all of its URIs."""
        return self.n_queued * self.delay_secs


@dataclass(frozen=True, slots=True, kw_only=True)
class EndEstimate:
    """When a crawl may end.

    Attributes:
        least_secs: the end comes no sooner; None if unknown.
        most_secs: the end comes about then at the latest, if the crawl continues at its
            present rate; None if unknown.
        why: origin of the range, or why there is none.
    """

    least_secs: float | None
    most_secs: float | None
    why: str


NOT_KNOWN: Final = EndEstimate(
    least_secs=None, most_secs=None, why="the frontier was not read yet"
)


def estimate_end(
    samples: Sequence[FigureSample], longest: LongestHost | None = None
) -> EndEstimate:
    """Estimate when a crawl ends, from the samples of its last minutes.

    Args:
        samples: the earliest first.
        longest: the longest host, if known.
    """
    if samples and not samples[-1].n_left:
        return EndEstimate(least_secs=0.0, most_secs=0.0, why="nothing is left")
    if not samples or _span(samples) < LEAST_SECS:
        why = "observation of the crawl has just begun"
        return _at_least(_host_secs(longest), why)
    parts = _parts(samples)
    n_left = samples[-1].n_left
    rate = max(_rate(part) for part in parts)
    if rate <= 0:
        why = "nothing was processed in the last minutes"
        return _at_least(_host_secs(longest), why)
    by_rate, by_host = n_left / rate, _host_secs(longest) or 0.0
    least = max(by_rate, by_host)
    fall = min(_fall(part) for part in parts)
    if fall > 0 and n_left / fall > _MOST_SECS:
        return _at_least(
            least, "at the present rate, it would take more than ten years"
        )
    if fall <= 0:
        found = max(0.0, rate - fall)
        why = (
            f"the queue does not get shorter: {rate:,.1f} URIs a second are processed,"
            f" and up to {found:,.1f} are found"
        )
        return _at_least(least, why)
    most = max(least, n_left / fall)
    return EndEstimate(least_secs=least, most_secs=most, why=_reason(longest, by_rate))


def _at_least(secs: float | None, why: str) -> EndEstimate:
    return EndEstimate(least_secs=secs, most_secs=None, why=why)


def _host_secs(longest: LongestHost | None) -> float | None:
    return longest.secs if longest and longest.secs > 0 else None


def _reason(longest: LongestHost | None, by_rate: float) -> str:
    if longest is not None and longest.secs > by_rate:
        return (
            f"{longest.name[:100]} has {counted(longest.n_queued, 'URI')} queued, with"
            f" one request in {longest.delay_secs:g} s"
        )
    return "the queue, and how fast it got shorter in the last minutes"


def _parts(samples: Sequence[FigureSample]) -> list[Sequence[FigureSample]]:
    """Return the samples, and their halves by time."""
    middle = (samples[0].at_secs + samples[-1].at_secs) / 2
    cut = sum(each.at_secs <= middle for each in samples)
    halves = [samples[:cut], samples[cut - 1 :]]
    return [samples, *(part for part in halves if len(part) > 1)]


def _span(samples: Sequence[FigureSample]) -> float:
    return samples[-1].at_secs - samples[0].at_secs


def _rate(samples: Sequence[FigureSample]) -> float:
    return (samples[-1].n_documents - samples[0].n_documents) / _span(samples)


def _fall(samples: Sequence[FigureSample]) -> float:
    return (samples[0].n_left - samples[-1].n_left) / _span(samples)


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
