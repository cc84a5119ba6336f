"""`scrapy refresh`: pages that are due are fetched again, by the next worker."""

from __future__ import annotations

import asyncio
import shutil
import time
from contextlib import closing
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

import pytest
from redis.asyncio import Redis

from rdfcrawl.frontier.redis.embedded import ensure_server
from tests.crawl.sources.test_revisits import SAYS, DatedSite, entry, said
from tests.support.later_commands import DAY_SECS
from tests.support.sitemap_sites import urlset

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

EAGER = {
    "REFRESH_POLICY": "fixed",
    "REFRESH_INTERVAL_SECS": 0,
    "REFRESH_EPOCH_SECS": 1,
}


def refresh(
    commands: Commands,
    folder: Path,
    *words: str,
    wait: bool = True,
    **settings: object,
) -> CrawlResult:
    """Run `scrapy refresh` in the next epoch, by default of all pages."""
    if wait:
        time.sleep(1 - time.time() % 1)
    given = {**EAGER, **settings}
    return commands.start("refresh", *words, folder=folder, **given).wait()


class AgingSite(DatedSite):
    """A site whose pages change, move, fail and vanish."""

    def says(self, path: str, what: str, **headers: str) -> str:
        """Serve a page that says something, with a validator; return its URL."""
        return self.tagged(path, f"<> <{SAYS}> '{what}' .".encode(), **headers)

    def leads(self, path: str, target: str) -> str:
        """Redirect a page; return its URL."""
        self.server.pages[path] = self._loopback.response(
            status="301 Moved Permanently", Location=target
        )
        return self.at(path)

    def lasts(self, path: str, what: str) -> str:
        """Serve a page that never changes, as its server says; return its URL."""
        self.server.pages[path] = self._loopback.response(
            f"<> <{SAYS}> '{what}' .".encode(),
            "text/turtle",
            **{"Cache-Control": "max-age=3600, immutable"},
        )
        return self.at(path)


def test_pages_are_kept_as_their_answers_say(
    commands: Commands, loopback: Loopback
) -> None:
    """If a page is fetched again, then the new response decides about its statements.

    304 changes nothing and costs no body; 410 deletes at once and 404 the third time;
    other failures never do. A page that has moved is stored where it is now. An
    immutable page is not requested, and a deleted one not again. Pages that links lead
    to are kept as well as seeds; a redirect leads to no second fetch of its target.
    """
    site, other = AgingSite(loopback, "127.96.1.1"), AgingSite(loopback, "127.96.1.2")
    names = ("same", "other", "gone", "missing", "broken", "near", "far")
    pages = {name: site.says(f"/{name}", name) for name in names}
    pages["lasting"] = site.lasts("/lasting", "lasting")
    links = "".join(f"<> <urn:x:to> <{url}> ." for url in pages.values())
    front = site.tagged("/", links.encode())
    folder = commands.folder()
    commands.crawl([front], folder=folder)
    site.says("/other", "changed")
    site.fails("/gone", "410 Gone")
    site.fails("/missing", "404 Not Found")
    site.fails("/broken", "500 Internal Server Error")
    site.leads("/near", site.says("/nearby", "near"))
    site.leads("/far", other.says("/away", "far"))
    asked, stored = [], []
    for _ in range(3):
        counts = [len(each.asked()) for each in (site, other)]
        told = refresh(commands, folder, REFRESH_RETRY_SECS=0, REFRESH_GONE_SECS=0)
        assert told.code == 0, told.stderr
        result = commands.crawl(folder=folder, RETRY_TIMES=0)
        asked.append(sorted(site.asked()[counts[0] :] + other.asked()[counts[1] :]))
        stored.append(said(result))
    kept = {pages["same"]: "same", pages["other"]: "changed"}
    kept |= {pages["broken"]: "broken", pages["lasting"]: "lasting"}
    kept |= {site.at("/nearby"): "near", other.at("/away"): "far"}
    assert stored == [kept | {pages["missing"]: "missing"}] * 2 + [kept]
    assert result.statuses(pages["same"]) == ["SUCCESSFUL", *["UNCHANGED"] * 3]
    assert result.statuses(pages["other"]) == ["SUCCESSFUL"] * 2 + ["UNCHANGED"] * 2
    assert result.statuses(pages["gone"]) == ["SUCCESSFUL", "DELETED"]
    assert result.statuses(pages["missing"]) == [
        *("SUCCESSFUL", "FAILED", "FAILED", "DELETED"),
    ]
    assert result.statuses(pages["far"]) == ["SUCCESSFUL", *["REDIRECTED"] * 3]
    assert result.statuses(pages["lasting"]) == ["SUCCESSFUL"]
    assert result.writes()[pages["same"]] == 1
    first, *later = asked
    again = ["/", "/away", "/broken", "/far", "/missing", "/near", "/nearby"]
    again += ["/other", "/same"]
    assert first == sorted([*again, "/gone"])
    assert later == [again] * 2


