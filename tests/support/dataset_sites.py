"""Scripted sites whose Semantic Sitemaps describe datasets."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pyoxigraph as ox

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.conftest import RawRequest, RawServer, Reply
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

PROTOCOL = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
SEMANTIC = 'xmlns:sc="http://sw.deri.org/2007/07/sitemapextension/scschema.xsd"'


class DatasetSite:
    """A scripted site with a Semantic Sitemap."""

    def __init__(self, loopback: Loopback, host: str) -> None:
        self._loopback = loopback
        self.server: RawServer = loopback(host=host)
        self.at = self.server.url

    def put(
        self, path: str, body: str, media_type: str = "text/turtle", **fields: str
    ) -> str:
        """Serve a text; return its URL."""
        return self.reply(path, self.respond(body, media_type, **fields))

    def reply(self, path: str, reply: Reply) -> str:
        """Serve an answer; return its URL."""
        self.server.pages[path] = reply
        return self.at(path)

    def respond(
        self, text: str, media_type: str = "application/n-triples", **fields: str
    ) -> bytes:
        """Return an answer."""
        return self._loopback.response(text.encode(), media_type, **fields)

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
        """Return the number of requests for each target."""
        targets = Counter(self.server.targets)
        for usual in ("/robots.txt", "/.well-known/void", "/sitemap.xml"):
            del targets[usual]
        return targets

    def crawl(self, commands: Commands, **settings: Any) -> CrawlResult:
        """Crawl the site."""
        usual = {"sites": self.at("/"), "follow": "all"}
        arguments = usual | settings.pop("arguments", {})
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


class EndpointSite(DatasetSite):
    """A site with an endpoint that has a default graph and three named ones."""

    def __init__(self, loopback: Loopback, host: str) -> None:
        super().__init__(loopback, host)
        self.endpoint, self.endpoint_works = self.at("/sparql"), True
        self.graphs = [self.at(f"/graph/{n}") for n in range(3)]
        self._store = ox.Store()
        for name in ("", *self.graphs):
            graph = ox.NamedNode(name) if name else ox.DefaultGraph()
            subject, says = ox.NamedNode(self._in(name)), ox.NamedNode("urn:x:says")
            self._store.add(ox.Quad(subject, says, ox.Literal(name), graph))
        self.server.pages["*"] = self._answer

    def _in(self, graph: str) -> str:
        """Return the resource that a graph has."""
        return f"{self.at('/resource')}?in={graph}"

    def _answer(self, request: RawRequest) -> bytes:
        parts = urlsplit(request.target)
        (query,) = parse_qs(parts.query).get("query", [""])
        if not (parts.path == "/sparql" and query and self.endpoint_works):
            return self.respond("nothing here", "text/plain", status="404 No")
        found: Any = self._store.query(query)
        if isinstance(found, ox.QueryTriples):
            body = found.serialize(format=ox.RdfFormat.N_TRIPLES) or b""
            return self._loopback.response(body, "application/n-triples")
        body = found.serialize(format=ox.QueryResultsFormat.JSON) or b""
        return self._loopback.response(body, "application/sparql-results+json")

    def described(self, *datasets: str) -> None:
        """Serve a sitemap with datasets of the endpoint, one for each graph name."""
        self.sitemap(
            "".join(
                dataset(
                    datasetURI=self.at(f"/#{number}"),
                    sparqlEndpointLocation=self.endpoint,
                    **({"sparqlGraphName": name} if name else {}),
                )
                for number, name in enumerate(datasets)
            )
        )

    def taken(self, result: CrawlResult) -> set[str]:
        """Return the names of the graphs that were taken; the default one is empty."""
        subjects = {s for s, p, *_ in result.quads if p == "urn:x:says"}
        names = {"", *self.graphs}
        return {name for name in names if self._in(name) in subjects}
