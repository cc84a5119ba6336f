"""`scrapy rdf` and the crawl make the same of the same bytes."""

from __future__ import annotations

import io
import os
import zipfile
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest

from tests.support.command_forks import shared_forks

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult, RunRdf
    from tests.support.crawl_webs import Loopback

HOST = "127.0.78.3"
RULES = f"""
rules:
  page:
    match: {{regex: "http://{HOST}:[0-9]+/p.*"}}
    subject: "{{url}}#it"
    properties: {{dct:title: h1}}
"""
PAGE = """<!DOCTYPE html><html vocab="http://schema.org/"><head><title>t</title>
<meta property="og:title" content="Öl"><meta name="DC.title" content="D">
<script type="application/ld+json">{"@context": {"@vocab": "http://schema.org/"},
 "@id": "#me", "name": "Ö", "knows": {"name": "K"}}</script></head>
<body><h1>Größe</h1><div itemscope itemtype="http://schema.org/Book"><b
itemprop="name">B</b><a itemprop="url" href="../x">x</a></div>
<p typeof="Person"><b property="name">R</b><a rel="knows" href="/k">k</a></p>
<p class="h-card"><b class="p-name">M</b><a class="u-url" href="m">m</a></p>
</body></html>"""
XHTML = b"""<html xmlns="http://www.w3.org/1999/xhtml" xmlns:e="http://e/"><head/>
<body about="" property="e:p"><b>x</b></body></html>"""
TURTLE = b"@base <sub/> . <a> <p> [ <p> <#b> , 'x'@en ] .\n"


def _zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("a.ttl", TURTLE)
        file.writestr("b.html", PAGE)
        file.writestr("c.jsonld", '{"@context": {"@vocab": "v#"}, "@id": "x", "a": 1}')
    return buffer.getvalue()


DOCUMENTS = {
    "/p/html": (PAGE.encode("latin-1"), "text/html; charset=ISO-8859-1"),
    "/p/xhtml": (XHTML, "application/xhtml+xml"),
    "/d/zip": (_zip(), "application/zip"),
}


@pytest.fixture(scope="module")
def server(loopback: Loopback) -> RawServer:
    """Return a server with the documents."""
    pages = {path: loopback.response(*each) for path, each in DOCUMENTS.items()}
    return loopback(pages, host=HOST)


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of scraping rules."""
    path = tmp_path_factory.mktemp("rules") / "rules.yaml"
    path.write_text(RULES)
    return path


@pytest.fixture(scope="module")
def crawled(commands: Commands, server: RawServer, rules: Path) -> CrawlResult:
    """Return a crawl of the documents."""
    seeds = [server.url(path) for path in DOCUMENTS]
    return commands.crawl(
        seeds, arguments={"depth": 0}, FRONTIER_HOST_KEY="host", SCRAPING_RULES=rules
    )


def canonical(data: bytes) -> set[ox.Triple]:
    """Return the triples of N-Quads, with canonical blank nodes."""
    quads = ox.parse(data, format=ox.RdfFormat.N_QUADS)
    dataset = ox.Dataset(ox.Quad(*quad.triple) for quad in quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return {quad.triple for quad in dataset}


@pytest.mark.parametrize("path", ["/p/html", "/d/zip"])
def test_url_gives_the_statements_of_a_crawl(
    rdf: RunRdf,
    path: str,
    server: RawServer,
    crawled: CrawlResult,
    rules: Path,
    tmp_path: Path,
) -> None:
    """If the command requests a URL, then it writes the statements of a crawl."""
    target = tmp_path / "out.nq"
    done = rdf(server.url(path), "--rules", rules, "--to", target)
    assert done.returncode == 0, done.stderr
    stored = canonical(crawled.raw(server.url(path)))
    assert stored
    assert canonical(target.read_bytes()) == stored


@pytest.mark.parametrize("path", DOCUMENTS)
def test_file_with_a_base_gives_the_statements_of_a_crawl(
    rdf: RunRdf,
    path: str,
    server: RawServer,
    crawled: CrawlResult,
    rules: Path,
    tmp_path: Path,
) -> None:
    """If a file has base and media type, then it gives the statements of a crawl."""
    body, media_type = DOCUMENTS[path]
    file, target = tmp_path / "file", tmp_path / "out.nq"
    file.write_bytes(body)
    url = server.url(path)
    words = ("--base", f"{url}#part", "--media-type", media_type)
    done = rdf(file, *words, "--rules", rules, "--to", target)
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stderr.split())
    is_page = path.startswith("/p")
    assert ("rules page" if is_page else f"rules none of 1 is for {url} ") in told
    assert canonical(target.read_bytes()) == canonical(crawled.raw(url))


def test_reservations_of_a_publisher_are_shown(rdf: RunRdf, loopback: Loopback) -> None:
    """If a crawl would not store a page, the command shows it and says so."""
    page = '<meta name="robots" content="none"><a property="dc:relation" href="x">'
    server = loopback({"/a": loopback.response(page.encode(), "text/html")})
    done = rdf(server.url("/a"))
    assert "dcterms:relation" in done.stdout
    told = " ".join(done.stderr.split())
    assert "reserved nofollow, noindex withheld a crawl would not store" in told
    assert "links 0 would be followed" in told


def test_refused_rules_are_reported_when_a_file_is_written(
    rdf: RunRdf, tmp_path: Path
) -> None:
    """If a rule is refused, then the command says so, for any output."""
    rules, page = tmp_path / "squirrel.yaml", tmp_path / "page.html"
    rules.write_text(
        "file_descriptor:\n  check: {domain: a.example}\n"
        "  bad: {regex: x}\n  good:\n    regex: Page\n    resources:\n"
        "      $uri: {http://p.example/: h1}\n"
    )
    page.write_text("<h1>x</h1>")
    url = "http://a.example/Page"
    target = tmp_path / "out.nq"
    done = rdf(page, "--rules", rules, "--base", url, "--to", target)
    assert "rule bad: `resources` is missing" in done.stderr
    assert target.read_text() == f'<{url}> <http://p.example/> "x" .\n'


@pytest.mark.parametrize("name", ["-", "/dev/fd/0"])
def test_standard_input_is_a_file(name: str, tmp_path: Path) -> None:
    """If a document comes through a pipe, then it is read as a file is."""
    words = ["-m", "scrapy", "rdf", name, "--base", "http://a.example/b"]
    words += ["--media-type", "text/turtle"]
    reader, writer = os.pipe()
    os.write(writer, b"<> <p> <#q> .")
    os.close(writer)
    told, shown = tmp_path / "told", tmp_path / "shown"
    with (
        os.fdopen(reader, "rb") as pipe,
        shown.open("wb") as out,
        told.open("wb") as err,
    ):
        process = shared_forks().start(words, out, err, stdin=pipe)
    assert process.wait() == 0, told.read_text()
    assert canonical(shown.read_bytes()) == {
        ox.Triple(
            ox.NamedNode("http://a.example/b"),
            ox.NamedNode("http://a.example/p"),
            ox.NamedNode("http://a.example/b#q"),
        )
    }
