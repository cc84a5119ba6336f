"""Scrapy's usual ways, next to the visits and below them."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import signals
from scrapy.core.downloader import Downloader

from rdfcrawl import settings as project_settings
from rdfcrawl.spiders.linkeddata import LinkedDataSpider
from tests.conftest import LOOPBACK_NETS
from tests.support.crawl_webs import TreeWeb
from tests.support.pages import ROOT
from tests.support.plain_spider import GOOD, SPIDER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from rdfcrawl.core.records import Document
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback


class FailsWithFirstVisit:
    """A downloader middleware with a bug."""

    def __init__(self) -> None:
        self._n_visits = 0

    def process_response(self, request: Request, response: Response) -> Response:
        """Fail once."""
        if "visit" in request.meta:
            self._n_visits += 1
            if self._n_visits == 1:
                raise RuntimeError("a bug")
        return response


class OwnDownloader:
    """A downloader that has only the members that Scrapy's engine requires."""

    def __init__(self, crawler: Crawler) -> None:
        self._scrapys = Downloader(crawler)
        self.active, self.handlers = self._scrapys.active, self._scrapys.handlers
        self.fetch, self.close = self._scrapys.fetch, self._scrapys.close
        self.needs_backout = self._scrapys.needs_backout


class CountingSpider(LinkedDataSpider):
    """Counts the signals of visits, and fails with the first visit."""

    name = "counting"
    counted = (
        signals.request_reached_downloader,
        signals.response_downloaded,
        signals.response_received,
    )

    async def start(self) -> Any:
        """Count signals from now on."""
        for number, signal in enumerate(self.counted):
            self.crawler.signals.connect(self._counter(number), signal, weak=False)
        async for each in super().start():
            yield each

    def _counter(self, number: int) -> Callable[[], None]:
        return lambda: self.count(f"signals/{number}")

    def count(self, name: str) -> None:
        """Count one more."""
        self.crawler.stats.inc_value(name)

    async def process_visit(self, response: Response) -> None:
        """Fail once."""
        self.count("visits")
        if self.crawler.stats.get_value("visits") == 1:
            raise RuntimeError("a bug")
        await super().process_visit(response)


class FailsWithOnePage:
    """A downloader middleware with a bug that one page shows."""

    def process_response(self, request: Request, response: Response) -> Response:
        """Fail with one page."""
        if request.url.endswith("/a"):
            raise TypeError("a bug")
        return response


class FailsWithFirstDocument:
    """A pipeline with a bug, and a look at the spool."""

    def __init__(self) -> None:
        self._n_documents = 0

    def process_item(self, item: Document) -> Document:
        """Fail once, and again if the spool has more than this document's body."""
        self._n_documents += 1
        path = item.response.path
        others = {*path.parent.iterdir()} - {path} if path else set()
        if self._n_documents == 1 or others:
            raise RuntimeError(f"a bug, {len(others)} other files")
        return item


@pytest.fixture(scope="module")
def site(loopback: Loopback) -> RawServer:
    """Return the server of an ordinary web site with a robots.txt."""

    def page(title: str, *links: str) -> bytes:
        anchors = "".join(f"<a href='{link}'>x</a>" for link in links)
        html = f"<html><head><title>{title}</title></head><body>{anchors}</body></html>"
        return loopback.response(html.encode(), "text/html")

    return loopback(
        {
            "/robots.txt": loopback.response(
                b"User-agent: *\nDisallow: /private\n", "text/plain"
            ),
            "/": page("home", "/a", "/private/b"),
            "/a": page("a"),
            "/private/b": page("b"),
        }
    )


@pytest.mark.in_turn(2, rooms=("downloader",))
def test_scrapys_downloader_gives_the_same_quads(
    commands: Commands, loopback: Loopback
) -> None:
    """If records are fetched by Scrapy's downloader, then the quads are the same."""
    web = TreeWeb(loopback, "127.0.41", n_hosts=2, n_docs=6, secs=0)
    response = loopback.response
    large = b"".join(b"<s%d> <urn:x:p> <urn:x:o> .\n" % n for n in range(20_000))
    odd = loopback(
        {
            "/packed": response(gzip.compress(GOOD), Content_Encoding="gzip"),
            "/moved": loopback.redirect("/doc"),
            "/doc": response(GOOD),
            "/away": loopback.redirect(web.seed),
            "/large": response(large),
            "/broken": response(GOOD + b" <a> <b"),
            "/410": response(b"", status="410 Gone"),
            "/ld": response(
                b'{"@context": "/context", "name": "N"}', "application/ld+json"
            ),
            "/context": response(
                b'{"@context": {"name": "urn:x:name"}}', "application/ld+json"
            ),
            "/robots.txt": response(b"User-agent: *\nDisallow: /no", "text/plain"),
            "/no": response(GOOD),
        }
    )
    targets = ["/packed", "/moved", "/away", "/large", "/broken", "/410", "/ld", "/no"]
    seeds = [*map(odd.url, targets), "http://127.0.41.99:9/refused", web.seed]
    arguments = {"follow": "object"}
    both = [
        commands.start_crawl(seeds, arguments=arguments, FETCH_WITH_SCRAPY=flag)
        for flag in (False, True)
    ]
    visits, scrapys = (running.wait() for running in both)
    assert visits.code == scrapys.code == 0, scrapys.stderr
    assert visits.graphs >= {*web.documents, odd.url("/doc"), odd.url("/large")}
    assert scrapys.quads == visits.quads
    faults = (
        "?a sq:crawled ?u ; rc:fault/rc:reason ?r . BIND(CONCAT(STR(?u), ?r) AS ?x)"
    )
    assert sorted(scrapys.ask(faults)) == sorted(visits.ask(faults))
    assert scrapys.statistics["downloader/response_count"] > 20
    # Contexts go the same way: a middleware of Scrapy's has added a header to one.
    contexts = [each for each in odd.requests if each.target == "/context"]
    assert sorted("accept-language" in each.headers for each in contexts) == [0, 1]