def test_pages_behind_redirects_are_gone_with_their_targets(
    commands: Commands, loopback: Loopback
) -> None:
    """If the target of a redirect is gone, then so are its statements, as a page's are.

    So it is for descriptions to which the URI of a thing leads (303), and for targets
    on other hosts; not if the target fails otherwise.
    """
    site, other = AgingSite(loopback, "127.96.7.1"), AgingSite(loopback, "127.96.7.2")
    ends = {"ended": "410 Gone", "lacks": "404 Not Found", "fails": "500 Oops"}
    for name in ends:
        site.says(f"/{name}-there", name)
        site.server.pages[f"/{name}"] = loopback.redirect(f"/{name}-there")
    site.server.pages["/far"] = loopback.redirect(other.says("/far-there", "far"))
    links = "".join(f"<> <urn:x:to> <{site.at(f'/{x}')}> ." for x in (*ends, "far"))
    folder = commands.folder()
    result = commands.crawl([site.tagged("/", links.encode())], folder=folder)
    assert sorted(said(result).values()) == ["ended", "fails", "far", "lacks"]
    for name, status in ends.items():
        site.fails(f"/{name}-there", status)
    other.fails("/far-there", "410 Gone")
    stored = []
    for _ in range(3):
        told = refresh(commands, folder, REFRESH_RETRY_SECS=0, REFRESH_GONE_SECS=0)
        assert told.code == 0, told.stderr
        result = commands.crawl(folder=folder, RETRY_TIMES=0)
        stored.append(sorted(said(result).values()))
    assert stored == [["fails", "lacks"], ["fails", "lacks"], ["fails"]]


def test_former_target_of_a_refreshed_page_answers_for_itself(
    commands: Commands, loopback: Loopback
) -> None:
    """If a page gets other links, then the former targets are requested, not deleted.

    The same holds if the page responds itself again, is redirected to another host, or
    is gone; a target that is not found is deleted as any page, after several tries.
    """
    site, other = AgingSite(loopback, "127.96.2.1"), AgingSite(loopback, "127.96.2.2")
    ways = ("back", "away", "gone", "both")
    pages = {way: site.leads(f"/{way}", f"/{way}-there") for way in ways}
    there = {way: site.says(f"/{way}-there", way) for way in ways}
    links = "".join(f"<> <urn:x:to> <{url}> ." for url in pages.values())
    folder = commands.folder()
    result = commands.crawl([site.tagged("/", links.encode())], folder=folder)
    assert said(result) == {there[way]: way for way in ways}
    site.says("/back", "again")
    site.leads("/away", other.says("/a", "a"))
    site.fails("/gone", "410 Gone")
    site.fails("/both", "410 Gone")
    site.fails("/both-there", "404 Not Found")
    tries: dict[str, Any] = {
        "REFRESH_GONE_TRIES": 2,
        "REFRESH_GONE_SECS": 0,
        "REFRESH_RETRY_SECS": 0,
    }
    for kept in (ways, ways[:-1]):
        told = refresh(commands, folder, **tries)
        assert told.code == 0, told.stderr
        result = commands.crawl(folder=folder, RETRY_TIMES=0)
        former = {there[way]: way for way in kept}
        assert said(result) == {**former, pages["back"]: "again", other.at("/a"): "a"}
    assert result.statuses(there["both"]) == ["FAILED", "DELETED"]


