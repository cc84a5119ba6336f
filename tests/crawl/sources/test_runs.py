"""Runs of a crawl of sources: failed, stopped, and moved sources."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from rdfcrawl import settings as project_settings
from rdfcrawl.core.records import MAX_RETRIES
from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.portal import PortalOptions
from rdfcrawl.sources.harvest.registry import HarvesterRegistry
from rdfcrawl.spiders.sitemap import SitemapSpider
from tests.crawl.sources.test_ckan import datasets, harvest, pages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from rdfcrawl.core.records import Document, FollowUp
    from rdfcrawl.dataweb.nodes.portal import PortalNode
    from tests.conftest import RawRequest, RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback


class FailsWithBadNames(HarvesterRegistry):
    """Harvesters with a bug that some URLs trigger."""

    def harvest(self, document: Document) -> AsyncIterator[Document | FollowUp]:
        """Fail before or after the answer itself."""
        if "bad" in document.url:
            return _failing(super().harvest(document))
        return super().harvest(document)


async def _failing(
    documents: AsyncIterator[Document | FollowUp],
) -> AsyncIterator[Document | FollowUp]:
    async for _ in documents:
        raise RuntimeError("a bug")
    yield  # type: ignore[misc]


class BrokenSitemapSpider(SitemapSpider):
    """The sitemap spider, with such harvesters."""

    name = "sitemap"

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.harvesters.__class__ = FailsWithBadNames


class FailsWithFirstDatasets:
    """A pipeline with a bug that documents of a page meet."""

    def __init__(self) -> None:
        self._n_documents = 0

    def process_item(self, item: Document) -> Document:
        """Fail with the first two documents that are no pages."""
        if item.record.kind.is_source and item.url != item.record.url:
            self._n_documents += 1
            if self._n_documents in (1, 2):
                raise RuntimeError("a bug")
        return item


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    """Yield a server of portals."""
    with LocalWeb(first_address="127.83.0.1", n_hosts=4) as web:
        yield web


def runs(result: CrawlResult) -> set[str]:
    """Return the numbers of the runs that requested pages."""
    tasks = result.ask("?a rc:task ?x .")
    return {task.partition("run=")[2].rstrip(")").partition(",")[0] for task in tasks}


def gate(loopback: Loopback, portal: PortalNode, host: str) -> RawServer:
    """Start a server that redirects all requests to a portal."""

    def reply(request: RawRequest) -> bytes:
        return loopback.redirect(portal.origin + request.target)

    return loopback({"*": reply}, host=host)


def test_page_that_its_source_cannot_read_costs_no_other(
    commands: Commands, loopback: Loopback
) -> None:
    """If a source fails with one page, then all others of the host are read once."""
    listed = [f"/{name}.xml" for name in ("bad", "a", "b", "bad2", "c")]
    server = loopback(host="127.83.1.1")
    robots = "".join(f"Sitemap: {server.url(path)}\n" for path in listed)
    server.pages["/robots.txt"] = loopback.response(robots.encode(), "text/plain")
    for path in listed:
        row = f"<url><loc>{server.url(path[:-4])}</loc></url>"
        body = f"<urlset>{row}</urlset>".encode()
        server.pages[path] = loopback.response(body, "application/xml")
        page = loopback.response(b"<> <urn:x:p> 1 .")
        server.pages[path[:-4]] = page
    result = commands.crawl(
        arguments={"sites": server.url("/")}, spider="sitemap", SPIDER_MODULES=__name__
    )
    assert result.code == 4, result.stderr
    stored = {server.url(path) for path in ("/a", "/b", "/c")}
    assert stored <= result.graphs
    counts = [server.targets.count(path) for path in listed]
    assert counts == [1 + MAX_RETRIES, 1, 1, 1 + MAX_RETRIES, 1]
    for name in ("bad", "bad2"):
        assert "internal" in result.faults(server.url(f"/{name}.xml"))


def test_page_whose_documents_failed_is_read_again(
    commands: Commands, web: LocalWeb
) -> None:
    """If a pipeline fails with datasets, then their page is requested once more."""
    portal = web.start(PortalOptions(n_datasets=30))
    own = {f"{__name__}.FailsWithFirstDatasets": 100}
    pipelines = json.dumps({**project_settings.ITEM_PIPELINES, **own})
    result = harvest(commands, portal, ITEM_PIPELINES=pipelines)
    assert result.code == 0, result.stderr
    assert datasets(result) == pages(portal, set(portal.ids()))


@pytest.mark.in_turn(2, rooms=("sources", "frontier"))
def test_run_that_was_stopped_goes_on(commands: Commands, web: LocalWeb) -> None:
    """If a harvest is stopped, then the same run goes on; once over, another begins."""
    portal = web.start(PortalOptions(n_datasets=300, rows_cap=10))
    folder = commands.folder()
    running = commands.start_crawl(
        arguments={"portals": portal.origin},
        spider="ckan",
        folder=folder,
        DOWNLOAD_DELAY=0.05,
    )
    commands.wait_until(lambda: len(web.targets(portal)) > 5)
    running.send(signal.SIGINT)
    assert running.wait().code == 1
    stopped = harvest(commands, portal, folder)
    assert runs(stopped) == {"0"}
    assert datasets(stopped) == pages(portal, set(portal.ids()))
    assert runs(harvest(commands, portal, folder)) == {"0", "1"}


def test_source_behind_a_redirect_is_requested_in_every_run(
    commands: Commands, web: LocalWeb, loopback: Loopback
) -> None:
    """If a portal answers at another port, then a later run still gets its changes."""
    portal = web.start(PortalOptions(n_datasets=30))
    host = portal.origin.removeprefix("http://").partition(":")[0]
    server = gate(loopback, portal, host)
    folder = commands.folder()
    arguments = {"portals": server.url("/")}
    for _ in range(2):
        result = commands.crawl(arguments=arguments, spider="ckan", folder=folder)
        names = {url.rpartition("/")[2] for url in datasets(result)}
        assert names == set(portal.ids())
        portal.revise(changed=2, deleted=3, created=5)


def test_portal_that_has_moved_is_harvested_where_it_is(
    commands: Commands,
    web: LocalWeb,
    loopback: Loopback,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If a portal is on another host now, then it is harvested there, without a key."""
    monkeypatch.setenv("CKAN_API_KEY", "secret==")
    portal = web.start(PortalOptions(n_datasets=30))
    seen: list[RawRequest] = []

    def pass_on(request: RawRequest) -> bytes:
        seen.append(request)
        return loopback.redirect(portal.origin + request.target)

    middle = loopback({"*": pass_on}, host="127.83.1.3")

    def reply(request: RawRequest) -> bytes:
        return loopback.redirect(middle.url(request.target))

    server = loopback({"*": reply}, host="127.83.1.2")
    result = commands.crawl(arguments={"portals": server.url("/")}, spider="ckan")
    assert result.code == 0, result.stderr
    assert len(datasets(result)) == 30
    keys = [
        r.headers.get("authorization") for r in server.requests if "/api" in r.target
    ]
    assert keys
    assert set(keys) == {"secret=="}
    assert [r.target for r in seen if "/api" in r.target]
    assert not [r for r in seen if "authorization" in r.headers]


