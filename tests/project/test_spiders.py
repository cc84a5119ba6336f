"""Subclasses of our spiders in a Scrapy project that installs rdfcrawl."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.endpoint import EndpointOptions
from rdfcrawl.dataweb.nodes.portal import PortalOptions
from rdfcrawl.dataweb.nodes.resourcesync import ResourceSyncOptions
from rdfcrawl.dataweb.nodes.sitemap import SitemapOptions
from tests.support.crawl_fixtures import CrawlResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.crawl_webs import Loopback
    from tests.support.project import Project
    from tests.support.project_fixtures import StartProject

SPIDERS = """
    from dataclasses import dataclass

    from rdfcrawl import CkanSpider, CrawlArguments, LinkedDataSpider
    from rdfcrawl import ResourceSyncSpider, SitemapSpider, SparqlSpider


    @dataclass(frozen=True, kw_only=True)
    class LabArguments(CrawlArguments):
        label: str = "none"


    class Lab:
        arguments_class = LabArguments

        def parse_document(self, document):
            yield {"label": self.arguments.label, "of": document.url}


    class Pages(Lab, LinkedDataSpider):
        name = "pages"


    class Sites(Lab, SitemapSpider):
        name = "sites"


    class Mirrors(Lab, ResourceSyncSpider):
        name = "mirrors"


    class Portals(Lab, CkanSpider):
        name = "portals"


    class Endpoints(Lab, SparqlSpider):
        name = "endpoints"
"""
SCRIPT = """
    import json
    import sys

    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.utils.project import get_project_settings

    process = AsyncCrawlerProcess(get_project_settings())
    for spider, arguments in json.loads(sys.argv[1]).items():
        process.crawl(spider, **arguments)
    process.start()
"""
NAMED = {
    "pages": "seeds",
    "sites": "sites",
    "mirrors": "sources",
    "portals": "portals",
    "endpoints": "endpoints",
}


@pytest.fixture(scope="module")
def urls(loopback: Loopback) -> Iterator[dict[str, str]]:
    """Yield a small source for each spider."""
    page = loopback({"/a": loopback.response(b"<> <urn:x:p> 1 .")}, host="127.86.9.1")
    with LocalWeb(first_address="127.86.0.1", n_hosts=4) as web:
        yield {
            "pages": page.url("/a"),
            "sites": web.start(SitemapOptions(n_pages=4)).origin,
            "mirrors": web.start(ResourceSyncOptions(n_resources=3)).origin,
            "portals": web.start(PortalOptions(n_datasets=3)).origin,
            "endpoints": web.start(EndpointOptions(n_triples=20)).endpoint_url,
        }


@pytest.fixture(scope="module")
def project(start_project: StartProject, urls: dict[str, str]) -> Project:
    """Return a project in which all spiders have run, in one separate process."""
    project = start_project("lab")
    project.write("spiders/lab.py", SPIDERS)
    project.write("run.py", SCRIPT)
    project.add_settings('FEEDS = {"%(name)s.jl": {"format": "jsonlines"}}\n')
    given = {
        spider: {NAMED[spider]: url, "label": f"of {spider}"}
        for spider, url in urls.items()
    }
    done = project.installed.run("lab.run", json.dumps(given), folder=project.folder)
    assert done.code == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return project


@pytest.mark.parametrize("spider", NAMED)
def test_subclass_of_each_spider_has_an_argument_of_its_own(
    project: Project, spider: str
) -> None:
    """If a spider of ours is subclassed, then it takes its own argument and ours."""
    own = [item for item in project.feed(f"{spider}.jl") if "label" in item]
    assert own
    assert {item["label"] for item in own} == {f"of {spider}"}
    result = CrawlResult(0, "", project.folder / "crawl" / spider, 0, 0)
    assert result.quads