def test_former_target_that_fails_at_first_is_requested_again(
    commands: Commands, loopback: Loopback
) -> None:
    """If a page loses its link to a target, and that fails, then it is tried again.

    So its former statements are deleted once it is known to be gone.
    """
    site = AgingSite(loopback, "127.96.5.1")
    page, there = site.leads("/page", "/there"), site.says("/there", "there")
    folder = commands.folder()
    assert said(commands.crawl([page], folder=folder)) == {there: "there"}
    site.says("/page", "itself")
    stored = []
    for status in ("500 Internal Server Error", "410 Gone"):
        site.fails("/there", status)
        refresh(commands, folder, REFRESH_RETRY_SECS=0)
        result = commands.crawl(folder=folder, RETRY_TIMES=0)
        stored.append(said(result))
    assert stored == [{page: "itself", there: "there"}, {page: "itself"}]
    assert result.statuses(there) == ["FAILED", "DELETED"]


def test_refreshed_pages_have_the_arguments_of_their_spider(
    commands: Commands, loopback: Loopback
) -> None:
    """If a crawl has two spiders, then the links of a page are followed by its own.

    The operator may name another one of the crawl, and no other.
    """
    site, other = AgingSite(loopback, "127.96.3.1"), AgingSite(loopback, "127.96.3.2")
    seed, listed = site.says("/", "seed"), other.says("/page", "listed")
    other.put("/sitemap.xml", urlset([entry(listed)]))
    folder = commands.folder()
    commands.crawl([seed], folder=folder, arguments={"depth": 0}, CRAWL_ID="two")
    sites = {"sites": other.at("/"), "follow": "all", "depth": 5}
    given: dict[str, Any] = {"folder": folder, "CRAWL_ID": "two"}
    commands.crawl(arguments=sites, spider="sitemap", **given)

    def leads_to(name: str) -> list[str]:
        for each in (site, other):
            body = f"<> <urn:x:to> <{each.at(f'/{name}')}> ."
            each.tagged("/" if each is site else "/page", body.encode())
            each.says(f"/{name}", name)
        asked.append((len(site.asked()), len(other.asked())))
        commands.crawl(spider="linkeddata", **given)
        at_site, at_other = asked[-1]
        return [*site.asked()[at_site:], *other.asked()[at_other:]]

    asked: list[tuple[int, int]] = []
    refresh(commands, folder, CRAWL_ID="two")
    assert leads_to("first") == ["/", "/page", "/first"]
    told = refresh(commands, folder, "--spider", "linkeddata", CRAWL_ID="two")
    assert told.code == 0, told.stderr
    assert leads_to("second") == ["/", "/page", "/first"]
    refused = refresh(commands, folder, "--spider", "sparql", CRAWL_ID="two")
    assert refused.code == 2
    assert "--spider sparql: not of this crawl" in refused.stderr


def n_remembered(folder: Path) -> int:
    """Return how many fingerprints the frontier of a crawl keeps."""

    async def look(url: str) -> int:
        async with Redis.from_url(url) as redis:
            names = redis.scan_iter(match=f"rc:{{{folder.name}/*}}:s:*")
            return sum([await redis.scard(name) async for name in names])

    with closing(ensure_server(folder / "frontier")) as server:
        return asyncio.run(look(server.url))


@pytest.mark.in_turn(2, rooms=("frontier", "monitor/refreshing"))
def test_refresh_does_not_fill_the_frontier(
    commands: Commands, loopback: Loopback
) -> None:
    """If pages are fetched repeatedly, then the frontier does not grow.

    A plan that is queued twice is fetched once all the same.
    """
    site = AgingSite(loopback, "127.96.4.1")
    pages = [site.says(f"/{n}", "once") for n in range(5)]
    folder = commands.folder()
    crawl = commands.crawl(pages, folder=folder).folder
    found, n_asked = [], []
    for _ in range(4):
        n_before = len(site.asked())
        # Long enough for the second one to be of the same epoch.
        given = {"REFRESH_EPOCH_SECS": 2, "REFRESH_INTERVAL_SECS": 0}
        time.sleep(2 - time.time() % 2)
        for _ in range(2):
            refresh(commands, folder, wait=False, **given)
        commands.crawl(folder=folder)
        found.append(n_remembered(crawl))
        n_asked.append(len(site.asked()) - n_before)
    assert n_asked == [len(pages)] * 4
    assert found[1:] == [found[0]] * 3


