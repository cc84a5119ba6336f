"""Sites that list their pages in sitemaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback


PROTOCOL = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
SEMANTIC = 'xmlns:sc="http://sw.deri.org/2007/07/sitemapextension/scschema.xsd"'


def urlset(entries: Iterable[str], extra: str = "") -> bytes:
    """Return a sitemap of URLs, or of the contents of `url` elements."""
    rows = "".join(
        f"<url>{e if e.startswith('<') else f'<loc>{e}</loc>'}</url>" for e in entries
    )
    return f"<urlset {PROTOCOL} {SEMANTIC}>{extra}{rows}</urlset>".encode()


def index(entries: Iterable[str]) -> bytes:
    """Return an index of sitemaps."""
    rows = "".join(f"<sitemap>{entry}</sitemap>" for entry in entries)
    return f"<sitemapindex {PROTOCOL}>{rows}</sitemapindex>".encode()


class Site:
    """A site of one host, with pages of one statement each."""

    def __init__(self, loopback: Loopback, host: str, port: int = 0) -> None:
        self._loopback = loopback
        self.server: RawServer = loopback(host=host, port=port)
        self.at = self.server.url

    def put(self, path: str, body: bytes, media_type: str = "text/turtle") -> None:
        """Serve a body; most names here do not match the content."""
        self.server.pages[path] = self._loopback.response(body, media_type)

    def page(self, path: str, text: str = "") -> str:
        """Serve a page of one statement; return its URL."""
        self.put(path, f'<> <urn:x:says> "{text or path}" .'.encode())
        return self.at(path)

    def robots(self, *sitemaps: str) -> None:
        """Serve robots.txt."""
        lines = "".join(f"Sitemap: {sitemap}\n" for sitemap in sitemaps)
        self.put("/robots.txt", lines.encode(), "text/plain")

    def asked(self) -> list[str]:
        """Return the requests, without those that every site gets."""
        usual = ("/robots.txt", "/.well-known/void")
        return [target for target in self.server.targets if target not in usual]

    def crawl(self, commands: Commands, **settings: Any) -> CrawlResult:
        """Crawl the site."""
        arguments = {"sites": self.at("/")}
        return commands.crawl(arguments=arguments, spider="sitemap", **settings)


def dataset(site: Site, *dumps: str, extra: str = "") -> str:
    """Return the declaration of a dataset of URLs that begin with `/r/`."""
    places = "".join(dump_at(site.at(f"/{dump}")) for dump in dumps)
    return (
        f"<sc:dataset><sc:datasetURI>{site.at('/dataset')}</sc:datasetURI>"
        f"<sc:linkedDataPrefix>{site.at('/r/')}</sc:linkedDataPrefix>"
        f"{places}{extra}</sc:dataset>"
    )


def dump_at(url: str) -> str:
    """Return the element that says where a dump is."""
    return f"<sc:dataDumpLocation>{url}</sc:dataDumpLocation>"
