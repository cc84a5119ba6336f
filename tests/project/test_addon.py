"""A third-party Scrapy project: rdfcrawl is installed, one line adds it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support.project import COMMANDS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import CrawlResult
    from tests.support.crawl_webs import Loopback
    from tests.support.project import InstalledPackage, Project
    from tests.support.project_fixtures import StartProject

SPIDERS = """
    from dataclasses import dataclass

    import scrapy
    from rdfcrawl import (
        CkanSpider, CrawlArguments, LinkedDataSpider, ResourceSyncSpider,
        SitemapSpider, SparqlSpider,
    )


    @dataclass(frozen=True, kw_only=True)
    class PeopleArguments(CrawlArguments):
        greeting: str = "good day"


    class PeopleSpider(LinkedDataSpider):
        name = "people"
        arguments_class = PeopleArguments

        def parse_document(self, document):
            yield {"read": document.url, "greeting": self.arguments.greeting}
            if document.url.endswith("/a"):
                page = self.settings["PAGE"]
                yield scrapy.Request(page, self.parse_page, cb_kwargs={"n": 1})

        def parse_page(self, response, n):
            yield {"title": response.css("title::text").get(), "n": n}


    class Greeting:
        arguments_class = PeopleArguments

        def parse_document(self, document):
            yield {"read": document.url, "greeting": self.arguments.greeting}


    class OwnSitemap(Greeting, SitemapSpider):
        name = "own-sitemap"


    class OwnResourceSync(Greeting, ResourceSyncSpider):
        name = "own-resourcesync"


    class OwnCkan(Greeting, CkanSpider):
        name = "own-ckan"


    class OwnSparql(Greeting, SparqlSpider):
        name = "own-sparql"


    class PlainSpider(scrapy.Spider):
        name = "plain"

        async def start(self):
            yield scrapy.Request(self.settings["PAGE"])

        def parse(self, response):
            settings = self.crawler.settings
            chosen = {name: settings[name] for name in ("SCHEDULER", "USER_AGENT")}
            yield chosen | {"title": response.css("title::text").get()}
            for name in ("CRAWL_DIR", "VISIT_MAX_SECS"):
                assert settings[name] is None
            assert "rdfcrawl" not in str(settings.copy_to_dict()["ITEM_PIPELINES"])
            yield response.follow("/private", self.parse)
"""
OWN = ("own-sitemap", "own-resourcesync", "own-ckan", "own-sparql")
SCRIPT = """
import sys

from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings

settings = get_project_settings()
settings.set("FEEDS", {"%(name)s.jl": {"format": "jsonlines"}})
process = AsyncCrawlerProcess(settings)
for name in sys.argv[2:]:
    process.crawl(name, seeds=[sys.argv[1]], greeting=name, depth=0)
process.start()
"""
PIPELINES = """
    from itemadapter import ItemAdapter
    from rdfcrawl import Document


    class Before:
        def process_item(self, item):
            if isinstance(item, Document):
                ItemAdapter(item)["before"] = item.n_quads
            return item


    class After:
        def process_item(self, item):
            ItemAdapter(item)["after"] = getattr(item, "n_quads", "no document")
            return item
"""
MIDDLEWARES = """
    from itemadapter import ItemAdapter
    from rdfcrawl import Document
    from scrapy import signals
    from scrapy.spidermiddlewares.base import BaseSpiderMiddleware


    class Watch(BaseSpiderMiddleware):
        has_failed = False

        @classmethod
        def from_crawler(cls, crawler):
            watch = cls(crawler)
            crawler.signals.connect(watch.scraped, signals.item_scraped)
            return watch

        def get_processed_item(self, item, response):
            is_document = isinstance(item, Document)
            if is_document and item.url.endswith("/b"):
                return None
            if is_document and not self.has_failed:
                self.has_failed = True
                raise RuntimeError("a bug in a middleware")
            ItemAdapter(item)["passed"] = f"{response.status} {response.url}"
            return item

        def scraped(self, item):
            kind = "document" if isinstance(item, Document) else "item"
            self.crawler.stats.inc_value(f"watch/{kind}")
