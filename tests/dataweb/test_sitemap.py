"""Sites with sitemaps: each page in one of them, in every format and damage."""

from __future__ import annotations

import gzip
import re
from xml.etree import ElementTree as ET

import pytest

from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.messages import NodeRequest
from rdfcrawl.dataweb.nodes.base import NodePlan, WebNode
from rdfcrawl.dataweb.nodes.site import EPOCH
from rdfcrawl.dataweb.nodes.sitemap import SitemapNode, SitemapOptions
from rdfcrawl.dataweb.nodes.sitemap_formats import SitemapSyntax, UrlsetDamage

ORIGIN = "http://127.0.0.9:80"


def plan(kind: NodeKind, *links: str) -> NodePlan:
    """A plan at a separate address."""
    return NodePlan(
        index=0,
        kind=kind,
        address="127.0.0.9",
        port=8085,
        access_uri="http://127.0.0.9:8085/",
        links=links,
    )


def site(options: SitemapOptions, *links: str) -> SitemapNode:
    """A site that is not served."""
    return options.build(plan(NodeKind.SITEMAP, *links))


def get(node: WebNode, url: str) -> bytes:
    """The body at a URL, unpacked; it has to be there."""
    response = node.respond(NodeRequest("GET", url.removeprefix(node.plan.origin)))
    assert response.status == 200, url
    body = response.body
    return gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body


def locations(node: WebNode, url: str) -> list[str]:
    """All URLs of pages below a sitemap, as a strict reader finds them."""
    body = get(node, url)
    if b"<" not in body:
        return body.decode().split()
    root = ET.fromstring(body)
    if root.tag.endswith("sitemapindex"):
        subs = [one.text or "" for one in root.iter() if one.tag.endswith("}loc")]
        return [page for sub in subs for page in locations(node, sub)]
    links = [one for one in root.iter() if one.tag.endswith(("}loc", "}link", "link"))]
    found = [(one.text or one.get("href") or "") for one in links]
    return [url for url in found if "/page/" in url]


def test_each_page_is_in_one_sitemap() -> None:
    """If all sitemaps of all formats are read, they have each page once."""
    node = site(SitemapOptions(n_pages=60), "http://127.0.0.1/x")
    assert len(node.sitemap_urls) == 2 * len(SitemapSyntax)
    found = [url for one in node.sitemap_urls for url in locations(node, one)]
    assert sorted(found) == sorted(node.urls())
    assert len(found) == 60
    for url in found:
        assert f"<{url}> ".encode() in get(node, url)
    assert any("http://127.0.0.1/x" in obj for _, _, obj in node.iter_truth())


@pytest.mark.parametrize("form", SitemapSyntax)
def test_a_format_has_the_pages_listed_for_it(form: SitemapSyntax) -> None:
    """If a crawler cannot read a format, `urls_of` lists the pages it misses."""
    node = site(SitemapOptions(n_pages=60))
    urls = [u for u in node.sitemap_urls if f"/{form}." in u]
    assert len(urls) == 2
    found = [url for one in urls for url in locations(node, one)]
    assert sorted(found) == sorted(node.urls_of(form))


@pytest.mark.parametrize("damage", UrlsetDamage)
def test_a_damaged_sitemap_still_lists_its_pages(damage: UrlsetDamage) -> None:
    """If a sitemap is damaged, its pages are in it, as a tolerant reader sees."""
    node = site(SitemapOptions(n_pages=12, formats=(), damages=(damage,)))
    (url,) = node.sitemap_urls
    text = get(node, url).decode()
    found = [
        one.replace("<![CDATA[", "").replace("]]>", "").replace("&amp;", "&")
        for one in re.findall("<loc>(.*?)</loc>", text)
    ]
    assert found == node.urls()
    assert len(found) == (11 if damage is UrlsetDamage.TRUNCATED else 12)
    if damage in (
        UrlsetDamage.RAW_AMPERSAND,
        UrlsetDamage.ENTITY,
        UrlsetDamage.UNCLOSED,
    ):
        with pytest.raises(ET.ParseError):
            ET.fromstring(text)
    if damage is UrlsetDamage.TRUNCATED:
        assert text.endswith("/page/")
        assert node.respond(NodeRequest("GET", "/page/")).status == 404
    if damage is UrlsetDamage.RAW_AMPERSAND:
        assert "&v=1" in text


