"""The commands of `docs/how-to/keep-a-site.md` work as described."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.endpoint import EndpointOptions
from rdfcrawl.dataweb.nodes.portal import PortalOptions
from rdfcrawl.stores.reading import iter_quads
from tests.injector.kinds import KINDS
from tests.injector.sites import InjectedSite
from tests.support.oai_repositories import (
    OaiRepository,
    RepositoryItem,
    ServedRepository,
)
from tests.support.pages import blocks, commands_in, read_page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

SITE = "https://example.org"


def test_site_is_kept_by_one_command(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If a site has linked pages and a sitemap, then one command keeps both.

    A budget ends a command, and the next one continues. After that, the front page and
    the sitemap say which pages are new; the report is written each time. With a wanted
    freshness, pages are requested again that it needs.
    """
    page = read_page("keep-a-site.md")
    (words,) = commands_in(page)
    cron, service = blocks(page, "")[0], blocks(page, "ini")[0]
    given = shlex.split(cron)
    assert given[given.index("keep") : given.index("--logfile")] == words[1:]
    assert shlex.join(words[1:]) in service
    server = loopback()

    def put(*linked: str, listed: tuple[str, ...]) -> None:
        links = "".join(f'<a href="{each}">{each}</a>' for each in linked)
        for each in (*linked, *listed):
            body = f'<> <urn:x:name> "{each}" .'.encode()
            server.pages[each] = loopback.response(body)
        server.pages["/"] = loopback.response(links.encode(), "text/html")
        rows = "".join(f"<url><loc>{server.url(x)}</loc></url>" for x in listed)
        urls = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}'
        body = f"{urls}</urlset>".encode()
        server.pages["/sitemap.xml"] = loopback.response(body, "application/xml")
        robots = f"Sitemap: {server.url('/sitemap.xml')}\n".encode()
        server.pages["/robots.txt"] = loopback.response(robots, "text/plain")

    def keep(*more: str) -> tuple[int, set[str]]:
        typed = [x.replace(f"{SITE}/", server.url("/")) for x in words[1:]]
        host = server.url("").partition("://")[2].strip("/").replace(":", "_")
        running = commands.start(*typed, *more, folder=tmp_path, STATS_DUMP=False)
        result = running.wait()
        said.append(result.stderr)
        report = tmp_path / host / "report"
        assert (report / "index.html").exists() or any(report.glob("*.html"))
        names = {path.name for path in tmp_path.iterdir() if path.is_dir()}
        assert names == {host}
        return result.code, set(server.targets)

    said: list[str] = []
    put("/a", "/b", listed=("/c",))
    assert keep("--max-documents", "1")[0] == 1
    code, asked = keep()
    assert code == 0
    assert {"/a", "/b", "/c"} <= asked
    put("/a", "/b", "/new", listed=("/c", "/d"))
    code, asked = keep()
    assert code == 0
    assert {"/new", "/d"} <= asked
    pages = "/a", "/b", "/c", "/d", "/new"
    assert [server.targets.count(x) for x in pages] == [1] * 5
    assert keep("-sFRESHNESS=0.1", "-sREFRESH_EPOCH_SECS=1")[0] == 0
    assert "FRESHNESS=0.1: 1 fetch in this epoch keeps 0." in said[-1]
    assert sorted(server.targets.count(x) for x in pages) == [1, 1, 1, 1, 2]


def test_portal_is_kept_by_the_same_command(commands: Commands, tmp_path: Path) -> None:
    """If the site is a portal, then its datasets are harvested, and not again."""
    with LocalWeb(first_address="127.81.19.7", n_hosts=1) as web:
        portal = web.start(PortalOptions())
        site, host = f"{portal.origin}/", portal.origin.partition("://")[2]
        for _ in range(2):
            result = commands.start("keep", site, folder=tmp_path).wait()
            assert result.code == 0, result.stderr
    folder = tmp_path / host.replace(":", "_")
    quads = b"".join(iter_quads(folder / "quads"))
    assert quads.count(b"dcat#Dataset> .") + quads.count(b"dcat#Dataset> <") > 100
    assert result.statistics["document/seen"] < 50


