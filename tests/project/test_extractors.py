"""Extractors of users: the page on own extractors, in a third-party project."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.rdf.extraction.options import ExtractOptions
from tests.support.pages import read_page
from tests.support.unpack_archives import zipped

if TYPE_CHECKING:
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import CrawlResult
    from tests.support.crawl_webs import Loopback
    from tests.support.project import Project
    from tests.support.project_fixtures import StartProject

_fences = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SETTINGS, MODULE = _fences.findall(read_page("own-extractors.md"))
CSV = "application/vnd.example.readings+csv"
READINGS = b"sensor,value\na,1\nb,2\n"
SHOP = (
    b"<meta property=og:title content=Shop><p data-PRICE=5>5</p>"
    b"<p itemscope><span itemprop=name>N</span></p>"
)
# Fails after its first statement, is not an extractor of text, and uses up its time.
FAILING = """

class FailingExtractor:
    marker = "Fail"

    def extract(self, page):
        yield f"<{page.url}> bad ."
        yield f'<{page.url}> <urn:x:p> "good" .'
        raise ValueError("no more")


class HangingExtractor:
    def extract(self, document):
        open("written", "w")


class LongExtractor:
    def extract(self, document):
        yield "<urn:x:s> <urn:x:p> <urn:x:o> ."
        while True:
            pass


class EndlessExtractor:
    def extract(self, document):
        while True:
            yield "<urn:x:s> <urn:x:p> <urn:x:o> ."


class LengthExtractor:
    def extract(self, document):
        with document.open() as stream:
            yield f'<urn:x:s> <urn:x:length> "{len(stream.read())}" .'


class SpreadExtractor(LengthExtractor):
    magic = b"ID3\\x04"


class NonsenseExtractor:
    def extract(self, document):
        import sys, pyoxigraph as ox

        print("frames are not disturbed", flush=True)
        yield ox.Triple(ox.NamedNode("urn:x:s"), ox.NamedNode("urn:x:p"), ox.Literal(1))
        yield b"<urn:x:s> bytes ."
        yield from document.text
        sys.exit(3)
"""
TUNE = b"ID3\x04" + b"la" * 400_000  # it does not come with its headers
SCAN = b"%PDF-1.7" + b"la" * 500_000
MORE = """
EXTRACTORS |= {
    "failing": "lab.extractors.FailingExtractor",
    "application/x-writes": "lab.extractors.HangingExtractor",
    "application/x-hangs": "lab.extractors.LongExtractor",
    "application/x-endless": "lab.extractors.EndlessExtractor",
    "application/x-nonsense": "lab.extractors.NonsenseExtractor",
    "application/pdf": "lab.extractors.LengthExtractor",
    ".png": "lab.extractors.ReadingsExtractor",
    ".spread": "lab.extractors.SpreadExtractor",
}
RDF_PARSE_SECS = 0.2
"""


@pytest.fixture(scope="module")
def site(loopback: Loopback) -> RawServer:
    """Return a host with a document of each kind, and links to them."""
    paths = b"readings shop plain fail writes hangs x.readings z.zip endless nonsense"
    paths += b" scan.pdf plan.png tune"
    links = b"".join(b"<> <urn:x:p> <%s> ." % each for each in paths.split())
    files = zipped({"in.readings": READINGS, "other.dat": b"no"})
    return loopback(
        {
            "/": loopback.response(links),
            "/readings": loopback.response(READINGS, f"{CSV}; charset=utf-8"),
            "/shop": loopback.response(SHOP, "text/html"),
            "/plain": loopback.response(b"<p>nothing</p>", "text/html"),
            "/fail": loopback.response(b"<p data-price=1>fail</p>", "text/html"),
            "/writes": loopback.response(b"x", "application/x-writes"),
            "/hangs": loopback.response(b"x", "application/x-hangs"),
            "/x.readings": loopback.response(READINGS, "text/html"),
            "/z.zip": loopback.response(files, "application/zip"),
            "/endless": loopback.response(b"x", "application/x-endless"),
            "/nonsense": loopback.response(b"xy", "application/x-nonsense"),
            "/scan.pdf": loopback.response(SCAN, "application/pdf"),
            "/plan.png": loopback.response(READINGS, "image/png"),
            "/tune": loopback.response(TUNE, "application/octet-stream"),
        }
    )


@pytest.fixture(scope="module")
def project(start_project: StartProject) -> Project:
    """Return a project with the extractors of the page, and with those that fail."""
    project = start_project("lab")
    project.add_settings(SETTINGS + MORE)
    project.write("extractors.py", MODULE + FAILING)
    return project


@pytest.fixture(scope="module")
def crawl(project: Project, site: RawServer) -> CrawlResult:
    """Return the result of a crawl of the site."""
    seeds = f"-aseeds={site.url('/')}"
    done = project.run("crawl", "linkeddata", seeds, crawl_id="linkeddata")
    assert done.code == 4, done.stderr  # some of them fail
    return done


def said(crawl: CrawlResult, url: str) -> set[tuple[str, str, str]]:
    """Return the statements of a document."""
    return {(s, p, o) for s, p, o, graph in crawl.quads if graph == url}


def test_bytes_of_a_media_type_are_read(crawl: CrawlResult, site: RawServer) -> None:
    """If a document is of a type of the user's, then its extractor reads the bytes."""
    url = site.url("/readings")
    values = {s.strip("<>"): o for s, _, o in said(crawl, url)}
    assert values == {f"{url}#a": '"1"', f"{url}#b": '"2"'}
    assert f"'document/extractor/{CSV}': 2" in crawl.stderr
    asked = next(each for each in site.requests if each.target == "/readings")
    assert f"{CSV};q=0.7" in asked.headers["accept"]


