"""The pages of several crawls of a folder and a Redis, by one command."""

from __future__ import annotations

import asyncio
import re
from html import unescape
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import pytest
from scrapy.settings import Settings

from rdfcrawl.monitor.page.crawl_access import CrawlAccess
from tests.support.page_answers import get, post
from tests.support.page_browser import check_view, serve_page, watched_page

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

    from rdfcrawl.monitor.operating.crawl import OperatedCrawl
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

PREFIX = "/crawl/all"
NAMES = "first", "before-launch"
VIEWS = (
    *("", "hosts", "uri", "datasets", "datasets/graph", "classes", "query", "report"),
    *("settings", "faults", "export", "metrics"),
)


@pytest.fixture(scope="module")
def folder(commands: Commands, loopback: Loopback) -> Path:
    """Return a folder with two crawls."""
    server = loopback({"/a": loopback.response(b"<> <urn:x:p> 'first', 'second' .")})
    folder = commands.folder()
    for name in NAMES:
        commands.crawl([server.url("/a")], folder=folder, CRAWL_ID=name)
    return folder


@pytest.fixture(scope="module")
def url(commands: Commands, folder: Path) -> str:
    """Return the URL of the page of both, without prefix."""
    return serve_page(commands, folder, "--prefix", PREFIX, "--control")


def crawls(url: str) -> list[dict[str, Any]]:
    """Return the list of crawls."""
    found = get(url, {"format": "json"})
    assert found.status == 200
    return list(found.json["crawls"])


def test_crawls_are_listed_with_their_paths(url: str) -> None:
    """If a folder has several crawls, then the page begins with the list of them."""
    for path in ("/", "/crawls", f"{PREFIX}/", f"{PREFIX}/crawls"):
        found = {each["name"]: each for each in crawls(f"{url}{path}")}
        assert set(found) == set(NAMES)
        for name, each in found.items():
            assert each["path"] == f"{PREFIX}/crawl/{name}/"
            assert each["place"] == "folder"
            assert each["n_bytes"] > 0


@pytest.mark.parametrize("prefix", ["", PREFIX])
def test_each_crawl_has_all_views(url: str, prefix: str) -> None:
    """If a proxy removes the prefix or not, then each crawl has all views."""
    for name in NAMES:
        for view in VIEWS:
            found = get(f"{url}{prefix}/crawl/{name}/{view}", {})
            assert found.status == 200, (name, view)
        assert (
            get(f"{url}{prefix}/crawl/{name}/settings", {"format": "json"}).json[
                "crawl"
            ]
            == name
        )


def test_links_of_a_crawl_stay_within_it(url: str) -> None:
    """If the page of a crawl has links, they lead to its views, and all work."""
    page = get(f"{url}{PREFIX}/crawl/first/hosts", {}).text
    targets = set(map(unescape, re.findall(r'(?:href|src)="(/[^"#]*)', page)))
    others = {f"{PREFIX}/crawls", *(each for each in targets if "/static/" in each)}
    assert f"{PREFIX}/static/page.css" in others
    for target in targets:
        assert target in others or target.startswith(f"{PREFIX}/crawl/first/")
        path, _, words = target.partition("?")
        assert get(f"{url}{path}", dict(parse_qsl(words))).status == 200, target
    assert f'href="{PREFIX}/crawl/first/hosts" aria-current="page"' in page


def test_steps_are_of_the_crawl_of_the_page(url: str) -> None:
    """If a visitor pauses a host on the page of a crawl, the other crawls continue."""

    def hosts(name: str) -> list[dict[str, Any]]:
        found = get(f"{url}/crawl/{name}/hosts", {"format": "json"})
        return list(found.json["hosts"])

    (host,) = hosts("first")
    done = post(f"{url}/crawl/first/control", {"action": "pause", "key": host["key"]})
    assert done.status == 200, done.text
    assert done.json["step"]["action"] == "pause"
    detail = {"key": host["key"], "format": "json"}
    paused = [get(f"{url}/crawl/{name}/host", detail).json for name in NAMES]
    times = [each["detail"]["summary"]["paused_at_ms"] for each in paused]
    assert [time > 0 for time in times] == [True, False]
    assert not any("n_known" in each for each in paused)  # of the logs alone


@pytest.mark.parametrize(
    "path",
    ["/hosts", "/crawl/third/", "/crawl/../first/", "/crawl/first/nothing",
     "/static/none.css", "/crawl/%2e%2e/hosts", "/crawl/first%2f..%2fx/"],
)  # fmt: skip
def test_unknown_paths_are_refused(url: str, path: str) -> None:
    """If there is no such crawl or view, then the answer is 404."""
    assert get(f"{url}{path}", {}).status == 404
    refused = post(f"{url}/crawl/first/hosts", {})
    assert (refused.status, refused.headers["Allow"]) == (405, "GET,HEAD")


def test_named_crawl_is_at_the_top(commands: Commands, folder: Path) -> None:
    """If one of several crawls is named, it is at the top, and the others below."""
    url = serve_page(commands, folder, CRAWL_ID="before-launch")
    found = {each["name"]: each["path"] for each in crawls(f"{url}/crawls")}
    assert found == {"before-launch": "/", "first": "/crawl/first/"}
    for path, name in (
        ("", "before-launch"),
        ("/crawl/before-launch", "before-launch"),
        ("/crawl/first", "first"),
    ):
        view = get(f"{url}{path}/settings", {"format": "json"}).json
        assert view["crawl"] == name


def test_closed_page_stays_closed(folder: Path) -> None:
    """If a page was closed, then a visit that still runs does not connect again."""
    given = Settings({"CRAWL_DIR": str(folder), "CRAWL_ID": "first"})

    async def read() -> list[int | None]:
        access = CrawlAccess.of(given)
        await access.open()
        found = [await access.read(_n_runs)]
        await access.close()
        return [*found, await access.read(_n_runs)]

    assert asyncio.run(read()) == [1, None]


async def _n_runs(crawl: OperatedCrawl) -> int:
    return await crawl.frontier.begin_run()


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("width", [320, 1440])
def test_list_is_accessible(url: str, chromium: Browser, width: int) -> None:
    """If crawls are listed, then no rule of axe-core is broken."""
    with watched_page(chromium, viewport={"width": width, "height": 900}) as page:
        check_view(page, f"{url}{PREFIX}/crawls", width)
        page.get_by_role("link", name="before-launch").click()
        assert page.locator("h1").inner_text()
        page.get_by_role("link", name="All crawls").click()
        assert page.locator("h1").inner_text() == "Crawls"
