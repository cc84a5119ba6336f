"""Sites that change in time, crawled by their sitemaps, and judged by the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from rdfcrawl.analysis.duplicates.clusters import ContentPrint, find_clusters
from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.analysis.urldb.facts import FactReader
from rdfcrawl.analysis.urldb.mirrors import MirrorSearch
from rdfcrawl.core.namespaces import RC, SQUIRREL
from rdfcrawl.core.sorting import SpillFolder
from rdfcrawl.dataweb.evolution.parameters import (
    SitemapLayout,
    ValidatorBehaviour,
    VanishedAs,
)
from rdfcrawl.dataweb.evolution.sightings import first_seen_by_sitemaps
from rdfcrawl.rdf.fingerprints import read_sketch
from rdfcrawl.uri import NormalForm
from tests.support.true_facts import KnownFetch, true_facts
from tests.support.web_epochs import changing_web

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rdfcrawl.analysis.measures.uri_facts import UriFacts
    from rdfcrawl.dataweb.evolution.truth import WebTruth
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.web_epochs import CrawlEpoch, EpochWeb

# Their sitemaps are truthful, each in its own layout.
SITES: list[dict[str, Any]] = [
    {"layouts": (SitemapLayout.FIXED,), "per_sitemap": 10},
    {
        "layouts": (SitemapLayout.REWRITTEN,),
        "has_index": False,
        "validators": (ValidatorBehaviour.ETAG,),
    },
    {"mirror_of": 0},
    # A changed page is listed again, in the newest file.
    {"layouts": (SitemapLayout.LOG,), "n_pages": 15},
]
COMMON: dict[str, Any] = {
    "n_pages": 25,
    "vanishing": 0.03,
    "vanished_as": (VanishedAs.GONE,),
    "dropped": 1.0,
    "rates": (0.0, 0.1, 0.5),
    "duplicates": 0.3,
}


def clusters(result: CrawlResult, urls: set[str]) -> set[frozenset[str]]:
    """Return the clusters of duplicates by the facts that a crawl has written."""
    rows: Any = result.provenance.query(
        f"SELECT ?url ?text ?sketch {{ GRAPH ?g {{ ?a <{SQUIRREL}crawled> ?url ;"
        f" <{RC}textHash> ?text ; <{RC}sketch> ?sketch }} }}"
    )
    prints = (
        ContentPrint(
            url=row["url"].value,
            text_hash=row["text"].value,
            sketch=read_sketch(row["sketch"].value),
        )
        for row in rows
        if row["url"].value in urls
    )
    return set(map(frozenset, find_clusters(prints)))


def check_mirrors(folder: Path, clusters: set[frozenset[str]]) -> None:
    """Compare the content on several sites with the clusters of all documents."""
    build(folder, NormalForm())
    with UrlDatabase(folder) as database, SpillFolder(folder) as spills:
        urls = [each.url for each in database.records()]
        mirrors = list(MirrorSearch(database, None, spills).find())
    wanted = {
        each for each in clusters if len({urlsplit(url).hostname for url in each}) > 1
    }
    assert len(wanted) > 10
    assert {frozenset(urls[n] for n in each.numbers) for each in mirrors} == wanted
    assert all(each.url in {urls[n] for n in each.numbers} for each in mirrors)


def check_memory(web: EpochWeb, truth: WebTruth, epochs: list[CrawlEpoch]) -> None:
    """Compare the known facts of each listed URL with the truth."""
    asked = [
        KnownFetch(url, int(epoch.at), status)
        for epoch in epochs
        for url, status in epoch.asked
        if url in truth.urls or "/sitemap" in url
    ]
    folder = epochs[-1].result.folder
    build(folder, NormalForm())
    with UrlDatabase(folder) as database:
        uris = list(FactReader(database).uris())
    begin_ms = web.nodes[0].options.begin.timestamp() * 1000
    known = {
        each.url: outline(each, lambda ms: web.clock.web_time(ms / 1000), begin_ms)
        for each in uris
        if each.is_listed
    }
    told = {
        each.url: outline(each, lambda ms: ms / 1000, 0.0)
        for each in true_facts(web.nodes, truth, asked)
        if each.is_listed
    }
    assert len(told) > 50
    assert known == told


def outline(
    facts: UriFacts, web_time: Callable[[int], float], begin_ms: float
) -> tuple[Any, ...]:
    """Return listings, claims and fetches of a URL, in times of the web."""
    return (
        [(one.sitemap, web_time(one.first_ms)) for one in facts.listings],
        [
            (web_time(one.read_ms), one.lastmod_ms - begin_ms)
            for one in facts.claims
            if one.lastmod_ms is not None  # as for dropped ones
        ],
        [
            (web_time(one.started_ms), one.http_status, one.content_hash)
            for one in facts.fetches
        ],
    )


@pytest.mark.in_turn(2, rooms=("sources", "analysis"))
def test_later_run_fetches_changes_by_truthful_sitemaps(
    commands: Commands,
) -> None:
    """If sitemaps are truthful, a later run fetches exactly the changed and new pages.

    Duplicates under parameters and of the mirror are found by the facts of the first;
    the memory of URIs has their listings, claims and fetches.
    """
    folder = commands.folder()
    with changing_web("127.94.1.1", *(COMMON | site for site in SITES)) as web:
        runs = web.epochs(
            lambda: commands.crawl(
                arguments={"sites": web.fronts}, spider="sitemap", folder=folder
            ),
            n=2,
            days=4,
        )
        first = next(runs)
        found = clusters(first.result, set(first.stored))
        check_mirrors(first.result.folder, found)
        second = next(runs)
        epochs = [first, second]
        truth = web.truth(second.at)
        then, now = (web.listed(epoch.at) for epoch in epochs)
        there = {url for url in now if truth.urls[url].revision(second.at) is not None}
        changed = {
            url
            for url in there & then
            if truth.urls[url].next_change(first.at) <= second.at
        }
        assert sorted(first.pages(200)) == sorted(then)
        assert min(map(len, (changed, there - then, then - there))) > 0
        assert sorted(second.pages(200)) == sorted(changed | (there - then))
        for epoch in epochs:
            assert epoch.revisions == {
                url: truth.urls[url].revision(when)
                for url, when in epoch.stored.items()
            }
        assert first.freshness.freshness == 1.0
        wanted = [urls & then for urls in truth.clusters(first.at).values()]
        assert found == {frozenset(urls) for urls in wanted if len(urls) > 1}
        assert len(found) > 10
        assert second.freshness.late <= then - there
        fetches = [(url, epoch.at) for epoch in epochs for url, _ in epoch.asked]
        seen = {o for _, p, o, _ in second.result.quads if p == f"{RC}lists"}
        assert first_seen_by_sitemaps(web.nodes, fetches).keys() <= seen
        assert seen & truth.urls.keys() == then | now
        check_memory(web, truth, epochs)