def keep_twice(
    commands: Commands, folder: Path, site: str, change: Callable[[], object]
) -> list[set[str]]:
    """Keep a site, let it change, keep it again; return the objects of each copy."""
    name = site.partition("://")[2].partition("/")[0].replace(":", "_")
    copies = []
    for _ in range(2):
        result = commands.start("keep", site, folder=folder, STATS_DUMP=False).wait()
        assert result.code == 0, result.stderr
        kept = replace(result, folder=folder / name).latest_quads
        copies.append({term for _, _, term, _ in kept})
        change()
    return copies


def test_feed_and_repository_are_kept_by_their_urls(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If the site is the URL of a feed or repository, then its entries are kept."""
    server = loopback(host="127.20.34.1")

    def write(**entries: str) -> None:
        rows = "".join(
            f"<entry><link href='{server.url(f'/{name}')}'/>"
            f"<updated>{date}</updated></entry>"
            for name, date in entries.items()
        )
        feed = f"<feed xmlns='http://www.w3.org/2005/Atom'>{rows}</feed>".encode()
        server.pages["/feed"] = loopback.response(feed, "application/atom+xml")
        for name, date in entries.items():
            body = f'<> <urn:x:date> "{date}" .'.encode()
            server.pages[f"/{name}"] = loopback.response(body)

    write(a="2024-01-01T00:00:00Z")
    first, second = keep_twice(
        *(commands, tmp_path, server.url("/feed")),
        lambda: write(a="2024-02-01T00:00:00Z", b="2024-03-01T00:00:00Z"),
    )
    assert '"2024-01-01T00:00:00Z"' in first
    assert {'"2024-02-01T00:00:00Z"', '"2024-03-01T00:00:00Z"'} <= second

    repository = OaiRepository()
    repository.put(RepositoryItem("1", "2025-01-01T00:00:00Z", "old"))
    with ServedRepository(repository, "127.20.34.2"):
        first, second = keep_twice(
            *(commands, tmp_path, repository.base),
            lambda: repository.put(
                RepositoryItem("1", "2099-01-01T00:00:00Z", is_deleted=True),
                RepositoryItem("2", "2099-01-01T00:00:00Z", "new"),
            ),
        )
    assert '"old"@en' in first
    assert '"new"@en' in second
    assert '"old"@en' not in second


def test_resourcesync_and_endpoint_are_kept(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If the site is a source of ResourceSync or an endpoint, then it is kept."""
    kind = next(each for each in KINDS if each.name == "list")
    site = InjectedSite(kind, loopback, "127.20.34.3")
    site.begin(version=1)

    def evolve() -> None:
        site.begin(version=2)

    copies = keep_twice(commands, tmp_path, f"{site.origin}/", evolve)
    for version, copy in enumerate(copies, start=1):
        truth = site.truth(version).values()
        assert {term for triples in truth for *_, term in triples} <= copy
    with LocalWeb(first_address="127.81.19.8", n_hosts=1) as web:
        node = web.start(EndpointOptions(n_triples=30, blank_share=0))
        first, second = keep_twice(commands, tmp_path, node.endpoint_url, list)
    assert len(first) > 10
    assert first == second


def test_site_that_does_not_respond_is_tried_again(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If a site is down, then the line says so, and the next command tries again."""
    server = loopback(host="127.20.34.4")
    site = server.url("/")
    server.pages |= {"/": [None], "/robots.txt": [None]}
    soon = {"RETRY_TIMES": 0, "HOST_LAST_WAIT_SECS": 0}
    host = site.split("/")[2]
    (folder := tmp_path / "https").mkdir()
    result = commands.start("keep", host, folder=folder, **soon).wait()
    assert f"without HTTPS: `scrapy keep http://{host}`" in result.stderr
    result = commands.start("keep", site, folder=tmp_path, **soon).wait()
    assert "not reached" in result.stderr
    server.pages |= {"/": loopback.response(b"", "text/plain", status="404 No")}
    del server.pages["/robots.txt"]
    result = commands.start("keep", site, folder=tmp_path).wait()
    assert f"no statements; `scrapy look {site}` shows" in result.stderr
    server.pages |= {
        "/": loopback.response(b'<> <urn:x:p> "there" .'),
        "/robots.txt": loopback.response(b"", "text/plain"),
    }
    assert '"there"' in keep_twice(commands, tmp_path, site, list)[0]
