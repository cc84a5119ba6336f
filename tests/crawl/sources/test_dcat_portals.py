"""Catalogs in DCAT of portals that a crawl recognizes by a page or a URL."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.conftest import LOOPBACK_NETS
from tests.otherweb.dcat_portals import (
    PORTALS,
    DcatPortal,
    HubPortal,
    OpendatasoftPortal,
)
from tests.support.command_forks import scrapy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.crawl_fixtures import Commands, CrawlResult

TITLE = "http://purl.org/dc/terms/title"
GIVEN = {"harvest": "all", "scope": "host", "follow": "none,dataset"}


@contextmanager
def serving(*portals: DcatPortal) -> Iterator[None]:
    """Serve portals."""
    with ExitStack() as stack:
        for each in portals:
            each.start()
            stack.callback(each.stop)
        yield


def titles(result: CrawlResult, portal: DcatPortal) -> set[str]:
    """Return the titles of datasets in the graph of the catalog."""
    graph, found = portal.url(portal.catalog), set()
    for _, p, o, g in result.latest_quads:
        if p == TITLE and g == graph and "Dataset " in o:
            found.add(o.split('"')[1])
    return found


def said(result: CrawlResult, portal: DcatPortal) -> set[str]:
    """Return the names of the datasets whose data were read."""
    return {
        o.strip('"')
        for s, p, o, _ in result.latest_quads
        if p == "urn:x:says" and s.startswith(portal.url("/"))
    }


def requested(portal: DcatPortal) -> Counter[str]:
    """Return the numbers of requests by target, and forget these."""
    counted = Counter(each.target for each in portal.requests)
    portal.requests.clear()
    return counted


def check(result: CrawlResult, portal: DcatPortal) -> Counter[str]:
    """Check that a crawl has the datasets and data of a portal; return its requests."""
    assert titles(result, portal) == set(portal.datasets.values())
    assert said(result, portal) == (set(portal.datasets) if portal.has_rdf else set())
    counted = requested(portal)
    assert counted[portal.catalog] == 1
    assert counted["/data.json"] == (portal.catalog == "/data.json")
    assert not [each for each in counted if each.endswith(("/csv", "csv?layers=0"))]
    return counted


def test_the_catalog_of_a_front_page_is_followed(commands: Commands) -> None:
    """If a front page is that of a portal, then each run reads its catalog once."""
    portals = [kind(f"127.94.43.{n}") for n, kind in enumerate(PORTALS, 1)]
    folder = commands.folder()
    seeds = [each.url("/") for each in portals]
    given = GIVEN | {"follow": "abox,hyperlink"}  # requests the seeds in each run
    with serving(*portals):
        result = commands.crawl(seeds, arguments=given, folder=folder)
        assert result.code == 0, result.stderr
        for each in portals:
            assert check(result, each)["/"] == 1
            del each.datasets["aaaa-1111"]
            each.datasets["bbbb-2222"] = "Dataset of another title"
        result = commands.crawl(seeds, arguments=given, folder=folder)
        assert result.code == 0, result.stderr
        for each in portals:
            assert check(result, each)["/"] == 1  # not modified


def test_a_url_of_the_api_leads_to_the_catalog(commands: Commands) -> None:
    """If a seed is a URL of the API of a portal, then its catalog is read."""
    portals = [kind(f"127.94.43.{n}") for n, kind in enumerate(PORTALS, 11)]
    given = GIVEN | {"harvest": "dcat"}
    with serving(*portals):
        seeds = [each.url(each.api) for each in portals]
        result = commands.crawl(seeds, arguments=given)
        assert result.code == 0, result.stderr
        for each in portals:
            check(result, each)


@pytest.mark.parametrize("harvest", ["all", "dcat,sparql"])
def test_a_catalog_that_is_a_seed_is_the_only_one(
    harvest: str, commands: Commands
) -> None:
    """If a seed is the catalog itself, then each run reads that, and no other one."""
    portals = [kind(f"127.94.43.{n}") for n, kind in enumerate(PORTALS, 21)]
    folder, given = commands.folder(), GIVEN | {"harvest": harvest}
    with serving(*portals):
        seeds = [each.url(each.catalog) for each in portals]
        for _ in range(2):
            result = commands.crawl(seeds, arguments=given, folder=folder)
            assert result.code == 0, result.stderr
            for each in portals:
                check(result, each)
                each.datasets.pop("aaaa-1111", None)


def test_keep_follows_the_catalog_of_a_portal(commands: Commands) -> None:
    """If `scrapy keep` names an API of a portal, then it keeps all of its datasets."""
    portal, folder = OpendatasoftPortal("127.94.43.35"), commands.folder()
    words = ("keep", portal.url(portal.api))
    with serving(portal):
        for _ in range(2):
            running = commands.start(*words, folder=folder, CRAWL_ID="linkeddata")
            result = running.wait()
            assert result.code == 0, result.stderr
            check(result, portal)
            portal.datasets.pop("aaaa-1111", None)


def test_a_portal_without_its_catalog_has_a_fault(commands: Commands) -> None:
    """If the feed of a portal is switched off, then the crawl reports its status."""
    portal = HubPortal("127.94.43.31")
    portal.has_catalog = False
    with serving(portal):
        arguments = GIVEN | {"harvest": "dcat"}
        result = commands.crawl([portal.url("/")], arguments=arguments)
    assert result.faults(portal.url(portal.catalog)) == ["not_found"]


@pytest.mark.parametrize("kind", PORTALS)
def test_look_names_the_catalog(kind: type[DcatPortal]) -> None:
    """If a site is a portal, then the first door is its catalog, with a command."""
    portal = kind("127.94.43.41")
    with serving(portal):
        options = ("-sDOWNLOAD_DELAY=0", f"-sGUARD_ALLOW_NETS={LOOPBACK_NETS}")
        done = scrapy("look", portal.url("/"), "--json", *options)
        found = json.loads(done.stdout)
    url = portal.url(portal.catalog)
    door = found["doors"][0]
    assert (door["kind"], door["url"]) == ("catalog", url)
    assert door["command"] == (
        f"crawl linkeddata -a seeds={url} -a harvest=dcat,sparql -a follow=none,dataset"
    )
    assert not [each for each in found["doors"] if each["kind"] == "dataset"]
    assert found["requests"] <= 10
