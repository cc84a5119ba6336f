"""Redirects in a visit: followed, left to others, or refused."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.downloader.options import FetchOptions
    from tests.conftest import RawRequest, RawServers, Reply

    MakeOptions = Callable[..., FetchOptions]
from tests.support.visit_runs import (
    TURTLE,
    Seen,
    check_invariant,
    reasons,
    run,
    visit_of,
    visiting,
)


async def test_redirect_on_the_host_is_followed(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a URI redirects on its host, then the document is where it leads."""
    server = await raw_server(
        {
            "/id/a": raw_server.redirect("/doc/a#it"),
            "/doc/a": raw_server.redirect("a.ttl", "302 Found"),
            "/doc/a.ttl": raw_server.response(TURTLE),
        }
    )
    visit = visit_of(server.url("/id/a"))
    seen = Seen()
    await run(visit, fetch_options(), seen)
    document = visit.documents[0]
    chain = tuple(server.url(f"/{path}") for path in ("id/a", "doc/a", "doc/a.ttl"))
    assert document.response.requested == chain
    assert document.url == chain[-1]
    assert visit.known == list(chain[1:])
    assert seen.urls == set(chain[1:])


async def test_redirect_elsewhere_is_an_outlink(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a URI redirects to another host, then its target waits in that queue."""
    server = await raw_server({"/b": raw_server.redirect("http://127.0.0.9/c")})
    record = Record(
        server.url("/b"),
        depth=3,
        parent="http://p.example/",
        chain=("http://a.example/",),
        lost=1,
        retries=2,
    )
    visit = await run(visit_of(record), fetch_options())
    assert reasons(visit) == [None]
    assert (visit.documents[0].status, visit.documents[0].response.body) == (303, None)
    assert visit.outlinks == [
        Record(
            "http://127.0.0.9/c",
            depth=3,
            parent="http://p.example/",
            chain=("http://a.example/", server.url("/b")),
        )
    ]


@pytest.mark.parametrize(
    ("record", "is_fetched"),
    [
        ({}, False),
        ({"retries": 1}, True),
        ({"lost": 1}, True),
    ],
    ids=["fresh", "put-back", "lost"],
)
async def test_seen_target_is_left_to_who_has_it(
    raw_server: RawServers,
    fetch_options: MakeOptions,
    record: dict[str, int],
    *,
    is_fetched: bool,
) -> None:
    """If a target is already seen, then only a record that marked it goes on."""
    pages: dict[str, Reply] = {
        "/a": raw_server.redirect("/b"),
        "/b": raw_server.response(TURTLE),
    }
    server = await raw_server(pages)
    visit = visit_of(Record(server.url("/a"), **record))  # type: ignore[arg-type]
    await run(visit, fetch_options(), Seen(server.url("/b")))
    assert reasons(visit) == [None]
    assert server.targets == (["/a", "/b"] if is_fetched else ["/a"])
    assert visit.documents[0].status == (200 if is_fetched else 303)


async def test_retry_may_follow_its_own_redirect_again(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If the target fails once, then the retry is not mistaken for a seen URL."""
    bad, good = raw_server.response(status="500 X"), raw_server.response(TURTLE)
    server = await raw_server(
        {
            "/a": raw_server.redirect("/b"),
            "/b": lambda request: good if request.nth > 1 else bad,
        }
    )
    visit = await run(visit_of(server.url("/a")), fetch_options())
    assert visit.documents[0].status == 200
    assert visit.documents[0].response.requested == (server.url("/a"), server.url("/b"))


async def test_record_that_marked_its_target_says_so(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a visit ends between redirect and target, then the next one may fetch it."""
    server = await raw_server({"/a": raw_server.redirect("/b")})
    visit = visit_of(server.url("/a"), delay_secs=5.0)
    async with visiting(fetch_options()) as visitor:
        task = asyncio.create_task(visitor.visit(visit))
        while "/a" not in server.targets:  # noqa: ASYNC110 (as above)
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        visitor.stop()
        await task
    check_invariant(visit)
    assert visit.returned[0].retries == 1


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("/a", Reason.REDIRECT_LOOP),
        ("http://start.example/", Reason.REDIRECT_LOOP),
        ("file:///etc/passwd", Reason.REDIRECT_BAD_TARGET),
        ("sftp://127.0.0.1/", Reason.REDIRECT_BAD_TARGET),
        ("data:text/turtle,x", Reason.REDIRECT_BAD_TARGET),
        ("http://[::bad/", Reason.REDIRECT_BAD_TARGET),
        ("", Reason.REDIRECT_BAD_TARGET),
        ("/" + "x" * 9000, Reason.REDIRECT_BAD_TARGET),
    ],
)
async def test_bad_redirect_is_not_followed(
    raw_server: RawServers, fetch_options: MakeOptions, location: str, reason: Reason
) -> None:
    """If a redirect leads back or nowhere, then the document says so."""
    server = await raw_server({"/a": raw_server.redirect(location)})
    record = Record(server.url("/a"), chain=("http://start.example/",))
    visit = await run(visit_of(record), fetch_options())
    assert reasons(visit) == [reason]
    assert len(server.requests) == 1


async def test_redirect_limit_counts_all_hosts(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a chain is too long over all its hosts, then it ends."""
    server = await raw_server(
        {"*": lambda request: raw_server.redirect(f"{request.target}x")}
    )
    record = Record(server.url("/x"), chain=("http://a.example/", "http://b.example/"))
    visit = await run(visit_of(record), fetch_options(redirect_limit=5))
    assert reasons(visit) == [Reason.REDIRECT_LIMIT]
    assert len(server.requests) == 4  # two redirects before, three followed here


async def test_redirect_to_a_dead_origin_of_the_key(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If all redirect to a dead origin, then it is tried once and the rest goes on."""
    n_tried = 0

    def no_tls(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal n_tried
        n_tried += 1
        writer.write(b"not TLS")
        writer.close()

    async with await asyncio.start_server(no_tls, "127.0.0.1", 0) as listener:
        dead = f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        pages: dict[str, Reply] = {
            "/a": raw_server.redirect(f"{dead}/a"),
            "/b": raw_server.redirect(f"{dead}/b"),
            "/c": raw_server.response(TURTLE),
        }
        server = await raw_server(pages)
        visit = visit_of(
            server.url("/a"), Record(server.url("/b"), retries=3), server.url("/c")
        )
        await run(visit, fetch_options())
    assert n_tried == 1
    assert reasons(visit) == [None, Reason.TLS]
    assert visit.documents[1].response.requested == (server.url("/b"),)
    assert {i: record.retries for i, record in visit.returned.items()} == {0: 1}
    assert not visit.host_refused


async def test_cookies_end_with_a_try(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a document is requested once more, then without the cookies of before."""

    def setting(request: RawRequest) -> bytes:
        moved = raw_server.redirect("/b")
        line = b"Set-Cookie: c=1\r\nContent-Type"
        return moved.replace(b"Content-Type", line) if request.nth == 1 else moved

    def failing(request: RawRequest) -> bytes:
        status = "500 Internal" if request.nth == 1 else "200 OK"
        return raw_server.response(TURTLE, status=status)

    server = await raw_server({"/a": setting, "/b": failing})
    visit = visit_of(server.url("/a"))
    await run(visit, fetch_options(retry_times=1, backoff_base_secs=0.01))
    assert reasons(visit) == [None]
    sent = [(each.target, each.headers.get("cookie")) for each in server.requests]
    assert sent == [("/a", None), ("/b", "c=1"), ("/a", None), ("/b", None)]
