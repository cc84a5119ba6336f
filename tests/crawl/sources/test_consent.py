"""Sitemaps that list other sites: the hosts that must consent, and the result."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl import settings as project_settings
from tests.crawl.operation.test_decisions import decisions_of
from tests.support.sitemap_sites import Site, dataset, dump_at, index, urlset

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RawRequest
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback


def sites(loopback: Loopback, net: int, n: int) -> list[Site]:
    """Start sites on hosts of their own."""
    return [Site(loopback, f"127.97.{net}.{number}") for number in range(1, n + 1)]


def crawl(commands: Commands, site: Site, **arguments: object) -> CrawlResult:
    """Crawl a site."""
    given = {"sites": site.at("/")} | arguments
    result = commands.crawl(arguments=given, spider="sitemap")
    assert result.code == 0, result.stderr
    assert result.counts().is_over
    return result


@dataclass(frozen=True, slots=True)
class SharedCrawl:
    """One crawl of sites that have nothing to do with one another.

    Attributes:
        result: of the crawl.
        others: listed hosts, by the name used in a test.
    """

    result: CrawlResult
    others: dict[str, Site]

    def is_refused(self, dump: str) -> bool:
        """Return whether the claim of a dump has been refused."""
        pattern = '?a rc:fault ?f . ?f rc:reason "unconfirmed_claim" ; rc:detail ?x .'
        return any(f" {dump}:" in detail for detail in self.result.ask(pattern))


def lists(site: Site, *pages: str, extra: str = "") -> str:
    """Give a site a sitemap that its robots.txt names; return its URL."""
    site.put("/sitemap.xml", urlset(pages, extra))
    site.robots(site.at("/sitemap.xml"))
    return site.at("/sitemap.xml")


def where(result: CrawlResult, reason: str) -> list[str]:
    """Return the URLs with a fault, each as often as it has one."""
    return result.ask(f'?a sq:crawled ?x ; rc:fault/rc:reason "{reason}" .')


def decided(result: CrawlResult) -> set[tuple[str, str, str]]:
    """Return the URLs that were not queued, with the reason and the source."""
    return {(x.uri, x.reason, x.parent) for x in decisions_of(result.folder)}


# -- pages -----------------------------------------------------------------------------


def test_consent_that_exists_is_requested(
    commands: Commands, loopback: Loopback
) -> None:
    """If a sitemap lists other hosts, then those that name it are crawled, no others.

    Their robots.txt is requested once, as a source and for its rules; the sitemap, too.
    """
    site, friend, stranger, bare = sites(loopback, 1, 4)
    pages = [each.page(f"/page/{n}") for n in (1, 2) for each in (site, friend)]
    refused = [stranger.page("/page/1"), bare.page("/page/1"), bare.page("/page/2")]
    sitemap = lists(site, *pages, *refused)
    friend.robots(friend.at("/own.xml"), sitemap)
    stranger.robots(stranger.at("/own.xml"))
    result = crawl(commands, site)
    assert set(pages) <= result.graphs
    assert site.server.targets.count("/sitemap.xml") == 1
    assert site.server.targets.count("/robots.txt") == 1
    assert friend.server.targets.count("/robots.txt") == 1
    assert sorted(friend.asked()) == ["/page/1", "/page/2"]
    assert stranger.asked() == bare.asked() == []
    assert result.statistics["fault/cross_site"] == 3
    refusals = sorted(where(result, "cross_site"))
    assert refusals == sorted(x.at("/robots.txt") for x in (stranger, bare))
    assert refused[0] not in result.graphs
    (told,) = result.details(bare.at("/robots.txt"))
    assert sitemap in told
    assert decided(result) == {(url, "cross_site", sitemap) for url in refused}


def test_no_consent_is_requested_for_links_not_followed(
    commands: Commands, loopback: Loopback
) -> None:
    """If a sitemap is nofollow, then its URLs of other hosts are not queued, either."""
    site, friend, late = sites(loopback, 17, 3)
    rows = [friend.page("/page/1"), site.page("/page/1")]
    site.put("/dump.nt", b"<urn:x:s> <urn:x:p> <urn:x:o> .", "application/n-triples")
    extra = dataset(site, "dump.nt")
    friend.robots(lists(site, *rows, extra=extra))
    site.server.pages["/sitemap.xml"] = loopback.response(
        urlset(rows, extra), "application/xml", X_Robots_Tag="nofollow"
    )
    link = f"<> <urn:x:p> <{site.page('/r/1')}> .".encode()
    late.server.pages["/start"] = [1.5, loopback.response(link)]
    result = crawl(commands, site, seeds=late.at("/start"), follow="object")
    # Nor are URLs below the prefix of a dataset left out for its dump.
    assert site.asked() == ["/sitemap.xml", "/r/1"]
    assert friend.server.targets == []
    assert result.statistics["link/nofollow"] == 2


def test_consent_to_an_index_is_one_to_its_parts(
    commands: Commands, loopback: Loopback
) -> None:
    """If a host names an index, then its parts may list that host, or lie on it."""
    site, friend, stranger = sites(loopback, 2, 3)
    there = friend.page("/page/1"), stranger.page("/page/1"), friend.page("/page/2")
    site.put("/1.xml", urlset(there[:2]))
    friend.put("/2.xml", urlset([there[2], site.page("/page/1")]))
    rows = (site.at("/1.xml"), friend.at("/2.xml"), stranger.at("/3.xml"))
    site.put("/index.xml", index(f"<loc>{row}</loc>" for row in rows))
    site.robots(site.at("/index.xml"))
    friend.robots(site.at("/index.xml"))
    result = crawl(commands, site)
    assert {there[0], there[2], site.at("/page/1")} <= result.graphs
    assert stranger.asked() == []
    assert site.asked() == ["/index.xml", "/1.xml", "/page/1"]


def moved_robots(loopback: Loopback, site: Site, to: Site) -> None:
    """Have a site's robots.txt redirect to that of another one."""
    target = to.at("/robots.txt")
    site.server.pages["/robots.txt"] = loopback.redirect(target)


