"""`WARC=True`: requests and responses are kept, and give the same statements again."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox
import pytest

from rdfcrawl.stores.reading import iter_quads
from tests.crawl.sources.test_refresh import AgingSite, refresh
from tests.crawl.sources.test_revisits import said
from tests.support.ftp_servers import RealFtp
from tests.support.ranged_dumps import MIB, RangedDump, dump_of
from tests.support.web_archives import ReadRecord, read_archive, statement, warcio

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RawRequest, RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback


def chunked(*chunks: bytes) -> bytes:
    """Return a body in chunks, with an extension and a trailer."""
    sent = b"".join(b"%x;n=1\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return sent + b"0\r\nX-Trailer: yes\r\n\r\n"


def answer(body: bytes, *lines: str, status: str = "200 OK") -> bytes:
    """Return a response with exactly these header lines."""
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode() + body


@pytest.fixture(scope="module")
def web(loopback: Loopback) -> RawServer:
    """Return a server with answers of all sorts."""
    turtle = "content-TYPE:   text/turtle"
    links = b"".join(
        b"<> <urn:x:link> </%s> . _:b <urn:x:of> <%s> .\n" % (name, name)
        for name in (b"packed", b"chunked", b"moved", b"large", b"gone", b"cut", b"end")
    )
    packed = gzip.compress(statement("packed"))
    large = b"".join(statement(f"large{n}") for n in range(8_000))
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n"
    return loopback(
        {
            "/robots.txt": loopback.response(b"User-agent: *\n", "text/plain"),
            "/": answer(links, turtle, f"Content-Length: {len(links)}"),
            "/packed": answer(
                packed,
                turtle,
                "Content-Encoding: gzip",
                f"Content-Length: {len(packed)}",
            ),
            "/chunked": hints
            + answer(
                chunked(statement("ch"), statement("unked")),
                turtle,
                "Transfer-Encoding: chunked",
            ),
            "/moved": loopback.redirect("/target"),
            "/target": loopback.response(statement("target")),
            "/large": loopback.response(large),
            "/gone": loopback.response(b"gone", "text/plain", status="410 Gone"),
            "/cut": [
                answer(statement("cut"), turtle, "Content-Length: 1000"),
                None,
            ],
            "/end": [answer(statement("end"), turtle), None],
        }
    )


def archives(result: CrawlResult) -> list[Path]:
    """Return the files of the archive of a crawl, which are all finished."""
    folder = result.folder / "warc"
    assert not list(folder.glob("*.open"))
    return sorted(folder.glob("*.warc.gz"))


def gunzip_members(file: Path) -> bytes:
    """Return the content of a file whose records are members of gzip."""
    return gzip.decompress(file.read_bytes())


def canonical(result: CrawlResult, *graphs: str) -> str:
    """Return the statements of a crawl, with labels that do not depend on the crawl."""
    dataset = ox.Dataset(
        quad
        for quad in ox.parse(
            b"".join(iter_quads(result.folder / "quads")), format=ox.RdfFormat.N_QUADS
        )
        if str(quad.graph_name)[1:-1] not in graphs
    )
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return "\n".join(sorted(map(str, dataset)))


def crawl(commands: Commands, web: RawServer, **settings: Any) -> CrawlResult:
    """Crawl all of the server, and keep an archive."""
    result = commands.crawl(
        [web.url("/")],
        WARC=True,
        RETRY_TIMES=0,
        FRONTIER_COMMIT_SECS=0.2,
        **settings,
    )
    assert result.code == 0, result.stderr[-3000:]
    return result


@pytest.fixture(scope="module")
def kept(commands: Commands, web: RawServer) -> CrawlResult:
    """Return the results of a crawl that keeps an archive."""
    return crawl(commands, web)


@pytest.mark.in_turn(2, rooms=("downloader",))
@pytest.mark.parametrize("with_scrapy", [False, True], ids=["own", "scrapy"])
def test_archive_equals_the_store_of_the_crawl(
    commands: Commands, web: RawServer, kept: CrawlResult, *, with_scrapy: bool
) -> None:
    """If a crawl keeps an archive, then reading that gives the same statements."""
    result = crawl(commands, web, FETCH_WITH_SCRAPY=True) if with_scrapy else kept
    files = archives(result)
    assert files
    assert warcio("check", *files) == ""
    again = commands.crawl(spider="warc", arguments={"files": files[0]})
    assert again.code == 0, again.stderr[-3000:]
    assert canonical(again) == canonical(result)
    assert len(result.graphs) == 7, result.graphs
    records = [each for file in files for each in read_archive(file)]
    responses = {each.url for each in records if each.type == "response"}
    asked = {web.url(target) for target in web.targets}
    assert responses == asked
    statistics = result.statistics
    for kind, count in Counter(each.type for each in records).items():
        assert statistics[f"warc/records/{kind}"] == count or kind == "warcinfo"
    assert statistics["warc/bytes"] > 1000


def records_of(result: CrawlResult, kind: str = "response") -> dict[str, ReadRecord]:
    """Return the last record of a type of each URL in the archive of a crawl."""
    records = (each for file in archives(result) for each in read_archive(file))
    return {each.url: each for each in records if each.type == kind}


def test_answers_are_kept_as_they_came(kept: CrawlResult, web: RawServer) -> None:
    """If an answer is kept, then headers and coding of its body are those received."""
    (file,) = archives(kept)
    packed = gunzip_members(file)
    assert b"\r\ncontent-TYPE:   text/turtle\r\nContent-Encoding: gzip\r\n" in packed
    responses = records_of(kept)
    assert gzip.decompress(responses[web.url("/packed")].body) == statement("packed")
    unchunked = responses[web.url("/chunked")]
    assert unchunked.body == statement("ch") + statement("unked")
    assert "X-Crawler-Transfer-Encoding: chunked" in unchunked.head
    assert "Early Hints" not in unchunked.head
    assert responses[web.url("/moved")].body == b"moved"
    assert responses[web.url("/gone")].head.startswith("HTTP/1.1 410 Gone")
    cut = responses[web.url("/cut")]
    assert (cut.body, cut.fields["WARC-Truncated"]) == (statement("cut"), "disconnect")
    assert kept.statistics["warc/truncated/disconnect"] == 1


def test_records_have_the_fields_that_tools_expect(
    kept: CrawlResult, web: RawServer
) -> None:
    """If an archive is kept, then its records name one another, and can be indexed."""
    (file,) = archives(kept)
    info, *others = read_archive(file)
    assert info.fields["WARC-Filename"] == file.name
    assert b"software: rdfcrawl/" in info.body
    response = records_of(kept)[web.url("/target")]
    name = response.fields["WARC-Record-ID"]
    assert re.fullmatch(r"<urn:uuid:[0-9a-f-]{36}>", name)
    assert response.fields["WARC-IP-Address"] == "127.0.0.1"
    assert re.fullmatch(r"sha1:[A-Z2-7]{32}", response.fields["WARC-Payload-Digest"])
    for kind in ("request", "metadata"):
        beside = records_of(kept, kind)[web.url("/target")]
        assert beside.fields["WARC-Concurrent-To"] == name
        assert beside.fields["WARC-Date"] == response.fields["WARC-Date"]
    assert {each.fields["WARC-Warcinfo-ID"] for each in others} == {
        info.fields["WARC-Record-ID"]
    }
    sent = records_of(kept, "request")[web.url("/target")]
    assert sent.head.startswith("GET /target HTTP/1.1")
    assert "User-Agent: rdfcrawl/" in sent.head
    assert b"fetchTimeMs: " in records_of(kept, "metadata")[web.url("/target")].body
    lines = warcio("index", file).splitlines()
    assert len(lines) == 1 + len(others)
    found = next(each for each in map(json.loads, lines)
                 if each.get("warc-target-uri") == web.url("/target"))  # fmt: skip
    begin = int(found["offset"])
    assert gzip.decompress(file.read_bytes()[begin:]).startswith(b"WARC/1.1\r\n")


def test_an_unchanged_page_in_a_later_run_is_a_revisit(
    commands: Commands, loopback: Loopback
) -> None:
    """If a later run finds nothing new, then records refer to those of the first."""
    server = loopback(host="127.0.83.1")
    urls = f"<url><loc>{server.url('/page')}</loc></url>"
    body = (
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
    )

    def sitemap(request: RawRequest) -> bytes:
        if request.headers.get("if-none-match") == '"v1"':
            return answer(b"", 'ETag: "v1"', status="304 Not Modified")
        return loopback.response(body.encode(), "application/xml", ETag='"v1"')

    server.pages |= {
        "/robots.txt": loopback.response(
            f"Sitemap: {server.url('/sitemap.xml')}\n".encode(), "text/plain"
        ),
        "/sitemap.xml": sitemap,
        "/page": loopback.response(statement("page")),
    }
    folder = commands.folder()
    for _ in range(2):
        result = commands.crawl(
            spider="sitemap",
            arguments={"sites": server.url("/")},
            folder=folder,
            WARC=True,
        )
        assert result.code == 0, result.stderr[-3000:]
    first, revisits = records_of(result), records_of(result, "revisit")
    profiles = {"/robots.txt": "identical-payload-digest"}
    profiles["/sitemap.xml"] = "server-not-modified"
    for path, profile in profiles.items():
        fields = revisits[server.url(path)].fields
        assert fields["WARC-Profile"].endswith(f"/{profile}")
        original = first[server.url(path)].fields
        assert fields["WARC-Refers-To"] == original["WARC-Record-ID"]
    assert server.url("/page") not in revisits


@pytest.mark.in_turn(2, rooms=("downloader", "sources"))
def test_page_that_was_missing_for_a_while_is_in_the_archive(
    commands: Commands, loopback: Loopback
) -> None:
    """If a refreshed page is missing, then its archive has it as long as the crawl has.

    That is so if it is back with an answer of 304, and when it is missing for good,
    though each answer of 404 has the same body.
    """
    site = AgingSite(loopback, "127.0.83.3")
    page = site.says("/page", "here")
    body = b"<p>there is none</p>"
    missing = loopback.response(body, "text/html", status="404 Not Found")
    folder = commands.folder()
    eager: dict[str, Any] = {"REFRESH_RETRY_SECS": 0, "REFRESH_GONE_SECS": 0}

    def read_back() -> tuple[dict[str, str], dict[str, str]]:
        told = refresh(commands, folder, REFRESH_GONE_TRIES=2, **eager)
        assert told.code == 0, told.stderr
        live = commands.crawl(folder=folder, WARC=True)
        files = f"{live.folder}/warc/*.warc.gz"
        restored = commands.crawl(spider="warc", arguments={"files": files})
        return said(live), said(restored)

    commands.crawl([page], folder=folder, WARC=True)
    back = site.server.pages["/page"]
    found = []
    for reply in (missing, back, missing, missing):
        site.server.pages["/page"] = reply
        found.append(read_back())
    assert [live for live, _ in found] == [{page: "here"}] * 3 + [{}]
    assert [restored for _, restored in found] == [{page: "here"}] * 3 + [{}]


@pytest.mark.in_turn(2, rooms=("downloader", "sources"))
def test_files_of_ftp_and_joined_dumps_are_resources(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If no HTTP response has a document as a unit, then a `resource` has it."""
    files = tmp_path / "files"
    (files / "pub").mkdir(parents=True)
    (files / "pub" / "a.nt").write_bytes(statement("ftp"))
    dump = RangedDump(dump_of(MIB), (MIB // 2,))
    server = loopback({"/all.nt": dump})
    with RealFtp(files, host="127.0.83.2") as ftp:
        result = commands.crawl(
            [ftp.url("/pub/"), server.url("/all.nt")],
            arguments={"scope": "host"},
            WARC=True,
            VISIT_SPOOL_BYTES=16 * 1024,
        )
    assert result.code == 0, result.stderr[-3000:]
    assert any(dump.asked)
    resources = records_of(result, "resource")
    joined = server.url("/all.nt")
    assert resources[ftp.url("/pub/a.nt")].body == statement("ftp")
    assert resources[joined].body == dump.body
    again = commands.crawl(
        spider="warc", arguments={"files": result.folder / "warc" / "*.warc.gz"}
    )
    assert {ftp.url("/pub/a.nt"), ftp.url("/pub/"), joined} <= result.graphs
    assert again.latest_quads == result.latest_quads


def test_keys_stay_out_of_the_archive(commands: Commands, loopback: Loopback) -> None:
    """If requests have keys in their headers, then the archive has none of them."""
    server = loopback({"/a": loopback.response(statement("a"))}, host="127.0.83.3")
    keys = {"Authorization": "Basic s3cr3t", "X-Lab": "s3cr3t"}
    result = commands.crawl(
        [server.url("/a")],
        WARC=True,
        FETCH_WITH_SCRAPY=True,
        DEFAULT_REQUEST_HEADERS=json.dumps(keys),
        WARC_REDACTED_HEADERS="authorization,x-lab",
    )
    assert server.requests[-1].headers["x-lab"] == "s3cr3t"
    (file,) = archives(result)
    content = gunzip_members(file)
    assert b"s3cr3t" not in content
    assert b"Authorization: redacted\r\n" in content
    assert b"X-Lab: redacted\r\n" in content
    request = records_of(result, "request")[server.url("/a")]
    assert request.body == b""


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ({"WARC": "maybe"}, "WARC='maybe': must be True or False"),
        ({"WARC_MAX_BYTES": 3}, "WARC_MAX_BYTES=3: must be 1024"),
        ({"WARC_REDACTED_HEADERS": "a b"}, "WARC_REDACTED_HEADERS: 'a b': must be"),
    ],
)
def test_wrong_settings_are_reported_before_workers_start(
    commands: Commands, setting: dict[str, Any], told: str
) -> None:
    """If a setting of the archive is wrong, then one line says so, and nothing runs."""
    words = "workers", "-n2", "linkeddata", "-aseeds=http://h.example/"
    result = commands.start(*words, **{"WARC": True} | setting).wait()
    assert result.code == 2
    assert told in result.stderr
    assert "outcome" not in result.stderr
    assert "Traceback" not in result.stderr


def test_an_archive_that_cannot_be_opened_is_reported_in_one_line(
    commands: Commands, loopback: Loopback
) -> None:
    """If there is a file in the place of the folder, then one line says so."""
    server = loopback({"/a": loopback.response(statement("a"))}, host="127.0.83.4")
    folder = commands.folder()
    (folder / "linkeddata").mkdir()
    (folder / "linkeddata" / "warc").touch()
    result = commands.crawl([server.url("/a")], folder=folder, WARC=True)
    assert result.code == 1
    assert "/warc: [Errno 17] File exists" in result.stderr
    assert "Traceback" not in result.stderr
    assert not server.requests
