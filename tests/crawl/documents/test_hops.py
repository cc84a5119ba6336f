"""Targets of redirects, and the rules that judge them, in real crawls."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import pytest

from rdfcrawl.core.errors import Reason

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

GOOD = b"<http://a.example/s> <http://a.example/p> <http://a.example/o> ."
DELAY_SECS = 0.1
TEXT = "text/plain"


class RedirectedCrawl(NamedTuple):
    """One crawl of a host with several ports, and of another host."""

    main: RawServer
    port: RawServer
    broken: RawServer
    slow: RawServer
    away: RawServer
    result: CrawlResult

    def faults(self, path: str) -> list[tuple[str, str]]:
        """Return reason and detail of the fault of a seed."""
        url = self.main.url(path)
        return list(
            zip(self.result.faults(url), self.result.details(url), strict=False)
        )


def denying(folder: Path, *patterns: str) -> Path:
    """Write a file of patterns."""
    path = folder / "deny.txt"
    path.write_text("".join(f"{pattern}\n" for pattern in patterns))
    return path


@pytest.fixture(scope="module", params=["own", "scrapy"])
def crawled(
    request: pytest.FixtureRequest, commands: Commands, loopback: Loopback
) -> RedirectedCrawl:
    """Return a crawl of URIs that redirect, by our own requests and by Scrapy's."""
    response, redirect = loopback.response, loopback.redirect
    host = f"127.0.24.{1 + (request.param == 'scrapy')}"
    robots = response(b"User-agent: *\nDisallow: /private\nCrawl-delay: 0.3", TEXT)
    good = response(GOOD)
    port = loopback(
        {"/robots.txt": robots, "/private/x": good, "/open": good}, host=host
    )
    broken = loopback(
        {"/robots.txt": response(status="503 Later"), "/x": good}, host=host
    )
    slow = loopback(
        {
            "/robots.txt": response(b"User-agent: *\nCrawl-delay: 86400", TEXT),
            "/x": good,
        },
        host=host,
    )
    away = loopback({"/denied/x": good, "/x": good}, host=f"127.0.25.{host[-1]}")
    targets = {
        "/id/ok": "/doc/ok",
        "/id/secret": "/secret/x",
        "/id/twice": "/step",
        "/step": "/secret/y",
        "/id/denied": "/denied/x",
        "/id/port": port.url("/private/x"),
        "/id/port-ok": port.url("/open"),
        "/id/broken": broken.url("/x"),
        "/id/slow": slow.url("/x"),
        "/id/away": away.url("/denied/x"),
        "/id/away-ok": away.url("/x"),
    }
    main = loopback(
        {
            "/robots.txt": response(b"User-agent: *\nDisallow: /secret", TEXT),
            "/doc/ok": good,
            "/secret/x": good,
            "/secret/y": good,
            "/denied/x": good,
            **{path: redirect(target, "303 Other") for path, target in targets.items()},
        },
        host=host,
    )
    result = commands.crawl(
        [main.url(path) for path in targets if path != "/step"],
        arguments={"follow": "none", "deny": denying(commands.folder(), "/denied/")},
        DOWNLOAD_DELAY=DELAY_SECS,
        FETCH_WITH_SCRAPY=request.param == "scrapy",
    )
    assert result.code == 0, result.stderr
    return RedirectedCrawl(main, port, broken, slow, away, result)


@pytest.mark.parametrize(
    ("path", "server", "target", "reason"),
    [
        ("/id/secret", "main", "/secret/x", Reason.ROBOTS_DISALLOWED),
        ("/id/twice", "main", "/secret/y", Reason.ROBOTS_DISALLOWED),
        ("/id/port", "port", "/private/x", Reason.ROBOTS_DISALLOWED),
        ("/id/slow", "slow", "/x", Reason.CRAWL_DELAY_TOO_LONG),
        ("/id/denied", "main", "/denied/x", Reason.NOT_WANTED),
        ("/id/away", "away", "/denied/x", Reason.NOT_WANTED),
    ],
)
def test_no_redirect_walks_around_a_refusal(
    crawled: RedirectedCrawl, path: str, server: str, target: str, reason: Reason
) -> None:
    """If a target is refused, then it is not requested, and a fault names it."""
    there: RawServer = getattr(crawled, server)
    assert target not in there.targets
    ((found, detail),) = crawled.faults(path)
    assert found == reason
    assert detail.endswith(there.url(target))
    assert crawled.result.statuses(crawled.main.url(path)) == ["FAILED"]
    assert crawled.result.statistics[f"fault/{reason}"] >= 1


