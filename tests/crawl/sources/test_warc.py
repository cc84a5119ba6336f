"""Web archives: the contents of WARC files are read as if they had been fetched."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import signal
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.stores.log.crawl_log import iter_latest
from tests.support.crawl_kills import worker_pids
from tests.support.web_archives import HOST, Archive, raw_record, statement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RawRequest
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

PERSON = {"@context": {"name": "http://xmlns.com/foaf/0.1/name"}}


def varied(*, is_packed: bool) -> bytes:
    """Return an archive with all kinds of records."""
    archive = Archive(is_packed)
    html = ("Content-Type", "text/html")
    person = json.dumps(PERSON | {"@id": "urn:x:ld", "name": "Ada"})
    page = f'<a href="{HOST}/next">x</a><script type="application/ld+json">{person}'
    archive.add(f"{HOST}/page#top", page.encode() + b"</script>", html)
    archive.add(
        f"{HOST}/packed",
        gzip.compress(statement("packed")),
        ("Content-Type", "text/turtle"),
        ("Content-Encoding", "gzip"),
    )
    chunk = statement("chunked")
    archive.add(
        f"{HOST}/chunked",
        b"%x\r\n%s\r\n0\r\n\r\n" % (len(chunk), chunk),
        ("Content-Type", "text/turtle"),
        ("Transfer-Encoding", "chunked"),
    )
    archive.add("ftp://files.example/f", statement("ftp"),
                ("Content-Type", "text/turtle"), kind="resource")  # fmt: skip
    archive.add(f"{HOST}/gone", b"<urn:x:g> <urn:x:in> 1 .",
                ("Content-Type", "text/turtle"), status="404 Not Found")  # fmt: skip
    archive.add(f"{HOST}/moved", b"<urn:x:m> <urn:x:in> 1 .",
                ("Content-Type", "text/turtle"), ("Location", "last#it"),
                status="301 Moved Permanently")  # fmt: skip
    for name, target in (("lost", "mailto:me"), ("same", "")):
        archive.add(f"{HOST}/{name}", b"", *[("Location", target)] * bool(target),
                    status="302 Found")  # fmt: skip
    archive.add(f"{HOST}/part", statement("part"), ("Content-Type", "text/turtle"),
                status="206 Partial Content")  # fmt: skip
    later = {"WARC-Date": "2025-03-02T12:00:00Z"}
    archive.add_statement("left")
    archive.add(f"{HOST}/left", statement("error"), ("Content-Type", "text/turtle"),
                status="410 Gone", **later)  # fmt: skip
    archive.add(f"{HOST}/image", b"\x89PNG\r\n", ("Content-Type", "image/png"))
    archive.add(f"{HOST}/closed", statement("closed"),
                ("Content-Type", "text/turtle"),
                ("X-Robots-Tag", "noindex"))  # fmt: skip
    many = b"".join(statement(f"large{n}") for n in range(5_000))
    archive.add(f"{HOST}/large", many, ("Content-Type", "application/n-triples"))
    archive.add_statement("last")
    return archive.content()


SMALL = {"left", "part", "packed", "chunked", "ftp", "last"}
NAMES = SMALL | {f"large{n}" for n in range(5_000)}


def names(result: Any) -> set[str]:
    """Return the names of the statements that a crawl has stored."""
    return {o.strip('"') for _, p, o, _ in result.quads if p == "urn:x:in"}


@pytest.mark.parametrize("is_packed", [True, False], ids=["gzip", "plain"])
def test_captures_are_read_as_if_they_were_fetched(
    commands: Commands, tmp_path: Path, *, is_packed: bool
) -> None:
    """If an archive is read, each response of success is a document of its URL."""
    path = tmp_path / "a b.warc"
    path.write_bytes(varied(is_packed=is_packed))
    result = commands.crawl(spider="warc", arguments={"files": path})
    assert result.code == 0, result.stderr[-3000:]
    assert names(result) == NAMES
    assert {g for *_, g in result.quads} == {
        "ftp://files.example/f",
        *(f"{HOST}/{name}" for name in (SMALL - {"ftp"}) | {"page", "large"}),
    }
    latest = b"".join(x.quads for x in iter_latest(result.folder / "quads"))
    assert b'"part"' in latest
    assert b'"left"' not in latest  # it was gone later
    assert ("urn:x:ld", "http://xmlns.com/foaf/0.1/name", '"Ada"') in result.about(
        f"{HOST}/page"
    )
    started = result.ask(
        f"?d prov:wasGeneratedBy [prov:startedAtTime ?x] FILTER(?d = <{HOST}/last>)"
    )
    assert started == ["2025-03-01T12:00:00Z"]
    moved = "?a sq:status 'REDIRECTED' ; rc:redirects "
    assert result.ask(f"{moved} [rdf:first ?x]") == [f"{HOST}/moved"]
    assert result.ask(f"{moved} [rdf:rest [rdf:first ?x]]") == [f"{HOST}/last"]
    assert result.statistics["warc/read/redirected"] == 1
    assert result.statistics["warc/read/status"] == 2
    assert result.statistics["document/status/deleted"] == 1  # the other had no copy


def test_only_the_archive_is_requested(commands: Commands, loopback: Loopback) -> None:
    """If pages in an archive link to servers, then none of those get requests."""
    live = loopback({"/data": loopback.response(statement("live"))})
    archive = Archive()
    archive.add(
        live.url("/"),
        f'<link rel="alternate" type="text/turtle" href="{live.url("/data")}">'.encode()
        + b'<p property="http://a.example/p">RDFa</p>',
        ("Content-Type", "text/html"),
        ("Link", f'<{live.url("/data")}>; rel="describedby"'),
    )
    server = loopback({"/a.warc.gz": ranged(archive.content(), [])})
    result = commands.crawl(
        spider="warc", arguments={"files": server.url("/a.warc.gz")}
    )
    assert result.code == 0, result.stderr[-3000:]
    assert live.url("/") in {g for *_, g in result.quads}
    assert not live.requests


def ranged(content: bytes, asked: list[str], *, ignores: bool = False) -> Any:
    """Return a reply of a server that knows ranges (RFC 9110 14.2), or ignores them."""

    def reply(request: RawRequest) -> Any:
        wanted = request.headers.get("range", "")
        asked.append(wanted)
        found = re.fullmatch(r"bytes=([0-9]+)-([0-9]+)", wanted)
        head = "HTTP/1.1 200 OK\r\n"
        body = content
        if found and not ignores:
            begin, end = int(found[1]), min(int(found[2]) + 1, len(content))
            body = content[begin:end]
            head = (
                "HTTP/1.1 206 Partial Content\r\n"
                f"Content-Range: bytes {begin}-{end - 1}/{len(content)}\r\n"
            )
        head += f"Content-Length: {len(body)}\r\n\r\n"
        return [head.encode() + body]

    return reply


@pytest.mark.parametrize("ignores", [False, True], ids=["ranges", "whole"])
def test_files_of_servers_are_read_in_parts(
    commands: Commands, loopback: Loopback, *, ignores: bool
) -> None:
    """If a file is on a server, its parts are requested, or all of it is sent."""
    asked: list[str] = []
    content = varied(is_packed=True)
    server = loopback({"/a.warc.gz": ranged(content, asked, ignores=ignores)})
    result = commands.crawl(
        spider="warc",
        arguments={"files": server.url("/a.warc.gz")},
        WARC_PART_BYTES=2048,
        FRONTIER_COMMIT_SECS=0.1,
    )
    assert result.code == 0, result.stderr[-3000:]
    assert names(result) == NAMES
    assert asked[0] == "bytes=0-2047"
    assert len(asked) == 1 if ignores else len(asked) > 3


def test_bodies_have_a_bound(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If a body or a record is too long, a fault says so, and the next are read."""
    archive = Archive()
    archive.add_statement("first")
    chance = random.Random(7)
    noise = "".join(
        f"<urn:x:{chance.randbytes(30).hex()}> <urn:x:p> 1 .\n" for _ in range(4000)
    )
    archive.add(f"{HOST}/long", noise.encode(), ("Content-Type", "text/turtle"))
    archive.add_statement("last")
    server = loopback({"/a.warc.gz": ranged(archive.content(), [])})
    (tmp_path / "b.warc.gz").write_bytes(archive.content())
    cases: list[tuple[object, dict[str, Any]]] = [
        (server.url("/a.warc.gz"), {"WARC_PART_BYTES": 1024}),
        (tmp_path / "b.warc.gz", {"DOWNLOAD_MAXSIZE": 10_000}),
    ]
    for file, settings in cases:
        result = commands.crawl(spider="warc", arguments={"files": file}, **settings)
        assert names(result) == {"first", "last"}
        assert set(result.ask("[] rc:fault [rc:reason ?x]")) == {"too_large"}


