"""Sites that list their pages: sitemaps, feeds, Semantic Sitemaps."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import pyoxigraph as ox

from tests.otherweb.pages import (
    Page,
    json_ld_page,
    microdata_page,
    plain_page,
    rdfa_page,
)
from tests.otherweb.site import NOT_FOUND, Answer, Request, Site
from tests.otherweb.sparql_service import TABLE_TSV, Habits, SparqlService
from tests.otherweb.statements import FORMATS, population, to_quad, triples, write

if TYPE_CHECKING:
    from collections.abc import Sequence

_XMLNS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
_SC = 'xmlns:sc="http://sw.deri.org/2007/07/sitemapextension/scschema.xsd"'
_DATES = (
    "2025",
    "2025-06",
    "2025-06-07",
    "2025-06-07T08:09Z",
    "2025-06-07T08:09:10+02:00",
    "2025-06-07T08:09:10.45-05:00",
)


class SitemapSite(Site):
    """Pages without links between them, listed in five kinds of lists.

    Attributes:
        pages: all fetchable ones.
        annotated: the pages with RDFa.
    """

    robots = """# all welcome
User-agent: badbot
Disallow: /

User-agent: *
Disallow: /private/
Allow: /private/open.ttl

Sitemap: {root}/index.xml.gz
SITEMAP: {root}/news.rss
sitemap:{root}/changes.atom   # recent
Sitemap: {root}/urls.txt
"""

    def __init__(self, host: str, *, n: int) -> None:
        super().__init__(host)
        self.pages: dict[str, Page] = {}
        self.annotated: dict[str, Page] = {}
        for i in range(n):
            self._add(i)
        about = triples(f"<{self.url('/about.ttl')}> dct:title 'a site' .")
        body = write(about, "text/turtle")
        self.pages["/about.ttl"] = Page("text/turtle", body, frozenset(about))
        url = self.url("/private/open.ttl")
        self.pages["/private/open.ttl"] = plain_page(url, "text/turtle", seed=5)
        targets = [*self.pages, *self.annotated, "/private/closed.ttl"]
        self._lists = self._make_lists([self.url(target) for target in targets])

    def _add(self, i: int) -> None:
        target = f"/pages/{i}?lang=fr&v={i % 3}"
        url, kind = self.url(target), i % 10
        if kind < len(FORMATS):
            page = plain_page(url, list(FORMATS)[kind], seed=i)
        else:
            page = (json_ld_page, microdata_page, rdfa_page)[kind - len(FORMATS)](url)
        (self.annotated if kind == 9 else self.pages)[target] = page

    def _make_lists(self, urls: list[str]) -> dict[str, tuple[str, bytes]]:
        """Return the lists; some pages are in two of them."""
        fifth = len(urls) // 5 + 1
        parts = [urls[i : i + fifth + 2] for i in range(0, len(urls), fifth)]
        index = "".join(
            f"<sitemap><loc>{self.url(f'/map{i}.xml{end}')}</loc>"
            f"<lastmod>2025-01-0{i + 1}</lastmod></sitemap>"
            for i, end in enumerate(("", ".gz"))
        )
        index = f'<?xml version="1.0"?><sitemapindex {_XMLNS}>{index}</sitemapindex>'
        text = "\r\n".join(parts[4])
        return {
            "/index.xml.gz": ("application/gzip", gzip.compress(index.encode())),
            "/map0.xml": ("application/xml", _urlset(parts[0])),
            "/map1.xml.gz": ("application/x-gzip", gzip.compress(_urlset(parts[1]))),
            "/news.rss": ("application/rss+xml", _rss(self.url(), parts[2])),
            "/changes.atom": ("application/atom+xml", _atom(self.url(), parts[3])),
            "/urls.txt": ("text/plain; charset=utf-8", text.encode()),
        }

    def published(self) -> set[ox.Triple]:
        """Return the statements of all pages but those with RDFa."""
        return set().union(*(page.states for page in self.pages.values()))

    def published_as_rdfa(self) -> set[ox.Triple]:
        """Return the statements of the pages with RDFa."""
        return set().union(*(page.states for page in self.annotated.values()))

    def answer(self, request: Request) -> Answer:
        """Serve lists and pages."""
        if found := self._lists.get(request.target):
            return Answer(200, *found)
        page = (self.pages | self.annotated).get(request.target)
        return Answer(200, page.media_type, page.body) if page else NOT_FOUND


def _urlset(urls: Sequence[str]) -> bytes:
    entries = "".join(
        f"<url>\n<loc> {escape(url)}\n</loc>"
        f"<lastmod>{_DATES[i % len(_DATES)]}</lastmod>"
        f"<changefreq>weekly</changefreq><priority>0.{i % 10}</priority>"
        f"<image:image><image:loc>{url.partition('?')[0]}.png</image:loc>"
        "</image:image></url>"
        for i, url in enumerate(urls)
    )
    image = 'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    head = '<?xml version="1.0" encoding="UTF-8"?><!-- made by other -->'
    return f"{head}\n<urlset {_XMLNS} {image}>{entries}</urlset>".encode()


def _rss(root: str, urls: Sequence[str]) -> bytes:
    items = "".join(
        f"<item><title>{i}</title><link>{escape(url)}</link>"
        f'<guid isPermaLink="false">{i}</guid>'
        "<pubDate>Sat, 07 Jun 2025 08:09:10 GMT</pubDate></item>"
        for i, url in enumerate(urls)
    )
    return (
        f'<?xml version="1.0"?><rss version="2.0"><channel><title>New</title>'
        f"<link>{root}about.ttl</link><description/>{items}</channel></rss>"
    ).encode()


def _atom(root: str, urls: Sequence[str]) -> bytes:
    entries = "".join(
        f"<entry><title>{i}</title><id>urn:x:{i}</id>"
        f"<updated>2025-06-07T08:09:10Z</updated>"
        f'<link rel="alternate" href="{escape(url[len(root) - 1 :])}"/></entry>'
        for i, url in enumerate(urls)
    )
    return (
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>Changed</title>'
        f"<id>urn:x</id><updated>2025-06-07T08:09:10Z</updated>{entries}</feed>"
    ).encode()


class SemanticSite(SparqlService):
    """A site with Semantic Sitemap, dumps, an endpoint, and pages of things.

    The first dataset is available in all three ways; the second by SPARQL alone, and
    the other data of its endpoint are not for the public, though no rule forbids them.
    """

    robots = "User-agent: *\nDisallow: /drafts/\nSitemap: {root}/sitemap.xml\n"

    def __init__(self, host: str, *, n: int) -> None:
        super().__init__(
            host,
            [],
            Habits(path="/query", bare="error", tables=(TABLE_TSV,), relabels=True),
        )
        self.catalog = list(population(self.url("/thing/"), n, seed=1))
        self.extra = list(population(self.url("/only/sparql/"), n // 4, seed=2))
        g1, g2 = (ox.NamedNode(self.url(f"/graph/{i}")) for i in (1, 2))
        self.store.extend(to_quad(triple, g1) for triple in self.catalog)
        self.store.extend(to_quad(triple, g2) for triple in self.extra)
        self.about = triples(
            "<#catalog> a void:Dataset ; dct:title 'Catalog'@en .",
            base=self.url("/about"),
        )
        self._dumps = self._make_dumps()
        self.pages = [self.url(f"/page/{i}") for i in range(3)]

    def published(self) -> set[ox.Triple]:
        """Return the entries of the sitemap, and the description of a dataset."""
        return {*self.listed(), *self.about}

    def listed(self) -> set[ox.Triple]:
        """Return both datasets and the pages."""
        pages = (self._page(url).states for url in self.pages)
        return {*self.catalog, *self.extra}.union(*pages)

    def answer(self, request: Request) -> Answer:
        """Serve the sitemap, dumps, things, pages and the endpoint."""
        target = request.target
        if target == "/sitemap.xml":
            return Answer(200, "text/xml", self._sitemap())
        if target == "/about":
            return Answer(200, "text/turtle", write(self.about, "text/turtle"))
        if self.url(target) in self.pages:
            page = self._page(self.url(target))
            return Answer(200, page.media_type, page.body)
        if target in self._dumps:
            return Answer(200, *self._dumps[target])
        if target.startswith("/thing/"):
            node = ox.NamedNode(self.url(target))
            found = [t for t in self.catalog if node in (t.subject, t.object)]
            return Answer(200, "text/turtle", write(found, "text/turtle"))
        return super().answer(request)

    def _make_dumps(self) -> dict[str, tuple[str, bytes]]:
        cut, xml = self._cut(), "application/rdf+xml"
        lines = write(self.catalog[:cut], "application/n-triples")
        return {
            "/dump/1.nt.gz": ("application/gzip", gzip.compress(lines)),
            "/dump/2.rdf": (xml, write(self.catalog[cut:], xml)),
        }

    def _cut(self) -> int:
        """Return where the dump is cut: no blank node is in both parts."""
        middle = len(self.catalog) // 2
        while not str(self.catalog[middle].predicate.value).endswith("#type"):
            middle += 1
        return middle

    @staticmethod
    def _page(url: str) -> Page:
        return plain_page(url, "text/turtle", seed=9)

    def _sitemap(self) -> bytes:
        urls = "".join(f"<url><loc>{url}</loc></url>" for url in self.pages)
        root = self.root
        return f"""<?xml version="1.0" encoding="UTF-8"?>
