"""Files that hold no statements are not requested, or not received."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.support.ftp_servers import RealFtp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import RawRequest, RawServer, Step
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

LONG_BYTES = 40_000_000
# Names that links are not followed to.
IGNORED = """
/a.jpg /b.JPEG /c.png?w=300 /d.css /e.js?v=2 /f.woff2 /g.mp4 /h.mp3 /i.docx /j.pdf
/k%2Ejpg /l.jp%67 /m.webp;v=1 /n.tar.jpg /o.ttl.png /img:/p.gif /Special:FilePath/q.jpg
/q/r.exe /.jpg /data/s.xlsx
""".split()
# Names that say nothing against RDF.
WANTED = """
/page.php?file=x.jpg /File:X.jpg /Datei%3AX.jpg /a.jpg/ /dir.jpg/about /jpg /x.jpg.ttl
/x.svg /x.zip /x.json /x.xml /x.rss /x.jpeg2000 /resource/Node.js /wiki/Main.css
/?image.png /x.jpg:large /x.csv
""".split()
# Path -> media type that is declared of a long body, and what it begins with; the
# bodies are not received.
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
READ = {
    "/r/svg": ("image/svg+xml", b'<svg vocab="urn:x:" xmlns="http://www.w3.org/2000/svg"'
               b' typeof="Picture"><title property="title">t</title></svg>'),
    "/r/octets": ("application/octet-stream", b"<urn:x:s> <urn:x:p> <urn:x:o> ."),
    "/r/none": ("", b"<urn:x:s> <urn:x:p> <urn:x:o> ."),
    "/r/odd.ttl": ("image/png", b"<urn:x:s> <urn:x:p> <urn:x:o> ."),
}  # fmt: skip
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
    server.pages["/"] = answer(
        links_to(server, [*IGNORED, *WANTED, *LONG, *READ, SHORT, "/to/jpg", "/to/page"])
    )
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
