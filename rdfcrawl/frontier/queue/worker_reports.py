"""Reports of workers: signs of life, statistics, own faults, lag of followers."""

from __future__ import annotations

import asyncio
import json
import re
import sysconfig
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from traceback import walk_tb
from typing import TYPE_CHECKING, Final, Self, cast

from redis.exceptions import RedisError

from rdfcrawl.core.errors import one_line
from rdfcrawl.core.messages import counted
from rdfcrawl.frontier.queue.host_clocks import WorkerDelays

if TYPE_CHECKING:
    from pathlib import Path

    from redis.asyncio import Redis
    from scrapy.statscollectors import StatsCollector

    from rdfcrawl.frontier.queue.options import FrontierOptions
    from rdfcrawl.frontier.redis.operations import Argument, LuaScripts


STARTED: Final = "started"  # figure of a worker: 1 once its seeds are queued
CURRENT: Final = "now/"  # prefix of momentary figures, which are not summed
HOSTS: Final = f"{CURRENT}hosts"  # hosts visited now
MAX_REPORTS: Final = 100  # beyond that, reports of gone workers are summed
ENDED: Final = "ended"  # name of the sum of all gone workers
# After this silence, a worker counts as gone.
GONE_AFTER_SECS: Final = 86_400
# Bounds of the silence after which a worker counts as dead.
_DEAD_AFTER_SECS: Final = 2.0, 15.0
_TRIES: Final = 10  # other ending workers change the sum, too

Figures = Mapping[str, float]

DRAINED: Final = "drained"
"""Close reason of the spider of a drained worker."""
LAG: Final = f"{CURRENT}store/"
DOCUMENTS, SECS, SET_ASIDE, STUCK = "documents", "secs", "set_aside", "stuck"
_LOOK_SECS: Final = 10.0
OWN_FAULT: Final = "own_fault/"
OWN_FAULT_DOCUMENTS: Final = "own_fault/documents"
PARTS: Final = "own_fault/part/"
EXAMPLES: Final = "own_fault/example/"  # text, only in this worker
KEY: Final = "own_faults"  # in Redis: the last example of each part
_LIBRARY: Final = sysconfig.get_path("stdlib")
_EXTRA: Final = re.compile(r"'rdfcrawl\[([a-z-]+)\]'")


class WorkerReports:
    """The reports of all workers of a crawl.

    Invariant: the sum over all fields of `figures` covers all reports, including those
    of gone workers. Gone workers share one field once there are many.
    """

    def __init__(
        self,
        redis: Redis,
        scripts: LuaScripts,
        key: Callable[[str], str],
        options: FrontierOptions,
    ) -> None:
        self._redis = redis
        self._scripts = scripts
        self._prefix = key("").removesuffix(":")
        self._workers, self._figures = key("workers"), key("figures")
        self._options = options
        self.delays = WorkerDelays(redis, key, options.delay_secs, self.live)

    @property
    def silence_secs(self) -> float:
        """Time of silence after which a worker no longer counts as live."""
        return silence_secs(self._options.lease_secs)

    async def beat(self, worker: str, figures: Figures) -> list[str]:
        """Report life and progress of a worker; return all live workers."""
        pipe = self._redis.pipeline(transaction=True)
        pipe.zadd(self._workers, {worker: await self._now()})
        pipe.hset(self._figures, worker, json.dumps(figures))
        await pipe.execute()
        await self.delays.agree(worker)
        return await self.live()

    async def rejoin(self, worker: str) -> bool:
        """Report the life of a worker after long silence; return whether it was buried.

        If so, its earlier figures are part of the sum of gone workers.
        """
        pipe = self._redis.pipeline(transaction=True)
        pipe.zadd(self._workers, {worker: await self._now()})
        pipe.hexists(self._figures, worker)
        return not (await pipe.execute())[1]

    async def report(self, worker: str, figures: Figures) -> None:
        """Report the figures of a worker; one round trip."""
        await self._redis.hset(self._figures, worker, json.dumps(figures))

    async def live(self) -> list[str]:
        """Return the workers with a recent sign of life."""
        now, silence = await self._now(), self.silence_secs
        # If the clock was set back, times in the future are not recent.
        since, until = now - silence, now + silence
        names = await self._redis.zrangebyscore(self._workers, since, until)
        return [name.decode() for name in cast("list[bytes]", names)]

    async def leave(self, worker: str) -> None:
        """Remove an ending worker from the live ones; its figures stay."""
        await self._redis.zrem(self._workers, worker)
        await self.delays.leave(worker)

    async def bury(self) -> None:
        """Sum the figures of gone workers if there are many."""
        if await self._redis.hlen(self._figures) <= MAX_REPORTS:
            return
        until = await self._now() - GONE_AFTER_SECS
        heard = await self._redis.zrange(self._workers, 0, -1, withscores=True)
        lately = {
            name for name, at in cast("list[tuple[bytes, float]]", heard) if at > until
        }
        names = cast("list[bytes]", await self._redis.hkeys(self._figures))
        for name in {*names} - lately - {ENDED.encode()}:
            await self._bury(name.decode(), until=until)

    async def _bury(self, worker: str, until: int) -> None:
        """Add the figures of a worker silent since `until` to the sum."""
        for _ in range(_TRIES):
            found = await self._redis.hmget(self._figures, [worker, ENDED])
            own, ended = cast("list[bytes | None]", found)
            if own is None:
                return
            total = added(parsed(ended), parsed(own))
            reported = json.dumps(total)
            words: list[Argument] = [worker, own, ended or b"", reported, until]
            (is_done,) = await self._scripts.run("bury", [(self._prefix, words)])
            if is_done:
                return

    async def all(self) -> dict[str, dict[str, float]]:
        """Return the last report of each worker, and the sum of gone workers."""
        found = await self._redis.hgetall(self._figures)
        rows = cast("dict[bytes, bytes]", found)
        return {name.decode(): parsed(text) for name, text in rows.items()}

    async def _now(self) -> int:
        return int((await self._redis.time())[0])


