"""The RDF of ordinary responses, in spiders of a project that has none of ours."""

from __future__ import annotations

import asyncio
import os
import re
from typing import TYPE_CHECKING

import pytest
from scrapy.http import Response
from scrapy.settings import Settings

import rdfcrawl
from rdfcrawl.uri import host_of
from tests.support.pages import read_page
from tests.support.processes import children
from tests.support.project import LAB

if TYPE_CHECKING:
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import CrawlResult
    from tests.support.crawl_webs import Loopback
    from tests.support.project import Project
    from tests.support.project_fixtures import StartProject

_fences = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
(SPIDER,) = (x for x in _fences.findall(read_page("project.md")) if "EventsS" in x)
EVENT = b"""<html><head><link rel=alternate type=text/turtle href=/more></head><body
    vocab="http://schema.org/" typeof=Event resource="/#e"><b property=name>%s</b>"""


@pytest.fixture(scope="module")
def site(loopback: Loopback) -> RawServer:
    """Return a host with a page of RDFa, and a broken document that it leads to."""
    names = b'</#e> <http://schema.org/name> "Fair" . <'
    return loopback(
        {
            "/": loopback.response(EVENT % b"Feast", "text/html"),
            "/more": loopback.response(names),
        }
    )


@pytest.fixture(scope="module")
def project(start_project: StartProject, site: RawServer) -> Project:
    """Return a project without the add-on, with the spider of the page."""
    project = start_project("events", LAB)
    text = SPIDER.replace("https://events.example.org/", site.url("/"))
    text = text.replace("events.example.org", host_of(site.url("/")))
    project.write("spiders/events.py", text)
    return project


@pytest.fixture(scope="module")
def crawl(project: Project) -> CrawlResult:
    """Return the result of a crawl with the spider."""
    done = project.run("crawl", "events", "-O", "events.jl")
    assert done.code == 0, done.stderr
    return done


def test_any_spider_gets_quads_and_links(crawl: CrawlResult, project: Project) -> None:
    """If an ordinary spider extracts RDF, then it has quads, and links to go on to."""
    assert "Traceback" not in crawl.stderr, crawl.stderr[-3000:]
    items = {item["name"] for item in project.feed("events.jl")}
    assert items == {"Feast", "Fair"}


def test_any_spider_gets_faults(crawl: CrawlResult, site: RawServer) -> None:
    """If a document is broken, then its statements come, and a fault that names it."""
    assert re.search(f"WARNING: {site.url('/more')}: .*syntax", crawl.stderr)


def test_any_spider_needs_no_crawl(crawl: CrawlResult, project: Project) -> None:
    """If an ordinary spider extracts RDF, then there are no folders of a crawl."""
    assert crawl.code == 0
    assert not (project.folder / "crawl").exists()


async def test_status_of_a_response_is_a_fault() -> None:
    """If a response is no success, then nothing is read and the fault says why."""
    response = Response("https://a.example/x", status=404, body=b"<> <urn:x:p> 1 .")
    with await rdfcrawl.extract(response) as rdf:
        assert not list(rdf.quads())
    assert [fault.reason for fault in rdf.faults] == [rdfcrawl.Reason.NOT_FOUND]


async def test_links_are_chosen_by_follow() -> None:
    """If `follow` is given, then its words choose the links; statements stay all."""
    response = Response(
        "https://a.example/x",
        headers={"Content-Type": "text/turtle", "Link": '</n>; rel="next"'},
        body=b"<> <urn:x:p> <o> ; a <https://b.example/T> .",
    )
    with await rdfcrawl.extract(response, follow="type") as rdf:
        assert rdf.n_quads == len(rdf.nquads().read().splitlines()) == 2
    assert rdf.links == ("https://a.example/n", "https://b.example/T")


async def test_settings_of_extraction_are_those_given() -> None:
    """If a setting is wrong, then the error names it."""
    with pytest.raises(rdfcrawl.ConfigError, match="RDF_PARSE_SECS"):
        await rdfcrawl.extract(
            Response("https://a.example/x"), settings=Settings({"RDF_PARSE_SECS": -1})
        )


def test_child_is_shared_by_calls_and_ends_with_them() -> None:
    """If RDF of several pages is extracted, one child reads all, and ends with them."""
    response = Response(
        "https://a.example/x",
        headers={"Content-Type": "text/html"},
        body=EVENT % b"Feast",
    )
    before = set(children(os.getpid()))

    async def extract_twice() -> list[set[int]]:
        found = []
        for _ in range(2):
            with await rdfcrawl.extract(response) as rdf:
                assert rdf.n_quads == 3
            found.append(set(children(os.getpid())) - before)
        return found

    first, second = asyncio.run(extract_twice())
    assert len(first) == 1
    assert first == second
    assert not first & set(children(os.getpid()))


async def test_reservations_are_reported() -> None:
    """If a publisher reserves rights, a line says so, and why a crawl withholds."""
    response = Response(
        "https://a.example/x",
        headers={
            "Content-Type": "text/turtle",
            "X-Robots-Tag": "noindex",
            "TDM-Reservation": "1",
        },
        body=b"<> <urn:x:p> 1 .",
    )
    with await rdfcrawl.extract(response) as rdf:
        assert rdf.n_quads == 1
    assert rdf.reservations.directives == ("noindex",)
    assert rdf.reservations.tdm
    assert rdf.withheld is rdfcrawl.Reason.TDM_RESERVED
    policy = {"TDM_POLICY": "ignore", "XROBOTS_POLICY": "record"}
    with await rdfcrawl.extract(response, settings=Settings(policy)) as rdf:
        assert rdf.reservations.tdm
    assert rdf.withheld is None


async def test_settings_that_change_between_two_calls() -> None:
    """If settings that are not frozen change, then the next call has the new ones."""
    settings = Settings()
    response = Response("https://a.example/x", body=b"<urn:x:a> <urn:x:p> 1 .\n")
    with await rdfcrawl.extract(response, settings=settings):
        settings.set("RDF_PARSE_SECS", -1)
    with pytest.raises(rdfcrawl.ConfigError, match="RDF_PARSE_SECS"):
        await rdfcrawl.extract(response, settings=settings)