def test_unreadable_rules_of_another_port(crawled: RedirectedCrawl) -> None:
    """If robots.txt of a target's origin is unavailable, no page there is requested."""
    assert set(crawled.broken.targets) == {"/robots.txt"}
    (first, _), *_ = crawled.faults("/id/broken")
    assert first == Reason.ROBOTS_UNREACHABLE


def test_allowed_redirects_are_followed(crawled: RedirectedCrawl) -> None:
    """If no site forbids a target, then it is fetched, on the same host or another."""
    for server, path, target in (
        (crawled.main, "/id/ok", "/doc/ok"),
        (crawled.port, "/id/port-ok", "/open"),
    ):
        assert target in server.targets
        assert crawled.result.statuses(crawled.main.url(path)) == ["SUCCESSFUL"]
    assert crawled.result.statuses(crawled.away.url("/x")) == ["SUCCESSFUL"]


def test_hops_are_paced(crawled: RedirectedCrawl) -> None:
    """If one host has several ports, then all requests to it keep the delay."""
    servers = (crawled.main, crawled.port, crawled.broken, crawled.slow)
    times = sorted(request.at for server in servers for request in server.requests)
    assert len(times) > 12
    assert min(b - a for a, b in pairwise(times)) > DELAY_SECS * 0.5


def test_delay_of_a_target_is_kept(crawled: RedirectedCrawl) -> None:
    """If the origin of a target sets a delay, then its host gets it from then."""
    asked = crawled.port.requests[-1]
    servers = (crawled.main, crawled.port, crawled.broken, crawled.slow)
    later = [r.at for server in servers for r in server.requests if r.at > asked.at]
    assert not later or min(later) - asked.at > 0.3 * 0.5


def test_another_host_of_the_same_address(
    commands: Commands, loopback: Loopback
) -> None:
    """If hosts share a politeness key, then each is judged by its own robots.txt."""
    pages = {"/x": loopback.response(GOOD), "/private": loopback.response(GOOD)}
    server = loopback(pages)
    named = server.url("/").replace("127.0.0.1", "localhost")
    server.pages["/1"] = loopback.redirect(f"{named}private")
    server.pages["/2"] = loopback.redirect(f"{named}x")
    rules = loopback.response(b"User-agent: *\nDisallow: /private", TEXT)
    nothing = loopback.response(b"", TEXT)
    server.pages["/robots.txt"] = lambda request: (
        rules if request.headers["host"].startswith("localhost") else nothing
    )
    result = commands.crawl(
        [server.url("/1"), server.url("/2")],
        arguments={"follow": "none"},
        POLITENESS_KEY="ip",
    )
    assert result.faults(server.url("/1")) == [Reason.ROBOTS_DISALLOWED]
    assert "/private" not in server.targets
    assert "/x" in server.targets
    assert server.targets.count("/robots.txt") == 2


def test_scope_holds_for_redirects(commands: Commands, loopback: Loopback) -> None:
    """If a seed redirects out of the scope, then that is a fault with the target."""
    server = loopback({"/doc/x": loopback.response(GOOD)}, host="127.0.24.9")
    server.pages["/id/x"] = loopback.redirect("/doc/x")
    seed = server.url("/id/x")
    result = commands.crawl([seed], arguments={"scope": "prefix"})
    assert result.faults(seed) == [Reason.NOT_WANTED]
    assert result.details(seed) == [server.url("/doc/x")]
    assert "/doc/x" not in server.targets


def test_redirected_robots_of_a_sitemap(commands: Commands, loopback: Loopback) -> None:
    """If robots.txt redirects to where it forbids to go, then it is read there."""
    server = loopback(host="127.0.24.10")
    rules = f"User-agent: *\nDisallow: /static/\nSitemap: {server.url('/s.xml')}\n"
    page = server.url("/page")
    server.pages |= {
        "/robots.txt": loopback.redirect("/static/robots.txt"),
        "/static/robots.txt": loopback.response(rules.encode(), TEXT),
        "/s.xml": loopback.response(
            f"<urlset><url><loc>{page}</loc></url></urlset>".encode(), "text/xml"
        ),
        "/page": loopback.response(GOOD),
    }
    result = commands.crawl(
        spider="sitemap", arguments={"sites": server.url("/"), "follow": "none"}
    )
    assert result.statuses(page) == ["SUCCESSFUL"], result.stderr


