"""Well-formed documents of n things of one kind, and functions that read them.

`test_linear` repeats bytes, which are mostly damaged. Here, parsers succeed and their
results have as many parts as the document has: links, blank nodes, graphs, datasets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import FaultLog
from rdfcrawl.downloader.robots.policy import parse_robots
from rdfcrawl.rdf.environment import ParseLimits, ReaderContext
from rdfcrawl.rdf.extraction.messages import ReadingJob
from rdfcrawl.rdf.extraction.reading import DocumentReading
from rdfcrawl.rdf.links.headers import links_of
from rdfcrawl.rdf.links.policy import LinkPolicy
from rdfcrawl.sources.ckan.api import PortalAddress
from rdfcrawl.sources.ckan.envelope import CkanResponse, read_page
from rdfcrawl.sources.ckan.mapping import iter_statements
from rdfcrawl.sources.harvest.discovery import DocumentScan
from rdfcrawl.sources.resourcesync.documents import DocumentEntries
from rdfcrawl.sources.sitemaps.protocol import Sitemap
from rdfcrawl.sources.sparql.results import iter_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    Reader = Callable[[bytes], None]

URL: Final = "http://e.example/d/doc"
_CHUNK_BYTES: Final = 256 * 1024
_MANY: Final = ParseLimits(n_quads=10**8)


@dataclass(frozen=True, slots=True)
class GrowingDocument:
    """A document of n parts.

    Attributes:
        read: reads it to its end, or fails.
        part: of the document; `~` is a number, `^` the next one.
        begin: of the document.
        end: of the document.
        between: two parts.
    """

    read: Reader
    part: str
    begin: str = ""
    end: str = ""
    between: str = ""

    def make(self, n_chars: int) -> bytes:
        """Return a document of about this length."""
        usual = len(self.part.replace("~", "1234").replace("^", "1234"))
        return self.make_parts(max(2, (n_chars - len(self.begin)) // usual))

    def make_parts(self, n: int) -> bytes:
        """Return a document of so many parts."""
        parts = (
            self.part.replace("~", str(i)).replace("^", str(i + 1)) for i in range(n)
        )
        return (self.begin + self.between.join(parts) + self.end).encode()


def _document(media_type: str, data: bytes) -> None:
    """Read a document as a child does, with all facts, and find what it leads to."""
    job = ReadingJob(
        url=URL,
        graph=URL,
        media_type=media_type,
        limits=_MANY,
        wants_hyperlinks=True,
        wants_fingerprint=True,
    )
    reading = DocumentReading(data, job, environment=ReaderContext(is_bounded=True))
    lines = b"".join(reading)
    assert lines, reading.outcome.faults
    scan = DocumentScan(LinkPolicy())
    for start in range(0, len(lines), _CHUNK_BYTES):
        scan.links(lines[start : start + _CHUNK_BYTES])
    if scan.has_any:
        scan.gather(lines)
        scan.accesses.read(URL)


def _sitemap(data: bytes) -> None:
    found = [*Sitemap(data, url=f"{URL}.xml", log=FaultLog())]
    assert len(found) > 1
    for entry in DocumentEntries(data, url=URL, log=FaultLog()):
        repr(entry)


def _robots(data: bytes) -> None:
    rules = parse_robots(data)
    for number in range(20):
        rules.allows(f"http://e.example/p{number}/x")


def _headers(data: bytes) -> None:
    assert links_of(data.decode(), base=URL)


def _rows(media_type: str, data: bytes) -> None:
    assert [*iter_rows(data, media_type=media_type, log=FaultLog())]


def _packages(data: bytes) -> None:
    portal = PortalAddress(url="http://e.example")
    response = CkanResponse(status=200, body=data, url=f"{portal.url}/api/3/action/x")
    packages = read_page(response).packages
    assert packages
    for text in packages:
        assert [*iter_statements(text.load(), portal, FaultLog())]


_LINES: Final = partial(_document, "application/n-quads")
_TURTLE: Final = partial(_document, "text/turtle")
_TRIX: Final = partial(_document, "application/trix")
_XML: Final = partial(_document, "application/rdf+xml")
_JSON: Final = partial(_document, "application/ld+json")
_RDF_JSON: Final = partial(_document, "application/rdf+json")
_HTML: Final = partial(_document, "text/html")
_V: Final = "http://v.example/"
_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_PREFIXES: Final = (
    f"@prefix : <{_V}> . @prefix d: <http://www.w3.org/ns/dcat#> .\n"
    "@prefix v: <http://rdfs.org/ns/void#> . <> a d:Catalog .\n"
)
_CONTEXT: Final = f'"@context":{{"@vocab":"{_V}"}}'
_GRAPH: Final = f'{{{_CONTEXT},"@graph":['
_ITEM: Final = f'<div itemscope itemtype="{_V}C"'
_SITEMAPS: Final = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


def _turtle(part: str) -> GrowingDocument:
    return GrowingDocument(_TURTLE, part + "\n", _PREFIXES)


def _page(part: str, begin: str = "") -> GrowingDocument:
    return GrowingDocument(
        _HTML, part, f"<!DOCTYPE html><html><body>{begin}", "</html>"
    )


CONTENTS: Final = {
    "links": GrowingDocument(_LINES, f"<{_V}s> <{_V}p> <http://h~.example/^> .\n"),
    "links of one host": GrowingDocument(_LINES, f"<{_V}s~> <{_V}p> <{_V}o^> .\n"),
    "blank nodes": GrowingDocument(_LINES, f"_:n~ <{_V}p> _:n^ .\n"),
    "one blank node": GrowingDocument(_LINES, f'_:a <{_V}p> "~" .\n'),
    "graphs": GrowingDocument(_LINES, f"<{_V}s> <{_V}p> <{_V}o> <{URL}#~> .\n"),
    "graphs of others": GrowingDocument(
        _LINES, f"_:a <{_V}p> _:b~ <http://g~.example/> .\n"
    ),
    "subjects": _turtle('<#~> a :C ; :p [ :q "~"@en ], (1 2) .'),
    "a list": GrowingDocument(_TURTLE, "<#~> ", "<#a> <#b> (", ") ."),
    "prefixes": _turtle(f"@prefix p~: <{_V}> . p~:a a p~:b ."),
    "datasets of VoID": _turtle(
        "<#~> a v:Dataset ; v:dataDump <http://d~.example/a> ."
    ),
    "a chain of datasets": _turtle("<#~> v:subset <#^> ; v:dataDump <f~.nt> ."),
    "subsets": _turtle("<> v:subset <#~> . <#~> v:dataDump <f~.nt> ."),
    "datasets of DCAT": _turtle(
        "<> d:dataset <#~> . <#~> a d:Dataset ; d:distribution [ d:downloadURL <f~.ttl>"
        ' ; d:mediaType "text/turtle" ] .'
    ),
    "distributions": _turtle("<#a> d:distribution <#~> . <#~> d:accessURL <f~> ."),
    "services": _turtle(
        "<#~> a d:DataService ; d:endpointURL <s~> ; d:servesDataset <#a> ."
    ),
    "nodes of RDF/XML": GrowingDocument(
        _XML,
        '<rdf:Description rdf:ID="n~"><v:p><v:C v:q="a"/></v:p></rdf:Description>',
        f'<rdf:RDF xmlns:rdf="{_RDF}" xmlns:v="{_V}">',
        "</rdf:RDF>",
    ),
    "triples of TriX": GrowingDocument(
        _TRIX,
        f"<triple><id>a~</id><uri>{_V}p</uri><id>a^</id></triple>",
        "<TriX><graph>",
        "</graph></TriX>",
    ),
    "subjects of RDF/JSON": GrowingDocument(
        _RDF_JSON,
        f'"{_V}~":{{"{_V}p":[{{"type":"bnode","value":"_:b~"}}]}}',
        "{",
        "}",
        ",",
    ),
    "nodes of JSON-LD": GrowingDocument(
        _JSON, '{"@id":"#~","p":[{"q":"a"},{"@id":"#^"}]}', _GRAPH, "]}", ","
    ),
    "properties of JSON-LD": GrowingDocument(
        _JSON, '"p~":"^"', f"{{{_CONTEXT},", "}", ","
    ),
    "a list of JSON-LD": GrowingDocument(
        _JSON, '{"@id":"#~"}', f'{{{_CONTEXT},"p":{{"@list":[', "]}}", ","
    ),
    "graphs of JSON-LD": GrowingDocument(
        _JSON, '{"@id":"#~","@graph":[{"@id":"#a","p":"b"}]}', _GRAPH, "]}", ","
    ),
    "contexts": GrowingDocument(
        _JSON, f'{{"@context":{{"t~":"{_V}t~"}},"@id":"#~","t~":1}}', "[", "]", ","
    ),
    "terms of a context": GrowingDocument(
        _JSON, f'"t~":"{_V}t^"', '{"t1":1,"@context":{', "}}", ","
    ),
    "hyperlinks": _page(
        '<p><a href="/p/~" rel=next>^</a></p>', f"<b vocab='{_V}' property=p>a</b>"
    ),
    "items of Microdata": _page(
        f'{_ITEM} itemid="#~"><a itemprop=p href="#^">a</a></div>'
    ),
    "an item of Microdata": _page("<b itemprop=p~>a</b>", f"{_ITEM}>"),
    "references of Microdata": _page(
        f'{_ITEM} itemref="x~"></div><b id=x~ itemprop=p>a</b>'
    ),
    "a reference to many": GrowingDocument(
        _HTML, "x~ ", f'<b id=x1 itemprop=p>a</b>{_ITEM} itemref="', '"></div>'
    ),
    "resources of RDFa": _page(
        f'<div vocab="{_V}" typeof=C resource="#~"><a property=p href="#^">a</a></div>'
    ),
    "a list of RDFa": _page("<b property=p inlist>~</b>", f'<div vocab="{_V}">'),
    "prefixes of RDFa": GrowingDocument(
        _HTML, f"p~: {_V} ", '<div prefix="', '"><b property="p1:a">a</b></div>'
    ),
    "scripts": _page(
        f'<script type="application/ld+json">{{{_CONTEXT},"p":~}}</script>'
    ),
    "entries of a sitemap": GrowingDocument(
        _sitemap,
        "<url><loc>http://e.example/d/~</loc><lastmod>2024-01-01</lastmod></url>",
        f"<urlset {_SITEMAPS}",
        "</urlset>",
    ),
    "sitemaps": GrowingDocument(
        _sitemap,
        "<sitemap><loc>http://e.example/d/~.xml</loc></sitemap>",
        f"<sitemapindex {_SITEMAPS}",
        "</sitemapindex>",
    ),
    "rules of robots.txt": GrowingDocument(
        _robots, "Disallow: /p~/*/a$\nAllow: /p^/\n", "User-agent: *\n"
    ),
    "groups of robots.txt": GrowingDocument(
        _robots, "User-agent: a~\nDisallow: /p~/\nSitemap: /s~.xml\n"
    ),
    "links of a header": GrowingDocument(_headers, '</a/~>; rel="next"', "", "", ","),
    "packages of CKAN": GrowingDocument(
        _packages,
        '{"id":"i~","name":"n~","resources":[{"url":"http://f.example/~"}]}',
        '{"success":true,"result":{"count":1,"results":[',
        "]}}",
        ",",
    ),
    "resources of CKAN": GrowingDocument(
        _packages,
        '{"url":"http://f.example/~","format":"CSV","name":"^"}',
        '{"success":true,"result":{"count":1,"results":[{"name":"n","resources":[',
        "]}]}}",
        ",",
    ),
    "rows of JSON": GrowingDocument(
        partial(_rows, "application/sparql-results+json"),
        '{"a":{"type":"bnode","value":"b~"}}',
        '{"head":{"vars":["a"]},"results":{"bindings":[',
        "]}}",
        ",",
    ),
    "rows of CSV": GrowingDocument(
        partial(_rows, "text/csv"), "http://e.example/~,^\r\n", "a,b\r\n"
    ),
}
