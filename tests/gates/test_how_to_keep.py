"""The commands of `docs/how-to/keep-a-site.md` work as described."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.portal import PortalOptions
from rdfcrawl.stores.reading import iter_quads
from tests.support.pages import blocks, commands_in, read_page

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

SITE = "https://example.org"


def test_site_is_kept_by_one_command(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If a site has linked pages and a sitemap, then one command keeps both.

    A budget ends a command, and the next one continues. After that, the front page and
    the sitemap say which pages are new; the report is written each time.
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
        code = running.wait().code
        report = tmp_path / host / "report"
        assert (report / "index.html").exists() or any(report.glob("*.html"))
        names = {path.name for path in tmp_path.iterdir() if path.is_dir()}
        assert names == {host}
        return code, set(server.targets)

    put("/a", "/b", listed=("/c",))
    assert keep("--max-documents", "1")[0] == 1
    code, asked = keep()
    assert code == 0
    assert {"/a", "/b", "/c"} <= asked
    put("/a", "/b", "/new", listed=("/c", "/d"))
    code, asked = keep()
    assert code == 0
    assert {"/new", "/d"} <= asked
    assert [server.targets.count(x) for x in ("/a", "/b", "/c")] == [1, 1, 1]


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
