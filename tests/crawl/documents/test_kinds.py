"""The kind of a URL does not depend on its source: dumps have the limits of dumps."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

N_LINES = 200
PAGE_BYTES = 4096  # a page may be so long; each dump here is longer
VOID = "http://rdfs.org/ns/void#"
DCAT = "http://www.w3.org/ns/dcat#"
SITEMAP = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


class Site:
    """A site with a large file."""

    def __init__(self, loopback: Loopback, host: str) -> None:
        self._loopback = loopback
        self.server: RawServer = loopback(host=host)
        self.at = self.server.url

    def put(self, path: str, text: str, media_type: str = "text/turtle") -> str:
        """Serve a text; return its URL."""
        body = text.encode()
        self.server.pages[path] = self._loopback.response(body, media_type)
        return self.at(path)

    def redirect(self, path: str, target: str) -> str:
        """Redirect to a URL; return where from."""
        self.server.pages[path] = self._loopback.redirect(target)
        return self.at(path)

    def dump(self, path: str = "/all.nt.gz") -> str:
        """Serve statements, more of them than a page may have; return the URL."""
        lines = "".join(f"<urn:x:{n}> <urn:x:p> <urn:x:o> .\n" for n in range(N_LINES))
        body = gzip.compress(lines.encode()) if path.endswith("gz") else lines.encode()
        kind = "application/octet-stream"
        self.server.pages[path] = self._loopback.response(body, kind)
        return self.at(path)


def by_sitemap(site: Site) -> str:
    """List the dump as a page."""
    entry = f"<url><loc>{site.dump('/all.nt')}</loc></url>"
    text = f"<urlset {SITEMAP}>{entry}</urlset>"
    return site.put("/sitemap.xml", text, "text/xml")


def by_statement(site: Site) -> str:
    """Link to the dump."""
    return site.put("/page", f"<> <urn:x:see> <{site.dump('/all.nt')}> .")


def by_header(site: Site) -> str:
    """Link to the dump by a header."""
    target = site.dump("/all.nt")
    site.server.pages["/page"] = site._loopback.response(
        b"<> <urn:x:is> <urn:x:here> .",
        "text/turtle",
        Link=f'<{target}>; rel="alternate"; type="application/n-triples"',
    )
    return site.at("/page")


def by_void(site: Site) -> str:
    """Call the dump a page of a dataset."""
    return site.put("/void", f"<#d> <{VOID}exampleResource> <{site.dump('/all.nt')}> .")


def by_catalogue(site: Site) -> str:
    """Return the URLs of a distribution as URLs of the dump."""
    target = site.dump("/all.nt")
    text = f"<#d> <{DCAT}distribution> [ <{DCAT}accessURL> <{target}> ] ."
    return site.put("/dcat", text)


def by_redirect(site: Site) -> str:
    """Redirect a page to the dump."""
    return site.redirect("/latest", site.dump("/all.nt"))


def by_redirect_from_elsewhere(site: Site) -> str:
    """Redirect a page of another host to the dump."""
    other = Site(site._loopback, "127.95.2.1")
    return other.redirect("/latest", site.dump("/all.nt"))


def as_seed(site: Site) -> str:
    """Name the dump itself."""
    return site.dump("/all.nt")


NAMED_BY: list[Callable[[Site], str]] = [
    *(by_sitemap, by_statement, by_header, by_void, by_catalogue),
    *(by_redirect, by_redirect_from_elsewhere, as_seed),
]


def crawl(commands: Commands, site: Site, url: str) -> CrawlResult:
    """Crawl from a URL with tight limits for pages."""
    is_sitemap = url == site.at("/sitemap.xml")
    return commands.crawl(
        [] if is_sitemap else [url],
        arguments={"sites": url} if is_sitemap else {},
        spider="sitemap" if is_sitemap else "linkeddata",
        DOWNLOAD_MAXSIZE=PAGE_BYTES,
    )


@pytest.mark.parametrize("name", NAMED_BY, ids=lambda each: each.__name__)
def test_dump_has_the_limits_of_a_dump(
    commands: Commands, loopback: Loopback, name: Callable[[Site], str]
) -> None:
    """If anything names a dump, then it is read beyond the size of a page."""
    site = Site(loopback, f"127.95.1.{NAMED_BY.index(name) + 1}")
    result = crawl(commands, site, name(site))
    assert result.code == 0, result.stderr
    assert len(result.about(site.at("/all.nt"))) == N_LINES
    assert result.faults(site.at("/all.nt")) == []
    assert site.server.targets.count("/all.nt") == 1


def test_packed_file_has_the_limits_of_a_dump(
    commands: Commands, loopback: Loopback
) -> None:
    """If a file is packed, then it is a dump although its name has no format."""
    site = Site(loopback, "127.95.1.20")
    packed = site.dump("/export.gz")
    page = site.put("/page", f"<> <urn:x:see> <{packed}> .")
    result = crawl(commands, site, page)
    assert len(result.about(packed)) == N_LINES


def test_portal_names_dumps_as_others_do(
    commands: Commands, loopback: Loopback
) -> None:
    """If a portal distributes a dump without its format, then its name decides."""
    site = Site(loopback, "127.95.1.21")
    dump = site.dump("/all.nt")
    package = {
        "id": "d", "name": "d", "title": "D", "state": "active", "type": "dataset",
        "metadata_modified": "2024-01-01T00:00:00", "resources": [{"url": dump}],
    }  # fmt: skip
    found = {"count": 1, "results": [package]}
    answer = json.dumps({"success": True, "result": found})
    api = "/api/3/action/package_search"
    site.server.pages["*"] = site._loopback.response(
        answer.encode(), "application/json"
    )
    result = commands.crawl(
        arguments={"portals": site.at("")},
        spider="ckan",
        DOWNLOAD_MAXSIZE=PAGE_BYTES,
    )
    assert any(target.startswith(api) for target in site.server.targets)
    assert len(result.about(dump)) == N_LINES, result.stderr
