"""Middlewares for ordinary spiders, in a project that names nothing else of ours."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.pages import blocks, read_page

if TYPE_CHECKING:
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import CrawlResult
    from tests.support.crawl_webs import Loopback
    from tests.support.project import Project
    from tests.support.project_fixtures import StartProject
    from tests.support.redis_fixtures import RedisServer

(SETTINGS,) = blocks(read_page("polite-spiders.md"), "python")
SPIDER = """
    import json

    import scrapy


    class PlainSpider(scrapy.Spider):
        name = "plain"

        async def start(self):
            for url in json.loads(self.urls):
                yield scrapy.Request(url, errback=self.failed)

        def parse(self, response):
            slot = self.crawler.engine.downloader.slots[response.meta["download_slot"]]
            yield {"url": response.url, "delay": slot.delay, "jitter": slot.jitter}
            for link in response.css("a::attr(href)").getall():
                yield response.follow(link, errback=self.failed)

        def failed(self, failure):
            yield {"url": failure.request.url, "error": str(failure.value)}
"""
LONG = b"# comment\n" * 60_000 + b"User-agent: *\nDisallow: /\n"


@pytest.fixture(scope="module")
def project(start_project: StartProject) -> Project:
    """Return a project as the page says, with a spider that requests given URLs."""
    settings = SETTINGS + "RETRY_ENABLED = False\nDOWNLOAD_DELAY = 0\n"
    project = start_project("polite", settings)
    project.write("spiders/plain.py", SPIDER)
    return project


def crawl(
    project: Project, name: str, urls: list[str], *settings: str
) -> tuple[CrawlResult, dict[str, Any]]:
    """Crawl URLs; return the result, and the items by URL."""
    given = f"-aurls={urls}".replace("'", '"')
    done = project.run("crawl", "plain", given, "-O", f"{name}.jl", *settings)
    assert done.code == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done, {item["url"]: item for item in project.feed(f"{name}.jl")}


def host(loopback: Loopback, robots: bytes, address: str = "127.0.0.1") -> RawServer:
    """Return a host with a robots.txt, whose every other page is empty."""
    empty = loopback.response(b"", "text/html")
    return loopback({"/robots.txt": robots, "*": empty}, host=address)


def test_robots_txt_is_obeyed_as_rfc_9309_says(
    project: Project, loopback: Loopback
) -> None:
    """If hosts have all kinds of robots.txt, then requests pass or are dropped."""

    def text(body: bytes) -> bytes:
        return loopback.response(body, "text/plain")

    rules = b"User-agent: scrapy\nDisallow: /no\nCrawl-delay: .2"
    shut = host(loopback, text(rules), "127.83.1.1")
    moved = host(loopback, loopback.redirect(shut.url("/robots.txt")))
    broken = host(loopback, loopback.response(b"", status="503 Busy"))
    none = host(loopback, loopback.response(b"", status="404 Not Found"))
    long = host(loopback, text(LONG))
    slow = host(loopback, text(b"User-agent: *\nCrawl-delay: 90"), "127.83.1.2")
    all_hosts = (shut, moved, broken, none, long, slow)
    urls = [each.url(target) for each in all_hosts for target in ("/yes", "/no")]
    done, items = crawl(project, "rfc", urls)
    passed = {url for url, item in items.items() if "error" not in item}
    assert passed == {
        shut.url("/yes"),
        moved.url("/yes"),
        *(each.url(target) for each in (none, long) for target in ("/yes", "/no")),
    }
    assert items[shut.url("/no")]["error"] == "Forbidden by robots.txt"
    assert items[broken.url("/no")]["error"] == "robots_unreachable status 503"
    assert items[slow.url("/no")]["error"].startswith("crawl_delay_too_long")
    slot = items[shut.url("/yes")]
    assert (slot["delay"], slot["jitter"]) == (0.2, 0)
    assert broken.targets == ["/robots.txt"]
    assert "'robotstxt/unreachable': 2" in done.stderr
    assert "'robotstxt/forbidden': 2" in done.stderr


@pytest.mark.in_turn(2, rooms=("middlewares",))
def test_processes_with_one_redis_share_robots_txt(
    project: Project, loopback: Loopback, redis_server: RedisServer
) -> None:
    """If processes run at the same time, one fetches robots.txt; without Redis, all."""
    text = loopback.response(b"User-agent: *\nDisallow: /no", "text/plain")
    site = host(loopback, text)
    urls = [site.url("/yes"), site.url("/no")]
    shared = f"-sREDIS_URL={redis_server.url}"
    with ThreadPoolExecutor(2) as threads:
        runs = [
            threads.submit(crawl, project, f"shared{n}", urls, shared) for n in range(2)
        ]
        all_items = [run.result()[1] for run in runs]
    for items in all_items:
        assert "error" in items[site.url("/no")]
        assert "error" not in items[site.url("/yes")]
    assert site.targets.count("/robots.txt") == 1
    crawl(project, "alone", urls)
    assert site.targets.count("/robots.txt") == 2
    _, items = crawl(project, "away", urls, "-sREDIS_URL=redis://127.0.0.1:1/0")
    assert "error" in items[site.url("/no")]
    assert site.targets.count("/robots.txt") == 3
    done, items = crawl(project, "away", urls, "-sREDIS_URL=foo://x")
    assert "error" in items[site.url("/no")]
    assert site.targets.count("/robots.txt") == 4
    assert done.stderr.count("robots.txt is not shared: REDIS_URL=foo://x: must") == 1
    assert "Traceback" not in done.stderr


def test_urls_that_differ_in_spelling_are_requested_once(
    project: Project, loopback: Loopback
) -> None:
    """If a page has many spellings of two URLs, then two requests are sent for them."""
    spellings = (
        *("/a~b?x=1&y=2", "/a%7Eb?x=1&y=2", "/./c/../a~b?y=2&x=1", "/a~b?x=1&y=2#d"),
        *("/a~b?x=1&sid=3&y=2", "/%c3%a9", "/%C3%A9", "/é"),
    )
    page = "".join(f"<a href='{each}'>x</a>" for each in spellings)
    page += "<a href='http://a^b/'>y</a>"
    nothing = loopback.response(b"", status="404 Not Found")
    index = loopback.response(page.encode(), "text/html; charset=utf-8")
    site = host(loopback, nothing)
    site.pages["/"] = index
    done, _ = crawl(project, "spelling", [site.url("/")])
    assert "'uri_normalization/dropped': 1" in done.stderr
    assert sorted(site.targets) == ["/", "/%c3%a9", "/a~b?x=1&y=2", "/robots.txt"]


def test_a_single_file_runs_with_the_middlewares(
    project: Project, loopback: Loopback
) -> None:
    """If a spider outside of a project has these settings, `runspider` obeys them."""
    text = loopback.response(b"User-agent: *\nDisallow: /no", "text/plain")
    site = host(loopback, text)
    own = "".join(f"\n    {line}" for line in SETTINGS.splitlines())
    code = (
        SPIDER.replace("\n    ", "\n")
        + f"""
class Settings:{own}


PlainSpider.custom_settings = {{k: v for k, v in vars(Settings).items() if k.isupper()}}
"""
    )
    folder = project.folder.parent / "single"
    folder.mkdir()
    (folder / "one.py").write_text(code)
    given = f'-aurls=["{site.url("/yes")}", "{site.url("/no")}"]'
    done = project.installed.run("scrapy", "runspider", "one.py", given, folder=folder)
    assert done.code == 0, done.stderr
    assert site.targets == ["/robots.txt", "/yes"]
    assert "'robots/fetched': 1" in done.stderr