def test_damage_costs_the_damaged_records(commands: Commands, tmp_path: Path) -> None:
    """If records are damaged or cut off, a fault says so, and all others are read."""
    archive = Archive()
    for n in range(200):
        archive.add_statement(f"n{n}", **({"WARC-Date": "no"} if n == 7 else {}))
    content = bytearray(archive.content())
    content[30_000:30_040] = b"\0" * 40
    path = tmp_path / "a.warc.gz"
    path.write_bytes(content[:-50])
    (tmp_path / "no.warc").write_bytes(b"<html>not found</html>")
    result = commands.crawl(
        spider="warc",
        arguments={"files": f"{path},{tmp_path / 'no.warc'}"},
        WARC_PART_BYTES=10_000,
    )
    assert result.code == 0, result.stderr[-3000:]
    missing = {f"n{n}" for n in range(200)} - names(result)
    assert {"n7", "n199"} < missing
    assert len(missing) in (3, 4)  # a damaged file has one border at most
    reasons = result.ask("[] sq:crawled ?u; rc:fault [rc:reason ?x]")
    assert set(reasons) == {"bad_archive"}


def test_workers_share_the_files_and_lose_nothing(
    commands: Commands, tmp_path: Path
) -> None:
    """If a worker is killed while several read archives, all captures are read."""
    for each in range(6):
        archive = Archive()
        for n in range(300):
            archive.add_statement(f"f{each}n{n}")
        (tmp_path / f"{each}.warc.gz").write_bytes(archive.content())
    listed = tmp_path / "files.txt"
    listed.write_text(f"# all\n{tmp_path}/*.warc.gz\n")
    crew = commands.start(
        *("workers", "-n2", "warc", f"-afiles=@{listed}"),
        CRAWL_ID="warc",
        WARC_PART_BYTES=20_000,
        FRONTIER_LEASE_SECS=1,
        FRONTIER_COMMIT_SECS=0.3,
    )
    quads = crew.folder / "quads"
    commands.wait_until(lambda: worker_pids(crew)[1:] and any(quads.glob("*.gz")))
    os.kill(worker_pids(crew)[0], signal.SIGKILL)
    result = crew.wait()
    assert names(result) == {f"f{each}n{n}" for each in range(6) for n in range(300)}


