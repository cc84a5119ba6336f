"""The sitemaps of an index are chosen by URL and date."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.stores.log.decisions import read_decisions
from rdfcrawl.stores.reading import iter_quads

if TYPE_CHECKING:
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

_XMLNS = "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'"
_PARTS = {"posts-2010": "2010-05-01", "posts-2026": "2026-05-01", "about": ""}


def _indexed(loopback: Loopback) -> RawServer:
    """Serve an index of sitemaps with a page each."""
    server = loopback()
    xml, entries = "application/xml", ""
    for name, date in _PARTS.items():
        page = f"<url><loc>{server.url(f'/page-{name}')}</loc></url>"
        body = f"<urlset {_XMLNS}>{page}</urlset>".encode()
        server.pages[f"/{name}.xml"] = loopback.response(body, xml)
        dated = f"<lastmod>{date}</lastmod>" if date else ""
        url = server.url(f"/{name}.xml")
        entries += f"<sitemap><loc>{url}</loc>{dated}</sitemap>"
        server.pages[f"/page-{name}"] = loopback.response(b"<> <urn:x:p> 1 .")
    body = f"<sitemapindex {_XMLNS}>{entries}</sitemapindex>".encode()
    server.pages["/sitemap.xml"] = loopback.response(body, xml)
    return server


@pytest.mark.parametrize(
    ("arguments", "chosen"),
    [
        ({"sitemaps": "posts-"}, {"posts-2010", "posts-2026"}),
        ({"sitemaps": "^(?!.*-2010)"}, {"posts-2026", "about"}),
        ({"sitemaps_since": "2020-01-01"}, {"posts-2026", "about"}),
        ({"sitemaps": "posts-", "sitemaps_since": "2026-05-01"}, {"posts-2026"}),
    ],
    ids=["by URL", "but some", "by date", "by both"],
)
def test_sitemaps_of_an_index_are_chosen(
    commands: Commands,
    loopback: Loopback,
    arguments: dict[str, str],
    chosen: set[str],
) -> None:
    """If arguments choose sitemaps, then others and their pages are not requested."""
    server = _indexed(loopback)
    given = {"sites": server.url("/"), **arguments}
    result = commands.crawl(spider="sitemap", arguments=given)
    pages = {graph for graph in result.graphs if "/page-" in graph}
    assert pages == {server.url(f"/page-{name}") for name in chosen}
    left_out = {f"/{name}.xml" for name in _PARTS.keys() - chosen}
    assert not left_out & {*server.targets}
    logged = read_decisions(b"".join(iter_quads(result.folder / "decisions")))
    decided = {each.uri for each in logged if each.reason == "not_chosen"}
    assert decided == {server.url(path) for path in left_out}


def test_wrong_dates_are_refused(commands: Commands) -> None:
    """If a date is wrong, then one line says what to type."""
    arguments = {"sites": "http://127.0.0.1/", "sitemaps_since": "tomorrow"}
    result = commands.crawl(spider="sitemap", arguments=arguments)
    assert result.code == 2
    assert "argument sitemaps_since=tomorrow: must be a date or a time" in result.stderr
