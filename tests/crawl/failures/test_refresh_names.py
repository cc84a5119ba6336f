"""Refresh of hosts whose names fail, or that share an address."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.errors import Reason
from tests.crawl.sources.test_refresh import refresh
from tests.crawl.sources.test_revisits import SAYS, said
from tests.support.crawl_names import scripted_names

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

PATHS = ("/1", "/2")
DELAY_SECS = 0.2


def serve(loopback: Loopback, server: RawServer, what: str) -> None:
    """Serve pages that say something."""
    for path in PATHS:
        body = f"<> <{SAYS}> '{what}' .".encode()
        server.pages[path] = loopback.response(body, "text/turtle")


@pytest.mark.in_turn(2, rooms=("downloader", "monitor/refreshing"))
def test_host_without_an_address_keeps_its_statements(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If a name no longer has an address, then its pages wait longer, and stay.

    However often that is so: no failure of a name says that a page is gone. Once the
    name is there again, its pages are refreshed.
    """
    server = loopback(host="127.96.7.1")
    folder = commands.folder()
    names = {"here.example": [[server.host]], "lost.example": [[server.host]]}
    here, lost = (
        [f"http://{name}:{server.port}{path}" for path in PATHS] for name in names
    )

    def refreshed(error: str = "", **settings: Any) -> CrawlResult:
        answers: dict[str, Any] = {**names}
        if error:
            answers["lost.example"] = [error]
        with scripted_names(tmp_path, answers):
            told = refresh(commands, folder, **settings)
            assert told.code == 0, told.stderr
            return commands.crawl(folder=folder, RETRY_TIMES=0)

    serve(loopback, server, "first")
    with scripted_names(tmp_path, names):
        first = commands.crawl([*here, *lost], folder=folder)
    assert said(first) == dict.fromkeys([*here, *lost], "first")
    serve(loopback, server, "second")
    kept = {**dict.fromkeys(here, "second"), **dict.fromkeys(lost, "first")}
    for n_failed in (1, 2):  # it is too early for a refresh; the next runs try again
        result = refreshed("EAI_NONAME", REFRESH_RETRY_SECS=3600)
        assert said(result) == kept
        assert all(result.statuses(url)[1:] == ["FAILED"] * n_failed for url in lost)
    assert all(Reason.DNS in result.faults(url) for url in lost)
    assert all(len(result.statuses(url)) == 3 for url in here)
    eager: dict[str, Any] = {
        "REFRESH_RETRY_SECS": 0,
        "REFRESH_GONE_TRIES": 1,
        "REFRESH_GONE_SECS": 0,
    }
    for error in ("EAI_NONAME", "EAI_AGAIN"):
        result = refreshed(error, **eager)
        assert said(result) == kept
    assert all(result.statuses(url)[1:] == ["FAILED"] * 4 for url in lost)
    result = refreshed(**eager)
    assert said(result) == dict.fromkeys([*here, *lost], "second")


def test_names_of_one_address_are_refreshed_one_at_a_time(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If hosts go by their address, then so they do when they are refreshed.

    That is so even if the refresher cannot look them up: the crawl keeps addresses.
    """
    shared, other = loopback(host="127.96.7.2"), loopback(host="127.96.7.3")
    names: dict[str, Any] = {
        "a.example": [[shared.host]],
        "b.example": [[shared.host]],
        "c.example": [[other.host]],
    }
    ports = dict(zip(names, (shared.port, shared.port, other.port), strict=True))
    seeds = [f"http://{x}:{ports[x]}{path}" for x in names for path in PATHS]
    folder = commands.folder()
    given: dict[str, Any] = {"POLITENESS_KEY": "ip", "DOWNLOAD_DELAY": DELAY_SECS}
    for server in (shared, other):
        serve(loopback, server, "first")
    with scripted_names(tmp_path, names):
        first = commands.crawl(seeds, folder=folder, **given)
    assert first.graphs == set(seeds)
    for server in (shared, other):
        serve(loopback, server, "second")
    with scripted_names(tmp_path, {name: ["EAI_AGAIN"] for name in names}):
        told = refresh(commands, folder, POLITENESS_KEY="ip")
    assert told.code == 0, told.stderr
    n_asked = len(shared.requests)
    with scripted_names(tmp_path, names):
        result = commands.crawl(folder=folder, **given)
    assert said(result) == dict.fromkeys(seeds, "second")
    assert result.counts().hosts == first.counts().hosts == 2
    again = shared.requests[n_asked:]
    assert {request.headers["host"] for request in again} == {
        f"{name}:{shared.port}" for name in ("a.example", "b.example")
    }
    gaps = [later.at - each.at for each, later in pairwise(again)]
    assert min(gaps) >= 0.8 * DELAY_SECS
