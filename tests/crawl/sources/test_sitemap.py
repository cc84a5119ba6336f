"""Sites that describe their pages themselves: `scrapy crawl sitemap`."""

from __future__ import annotations

import gzip
import json
import signal
import time
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox
import pytest

from rdfcrawl import settings as project_settings
from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.sitemap import SitemapOptions
from rdfcrawl.dataweb.nodes.sitemap_formats import SitemapSyntax, UrlsetDamage
from rdfcrawl.stores.log.crawl_log import iter_latest
from tests.support.sitemap_sites import Site, index, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback


def test_all_that_sitemaps_list_is_fetched(
    commands: Commands, loopback: Loopback
) -> None:
    """If a site has sitemaps of all kinds, then each of their pages is fetched once."""
    site = Site(loopback, "127.20.1.1")
    pages = [site.page(f"/page/{n}") for n in range(8)]
    entries = [f"<loc>{site.at(f'/{name}')}</loc>" for name in ("a.xml.gz", "b.txt")]
    site.robots(site.at("/index.xml"), site.at("/feed.atom"), "/rss.xml")
    site.put("/index.xml", index(entries))
    site.put("/a.xml.gz", gzip.compress(urlset(pages[:3])))
    site.put("/b.txt", "\n".join(pages[2:5]).encode())
    links = "".join(f"<entry><link href='{page}'/></entry>" for page in pages[5:7])
    atom = f"<feed xmlns='http://www.w3.org/2005/Atom'>{links}</feed>"
    site.put("/feed.atom", atom.encode())
    rss = f"<rss><channel><item><link>{pages[7]}</link></item></channel></rss>"
    site.put("/rss.xml", rss.encode())
    result = site.crawl(commands)
    asked = site.asked()
    assert result.code == 0, result.stderr
    assert sorted(set(pages)) == sorted(map(site.at, filter(_is_page, asked)))
    assert set(pages) <= result.graphs


def test_site_without_robots_has_its_sitemap_at_the_usual_place(
    commands: Commands, loopback: Loopback
) -> None:
    """If there is no robots.txt, then `/sitemap.xml` is read, and that is no fault.

    It is known to be a guess; the missing robots.txt is requested once.
    """
    site = Site(loopback, "127.20.1.2")
    site.put("/sitemap.xml", urlset([site.page("/page/1")]))
    result = site.crawl(commands)
    assert site.asked() == ["/sitemap.xml", "/page/1"]
    assert site.server.targets.count("/robots.txt") == 1
    sitemap = site.at("/sitemap.xml")
    assert result.ask(f"?a sq:crawled <{sitemap}> ; rc:foundBy ?x .") == ["guess"]
    assert result.faults(site.at("/robots.txt")) == []


def test_entries_of_other_sites_need_their_consent(
    commands: Commands, loopback: Loopback
) -> None:
    """If a sitemap lists another host, then only if that host names the sitemap."""
    site, friend, stranger = (Site(loopback, f"127.20.2.{n}") for n in range(1, 4))
    sitemap = site.at("/sitemap.xml")
    site.robots(sitemap)
    friend.robots(sitemap)
    listed = [other.page("/page/1") for other in (site, friend, stranger)]
    site.put("/sitemap.xml", urlset(listed))
    result = commands.crawl(
        arguments={"sites": f"{site.at('/')},{friend.at('/')}"}, spider="sitemap"
    )
    assert stranger.asked() == []
    assert set(listed[:2]) <= result.graphs
    assert "cross_site" in result.faults(stranger.at("/robots.txt"))
    assert friend.asked() == ["/page/1"]


def test_large_sitemap_is_requested_once(
    commands: Commands, loopback: Loopback
) -> None:
    """If a sitemap has more entries than one batch of the queue, then none is lost."""
    site = Site(loopback, "127.20.3.1")
    pages = [site.page(f"/page/{n}") for n in range(25)]
    site.robots(site.at("/sitemap.xml"))
    site.put("/sitemap.xml", urlset(pages))
    result = site.crawl(commands, SITEMAP_ENTRIES=10)
    asked = site.asked()
    assert asked.count("/sitemap.xml") == 1
    assert sorted(map(site.at, filter(_is_page, asked))) == sorted(pages)
    assert result.counts().is_over