def test_bytes_are_known_by_their_name(crawl: CrawlResult, site: RawServer) -> None:
    """If a name has an extension of the user's, then its extractor reads the bytes."""
    for path in ("/x.readings", "/z.zip"):
        assert {o for _, _, o in said(crawl, site.url(path))} == {'"1"', '"2"'}
    assert "'document/extractor/.readings': 4" in crawl.stderr


def test_unknown_formats_are_fetched_for_them(
    crawl: CrawlResult, site: RawServer
) -> None:
    """If one of the user's reads a type, extension or magic of media, it gets them."""
    assert {o for _, _, o in said(crawl, site.url("/plan.png"))} == {'"1"', '"2"'}
    for path, body in (("/tune", TUNE), ("/scan.pdf", SCAN)):
        found = {o for _, _, o in said(crawl, site.url(path))}
        assert found == {f'"{len(body)}"'}, path


def test_extractor_that_never_ends_is_stopped(
    crawl: CrawlResult, site: RawServer
) -> None:
    """If an extractor yields for ever, then its time ends as that of others does."""
    (statement,) = said(crawl, site.url("/endless"))
    assert statement[1].strip("<>") == "urn:x:p"


def test_nonsense_of_an_extractor_is_left_out(
    crawl: CrawlResult, site: RawServer
) -> None:
    """If an extractor prints, yields other things and exits, the good ones are kept."""
    found = {o for _, _, o in said(crawl, site.url("/nonsense"))}
    assert len(found) == 1
    assert "integer" in found.pop()


def test_pages_are_read_together_with_ours(crawl: CrawlResult, site: RawServer) -> None:
    """If a page has the marker, then the extractor reads it, and ours do, too."""
    shop = {p.strip("<>"): o for _, p, o in said(crawl, site.url("/shop"))}
    assert shop["http://schema.org/price"] == '"5"'
    assert len(shop) >= 3
    assert "'document/extractor/price': 2" in crawl.stderr  # with that of /fail
    assert not said(crawl, site.url("/plain"))


def test_failing_extractors_are_faults(crawl: CrawlResult, site: RawServer) -> None:
    """If an extractor fails, then its statements are kept, and a fault names it."""
    found = {o for _, _, o in said(crawl, site.url("/fail"))}
    assert found == {'"good"', '"1"'}
    assert {o for _, _, o in said(crawl, site.url("/hangs"))} <= {
        "<urn:x:o>",
        "urn:x:o",
    }
    assert "'fault/parse_crash': 3" in crawl.stderr
    assert "'fault/parse_secs': 2" in crawl.stderr
    assert "'fault/bad_term': " in crawl.stderr


def test_the_command_shows_their_results(project: Project) -> None:
    """If `scrapy rdf` is given a file, then extractors of the project read it."""
    (project.folder / "readings").write_bytes(READINGS)
    (project.folder / "fail.html").write_bytes(b"<p data-price=1>fail</p>")
    done = project.run("rdf", "readings", "--media-type", CSV)
    assert done.code == 0, done.stderr
    assert f"{CSV}: 2 statements" in done.stderr
    done = project.run("rdf", "fail.html")
    assert "price: 1 statement" in done.stderr
    assert "parse_crash: failing: ValueError('no more')" in done.stderr


def test_examples_of_the_page_are_short() -> None:
    """If a user copies the page, then both are no more than 30 lines of code."""
    assert len([line for line in MODULE.splitlines() if line.strip()]) <= 30


@pytest.mark.parametrize(
    ("name", "path", "told"),
    [
        ("Not A Name", "json.JSONDecoder", "must be a media type"),
        ("text/html", "json.JSONDecoder", "other than those of HTML"),
        (".html", "json.JSONDecoder", "other than those of HTML"),
        ("lab", "nowhere.to.be.Found", "No module named 'nowhere'"),
        ("lab", "json.JSONDecoder", "no method `extract`"),
        ("lab", f"{__name__}.Async", "`extract` must not be async"),
        ("lab", f"{__name__}.Short", "called with 1 argument: too many"),
        ("lab", f"{__name__}.Made", "called with 0 arguments: missing"),
        (".lab", f"{__name__}.Magic", "`magic` is neither bytes nor"),
    ],
)
def test_wrong_extractors_are_reported(name: str, path: str, told: str) -> None:
    """If `EXTRACTORS` is wrong, then one line names the setting and the mistake."""
    with pytest.raises(ConfigError, match="EXTRACTORS") as raised:
        ExtractOptions.from_settings(Settings({"EXTRACTORS": {name: path}}))
    assert told in str(raised.value)


class Async:
    """Has an asynchronous method."""

    async def extract(self, document: object) -> list[str]:
        """Return nothing."""
        del document
        return []


class Short:
    """Takes no document."""

    def extract(self) -> list[str]:
        """Return nothing."""
        return []


class Magic:
    """Has text for bytes."""

    magic = "text"

    def extract(self, document: object) -> list[str]:
        """Return nothing."""
        del document
        return []


class Made(Magic):
    """Wants an argument."""

    def __init__(self, path: str) -> None:
        self.path = path
