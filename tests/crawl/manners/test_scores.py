"""The order of a host's URIs is that of their scores, if the operator wants so."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.analysis.ranking.table import TABLE_NAME
from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.analysis.urldb.rank_building import rank
from rdfcrawl.uri import NormalForm
from tests.support.sitemap_sites import Site, urlset
from tests.support.url_events import LinksFound, UrlFetched, write_events

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

T0 = 1_790_000_000_000
NAMES = ("low", "p", "q", "high")


@pytest.fixture(scope="module")
def site(loopback: Loopback) -> Site:
    """Return a site whose front page links to pages of different ranks, and a new one.

    Its sitemap wants them in another order.
    """
    site = Site(loopback, "127.94.8.1")
    wanted = {"low": 1.0, "new": 0.9, "q": 0.8, "p": 0.7, "high": 0.0}
    pages = [site.page(f"/{name}") for name in wanted]
    links = ", ".join(f"<{page}>" for page in pages)
    site.put("/", f"<> <urn:x:p> {links} .".encode())
    rows = [
        f"<loc>{page}</loc><priority>{priority}</priority>"
        for page, priority in zip(pages, wanted.values(), strict=True)
    ]
    site.robots(site.at("/sitemap.xml"))
    site.put("/sitemap.xml", urlset(rows))
    return site


def ranked(commands: Commands, site: Site, crawl_id: str) -> Path:
    """Return a folder with the ranking of a crawl of the site, and nothing else of it.

    "p" and "q" link to each other and to "high", the front page to all of them.
    """
    folder = commands.folder()
    root = folder / crawl_id
    low, p, q, high = (site.at(f"/{name}") for name in NAMES)
    front = site.at("/")
    fetched = [UrlFetched(url, T0) for url in (front, low, p, q, high)]
    links = [
        LinksFound(front, T0, (low, p, q, high)),
        LinksFound(p, T0, (q, high)),
        LinksFound(q, T0, (p, high)),
    ]
    write_events(root, [*fetched, *links])
    build(root, NormalForm())
    rank(root)
    for name in ("quads", "provenance", "links", "urldb"):
        shutil.rmtree(root / name)
    return folder


def check(asked: list[str]) -> None:
    """Compare the order of requests with that of the ranks; "new" is in the middle."""
    order = [target for target in asked if target not in ("/", "/sitemap.xml")]
    assert order[0] == "/high"
    assert set(order[1:3]) == {"/p", "/q"}
    assert order[3:] == ["/new", "/low"]


def test_links_are_followed_in_the_order_of_their_ranks(
    commands: Commands, site: Site
) -> None:
    """If links have ranks, then those above others are followed first."""
    folder, n_asked = ranked(commands, site, "linkeddata"), len(site.asked())
    result = commands.crawl([site.at("/")], folder=folder, DISCOVERY_SCORE="pagerank")
    assert result.code == 0, result.stderr
    check(site.asked()[n_asked:])


def test_listed_pages_are_fetched_in_the_order_of_their_ranks(
    commands: Commands, site: Site
) -> None:
    """If pages of a sitemap have ranks, then these count, not its priorities."""
    folder, n_asked = ranked(commands, site, "sitemap"), len(site.asked())
    result = commands.crawl(
        folder=folder,
        arguments={"sites": site.at("/")},
        spider="sitemap",
        SITEMAP_SCORE="pagerank",
    )
    assert result.code == 0, result.stderr
    check(site.asked()[n_asked:])


def test_missing_scores_are_reported(commands: Commands, site: Site) -> None:
    """If there is no ranking, or a damaged one, then a line says so.

    Without one the crawl goes on; with a damaged one, it does not begin.
    """
    result = commands.crawl([site.at("/low")], DISCOVERY_SCORE="inlinks")
    assert result.code == 0
    assert "no URI of this crawl has a score yet" in result.stderr
    folder = ranked(commands, site, "linkeddata")
    (folder / "linkeddata" / "ranks" / TABLE_NAME).write_bytes(b"x")
    result = commands.crawl(
        [site.at("/low")], folder=folder, SITEMAP_SCORE="priorityrank"
    )
    assert result.code == 2
    assert "ranks.bin: is damaged; remove it and run `urldb rank`" in result.stderr
    assert "Traceback" not in result.stderr