def test_robots_that_has_moved_speaks_for_its_host(
    commands: Commands, loopback: Loopback
) -> None:
    """If a host's robots.txt redirects to another host's, then the target counts."""
    site, friend, stranger, home = sites(loopback, 3, 4)
    sitemap = lists(site, friend.page("/page/1"), stranger.page("/page/1"))
    home.robots(sitemap)
    moved_robots(loopback, friend, home)
    stranger.server.pages["/robots.txt"] = loopback.redirect(home.at("/elsewhere"))
    result = crawl(commands, site)
    assert friend.at("/page/1") in result.graphs
    assert stranger.asked() == []
    assert where(result, "cross_site")


STATUSES = "404 No", "500 No"


@pytest.fixture(scope="module")
def silent(commands: Commands, loopback: Loopback) -> SharedCrawl:
    """Return a crawl of sites that list a page of a host without a robots.txt."""
    listing, others = [], {}
    for number, status in enumerate(STATUSES):
        site, other = sites(loopback, 4 + number, 2)
        lists(site, other.page("/page/1"))
        other.server.pages["/robots.txt"] = loopback.response(b"", status=status)
        listing.append(site)
        others[status] = other
    result = commands.crawl(
        arguments={"sites": ",".join(site.at("/") for site in listing)},
        spider="sitemap",
        RETRY_TIMES=0,
        HOST_BACKOFF_SECS=0.1,
    )
    return SharedCrawl(result, others)


@pytest.mark.parametrize("status", STATUSES)
def test_host_that_says_nothing_has_not_consented(
    silent: SharedCrawl, status: str
) -> None:
    """If a host's robots.txt is unavailable, then its pages are refused, by name."""
    other = silent.others[status]
    assert silent.result.counts().is_over
    assert other.asked() == []
    assert "cross_site" in silent.result.faults(other.at("/robots.txt"))


def test_no_host_out_of_scope_is_contacted(
    commands: Commands, loopback: Loopback
) -> None:
    """If the crawl keeps to its hosts, then no other is contacted for consent."""
    site, other = sites(loopback, 6, 2)
    sitemap = lists(site, site.page("/page/1"), other.page("/page/1"))
    other.robots(sitemap)
    result = crawl(commands, site, scope="host")
    assert site.at("/page/1") in result.graphs
    assert other.server.targets == []
    assert where(result, "cross_site") == [sitemap]
    assert decided(result) == {(other.at("/page/1"), "out_of_scope", sitemap)}


