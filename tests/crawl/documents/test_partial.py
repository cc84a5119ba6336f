"""Documents that are read in part, or by pipelines of the user, are accounted for."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pyoxigraph as ox
import pytest

from rdfcrawl.core.content import QuadChunk
from rdfcrawl.core.errors import LOSSES
from rdfcrawl.core.options.defaults import ITEM_PIPELINES
from tests.crawl.sources.test_sparql import harvest
from tests.support.sitemap_sites import Site, index, urlset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from rdfcrawl.core.records import Document
    from tests.conftest import RawRequest, RawServer, Reply
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

GOOD = b"<http://e.example/s> <http://e.example/p> <http://e.example/o> .\n"
PAGE = b"""<html><body><div itemscope itemtype="http://schema.org/Book">
<b itemprop="name">B</b></div>"""


def cut(body: bytes, media_type: str) -> list[bytes | None]:
    """Return an answer that ends before its declared length."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\n"
    return [f"{head}Content-Length: {len(body) + 99}\r\n\r\n".encode() + body, None]


# -- lists ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(loopback: Loopback) -> Site:
    """Return a site whose sitemaps are damaged, each in another way."""
    _response = loopback.response
    site = Site(loopback, "127.20.9.1")
    pages = [site.page(f"/page/{n}") for n in range(40)]
    whole = urlset(pages[:20])
    entries = [f"<loc>{site.at(f'/sub-{n}.xml')}</loc>" for n in range(2)]
    for n in range(2):
        site.put(f"/sub-{n}.xml", urlset(pages[20:22]))
    links = "".join(f"<item><link>{page}</link></item>" for page in pages[:20])
    atoms = "".join(f"<entry><link href='{page}'/></entry>" for page in pages[:20])
    dataset = f"""<sc:dataset><sc:linkedDataPrefix>{site.at("/page/")}
</sc:linkedDataPrefix><sc:sampleURI>{pages[0]}</sc:sampleURI></sc:dataset>"""
    text = "\n".join(pages[:20]).encode()
    xml = "application/xml"
    damaged: dict[str, Reply] = {
        "/transfer.xml": cut(whole[:600], xml),
        "/ends.xml": _response(whole[:600], xml),
        "/index.xml": _response(index(entries)[:-30], xml),
        "/list.txt": cut(text[:300], "text/plain"),
        "/list.txt.gz": _response(gzip.compress(text)[:-12], "application/gzip"),
        "/feed.rss": _response(f"<rss><channel>{links}"[:-40].encode(), xml),
        "/feed.atom": _response(f"<feed>{atoms}"[:-40].encode(), xml),
        "/semantic.xml": _response(urlset(pages[:3], dataset)[:-40], xml),
        "/tags.xml": _response(whole.replace(b"</url>", b"<<</url>", 1), xml),
        "/entities.xml": _response(
            b'<!DOCTYPE u [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
            + whole.replace(b"</loc>", b"&b;</loc>", 1),
            xml,
        ),
    }
    site.server.pages.update(damaged)
    site.put("/whole.xml", whole)
    site.put("/mended.xml", whole.replace(b"</url></urlset>", b"</urlset>"))
    names = [*damaged, "/whole.xml", "/mended.xml"]
    site.robots(*map(site.at, names), "http://[bad")
    return site


@pytest.fixture(scope="module")
def lists(commands: Commands, site: Site) -> CrawlResult:
    """Return a crawl of them."""
    return site.crawl(commands, MEMUSAGE_ENABLED=False)


@pytest.mark.parametrize(
    "path",
    [
        *("/transfer.xml", "/ends.xml", "/index.xml", "/list.txt", "/list.txt.gz"),
        *("/feed.rss", "/feed.atom", "/semantic.xml", "/tags.xml", "/entities.xml"),
    ],
)
def test_damaged_list_is_partial(lists: CrawlResult, site: Site, path: str) -> None:
    """If a list of any kind is cut or damaged, then it is PARTIAL, and says why."""
    url = site.at(path)
    assert lists.statuses(url) == ["PARTIAL"]
    assert LOSSES & set(lists.faults(url))


@pytest.mark.parametrize("path", ["/whole.xml", "/mended.xml", "/robots.txt"])
def test_list_that_is_read_completely_is_successful(
    lists: CrawlResult, site: Site, path: str
) -> None:
    """If a list is complete, or could be repaired, then it is SUCCESSFUL."""
    assert lists.statuses(site.at(path)) == ["SUCCESSFUL"]