def test_large_documents_take_the_spool_to_the_same_quads(
    commands: Commands, loopback: Loopback
) -> None:
    """If a body is over the spool's border, then its quads are those of a small one."""
    body = b"".join(
        b"<s%d> <urn:x:p> [ <urn:x:q> %d ] .\n" % (n, n) for n in range(9000)
    )
    assert len(body) > 256 * 1024
    server = loopback({"/large": loopback.response(body)})
    both = [
        commands.start_crawl(
            [server.url("/large")], arguments={"follow": "none"}, VISIT_SPOOL_BYTES=n
        )
        for n in (256 * 1024, 2**30)
    ]
    spooled, inline = (running.wait() for running in both)
    assert len(spooled.quads) == 18_000
    assert spooled.raw(server.url("/large")) == inline.raw(server.url("/large"))
    assert not list((spooled.folder / "spool").iterdir())


class TestOrdinarySpider:
    """A spider with callbacks and items, in a project with our settings."""

    def test_crawls_as_ever(
        self, commands: Commands, site: RawServer, tmp_path: Path
    ) -> None:
        """If a spider is none of ours, then its callbacks and items work as ever."""
        (tmp_path / "plain.py").write_text(SPIDER)
        items = tmp_path / "items.jl"
        n_before = len(site.targets)
        running = commands.start(
            *("runspider", str(tmp_path / "plain.py"), f"-aurl={site.url('/')}"),
            *("-o", str(items)),
        )
        result = running.wait()
        assert result.code == 0, result.stderr
        assert "Traceback" not in result.stderr, result.stderr
        titles = [json.loads(line)["title"] for line in items.read_text().splitlines()]
        assert sorted(titles) == ["a", "home"]
        assert sorted(site.targets[n_before:]) == ["/", "/a", "/robots.txt"]
        assert not (result.folder / "frontier").exists()

    def test_fetch(self, commands: Commands, site: RawServer) -> None:
        """If a URL is fetched on the command line, then its body is printed."""
        result = commands.start("fetch", "--nolog", site.url("/a")).wait()
        assert result.code == 0, result.stderr
        assert "<title>a</title>" in result.stderr

    def test_shell(self, commands: Commands, site: RawServer) -> None:
        """If a URL is opened in the shell, then the response is at hand."""
        code = "print(response.status, response.css('title::text').get())"
        result = commands.start("shell", "--nolog", "-c", code, site.url("/a")).wait()
        assert result.code == 0, result.stderr
        assert "200 a" in result.stderr

    def test_await_in_the_shell(self, commands: Commands, site: RawServer) -> None:
        """If code of the shell awaits, then the RDF of the response is at hand."""
        code = "(await extract(response)).format + ' ' + str(response.status)"
        result = commands.start("shell", "--nolog", "-c", code, site.url("/a")).wait()
        assert (result.code, "HTML 200" in result.stderr) == (0, True), result.stderr

    def test_await_in_the_console(self, site: RawServer) -> None:
        """If a statement of the console awaits, then its result has a name."""
        typed = "rdf = await extract(response)\n1/0\nx = rdf.format\nx\n"
        guard = f"-sGUARD_ALLOW_NETS={LOOPBACK_NETS}"
        words = ("-m", "scrapy", "shell", "--nolog", site.url("/a"), guard)
        done = subprocess.run(
            [sys.executable, *words],
            input=typed,
            cwd=ROOT,
            env=os.environ | {"SCRAPY_PYTHON_SHELL": "python"},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert (done.returncode, "'HTML'" in done.stdout) == (0, True), done.stderr
        assert "ZeroDivisionError" in done.stderr


@pytest.mark.in_turn(2, rooms=("spiders", "launch"))
@pytest.mark.parametrize(
    "project", ["rdfcrawl.settings", "tests.support.addon_project"]
)
@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (("fetch", "--nolog", "--spider", "linkeddata"), "<title>a</title>"),
        (
            ("shell", "--nolog", "--spider", "linkeddata", "-c", "response.status"),
            "200",
        ),
        (("parse", "--spider", "linkeddata", "--nocolour"), "'format': 'HTML'"),
    ],
    ids=["fetch", "shell", "parse"],
)
def test_look_at_a_page_with_a_spider_of_ours_leaves_its_crawl_alone(
    commands: Commands,
    site: RawServer,
    words: tuple[str, ...],
    printed: str,
    project: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If a page is looked at with a visiting spider, then its crawl is left alone."""
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", project)
    folder = commands.folder()
    result = commands.start(*words, site.url("/a"), folder=folder).wait()
    assert result.code == 0, result.stderr
    assert printed in result.stderr
    assert "Traceback" not in result.stderr
    assert not result.folder.exists()


def test_documents_that_reach_no_pipeline_are_fetched_again(
    commands: Commands, loopback: Loopback
) -> None:
    """If a middleware fails with a visit, then its documents are not taken for done.

    Middlewares see visits with a downloader of the project, too.
    """
    server = loopback({"/a": loopback.response(GOOD), "/b": loopback.response(GOOD)})
    urls = {server.url("/a"), server.url("/b")}
    own = {f"{__name__}.FailsWithFirstVisit": 50}
    standard = project_settings.DOWNLOADER_MIDDLEWARES
    result = commands.crawl(
        sorted(urls),
        DOWNLOADER=f"{__name__}.OwnDownloader",
        DOWNLOADER_MIDDLEWARES=json.dumps({**standard, **own}),
    )
    assert result.code == 0, result.stderr
    assert result.graphs == urls
    assert server.targets.count("/a") == 2


def test_visits_without_the_engine_are_seen_as_requests(
    commands: Commands, loopback: Loopback
) -> None:
    """If nothing foreign takes part in visits, then signals and failures are theirs."""
    server = loopback({"/a": loopback.response(GOOD)})
    result = commands.crawl(
        [server.url("/a")], spider="counting", SPIDER_MODULES=__name__
    )
    found = result.statistics
    assert result.code == 0, result.stderr
    assert result.graphs == {server.url("/a")}
    assert server.targets == ["/robots.txt", "/a", "/a", "/other"]
    assert found["visits"] == found["response_received_count"] == 3
    assert [found[f"signals/{number}"] for number in range(3)] == [3, 3, 3]
    assert found["spider_exceptions/RuntimeError"] == 1
    assert "Spider error processing <GET visit://" in result.stderr


def test_bugs_of_middlewares_are_no_faults_of_pages(
    commands: Commands, loopback: Loopback
) -> None:
    """If a middleware has a bug, then its page has an own fault, and others none."""
    server = loopback({"/a": loopback.response(GOOD), "/b": loopback.response(GOOD)})
    own = {**project_settings.DOWNLOADER_MIDDLEWARES}
    own[f"{__name__}.FailsWithOnePage"] = 50
    result = commands.crawl(
        [server.url("/a"), server.url("/b")],
        FETCH_WITH_SCRAPY=True,
        DOWNLOADER_MIDDLEWARES=json.dumps(own),
    )
    assert result.faults(server.url("/a")) == ["internal"]
    assert server.url("/b") in result.graphs
    assert result.code == 4, result.stderr


def test_bodies_of_documents_that_failed_are_let_go(
    commands: Commands, loopback: Loopback
) -> None:
    """If a pipeline fails with a document, then its body does not stay in the spool."""
    server = loopback({"/a": loopback.response(GOOD)})
    own = {f"{__name__}.FailsWithFirstDocument": 600}
    standard = project_settings.ITEM_PIPELINES
    result = commands.crawl(
        [server.url("/a")],
        ITEM_PIPELINES=json.dumps({**standard, **own}),
        VISIT_SPOOL_BYTES=1,
    )
    assert result.code == 0, result.stderr
    assert result.graphs == {server.url("/a")}
    assert server.targets.count("/a") == 2
    # A later try has made it good, so that it is no own fault.
    assert not {name for name in result.statistics if name.startswith("own_fault/")}


def test_settings_have_their_defaults(commands: Commands) -> None:
    """If a setting is not set, then `scrapy settings` prints the default of ours."""
    for words, value in (
        (("--getint", "HOST_LAST_WAIT_SECS"), "600"),
        (("--get", "PROVENANCE", "-sPROVENANCE=elsewhere"), "elsewhere"),
        (("--get", "NO_SETTING"), "None"),
    ):
        assert commands.start("settings", *words).wait().stderr.split() == [value]
