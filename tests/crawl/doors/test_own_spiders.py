"""Spiders, pipelines and commands of users: nothing that they get is lost silently."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import signal
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from scrapy import Request
from scrapy.exceptions import DropItem

from rdfcrawl import settings as project_settings
from rdfcrawl.core.records import Document
from rdfcrawl.core.visits import flush_stores
from rdfcrawl.frontier.arguments.crawl import CrawlArguments
from rdfcrawl.spiders.ckan import CkanSpider
from rdfcrawl.spiders.linkeddata import LinkedDataSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from rdfcrawl.core.reservations import Reservations
    from rdfcrawl.pipelines.callbacks.parsed_document import ParsedDocument
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

SECRET = "nobody-wants-this-in-a-log"
N_LARGE = 20_000  # statements, in a spool file
N_FAILURES = 5  # more than there are attempts in one visit
GOOD = f'<> <urn:x:p> <b>, "{SECRET}" .'.encode()


class YieldsItemsSpider(LinkedDataSpider):
    """Makes items of documents, and requests more."""

    name = "yields"

    async def parse_document(self, document: ParsedDocument) -> AsyncIterator[Any]:
        """Yield the statements of documents, in items of three kinds, and a request."""
        for quad in document.quads():
            yield {"about": document.url, "says": str(quad.object)}
        if document.media_type == "text/html":
            for url in document.response.css("a::attr(href)").getall():
                yield document.response.follow(url)
            yield Told(document.url, document.response.css("h1::text").get(""))
        if document.url.endswith("/large"):
            yield {"lines": sum(1 for _ in document.nquads()), "n": document.n_quads}
        if document.url.endswith("/a") and not hasattr(self, "has_failed"):
            self.has_failed = True
            raise RuntimeError("a bug in parse_document")


class DisobeysSpider(LinkedDataSpider):
    """Fails a few times at documents with reservations."""

    name = "disobeys"
    n_failures = 0

    def obey(self, document: Document, reservations: Reservations) -> None:
        """Fail, unless it has failed often enough."""
        self.n_failures += 1
        if self.n_failures < N_FAILURES:
            raise RuntimeError("a bug in obey")
        super().obey(document, reservations)


def take_note(url: str) -> list[str]:
    """Record that a document is parsed; return the earlier records."""
    path = Path(os.environ["OWN_NOTES"])
    notes = path.read_text().split()
    with path.open("a") as file:
        file.write(f"{url}\n")
    return notes


class DiesSpider(LinkedDataSpider):
    """Is killed while it looks at the second document."""

    name = "dies"

    async def parse_document(self, document: ParsedDocument) -> list[dict[str, str]]:
        """Return an item, unless it is killed, when the first one is committed."""
        notes = take_note(document.url)
        if len(notes) == 1:
            await asyncio.sleep(1.5)
            os.kill(os.getpid(), signal.SIGKILL)
        return [{"about": document.url}]


@dataclass
class Told:
    """An item that is no dict."""

    page: str
    title: str


class LimitedSpider(LinkedDataSpider):
    """Has the features of Scrapy's spiders."""

    name = "limited"
    start_urls: ClassVar[list[str]] = [  # type: ignore[misc]
        os.environ.get("OWN_SEED", "http://127.0.0.1:9/"),
        "no URL",
    ]
    allowed_domains = ("127.94.0.1",)
    custom_settings: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "ITEM_PIPELINES": {f"{__name__}.Watchful": 950}
    }


@dataclass(frozen=True, kw_only=True)
class PortalArguments(CrawlArguments):
    """Ours, and one more."""

    min_rows: int = 1


class PortalsSpider(CkanSpider):
    """The CKAN spider by another name, with its own arguments and settings."""

    name = "portals"
    arguments_class = PortalArguments
    arguments: PortalArguments
    custom_settings: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "CRAWL_ID": "of-portals",
        "ITEM_PIPELINES": {f"{__name__}.Watchful": 950},
    }

    def __init__(self, *args: Any, colour: str = "", **kw: Any) -> None:
        """Take an argument as spiders of Scrapy do."""
        super().__init__(*args, **kw)
        self.colour = colour

    async def start(self) -> AsyncIterator[Any]:
        """Log the arguments."""
        self.logger.warning(
            "MIN_ROWS=%r COLOUR=%r", self.arguments.min_rows, self.colour
        )
        async for each in super().start():
            yield each


