"""Documents read again are new, changed, or equal: summary, statistics, provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.endpoint import EndpointOptions
from rdfcrawl.dataweb.nodes.portal import PortalOptions
from rdfcrawl.stores.changes.comparing import LogComparison, find_start
from rdfcrawl.stores.crawl_folder import read_runs
from rdfcrawl.stores.log.crawl_log import CrawlLog, iter_latest
from tests.crawl.sources.test_ckan import harvest as harvest_portal
from tests.crawl.sources.test_resourcesync import Source, synchronize
from tests.crawl.sources.test_sparql import harvest as harvest_endpoint
from tests.support.resourcesync_source import facts_of
from tests.support.sitemap_sites import Site, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    """Yield a server of sources."""
    with LocalWeb(first_address="127.81.8.1", n_hosts=2) as web:
        yield web


def compared(result: CrawlResult, word: str) -> int:
    """Return how many documents were compared to those of the run before, so."""
    return len(result.ask(f"?a rc:comparedToLast ?x FILTER (?x = '{word}')"))


def latest(result: CrawlResult) -> dict[str, bytes]:
    """Return the present statements of the store."""
    return {each.graph: each.quads for each in iter_latest(result.folder / "quads")}


def check_same(first: CrawlResult, second: CrawlResult) -> None:
    """Check that a second run, in which nothing changed, says so everywhere."""
    assert second.code == 0, second.stderr
    counts = second.statistics
    assert counts["document/same"] == compared(second, "same") > 0
    assert counts["document/status/unchanged"] >= counts["document/same"]
    assert counts["document/changed"] == counts["document/quads"] == 0
    assert f"{counts['document/same']:,} with equal statements" in second.stderr
    assert latest(second) == latest(first)
    stored = "?a rc:comparedToLast 'same' ; sq:approxNumberOfTriples ?x ."
    assert set(second.ask(stored)) == {"0"}
    statuses = "?a rc:comparedToLast 'same' ; sq:status ?x ."
    assert set(second.ask(statuses)) == {"UNCHANGED"}


def test_portal_that_is_the_same(commands: Commands, web: LocalWeb) -> None:
    """If nothing changed in a portal, then everything read again is unchanged."""
    portal = web.start(PortalOptions(n_datasets=12))
    folder = commands.folder()
    first = harvest_portal(commands, portal, folder, harvest="none")
    before = latest(first)
    second = harvest_portal(commands, portal, folder, harvest="none")
    check_same(first, second)
    assert latest(second) == before
    assert second.statistics["document/stored"] == 0


def test_endpoint_that_is_the_same(commands: Commands, web: LocalWeb) -> None:
    """If nothing changed in an endpoint, then its answers are unchanged."""
    options = EndpointOptions(n_triples=200, blank_share=0, row_cap=60)
    node = web.start(options)
    folder = commands.folder()
    first = harvest_endpoint(commands, node.endpoint_url, folder)
    assert first.statistics["document/quads"] > 0
    check_same(first, harvest_endpoint(commands, node.endpoint_url, folder))


def test_site_of_which_one_page_changed(commands: Commands, loopback: Loopback) -> None:
    """If pages are said to have changed, then the unchanged ones are counted apart."""
    site = Site(loopback, "127.20.8.1")
    names = ["/page/1", "/page/2", "/page/3"]

    def listed(day: int) -> None:
        lastmod = f"<lastmod>2100-01-{day:02}</lastmod>"
        rows = [f"<loc>{site.at(name)}</loc>{lastmod}" for name in names]
        site.put("/sitemap.xml", urlset(rows))

    for name in names:
        site.page(name)
    listed(1)
    folder = commands.folder()
    site.crawl(commands, folder=folder)
    site.page("/page/2", "other")
    listed(2)
    result = site.crawl(commands, folder=folder)
    assert result.statuses(site.at("/page/1")) == ["SUCCESSFUL", "UNCHANGED"]
    assert result.statuses(site.at("/page/2")) == ["SUCCESSFUL", "SUCCESSFUL"]
    asked = f"?a sq:crawled <{site.at('/page/2')}> ; rc:comparedToLast ?x ."
    assert result.ask(asked) == ["other"]
    # The list itself has other dates.
    assert result.statistics["document/changed"] == 2
    assert result.statistics["document/same"] == 2
    assert "2 with new statements, 2 with equal statements" in result.stderr
    assert b'"other"' in latest(result)[site.at("/page/2")]
    with LogComparison(
        CrawlLog(result.folder), find_start(result.folder, None)
    ) as comparison:
        found = {x.document.graph: x.kind for x in comparison.changes()}
    assert found[site.at("/page/1")] == "unchanged"
    assert found[site.at("/page/2")] == "changed"
    runs = read_runs(result.folder / "quads")
    assert sorted(runs.workers.values()) == sorted(runs.ended) == [0, 1]


def test_portal_that_changed(commands: Commands, web: LocalWeb) -> None:
    """If datasets change, come and go, then the summary counts them."""
    portal = web.start(PortalOptions(n_datasets=30))
    folder = commands.folder()
    first = harvest_portal(commands, portal, folder, harvest="none")
    before = latest(first)
    revision = portal.revise(changed=2, deleted=1, created=1)
    second = harvest_portal(commands, portal, folder, harvest="none")
    third = harvest_portal(commands, portal, folder, harvest="none")
    assert latest(third) == latest(second) != before
    assert second.statistics["document/changed"] >= len(revision.changed)
    assert "1 deleted" in second.stderr
    assert third.statistics["document/changed"] == 0


def test_list_of_resources_that_is_the_same(
    commands: Commands, loopback: Loopback
) -> None:
    """If a source says that a resource changed and it did not, then it is unchanged."""
    source = Source(loopback, "127.83.8.1")
    made = [source.resource(f"r{n}", f"text {n}") for n in range(3)]
    entries = [(url, facts_of(body), "") for url, body in made]
    source.list(entries)
    folder = commands.folder()
    url = source.at("/capabilities.xml")
    synchronize(commands, url, folder)
    for entry in entries:
        entry[1].pop("hash", None)
    source.list(entries, at="2024-01-02")
    result = synchronize(commands, url, folder, arguments={"audit": "1"})
    for url, _ in made:
        words = result.ask(f"?a sq:crawled <{url}> ; rc:comparedToLast ?x .")
        assert set(words) <= {"same"}
    labels = {o for _, _, o, _ in result.latest_quads if "text" in o}
    assert labels == {f'"text {n}"' for n in range(3)}