@pytest.mark.in_turn(2, rooms=("sources", "downloader"))
def test_sources_through_scrapys_downloader(commands: Commands, web: LocalWeb) -> None:
    """If Scrapy does the requests, then a portal is harvested in the same way."""
    portal = web.start(PortalOptions(n_datasets=120))
    folder = commands.folder()
    first = harvest(commands, portal, folder, FETCH_WITH_SCRAPY="True")
    assert datasets(first) == pages(portal, set(portal.ids()))
    portal.revise(changed=3, deleted=2, created=1)
    again = harvest(commands, portal, folder, FETCH_WITH_SCRAPY="True")
    assert datasets(again) == pages(portal, set(portal.ids()))
    answers = [n for name, n in again.statistics.items() if "http/status/" in name]
    n_robots = web.targets(portal).count("/robots.txt")
    assert sum(answers) <= len(web.targets(portal)) - n_robots


def test_document_that_is_the_same_is_left_as_it_is(
    commands: Commands, loopback: Loopback
) -> None:
    """If a page of a collection answers 304 in a later run, then its graph stays."""
    server = loopback(host="127.83.1.6")
    tree = (
        b"@prefix tree: <https://w3id.org/tree#> . </all> tree:view </first> ; "
        b"tree:member </m> . </first> tree:relation [ tree:node </next> ] ."
    )

    def answer(body: bytes) -> object:
        def reply(request: RawRequest) -> bytes:
            if "if-none-match" in request.headers:
                return loopback.response(status="304 Not Modified", media_type="")
            return loopback.response(body, ETag='"1"')

        return reply

    server.pages["/first"] = answer(tree)  # type: ignore[assignment]
    server.pages["/next"] = answer(b"</next> <urn:x:p> 1 .")  # type: ignore[assignment]
    folder = commands.folder()
    for _ in range(2):
        result = commands.crawl([server.url("/first")], folder=folder)
        graphs = {graph for *_, graph in result.latest_quads}
        assert graphs == {server.url("/first"), server.url("/next")}
    assert any("if-none-match" in request.headers for request in server.requests)