class StartsSpider(LinkedDataSpider):
    """Begins in a custom way: first a page that is not a document, then a seed."""

    name = "starts"

    async def start(self) -> AsyncIterator[Any]:
        """Request a list, by an ordinary request."""
        yield Request(os.environ["OWN_SEED"], callback=self.parse_list)
        yield {"began": True}

    async def parse_list(self, response: Response) -> AsyncIterator[Any]:
        """Yield the URLs of the list, a good while later."""
        await asyncio.sleep(1.5)
        for line in response.text.split():
            yield Request(line)


class Watchful:
    """A pipeline that records the order of its calls, and drops private documents."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Listen to the signal for stores."""
        pipeline = cls()
        crawler.signals.connect(pipeline.flush, flush_stores)
        return pipeline

    def process_item(self, item: object) -> object:
        """Say so, and drop a document."""
        print("LEAVES")
        if isinstance(item, Document) and item.url.endswith("/private"):
            raise DropItem(f"not wanted:\n{item}")
        return item

    async def flush(self) -> None:
        """Say so."""
        print("FLUSHED")

    def close_spider(self) -> None:
        """Say so."""
        print("CLOSED")


class CallRecorder:
    """A pipeline that records its calls."""

    @staticmethod
    def process_item(item: object) -> object:
        """Say so."""
        print("ENTERS")
        return item


class ReturnsNothing:
    """A pipeline with a well-known bug."""

    def process_item(self, item: object) -> None:
        """Forget to return the item."""


@pytest.fixture(scope="module")
def site(loopback: Loopback) -> RawServer:
    """Return a host with a few documents."""
    page = loopback.response(GOOD)
    reserved = loopback.response(GOOD, X_Robots_Tag="nofollow")
    html = b"<h1>Hello</h1><a href=/large>more</a>"
    lines = b"".join(b'<> <urn:x:p> "%d" .\n' % n for n in range(N_LARGE))
    return loopback(
        {
            "/a": page,
            "/b": page,
            "/private": page,
            "/reserved": reserved,
            "/page": loopback.response(html, "text/html"),
            "/large": loopback.response(lines),
        }
    )


@pytest.fixture(scope="module")
def results(
    commands: Commands, site: RawServer, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, CrawlResult]:
    """Return the results of all crawls."""
    feeds = tmp_path_factory.mktemp("feeds")
    by_workers = tmp_path_factory.mktemp("workers")
    standard = project_settings.ITEM_PIPELINES
    seed = f"-aseeds={site.url('/a')}"

    def pipelines(**own: int) -> str:
        return json.dumps(
            {**standard, **{f"{__name__}.{name}": n for name, n in own.items()}}
        )

    def crawl(spider: str, *words: str, **settings: Any) -> Any:
        settings = {"SPIDER_MODULES": f"{__name__},rdfcrawl.spiders"} | settings
        running = commands.start("crawl", spider, *words, CRAWL_ID=spider, **settings)
        return running.wait()

    return {
        "feeds": feeds,
        "yields": crawl(
            "yields", f"{seed},{site.url('/page')}", "-O", str(feeds / "yields.jsonl")
        ),
        "csv": crawl("linkeddata", seed, "-O", str(feeds / "documents.csv")),
        "unknown": crawl("linkeddata", seed, "-O", str(feeds / "documents.pdf")),
        "dropped": crawl(
            "linkeddata",
            f"-aseeds={site.url('/a')},{site.url('/private')}",
            ITEM_PIPELINES=pipelines(CallRecorder=250, Watchful=950),
        ),
        "disobeys": crawl(
            "disobeys", f"-aseeds={site.url('/a')},{site.url('/reserved')}"
        ),
        "nothing": crawl(
            "linkeddata", seed, ITEM_PIPELINES=pipelines(ReturnsNothing=350)
        ),
        "portals": commands.start(
            *("crawl", "portals", f"-aportals={site.url('/')}", "-aq=water"),
            *("-amin_rows=7", "-acolour=blue"),
            SPIDER_MODULES=__name__,
            CRAWL_ID=None,
        ).wait(),
        "wrong": crawl("portals", "-amin_rows=many"),
        "portals by workers": commands.start(
            *("workers", "-n1", "portals", f"-aportals={site.url('/')}"),
            *("-amin_rows=7", "-acolour=blue"),
            folder=by_workers,
            SPIDER_MODULES=__name__,
        ).wait(),
        "log of workers": (by_workers / "of-portals").rglob("worker-*.log"),
    }