def test_robots_name_sitemaps_of_any_host() -> None:
    """If sitemaps are of other hosts too, robots.txt has a line for each."""
    other = "http://127.0.0.1/sitemap.xml"
    node = site(SitemapOptions(robots_sitemaps=(other,), disallowed=2, delay_secs=1))
    lines = node.robots.splitlines()
    assert f"sitemap: {other}" in lines
    assert "Crawl-delay: 1" in lines
    assert node.disallowed == {"/page/0", "/page/1"}
    assert len(node.urls()) == 58


def test_without_a_line_the_sitemap_is_at_its_usual_place() -> None:
    """If robots.txt names none, /sitemap.xml leads to all, and names are 404 else."""
    node = site(SitemapOptions(n_pages=30, found_by="default"))
    assert "itemap:" not in node.robots
    assert sorted(locations(node, node.sitemap_urls[0])) == sorted(node.urls())
    named = site(SitemapOptions())
    assert named.respond(NodeRequest("GET", "/sitemap.xml")).status == 404


def test_foreign_pages_are_in_a_sitemap_of_their_own() -> None:
    """If a site lists pages of another host, none of them is in the truth."""
    foreign = "http://127.0.0.1/page/1"
    node = site(SitemapOptions(n_pages=4, foreign=(foreign,)))
    assert locations(node, node.sitemap_urls[-1]) == [foreign]
    assert foreign not in node.urls()


def test_a_large_sitemap_is_made_on_request() -> None:
    """If a sitemap has 10,000 entries, each is there, each with its page."""
    options = SitemapOptions(
        n_pages=10_000, formats=(SitemapSyntax.URLSET,), packed="no"
    )
    node = site(options)
    found = locations(node, node.sitemap_urls[0])
    assert len(set(found)) == 10_000
    assert get(node, found[9_999])


def test_a_revision_shows_in_page_lastmod_and_index() -> None:
    """If pages change, their text, lastmod and the lastmod of their index change."""
    node = site(SitemapOptions(n_pages=20, formats=(SitemapSyntax.INDEX,), packed="no"))
    (index,) = node.sitemap_urls
    before, pages = get(node, index), {url: get(node, url) for url in node.urls()}
    changed = node.revise(3, seed=7)
    assert {url for url in node.urls() if get(node, url) != pages[url]} == changed
    assert get(node, index) != before
    day = f"{node.now:%Y-%m-%d}T"
    lists = [
        get(node, url.text or "")
        for url in ET.fromstring(before).iter()
        if (url.tag.endswith("}loc"))
    ]
    dated = re.findall(f"<loc>([^<]*)</loc><lastmod>{day}", b"".join(lists).decode())
    assert {url.replace("&amp;", "&") for url in dated} == changed
    assert node.now > EPOCH
    same = site(node.options)
    assert same.revise(3, seed=7) == changed


def test_lastmod_has_every_precision() -> None:
    """If entries say when pages changed, they do it in each form of a date."""
    options = SitemapOptions(n_pages=12, formats=(SitemapSyntax.URLSET,), packed="no")
    node = site(options)
    text = get(node, node.sitemap_urls[0]).decode()
    assert len(set(re.findall("<lastmod>(.*?)<", text))) == 6
    assert {len(one) for one in re.findall("<priority>(.*?)<", text)} == {3}
    bare = site(SitemapOptions(has_lastmod=False, formats=(SitemapSyntax.URLSET,)))
    assert b"lastmod" not in get(bare, bare.sitemap_urls[0])
