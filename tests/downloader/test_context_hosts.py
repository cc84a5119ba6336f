"""Hosts of contexts: the guard, robots.txt, delays."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from time import monotonic, time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.downloader.contexts.download import ContextHosts, LocalTurns

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.core.visits import Visit
    from rdfcrawl.downloader.options import FetchOptions
    from rdfcrawl.frontier.request_turns import SoloTurn
    from tests.conftest import RawServers

    MakeOptions = Callable[..., FetchOptions]
from tests.support.context_workers import (
    CONTEXT,
    FAST,
    HTML,
    LD,
    PRIVATE,
    moved,
    response,
    worker,
)


class TimedLocalTurns(LocalTurns):
    """Turns that note when they begin: the last time that is looked at for each."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.times: list[float] = []
        self._now = 0.0
        clock = SimpleNamespace(monotonic=self._look, time=time)
        patch.setattr("rdfcrawl.downloader.contexts.download.time", clock)

    def _look(self) -> float:
        self._now = monotonic()
        return self._now

    async def of_url(
        self, url: str, delay_secs: float = 0.0, *, visit: Visit | None = None
    ) -> SoloTurn | None:
        """See `SoloTurns.of_url`."""
        turn = await super().of_url(url, delay_secs, visit=visit)
        self.times.append(self._now)
        return turn


async def test_private_context_is_refused(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a document of the web names a private context, then no request is made."""
    server = await raw_server({"*": response(CONTEXT)}, host=PRIVATE)
    async with worker(fetch_options(), has_robots=True) as one:
        assert "guard_blocked" in await one.refusal(server.url("/c"))
    assert server.n_connections == 0


@pytest.mark.parametrize(
    "host", [PRIVATE, "127.2", "2130706434", "0177.0.0.2", "[::1]", "[::ffff:7f00:1]"]
)
@pytest.mark.parametrize("how", ["redirect", "alternate"])
async def test_way_to_a_private_context_is_refused(
    raw_server: RawServers, fetch_options: MakeOptions, host: str, how: str
) -> None:
    """If a public context leads to a private address, then it is not followed."""
    private = await raw_server({"*": response(CONTEXT)}, host=PRIVATE)
    target = f"http://{host}:{private.port}/c"
    link = f'<{target}>; rel="alternate"; type="{LD}"'
    pages = {
        "redirect": moved(target),
        "alternate": raw_server.response(HTML, "text/html", Link=link),
    }
    public = await raw_server({"/c": pages[how]})
    async with worker(fetch_options()) as one:
        assert "guard_blocked" in await one.refusal(public.url("/c"))
    assert private.n_connections == 0


async def test_robots_of_a_public_host_do_not_lead_to_a_private_one(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If robots.txt redirects to a private address, then it gets no request."""
    private = await raw_server({"*": response(b"")}, host=PRIVATE)
    public = await raw_server(
        {"/robots.txt": moved(private.url("/")), "/c": response(CONTEXT)}
    )
    async with worker(fetch_options(), has_robots=True) as one:
        assert "robots_unreachable" in await one.refusal(public.url("/c"))
    assert private.n_connections == 0


async def test_private_context_is_refused_to_its_own_origin(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a document was public and its host turns private, then no request is made."""
    private = await raw_server({"/c": response(CONTEXT)}, host=PRIVATE)
    async with worker(fetch_options()) as one:
        url, page = private.url("/c"), private.url("/page")
        assert "guard_blocked" in await one.refusal(url, page)
    assert private.n_connections == 0


async def test_private_context_behind_a_public_one_is_for_nobody(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a public context redirects to a private site, then it is refused.

    Contexts are cached by their public URL, which all documents share.
    """
    private = await raw_server({"/c": response(CONTEXT)}, host=PRIVATE)
    public = await raw_server({"/c": moved(private.url("/c"))})
    async with worker(fetch_options()) as one:
        own = private.url("/page")
        assert "guard_blocked" in await one.refusal(public.url("/c"), own)
        assert "guard_blocked" in await one.refusal(public.url("/c"))
    assert private.n_connections == 0


async def test_public_context_of_the_own_origin_is_for_all(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a site's own context is public, then one fetch serves everybody."""
    server = await raw_server({"/c": response(CONTEXT)})
    async with worker(fetch_options()) as one:
        await one.load(server.url("/c"), server.url("/page"))
        await one.load(server.url("/c"))
    assert server.targets == ["/c"]


async def test_robots_are_obeyed(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If robots.txt disallows a context, then it is not requested."""
    text = b"User-agent: *\nDisallow: /private"
    server = await raw_server(
        {"/robots.txt": response(text, "text/plain"), "*": response(CONTEXT)}
    )
    async with worker(fetch_options(), has_robots=True) as one:
        assert "robots_disallowed" in await one.refusal(server.url("/private/c"))
        await one.load(server.url("/c"))
    assert server.targets == ["/robots.txt", "/c"]


@pytest.mark.parametrize(
    ("robots", "reason"),
    [
        (response(b"", status="503 Busy"), "robots_unreachable"),
        (response(b"User-agent: *\nCrawl-delay: 999"), "crawl_delay_too_long"),
    ],
)
async def test_host_that_wants_to_be_left_alone_is(
    raw_server: RawServers, fetch_options: MakeOptions, robots: bytes, reason: str
) -> None:
    """If robots.txt is unavailable or too demanding, then there is no context."""
    server = await raw_server({"/robots.txt": robots, "*": response(CONTEXT)})
    async with worker(fetch_options(), has_robots=True) as one:
        assert reason in await one.refusal(server.url("/c"))
    assert server.targets == ["/robots.txt"]


async def test_requests_to_a_host_keep_the_delay(
    raw_server: RawServers, fetch_options: MakeOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If several contexts lie on one host, then the delay is between the requests."""
    server = await raw_server({"*": response(CONTEXT)})
    options = replace(FAST, delay_secs=0.1)
    turns = TimedLocalTurns(monkeypatch)
    hosts = ContextHosts(turns=turns)
    async with worker(fetch_options(), options, has_robots=True, hosts=hosts) as one:
        await asyncio.gather(*(one.load(server.url(f"/{n}")) for n in range(3)))
    assert len(server.requests) == len(turns.times) == 4
    assert all(b >= a + 0.1 for a, b in itertools.pairwise(turns.times))
