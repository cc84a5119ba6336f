"""Facts kept of each document, for comparison with others and later runs."""

from __future__ import annotations

import gzip
import hashlib
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.rdf.fingerprints import read_sketch
from rdfcrawl.stores.log.links import LinkLog
from tests.support.fingerprints import fingerprint_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

RC = "urn:rdfcrawl:vocab#"
IANA = "http://www.iana.org/assignments/relation/"
WORDS = "eins zwei drei vier fünf sechs sieben acht neun zehn"
PAGE = """<!DOCTYPE html><html><head><title>T</title>
<link rel=canonical href=/page><link rel=alternate type=text/turtle href=/data>
<script type="application/ld+json">{"@id": "", "urn:x:p": {"@id": "/thing"}}</script>
<style>p { color: red }</style></head>
<body><p>EINS zwei drei<br>vier <b>f&uuml;nf</b> sechs sieben <script>no()</script>
acht&nbsp;neun zehn</p><a href=/about><img src=/i></a><a href=/no rel=nofollow></a>
</body></html>
"""
LIST = "<h1>List</h1>" + "<a href=/no rel=nofollow>two words</a>\n" * 20
REMOTE = """<h1>Eins zwei</h1><script type="application/ld+json">
{"@context": "%s", "@id": "", "p": 1}</script>"""
N_DUMP = 9000
LARGE = b"".join(b"<urn:x:s> <urn:x:p> <http://a.example/%d> .\n" % n
                 for n in range(N_DUMP))  # fmt: skip


@pytest.fixture(scope="module")
def server(loopback: Loopback) -> RawServer:
    """Return a site with a page, its data, a copy of the data and two dumps."""
    site = loopback()
    data = b"<> <urn:x:p> _:b, </thing>, <http://other.example/> . _:b <urn:x:p> 1 ."
    header = f'<{site.url("/data")}>; rel="canonical"'
    pages = {
        "/page?id=1": loopback.response(PAGE.encode(), "text/html"),
        "/list": loopback.response(LIST.encode(), "text/html"),
        "/lost": loopback.response(b"<title>Page not found</title>Oh", "text/html"),
        "/remote": loopback.response(
            (REMOTE % site.url("/context")).encode(), "text/html", Link=header
        ),
        "/context": loopback.response(
            b'{"@context": {"p": "urn:x:p"}}', "application/ld+json"
        ),
        "/data": loopback.response(data),
        "/copy": loopback.response(data.replace(b"_:b", b"_:c"), Link=header),
        "/large.nt": loopback.response(LARGE, "application/n-triples"),
        "/packed.nt.gz": loopback.response(gzip.compress(LARGE), "application/gzip"),
        "/sitemap.xml": loopback.response(
            b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
            b"<url><loc>%b</loc></url></urlset>" % site.url("/listed").encode(),
            "text/xml",
        ),
        "/listed": loopback.response(b"<> <urn:x:p> 1 ."),
    }
    site.pages.update(pages)
    return site


@pytest.fixture(scope="module")
def result(commands: Commands, server: RawServer) -> CrawlResult:
    """Return a crawl of the site, with hyperlinks."""
    paths = (
        "/page?id=1",
        "/list",
        "/lost",
        "/remote",
        "/data",
        "/copy",
        "/large.nt",
        "/packed.nt.gz",
    )
    result = commands.crawl(
        [server.url(path) for path in paths],
        arguments={"follow": "abox,hyperlink,nofollow", "depth": 0},
        LINKS_MAX_PER_DOCUMENT=5000,
        VISIT_SPOOL_BYTES=20_000,
    )
    assert result.code == 0, result.stderr
    return result


def fact(result: CrawlResult, url: str, term: str) -> str:
    """Return a fact of the one crawl of a document; empty if it is missing."""
    return "".join(result.ask(f"?a sq:crawled <{url}> ; rc:{term} ?x ."))


def iter_logged(result: CrawlResult) -> Iterator[tuple[str, set[tuple[str, str]]]]:
    """Yield documents with their logged links."""
    for batch in LinkLog(result.folder).read():
        for document in batch.documents:
            assert len(set(document.links)) == len(document.links)
            yield document.graph, set(document.links)


