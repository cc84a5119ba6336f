"""Files that hold no statements are not requested, or not received."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.ftp_servers import RealFtp
from tests.support.web_archives import read_archive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import RawRequest, RawServer, Step
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

LONG_BYTES = 40_000_000
# Names that links are not followed to.
IGNORED = [
    "/a.jpg",
    "/b.JPEG",
    "/c.png?w=300",
    "/d.css",
    "/e.js?v=2",
    "/f.woff2",
    "/g.mp4",
    "/h.mp3",
    "/i.docx",
    "/j.pdf",
    "/k%2Ejpg",
    "/l.jp%67",
    "/m.webp;v=1",
    "/n.tar.jpg",
    "/o.ttl.png",
    "/img:/p.gif",
    "/Special:FilePath/q.jpg",
    "/q/r.exe",
    "/.jpg",
    "/data/s.xlsx",
]
# Names that say nothing against RDF.
WANTED = [
    "/page.php?file=x.jpg",
    "/File:X.jpg",
    "/Datei%3AX.jpg",
    "/a.jpg/",
    "/dir.jpg/about",
    "/jpg",
    "/x.jpg.ttl",
    "/x.svg",
    "/x.zip",
    "/x.json",
    "/x.xml",
    "/x.rss",
    "/x.jpeg2000",
    "/resource/Node.js",
    "/wiki/Main.css",
    "/?image.png",
    "/x.jpg:large",
    "/x.csv",
]
# Path -> declared media type of a long body, and its first bytes; the bodies are not
# received.
LONG = {
    "/t/jpeg": ("image/jpeg", b"\xff\xd8\xff"),
    "/t/upper": ("Image/PNG; charset=binary", b"\x89PNG"),
    "/t/video": ("video/x-of-tomorrow", b"\x00\x00\x00\x20ftypmp42"),
    "/t/sound": ("audio/mpeg", b"ID3\x04"),
    "/t/font": ("font/woff2", b"wOF2"),
    "/t/style": ("text/css", b"@import "),
    "/t/script": ("application/javascript", b"'use strict';"),
    "/t/pdf": ("application/pdf", b"%PDF-1.7"),
    "/t/office": (
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        b"PK\x03\x04",
    ),
    "/m/html": ("text/html", b"\x89PNG\r\n\x1a\n"),
    "/m/none": ("", b"%PDF-1.4\n"),
    "/m/octets": ("application/octet-stream", b"RIFF\x00\x00\x00\x00WEBPVP8 "),
    "/m/text": ("text/plain", b"\x1a\x45\xdf\xa3"),
}
# Path -> media type of a short document that is read all the same.
SVG = b"""<svg vocab="urn:x:" xmlns="http://www.w3.org/2000/svg" typeof="Picture">
<title property="title">t</title></svg>"""
READ = {
    "/r/svg": ("image/svg+xml", SVG),
    "/r/octets": ("application/octet-stream", b"<urn:x:s> <urn:x:p> <urn:x:o> ."),
    "/r/none": ("", b"<urn:x:s> <urn:x:p> <urn:x:o> ."),
    "/r/odd.ttl": ("image/png", b"<urn:x:s> <urn:x:p> <urn:x:o> ."),
}
SHORT = "/short"  # a short picture, with a description elsewhere
FORMAT = "unsupported_format"


def long_body(
    sent: Counter[str], path: str, media_type: str, begin: bytes, _: RawRequest
) -> Iterator[Step]:
    """Yield a long response, and count the bytes that the client has taken."""
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {LONG_BYTES}\r\n"
    head += f"Content-Type: {media_type}\r\n" if media_type else ""
    yield head.encode() + b"\r\n" + begin
    left = LONG_BYTES - len(begin)
    while left > 0:
        piece = b"\xff" * min(100_000, left)
        yield piece
        left -= len(piece)
        sent[path] += len(piece)


def links_to(server: RawServer, paths: list[str]) -> bytes:
    """Return a document that links to some paths of a server."""
    return "".join(f"<> <urn:x:p> <{server.url(x)}> .\n" for x in paths).encode()


@dataclass(frozen=True)
class MediaCrawl:
    """A crawl of a site with pictures and other files."""

    result: CrawlResult
    server: RawServer
    sent: Counter[str]  # bytes of long bodies, by path


@pytest.fixture(scope="module", params=[False, True], ids=["", "with Scrapy"])
def crawled(
    request: pytest.FixtureRequest, commands: Commands, loopback: Loopback
) -> MediaCrawl:
    """Return a crawl of names and of types."""
    sent: Counter[str] = Counter()
    host = f"127.75.1.{1 + request.param}"
    server = loopback(host=host)
    answer = loopback.response
    server.pages["*"] = answer(b"<urn:x:s> <urn:x:p> 1 .")
    paths = [*IGNORED, *WANTED, *LONG, *READ, SHORT, "/to/jpg", "/to/page"]
    server.pages["/"] = answer(links_to(server, paths))
    for path, (media_type, begin) in LONG.items():
        server.pages[path] = partial(long_body, sent, path, media_type, begin)
    for path, (media_type, body) in READ.items():
        server.pages[path] = answer(body, media_type)
    link = f'<{server.url("/described")}>; rel="describedby"'
    server.pages |= {
        SHORT: answer(b"\xff\xd8\xff" * 100, "image/jpeg", Link=link),
        "/to/jpg": loopback.redirect(server.url("/target.jpg")),
        "/to/page": loopback.redirect(server.url("/target")),
        "/seed.jpg": answer(b"<urn:x:s> <urn:x:p> 1 ."),
        "/moved-seed": loopback.redirect(server.url("/seed-target.png")),
    }
    seeds = [server.url(x) for x in ("/", "/seed.jpg", "/moved-seed")]
    result = commands.crawl(seeds, FETCH_WITH_SCRAPY=request.param)
    assert result.code == 0, result.stderr
    return MediaCrawl(result, server, sent)


def test_names_of_media_are_not_requested(crawled: MediaCrawl) -> None:
    """If a link names a picture or the like, then it is counted and not followed."""
    targets = set(crawled.server.targets)
    assert not targets & {*IGNORED, "/target.jpg"}
    assert targets >= {*WANTED, "/target", "/described"}
    statistics = crawled.result.statistics
    n_ignored = len(IGNORED) + 1
    assert statistics["link/ignored_extension"] == n_ignored
    assert statistics["decision/ignored_extension"] == n_ignored
    assert crawled.result.faults(crawled.server.url("/to/jpg")) == ["not_wanted"]


def test_seeds_are_requested_whatever_their_names(crawled: MediaCrawl) -> None:
    """If the operator names a URL with such a name, then it is fetched."""
    url = crawled.server.url
    assert {url("/seed.jpg"), url("/seed-target.png")} <= crawled.result.graphs


def test_bodies_that_nothing_reads_are_not_received(crawled: MediaCrawl) -> None:
    """If a type or first bytes are those of media, then the rest is not received."""
    url, result = crawled.server.url, crawled.result
    for path in LONG:
        assert result.faults(url(path)) == [FORMAT], path
        assert result.statuses(url(path)) == ["FAILED"], path
        assert crawled.server.targets.count(path) == 1, path
        assert crawled.sent[path] < LONG_BYTES / 2, path
    assert result.faults(url(SHORT)) == [FORMAT]
    for path in READ:
        assert url(path) in result.graphs, path


def test_share_of_useful_bytes_is_counted(crawled: MediaCrawl) -> None:
    """If bodies are received, then it is counted how much of them was of use."""
    statistics = crawled.result.statistics
    assert 0 < statistics["http/useful_bytes"] <= statistics["http/bytes"] < 100_000


def test_short_body_keeps_its_connection(crawled: MediaCrawl) -> None:
    """If the unwanted body is short, then the connection is used again."""
    server = crawled.server
    n_long = sum(x in LONG for x in server.targets)
    assert server.n_connections <= n_long + 2


@dataclass(frozen=True)
class ArchivedCrawl:
    """A crawl that keeps an archive, of HTTP and of FTP."""

    result: CrawlResult
    server: RawServer
    ftp: RealFtp


@pytest.fixture(scope="module")
def archived(
    commands: Commands, loopback: Loopback, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ArchivedCrawl]:
    """Yield a crawl of a server for FTP and of long bodies, which keeps an archive."""
    sent: Counter[str] = Counter()
    server = loopback(host="127.75.1.3")
    for path, (media_type, begin) in LONG.items():
        server.pages[path] = partial(long_body, sent, path, media_type, begin)
    folder = tmp_path_factory.mktemp("ftp")
    (folder / "a.JPG").write_bytes(b"\xff\xd8\xff")
    (folder / "b.nt").write_bytes(b"<urn:x:s> <urn:x:p> <urn:x:o> .")
    (folder / "named").write_bytes(b"\x89PNG" + bytes(LONG_BYTES))
    with RealFtp(folder, host="127.75.1.4") as ftp:
        seeds = [ftp.url(), *map(server.url, LONG)]
        result = commands.crawl(seeds, WARC=True)
        yield ArchivedCrawl(result, server, ftp)


def test_files_of_ftp_are_left_out_by_name_and_begin(archived: ArchivedCrawl) -> None:
    """If a directory has a picture, then it is not fetched, or not to its end."""
    ftp, result = archived.ftp, archived.result
    assert {x for x in ftp.commands if x.startswith("RETR")} == {
        "RETR /robots.txt",
        "RETR /b.nt",
        "RETR /named",
    }
    assert result.faults(ftp.url("named")) == [FORMAT]
    assert ftp.n_sent < LONG_BYTES
    assert ftp.url("b.nt") in result.graphs


def test_archive_has_the_heads_of_bodies_not_received(
    archived: ArchivedCrawl,
) -> None:
    """If a body is not received, then the archive says so of its record."""
    (file,) = (archived.result.folder / "warc").glob("*.warc.gz")
    kept = {x.url: x for x in read_archive(file) if x.type == "response"}
    for path in LONG:
        record = kept[archived.server.url(path)]
        assert record.head.startswith("HTTP/1.1 200 OK"), path
        assert record.fields["WARC-Truncated"] == "unspecified", path
        assert len(record.body) < LONG_BYTES / 10, path


def test_everything_is_fetched_on_request(
    commands: Commands, loopback: Loopback
) -> None:
    """If no file is ignored, then names and types make no difference."""
    server = loopback(host="127.75.1.5")
    body = b"\x89PNG" + bytes(300_000)
    server.pages["*"] = loopback.response(body, "image/png")
    server.pages["/"] = loopback.response(links_to(server, ["/a.png", "/b", "/c.gif"]))
    result = commands.crawl(
        [server.url("/")], IGNORED_EXTENSIONS=".GIF", IGNORED_MEDIA_TYPES=""
    )
    assert result.code == 0, result.stderr
    assert {"/a.png", "/b"} <= set(server.targets)
    assert "/c.gif" not in server.targets
    assert result.statistics["http/bytes"] > 2 * len(body)
    assert result.faults(server.url("/a.png")) == [FORMAT]


@pytest.mark.parametrize(
    ("name", "value"),
    [("IGNORED_EXTENSIONS", "a/b"), ("IGNORED_MEDIA_TYPES", "image")],
)
def test_wrong_settings_are_reported(commands: Commands, name: str, value: str) -> None:
    """If a setting names no extension or type, then one line says so."""
    given: dict[str, Any] = {name: value}
    result = commands.crawl(["http://127.75.1.9/"], **given)
    assert result.code == 2
    assert f"{name}: '{value}'" in result.stderr