def test_list_that_shrank_is_shorter_in_the_store(
    commands: Commands, loopback: Loopback
) -> None:
    """If a sitemap gets shorter, then nothing of its former pages is left."""
    site = Site(loopback, "127.20.3.3")
    pages = [site.page(f"/page/{n}") for n in range(25)]
    site.robots(site.at("/sitemap.xml"))
    entries = [f"<loc>{page}</loc><priority>0.6</priority>" for page in pages]
    site.put("/sitemap.xml", urlset(entries))
    folder = commands.folder()
    site.crawl(commands, folder=folder, SITEMAP_ENTRIES=10)
    site.put("/sitemap.xml", urlset(entries[:3]))
    result = site.crawl(commands, folder=folder, SITEMAP_ENTRIES=10)
    latest = b"".join(piece.quads for piece in iter_latest(result.folder / "quads"))
    told = {
        quad.subject.value
        for quad in ox.parse(latest, format=ox.RdfFormat.N_QUADS)
        if quad.graph_name.value.startswith(site.at("/sitemap.xml"))
        and isinstance(quad.subject, ox.NamedNode)
        and quad.subject.value.startswith(site.at("/page/"))
    }
    assert told == set(pages[:3])


def test_pages_are_fetched_by_priority(commands: Commands, loopback: Loopback) -> None:
    """If pages have priorities, then these say which come first, and which at all."""
    site = Site(loopback, "127.20.3.5")
    priorities = ("0.1", "0.5", "0.95", "0.3", "0.6", "0.7")
    rows = [
        f"<loc>{site.page(f'/page/{priority}')}</loc><priority>{priority}</priority>"
        for priority in priorities
    ]
    site.put("/sitemap.xml", urlset(rows))
    site.crawl(commands)
    order = [f"/page/{priority}" for priority in sorted(priorities, reverse=True)]
    assert site.asked() == ["/sitemap.xml", *order]
    n_asked = len(site.asked())
    arguments = {"sites": site.at("/"), "max_per_host": 3}  # with VoID
    result = commands.crawl(arguments=arguments, spider="sitemap")
    assert site.asked()[n_asked:] == ["/sitemap.xml", *order[:2]]
    assert result.statistics["fault/host_budget"] == 4


def test_budget_goes_to_the_best_pages_of_all_sitemaps(
    commands: Commands, loopback: Loopback
) -> None:
    """If a site has several sitemaps, `max_per_host` goes by priority among all.

    Pages wait for readable sitemaps, not for unavailable ones.
    """
    site = Site(loopback, "127.20.3.7")

    def put(name: str, *priorities: str) -> None:
        rows = [
            f"<loc>{site.page(f'/page/{x}')}</loc><priority>{x}</priority>"
            for x in priorities
        ]
        site.put(f"/{name}.xml", urlset(rows))

    def at(*names: str) -> list[str]:
        return [f"<loc>{site.at(f'/{name}.xml')}</loc>" for name in names]

    put("1", "0.1", "0.6")
    put("2", "0.7")
    put("3", "0.95", "0.2")
    put("last", "0.9")
    site.put("/index.xml", index(at("1", "missing", "closed", "2", "inner")))
    site.put("/inner.xml", index(at("3", "2")))
    named = "".join(f"Sitemap: {site.at(f'/{x}.xml')}\n" for x in ("index", "last"))
    rules = f"User-agent: *\nDisallow: /closed.xml\n{named}".encode()
    site.put("/robots.txt", rules, "text/plain")
    arguments = {"sites": site.at("/"), "max_per_host": 4}  # with VoID
    result = commands.crawl(arguments=arguments, spider="sitemap")
    pages = [target for target in site.asked() if "/page/" in target]
    assert pages == [f"/page/{x}" for x in ("0.95", "0.9", "0.7")]
    assert result.statistics["fault/host_budget"] == 3
    assert result.counts().is_over


