"""Files of reservations that workers share, over a real Redis and loopback servers."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from rdfcrawl.core.reservations import NOTHING, Reservations
from rdfcrawl.downloader.robots.cache import RobotsCache, RobotsOptions
from rdfcrawl.downloader.robots.tdm import TDM_PATH, TdmCache
from rdfcrawl.frontier.queue.host_rules import KeepingOptions, OwnRules
from rdfcrawl.frontier.queue.shared_rules import KeptRobots
from rdfcrawl.frontier.redis.errors import RedisRetry
from rdfcrawl.frontier.request_turns import HostRestsError, SoloTurn, SoloTurns
from rdfcrawl.uri import host_of
from rdfcrawl.uri.hosts import origin_of
from tests.downloader.robots.test_cache import cached, visit_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from rdfcrawl.core.visits import Visit
    from rdfcrawl.downloader.options import FetchOptions
    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from tests.conftest import RawServer, RawServers, Reply
    from tests.support.redis_fixtures import MakeFrontier

    MakeOptions = Callable[..., FetchOptions]

FILE = b'[{"location": "/", "tdm-reservation": 1}]'
BUSY = {"status": "503 Busy"}


class TdmWorker(NamedTuple):
    """A worker that requests files of reservations.

    Attributes:
        cache: of these.
        robots: its private rules of robots.txt.
        counts: the statistics.
    """

    cache: TdmCache
    robots: RobotsCache
    counts: list[str]

    async def of(self, server: RawServer) -> Reservations | None:
        """Return the reservations of a server's document."""
        url = server.url("/a")
        return await self.cache.of(url, visit_of(url))


@asynccontextmanager
async def worker(
    options: FetchOptions,
    frontier: Frontier | None = None,
    turns: SoloTurns | None = None,
    **changes: Any,
) -> AsyncIterator[TdmWorker]:
    """Open a worker; with a frontier, it knows what others have found out."""
    counts: list[str] = []
    kept = frontier and KeptRobots(frontier, RedisRetry(), KeepingOptions())
    async with cached(options) as robots:
        tdm = TdmCache(
            robots,
            RobotsOptions(**changes),
            keeper=kept or OwnRules(0.0),
            turns=turns,
            count=counts.append,
        )
        yield TdmWorker(tdm, robots, counts)
        await tdm.close()
        if kept:
            await kept.close()


async def asked_for(frontier: Frontier) -> list[bytes]:
    """Return the keys that a worker is about to fetch."""
    return [key async for key in frontier.redis.scan_iter(match="*:rf:*")]


