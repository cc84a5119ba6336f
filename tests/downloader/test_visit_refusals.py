"""Visits of hosts that are busy, refuse or are down: left alone, and no record lost."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.downloader.options import FetchOptions
    from tests.conftest import RawServers

    MakeOptions = Callable[..., FetchOptions]
from tests.support.visit_runs import (
    TURTLE,
    reasons,
    run,
    visit_of,
)


@pytest.mark.parametrize("status", [429, 503, 500])
async def test_a_host_that_has_answered_is_left_alone_for_a_short_time(
    raw_server: RawServers, fetch_options: MakeOptions, status: int
) -> None:
    """If a host succeeds after refusals, then later refusals count as the first ones.

    URLs that were never requested come before those that were refused.
    """
    bad = raw_server.response(status=f"{status} No")
    server = await raw_server({"*": bad, "/good": raw_server.response()})
    urls = [server.url(path) for path in ("/a", "/b", "/c", "/good")]
    refused = [Record(url, retries=1) for url in urls[:3]]
    visit = visit_of(*refused, urls[3], failures=3)
    visit.suspected, visit.ignores_failures = urls[0], True
    await run(visit, fetch_options(backoff_base_secs=1.0))
    assert server.targets[0] == "/good"
    assert len(server.targets) > 1
    if visit.host_refused:
        assert visit.not_before_secs == 1.0
    assert all(deferral.secs <= 2.0 for deferral in visit.deferred.values())


@pytest.mark.parametrize("failures", [0, 1, 2])
@pytest.mark.parametrize("status", [429, 503])
async def test_busy_host_is_left_alone(
    raw_server: RawServers, fetch_options: MakeOptions, status: int, failures: int
) -> None:
    """If a second URL confirms that a host is busy, then the visit ends.

    At last its records are given up.
    """
    server = await raw_server({"*": raw_server.response(status=f"{status} Busy")})
    visit = visit_of(*(server.url(f"/{n}") for n in "abc"), failures=failures)
    await run(visit, fetch_options(backoff_base_secs=1.0))
    n_asked = len(server.requests)
    assert n_asked == (1 if failures else 2)
    assert visit.host_refused
    if failures < 2:
        retries = [record.retries for _, record in sorted(visit.returned.items())]
        assert retries == [1] * n_asked + [0] * (3 - n_asked)
        assert set(visit.deferred) == set(range(n_asked))
        assert visit.not_before_secs == 2.0**failures
    else:
        assert reasons(visit) == [Reason.HOST_BUSY] * 3
        assert visit.not_before_secs == 1.0


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("place", [0, 1, 3])
async def test_busy_url_is_no_busy_host(
    raw_server: RawServers, fetch_options: MakeOptions, status: int, place: int
) -> None:
    """If one URL is refused and others succeed, then it alone waits."""
    busy = raw_server.response(status=f"{status} Busy", Retry_After="3600")
    server = await raw_server({"*": raw_server.response(TURTLE), "/busy": busy})
    paths = ["/a/1", "/b/2", "/c/3"]
    paths.insert(place, "/busy")
    visit = visit_of(*map(server.url, paths))
    await run(visit, fetch_options(backoff_base_secs=1.0))
    assert len(server.requests) == 4
    assert not visit.host_refused
    assert len(visit.documents) == 3
    assert {i: x.retries for i, x in visit.returned.items()} == {place: 1}
    assert visit.deferred[place] == (3600.0, True)
    assert visit.refused == ("" if place < 3 else server.url("/busy"))


async def test_busy_url_is_given_up_alone(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a URL is refused whenever others succeed, then it is given up."""
    busy = raw_server.response(status="503 Busy")
    server = await raw_server({"*": raw_server.response(TURTLE), "/busy": busy})
    record, n_visits = Record(server.url("/busy")), 0
    while True:
        visit = visit_of(server.url(f"/{n_visits}"), record)
        await run(visit, fetch_options(backoff_base_secs=0.01))
        n_visits += 1
        assert not visit.host_refused
        if not visit.returned:
            break
        record = visit.returned[1]
    assert n_visits == 3
    assert visit.failed == [1]