@pytest.mark.parametrize(
    "way", ["resourcelist", "changelist", "capabilitylist", "none"]
)
def test_cut_list_of_resources_is_partial(
    commands: Commands, loopback: Loopback, way: str
) -> None:
    """If a document of ResourceSync is cut, then it is PARTIAL."""
    site = Site(loopback, f"127.20.9.{len(way)}")
    change = 'change="created" datetime="2024-01-02T00:00:00Z"'
    rows = "".join(
        f"<url><loc>{site.page(f'/r/{n}')}</loc><rs:md {change}/></url>"
        for n in range(9)
    )
    head = (
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        'xmlns:rs="http://www.openarchives.org/rs/terms/"><rs:md capability="{}" '
        'from="2024-01-01T00:00:00Z" at="2024-01-01T00:00:00Z"/>'
    )
    offers = "".join(
        f'<url><loc>{site.at(f"/{each}.xml")}</loc><rs:md capability="{each}"/></url>'
        for each in ("resourcelist", "changelist")
    )
    bodies = {
        "capabilitylist": head.format("capabilitylist") + offers,
        "resourcelist": head.format("resourcelist") + rows,
        "changelist": head.format("changelist") + rows,
    }
    for name, body in bodies.items():
        end = "<url><loc>http" if name == way else "</urlset>"
        site.put(f"/{name}.xml", f"{body}{end}".encode(), "application/xml")
    arguments = {"sources": site.at("/capabilitylist.xml")}
    result = commands.crawl(arguments=arguments, spider="resourcesync")
    found = {name: set(result.statuses(site.at(f"/{name}.xml"))) for name in bodies}
    if way == "none":
        assert found == {key: {"SUCCESSFUL"} for key in bodies}
    else:
        assert "PARTIAL" in found[way]


def test_cut_answers_of_portals_are_partial(
    commands: Commands, loopback: Loopback
) -> None:
    """If a portal response is cut, then it is PARTIAL, and its datasets complete."""
    datasets = [
        {
            "id": f"00000000-0000-4000-8000-00000000000{n}",
            "name": f"d{n}",
            "title": f"D{n}",
            "type": "dataset",
            "metadata_modified": f"2024-01-0{n + 1}T00:00:00.000000",
            "resources": "none" if n else [],
        }
        for n in range(3)
    ]
    found = {"success": True, "result": {"count": 3, "results": datasets}}
    body = json.dumps(found).encode()
    cut_off = loopback.response(body[:-60], "application/json")

    def reply(request: RawRequest) -> bytes:
        if "package_search" in request.target:
            return cut_off
        return loopback.response(b"", status="404 No")

    server: RawServer = loopback({"*": reply}, host="127.20.9.30")
    arguments = {"portals": server.url("/")}
    result = commands.crawl(arguments=arguments, spider="ckan", RETRY_TIMES=0)
    status_of = "?d prov:wasGeneratedBy [ sq:status ?x ] FILTER STRENDS(STR(?d), '{}')"
    assert set(result.ask(status_of.format("-000000000000"))) == {"SUCCESSFUL"}
    assert set(result.ask(status_of.format("-000000000001"))) == {"PARTIAL"}
    cut_short = "?a rc:fault/rc:reason 'bad_answer' ; sq:status ?x ."
    assert "PARTIAL" in result.ask(cut_short)