def test_bodies_and_contents_have_hashes(
    result: CrawlResult, server: RawServer
) -> None:
    """If a document was fetched, then its hashes follow from its body and content."""
    for path, body in (
        ("/page?id=1", PAGE.encode()),
        ("/large.nt", LARGE),  # read by a child
        ("/packed.nt.gz", gzip.compress(LARGE)),
    ):
        found = fact(result, server.url(path), "contentHash")
        if not path.endswith("gz"):  # the header of gzip has a time
            assert found == hashlib.sha256(body).hexdigest()[:32], path
        assert len(found) == 32, path
        assert fact(result, server.url(path), "run") == "0"
    page, data, copy = map(server.url, ("/page?id=1", "/data", "/copy"))
    shown = hashlib.sha256(WORDS.encode()).hexdigest()[:32]
    assert fact(result, page, "textHash") == shown
    assert fact(result, page, "sketch") == fingerprint_text(WORDS).sketch
    assert read_sketch(fact(result, page, "sketch")).n_listed == 3  # shingles
    same = fact(result, data, "textHash")
    assert same == fact(result, copy, "textHash")
    assert fact(result, data, "contentHash") != fact(result, copy, "contentHash")
    lines = [b"", b"<> <urn:x:p> <http://other.example/> .", b"<> <urn:x:p> _: .",
             b"<> <urn:x:p> <%b> ." % server.url("/thing").encode(),
             b'_: <urn:x:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .',
             ]  # fmt: skip
    content = b"\n".join(sorted(lines))
    assert same == hashlib.sha256(content).hexdigest()[:32]
    assert len(fact(result, server.url("/large.nt"), "sketch")) == 64


def test_images_of_short_pages_are_counted(
    result: CrawlResult, server: RawServer
) -> None:
    """If a page has few words and an image, then the provenance says so."""
    assert fact(result, server.url("/page?id=1"), "images") == "1"
    assert fact(result, server.url("/data"), "images") == ""


def test_shingles_lists_and_error_pages_are_recorded(
    result: CrawlResult, server: RawServer
) -> None:
    """If a page is a list of links, or says that there is none, it is known."""
    terms = "words", "linkedWords", "errorPage", "shingles"
    found = {
        path: tuple(fact(result, server.url(path), term) for term in terms)
        for path in ("/page?id=1", "/list", "/lost", "/data", "/large.nt")
    }
    assert found == {
        "/page?id=1": ("", "", "", "3"),
        "/list": (
            "41",
            "40",
            "",
            "3",
        ),  # like its begin, except for one word
        "/lost": ("", "", "true", "1"),
        "/data": ("", "", "", "4"),
        "/large.nt": ("", "", "", str(N_DUMP)),
    }


def test_page_of_two_readers_has_its_facts(
    result: CrawlResult, server: RawServer
) -> None:
    """If a second reader needs a context, then the facts are of the first."""
    url = server.url("/remote")
    assert url in result.graphs
    assert fact(result, url, "textHash") == fingerprint_text("eins zwei").text_hash
    assert fact(result, url, "shingles") == "1"
    assert fact(result, url, "canonical") == server.url("/data")


def test_declared_canonical_is_kept(result: CrawlResult, server: RawServer) -> None:
    """If a page or a header declares a canonical URL, then the provenance has it."""
    canonical = {
        path: fact(result, server.url(path), "canonical")
        for path in ("/page?id=1", "/data", "/copy")
    }
    wanted = {"/page?id=1": "/page", "/copy": "/data"}
    assert canonical == {"/data": ""} | {x: server.url(y) for x, y in wanted.items()}


def test_links_are_logged_as_found(result: CrawlResult, server: RawServer) -> None:
    """If documents have links, then the log has them, even those the frontier refuses.

    Nothing was followed, as the depth is 0.
    """
    at, found = server.url, dict(iter_logged(result))
    assert found[at("/page?id=1")] == {
        (at("/thing"), "urn:x:p"),
        (at("/page"), f"{IANA}canonical"),
        (at("/data"), f"{IANA}alternate"),
        (at("/about"), f"{RC}hyperlink"),
        (at("/no"), f"{RC}nofollow"),
    }
    linked = {(at("/thing"), "urn:x:p"), ("http://other.example/", "urn:x:p")}
    assert found[at("/data")] == linked
    assert found[at("/copy")] == linked | {(at("/data"), f"{IANA}canonical")}
    first = {(f"http://a.example/{n}", "urn:x:p") for n in range(5000)}
    assert found[at("/large.nt")] == found[at("/packed.nt.gz")] == first
    assert result.statistics["link/log_full"] == 2
    n_logged = sum(map(len, found.values()))
    assert result.statistics["link/logged"] == n_logged


def test_facts_and_log_can_be_left_out(commands: Commands, server: RawServer) -> None:
    """If neither is wanted, then nothing is hashed, and no log is there.

    Sitemaps say their format and how they were found nevertheless.
    """
    result = commands.crawl(
        arguments={"sites": server.url("/")},
        spider="sitemap",
        FACTS=False,
        LINKS_LOG=False,
    )
    assert result.code == 0, result.stderr
    assert server.url("/listed") in result.graphs
    for term in ("contentHash", "textHash", "sketch", "shingles"):
        assert not result.ask(f"?a rc:{term} ?x .")
    assert not (result.folder / "links").exists()
    sitemap = server.url("/sitemap.xml")
    assert fact(result, sitemap, "sitemapFormat") == "xml"
    assert fact(result, sitemap, "foundBy") == "guess"
