"""Spiders with callbacks whose requests are in the frontier."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from redis import Redis
from scrapy import Request
from scrapy.linkextractors import LinkExtractor
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.spiders import CrawlSpider, Rule

from rdfcrawl.core.errors import SourceFault
from rdfcrawl.frontier.redis.embedded import socket_path
from rdfcrawl.spiders.frontier import FrontierSpider
from rdfcrawl.spiders.linkeddata import LinkedDataSpider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response, TextResponse
    from twisted.python.failure import Failure

    from rdfcrawl.pipelines.callbacks.parsed_document import ParsedDocument
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

N_PAGES = 24
DELAY_SECS = 0.15
TURTLE = b'<> <urn:x:p> "o" .'


class Notes:
    """A pipeline that writes each item immediately, for any number of workers."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Notes:
        """Return the pipeline of a crawler."""
        del crawler
        return cls(Path(os.environ["OWN_NOTES"]))

    def process_item(self, item: Any) -> Any:
        """Record responses that are no documents."""
        if isinstance(item, dict):
            with self._path.open("a") as file:
                file.write(json.dumps(item) + "\n")
        return item


class ShopSpider(FrontierSpider):
    """Uses all that a request may have."""

    name = "shop"
    custom_settings: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "ITEM_PIPELINES": {f"{__name__}.Notes": 950},
        "COOKIES_ENABLED": True,
    }

    def parse(self, response: TextResponse) -> Iterator[Any]:  # type: ignore[override]
        """Request all kinds of URLs."""
        yield {"parsed": response.url, "type": type(response).__name__}
        yield Request(
            response.urljoin("/search"),
            self.parse_search,
            method="POST",
            body=b"q=\xff",
            headers={"X-Own": ["a", "b"]},
            cookies={"c": "1"},
            cb_kwargs={"page": 1},
            meta={"note": {"n": [1, 2]}},
            flags=["f"],
            priority=5,
        )
        yield Request(response.urljoin("/missing"), errback=self.failed)
        yield Request(response.urljoin("/secret"), errback=self.failed)
        yield Request("http://127.0.0.1:9/", errback=self.failed)
        yield Request(response.urljoin("/moved"), self.parse_page)
        yield Request(response.urljoin("/teapot"), self.parse_page, meta=ALL_STATUSES)
        for _ in range(2):
            yield response.follow("/page", self.parse_page)
            yield response.follow("/again", self.parse_page, dont_filter=True)
        yield Request(response.urljoin("/no"), callback=print)
        yield Request(response.urljoin("/no"), meta={"page": object()})
        yield Request(response.urljoin("/no"), body=b"x" * 9000, method="POST")
        yield Request(response.urljoin("/bug"), self.fail)

    def parse_search(self, response: Response, page: int) -> dict[str, Any]:
        """Log the response."""
        return {
            "search": page,
            "note": response.meta["note"],
            "depth": response.meta["depth"],
            "flags": response.request.flags if response.request else None,
            "set": str(response.headers.get("X-Set")),
        }

    async def parse_page(self, response: Response) -> Any:
        """Log the page."""
        redirects = response.meta.get("redirect_urls", [])
        yield {"page": response.url, "status": response.status, "from": redirects}

    def failed(self, failure: Failure) -> dict[str, str]:
        """Log the failure."""
        error = failure.value
        reason = error.fault.reason if isinstance(error, SourceFault) else ""
        if isinstance(error, HttpError):
            reason = str(error.response.status)
        return {"failed": failure.request.url, "reason": reason}  # type: ignore[attr-defined]

    def fail(self, response: Response) -> None:
        """Fail."""
        raise RuntimeError(f"a bug for {response.url}")


ALL_STATUSES = {"handle_httpstatus_all": True}


class TreeSpider(FrontierSpider):
    """Goes from page to page; a worker is killed at the seventh one."""

    name = "tree"
    custom_settings = ShopSpider.custom_settings

    def parse(self, response: TextResponse) -> Iterator[Any]:  # type: ignore[override]
        """Yield an item, and the pages below."""
        yield {"page": response.url}
        marker = Path(os.environ["OWN_NOTES"] + ".killed")
        if response.url.endswith("/6") and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        for url in response.css("a::attr(href)").getall():
            yield response.follow(url)


class RulesSpider(FrontierSpider, CrawlSpider):
    """A spider of rules whose requests are in the frontier."""

    name = "rules"
    custom_settings = ShopSpider.custom_settings
    rules = (Rule(LinkExtractor(allow="/[0-9]"), callback="parse_leaf", follow=True),)

    def parse_leaf(self, response: Response) -> dict[str, str]:
        """Return an item."""
        return {"leaf": response.url}


