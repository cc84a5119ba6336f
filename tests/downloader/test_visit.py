"""Visits: every record ends as a document or goes back to the queue."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.records import Record
from rdfcrawl.downloader.client import HttpResponse
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.downloader.visit import VisitMaker
from rdfcrawl.frontier.request_turns import FREE
from rdfcrawl.uri import host_of
from tests.support.examples import examples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rdfcrawl.downloader.client import RequestOptions
    from rdfcrawl.downloader.options import FetchOptions
    from rdfcrawl.frontier.request_turns import SoloTurn
    from tests.conftest import RawRequest, RawServer, RawServers, Reply

    MakeOptions = Callable[..., FetchOptions]
from tests.support.visit_runs import (
    TURTLE,
    Seen,
    TimedTurns,
    check_invariant,
    reasons,
    run,
    visit_of,
    visiting,
)


async def test_records_become_documents(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a host responds, then each record is a document, in order."""
    pages: dict[str, Reply] = {"/a": raw_server.response(TURTLE)}
    server = await raw_server(pages)
    visit = visit_of(server.url("/a"), server.url("/b"))
    async with visiting(fetch_options()) as visitor:
        await visitor.visit(visit)
        first, second = visit.documents
        assert (first.response.body, first.response.n_bytes) == (TURTLE, len(TURTLE))
        assert first.url == server.url("/a")
        assert first.response.requested == (server.url("/a"),)
        assert 0 < first.response.started_ms <= first.response.ended_ms
        assert (second.status, second.response.body) == (404, None)
        assert visitor.spool.memory_bytes == len(TURTLE)
    check_invariant(visit)
    assert not visit.host_refused


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (204, None),
        (206, Reason.TRUNCATED_BODY),
        (300, Reason.REDIRECT_BAD_TARGET),
        (304, Reason.REDIRECT_BAD_TARGET),
        (400, Reason.CLIENT_ERROR),
        (401, Reason.CLIENT_ERROR),
        (404, Reason.NOT_FOUND),
        (410, Reason.GONE),
        (451, Reason.CLIENT_ERROR),
        (501, Reason.SERVER_ERROR),
        (600, Reason.BAD_HTTP),
    ],
)
async def test_status_is_a_fault(
    raw_server: RawServers,
    fetch_options: MakeOptions,
    status: int,
    reason: Reason | None,
) -> None:
    """If a status is no success, then the document names it and is not retried."""
    server = await raw_server({"/": raw_server.response(status=f"{status} X")})
    visit = await run(visit_of(server.url()), fetch_options())
    assert reasons(visit) == [reason]
    assert visit.documents[0].status == status
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [408, 500, 502, 504, 522, 524])
async def test_passing_trouble_is_retried_at_the_end(
    raw_server: RawServers, fetch_options: MakeOptions, status: int
) -> None:
    """If a document may succeed later, then it is requested after the others."""
    bad = raw_server.response(status=f"{status} X")
    good = raw_server.response(TURTLE)
    server = await raw_server(
        {"/a": lambda request: good if request.nth == 3 else bad, "*": good}
    )
    visit = await run(
        visit_of(server.url("/a"), server.url("/b"), server.url("/c")),
        fetch_options(),
    )
    assert server.targets == ["/a", "/b", "/c", "/a", "/a"]
    assert reasons(visit) == [None, None, None]


async def test_retries_end(raw_server: RawServers, fetch_options: MakeOptions) -> None:
    """If a document never fares better, then it ends with its fault."""
    server = await raw_server({"/": raw_server.response(status="500 X")})
    visit = await run(visit_of(server.url()), fetch_options(retry_times=1))
    assert reasons(visit) == [Reason.SERVER_ERROR]
    assert len(server.requests) == 2


