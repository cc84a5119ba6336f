"""The views of hosts, and control, in a real browser, while a crawl goes on."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote
from urllib.request import urlopen

import pytest
from redis import Redis

from rdfcrawl.frontier.redis.embedded import ensure_server
from rdfcrawl.uri import partition_of
from tests.support.crawl_webs import TreeWeb
from tests.support.operated_crawls import operate
from tests.support.page_browser import check_view, serve_page, watched_page

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from tests.support.crawl_fixtures import Commands, RunningCrawl
    from tests.support.crawl_webs import Loopback

HOSTILE = "127.0.91.9"
KEY = "s3!<img src=x onerror=alert(1)>\"'&"
ROBOTS = b"User-agent: *\nDisallow: /</pre><script>alert(1)</script>\nCrawl-delay: 1\n"


@dataclass(frozen=True)
class ServedCrawl:
    """A crawl that goes on, and its page.

    Attributes:
        url: of the page, without slash.
        folder: of all crawls.
        crawl: its workers.
    """

    url: str
    folder: Path
    crawl: RunningCrawl


@pytest.fixture(scope="module")
def served(commands: Commands, loopback: Loopback) -> ServedCrawl:
    """Return a crawl of four hosts by two workers, which has enough to do."""
    web = TreeWeb(loopback, "127.0.91", n_hosts=3, n_docs=2000, secs=0.0)
    server = loopback(host=HOSTILE)
    server.pages["/robots.txt"] = loopback.response(ROBOTS)
    server.pages["*"] = loopback.response(b'<a> <b> "<script>alert(1)</script> .')
    folder = commands.folder()
    seeds = folder / "seeds.txt"
    seeds.write_text("".join(f"{x}\n" for x in (web.seed, server.url("/<script>"))))
    words = ("workers", "-n2", "linkeddata", f"-aseeds=@{seeds}")
    crawl = commands.start(*words, folder=folder, DOWNLOAD_DELAY=0.3)
    root = folder / "linkeddata"
    commands.wait_until(lambda: list(root.glob("provenance/*.jsonl.gz")))
    redis = Redis.from_url(ensure_server(root / "frontier").url)
    n = int(redis.hget("rc:{linkeddata}:conf", "partitions") or 0)
    place = f"{{linkeddata/{partition_of(KEY, n)}}}"
    redis.hset(f"rc:{place}:h:{KEY}", mapping={"n": 0, "a": 1})
    redis.close()
    url = serve_page(commands, folder, "--control")
    commands.wait_until(lambda: _n_faulty(url))
    return ServedCrawl(url, folder, crawl)


def _n_faulty(url: str) -> int:
    """Return the crawls of the hostile host's documents that the page knows."""
    with urlopen(f"{url}/hosts?q={HOSTILE}&format=json") as answer:
        hosts = json.load(answer)["hosts"]
    return sum(each["n_faulty"] for each in hosts)


def first_names(page: Page) -> list[str]:
    """Return the hosts of the table, in order."""
    return page.locator("tbody th").all_inner_texts()


@pytest.mark.in_turn(2)
def test_table_sorts_filters_and_turns_pages(
    served: ServedCrawl, chromium: Browser
) -> None:
    """If a visitor sorts, filters and turns pages, then links and forms do so alone."""
    with watched_page(chromium, java_script_enabled=False) as page:
        page.goto(f"{served.url}/hosts")
        head = page.get_by_role("columnheader", name="host")
        head.get_by_role("link").click()
        assert head.get_attribute("aria-sort") == "ascending"
        names = first_names(page)
        assert names == sorted(names)
        assert {"127.0.91.1", HOSTILE, KEY} <= set(names)
        head.get_by_role("link").click()
        assert head.get_attribute("aria-sort") == "descending"
        assert first_names(page) == names[::-1]
        page.get_by_label("Name contains").fill("127.0.91.")
        page.get_by_role("button", name="Show").click()
        assert head.get_attribute("aria-sort") == "descending"
        assert first_names(page) == [x for x in names[::-1] if "127" in x]
        page.get_by_label("has faults").check()
        page.get_by_role("button", name="Show").click()
        assert first_names(page) == [HOSTILE]
        page.goto(f"{served.url}/hosts?sort=name&most=2")
        page.get_by_role("link", name="Next").first.click()
        assert first_names(page) == names[2:4]
        page.get_by_role("link", name="Previous").first.click()
        assert first_names(page) == names[:2]


def test_each_host_is_one_line_on_a_phone(
    served: ServedCrawl, chromium: Browser
) -> None:
    """If a window is narrow, then each host has one line, which fits, in any order."""
    with watched_page(chromium, viewport={"width": 360, "height": 800}) as page:
        page.goto(f"{served.url}/hosts")
        for order in ("documents", "next visit", "last fetch", "host"):
            page.get_by_label("Order by").select_option(order)
            page.get_by_role("button", name="Show").click()
            head = page.get_by_role("columnheader", name=order)
            assert head.get_attribute("aria-sort")
            table = page.get_by_role("region", name="Hosts")
            assert table.evaluate("it => it.scrollWidth <= it.clientWidth"), order
            heights = table.locator("tbody tr").evaluate_all(
                "rows => rows.map((row) => row.offsetHeight)"
            )
            assert max(heights) < 40, order


