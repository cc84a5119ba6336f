"""Ways to the data of a dataset: which are taken, and what if one gives nothing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.conftest import RawServer, Reply
    from tests.crawl_fixtures import Commands, CrawlResult
    from tests.crawl_webs import Loopback

PROTOCOL = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
SEMANTIC = 'xmlns:sc="http://sw.deri.org/2007/07/sitemapextension/scschema.xsd"'


class Site:
    """A scripted site with a Semantic Sitemap."""

    def __init__(self, loopback: Loopback, host: str) -> None:
        self._loopback = loopback
        self.server: RawServer = loopback(host=host)
        self.at = self.server.url

    def put(
        self, path: str, body: str, media_type: str = "text/turtle", **fields: str
    ) -> str:
        """Serve a text; return its URL."""
        reply = self._loopback.response(body.encode(), media_type, **fields)
        return self.reply(path, reply)

    def reply(self, path: str, reply: Reply) -> str:
        """Serve an answer; return its URL."""
        self.server.pages[path] = reply
        return self.at(path)

    def page(self, path: str) -> str:
        """Serve a page of one statement; return its URL."""
        return self.put(path, f'<> <urn:x:says> "{path}" .')

    def dump(self, path: str, *subjects: str) -> str:
        """Serve a dump of a statement for each subject; return its URL."""
        lines = "".join(f"<{each}> <urn:x:in> <urn:x:dump> .\n" for each in subjects)
        return self.put(path, lines, "application/n-triples")

    def sitemap(self, dataset: str, pages: Iterable[str] = ()) -> None:
        """Serve a sitemap with a dataset, and with pages."""
        rows = "".join(f"<url><loc>{page}</loc></url>" for page in pages)
        self.put(
            "/sitemap.xml",
            f"<urlset {PROTOCOL} {SEMANTIC}>{rows}{dataset}</urlset>",
            "text/xml",
        )

    def asked(self) -> Counter[str]:
        """Return how often each target was asked for."""
        targets = Counter(self.server.targets)
        for usual in ("/robots.txt", "/.well-known/void", "/sitemap.xml"):
            del targets[usual]
        return targets

    def crawl(self, commands: Commands, **settings: Any) -> CrawlResult:
        """Crawl the site."""
        arguments = {"sites": self.at("/")} | settings.pop("arguments", {})
        result = commands.crawl(arguments=arguments, spider="sitemap", **settings)
        assert result.code == 0, result.stderr
        return result


def dataset(**elements: str | Iterable[str]) -> str:
    """Return a dataset, of elements with one value or several."""
    rows = "".join(
        f"<sc:{name}>{value}</sc:{name}>"
        for name, values in elements.items()
        for value in ([values] if isinstance(values, str) else values)
    )
    return f"<sc:dataset>{rows}</sc:dataset>"


# -- parts and mirrors -----------------------------------------------------------------


def test_dumps_of_one_name_on_several_hosts_are_all_taken(
    commands: Commands, loopback: Loopback
) -> None:
    """If hosts have a dump each and nothing calls them mirrors, then all are taken."""
    sites = [Site(loopback, f"127.96.1.{n}") for n in (1, 2, 3)]
    dumps = [site.dump("/dump.nt", site.at("/id/1")) for site in sites]
    for site in sites:  # each says so itself
        site.sitemap(dataset(datasetURI=sites[0].at("/#d"), dataDumpLocation=dumps))
    result = sites[0].crawl(commands)
    assert [len(result.about(dump)) for dump in dumps] == [1, 1, 1]
    assert [site.asked()["/dump.nt"] for site in sites] == [1, 1, 1]


def test_part_that_is_believed_is_taken_alone(
    commands: Commands, loopback: Loopback
) -> None:
    """If the host of one part denies it, then the others are fetched, and the pages."""
    own, other = (Site(loopback, f"127.96.1.{n}") for n in (4, 5))
    dumps = [site.dump("/dump.nt", site.at("/id/1")) for site in (own, other)]
    pages = [own.page("/id/1"), own.page("/id/2")]
    described = dataset(dataDumpLocation=dumps, linkedDataPrefix=own.at("/id/"))
    own.sitemap(described, pages)
    other.sitemap("")
    result = own.crawl(commands)
    assert result.statistics["fault/unconfirmed_claim"] == 1
    assert {dumps[0], *pages} <= result.graphs
    assert "/dump.nt" not in other.asked()