async def test_longest_of_broken_bodies_is_kept(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a body breaks off each time, then the most that was read is kept."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"

    def reply(request: RawRequest) -> list[bytes | None]:
        return [head, b"x" * [0, 50, 2000, 7][request.nth], None]

    server = await raw_server({"/": reply})
    visit = visit_of(server.url())
    async with visiting(fetch_options(spool_bytes=1000)) as visitor:
        await visitor.visit(visit)
        document = visit.documents[0]
        assert document.response.path is not None
        assert (
            document.response.path.stat().st_size == document.response.n_bytes == 2000
        )
        assert document.is_partial
        assert visitor.spool.memory_bytes == 0
    assert reasons(visit) == [Reason.TRUNCATED_BODY]
    assert len(server.requests) == 3


async def test_delay_holds_between_all_requests(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a host has a delay, then it holds for redirects and retries too."""
    bad = raw_server.response(status="500 X")
    server = await raw_server(
        {"/a": raw_server.redirect("/b"), "/b": bad, "/c": [None], "/d": bad}
    )
    visit = visit_of(
        server.url("/a"), server.url("/c"), server.url("/d"), delay_secs=0.1
    )
    turns = TimedTurns()
    await run(visit, fetch_options(retry_times=1), turns=turns)
    # `/c` closes a kept connection, and is requested on another one, in its turn.
    assert len(server.requests) == len(turns.times) == 10
    assert all(b >= a + 0.1 for a, b in itertools.pairwise(turns.times))
    assert 0 < visit.not_before_secs <= visit.delay_secs


async def test_visit_ends_with_its_time(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a visit takes too long, then its remaining records go back unchanged."""
    response = raw_server.response(TURTLE)
    server = await raw_server({"*": response, "/2": [0.3, response]})
    urls = [server.url(f"/{number}") for number in range(10)]
    visit = visit_of(*urls)
    await run(visit, fetch_options(visit_max_secs=0.25))
    assert len(visit.documents) == len(server.requests) in {1, 2, 3}
    assert len(visit.returned) == len(urls) - len(server.requests)
    assert all(visit.records[i] is record for i, record in visit.returned.items())
    assert not visit.host_refused


async def test_stop_ends_a_visit_at_once(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If the worker stops, then a waiting visit ends and a new one requests nothing."""
    server = await raw_server({"*": raw_server.response(TURTLE)})
    visit = visit_of(server.url("/a"), server.url("/b"), delay_secs=60.0)
    async with visiting(fetch_options()) as visitor:
        task = asyncio.create_task(visitor.visit(visit))
        while not visit.documents:  # noqa: ASYNC110 (no event)
            await asyncio.sleep(0.01)
        visitor.stop()
        await asyncio.wait_for(task, 30.0)
        late = visit_of(server.url("/c"))
        await visitor.visit(late)
    assert server.targets == ["/a"]
    assert list(visit.returned) == [1]
    assert list(late.returned) == [0]
    assert (visit.is_postponed, late.is_postponed) == (False, True)
    check_invariant(visit)


async def test_cancelled_visit_loses_nothing(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a visit is cancelled within a request, then its record goes back too."""
    pages: dict[str, Reply] = {"/a": raw_server.response(TURTLE), "/b": [60.0]}
    server = await raw_server(pages)
    visit = visit_of(*(server.url(f"/{name}") for name in "abc"))
    async with visiting(fetch_options()) as visitor:
        task = asyncio.create_task(visitor.visit(visit))
        while "/b" not in server.targets:  # noqa: ASYNC110 (as above)
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    check_invariant(visit)
    assert visit.returned == {1: visit.records[1], 2: visit.records[2]}


async def test_lost_lease_ends_a_visit(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If the lease is lost during a visit, then nothing more is requested."""
    server = await raw_server()
    visit = visit_of(*(server.url(f"/{i}") for i in range(3)))

    def reply(_: RawRequest) -> list[bytes | None]:
        visit.is_lost = True
        return [raw_server.response(TURTLE)]

    server.pages["/0"] = reply
    await run(visit, fetch_options())
    assert server.targets == ["/0"]
    assert sorted(visit.returned) == [1, 2]


@pytest.mark.parametrize("retries", [0, 3])
async def test_error_of_our_own_costs_one_record_a_try(
    raw_server: RawServers,
    fetch_options: MakeOptions,
    caplog: pytest.LogCaptureFixture,
    retries: int,
) -> None:
    """If a visit fails by itself, then its results are kept, and the culprit counts."""
    server = await raw_server(
        {
            "/0": raw_server.response(TURTLE),
            "/1": raw_server.redirect("/target"),
            "/2": raw_server.response(TURTLE),
        }
    )

    class Broken(Seen):
        async def is_new(self, url: str) -> bool:
            raise RuntimeError(url)

    records = [Record(server.url(f"/{i}"), retries=retries) for i in range(3)]
    visit = await run(visit_of(*records), fetch_options(), Broken())
    check_invariant(visit)
    assert visit.documents[0].status == 200
    assert "Unexpected error in the visit" in caplog.text
    if retries:
        assert reasons(visit) == [None, Reason.INTERNAL]
    else:
        assert visit.returned[1].retries == 1
    assert visit.returned[2].retries == retries


class ScriptedExchange:
    """Answers from a list, then for ever with the last."""

    def __init__(self, answers: list[HttpResponse]) -> None:
        self.answers = answers
        self.n_asked = 0

    async def get(
        self, url: str, ask: RequestOptions, turn: SoloTurn = FREE
    ) -> HttpResponse:
        """Return the next response to any request."""
        assert url
        assert ask.max_bytes
        assert turn.is_good()
        self.n_asked += 1
        answer = self.answers[min(self.n_asked, len(self.answers)) - 1]
        return HttpResponse(
            status=answer.status,
            location=answer.location,
            fault=answer.fault,
            is_host_fault=answer.is_host_fault,
        )


ANSWERS = st.one_of(
    st.sampled_from([200, 206, 304, 404, 429, 500, 503]).map(
        lambda status: HttpResponse(status=status)
    ),
    st.sampled_from(["", "/r1", "/r2", "http://other.example/", "https://h.example/"])
    .map(lambda location: HttpResponse(status=302, location=location)),
    st.builds(
        lambda reason, is_host_fault: HttpResponse(
            fault=Fault(reason), is_host_fault=is_host_fault
        ),
        st.sampled_from([Reason.TIMEOUT, Reason.DNS, Reason.BAD_HTTP, Reason.TLS]),
        st.booleans(),
    ),
)  # fmt: skip
RECORDS = st.builds(
    Record,
    st.sampled_from(["http://h.example/", "https://h.example/", "http://h.example:8/"])
    .flatmap(lambda base: st.integers(0, 9).map(lambda n: f"{base}{n}")),
    retries=st.integers(0, 3),
    lost=st.integers(0, 3),
)  # fmt: skip


@settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    records=st.lists(RECORDS, min_size=1, max_size=6),
    answers=st.lists(ANSWERS, min_size=1, max_size=8),
    failures=st.integers(0, 3),
)
def test_no_record_is_lost_or_doubled(
    tmp_path: Path,
    fetch_options: MakeOptions,
    records: list[Record],
    answers: list[HttpResponse],
    failures: int,
) -> None:
    """If a host sends any response at all, then every record ends in one place."""
    options = fetch_options(backoff_base_secs=1e-6, spool_dir=tmp_path)
    exchange = ScriptedExchange(answers)
    visit = visit_of(*records, failures=failures)

    async def run_scripted() -> None:
        with Spool(tmp_path, memory_limit_bytes=1 << 20) as spool:
            visitor = VisitMaker(
                exchange, spool, options, key_of=host_of, is_new=Seen().is_new
            )
            await visitor.visit(visit)

    asyncio.run(run_scripted())
    check_invariant(visit)
    most = (options.retry_times + 1) * (options.redirect_limit + 1)
    assert exchange.n_asked <= len(records) * most
    for index, record in visit.returned.items():
        before = visit.records[index]
        assert before.retries <= record.retries <= min(3, before.retries + 1)
        assert (record.url, record.lost) == (before.url, before.lost)
    assert all(d.faults or 200 <= d.status < 400 for d in visit.documents)


async def test_many_visits_at_once_share_one_exchange(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If many hosts are visited at once, then each visit has its own documents."""
    servers: list[RawServer] = []
    for number in range(1, 13):
        reply = raw_server.response(b"%d" % number)
        servers.append(await raw_server({"*": reply}, host=f"127.0.1.{number}"))
    visits = [
        visit_of(*(server.url(f"/{n}") for n in range(5)), delay_secs=0.01)
        for server in servers
    ]
    async with visiting(fetch_options()) as visitor:
        await asyncio.gather(*(visitor.visit(visit) for visit in visits))
    for number, visit in enumerate(visits, start=1):
        check_invariant(visit)
        assert [document.response.body for document in visit.documents] == [
            b"%d" % number
        ] * 5
    assert all(server.n_connections == 1 for server in servers)
