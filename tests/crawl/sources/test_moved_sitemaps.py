"""Sitemaps and pages that move: redirects decide where they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.uri import NormalForm
from tests.crawl.sources.test_measures_of_random_webs import ratio, tables_of
from tests.crawl.sources.test_revisits import SAYS, DatedSite, entry, said
from tests.support.sitemap_sites import index, urlset

if TYPE_CHECKING:
    from tests.conftest import RawRequest
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

TAG = '"1"'  # the same for each file, as some servers have it


def with_tag(site: DatedSite, loopback: Loopback, path: str, body: bytes) -> str:
    """Serve a body whose validator is that of other files, too; return its URL."""

    def reply(request: RawRequest) -> bytes:
        if request.headers.get("if-none-match") == TAG:
            return loopback.response(status="304 Not Modified", media_type="")
        return loopback.response(body, "text/turtle", ETag=TAG)

    site.server.pages[path] = reply
    return site.at(path)


def measures(result: CrawlResult) -> tuple[Any, ...]:
    """Return measures of a report that depend on where sitemaps are read.

    These are sitemaps and rereads by site, listings by format, listed URLs with and
    without ping, and the URLs seen in all, in sitemaps and by links.
    """
    build(result.folder, NormalForm())
    tables = tables_of(result.folder)
    sitemaps = [(x["sitemaps"], x["reread"]) for x in tables["sitemaps"].values()]
    formats = {x: ratio(each["share"])[0] for x, each in tables["table-1"].items()}
    shares = list(tables["figure-7-shares"].values())[:2]
    ways = [sum(ratio(x[y])[0] for x in shares) for y in ("with ping", "without ping")]
    seen = [row["seen"] for row in tables["sizes"].values()]
    return sitemaps, formats, ways, seen


def test_sitemaps_behind_redirects(commands: Commands, loopback: Loopback) -> None:
    """If a sitemap is read behind a redirect, then the report has it as any other.

    It is one sitemap, found as the URL was that leads there; also below an index, and
    on another host. Later runs request it conditionally where it was read. If a front
    page is there instead, then that stays a page.
    """
    site, other = DatedSite(loopback, "127.20.44.1"), DatedSite(loopback, "127.20.44.2")
    pages = [site.page(f"/p/{n}") for n in range(4)]
    pages.append(other.page("/"))
    front = site.tagged("/", "".join(f"<> <urn:x:to> <{x}> ." for x in pages).encode())
    child = site.tagged("/child.xml", urlset(pages[:1]))
    above = site.tagged("/above.xml", index([f"<loc>{site.at('/old-child')}</loc>"]))
    site.server.pages["/old-child"] = loopback.redirect(child)
    site.server.pages["/old-above"] = loopback.redirect(above)
    feed = "".join(f"<item><link>{url}</link></item>" for url in pages[1:3])
    feed = f"<rss version='2.0'><channel>{feed}</channel></rss>"
    far = other.tagged("/far.xml", urlset(pages[3:4]))
    near = site.tagged("/near.rss", feed.encode())
    named = {"near": near, "far": far, "none": front, "no": other.at("/")}
    for name, target in named.items():
        site.server.pages[f"/{name}"] = loopback.redirect(target)
    site.robots(*(site.at(f"/{x}") for x in ("old-above", *named)))
    folder = commands.folder()
    arguments = {"sites": site.at("/"), "seeds": front, "follow": "abox"}

    def crawl() -> CrawlResult:
        return commands.crawl(arguments=arguments, spider="sitemap", folder=folder)

    first = measures(crawl())
    n_asked = len(site.server.requests)
    result = crawl()
    right = {"rss": 2, "xml": 2, "unknown": 2}, [0, 4], [6, 4, 6]
    assert first == ([(4, 0), (1, 0)], *right)
    assert measures(result) == ([(4, 2), (1, 1)], *right)
    conditional = {
        request.target: "if-none-match" in request.headers
        for request in site.server.requests[n_asked:]
        if request.target in ("/near", "/near.rss", "/old-child", "/child.xml")
    }
    assert conditional == {
        "/near": False,
        "/near.rss": True,
        "/old-child": False,
        "/child.xml": True,
    }


def test_validators_are_sent_to_the_url_that_they_are_of(
    commands: Commands, loopback: Loopback
) -> None:
    """If a sitemap or a listed page moves to a URL with the same ETag, it is read."""
    site = DatedSite(loopback, "127.20.44.3")
    new = site.page("/new")
    page = with_tag(site, loopback, "/page", f"<> <{SAYS}> 'before' .".encode())
    rows = [entry(page, "2024-01-01")]
    site.robots(with_tag(site, loopback, "/map.xml", urlset(rows)))
    folder = commands.folder()
    site.crawl(commands, folder=folder)
    rows = [entry(page, "2024-02-01"), new]
    for path, body in (
        ("/page", f"<> <{SAYS}> 'after' .".encode()),
        ("/map.xml", urlset(rows)),
    ):
        moved = with_tag(site, loopback, f"/moved{path}", body)
        site.server.pages[path] = loopback.redirect(moved)
    result = site.crawl(commands, folder=folder)
    assert said(result) == {site.at("/moved/page"): "after", new: "/new"}


def test_statements_of_a_page_that_moves(
    commands: Commands, loopback: Loopback
) -> None:
    """If a page moves, then its statements count as the same, also about the page."""
    site = DatedSite(loopback, "127.20.44.4")
    said = '<script type="application/ld+json">{"@id": "", "urn:x:says": "it"}</script>'

    def put(path: str, text: str) -> str:
        site.put(path, f"<p>{text}</p>{said}".encode(), "text/html")
        return site.at(path)

    def crawl(date: str) -> CrawlResult:
        site.put("/map.xml", urlset([entry(page, date)]))
        return site.crawl(commands, folder=folder)

    page, folder = put("/here", "before"), commands.folder()
    site.robots(site.at("/map.xml"))
    crawl("2024-01-01")
    site.server.pages["/here"] = loopback.redirect(put("/there", "after"))
    result = crawl("2024-02-01")
    build(result.folder, NormalForm())
    (*_, row) = tables_of(result.folder)["copies"].values()
    assert (row["content changed"], row["statements changed"]) == (1, 0)