async def test_reservations_hold_while_their_file_cannot_be_had(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a site's file of reservations fails later, then its rules stay valid."""
    reserved = raw_server.response(FILE)
    server = await raw_server({TDM_PATH: reserved})
    async with worker(fetch_options(), ttl_secs=0.0) as one:
        for reply, said in (
            (reserved, True),
            (raw_server.response(FILE, **BUSY), True),
            (raw_server.response(FILE, status="404 Not Found"), None),
        ):
            server.pages[TDM_PATH] = reply
            found = await one.of(server)
            assert found is not None
            assert found.tdm is said
    assert server.targets.count(TDM_PATH) == 3
    assert one.counts == ["tdm/file"]


@pytest.mark.parametrize("is_good", [True, False])
async def test_file_is_requested_once(
    raw_server: RawServers, fetch_options: MakeOptions, *, is_good: bool
) -> None:
    """If documents of a site come at once and later, then its file is read once."""
    reply: Reply = [0.05, raw_server.response(FILE if is_good else b"[")]
    server = await raw_server({TDM_PATH: reply})
    async with worker(fetch_options()) as one:
        assert one.cache.known("ftp://h.example/a") is NOTHING
        assert one.cache.known(server.url("/a")) is None
        found = await asyncio.gather(*(one.of(server) for _ in range(3)))
        found.append(await one.of(server))
    values = [each.tdm for each in found if each is not None]
    assert values == [is_good or None] * 4
    assert server.targets.count(TDM_PATH) == 1
    assert one.counts == ["tdm/file" if is_good else "tdm/bad_file"]


@pytest.mark.parametrize("agent", ["rdfcrawl", "LabBot"])
async def test_workers_share_files(
    raw_server: RawServers,
    fetch_options: MakeOptions,
    make_frontier: MakeFrontier,
    agent: str,
) -> None:
    """If a worker has read a file, then others know it, unless it is damaged."""
    server = await raw_server({TDM_PATH: raw_server.response(FILE)})
    options, frontier = fetch_options(), await make_frontier()
    async with (
        worker(options, frontier, agent=agent) as one,
        worker(options, frontier, agent=agent) as two,
        worker(options, frontier, agent=agent) as three,
    ):
        for each, n_asked in ((one, 1), (two, 1), (three, 2)):
            if each is three:
                keeper = KeptRobots(frontier, RedisRetry(), KeepingOptions())
                own = "" if agent == "rdfcrawl" else f" {agent.lower()}"
                name = f"{origin_of(server.url())}{TDM_PATH}{own}"
                await keeper.keep_rules(name, b"{}", 60.0)
                await keeper.close()
            found = await each.of(server)
            assert found is not None
            assert found.tdm is True
            assert each.cache.known(server.url("/a")) == found
            assert server.targets.count(TDM_PATH) == n_asked
    assert [each.counts for each in (one, two, three)] == [
        ["tdm/file"],
        [],
        ["tdm/file"],
    ]


async def test_file_is_not_requested_without_the_rules(
    raw_server: RawServers, fetch_options: MakeOptions, make_frontier: MakeFrontier
) -> None:
    """If robots.txt cannot be had, then older reservations hold, or else none."""
    server = await raw_server({TDM_PATH: raw_server.response(FILE)})
    options, frontier = fetch_options(), await make_frontier()

    async def found(status: str) -> tuple[bool | None, int]:
        """Return the rules for a worker with empty memory, and the requests so far."""
        server.pages["/robots.txt"] = raw_server.response(b"", status=status)
        async with worker(options, frontier, ttl_secs=0.0) as one:
            said = await one.of(server)
        assert said is not None
        assert await asked_for(frontier) == []
        return said.tdm, server.targets.count(TDM_PATH)

    assert await found("503 Busy") == (None, 0)
    assert await found("404 Not Found") == (True, 1)
    assert await found("503 Busy") == (True, 1)


class RestingTurns(SoloTurns):
    """Turns where one host is left alone, or where the worker stops."""

    def __init__(self, host: str) -> None:
        self._host = host

    async def of_url(
        self, url: str, delay_secs: float = 0.0, *, visit: Visit | None = None
    ) -> SoloTurn | None:
        """Return a turn to request a URL of another host."""
        if not self._host:
            return None
        if host_of(url) == self._host:
            raise HostRestsError(60.0)
        return await super().of_url(url, delay_secs, visit=visit)


@pytest.mark.parametrize("resting", ["", "127.0.0.1", "127.0.0.2"])
async def test_file_without_a_turn_is_not_requested(
    raw_server: RawServers,
    fetch_options: MakeOptions,
    make_frontier: MakeFrontier,
    resting: str,
) -> None:
    """If there is no turn, then a file waits; if it has moved there, it is missing."""
    other = await raw_server({"/file": raw_server.response(FILE)}, host="127.0.0.2")
    server = await raw_server({TDM_PATH: raw_server.redirect(other.url("/file"))})
    options, frontier = fetch_options(), await make_frontier()
    has_moved = resting == "127.0.0.2"
    async with worker(options, frontier, RestingTurns(resting)) as one:
        assert await one.of(server) == (NOTHING if has_moved else None)
    assert await asked_for(frontier) == []
    assert server.targets == ["/robots.txt", *[TDM_PATH] * has_moved]
    assert other.targets == []


async def test_busy_file_is_requested_again_after_a_while(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a file cannot be had, then it is missing for a short time, not for a day."""
    server = await raw_server({TDM_PATH: raw_server.response(FILE, **BUSY)})
    for stale_secs, n_asked in ((60.0, 1), (0.0, 2)):
        server.requests.clear()
        async with worker(fetch_options(), stale_secs=stale_secs) as one:
            assert [await one.of(server) for _ in range(2)] == [NOTHING] * 2
        assert server.targets.count(TDM_PATH) == n_asked


async def test_requests_end_with_the_worker(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a worker ends, then it does not wait for a response about a site."""
    silent = await raw_server({"/robots.txt": [60.0]})
    server = await raw_server({TDM_PATH: [60.0]})
    async with worker(fetch_options()) as one:
        tasks = [
            asyncio.create_task(one.of(server)),
            asyncio.create_task(one.robots.apply(visit_of(silent.url("/a")))),
        ]
        while not (silent.targets and TDM_PATH in server.targets):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await one.cache.close()
        await one.robots.close()
        await asyncio.wait(tasks, timeout=10)
        assert [task.cancelled() for task in tasks] == [True, True]