class BesideSpider(LinkedDataSpider):
    """Requests another URL for each document."""

    name = "beside"
    custom_settings = ShopSpider.custom_settings

    def parse_document(self, document: ParsedDocument) -> Iterator[Any]:
        """Request the label of a document."""
        yield Request(f"{document.url}.txt", self.parse_label)

    def parse_label(self, response: Response) -> Iterator[Any]:
        """Yield the label, and a document that it names."""
        yield {"label": response.body.decode(), "of": response.url}
        yield response.follow("/c")


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that items are written to."""
    path = tmp_path / "notes"
    path.touch()
    monkeypatch.setenv("OWN_NOTES", str(path))
    return path


def items_in(notes: Path) -> list[dict[str, Any]]:
    """Return the items that were written down."""
    return [json.loads(line) for line in notes.read_text().splitlines()]


def crawl(commands: Commands, spider: str, *words: str, **settings: Any) -> CrawlResult:
    """Run a spider of this module."""
    settings = {"SPIDER_MODULES": __name__, "CRAWL_ID": spider} | settings
    return commands.start("crawl", spider, *words, **settings).wait()


def tree(loopback: Loopback) -> RawServer:
    """Return a host whose page n links to 2n + 1 and 2n + 2."""
    link = b"<a href=/%d>l</a><a href=/%d>r</a>"
    pages = {
        f"/{n}": loopback.response(link % (2 * n + 1, 2 * n + 2), "text/html")
        for n in range(N_PAGES)
    }
    leaf = loopback.response(b"<p>leaf</p>", "text/html")
    return loopback(pages | {f"/{n}": leaf for n in range(N_PAGES, 2 * N_PAGES + 1)})


def test_request_comes_back_with_all_that_it_has(
    commands: Commands, loopback: Loopback, notes: Path
) -> None:
    """If a request is serializable, then its callback gets it unchanged."""
    html = loopback.response(b"<p>x</p>", "text/html")
    teapot = loopback.response(b"tea", "text/plain", status="418 Teapot")
    robots = b"User-agent: *\nDisallow: /secret"
    server = loopback(
        {
            **dict.fromkeys(["/", "/page", "/again", "/bug", "/target"], html),
            "/robots.txt": loopback.response(robots, "text/plain"),
            "/search": loopback.response(b"found", "text/plain", X_Set="yes"),
            "/moved": loopback.redirect("/target"),
            "/teapot": teapot,
            "/secret": html,
        }
    )
    result = crawl(commands, "shop", f"-aseeds={server.url('/')}", RETRY_TIMES=0)
    assert result.code == 4, result.stderr  # for its bug
    items = items_in(notes)
    assert {"parsed": server.url("/"), "type": "HtmlResponse"} in items
    assert {
        "search": 1,
        "note": {"n": [1, 2]},
        "depth": 1,
        "flags": ["f"],
        "set": "b'yes'",
    } in items
    pages = Counter(item["page"] for item in items if "page" in item)
    assert pages == {
        server.url("/page"): 1,
        server.url("/again"): 2,
        server.url("/target"): 1,
        server.url("/teapot"): 1,
    }
    moved = next(x for x in items if x.get("page") == server.url("/target"))
    assert moved["from"] == [server.url("/moved")]
    failed = {item["failed"]: item["reason"] for item in items if "failed" in item}
    assert failed == {
        server.url("/missing"): "404",
        server.url("/secret"): "robots_disallowed",
        "http://127.0.0.1:9/": "robots_unreachable",
    }
    (search,) = [x for x in server.requests if x.target == "/search"]
    assert (search.method, search.headers["content-length"]) == ("POST", "3")
    assert search.headers["cookie"] == "c=1"
    assert result.statistics["frontier/refused_requests"] == 3
    assert "is not a method of the spider" in result.stderr
    assert "meta['page'] is not JSON: object" in result.stderr
    assert "/no" not in server.targets
    assert "a bug for" in result.stderr
    assert result.statuses(server.url("/page")) == ["SUCCESSFUL"]
    assert result.faults(server.url("/missing")) == ["not_found"]


@pytest.mark.in_turn(2, rooms=("frontier", "spiders"))
def test_killed_worker_loses_no_page_and_no_item(
    commands: Commands, loopback: Loopback, notes: Path
) -> None:
    """If one of two workers is killed, then each page is parsed, at the host's pace."""
    server = tree(loopback)
    running = commands.start(
        *("workers", "-n2", "tree", f"-aseeds={server.url('/0')}"),
        SPIDER_MODULES=__name__,
        CRAWL_ID="tree",
        DOWNLOAD_DELAY=DELAY_SECS,
        FRONTIER_LEASE_SECS=1,
        VISIT_WINDOW_SECS=0.5,
    )
    result = running.wait()
    assert Path(f"{notes}.killed").exists()
    pages = {item["page"] for item in items_in(notes)}
    assert pages == {server.url(f"/{n}") for n in range(2 * N_PAGES + 1)}, result.stderr
    arrivals = [x.at for x in server.requests]
    assert min(b - a for a, b in pairwise(arrivals)) > DELAY_SECS * 0.6