def feed(results: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the items of a feed."""
    path: Path = results["feeds"] / name
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_items_of_a_visiting_spider_are_exported(
    results: dict[str, CrawlResult], site: RawServer
) -> None:
    """If a spider of one's own makes items of documents, then they reach the feed."""
    result = results["yields"]
    assert result.code == 4, result.stderr  # for its bug
    items = feed(results, "yields.jsonl")
    said = {(item["about"], item["says"]) for item in items if "about" in item}
    assert (site.url("/b"), f'"{SECRET}"') in said
    assert {"page": site.url("/page"), "title": "Hello"} in items
    assert {"lines": N_LARGE, "n": N_LARGE} in items
    documents = {item["url"] for item in items if "url" in item}
    assert documents == {site.url(path) for path in ("/a", "/b", "/page", "/large")}
    n_items = len([item for item in items if "url" not in item])
    assert result.statistics["item_scraped_count"] == len(documents) + n_items


def test_bug_in_reservations_does_not_cost_the_document(
    results: dict[str, CrawlResult], site: RawServer
) -> None:
    """If the reservations of a document cannot be applied, then it is tried again."""
    result = results["disobeys"]
    assert "a bug in obey" in result.stderr
    assert {site.url("/a"), site.url("/reserved")} <= result.graphs


def test_bug_in_parse_document_does_not_cost_documents(
    results: dict[str, CrawlResult], site: RawServer
) -> None:
    """If `parse_document` fails, then a fault says so, and the documents are stored."""
    result = results["yields"]
    assert "a bug in parse_document" in result.stderr
    assert result.statistics["spider_exceptions/RuntimeError"] == 1
    assert result.graphs == {site.url("/a"), site.url("/b"), site.url("/large")}
    assert result.statuses(site.url("/a")) == ["SUCCESSFUL"]


def test_killed_worker_leaves_no_document_unparsed(
    commands: Commands,
    site: RawServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If a worker is killed in `parse_document`, then each item is in the feed."""
    notes = tmp_path / "notes"
    notes.touch()
    monkeypatch.setenv("OWN_NOTES", str(notes))
    folder = commands.folder()
    crawl = partial(
        commands.start,
        *("crawl", "dies", f"-aseeds={site.url('/a')}"),
        folder=folder,
        SPIDER_MODULES=__name__,
        CRAWL_ID="dies",
        FRONTIER_LEASE_SECS=1,
        FRONTIER_COMMIT_SECS=0.05,
    )
    feed_of_both = tmp_path / "items.jsonl"
    assert crawl("-o", str(feed_of_both)).wait().code == -signal.SIGKILL
    assert crawl("-o", str(feed_of_both)).wait().code == 0
    items = [json.loads(line) for line in feed_of_both.read_text().splitlines()]
    parsed = {item["about"] for item in items if "about" in item}
    assert parsed == {site.url("/a"), site.url("/b")}
    assert notes.read_text().split().count(site.url("/b")) == 2


def test_feed_has_the_outcome_of_documents(
    results: dict[str, CrawlResult], site: RawServer
) -> None:
    """If a crawl has a feed, then it has a row for each document."""
    result = results["csv"]
    assert result.code == 0, result.stderr
    assert "Traceback" not in result.stderr, result.stderr
    with (results["feeds"] / "documents.csv").open() as file:  # type: ignore[operator]
        rows = {row["url"]: row for row in csv.DictReader(file)}
    assert rows.keys() == {site.url("/a"), site.url("/b")}
    row = rows[site.url("/b")]
    assert (row["quads"], row["status"], row["depth"]) == ("2", "successful", "1")
    assert (row["parent"], row["http_status"]) == (site.url("/a"), "200")
    documents = [item for item in feed(results, "yields.jsonl") if "url" in item]
    assert {item["url"] for item in documents} >= rows.keys()
    assert documents[0]["faults"] == []


def test_feed_of_an_unknown_format_is_refused(results: dict[str, CrawlResult]) -> None:
    """If a feed has a format that there is not, then one line says so."""
    result = results["unknown"]
    assert result.code == 2
    assert "Traceback" not in result.stderr
    assert "'nq'" in result.stderr


def test_dropped_document_is_named_in_one_line(
    results: dict[str, CrawlResult], site: RawServer
) -> None:
    """If a pipeline drops a document, then the log names it and has no body."""
    result = results["dropped"]
    assert result.code == 0, result.stderr
    (line,) = [line for line in result.stderr.splitlines() if "Dropped" in line]
    assert site.url("/private") in line
    assert SECRET not in result.stderr


def test_stores_are_not_flushed_after_they_are_closed(
    results: dict[str, CrawlResult],
) -> None:
    """If a spider closes, then the last flush comes before the pipelines are closed."""
    order = [
        word
        for word in results["dropped"].stderr.split()
        if word in ("FLUSHED", "CLOSED")
    ]
    assert order[-2:] == ["FLUSHED", "CLOSED"]
    assert order.count("CLOSED") == 1


def test_pipelines_of_users_get_documents_one_by_one(
    results: dict[str, CrawlResult],
) -> None:
    """If a pipeline is a user's, then a document passes all before the next begins."""
    words = results["dropped"].stderr.split()
    order = [word for word in words if word in ("ENTERS", "LEAVES")]
    n_documents = order.count("ENTERS")
    assert n_documents > 1
    assert order == ["ENTERS", "LEAVES"] * n_documents


def test_pipeline_that_returns_nothing_is_no_silent_loss(
    results: dict[str, CrawlResult],
) -> None:
    """If a pipeline returns no item, then that is an error of each document."""
    result = results["nothing"]
    assert not result.graphs
    assert "returned no item" in result.stderr
    assert result.statistics["fault/internal"] == 1
    assert "own faults    1 document: pipelines 1 (" in result.stderr
    assert "hint          own faults: the log has the tracebacks" in result.stderr


def test_attributes_of_a_spider_are_obeyed(
    commands: Commands, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a spider has its own seeds, domains and settings, then they count."""
    other = loopback({"/x": loopback.response(GOOD)}, host="127.94.0.2")
    body = f"<> <urn:x:p> <{other.url('/x')}>, <b> .".encode()
    server = loopback({"/0": loopback.response(body)}, host="127.94.0.1")
    server.pages["/b"] = loopback.response(GOOD)
    monkeypatch.setenv("OWN_SEED", server.url("/0"))
    running = commands.start(
        "crawl", "limited", SPIDER_MODULES=__name__, CRAWL_ID="limited"
    )
    result = running.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == {server.url("/0"), server.url("/b")}
    assert other.targets == []
    assert result.statistics["fault/bad_uri"] == 1
    assert "CLOSED" in result.stderr


def test_spider_by_another_name_keeps_its_arguments(
    results: dict[str, CrawlResult],
) -> None:
    """If a spider of ours is subclassed, then the subclass takes the same arguments."""
    result = results["portals"]
    assert result.code == 0, result.stderr
    assert "unknown" not in result.stderr
    assert "MIN_ROWS=7 COLOUR='blue'" in result.stderr


def test_own_argument_that_is_wrong_is_refused(results: dict[str, CrawlResult]) -> None:
    """If an argument of one's own is wrong, then one line says so before the crawl."""
    result = results["wrong"]
    assert result.code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("scrapy: argument min_rows=many: must be int")


def test_workers_have_own_arguments_and_settings(results: dict[str, Any]) -> None:
    """If several workers run a spider, then its arguments and settings count."""
    result = results["portals by workers"]
    assert result.code == 0, result.stderr
    (log,) = results["log of workers"]
    text = log.read_text()
    assert "MIN_ROWS=7 COLOUR='blue'" in text
    assert "test_own_spiders.Watchful" in text


def test_crawl_waits_for_requests_of_a_custom_start(
    commands: Commands, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If `start` requests a list, then its URLs are crawled, within its scope."""
    host = "127.94.0.7"
    server = loopback({"/a": loopback.response(GOOD)}, host=host)
    server.pages["/b"] = loopback.response(GOOD)
    listed = server.url("/a").encode()
    server.pages["/list"] = loopback.response(listed, "text/plain")
    monkeypatch.setenv("OWN_SEED", server.url("/list"))
    result = commands.start(
        *("crawl", "starts", "-ascope=host"), SPIDER_MODULES=__name__, CRAWL_ID="starts"
    ).wait()
    assert result.code == 0, result.stderr
    assert result.graphs == {server.url("/a"), server.url("/b")}
    assert server.targets.count("/list") == 1
