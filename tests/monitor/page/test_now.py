"""The view of the moment, in a real browser."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING, NamedTuple
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect

from tests.support.crawl_webs import TreeWeb
from tests.support.page_browser import free_port, serve_page, start_page, watched_page
from tests.support.page_json import read_page_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from tests.support.crawl_fixtures import Commands, RunningCrawl
    from tests.support.crawl_webs import Loopback

_SECS = 120_000.0  # that a browser waits (ms)
_SHIFTS = """
() => new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) sum += each.value;
  }).observe({ type: "layout-shift" });
  setTimeout(() => done(sum), 2500);
})
"""


class UnfinishedCrawl(NamedTuple):
    """A crawl that goes on, its folder, and the port of its page."""

    folder: Path
    port: int
    process: RunningCrawl


@pytest.fixture(scope="module")
def finished(commands: Commands, loopback: Loopback) -> str:
    """Return the URL of the page of a finished crawl."""
    server = loopback()
    server.pages["*"] = loopback.response(b"<> a <urn:x:Thing> ; <urn:x:p> <b> .")
    result = commands.crawl([server.url("/a")])
    assert result.code == 0, result.stderr
    return serve_page(commands, result.folder.parent)


@pytest.fixture(scope="module")
def running(commands: Commands, loopback: Loopback) -> Iterator[UnfinishedCrawl]:
    """Run a crawl that lasts longer than the tests."""
    web = TreeWeb(loopback, "127.97.1", n_hosts=3, n_docs=900, secs=0.2)
    folder = commands.folder()
    crawl = commands.start_crawl(
        [web.seed],
        folder=folder,
        FRONTIER_COMMIT_SECS=0.1,
        LOG_FILE=str(folder / "crawl.log"),
    )
    commands.wait_until(lambda: list(folder.glob("*/quads/*.nq.gz")))
    yield UnfinishedCrawl(folder, free_port(), crawl)
    crawl.send(signal.SIGKILL)
    crawl.wait()


@pytest.fixture(scope="module")
def hostile(commands: Commands, loopback: Loopback) -> str:
    """Return the URL of the page of a crawl whose URIs and faults are code."""
    server = loopback()
    code = '/"><script>fail()</script>'
    syntax = b'<> <urn:x:p> "<script>alert(1)</script> <img src=x onerror=alert(1)> .'
    server.pages["*"] = loopback.response(syntax)
    result = commands.crawl([server.url(code)])
    assert result.code == 0, result.stderr
    url = serve_page(commands, result.folder.parent)
    commands.wait_until(lambda: "script" in _faults(url))  # the page reads the logs
    return url


def _faults(url: str) -> str:
    with urlopen(f"{url}/faults?reason=bad_term", timeout=30) as answer:
        text: str = answer.read().decode()
    return text.partition("<main")[2].partition("<tbody")[2]


def tile(page: Page, name: str) -> str:
    """Return the number of a tile."""
    label = page.locator("dt").filter(has_text=re.compile(f"^{name}$"))
    found = page.locator("dl.tiles:visible > div").filter(has=label)
    return found.locator("dd").first.inner_text()


def shown(page: Page, name: str) -> int:
    """Return a number in a tile of a page."""
    return int(tile(page, name).replace(",", ""))


@pytest.mark.in_turn(2)
def test_finished_crawl_opens_with_its_result(
    finished: str, commands: Commands, chromium: Browser
) -> None:
    """If a crawl has finished, then its result is shown, and no rates of zero."""
    commands.wait_until(lambda: read_page_json(f"{finished}/")["result"])
    with watched_page(chromium) as page:
        page.goto(f"{finished}/")
        assert page.title() == "Now \u00b7 linkeddata \u00b7 rdfcrawl"
        expect(page.locator(".summary")).to_contain_text(
            "The crawl has finished: 2 URIs"
        )
        assert tile(page, "triples") == "4"
        assert tile(page, "documents") == "2"
        assert tile(page, "classes") == "1"
        fetches = page.locator("#fetches li:visible")
        assert "2 triples, " in fetches.first.inner_text().replace("\n", " ")
        expect(page.locator("#no-log")).to_be_visible()
        assert page.locator("dl.tiles:visible > div").count() == 5
        expect(page.locator("#connection")).to_have_text("Live: renewed every second.")
        expect(page.get_by_role("link", name="urn:x:Thing")).to_be_visible()
        for name in ("Query", "Report", "Export"):
            page.locator("#result .actions").get_by_role("link", name=name).click()
            assert page.locator("h1").inner_text() == name
            page.go_back()


def test_page_says_all_without_scripts(finished: str, chromium: Browser) -> None:
    """If a browser runs no scripts, then numbers and tables are there all the same."""
    with watched_page(chromium, java_script_enabled=False) as page:
        page.goto(f"{finished}/")
        assert tile(page, "documents") == "2"
        page.get_by_text("The crawl as a table").click()
        table = page.get_by_role("region", name="The crawl")
        expect(table.locator("tbody th").first).to_contain_text("UTC")
        page.get_by_role("link", name="Now", exact=True).click()
        expect(page.locator(".summary")).to_contain_text("finished")


def test_hostile_faults_are_only_text(hostile: str, chromium: Browser) -> None:
    """If URIs and details of faults are code, then a browser shows them as text."""
    with watched_page(chromium) as page:
        page.goto(f"{hostile}/")
        expect(page.locator("#latest-faults li").first).to_contain_text("<script>")
        expect(page.locator("#fetches li").first).to_contain_text("script")
        page.locator("#faults a").first.click()
        page.wait_for_url("**/faults?reason=*")
        expect(page.locator("main tbody tr").first).to_contain_text("script")
        assert page.locator("main img, main script").count() == 0
        targets = page.eval_on_selector_all(
            "main a", "links => links.map(each => each.getAttribute('href'))"
        )
        assert all(each.startswith("/") for each in targets)


@pytest.mark.in_turn(2)
def test_numbers_move_in_place(
    running: UnfinishedCrawl, commands: Commands, chromium: Browser
) -> None:
    """If a crawl goes on, then numbers and lines do, and nothing else is moved.

    When the server of the page is gone, the page says so, and goes on with the next.
    When the crawl stops, its result takes the place of its rates.
    """
    log = {"LOG_FILE": str(running.folder / "crawl.log")}
    served = start_page(commands, running.folder, running.port, **log)
    with watched_page(chromium, allowed=("ERR_", "Failed to load")) as page:
        page.goto(f"http://127.0.0.1:{running.port}/")
        expect(page.locator(".summary")).to_contain_text("is running", timeout=_SECS)
        connection = page.locator("#connection")
        expect(connection).to_have_text("Live: renewed every second.", timeout=_SECS)
        expect(page.locator(".plot canvas")).to_have_count(8, timeout=_SECS)
        worker = page.locator("#workers tr").first.locator("td")
        expect(worker.nth(0)).to_have_text("at work", timeout=_SECS)
        expect(worker.nth(2)).to_have_text(re.compile(r"^[0-9.]+$"), timeout=_SECS)
        expect(worker.nth(3)).to_have_text(re.compile(r"^[0-3]$"), timeout=_SECS)
        first = shown(page, "URIs done")
        first_fetch = page.locator("#fetches li").first.inner_text()
        assert page.evaluate(_SHIFTS) < 0.001  # 0.1 is called good
        expect(page.locator("#fetches li").first).not_to_have_text(first_fetch)
        expect(page.locator("#fetches li:visible")).to_have_count(10)
        expect(page.locator("#log li:visible").last).to_contain_text("crawl linkeddata")
        commands.wait_until(lambda: shown(page, "URIs done") > first)
        served.send(signal.SIGKILL)
        served.wait()
        expect(connection).to_contain_text("is lost", timeout=_SECS)
        before = shown(page, "URIs done")
        start_page(commands, running.folder, running.port)
        expect(connection).to_have_text("Live: renewed every second.", timeout=_SECS)
        commands.wait_until(lambda: shown(page, "URIs done") > before)
        running.process.send(signal.SIGINT)
        running.process.wait()
        expect(page.locator(".summary")).to_contain_text("No worker", timeout=_SECS)
        expect(page.locator("#result")).to_be_visible()
        expect(page.get_by_text("Documents a second")).to_be_hidden()
        commands.wait_until(lambda: shown(page, "documents") > before)