def test_budget_goes_to_the_best_pages_of_all_named_sitemaps(
    commands: Commands, loopback: Loopback
) -> None:
    """If the operator names sitemaps of one site, then their pages wait for each other.

    So do they for sitemaps in the robots.txt of the site, if that is named, too.
    """
    site = Site(loopback, "127.20.3.9")
    priorities = {"1": ("0.1", "0.6"), "2": ("0.95", "0.3"), "3": ("0.9", "0.2")}
    for name, some in priorities.items():
        rows = [
            f"<loc>{site.page(f'/page/{x}')}</loc><priority>{x}</priority>"
            for x in some
        ]
        site.put(f"/{name}.xml", urlset(rows))
    site.robots(site.at("/3.xml"))
    named = [site.at(path) for path in ("/1.xml", "/2.xml", "/missing.xml", "/")]
    arguments = {"sites": ",".join(named), "max_per_host": 4}  # with VoID
    result = commands.crawl(arguments=arguments, spider="sitemap")
    pages = [target for target in site.asked() if "/page/" in target]
    assert pages == [f"/page/{x}" for x in ("0.95", "0.9", "0.6")]
    assert result.statistics["fault/host_budget"] == 3
    assert result.counts().is_over


def test_pages_wait_for_no_sitemap_that_is_given_up(
    commands: Commands, loopback: Loopback
) -> None:
    """If workers die of a sitemap, then the pages of others, which waited, come."""
    site = Site(loopback, "127.20.3.8")
    pages = {site.page(f"/page/{n}") for n in range(3)}
    site.put("/1.xml", urlset(sorted(pages)))
    site.put("/deadly", urlset([site.page("/page/lost")]))
    site.put(
        "/index.xml", index(f"<loc>{site.at(x)}</loc>" for x in ("/1.xml", "/deadly"))
    )
    site.robots(site.at("/index.xml"))
    own = {"tests.support.deadly.DeadlyPipeline": 350}
    result = commands.start(
        *("workers", "-n1", "sitemap", f"-asites={site.at('/')}", "-amax_per_host=4"),
        ITEM_PIPELINES=json.dumps({**project_settings.ITEM_PIPELINES, **own}),
        CRAWL_ID="sitemap",
        FRONTIER_LEASE_SECS=1,
        FRONTIER_COMMIT_SECS=0.3,
    ).wait()
    assert result.faults(site.at("/deadly")) == ["leases_lost"]
    assert pages <= result.graphs
    assert result.counts().is_over


def test_indexes_are_read_three_deep(commands: Commands, loopback: Loopback) -> None:
    """If an index is in three others, then its entries are a fault, and not read."""
    site = Site(loopback, "127.20.3.6")
    for n in range(5):
        site.put(f"/{n}.xml", index([f"<loc>{site.at(f'/{n + 1}.xml')}</loc>"]))
    site.robots(site.at("/0.xml"))
    result = site.crawl(commands)
    assert site.asked() == [f"/{n}.xml" for n in range(4)]
    assert result.faults(site.at("/3.xml")) == ["too_deep"]


def test_smallest_priority_does_not_hide_a_page(
    commands: Commands, loopback: Loopback
) -> None:
    """If a page has the priority 0.00001, then it is fetched as any other."""
    site = Site(loopback, "127.20.3.4")
    page = site.page("/page/1")
    site.robots(site.at("/sitemap.xml"))
    entry = f"<loc>{page}</loc><priority>0.00001</priority>"
    body = f"<urlset><url>{entry}</url></urlset>".encode()
    site.put("/sitemap.xml", body)
    result = site.crawl(commands)
    assert page in result.graphs
    assert result.faults(page) == []


def test_next_run_fetches_changed_pages(commands: Commands, loopback: Loopback) -> None:
    """If a site is crawled again, then pages changed by its sitemaps are fetched."""
    site = Site(loopback, "127.20.4.1")
    old, new = "2001-01-01", "2999-01-01"
    for n in range(4):
        site.page(f"/page/{n}", "first")
    site.robots(site.at("/index.xml"))

    def write(lastmods: list[str], of_second: str) -> None:
        entries = [
            f"<loc>{site.at(f'/page/{n}')}</loc><lastmod>{lastmod}</lastmod>"
            for n, lastmod in enumerate(lastmods)
        ]
        site.put("/1.xml", urlset(entries[:3]))
        site.put("/2.xml", urlset(entries[3:]))
        rows = [
            f"<loc>{site.at('/1.xml')}</loc><lastmod>{new}</lastmod>",
            f"<loc>{site.at('/2.xml')}</loc><lastmod>{of_second}</lastmod>",
        ]
        site.put("/index.xml", index(rows))

    write([old] * 4, old)
    folder = commands.folder()
    site.crawl(commands, folder=folder)
    site.page("/page/1", "second")
    write([old, new, old, new], old)
    n_asked = len(site.asked())
    result = site.crawl(commands, folder=folder)
    asked = site.asked()[n_asked:]
    assert asked[0] == "/index.xml"
    assert sorted(asked[1:]) == ["/1.xml", "/2.xml", "/page/1", "/page/3"]
    says = {o for _, p, o, _ in result.latest_quads if p == "urn:x:says"}
    assert says == {'"first"', '"second"'}


