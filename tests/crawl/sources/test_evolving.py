"""Sites that change in time, crawled by their sitemaps, and judged by the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdfcrawl.dataweb.evolution.parameters import (
    SitemapLayout,
    ValidatorBehaviour,
    VanishedAs,
)
from rdfcrawl.dataweb.evolution.sightings import first_seen_by_sitemaps
from rdfcrawl.duplicates.clusters import ContentPrint, find_clusters
from rdfcrawl.duplicates.fingerprints import read_sketch
from rdfcrawl.rdf.namespaces import RC, SQUIRREL
from tests.support.web_epochs import changing_web

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.web_epochs import EpochWeb

# Their sitemaps are truthful, each in its own layout.
SITES: list[dict[str, Any]] = [
    {"layouts": (SitemapLayout.FIXED,), "per_sitemap": 10},
    {
        "layouts": (SitemapLayout.REWRITTEN,),
        "has_index": False,
        "validators": (ValidatorBehaviour.ETAG,),
    },
    {"mirror_of": 0},
]
COMMON: dict[str, Any] = {
    "n_pages": 25,
    "vanishing": 0.03,
    "vanished_as": (VanishedAs.GONE,),
    "dropped": 1.0,
    "rates": (0.0, 0.1, 0.5),
    "duplicates": 0.3,
}


def listed(web: EpochWeb, at: float) -> set[str]:
    """Return what the sitemaps of a time list."""
    return {
        node.origin + entry.path.path
        for node in web.nodes
        for file in node.listings.files(at)
        for entry in file.entries
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
            minima=read_sketch(row["sketch"].value),
        )
        for row in rows
        if row["url"].value in urls
    )
    return set(map(frozenset, find_clusters(prints)))


def test_later_run_fetches_what_changed_by_truthful_sitemaps(
    commands: Commands,
) -> None:
    """If sitemaps are truthful, a later run fetches what changed, came, and no more.

    Duplicates under parameters and of the mirror are found by the facts of the first.
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
        second = next(runs)
        epochs = first, second
        truth = web.truth(second.at)
        then, now = (listed(web, epoch.at) for epoch in epochs)
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