<urlset {_XMLNS} {_SC}>
  <sc:dataset>
    <sc:datasetLabel>Catalog</sc:datasetLabel>
    <sc:datasetURI>{root}/about#catalog</sc:datasetURI>
    <sc:linkedDataPrefix slicing="subject-object">{root}/thing/</sc:linkedDataPrefix>
    <sc:sampleURI>{root}/thing/3</sc:sampleURI>
    <sc:sparqlEndpointLocation slicing="cbd">{root}/query</sc:sparqlEndpointLocation>
    <sc:sparqlGraphName>{root}/graph/1</sc:sparqlGraphName>
    <sc:dataDumpLocation>{root}/dump/1.nt.gz</sc:dataDumpLocation>
    <sc:dataDumpLocation>{root}/dump/2.rdf</sc:dataDumpLocation>
    <changefreq>weekly</changefreq>
  </sc:dataset>
  <sc:dataset>
    <sc:datasetLabel>Only by query</sc:datasetLabel>
    <sc:sparqlEndpointLocation>{root}/query</sc:sparqlEndpointLocation>
    <sc:sparqlGraphName>{root}/graph/2</sc:sparqlGraphName>
    <lastmod>2025-06-07T08:09:10Z</lastmod>
  </sc:dataset>
  {urls}
</urlset>""".encode()
