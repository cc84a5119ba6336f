"""Workers of one crawl whose fetches are only waited for, on a real frontier.

Everything but the fetch is as in a crawl: each worker has its own connections, its
claims, leases, heartbeats and commits. All are in one process, so that the times of
their requests can be compared.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from rdfcrawl.frontier.queue.frontier_client import Frontier
from rdfcrawl.frontier.worker.worker_state import sleep_until
from tests.support.frontier_state import candidates
from tests.support.frontier_workers import new_worker
from tests.support.redis_fixtures import frontier_on

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redis.asyncio import Redis

    from rdfcrawl.core.visits import Visit
    from rdfcrawl.frontier.worker.worker import FrontierWorker

_LOOK_SECS = 0.5  # if nothing wakes a worker


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedCrawl:
    """The URLs of a simulated crawl and its workers.

    Attributes:
        workers, machines: how many; workers are spread evenly.
        hosts, a_host: number of hosts, and of URIs on each.
        places: hosts that a worker visits in parallel.
        delay_secs, window_secs: between two requests to a host; most of a visit.
        latency_secs: from a request to its answer.
        partitions: of the crawl.
        lease_secs: of a host.
    """

    workers: int
    hosts: int
    a_host: int
    machines: int = 1
    places: int = 8
    delay_secs: float = 0.5
    window_secs: float = 2.0
    latency_secs: float = 0.05
    partitions: int = 16
    lease_secs: float = 60.0

    @property
    def ceiling(self) -> float:
        """Requests per second without any waiting for the frontier."""
        n = max(1, int(self.window_secs / self.delay_secs))
        visit_secs = (n - 1) * self.delay_secs + self.latency_secs
        of_places = self.workers * self.places * n / visit_secs
        return min(of_places, self.hosts / self.delay_secs)


class Fetch(NamedTuple):
    """A request that was made."""

    at: float  # monotonic
    host: str
    url: str
    worker: str
    is_first: bool  # of its visit


@dataclass(slots=True)
class SimulatedRun:
    """Requests between two times, and their cost.

    Attributes:
        crawl: the simulated one.
        fetches: all of them, in order of time.
        began, ended: monotonic times; those before are not judged.
        claim_secs: how long each claim took, the wait for the process included.
        is_over: no further visits are begun.
    """

    crawl: SimulatedCrawl
    fetches: list[Fetch] = field(default_factory=list)
    began: float = 0.0
    ended: float = 0.0
    claim_secs: list[float] = field(default_factory=list)
    is_over: bool = False

    @property
    def judged(self) -> list[Fetch]:
        """The requests within these times."""
        return [each for each in self.fetches if self.began <= each.at <= self.ended]

    @property
    def rate(self) -> float:
        """Requests per second."""
        return len(self.judged) / (self.ended - self.began)

    def shares(self, by: str) -> list[float]:
        """Return the requests of each worker or host by the mean, ascending."""
        n = self.crawl.workers if by == "worker" else self.crawl.hosts
        found = Counter(getattr(each, by) for each in self.judged)
        counts = [0] * (n - len(found)) + sorted(found.values())
        mean = sum(counts) / n
        return [count / mean for count in counts]

    @property
    def longest_wait_secs(self) -> float:
        """The longest time in which a host with work got no request."""
        times: defaultdict[str, list[float]] = defaultdict(list)
        for each in self.judged:
            times[each.host].append(each.at)
        waits = [
            later - before
            for some in times.values()
            for before, later in zip(
                [self.began, *some], [*some, self.ended], strict=True
            )
        ]
        n_unasked = self.crawl.hosts - len(times)
        return self.ended - self.began if n_unasked else max(waits)

    @property
    def round_secs(self) -> float:
        """How long it takes to visit each host once, at the rate of this run."""
        crawl = self.crawl
        n = max(1, int(crawl.window_secs / crawl.delay_secs))
        return crawl.hosts * n / self.rate

    @property
    def shortest_gap_secs(self) -> float:
        """The shortest time between two requests to the same host."""
        last: dict[str, float] = {}
        shortest = float("inf")
        for each in self.fetches:
            shortest = min(shortest, each.at - last.get(each.host, float("-inf")))
            last[each.host] = each.at
        return shortest

    def at_home(self, place_of: Callable[[str], str]) -> float:
        """Return the share of visits by that place which visits their host most."""
        visits: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for each in self.fetches:
            if each.is_first:
                visits[each.host][place_of(each.worker)] += 1
        most = sum(max(counter.values()) for counter in visits.values())
        return most / sum(counter.total() for counter in visits.values())


class _TimedFrontier(Frontier):
    """A frontier that takes the time of claims."""

    claim_secs: list[float]

    async def claim(
        self, *args: Any, **kwargs: Any
    ) -> tuple[list[Visit], float | None]:
        """See `Frontier.claim`."""
        began = time.monotonic()
        answer = await super().claim(*args, **kwargs)
        self.claim_secs.append(time.monotonic() - began)
        return answer


async def simulate(
    crawl: SimulatedCrawl,
    connect: Callable[[], Redis],
    version: tuple[int, ...],
    *,
    secs: float | None,
    warm_secs: float = 0.0,
) -> SimulatedRun:
    """Crawl for some seconds after a warm-up, or to the end (None).

    The frontier stays unchanged then.
    """
    run = SimulatedRun(crawl)
    async with AsyncExitStack() as stack:
        workers, wakes = [], []
        for number in range(crawl.workers):
            client = connect()
            stack.push_async_callback(client.aclose)
            frontier = _frontier(crawl, client, version, run)
            await frontier.open()
            if number == 0:
                await _queue(frontier, crawl)
            machine = number % crawl.machines
            name = f"m{machine}-{1000 + number}-{number:06x}"
            wakes.append(asyncio.Event())
            worker = new_worker(
                frontier,
                name,
                wake=wakes[-1].set,
                visits=crawl.places,
                commit_secs=1.0,
            )
            workers.append(worker)
        await asyncio.gather(*(worker.open() for worker in workers))
        for worker in workers:  # all have come
            await worker.leases.beat()
        makers = [
            asyncio.create_task(_work(worker, wake, run))
            for worker, wake in zip(workers, wakes, strict=True)
        ]
        run.began = time.monotonic() + warm_secs
        if secs is None:
            await asyncio.gather(*makers)
        else:
            await asyncio.sleep(warm_secs + secs)
        run.ended = time.monotonic()
        run.is_over = True
        for wake in wakes:
            wake.set()
        await asyncio.gather(*makers)
        await asyncio.gather(*(worker.close() for worker in workers))
    run.fetches.sort()
    return run


def _frontier(
    crawl: SimulatedCrawl, client: Redis, version: tuple[int, ...], run: SimulatedRun
) -> Frontier:
    frontier = frontier_on(
        client,
        version,
        kind=_TimedFrontier,
        partitions=crawl.partitions,
        delay_secs=crawl.delay_secs,
        window_secs=crawl.window_secs,
        lease_secs=crawl.lease_secs,
    )
    assert isinstance(frontier, _TimedFrontier)
    frontier.claim_secs = run.claim_secs
    return frontier


async def _queue(frontier: Frontier, crawl: SimulatedCrawl) -> None:
    for host in range(crawl.hosts):
        paths = [f"https://h{host}.example/{i}" for i in range(crawl.a_host)]
        await frontier.add(candidates(frontier, paths))


async def _work(worker: FrontierWorker, wake: asyncio.Event, run: SimulatedRun) -> None:
    """Make visits until the crawl is over."""
    visits: set[asyncio.Task[None]] = set()

    def end(visit: asyncio.Task[None]) -> None:
        visits.discard(visit)
        wake.set()

    try:
        while not (worker.is_over or run.is_over):
            wake.clear()
            while len(visits) < run.crawl.places and (visit := worker.next_visit()):
                task = asyncio.create_task(_make(worker, visit, run))
                visits.add(task)
                task.add_done_callback(end)
            await sleep_until(wake, _LOOK_SECS)
    finally:
        for task in visits:
            task.cancel()


async def _make(worker: FrontierWorker, visit: Visit, run: SimulatedRun) -> None:
    """Request the URIs of a visit from a host."""
    name, urls = worker.options.name, _urls(visit)
    for number, url in enumerate(urls):
        if number:
            await asyncio.sleep(run.crawl.delay_secs - run.crawl.latency_secs)
        if visit.is_lost:
            break
        run.fetches.append(Fetch(time.monotonic(), visit.key, url, name, number == 0))
        await asyncio.sleep(run.crawl.latency_secs)
    visit.pending.clear()
    worker.finish(visit)


def _urls(visit: Visit) -> Sequence[str]:
    return [record.url for record in visit.records]