@pytest.mark.in_turn(2, rooms=("frontier", "spiders"))
def test_requests_wait_for_a_worker_of_their_spider(
    commands: Commands, loopback: Loopback, notes: Path
) -> None:
    """If another spider shares the crawl, then it leaves requests to their own one."""
    leaf = loopback.response(b"<p>leaf</p>", "text/html")
    server = loopback({"/a": loopback.response(TURTLE)}, host="127.94.1.1")
    server.pages["/leaf"] = [60.0, leaf]
    settings = {"SPIDER_MODULES": f"{__name__},rdfcrawl.spiders", "CRAWL_ID": "both"}
    folder = commands.folder()
    start = partial(commands.start, folder=folder, FRONTIER_LEASE_SECS=3, **settings)
    first = start("crawl", "tree", f"-aseeds={server.url('/leaf')}")
    commands.wait_until(lambda: "/leaf" in server.targets)
    first.send(signal.SIGKILL)
    first.wait()
    server.pages["/leaf"] = leaf
    other = start("crawl", "linkeddata", f"-aseeds={server.url('/a')}")
    commands.wait_until(lambda: "wait for their workers" in other.stderr)
    assert items_in(notes) == []
    results = [start("crawl", "tree").wait(), other.wait()]
    assert [result.code for result in results] == [0, 0], results
    assert {"page": server.url("/leaf")} in items_in(notes)
    assert server.url("/a") in results[0].graphs


def test_seed_that_is_pushed_is_a_request(
    commands: Commands, loopback: Loopback, notes: Path
) -> None:
    """If a URL is pushed to the crawl, as with scrapy-redis, then it is for `parse`."""
    leaf = loopback.response(b"<p>leaf</p>", "text/html")
    server = loopback({"/1": leaf, "/2": leaf})
    running = commands.start(
        *("crawl", "tree", f"-aseeds={server.url('/1')}"),
        SPIDER_MODULES=__name__,
        CRAWL_ID="tree",
        SCHEDULER_IDLE_BEFORE_CLOSE=2,
    )
    commands.wait_until(lambda: "/1" in server.targets)
    socket = str(socket_path(running.folder / "frontier"))
    with Redis(unix_socket_path=socket) as redis:
        redis.lpush("tree:start_urls", server.url("/2"))
    assert running.wait().code == 0
    assert {item["page"] for item in items_in(notes)} == {
        server.url("/1"),
        server.url("/2"),
    }


def test_spider_of_rules_may_use_the_frontier(
    commands: Commands, loopback: Loopback, notes: Path
) -> None:
    """If a spider has rules, then its requests are in the frontier all the same."""
    server = tree(loopback)
    result = crawl(commands, "rules", f"-aseeds={server.url('/0')}", "-adepth=2")
    assert result.code == 0, result.stderr
    leaves = {item["leaf"] for item in items_in(notes)}
    assert leaves == {server.url(f"/{n}") for n in range(1, 7)}
    assert "has no effect" not in result.stderr


def test_requests_with_callbacks_go_with_documents(
    commands: Commands, loopback: Loopback, notes: Path
) -> None:
    """If a document leads to a request, then that is answered before the crawl ends."""
    page = loopback.response(TURTLE)
    label = loopback.response(b"A", "text/plain")
    server = loopback({"/a": page, "/a.txt": label, "/c": page, "/c.txt": label})
    result = crawl(commands, "beside", f"-aseeds={server.url('/a')}")
    assert result.code == 0, result.stderr
    labels = [item["of"] for item in items_in(notes)]
    assert sorted(labels) == [server.url("/a.txt"), server.url("/c.txt")]
    assert result.graphs == {server.url("/a"), server.url("/c")}


def test_scrapy_parse_calls_back_without_a_crawl(
    commands: Commands, loopback: Loopback, notes: Path
) -> None:
    """If `scrapy parse` is given a page, then the callback is run, and nothing kept."""
    server = tree(loopback)
    looking = commands.start(
        *("parse", "--spider=tree", server.url("/0")), SPIDER_MODULES=__name__
    )
    result = looking.wait()
    assert result.code == 0, result.stderr
    assert server.url("/2") in result.stderr
    assert "/1" not in server.targets
    assert items_in(notes) == []
    assert not (looking.folder.parent / "tree").exists()