def test_refresh_goes_on_without_the_old_frontier(
    commands: Commands, loopback: Loopback
) -> None:
    """If the frontier was lost, then pages are refreshed by the logs, each once.

    Though pages are links to themselves, and to each other.
    """
    site = AgingSite(loopback, "127.96.10.1")
    pages = [site.at(f"/{n}") for n in range(3)]
    links = "".join(f"<> <urn:x:to> <{url}> ." for url in pages)

    def serve(what: str) -> None:
        for n in range(3):
            body = f"<> <{SAYS}> '{what}' . {links}"
            site.tagged(f"/{n}", body.encode())

    serve("first")
    folder = commands.folder()
    crawl = commands.crawl(pages[:1], folder=folder)
    assert said(crawl) == dict.fromkeys(pages, "first")
    frontier = crawl.folder / "frontier"
    commands.wait_until(lambda: not (frontier / "redis.sock").exists())
    shutil.rmtree(frontier)
    serve("second")
    n_asked = len(site.asked())
    told = refresh(commands, folder)
    assert told.code == 0, told.stderr
    result = commands.crawl(folder=folder)
    assert said(result) == dict.fromkeys(pages, "second")
    assert sorted(site.asked()[n_asked:]) == ["/0", "/1", "/2"]


def of_day(n: int) -> str:
    """Return a `Last-Modified` of a day."""
    return formatdate(n * DAY_SECS, usegmt=True)


def redirect_all(
    site: AgingSite, loopback: Loopback, targets: dict[tuple[str, str], str]
) -> None:
    """Redirect pages, each in the way that its name says."""
    for (name, group), target in targets.items():
        status = name if name.isdecimal() else "301"
        reply = loopback.response(status=f"{status} Moved", Location=target)
        if name == "meta":
            page = f"<html><head><meta http-equiv=refresh content='0; url={target}'>"
            reply = loopback.response(page.encode(), "text/html")
        elif name == "canonical":
            link = f'<{target}>; rel="canonical"'
            body = f"<> <{SAYS}> '{name}' .".encode()
            reply = loopback.response(body, "text/turtle", Link=link)
        site.server.pages[f"/{name}/{group}"] = reply