def test_impossible_dates_are_passed_over(commands: Commands, tmp_path: Path) -> None:
    """If a capture is of before 1970 or of the future, then it is not the latest."""
    archive = Archive()
    dates = {"old": "1960-01-01T00:00:00Z", "new": "9999-12-31T23:59:59Z"}
    archive.add_statement("before")
    for name, date in dates.items():
        archive.add_statement(name, **{"WARC-Date": date})
    archive.add_statement("after")
    path = tmp_path / "a.warc.gz"
    path.write_bytes(archive.content())
    result = commands.crawl(spider="warc", arguments={"files": path})
    assert result.graphs == {f"{HOST}/before", f"{HOST}/after"}
    assert names(result) == {"before", "after"}
    assert result.ask("[] rc:fault [rc:count ?x]") == ["2"]


def turtle(name: str, *lines: str, status: str = "HTTP/1.1 200 OK") -> bytes:
    """Return a response with a statement in Turtle."""
    head = [status, "Content-Type: text/turtle", *lines, "", ""]
    return "\r\n".join(head).encode() + statement(name)


def peculiar() -> list[bytes]:
    """Return records as crawlers of all times have written them."""
    of = f"{HOST}/".__add__
    text = {"media_type": "text/plain"}
    return [
        raw_record(turtle("http2", status="HTTP/2 200"), url=of("http2")),
        raw_record(turtle("old"), url=of("old"), version="0.17"),
        raw_record(turtle("angle"), url=f"<{of('angle')}>"),
        # The headers are those that were sent, the body is not.
        raw_record(turtle("ready", "Transfer-Encoding: chunked"), url=of("ready")),
        raw_record(turtle("plain", "Content-Encoding: gzip"), url=of("plain")),
        raw_record(b"example.com. IN A", url="dns:example.com", **text),
        raw_record(b"{}", kind="resource", url="urn:pageinfo:x", **text),
        raw_record(b"a text of a page", kind="conversion", url=of("wet"), **text),
        raw_record(b'{"Envelope": {}}', kind="metadata", url=of("wat"), **text),
        raw_record(b"HTTP/1.1 200 OK\r\n\r\n", kind="revisit", url=of("again")),
        raw_record(turtle("endless"), url=of("endless"), length=None),
        raw_record(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 2_000_000, url=of("head")),
        raw_record(turtle("last"), url=of("last")),
    ]


@pytest.mark.parametrize("is_packed", [True, False], ids=["gzip", "plain"])
def test_archives_of_all_crawlers_are_read(
    commands: Commands, tmp_path: Path, *, is_packed: bool
) -> None:
    """If records are peculiar, then they are read or counted, and cost no other."""
    records = peculiar()
    if is_packed:
        records = [gzip.compress(record) for record in records]
    (tmp_path / "a.warc.gz").write_bytes(b"".join(records))
    result = commands.crawl(spider="warc", arguments={"files": tmp_path / "*.gz"})
    assert result.code == 0, result.stderr[-3000:]
    assert names(result) == {"http2", "old", "angle", "ready", "plain", "last"}
    details = result.ask("[] rc:fault [rc:detail ?x]")
    assert sum("a record without Content-Length" in x for x in details) == 1, details
    counts = result.ask("[] rc:fault [rc:count ?x]")
    assert sorted(counts) == ["2"]  # and the head without an end
    read = {
        name.removeprefix("warc/read/"): number
        for name, number in result.statistics.items()
        if name.startswith("warc/read/")
    }
    others = {"conversion": 1, "metadata": 1, "revisit": 1, "malformed": 1}
    assert read == {"captured": 6, "unwanted": 2, **others}