def test_refused_links_are_still_followed_elsewhere(
    commands: Commands, loopback: Loopback
) -> None:
    """If a page of another host is refused, then a link to it is followed all the same.

    The second time, the sitemap calls it changed.
    """
    site, other = sites(loopback, 7, 2)
    entry = f"<loc>{other.page('/page/1')}</loc><lastmod>2999-01-01</lastmod>"
    lists(site, site.page("/page/1"), entry)
    folder = commands.folder()
    given: dict[str, Any] = {"spider": "sitemap", "folder": folder}
    arguments = {"sites": site.at("/"), "follow": "all"}
    commands.crawl(arguments=arguments, **given)
    page = f"<> <urn:x:see> <{other.at('/page/1')}> .".encode()
    site.put("/page/2", page)
    lists(site, site.at("/page/2"), entry)
    result = commands.crawl(arguments=arguments, **given)
    assert other.at("/page/1") in result.graphs


def test_consent_that_comes_later_counts_later(
    commands: Commands, loopback: Loopback
) -> None:
    """If a host consents after the first run, then the second takes its pages.

    Though the sitemap is the same, and would say so.
    """
    site, friend = sites(loopback, 8, 2)
    sitemap = lists(site, friend.page("/page/1"))
    body = urlset([friend.at("/page/1")])

    def answer(request: RawRequest) -> bytes:
        if request.headers.get("if-none-match") == '"v1"':
            return b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n'
        return loopback.response(body, ETag='"v1"')

    site.server.pages["/sitemap.xml"] = answer
    folder = commands.folder()
    given: dict[str, Any] = {"arguments": {"sites": site.at("/")}, "spider": "sitemap"}
    first = commands.crawl(folder=folder, **given)
    assert friend.at("/page/1") not in first.graphs
    friend.robots(sitemap)
    assert friend.at("/page/1") in commands.crawl(folder=folder, **given).graphs


# -- bounds ----------------------------------------------------------------------------


def test_few_hosts_and_ports_are_contacted_because_of_one_sitemap(
    commands: Commands, loopback: Loopback
) -> None:
    """If a sitemap lists a crowd of hosts, or ports of one, then some are skipped."""
    (site,) = sites(loopback, 9, 1)
    crowd = loopback({"/page": loopback.response(b"")}, host="0.0.0.0")
    hosts = [f"http://127.98.1.{n}:{crowd.port}/page" for n in range(1, 131)]
    ports = [loopback(host="127.98.2.1") for _ in range(5)]
    sitemap = lists(site, *(x.url("/page") for x in ports), *hosts)
    result = crawl(commands, site)
    asked = [x for x in ports if x.targets]
    assert len(asked) == 3
    assert crowd.targets.count("/robots.txt") == 97
    assert "/page" not in crowd.targets
    assert result.faults(sitemap) == ["too_many_entries"]
    assert result.statuses(sitemap) == ["PARTIAL"]


# -- a worker that dies ----------------------------------------------------------------


@pytest.mark.parametrize("dies_at", ["sitemap", "robots"])
def test_nothing_that_waits_is_lost_with_a_worker(
    commands: Commands, loopback: Loopback, dies_at: str
) -> None:
    """If a worker dies where consent is noted and not yet used, then all pages come."""
    site, friend, stranger = sites(loopback, 10 if dies_at == "sitemap" else 11, 3)
    pages = [each.page(f"/page/{n}") for n in range(20) for each in (site, friend)]
    sitemap = lists(site, *pages, stranger.page("/page/1"))
    friend.robots(sitemap)
    folder = commands.folder()
    given: dict[str, Any] = {
        "arguments": {"sites": site.at("/")},
        "spider": "sitemap",
        "folder": folder,
        "FRONTIER_LEASE_SECS": 2,
    }
    # The first commit is that of the sitemap, or comes too late for anything.
    secs = 60 if dies_at == "sitemap" else 1
    running = commands.start_crawl(**given, FRONTIER_COMMIT_SECS=secs)
    wanted: Callable[[], bool] = {
        "sitemap": lambda: "/sitemap.xml" in site.server.targets,
        "robots": lambda: "/robots.txt" in friend.server.targets,
    }[dies_at]
    commands.wait_until(lambda: wanted() or running.has_ended())
    time.sleep(0.3)
    running.send(signal.SIGKILL)
    running.process.wait()
    result = commands.crawl(**given)
    assert set(pages) <= result.graphs
    assert result.counts().is_over
    assert stranger.asked() == []


