"""The pace of a visit: slower if the server is slow or fails, and back again."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.downloader.host_delay import PaceOptions, next_delay
from tests.support.frontier_claims import add, claim_one
from tests.support.frontier_state import check_frontier
from tests.support.visit_runs import TURTLE, TimedTurns, run, visit_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.downloader.options import FetchOptions
    from tests.conftest import RawServers
    from tests.support.redis_fixtures import MakeFrontier

    MakeOptions = Callable[..., FetchOptions]


_ROUNDING = 1e-6


def gaps(turns: TimedTurns) -> list[float]:
    """Return the seconds between the requests of a host."""
    return [later - each for each, later in pairwise(turns.times)]


async def test_host_that_fails_is_asked_more_slowly(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If pages of a host fail, then the delay doubles, and shrinks as it recovers."""
    server = await raw_server({"*": raw_server.response(TURTLE)})
    server.pages |= {"/1": raw_server.response(status="500 X"), "/2": [None]}
    visit = visit_of(*(server.url(f"/{n}") for n in range(6)), delay_secs=0.1)
    pace = PaceOptions(max_secs=0.3)
    turns = TimedTurns()
    await run(visit, fetch_options(retry_times=0, pace=pace), turns=turns)
    # `/2` closes a kept connection, and is requested once more on another one.
    least = [0.1, 0.2, 0.2, 0.3, 0.2, 0.15]
    for gap, wanted in zip(gaps(turns), least, strict=True):
        assert gap >= wanted - _ROUNDING
    assert 0.1 < visit.delay_secs < 0.14


async def test_slow_host_is_asked_more_slowly(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a host takes its time, then so much more passes before the next request."""
    server = await raw_server({"*": raw_server.response(TURTLE)})
    server.pages["/1"] = [0.1, raw_server.response(TURTLE)]
    visit = visit_of(*(server.url(f"/{n}") for n in range(4)), delay_secs=0.01)
    pace = PaceOptions(factor=4.0, max_secs=0.3)
    turns = TimedTurns()
    await run(visit, fetch_options(pace=pace), turns=turns)
    assert gaps(turns)[1] >= 0.3 - _ROUNDING


async def test_host_without_a_delay_keeps_none(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If there is no delay, then no failure makes one."""
    server = await raw_server({"*": raw_server.response(status="500 X")})
    visit = visit_of(*(server.url(f"/{n}") for n in range(2)))
    await run(visit, fetch_options(retry_times=0, pace=PaceOptions(factor=9.0)))
    assert visit.delay_secs == 0.0


@given(
    st.floats(0, 100), st.floats(0, 100), st.floats(0, 1e6), st.booleans(),
    st.floats(0, 100), st.floats(0, 100),
)  # fmt: skip
def test_delay_stays_in_its_limits(
    delay: float, least: float, secs: float, fails: bool, factor: float, most: float
) -> None:
    """If a delay follows responses, then it is between its minimum and maximum."""
    delay = max(delay, least)
    found = next_delay(
        delay,
        least_secs=least,
        response_secs=secs,
        has_failed=fails,
        options=PaceOptions(factor=factor, max_secs=most),
    )
    if delay == 0:
        assert found == 0
    else:
        assert least <= found <= max(delay, most)


async def test_pace_is_kept_for_all_workers(make_frontier: MakeFrontier) -> None:
    """If a visit ends slowly, then the next one begins so, on any worker."""
    frontier = await make_frontier(delay_secs=0.001, batch=1)
    await add(frontier, 4)
    for given_secs, secs in ((0.002, 0.002), (0.003, 0.003), (0.001, 0.001)):
        visit = await claim_one(frontier)
        visit.delay_secs = given_secs
        visit.returned[0] = visit.records[0]
        assert await frontier.release([visit]) == 0
        await asyncio.sleep(0.005)
        again = await claim_one(frontier)
        assert again.delay_secs == secs
        again.returned[0] = again.records[0]
        assert await frontier.release([again]) == 0
        await check_frontier(frontier)
        await asyncio.sleep(0.005)


@pytest.mark.parametrize(
    ("retry_after", "n_asked", "least_secs"),
    [
        ("0.2", 2, 0.0),  # is no number of seconds
        ("1", 2, 1.0),
        ("-1", 2, 0.0),
        ("soon", 2, 0.0),
        ("3600", 1, 0.0),
        ("Thu, 01 Jan 2026 12:01:00 GMT", 2, 0.0),
    ],
)
async def test_redirect_waits_as_it_is_told(
    raw_server: RawServers,
    fetch_options: MakeOptions,
    retry_after: str,
    n_asked: int,
    least_secs: float,
) -> None:
    """If a redirect says when to follow it, then it is not followed before."""
    moved = raw_server.redirect("/b").replace(
        b"\r\n\r\n", f"\r\nRetry-After: {retry_after}\r\n\r\n".encode(), 1
    )
    server = await raw_server({"/a": moved, "/b": raw_server.response(TURTLE)})
    visit = visit_of(server.url("/a"))
    turns = TimedTurns()
    await run(visit, fetch_options(retry_after_max_secs=100.0), turns=turns)
    assert len(server.requests) == n_asked
    if n_asked == 2:
        assert gaps(turns)[0] >= least_secs - _ROUNDING
    else:
        assert visit.deferred[0].secs == 100.0
        # A record that has waited is redirected, even with another `Retry-After`.
        server.pages["/a"] = moved.replace(b"3600", b"1")
        again = visit_of(visit.returned[0])
        await run(again, fetch_options())
        assert server.targets == ["/a", "/a", "/b"]
        assert again.documents[0].faults == []