def test_bodies_that_cannot_be_decoded_are_named(
    commands: Commands, tmp_path: Path
) -> None:
    """If a content coding is broken, cut off or unknown, then a fault says so."""
    many = b"".join(statement(f"n{n}") for n in range(9000))
    packed = gzip.compress(many, 1)
    broken = packed[:30_000] + b"\xff" * 40 + packed[30_040:]
    archive = Archive()
    media_type = ("Content-Type", "application/n-triples")
    for name, body, coding in (
        ("broken", broken, "gzip"),
        ("cut", packed[:20_000], "gzip"),
        ("unknown", packed, "sdch"),
    ):
        archive.add(f"{HOST}/{name}", body, media_type, ("Content-Encoding", coding))
    chunk = b"%x\r\n%s\r\n" % (len(many), many)
    chunked = ("Transfer-Encoding", "chunked")
    archive.add(f"{HOST}/no-last-chunk", chunk, media_type, chunked)
    (tmp_path / "a.warc.gz").write_bytes(archive.content())
    result = commands.crawl(spider="warc", arguments={"files": tmp_path / "a.warc.gz"})
    reasons = {
        graph: result.ask(
            f"<{HOST}/{graph}> prov:wasGeneratedBy [rc:fault [rc:reason ?x]]"
        )
        for graph in ("broken", "cut", "no-last-chunk")
    }
    assert set(reasons["broken"]) >= {"bad_content_encoding"}
    assert set(reasons["cut"]) >= {"truncated_body"}
    assert reasons["no-last-chunk"] == ["truncated_body"]
    assert f"{HOST}/unknown" not in result.graphs
    assert "bad_content_encoding" in result.ask(
        "[] sq:crawled ?u; rc:fault [rc:reason ?x]"
    )
    assert names(result) > {f"n{n}" for n in range(1000)}


def test_a_total_may_be_unknown(commands: Commands, loopback: Loopback) -> None:
    """If `Content-Range` has no total, then parts are requested until there is none."""
    content = varied(is_packed=True)
    asked: list[str] = []
    give = ranged(content, asked)

    def reply(request: RawRequest) -> Any:
        begin = int(request.headers.get("range", "bytes=0-")[6:].partition("-")[0])
        if begin >= len(content):
            asked.append("behind")
            return loopback.response(status="416 Range Not Satisfiable")
        return [re.sub(rb"(Content-Range: .*/)[0-9]+", rb"\1*", give(request)[0])]

    server = loopback({"/a.warc.gz": reply})
    url = server.url("/a.warc.gz")
    result = commands.crawl(
        spider="warc", arguments={"files": url}, WARC_PART_BYTES=8192
    )
    assert names(result) == NAMES
    assert asked[-1] == "behind"
    reasons = result.ask(f"?a sq:crawled <{url}>; rc:fault [rc:reason ?x]")
    # Of pages in it.
    assert sorted(reasons) == ["gone", "noindex", "not_found", "truncated_body"]


def test_filters_hold_for_captures(commands: Commands, tmp_path: Path) -> None:
    """If `deny` or `domains` is given, captures of other URLs are passed over."""
    archive = Archive()
    for name in ("yes", "no"):
        archive.add_statement(name)
    archive.add("http://other.example/", statement("other"),
                ("Content-Type", "text/turtle"))  # fmt: skip
    (tmp_path / "a.warc.gz").write_bytes(archive.content())
    (tmp_path / "deny").write_text("/no$")
    result = commands.crawl(
        spider="warc",
        arguments={
            "files": tmp_path / "*.warc.gz",
            "deny": tmp_path / "deny",
            "domains": "archived.example",
        },
    )
    assert names(result) == {"yes"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("/no/such.warc.gz", "argument files=/no/such.warc.gz: there is no file"),
        ("@/no/list", "argument files=@/no/list: cannot be read"),
        ("http://[", "argument files=http://[: must be"),
    ],
)
def test_wrong_files_are_reported_in_one_line(
    commands: Commands, given: str, told: str
) -> None:
    """If there is no such file or URL, the command says so and nothing is crawled."""
    result = commands.crawl(spider="warc", arguments={"files": given})
    assert result.code == 2
    assert told in result.stderr
    assert "Traceback" not in result.stderr