# -- datasets --------------------------------------------------------------------------


def nameless(dump: str) -> str:
    """Return a dataset without a URI, of one dump."""
    return f"<sc:dataset>{dump_at(dump)}</sc:dataset>"


WORDS = "robots", "trust", "none"


@pytest.fixture(scope="module")
def dumped(commands: Commands, loopback: Loopback) -> SharedCrawl:
    """Return a crawl of sites that list a dump of a host with each of `WORDS`."""
    listing, others = [], {}
    for number, word in enumerate(WORDS, 13):
        site, other = sites(loopback, number, 2)
        other.put("/dump.nt", b"<urn:x:s> <urn:x:p> <urn:x:o> .\n")
        sitemap = lists(site, extra=nameless(other.at("/dump.nt")))
        other.robots(sitemap if word == "robots" else other.at("/own.xml"))
        listing.append(site.at("/"))
        others[word] = other
    arguments = {"sites": ",".join(listing), "trust": "127.97.14.2"}
    result = commands.crawl(arguments=arguments, spider="sitemap")
    assert result.code == 0, result.stderr
    return SharedCrawl(result, others)


@pytest.mark.parametrize("word", WORDS)
def test_dump_elsewhere_is_taken_by_consent(dumped: SharedCrawl, word: str) -> None:
    """If the host of a dump names the sitemap, or is trusted, then it is taken."""
    result, other = dumped.result, dumped.others[word]
    assert result.counts().is_over
    assert (other.at("/dump.nt") in result.graphs) is (word != "none")
    assert dumped.is_refused(other.at("/dump.nt")) is (word == "none")
    decisions = {url for url, why, _ in decided(result) if why == "cross_site"}
    assert (other.at("/dump.nt") in decisions) is (word == "none")
    if word == "trust":
        assert other.asked() == ["/dump.nt"]


def refuses(result: CrawlResult, dump: str) -> bool:
    """Return whether a dump that a sitemap claims was refused, once all is read."""
    assert result.code == 0, result.stderr
    assert result.counts().is_over
    return SharedCrawl(result, {}).is_refused(dump)


def test_sitemap_of_two_indexes_is_waited_for_once(
    commands: Commands, loopback: Loopback
) -> None:
    """If two indexes of a site list a sitemap, then a claim about the site is decided.

    The second index is read after the sitemap, which is read only once.
    """
    site, other, slow = sites(loopback, 41, 3)
    lists(site, extra=nameless(other.at("/dump.nt")))
    both = index([f"<loc>{other.at('/part.xml')}</loc>"])
    other.put("/first.xml", both)
    other.put("/part.xml", urlset([other.page("/page")]))
    reply = loopback.response(both, "application/xml")
    slow.server.pages["/second.xml"] = [1.5, reply]
    other.robots(other.at("/first.xml"), slow.at("/second.xml"))
    result = commands.crawl(arguments={"sites": site.at("/")}, spider="sitemap")
    assert other.asked().count("/part.xml") == 1
    assert slow.asked() == ["/second.xml"]
    assert refuses(result, other.at("/dump.nt"))


@pytest.mark.parametrize("deadly", ["/deadly.xml", "/deadly/robots.txt"])
def test_claim_waits_for_no_sitemap_that_is_given_up(
    commands: Commands, loopback: Loopback, deadly: str
) -> None:
    """If workers die of the file that confirms a claim, then the claim is decided.

    So it is for a sitemap, and for the robots.txt that names the sitemaps.
    """
    net = 42 + len(deadly)
    site, other = sites(loopback, net, 2)
    lists(site, extra=nameless(other.at("/dump.nt")))
    other.put(deadly, urlset([]))
    other.robots(other.at(deadly))
    if deadly.endswith("robots.txt"):
        other.server.pages["/robots.txt"] = loopback.redirect(deadly)
    own = {"tests.support.deadly.DeadlyPipeline": 350}
    result = commands.start(
        *("workers", "-n1", "sitemap", f"-asites={site.at('/')}"),
        ITEM_PIPELINES=json.dumps({**project_settings.ITEM_PIPELINES, **own}),
        CRAWL_ID="sitemap",
        FRONTIER_LEASE_SECS=1,
        FRONTIER_COMMIT_SECS=0.3,
    ).wait()
    assert where(result, "leases_lost")
    assert refuses(result, other.at("/dump.nt"))