def test_parts_of_a_source_elsewhere_are_denied(
    commands: Commands, loopback: Loopback
) -> None:
    """If a site names a sitemap on a host that is denied, then it is not requested."""
    site, other = (loopback(host=f"127.0.24.{n}") for n in (13, 14))
    own, foreign = site.url("/denied.txt"), other.url("/denied.txt")
    page = site.url("/page")
    site.pages |= {
        "/robots.txt": loopback.response(
            f"Sitemap: {own}\nSitemap: {foreign}\n".encode(), TEXT
        ),
        "/denied.txt": loopback.response(page.encode(), TEXT),
        "/page": loopback.response(GOOD),
    }
    other.pages["/denied.txt"] = loopback.response(page.encode(), TEXT)
    result = commands.crawl(
        spider="sitemap",
        arguments={
            "sites": site.url("/"),
            "follow": "none",
            "deny": denying(commands.folder(), r"denied\.txt"),
        },
    )
    assert result.statuses(page) == ["SUCCESSFUL"]
    assert result.faults(foreign) == [Reason.NOT_WANTED]
    assert "/denied.txt" not in other.targets


def test_robots_of_many_hosts_on_one(commands: Commands, loopback: Loopback) -> None:
    """If many robots.txt redirect to one host, then its requests come one by one."""
    common = loopback(
        {"/robots.txt": loopback.response(b"User-agent: *\nDisallow: /a", TEXT)},
        host="127.0.24.20",
    )
    hosts = [
        loopback(
            {
                "/robots.txt": loopback.redirect(common.url("/robots.txt")),
                "/b": loopback.response(GOOD),
            },
            host=f"127.0.24.{n}",
        )
        for n in range(21, 26)
    ]
    seeds = [host.url(path) for host in hosts for path in ("/a", "/b")]
    result = commands.crawl(seeds, arguments={"follow": "none"}, DOWNLOAD_DELAY=0.2)
    assert result.statistics["fault/robots_disallowed"] == len(hosts)
    times = [request.at for request in common.requests]
    assert len(times) == len(hosts)
    assert min(b - a for a, b in pairwise(times)) > 0.2 * 0.8


def test_denied_contexts(commands: Commands, loopback: Loopback) -> None:
    """If a context is denied, or redirects to a denied URL, then a fault says so."""
    server = loopback(host="127.0.24.11")
    body = b'{"@context": "%s", "@id": "http://a.example/s", "name": "x"}'
    for path, context in (("/1", "/denied/c"), ("/2", "/c")):
        url = server.url(context).encode()
        server.pages[path] = loopback.response(body % url, "application/ld+json")
    server.pages["/c"] = loopback.redirect("/denied/c")
    server.pages["/denied/c"] = loopback.response(b'{"@context": {}}')
    seeds = [server.url("/1"), server.url("/2")]
    deny = denying(commands.folder(), "/denied/")
    result = commands.crawl(seeds, arguments={"follow": "none", "deny": deny})
    for seed in seeds:
        assert result.faults(seed) == [Reason.BAD_TERM, Reason.REMOTE_CONTEXT]
        assert Reason.NOT_WANTED in str(result.details(seed))
    assert "/denied/c" not in server.targets


def test_one_document_for_a_person(commands: Commands, loopback: Loopback) -> None:
    """If `scrapy rdf` is redirected to a forbidden URL, then it says so."""
    server = loopback(host="127.0.24.12")
    rules = b"User-agent: *\nDisallow: /secret"
    server.pages |= {
        "/robots.txt": loopback.response(rules, TEXT),
        "/x": loopback.redirect("/secret"),
        "/secret": loopback.response(GOOD),
    }
    result = commands.start("rdf", server.url("/x")).wait()
    assert Reason.ROBOTS_DISALLOWED in result.stderr
    assert "/secret" not in server.targets