def test_cut_answers_of_endpoints_are_partial(
    commands: Commands, loopback: Loopback
) -> None:
    """If rows of an endpoint are lost, then the answer with the others is PARTIAL."""
    store = ox.Store()
    for n in range(60):
        iri = ox.NamedNode(f"http://e.example/{n}")
        store.add(ox.Quad(iri, ox.NamedNode("http://e.example/p"), iri))

    def reply(request: RawRequest) -> bytes:
        asked = parse_qs(urlsplit(request.target).query).get("query", [""])[0]
        if not asked or "CONSTRUCT" in asked or "DESCRIBE" in asked:
            return loopback.response(b"", status="400 No")
        found = store.query(asked)
        if isinstance(found, ox.QueryTriples):
            return loopback.response(b"", status="400 No")
        body = found.serialize(format=ox.QueryResultsFormat.JSON) or b""
        rows = body.count(b'"p":{')
        body = body[: len(body) * 2 // 3] if rows > 5 else body
        return loopback.response(body, "application/sparql-results+json")

    server: RawServer = loopback({"*": reply}, host="127.20.9.31")
    result = harvest(commands, server.url("/sparql"), RETRY_TIMES=0)
    assert any("/sparql" in graph for graph in result.graphs), result.stderr
    pairs = set(_lossy(result))
    assert "PARTIAL" in {status for status, _ in pairs}
    assert "SUCCESSFUL" not in {status for status, _ in pairs}


def _lossy(result: CrawlResult) -> Iterator[tuple[str, str]]:
    """Yield the statuses of documents that lost something, with the reasons."""
    for reason in LOSSES:
        asked = f"?a rc:fault/rc:reason '{reason}' ; sq:status ?x ."
        yield from ((status, str(reason)) for status in result.ask(asked))


# -- documents -----------------------------------------------------------------------


def _zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.nt", GOOD)
        file.writestr("b.nt", GOOD * 500)
    return buffer.getvalue()


def _tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as file:
        for name in ("a.nt", "b.nt"):
            info = tarfile.TarInfo(name)
            info.size = len(GOOD)
            file.addfile(info, io.BytesIO(GOOD))
    return buffer.getvalue()


MICROFORMAT = b'<div class="h-card"><b class="p-name">A</b>' + b"<i>" * 130 + b"x</i>"
DAMAGED = {
    "/d.nt": (cut(GOOD * 3 + GOOD[:20], "application/n-triples"), ""),
    "/d.nt.gz": (gzip.compress(GOOD * 9999)[:-50], "application/gzip"),
    "/d.zip": (_zip()[:-150], "application/zip"),
    "/d.tar.gz": (_tar()[:-15], "application/gzip"),
    "/d.ttl": (GOOD + b"<a> <b> .", "text/turtle"),
    "/d.nq": (GOOD + b"no quad\n" + GOOD, "application/n-quads"),
    "/page/transfer": (cut(PAGE, "text/html"), ""),
    "/page/json": (PAGE + b'<script type="application/ld+json">{"@', "text/html"),
    "/page/deep": (PAGE + MICROFORMAT, "text/html"),
    "/page/whole": (PAGE, "text/html"),
}


class OwnAnalyser:
    """A pipeline of the user's that reads a custom format, and adds statements."""

    def process_item(self, document: Document) -> Document:
        """Give a table its statements."""
        if document.media_type == "text/csv":
            document.chunks = self._chunks(document.url)
            document.is_read = True
        elif document.url.endswith("/page/whole") and document.chunks is not None:
            document.chunks = self._with_more(document.chunks, document.url)
        return document

    async def _chunks(self, url: str) -> AsyncIterator[QuadChunk]:
        for number in range(3):
            line = f'<{url}> <urn:x:row> "{number}" <{url}> .\n'
            yield QuadChunk(line.encode())

    async def _with_more(
        self, chunks: AsyncIterator[QuadChunk], url: str
    ) -> AsyncIterator[QuadChunk]:
        async for chunk in chunks:
            yield chunk
        async for chunk in self._chunks(url):
            yield chunk


@pytest.fixture(scope="module")
def dumps(commands: Commands, loopback: Loopback) -> CrawlResult:
    """Return a crawl of damaged documents, with a pipeline of the user's."""
    server: RawServer = loopback(host="127.20.9.50")
    for path, (body, media_type) in DAMAGED.items():
        if isinstance(body, bytes):
            body = loopback.response(body, str(media_type))  # noqa: PLW2901
        server.pages[path] = body
    server.pages["/own"] = loopback.response(b"a,b\n1,2\n", "text/csv")
    own = {"tests.crawl.documents.test_partial.OwnAnalyser": 350}
    pipelines = json.dumps(ITEM_PIPELINES | own)
    return commands.crawl(
        [server.url(path) for path in (*DAMAGED, "/own")],
        arguments={"depth": 0},
        ITEM_PIPELINES=pipelines,
    )


@pytest.mark.parametrize("path", DAMAGED)
def test_damaged_document_is_partial(dumps: CrawlResult, path: str) -> None:
    """If a document of any kind is cut or damaged, then it is PARTIAL."""
    (url,) = dumps.ask(f"?a sq:crawled ?x . FILTER STRENDS(STR(?x), '{path}')")
    status = "SUCCESSFUL" if path == "/page/whole" else "PARTIAL"
    assert dumps.statuses(url) == [status]


def test_statements_of_own_pipelines_are_counted(dumps: CrawlResult) -> None:
    """If a pipeline of the user's makes statements, then they count as others do."""
    (url,) = dumps.ask("?a sq:crawled ?x FILTER STRENDS(STR(?x), '/own')")
    asked = f"?a sq:crawled <{url}> ; sq:approxNumberOfTriples ?x ."
    assert dumps.ask(asked) == ["3"]
    assert dumps.statuses(url) == ["SUCCESSFUL"]
    (page,) = dumps.ask("?a sq:crawled ?x FILTER STRENDS(STR(?x), '/page/whole')")
    asked = f"?a sq:crawled <{page}> ; sq:approxNumberOfTriples ?x ."
    assert dumps.ask(asked) == [str(len(dumps.about(page)))]
    counted = dumps.ask("?a sq:status 'SUCCESSFUL' ; sq:approxNumberOfTriples ?x .")
    counted += dumps.ask("?a sq:status 'PARTIAL' ; sq:approxNumberOfTriples ?x .")
    assert dumps.statistics["document/quads"] == sum(map(int, counted))
