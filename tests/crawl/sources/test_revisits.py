"""Pages and sitemaps in later runs: changed, failed, undated, dropped, gone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tests.support.sitemap_sites import Site, index, urlset

if TYPE_CHECKING:
    from tests.conftest import RawRequest
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

SAYS = "urn:x:says"


class DatedSite(Site):
    """A site whose pages and sitemaps have validators."""

    def tagged(
        self, path: str, body: bytes, media_type: str = "text/turtle", **headers: str
    ) -> str:
        """Serve a body that answers 304 to its own validator; return its URL."""
        tag = f'"{hash(body)}"'

        def reply(request: RawRequest) -> bytes:
            if request.headers.get("if-none-match") == tag:
                return self._loopback.response(status="304 Not Modified", media_type="")
            return self._loopback.response(body, media_type, ETag=tag, **headers)

        self.server.pages[path] = reply
        return self.at(path)

    def fails(self, path: str, status: str) -> str:
        """Answer with an error; return the URL."""
        self.server.pages[path] = self._loopback.response(status=status)
        return self.at(path)

    def asked_since(self, n_asked: int) -> list[str]:
        """Return the requests after the first ones, in order."""
        return sorted(set(self.asked()[n_asked:]))


def entry(url: str, lastmod: str = "", changefreq: str = "") -> str:
    """Return the content of an element of a sitemap."""
    dated = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    often = f"<changefreq>{changefreq}</changefreq>" if changefreq else ""
    return f"<loc>{url}</loc>{dated}{often}"


def said(result: CrawlResult) -> dict[str, str]:
    """Return the statements of the latest version of each page."""
    return {s: o.strip('"') for s, p, o, _ in result.latest_quads if p == SAYS}


def test_dates_of_pages_are_compared_with_their_own(
    commands: Commands, loopback: Loopback
) -> None:
    """If a page has another date than before, or one of today, then it is fetched.

    Its date is compared with its own, not with the greatest of the list. One of today
    is fetched in each run of the day, at the cost of a 304.
    """
    site = DatedSite(loopback, "127.20.11.1")
    today = datetime.now(UTC).date().isoformat()
    names = ("late", "old", "newest", "today")
    late, old, newest, of_today = (site.page(f"/page/{x}", "first") for x in names)
    dates = {late: "2024-01-01", old: "2024-02-01", newest: "2024-06-01"}
    folder = commands.folder()

    def crawl() -> dict[str, str]:
        rows = [entry(url, date) for url, date in {**dates, of_today: today}.items()]
        site.put("/sitemap.xml", urlset(rows))
        return said(site.crawl(commands, folder=folder))

    crawl()
    dates[late] = "2024-03-01"
    asked = []
    for version in ("second", "third"):
        n_asked = len(site.asked())
        for name in names:
            site.page(f"/page/{name}", version)
        assert crawl()[of_today] == version
        asked.append(site.asked_since(n_asked))
    assert asked == [
        ["/page/late", "/page/today", "/sitemap.xml"],
        ["/page/today", "/sitemap.xml"],
    ]


def test_pages_that_failed_or_have_no_date_are_fetched_again(
    commands: Commands, loopback: Loopback
) -> None:
    """If a page failed, or nothing dates it, then later runs request it by a rule."""
    site = DatedSite(loopback, "127.20.11.2")
    failed = {
        site.fails(f"/page/{status[:3]}", status)
        for status in ("500 Bad", "404 Not Found")
    }
    always, never = site.page("/page/always"), site.page("/page/never")
    undated = site.tagged("/page/undated", b"<> <urn:x:says> 'first' .")
    rows = [*map(entry, sorted(failed)), entry(undated)]
    rows += [entry(always, changefreq="always"), entry(never, changefreq="never")]
    site.tagged("/sitemap.xml", urlset(rows), "application/xml")
    folder = commands.folder()
    site.crawl(commands, folder=folder)
    for path in ("/page/500", "/page/404", "/page/always", "/page/never"):
        site.page(path, "second")
    n_asked = len(site.asked())
    result = site.crawl(commands, folder=folder)
    again = ["/page/404", "/page/500", "/page/always", "/sitemap.xml"]
    assert site.asked_since(n_asked) == again
    assert {said(result)[url] for url in (*failed, always)} == {"second"}
    n_asked = len(site.asked())
    result = site.crawl(commands, folder=folder, REVISIT_SECS=0)
    assert "/page/undated" in site.asked_since(n_asked)
    assert "/page/never" not in site.asked_since(n_asked)
    assert result.statuses(undated) == ["SUCCESSFUL", "UNCHANGED"]
    assert said(result)[undated] == "first"


def test_failures_are_requested_once_in_each_run(
    commands: Commands, loopback: Loopback
) -> None:
    """If pages and sitemaps go on failing, then each run requests each of them once.

    The same holds for sitemaps alone: no run repeats the failures of earlier ones.
    """
    site = DatedSite(loopback, "127.20.11.8")
    urls = [site.fails("/page/bad", "500 Bad"), site.page("/page/good")]
    folder = commands.folder()
    asked = []

    def crawl() -> None:
        n_asked = len(site.asked())
        result = site.crawl(commands, folder=folder, RETRY_TIMES=0)
        asked.append(sorted(site.asked()[n_asked:]))
        assert "frontier/owed" not in result.statistics

    for is_read in (True, True, False, False, True):
        if is_read:
            site.put("/sitemap.xml", urlset([*map(entry, urls)]))
        else:
            site.fails("/sitemap.xml", "500 Bad")
        crawl()
    pages = ["/page/bad", "/sitemap.xml"]
    first = ["/page/bad", "/page/good", "/sitemap.xml"]
    assert asked == [first, pages, pages[1:], pages[1:], pages]


def test_a_deleted_page_leaves_nothing(commands: Commands, loopback: Loopback) -> None:
    """If a page is dropped from its sitemap and is gone, so is its graph.

    A page that has lost its statements keeps them: its server may have failed.
    """
    site = DatedSite(loopback, "127.20.11.3")
    names = ("moved", "gone", "missing", "empty", "blank", "kept")
    pages = {name: site.page(f"/page/{name}", "first") for name in names}
    parts = {name: site.at(f"/{name}.xml") for name in ("one", "two")}
    rows = {x: entry(pages[x], "2024-01-01") for x in names}
    site.robots(site.at("/index.xml"))
    site.put("/index.xml", index(f"<loc>{part}</loc>" for part in parts.values()))
    site.put("/one.xml", urlset(list(rows.values())))
    site.put("/two.xml", urlset([entry(site.page("/page/two", "first"))]))
    folder = commands.folder()
    site.crawl(commands, folder=folder)
    site.put("/index.xml", index([f"<loc>{parts['one']}</loc>"]))
    dated = [entry(pages[x], "2024-02-01") for x in ("missing", "empty", "blank")]
    site.put("/one.xml", urlset([rows["kept"], *dated]))
    site.fails("/page/gone", "410 Gone")
    site.fails("/page/missing", "404 Not Found")
    site.fails("/page/two", "404 Not Found")
    site.put("/page/empty", b"")
    site.put("/page/blank", b"<html><body>Nothing</body></html>", "text/html")
    n_asked = len(site.asked())
    result = site.crawl(commands, folder=folder)
    asked = site.asked_since(n_asked)
    assert set(said(result)) == {pages[x] for x in ("moved", "kept", "empty", "blank")}
    for url in (pages["gone"], pages["missing"], site.at("/page/two")):
        assert result.statuses(url)[-1] == "DELETED"
    assert result.ask(f"<{parts['two']}> prov:wasInvalidatedBy ?x .")
    assert not result.raw(parts["two"])
    assert "/page/kept" not in asked
    assert "/page/moved" in asked
    n_asked = len(site.asked())
    result = site.crawl(commands, folder=folder)
    asked = site.asked_since(n_asked)
    assert "/page/moved" in asked  # it was the same: perhaps an old copy of a cache
    site.put("/index.xml", index(f"<loc>{part}</loc>" for part in parts.values()))
    site.page("/page/two", "second")
    assert said(site.crawl(commands, folder=folder))[site.at("/page/two")] == "second"


def test_pages_like_all_others_of_their_site_are_not_doubted(
    commands: Commands, loopback: Loopback
) -> None:
    """If most pages of a site have no statements or end tag, the next run skips them.

    A page of which that is not usual is requested once more.
    """
    short, endless, odd = (DatedSite(loopback, f"127.20.11.{n}") for n in (21, 22, 23))
    for site in (short, endless, odd):
        for n in range(40):
            end = "" if site is endless else "</html>"
            says = "" if site is short else f" property='{SAYS}'"
            page = f"<html><body><p{says}>{n}</p>{end}"
            site.tagged(f"/{n}", page.encode(), "text/html")
        pages = [site.at(f"/{n}") for n in range(40)]
        site.tagged("/sitemap.xml", urlset(pages), "application/xml")
    odd.tagged("/7", b"<html><body>Sorry</body></html>", "text/html")
    folder = commands.folder()
    sites = ",".join(site.at("/") for site in (short, endless, odd))
    for _ in range(2):
        n_asked = [len(site.asked()) for site in (short, endless, odd)]
        commands.crawl(arguments={"sites": sites}, spider="sitemap", folder=folder)
    asked = [
        site.asked_since(n)
        for site, n in zip((short, endless, odd), n_asked, strict=True)
    ]
    assert max(map(len, asked)) <= 10
    assert "/7" in asked[2]


def test_former_target_of_a_redirect_answers_for_itself(
    commands: Commands, loopback: Loopback
) -> None:
    """If a page stops redirecting, or moves on, then its old target is requested.

    Only its own answer deletes its statements. The statements of a page go when the
    page is redirected.
    """
    site, other = DatedSite(loopback, "127.20.11.6"), DatedSite(loopback, "127.20.11.7")
    to = {"own": "in", "gone": "target", "kept": "still", "turned": "one"}
    targets = {name: site.page(f"/to/{x}", "first") for name, x in to.items()}
    targets["away"] = other.page("/to/away", "first")
    listed = [*targets, "moved", "left"]
    for name, url in targets.items():
        site.server.pages[f"/page/{name}"] = loopback.redirect(url)
    had = [site.page(f"/page/{name}", "first") for name in ("moved", "left")]
    folder = commands.folder()

    def crawl(date: str) -> CrawlResult:
        rows = [entry(site.at(f"/page/{name}"), date) for name in listed]
        site.put("/sitemap.xml", urlset(rows))
        return site.crawl(commands, folder=folder)

    assert set(said(crawl("2024-01-01"))) == {*targets.values(), *had}
    for path in ("/to/in", "/to/target", "/to/one"):
        site.fails(path, "404 Not Found")
    other.fails("/to/away", "410 Gone")
    for name in ("gone", "kept", "away"):
        site.fails(f"/page/{name}", "410 Gone")
    now = {site.page("/page/own", "itself"), targets["kept"]}
    turns = {"turned": site.page("/to/two"), "moved": site.page("/to/three"),
             "left": other.page("/to/four")}  # fmt: skip
    for name, url in turns.items():
        site.server.pages[f"/page/{name}"] = loopback.redirect(url)
    result = crawl("2024-02-01")
    assert set(said(result)) == {*now, *turns.values()}
    for name in ("own", "gone", "turned", "away"):
        assert result.statuses(targets[name])[-1] == "DELETED"
    for url in had:
        assert result.ask(f"<{url}> prov:wasInvalidatedBy ?x .")
    n_asked = len(site.asked()), len(other.asked())
    crawl("2024-02-01")
    failed = [f"/page/{name}" for name in ("away", "gone", "kept")]
    assert site.asked_since(n_asked[0]) == [*failed, "/sitemap.xml"]
    assert other.asked_since(n_asked[1]) == []


def test_sitemap_that_robots_names_no_more(
    commands: Commands, loopback: Loopback
) -> None:
    """If robots.txt drops a sitemap, then it is requested once, and may be gone."""
    site = DatedSite(loopback, "127.20.11.5")
    pages = [site.page(f"/page/{n}", "first") for n in (1, 2)]
    sitemaps = [site.at(f"/{n}.xml") for n in (1, 2)]
    for n, page in enumerate(pages, 1):
        site.put(f"/{n}.xml", urlset([entry(page, "2024-01-01")]))
    site.robots(*sitemaps)
    folder = commands.folder()
    site.crawl(commands, folder=folder)
    site.robots(sitemaps[0])
    for path in ("/2.xml", "/page/2"):
        site.fails(path, "410 Gone")
    result = site.crawl(commands, folder=folder)
    assert set(said(result)) == {pages[0]}
    for url in (sitemaps[1], pages[1]):
        assert result.statuses(url) == ["SUCCESSFUL", "DELETED"]
    n_asked = len(site.asked())
    site.crawl(commands, folder=folder)
    assert site.asked_since(n_asked) == ["/1.xml"]


def test_sitemap_in_an_index_is_requested_again(
    commands: Commands, loopback: Loopback
) -> None:
    """If an index never changes its dates, its sitemaps are requested conditionally.

    If it does, then only those with another date are.
    """
    site = DatedSite(loopback, "127.20.11.4")
    site.robots(site.at("/index.xml"))
    urls = [site.at(f"/{n}.xml") for n in (1, 2)]

    def list_parts(date: str) -> None:
        rows = [entry(urls[0], date), entry(urls[1], "2020-01-01")]
        site.put("/index.xml", index(rows))

    list_parts("2020-01-01")
    site.tagged("/1.xml", urlset([site.page("/page/1")]), "application/xml")
    site.tagged("/2.xml", urlset([site.fails("/page/2", "500 Bad")]), "application/xml")
    folder = commands.folder()
    site.crawl(commands, folder=folder)
    body = urlset([site.page("/page/1"), site.page("/page/3")])
    site.tagged("/1.xml", body, "application/xml")
    asked = []
    for date in ("2020-01-01", "2020-02-01", "2020-02-01"):
        n_asked = len(site.asked())
        list_parts(date)
        result = site.crawl(commands, folder=folder)
        asked.append(site.asked_since(n_asked))
    assert asked == [
        ["/1.xml", "/2.xml", "/index.xml", "/page/2", "/page/3"],
        ["/1.xml", "/2.xml", "/index.xml", "/page/2"],
        ["/2.xml", "/index.xml", "/page/2"],
    ]
    assert result.statuses(urls[1])[1:] == ["UNCHANGED"] * 3