def test_document_that_is_empty_now_keeps_its_statements(
    commands: Commands, loopback: Loopback
) -> None:
    """If a changed page, behind a redirect, is empty now, then its last copy stays."""
    host = "127.83.1.4"
    elsewhere = loopback(host="127.83.1.5")
    server = loopback(host=host)
    elsewhere.pages["/doc"] = loopback.response(b"<> <urn:x:p> 1 .")
    server.pages["/a"] = loopback.redirect(elsewhere.url("/doc"))
    server.pages["/own"] = loopback.redirect("/own.ttl")
    server.pages["/own.ttl"] = loopback.response(b"<> <urn:x:p> 1 .")
    folder = commands.folder()
    arguments = {"sites": server.url("/sitemap.xml")}
    results = []
    for day in ("2020-01-01", "2100-01-01"):
        rows = "".join(
            f"<url><loc>{server.url(path)}</loc><lastmod>{day}</lastmod></url>"
            for path in ("/a", "/own")
        )
        body = f"<urlset>{rows}</urlset>".encode()
        server.pages["/sitemap.xml"] = loopback.response(body, "application/xml")
        result = commands.crawl(arguments=arguments, spider="sitemap", folder=folder)
        graphs = {graph for *_, graph in result.latest_quads}
        results.append(graphs & {elsewhere.url("/doc"), server.url("/own.ttl")})
        elsewhere.pages["/doc"] = server.pages["/own.ttl"] = loopback.response(b"# -")
    assert results == [{elsewhere.url("/doc"), server.url("/own.ttl")}] * 2
    assert "copy_kept" in result.faults(server.url("/own"))
    assert elsewhere.targets.count("/doc") == 2


def test_workers_of_one_command_are_in_one_run(
    commands: Commands, web: LocalWeb
) -> None:
    """If a worker begins when the others are done, then it begins no new run."""
    portal = web.start(PortalOptions(n_datasets=3))
    folder = commands.folder()
    words = ("workers", "-n", "3", "ckan", f"-aportals={portal.origin}")
    for wanted in ({"0"}, {"0", "1"}):
        result = commands.start(*words, folder=folder, CRAWL_ID="ckan").wait()
        assert result.code == 0, result.stderr
        assert runs(result) == wanted
    searches = [target for target in web.targets(portal) if "package_search" in target]
    assert len(searches) == 2