"""
PAGE = b"<html><head><title>A page</title></head><body></body></html>"


@pytest.fixture(scope="module")
def site(loopback: Loopback) -> RawServer:
    """Return a host with two documents and two pages."""
    return loopback(
        {
            "/robots.txt": loopback.response(
                b"User-agent: *\nDisallow: /private\n", "text/plain"
            ),
            "/a": loopback.response(b"<> <urn:x:p> <b> ."),
            "/b": loopback.response(b"<> <urn:x:p> 1, 2 ."),
            "/page": loopback.response(PAGE, "text/html"),
            "/private": loopback.response(PAGE, "text/html"),
        }
    )


@pytest.fixture(scope="module")
def project(start_project: StartProject, site: RawServer) -> Project:
    """Return a project with the add-on, two spiders and two pipelines."""
    project = start_project("people")
    project.write("spiders/people.py", SPIDERS)
    project.write("pipelines.py", PIPELINES)
    project.add_settings(
        f"""
        PAGE = "{site.url("/page")}"
        ITEM_PIPELINES = {{
            "people.pipelines.Before": 100,
            "people.pipelines.After": 950,
        }}
        """
    )
    return project


@pytest.fixture(scope="module")
def crawl(project: Project, site: RawServer) -> CrawlResult:
    """Return the result of a crawl of the project."""
    given = (f"-aseeds={site.url('/a')}", "-agreeting=hello")
    result = project.run("crawl", "people", *given, "-O", "items.jl", crawl_id="people")
    assert result.code == 0, result.stderr
    return result


def test_spiders_of_both_are_listed(project: Project) -> None:
    """If a project has the add-on, then `scrapy list` shows our spiders and its own."""
    listed = project.run("list")
    spiders = {"ckan", "linkeddata", "resourcesync", "sitemap", "sparql", "warc"}
    assert set(listed.stderr.split()) == spiders | {"people", "plain", *OWN}


def test_documents_are_crawled_and_stored(crawl: CrawlResult, site: RawServer) -> None:
    """If a subclass crawls in the project, then its documents are in the store."""
    assert crawl.graphs == {site.url("/a"), site.url("/b")}
    assert "Traceback" not in crawl.stderr
    assert "WARNING" not in crawl.stderr, crawl.stderr


def test_pipelines_of_the_project_stand_before_and_after_ours(
    crawl: CrawlResult, project: Project, site: RawServer
) -> None:
    """If a project has pipelines, then documents pass them at their places."""
    assert crawl.code == 0
    rows = {row["url"]: row for row in project.feed("items.jl") if "url" in row}
    assert {url: row["before"] for url, row in rows.items()} == {
        site.url("/a"): 0,
        site.url("/b"): 0,
    }
    assert {url: row["after"] for url, row in rows.items()} == {
        site.url("/a"): 1,
        site.url("/b"): 2,
    }


def test_items_of_the_spider_reach_pipelines_and_feed(
    crawl: CrawlResult, project: Project, site: RawServer
) -> None:
    """If the spider yields dicts, then the feed has them and the documents."""
    assert crawl.code == 0
    items = {item["read"]: item for item in project.feed("items.jl") if "read" in item}
    assert items.keys() == {site.url("/a"), site.url("/b")}
    assert {item["after"] for item in items.values()} == {"no document"}


def test_spider_middlewares_and_signals_get_documents(
    project: Project, site: RawServer
) -> None:
    """If a project has a middleware, documents pass it as items, and may be dropped."""
    project.write("middlewares.py", MIDDLEWARES)
    own = '-sSPIDER_MIDDLEWARES={"people.middlewares.Watch": 500}'
    words = ("crawl", "people", own, f"-aseeds={site.url('/a')}", "-O", "watched.jl")
    result = project.run(*words, "-sCRAWL_ID=watched", crawl_id="watched")
    assert result.code == 0, result.stderr
    items = project.feed("watched.jl")
    assert {item["passed"] for item in items} == {
        f"200 {site.url('/a')}",
        f"200 {site.url('/page')}",
    }
    assert [item["url"] for item in items if "url" in item] == [site.url("/a")]
    assert {"read", "title"} <= {name for item in items for name in item}
    assert result.graphs == {site.url("/a")}
    assert result.stderr.count("RuntimeError: a bug") == 1
    assert "'watch/document': 1" in result.stderr
    assert "'watch/item': 2" in result.stderr


def test_subclass_has_an_argument_of_its_own(
    crawl: CrawlResult, project: Project
) -> None:
    """If a subclass has another argument, then it gets the value of `-a`."""
    assert crawl.code == 0
    greetings = {item.get("greeting") for item in project.feed("items.jl")}
    assert greetings == {"hello", None}


def test_each_spider_can_be_subclassed(project: Project, site: RawServer) -> None:
    """If a subclass of each other spider runs in a script, each has its argument."""
    (project.folder / "together.py").write_text(SCRIPT)
    words = ("together", site.url("/b"), *OWN)
    done = project.installed.run(*words, folder=project.folder)
    assert done.code == 0, done.stderr
    assert "Traceback" not in done.stderr
    for name in OWN:
        items = [item for item in project.feed(f"{name}.jl") if "read" in item]
        assert [(each["read"], each["greeting"]) for each in items] == [
            (site.url("/b"), name)
        ]


def test_ordinary_requests_go_with_visits(crawl: CrawlResult, project: Project) -> None:
    """If the spider yields a request with a callback, then Scrapy makes it."""
    assert crawl.code == 0
    (item,) = [item for item in project.feed("items.jl") if "title" in item]
    assert (item["title"], item["n"]) == ("A page", 1)


def test_other_spiders_of_the_project_have_scrapys_parts(
    project: Project, site: RawServer
) -> None:
    """If an ordinary spider runs, then it has Scrapy's scheduler and the project's."""
    done = project.run("crawl", "plain", "-O", "plain.jl")
    assert done.code == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert project.feed("plain.jl") == [
        {
            "SCHEDULER": "scrapy.core.scheduler.Scheduler",
            "USER_AGENT": "lab/1 (+https://lab.example/crawl)",
            "title": "A page",
            "after": "no document",
        }
    ]
    assert "'robotstxt/forbidden': 1" in done.stderr
    assert "/private" not in site.targets


def test_workers_run_a_spider_of_the_project(project: Project, site: RawServer) -> None:
    """If several workers run a spider of the project, then they share its crawl."""
    words = ("workers", "-n2", "people", f"-aseeds={site.url('/a')}")
    result = project.run(*words, "-sCRAWL_ID=shared", crawl_id="shared")
    assert result.code == 0, result.stderr
    assert result.graphs == {site.url("/a"), site.url("/b")}


def test_spider_is_generated_from_our_template(
    project: Project, site: RawServer
) -> None:
    """If a spider is generated with `-t rdf`, then it crawls without changes."""
    done = project.run("genspider", "-t", "rdf", "docs", site.url("/a"))
    assert "using template 'rdf'" in done.stderr
    path = f"{project.name}/spiders/docs.py"
    result = project.run("runspider", path, crawl_id="docs")
    assert result.code == 0, result.stderr
    assert result.graphs == {site.url("/a"), site.url("/b")}


@pytest.fixture(scope="module")
def bare(start_project: StartProject) -> Project:
    """Return a project as Scrapy makes it, with our commands."""
    return start_project("bare", COMMANDS)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("crawl", "linkeddata"),
            (
                "scrapy: spider linkeddata: unknown; there is none;"
                ' ADDONS = {"rdfcrawl.Addon": 500} in the settings brings it'
            ),
        ),
        (
            ("crawl", "linkeddata", "-sSPIDER_MODULES=rdfcrawl.spiders"),
            "scrapy: USER_AGENT=rdfcrawl/",
        ),
        (("rdfcrawl", "crawl", "linkeddata"), "rdfcrawl: USER_AGENT=rdfcrawl/"),
    ],
    ids=["nothing", "modules", "rdfcrawl"],
)
def test_missing_parts_are_reported_in_one_line(
    bare: Project, words: tuple[str, ...], told: str
) -> None:
    """If a project lacks a requirement, then one line names it, no traceback."""
    done = bare.run(*words, "-aseeds=http://a.example/")
    assert done.code == 2
    assert done.stderr.startswith(told)
    assert done.stderr.count("\n") == 1
    assert not (bare.folder / "crawl").exists()


def test_program_crawls_in_any_folder(
    installed: InstalledPackage, tmp_path: Path, site: RawServer
) -> None:
    """If there is no project, then `rdfcrawl` crawls with the defaults."""
    lab = ("-sGUARD_ALLOW_NETS=127.0.0.0/8", "-sGUARD_PORTS=1-65535")
    words = ("workers", "-n1", "linkeddata", f"-aseeds={site.url('/a')}", *lab)
    done = installed.run("rdfcrawl", *words, folder=tmp_path)
    assert done.code == 0, done.stderr
    result = replace(done, folder=tmp_path / "crawl" / "linkeddata")
    assert result.graphs == {site.url("/a"), site.url("/b")}


def test_spider_is_generated_and_run_in_any_folder(
    installed: InstalledPackage, tmp_path: Path, site: RawServer
) -> None:
    """If there is no project, a spider is written here; a missing part is one line."""
    words = ("genspider", "-t", "rdf", "docs", site.url("/a"))
    done = installed.run("rdfcrawl", *words, folder=tmp_path)
    assert (tmp_path / "docs.py").exists(), done.stderr
    done = installed.run("rdfcrawl", "runspider", "docs.py", folder=tmp_path)
    assert done.code == 2
    assert done.stderr.startswith("rdfcrawl: USER_AGENT=")
    assert done.stderr.count("\n") == 1


def test_program_reads_a_file_in_any_folder(
    installed: InstalledPackage, tmp_path: Path
) -> None:
    """If a file is named, then `rdfcrawl rdf` shows its statements."""
    (tmp_path / "a.nt").write_text("<urn:a> <urn:b> <urn:c> .\n")
    done = installed.run("rdfcrawl", "rdf", "a.nt", folder=tmp_path)
    assert done.code == 0
    assert "statements  1" in done.stderr