async def test_refusal_that_another_visit_confirms(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If the visit before ended with a refusal, then one more URL confirms it.

    The same URL does not, and URLs of another form are requested before its like.
    """
    busy = raw_server.response(status="503 Busy")
    server = await raw_server({"*": busy})
    before = server.url("/search?q=1")
    visit = visit_of(server.url("/search?q=2"), server.url("/page"), suspected=before)
    await run(visit, fetch_options(backoff_base_secs=1.0))
    assert server.targets == ["/page"]
    assert visit.host_refused
    same = visit_of(Record(before, retries=1), suspected=before)
    await run(same, fetch_options(backoff_base_secs=1.0))
    assert same.not_before_secs < 1.0  # others need not wait
    assert same.deferred[0].secs >= 1.0


@pytest.mark.parametrize(
    ("retry_after", "secs"),
    [("7", 7.0), ("999999999999", 100.0), ("soon", 1.0)],
    ids=["secs", "capped", "nonsense"],
)
async def test_retry_after_is_obeyed(
    raw_server: RawServers, fetch_options: MakeOptions, retry_after: str, secs: float
) -> None:
    """If a busy host says for how long, then it is left alone so long."""
    reply = raw_server.response(status="503 Busy", Retry_After=retry_after)
    server = await raw_server({"*": reply})
    options = fetch_options(backoff_base_secs=1.0, retry_after_max_secs=100.0)
    visit = await run(visit_of(server.url("/a"), server.url("/b")), options)
    assert visit.not_before_secs == secs
    assert {i: each.secs for i, each in visit.deferred.items()} == {0: secs, 1: secs}


@pytest.mark.parametrize("failures", [0, 2])
async def test_refusing_host(fetch_options: MakeOptions, failures: int) -> None:
    """If nothing listens, then the visit ends; finally its records are given up."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{unused.getsockname()[1]}"
        visit = visit_of(
            Record(f"{base}/a", retries=3), f"{base}/b", f"{base}/c", failures=failures
        )
        await run(visit, fetch_options())
    assert visit.host_refused
    expected = {0: 1, 2: 3}[failures]
    assert reasons(visit) == [Reason.UNREACHABLE] * expected
    assert len(visit.returned) == 3 - expected
    assert all(visit.records[i] == record for i, record in visit.returned.items())


async def test_one_dead_origin_does_not_end_the_visit(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If one of the key's origins is dead, then the others are still requested."""
    server = await raw_server({"*": raw_server.response(TURTLE)})
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{unused.getsockname()[1]}"
        visit = visit_of(
            f"{dead}/a",
            server.url("/b"),
            Record(f"{dead}/c", retries=3),
            server.url("/d"),
            failures=2,
        )
        await run(visit, fetch_options())
    assert reasons(visit) == [None, None, Reason.UNREACHABLE]
    assert {i: record.retries for i, record in visit.returned.items()} == {0: 1}
    assert not visit.host_refused


async def test_redirects_to_a_host_that_refuses_are_no_answers(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If an origin leads to one of the same host that refuses, then the host does."""
    busy = await raw_server({"*": raw_server.response(status="503 Busy")})
    moved = {f"/{n}": raw_server.redirect(busy.url(f"/{n}")) for n in "abcd"}
    server = await raw_server(moved)
    visit = visit_of(*map(server.url, moved))
    await run(visit, fetch_options(backoff_base_secs=1.0))
    assert len(busy.requests) == 2
    assert visit.host_refused
    assert visit.not_before_secs == 1.0
    assert {record.retries for record in visit.returned.values()} == {0, 1}
    assert visit.refused == busy.url("/b")


async def test_records_of_an_origin_that_refuses_lose_no_try_unasked(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If one origin of a host refuses and another succeeds, then untried ones wait."""
    busy = await raw_server({"*": raw_server.response(status="503 Busy")})
    good = await raw_server({"*": raw_server.response(TURTLE)})
    urls = [good.url("/0"), *(busy.url(f"/{n}") for n in range(5))]
    visit = visit_of(*urls)
    await run(visit, fetch_options(backoff_base_secs=1.0))
    assert len(busy.requests) == 2
    assert not visit.host_refused
    retries = [visit.returned[index].retries for index in range(1, 6)]
    assert retries == [1, 1, 0, 0, 0]
    assert set(visit.deferred) == set(range(1, 6))