def silence_secs(lease_secs: float) -> float:
    """Return the time of silence after which a worker no longer counts as live."""
    least, most = _DEAD_AFTER_SECS
    return min(most, max(least, lease_secs))


def sums_of(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the statistics of all workers, added up."""
    total: dict[str, float] = {}
    for row in rows:
        for name, value in row.items():
            if not name.startswith(CURRENT):
                total[name] = total.get(name, 0) + value
    return total


def parsed(text: bytes | None) -> dict[str, float]:
    """Return the figures in a report; empty if it is not valid."""
    try:
        found = json.loads(text or b"{}")
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {k: v for k, v in found.items() if isinstance(v, int | float)}


def added(ended: Figures, own: Figures) -> dict[str, float]:
    """Return the sum of figures, without momentary ones.

    >>> added({"document/seen": 2}, {"document/seen": 3, "started": 1.0})
    {'document/seen': 5}
    """
    total = dict(ended)
    for name, value in own.items():
        if not _is_current(name):
            total[name] = total.get(name, 0) + value
    return total


def without(figures: Figures, reported: Figures) -> dict[str, float]:
    """Return the increase of figures since a report.

    >>> without({"document/seen": 5, "started": 1.0}, {"document/seen": 3})
    {'document/seen': 2, 'started': 1.0}
    """
    return {
        name: value if _is_current(name) else value - reported.get(name, 0)
        for name, value in figures.items()
    }


def _is_current(name: str) -> bool:
    return name == STARTED or name.startswith(CURRENT)


class WorkerDrains:
    """Drained workers: requests of operators that a worker end.

    Each worker checks the list, and removes its name when it leaves the crawl.
    """

    def __init__(self, redis: Redis, key: Callable[[str], str]) -> None:
        self._redis = redis
        self._name = key("drain")

    async def request(self, worker: str) -> None:
        """Request that a worker end."""
        await self._redis.sadd(self._name, worker)

    async def is_requested(self, worker: str) -> bool:
        """Return whether a worker shall end."""
        return bool(await self._redis.sismember(self._name, worker))

    async def requested(self) -> set[str]:
        """Return the workers that shall end, and still run."""
        names = await self._redis.smembers(self._name)
        return {name.decode() for name in cast("set[bytes]", names)}

    async def forget(self, worker: str) -> None:
        """Remove a worker that has ended or is dead."""
        await self._redis.srem(self._name, worker)


class FollowerLag:
    """Measures the lag of followers periodically while a worker runs.

    Attributes:
        figures: figures for reports, `now/store/<kind>/<name>`: the maximum over all
            stores of a kind.
    """

    def __init__(self) -> None:
        self.figures: dict[str, float] = {}
        self._task: asyncio.Task[None] | None = None

    def begin(self, root: Path) -> None:
        """Start measuring the followers of the crawl in a folder."""
        self._task = asyncio.create_task(self._look(root))

    def end(self) -> None:
        """Stop measuring."""
        if self._task is not None:
            self._task.cancel()

    async def _look(self, root: Path) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECS)
            if (root / "followers").is_dir():
                self.figures = await asyncio.to_thread(lag_of, root)


def lag_of(root: Path) -> dict[str, float]:
    """Return the lag of the followers that have begun."""
    from rdfcrawl.stores.followers.status import read_statuses  # noqa: PLC0415 (few have any)

    figures: dict[str, float] = {}
    for status in read_statuses(root):
        kind = status.name.partition(":")[0]
        lags = {
            DOCUMENTS: status.n_behind,
            SECS: status.secs_behind,
            SET_ASIDE: status.n_set_aside,
            STUCK: status.is_stuck,
        }
        for what, value in lags.items():
            name = f"{LAG}{kind}/{what}"
            figures[name] = max(float(value), figures.get(name, 0.0))
    return figures


@dataclass(frozen=True, slots=True)
class OwnFaults:
    """Failures of code that runs here, ours or a user's, or for lack of a library.

    Attributes:
        n_documents: number of documents with such faults.
        parts: documents by the part that failed, such as an extractor; or failures of
            a component outside of documents, by its function.
        examples: the detail of a known fault of each part.
    """

    n_documents: int = 0
    parts: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        statistics: Mapping[str, object],
        examples: Mapping[str, str],
        earlier: Mapping[str, float] | None = None,
    ) -> Self:
        """Return the faults in statistics, or their increase since earlier ones."""
        grown = {
            name: int(value) - int((earlier or {}).get(name, 0))
            for name, value in statistics.items()
            if name.startswith(OWN_FAULT) and isinstance(value, int | float)
        }
        parts = {
            name.removeprefix(PARTS): n
            for name, n in grown.items()
            if n and name.startswith(PARTS)
        }
        return cls(grown.get(OWN_FAULT_DOCUMENTS, 0), parts, examples)

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self.parts)

    def __str__(self) -> str:
        """Return the number of documents, the parts, and an example of each."""
        ordered = sorted(self.parts.items(), key=lambda pair: (-pair[1], pair[0]))
        shown = ", ".join(f"{part} {n:,}{self._example(part)}" for part, n in ordered)
        n = self.n_documents
        return f"{counted(n, 'document')}: {shown}" if n else shown

    def _example(self, part: str) -> str:
        text = self.examples.get(part, "").removeprefix(f"{part}: ")
        return f" ({text})" if text else ""

    @property
    def hint(self) -> str:
        """Advice to the operator."""
        if not self.n_documents:
            return "own faults: the log has the tracebacks"
        found = {*_EXTRA.findall(" ".join(self.examples.values()))}
        retry = "-a retry=failed requests the documents again"
        if found:
            extras = ",".join(sorted(found))
            return f"pip install 'rdfcrawl[{extras}]'; then {retry}"
        return f"own faults: the log has the tracebacks; once they are mended, {retry}"


def part_key(part: str) -> str:
    """Return the statistic of the documents on which a part has failed."""
    return f"own_fault/part/{part}"


def note_own_fault(stats: StatsCollector, part: str, detail: str) -> None:
    """Count a document given up because a part of the crawler failed."""
    stats.inc_value(OWN_FAULT_DOCUMENTS)
    stats.inc_value(part_key(part))
    keep_example(stats, part, detail)


def note_failed_part(stats: StatsCollector, error: BaseException) -> None:
    """Count an exception of a component that concerns no document."""
    part = user_part(error) or "components"
    stats.inc_value(part_key(part))
    keep_example(stats, part, one_line(repr(error)))


def user_part(error: BaseException) -> str:
    """Return the function of a user's component that raised an exception.

    Empty if the exception is from our code, or from installed libraries alone.
    """
    for frame, _ in reversed([*walk_tb(error.__traceback__)]):
        module: str = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] == __name__.partition(".")[0]:
            break
        path = frame.f_code.co_filename
        if not path.startswith((_LIBRARY, "<frozen ")) and "-packages/" not in path:
            return f"{module}.{frame.f_code.co_qualname}"
    return ""


def keep_example(stats: StatsCollector, part: str, detail: str) -> None:
    """Keep the detail of the first fault of a part."""
    key = f"own_fault/example/{part}"
    if stats.get_value(key) is None:
        stats.set_value(key, detail)


def examples_of(statistics: Mapping[str, object]) -> dict[str, str]:
    """Return the examples kept by this worker, by part."""
    return {
        name.removeprefix(EXAMPLES): str(text)
        for name, text in statistics.items()
        if name.startswith(EXAMPLES)
    }


async def share_examples(
    redis: Redis, key: Callable[[str], str], examples: Mapping[str, str]
) -> None:
    """Share the examples of this worker for the summary of all workers."""
    if examples:
        with suppress(RedisError):  # they are in the log of this worker
            await redis.hset(key(KEY), items=[*chain(*examples.items())])


async def shared_examples(redis: Redis, key: Callable[[str], str]) -> dict[str, str]:
    """Return the last shared example of each part."""
    found = cast("dict[bytes, bytes]", await redis.hgetall(key(KEY)))
    return {
        part.decode(errors="replace"): text.decode(errors="replace")
        for part, text in found.items()
    }