def test_unchanged_sitemap_is_not_read_again(
    commands: Commands, loopback: Loopback
) -> None:
    """If the server says that a sitemap is the same, then the run ends with that."""
    site = Site(loopback, "127.20.4.2")
    site.robots(site.at("/sitemap.xml"))
    body = urlset([site.page("/page/1")])

    def answer(request: object) -> bytes:
        headers = getattr(request, "headers", {})
        if headers.get("if-none-match") == '"v1"':
            return b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n'
        return loopback.response(body, ETag='"v1"')

    site.server.pages["/sitemap.xml"] = answer
    folder = commands.folder()
    site.crawl(commands, folder=folder)
    result = site.crawl(commands, folder=folder)
    assert site.asked() == ["/sitemap.xml", "/page/1", "/sitemap.xml"]
    assert result.statuses(site.at("/sitemap.xml")) == ["SUCCESSFUL", "UNCHANGED"]


def test_archive_of_sitemaps_is_taken_piece_by_piece(
    commands: Commands, loopback: Loopback
) -> None:
    """If several sitemaps are in one archive, pieces go on from one into the next."""
    import io
    import tarfile

    site = Site(loopback, "127.20.3.2")
    pages = [site.page(f"/page/{n}") for n in range(25)]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, part in (("a.xml", pages[:18]), ("b.xml", pages[18:])):
            member = tarfile.TarInfo(name)
            member.size = len(urlset(part))
            archive.addfile(member, io.BytesIO(urlset(part)))
    site.robots(site.at("/all.tar.gz"))
    site.put("/all.tar.gz", packed.getvalue(), "application/gzip")
    site.crawl(commands, SITEMAP_ENTRIES=10)
    assert sorted(map(site.at, filter(_is_page, site.asked()))) == sorted(pages)
    assert site.asked().count("/all.tar.gz") == 1


def test_failed_sitemap_is_requested_again_in_the_next_run(
    commands: Commands, loopback: Loopback
) -> None:
    """If a sitemap of an unchanged index failed, then the next run reads it."""
    site = Site(loopback, "127.20.4.3")
    body = index([f"<loc>{site.at('/1.xml')}</loc>"])
    site.robots(site.at("/index.xml"))

    def answer(request: object) -> bytes:
        if getattr(request, "headers", {}).get("if-none-match"):
            return b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n'
        return loopback.response(body, ETag='"v1"')

    site.server.pages["/index.xml"] = answer
    folder = commands.folder()
    site.crawl(commands, folder=folder)
    site.put("/1.xml", urlset([site.page("/page/1")]))
    result = site.crawl(commands, folder=folder)
    assert site.at("/page/1") in result.graphs


# -- all formats, of the data web ------------------------------------------------------


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    """Yield a server of sites."""
    with LocalWeb(first_address="127.83.0.1", n_hosts=3) as web:
        yield web


@pytest.mark.parametrize("found_by", ["robots", "default"])
def test_all_formats_packings_and_damages_are_read(
    commands: Commands, web: LocalWeb, found_by: Any
) -> None:
    """If sitemaps have every form there is, all their pages come, and none is made up.

    A truncated one ends within a URL, whose begin is a URL as well.
    """
    other = web.start(SitemapOptions(n_pages=10))
    foreign = (other.page_url(0), other.page_url(1))
    node = web.start(
        SitemapOptions(
            n_pages=150, damages=tuple(UrlsetDamage), found_by=found_by, foreign=foreign
        )
    )
    result = commands.crawl(arguments={"sites": node.origin}, spider="sitemap")
    assert set(node.urls()) <= result.graphs
    targets = web.targets(node)
    assert "/page/" not in targets
    pages = [target for target in targets if target.startswith("/page/")]
    assert len(pages) == len(set(pages))
    assert not [t for t in web.targets(other) if t.startswith("/page/")]
    assert result.statistics["fault/cross_site"]