@pytest.mark.in_turn(2, rooms=("pipelines", "downloader", "monitor/refreshing"))
def test_last_copy_stays_until_the_target_of_a_redirect_is_read(
    commands: Commands, loopback: Loopback
) -> None:
    """If a page redirects, then its statements stay until those of the target are read.

    So they stay if the target fails, is excluded, leads back, is empty, wants a login
    or is the front page, and go once it is read, or has been missing for long enough.
    The target may be older than the page was.
    """
    site, other, third = (AgingSite(loopback, f"127.96.6.{n}") for n in (1, 2, 3))
    form = f"<html><body><p property='{SAYS}'>login</p></body></html>".encode()
    for host in (other, third):
        host.put("/robots.txt", b"User-agent: *\nDisallow: /no/", "text/plain")
        for path in ("/", "/login?next=%2Fd"):
            host.put(path, form, "text/html")
    other.leads("/hop", third.says("/end", "end"))
    other.leads("/hop500", third.fails("/500", "500 Internal Server Error"))
    other.leads("/back", site.at("/loop/linked"))
    other.put("/empty", b"", "text/turtle")
    read = {
        **{str(n): other.says(f"/{n}", "there") for n in (301, 302, 303, 307, 308)},
        "chain": third.at("/end"),
        "meta": other.says("/meta", "there"),
        "older": other.says("/older", "there", Last_Modified=of_day(1)),
        "old": site.says("/old", "there", Last_Modified=of_day(1)),
        "gone": "",
    }
    kept = {
        "late": other.fails("/late", "503 Service Unavailable"),
        "lost": other.fails("/lost", "404 Not Found"),
        "dead": "http://127.96.6.9:9/dead",
        "excluded": other.says("/no/1", "there"),
        "broken": other.at("/hop500"),
        "loop": other.at("/back"),
        "empty": other.at("/empty"),
        "wall": other.at("/login?next=%2Fd"),
        "front": third.at("/"),
        "cut": other.at("/cut"),
        "canonical": other.at("/"),
        "own": site.fails("/own500", "500 Internal Server Error"),
    }
    cut = b"HTTP/1.1 200 OK\r\nContent-Type: text/turtle\r\nContent-Length: 9\r\n\r\n<>"
    other.server.pages["/cut"] = [cut, None]
    groups = ("linked", "seed")
    pages = {
        (x, y): site.says(f"/{x}/{y}", x, Last_Modified=of_day(2))
        for x in {**read, **kept}
        for y in groups
    }
    links = "".join(f"<> <urn:x:to> <{url}> ." for url in pages.values())
    seeds = [url for (_, group), url in pages.items() if group == "seed"]
    folder = commands.folder()
    first = commands.crawl([site.tagged("/", links.encode()), *seeds], folder=folder)
    assert said(first) == {url: name for (name, _), url in pages.items()}
    targets = {**read, **kept, "chain": other.at("/hop"), "gone": other.at("/410")}
    redirect_all(site, loopback, {each: targets[each[0]] for each in pages})
    other.fails("/410", "410 Gone")
    given: dict[str, Any] = {
        "REFRESH_RETRY_SECS": 0,
        "REFRESH_GONE_SECS": 0,
        "REFRESH_GONE_TRIES": 4,
    }
    moved = {url: "there" for url in read.values() if url} | {third.at("/end"): "end"}
    stays = {url: name for (name, _), url in pages.items() if name in kept}
    for _ in range(2):
        assert refresh(commands, folder, **given).code == 0
        result = commands.crawl(folder=folder, RETRY_TIMES=0)
        assert {url: x for url, x in said(result).items() if x != "login"} == (
            moved | stays
        )
    other.says("/late", "late")
    other.says("/empty", "late")
    third.says("/500", "late")
    assert refresh(commands, folder, **given).code == 0
    result = commands.crawl(folder=folder, RETRY_TIMES=0)
    moved |= dict.fromkeys(
        (other.at("/late"), other.at("/empty"), third.at("/500")), "late"
    )
    moved |= dict.fromkeys((kept["wall"], kept["front"]), "login")
    healed = ("late", "empty", "broken", "lost", "wall", "front")
    stays = {url: name for url, name in stays.items() if name not in healed}
    assert said(result) == moved | stays
    n_asked = len(other.asked())
    assert refresh(commands, folder, **given).code == 0
    assert said(commands.crawl(folder=folder, RETRY_TIMES=0)) == said(result)
    assert other.asked()[n_asked:].count("/301") == 1


def test_sitemaps_and_refresh_request_a_page_once(
    commands: Commands, loopback: Loopback
) -> None:
    """If a refresh has queued pages whose dates are new, they are requested once.

    Nor are they requested in the next run, as they were fetched since their dates.
    """
    site = AgingSite(loopback, "127.96.1.9")
    names = [f"/p{n}" for n in range(6)]

    def dates(year: int) -> None:
        pages = [site.says(name, f"{name} of {year}") for name in names]
        listed = [entry(url, f"{year}-01-01") for url in pages]
        site.put("/sitemap.xml", urlset(listed), "application/xml")

    def crawl() -> CrawlResult:
        return commands.crawl(
            folder=folder, spider="sitemap", arguments={"sites": site.at("/")}
        )

    dates(2001)
    folder = commands.folder()
    crawl()
    dates(2002)
    assert refresh(commands, folder).code == 0
    n_asked = len(site.asked())
    result = crawl()
    asked = [path for path in site.asked()[n_asked:] if path in names]
    assert sorted(asked) == names
    assert set(said(result).values()) == {f"{name} of 2002" for name in names}
    n_asked = len(site.asked())
    crawl()
    assert not set(names) & set(site.asked()[n_asked:])