def test_host_shows_its_rules_and_requests(
    served: ServedCrawl, chromium: Browser
) -> None:
    """If a host is looked at, then its rules, requests and faults are there as text."""
    with watched_page(chromium) as page:
        page.on("dialog", lambda _: pytest.fail("a script of the Web has run"))
        page.goto(f"{served.url}/hosts?sort=faulty")
        page.get_by_role("link", name=HOSTILE, exact=True).click()
        main = page.locator("main")
        assert "Crawl-delay: 1.0 s" in main.inner_text()
        assert "the host (robots.txt or pace)" in main.inner_text()
        rules = main.locator("pre").inner_text()
        assert "Disallow: /%3C/pre%3E%3Cscript%3Ealert(1)%3C/script%3E" in rules
        assert "bad_term" in main.get_by_role("region", name="Faults").inner_text()
        picture = main.get_by_role("img")
        assert HOSTILE in str(picture.locator("title").first.text_content())
        assert main.locator("script, img").count() == 0
        page.goto(f"{served.url}/host?key={quote(KEY, safe='')}")
        assert page.locator("h1").inner_text() == KEY
        assert page.locator("main img").count() == 0


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("width", [320, 1600])
def test_views_fit_and_are_accessible(
    served: ServedCrawl, chromium: Browser, width: int
) -> None:
    """If a screen is small or wide, light or dark, nothing is cut or hard to read."""
    viewport = {"width": width, "height": 800}
    with watched_page(chromium, viewport=viewport) as page:
        for path in ("/hosts", f"/host?key={HOSTILE}", "/control?action=stop"):
            check_view(page, served.url + path, width)


def confirm(page: Page, button: str) -> str:
    """Press a button, and the one that confirms; return the resulting message."""
    page.get_by_role("button", name=button).click()
    page.get_by_role("button", name="Yes").click()
    return page.get_by_role("status").inner_text()


@pytest.mark.in_turn(2, rooms=("monitor/operating",))
def test_host_is_steered(served: ServedCrawl, chromium: Browser) -> None:
    """If a visitor confirms a change, then it is made and reported; else nothing is."""
    with watched_page(chromium, java_script_enabled=False) as page:
        page.goto(f"{served.url}/host?key=127.0.91.2")
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("link", name="No, go back").click()
        assert page.get_by_role("button", name="Pause").is_visible()
        assert "127.0.91.2: paused" in confirm(page, "Pause")
        assert page.locator(".phase").first.inner_text() == "paused"
        (line,) = _told(served, "host", "127.0.91.2")
        assert line["summary"]["phase"] == "paused"
        page.get_by_label("Delay, in seconds").fill("7.5")
        assert "delay set" in confirm(page, "Set delay")
        assert "an operator (set-delay)" in page.locator("main").inner_text()
        page.get_by_label("Budget, in URIs").fill("12")
        assert "budget set" in confirm(page, "Set budget")
        assert "12 URIs (set-budget)" in page.locator("main").inner_text()
        assert "URIs dropped" in confirm(page, "Drop its queue")
        assert "resumed" in confirm(page, "Resume")
        assert page.locator(".phase").first.inner_text() != "paused"
        page.reload()
        page.goto(page.url.partition("&message")[0])
        assert page.get_by_role("status").count() == 0


def test_wrong_values_change_nothing(served: ServedCrawl, chromium: Browser) -> None:
    """If a value is wrong, then a line says why."""
    with watched_page(chromium, allowed=("400",)) as page:
        page.goto(f"{served.url}/host?key={HOSTILE}")
        page.get_by_label("Delay, in seconds").fill("soon")
        page.get_by_role("button", name="Set delay").click()
        assert "must be 0 to 86400" in page.get_by_role("alert").inner_text()
        page.goto(f"{served.url}/hosts")
        page.get_by_label("Seed").fill("file:///etc/passwd")
        page.get_by_role("button", name="Add seed").click()
        page.get_by_role("button", name="Yes").click()
        assert "Nothing was changed" in page.get_by_role("alert").inner_text()


def test_seed_is_added(served: ServedCrawl, chromium: Browser) -> None:
    """If a visitor adds a seed, then it is queued as by `scrapy frontier add`."""
    with watched_page(chromium) as page:
        page.goto(f"{served.url}/hosts")
        page.get_by_label("Seed").fill("http://127.0.91.9:1/later")
        said = confirm(page, "Add seed")
        assert said == "http://127.0.91.9:1/later: queued"


def test_crawl_is_stopped_and_goes_on_later(
    served: ServedCrawl, chromium: Browser
) -> None:
    """If a visitor stops the crawl, then all workers end, and nothing is lost."""
    with watched_page(chromium) as page:
        page.goto(f"{served.url}/hosts")
        assert "2 workers will end" in confirm(page, "Stop the crawl")
        ended = served.crawl.wait()
        assert (ended.code, "restarting it" in ended.stderr) == (0, False), ended.stderr
        assert re.search(r"outcome +drained\b", ended.stderr)
        assert "no worker is running" in confirm(page, "Stop the crawl")
    (status,) = _told(served, "status")
    assert status["counts"]["leased"] == 0
    assert int(str(status["counts"]["queued"])) > 0


def _told(served: ServedCrawl, *words: str) -> list[dict[str, dict[str, object]]]:
    done = operate(served.folder, *words, "--json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