def test_only_pages_changed_by_a_site_are_fetched_again(
    commands: Commands, web: LocalWeb
) -> None:
    """If some pages changed, by a clock of the site's own, then these are fetched."""
    formats = (SitemapSyntax.URLSET, SitemapSyntax.ATOM, SitemapSyntax.RSS2)
    node = web.start(SitemapOptions(n_pages=60, formats=formats, packed="no"))
    folder = commands.folder()
    arguments = {"sites": node.origin}
    commands.crawl(arguments=arguments, spider="sitemap", folder=folder)
    changed = node.revise(changed=5)
    web.forget()
    commands.crawl(arguments=arguments, spider="sitemap", folder=folder)
    pages = [t for t in web.targets(node) if t.startswith("/page/")]
    assert len(pages) == len(set(pages))
    # A coarse `lastmod` may be that of a page that stays the same.
    assert changed <= {node.origin + page for page in pages}
    assert len(pages) <= 30
    web.forget()
    commands.crawl(arguments=arguments, spider="sitemap", folder=folder)
    again = {node.origin + t for t in web.targets(node) if t.startswith("/page/")}
    assert not again & changed  # once more those that had a new date, and were the same
    statuses = [asked.status for asked in web.requests(node) if asked.is_conditional]
    assert statuses.count(304) >= 2


def test_change_is_not_lost_with_its_worker(commands: Commands, web: LocalWeb) -> None:
    """If a worker dies before a sitemap's URLs are queued, it is read once more."""
    formats = (SitemapSyntax.URLSET,)
    node = web.start(SitemapOptions(n_pages=12, formats=formats, packed="no"))
    folder = commands.folder()
    given: dict[str, Any] = {
        "arguments": {"sites": node.origin},
        "spider": "sitemap",
        "folder": folder,
    }
    commands.crawl(**given)
    changed = node.revise(changed=4)
    web.forget()
    running = commands.start_crawl(
        **given, FRONTIER_LEASE_SECS=2, FRONTIER_COMMIT_SECS=60
    )

    def is_read() -> bool:
        asked = web.requests(node)
        return any("sitemap" in r.target and r.status == 200 for r in asked)

    commands.wait_until(lambda: is_read() or running.has_ended())
    time.sleep(0.7)  # and waits for the commit
    running.send(signal.SIGKILL)
    running.process.wait()
    commands.crawl(**given, FRONTIER_LEASE_SECS=2)
    assert changed <= {node.origin + target for target in web.targets(node)}


@pytest.mark.in_turn(2, rooms=("sources", "frontier"))
def test_two_workers_read_each_part_once(commands: Commands, web: LocalWeb) -> None:
    """If two workers crawl large sitemaps, then each page and part is fetched once."""
    formats = (SitemapSyntax.URLSET, SitemapSyntax.TEXT)
    options = SitemapOptions(n_pages=900, formats=formats, packed="no")
    nodes = [web.start(options) for _ in range(2)]
    sites = ",".join(node.origin for node in nodes)
    crew = commands.start(
        *("workers", "-n2", "sitemap", f"-asites={sites}"),
        CRAWL_ID="sitemap",
        SITEMAP_ENTRIES=200,
    )
    result = crew.wait()
    assert result.code == 0, result.stderr
    for node in nodes:
        targets = [t for t in web.targets(node) if t.startswith("/page/")]
        assert sorted(node.origin + t for t in targets) == sorted(node.urls())
        sitemaps = [t for t in web.targets(node) if "sitemap" in t]
        assert len(sitemaps) == len(set(sitemaps))
    assert {url for node in nodes for url in node.urls()} <= result.graphs


def test_linked_data_crawl_reads_sitemaps_where_that_is_wanted(
    commands: Commands, loopback: Loopback
) -> None:
    """If `harvest` has sitemaps, then those of the sites on the way are read."""
    site = Site(loopback, "127.20.8.1")
    seed, listed = site.page("/seed"), site.page("/page/1")
    site.robots(site.at("/sitemap.xml"))
    site.put("/sitemap.xml", urlset([listed]))
    assert listed not in commands.crawl([seed]).graphs
    result = commands.crawl([seed], arguments={"harvest": "sitemap"})
    assert listed in result.graphs


def _is_page(target: str) -> bool:
    return target.startswith(("/page/", "/r/"))
