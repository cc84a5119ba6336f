"""A crawl of documents made to break its readers."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from functools import cache
from typing import TYPE_CHECKING

import brotli  # type: ignore[import-untyped]
import lz4.frame
import py7zr
import pytest
from backports import zstd

from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.hdt import write_hdt

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RawServer, Reply
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

_READERS = "core", "downloader", "pipelines", "rdf", "sources", "uri"
pytestmark = pytest.mark.in_turn(2, rooms=_READERS, together=True)  # one crawl

GOOD = b"<http://a.example/s> <http://a.example/p> <http://a.example/o> .\n"
TRIPLE = ("http://a.example/s", "http://a.example/p", "http://a.example/o")
BOMB = GOOD + b"\n" * 15_000_000
DEEP = 100_000
MEMORY_LIMIT_BYTES = 700_000_000  # of the largest process; the default limit is 1 GiB
RDF_NS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def zipped(content: bytes, *names: str) -> bytes:
    """Return a zip archive that has the content under each name."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names or ("a.nt",):
            archive.writestr(name, content)
    return out.getvalue()


def tarred(content: bytes, *names: str) -> bytes:
    """Return a tar archive that has the content under each name."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in names or ("a.nt",):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def seven_zipped(content: bytes) -> bytes:
    """Return a 7z archive that has the content."""
    out = io.BytesIO()
    quick = [{"id": py7zr.FILTER_LZMA2, "preset": 0}]
    with py7zr.SevenZipFile(out, "w", filters=quick) as archive:
        archive.writestr(content, "a.nt")
    return out.getvalue()


def hdt() -> bytes:
    """Return an HDT file with some triples."""
    out = io.BytesIO()
    lines = [
        b"<http://a.example/s%d> <http://a.example/p> <x:o> .\n" % n for n in range(50)
    ]
    write_hdt([*lines, GOOD], out, base="http://a.example/")
    return out.getvalue()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lambda content: lzma.compress(content, preset=0),
    "zst": zstd.compress,
    "br": lambda content: brotli.compress(content, quality=5),
    "lz4": lz4.frame.compress,
    "zip": zipped,
    "tar.gz": lambda content: gzip.compress(tarred(content)),
    "7z": seven_zipped,
}
NESTING: dict[str, tuple[str, bytes]] = {
    "ttl-list": ("text/turtle", b"<a:b> <c:d> " + b"(" * DEEP + b")" * DEEP + b" ."),
    "ttl-blank": ("text/turtle", b"<a:b> <c:d> " + b"[ <c:d> " * DEEP + b"]" * DEEP),
    "trig": ("application/trig", b"<g:g> { <a:b> <c:d> " + b"(" * DEEP + b")" * DEEP),
    "n3": ("text/n3", b"<a:b> <c:d> " + b"{" * DEEP + b"}" * DEEP + b" ."),
    "nt": ("application/n-triples", b"<a:b> <c:d> " + b"<<( <a:b> <c:d> " * DEEP),
    "rdf": (
        "application/rdf+xml",
        f'<r:RDF xmlns:r="{RDF_NS}" xmlns:e="x:">'.encode()
        + b"<r:Description><e:p>" * DEEP
        + b"</e:p></r:Description>" * DEEP,
    ),
    "trix": ("application/trix", b"<TriX>" + b"<graph>" * DEEP + b"</graph>" * DEEP),
    "rj": ("application/rdf+json", b'{"a:b":' + b"[" * DEEP + b"]" * DEEP + b"}"),
    "hext": ("application/x-ndjson+hextuples", b"[" * DEEP + b"]" * DEEP),
    "jsonld": (
        "application/ld+json",
        b'{"@id":"x:y","x:p":' * DEEP + b"1" + b"}" * DEEP,
    ),
}
PAGES_OF_MARKUP = {
    "deep": b"<div itemscope>" * DEEP + b"<p property=a:b>" * 10,
    "deep-rdfa": b"<div property=schema:name>" * DEEP,
    "deep-mf": b"<div class=h-card>" * DEEP,
    "itemref": b"<p itemscope id=a itemref='a b'>"
    b"<i itemprop=p id=b itemref=a itemscope>",
    "json": b"<script type=application/ld+json>" + b"[" * DEEP + b"</script>",
    "attributes": b"<p " + b" ".join(b"a%d=1" % n for n in range(DEEP)) + b" vocab=x:>",
    "unclosed": b"<a rel=license href=" + b"x" * 2_000_000,
}


@cache
def archives() -> dict[str, tuple[str, bytes, set[Reason]]]:
    """Return bombs and other traps of archives: media type, body, reasons."""
    found: dict[str, tuple[str, bytes, set[Reason]]] = {}
    varied = b"".join(
        b"<x:s> <x:p> <x:%x> .\n" % (n * 7919**9 % 2**61) for n in range(6_000)
    )
    for name, pack in PACKERS.items():
        found[f"/bomb.nt.{name}"] = ("", pack(BOMB), {Reason.TOO_LARGE})
        whole = pack(varied)
        broken = {Reason.BAD_ARCHIVE, Reason.CHECKSUM}
        found[f"/cut.nt.{name}"] = ("", whole[: len(whole) // 2], broken)
    inner = gzip.compress(BOMB)
    found["/nested.nt.gz.gz"] = ("", gzip.compress(inner), {Reason.TOO_LARGE})
    deep = GOOD
    for _ in range(6):
        deep = gzip.compress(deep)
    found["/deep.nt.gz"] = ("", deep, {Reason.TOO_DEEP})
    many = zipped(GOOD, *(f"{n}.nt" for n in range(300)))
    found["/many.zip"] = ("", many, {Reason.TOO_MANY_MEMBERS})
    return found


def documents(server: RawServer) -> dict[str, tuple[str, bytes, set[Reason]]]:
    """Return documents in one file each: media type, body, reasons."""
    xml = f'<r:RDF xmlns:r="{RDF_NS}" xmlns:e="http://a.example/">'
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 30))
    lol = (
        f'<!DOCTYPE r [<!ENTITY e0 "lol">{entities}]>{xml}<r:Description e:p="&e29;"/>'
    )
    xxe = f'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>{xml}<e:A e:p="&x;"/>'
    trix = '<TriX xmlns="http://www.w3.org/2004/03/trix/trix-1/"><graph><triple>'
    bad = hdt()
    long = GOOD + b'<a:b> <c:d> "' + b"x" * 4_000_000 + b'" .\n'

    def context(value: object) -> bytes:
        return json.dumps({"@context": value, "@id": "x:y", "name": "n"}).encode()

    json_ld, rdf_xml = "application/ld+json", "application/rdf+xml"
    remote = {Reason.REMOTE_CONTEXT, Reason.BAD_TERM}
    entity = {Reason.ENTITY_EXPANSION, Reason.SYNTAX}
    return {
        "/lol.rdf": (rdf_xml, lol.encode(), {Reason.ENTITY_EXPANSION}),
        "/xxe.rdf": (rdf_xml, (xxe + "</r:RDF>").encode(), entity),
        "/lol.trix": (
            "application/trix",
            f'<!DOCTYPE r [<!ENTITY e0 "lol">{entities}]>{trix}<uri>&e29;'.encode(),
            entity,
        ),
        "/long.nt": ("application/n-triples", long, {Reason.LITERAL_TOO_LONG}),
        "/loopback.jsonld": (json_ld, context("http://localhost:1/c"), remote),
        "/private.jsonld": (json_ld, context("http://10.0.0.1/c"), remote),
        "/file.jsonld": (json_ld, context("file:///etc/passwd"), remote),
        "/loop.jsonld": (json_ld, context(server.url("/context-loop")), remote),
        "/crc.hdt": ("", bad[:-3] + b"abc", {Reason.CHECKSUM}),
        "/cut.hdt": ("", bad[: len(bad) // 2], {Reason.SYNTAX, Reason.CHECKSUM}),
        "/offset.hdt": (
            "",
            bad.replace(b"numTriples=51", b"numTriples=99"),
            {Reason.SYNTAX, Reason.CHECKSUM},
        ),
    }


def pages(loopback: Loopback, server: RawServer) -> dict[str, Reply]:
    """Return all of it, as a server answers it."""
    everything = archives() | documents(server)
    replies: dict[str, Reply] = {
        target: loopback.response(body, media_type)
        for target, (media_type, body, _) in everything.items()
    }
    for name, (media_type, body) in NESTING.items():
        replies[f"/nesting/{name}"] = loopback.response(body, media_type)
    for name, body in PAGES_OF_MARKUP.items():
        replies[f"/page/{name}"] = loopback.response(body, "text/html")
    loop = json.dumps({"@context": server.url("/context-loop")}).encode()
    replies["/context-loop"] = loopback.response(loop, "application/ld+json")
    names = ("../../escape.nt", "/etc/escape.nt", "C:\\escape.nt", "a/\0b.nt")
    replies["/paths.tar"] = loopback.response(tarred(GOOD, *names), "")
    owl = (
        f'<!DOCTYPE r [<!ENTITY a "http://a.example/"><!ENTITY r "{RDF_NS}">]>'
        f'<r:RDF xmlns:r="&r;" xmlns:a="&a;"><r:Description r:about="&a;s">'
        f'<a:p r:resource="&a;o"/></r:Description></r:RDF>'
    )
    replies["/owl.rdf"] = loopback.response(owl.encode(), "application/rdf+xml")
    return replies


@pytest.fixture(scope="module")
def server(loopback: Loopback) -> RawServer:
    """Return the server of it all."""
    server = loopback(host="127.0.77.1")
    server.pages |= pages(loopback, server)
    return server


@pytest.fixture(scope="module")
def result(commands: Commands, server: RawServer) -> CrawlResult:
    """Return one crawl of it all."""
    return commands.crawl(
        [server.url(target) for target in server.pages],
        arguments={"follow": "none"},
        UNPACK_MAX_MEMBERS=200,
        RDF_PARSE_SECS=5,
        STATS_DUMP=True,
    )


def test_crawl_goes_on_in_bounded_memory(result: CrawlResult) -> None:
    """If everything is hostile, then the crawl ends well and stays small."""
    assert result.code == 0, result.stderr
    assert "Traceback" not in result.stderr
    assert result.peak_bytes < MEMORY_LIMIT_BYTES


def test_every_hostile_document_is_answered_for(
    result: CrawlResult, server: RawServer
) -> None:
    """If a document is hostile, then its fault is one of those that name it."""
    for target, (_, _, reasons) in (archives() | documents(server)).items():
        found = set(result.faults(server.url(target)))
        assert found & reasons, (target, found)
        assert not found & {Reason.INTERNAL, Reason.PARSE_CRASH}, target


@pytest.mark.parametrize("name", NESTING)
def test_deep_nesting_is_refused(
    result: CrawlResult, server: RawServer, name: str
) -> None:
    """If a syntax is nested 100,000 deep, then it is a fault, and not a crash."""
    url = server.url(f"/nesting/{name}")
    found = result.faults(url)
    # Lists of Turtle take no stack, and are read completely.
    assert found or (name == "ttl-list" and len(result.about(url)) == 2 * DEEP - 1)
    assert not set(found) & {Reason.INTERNAL, Reason.PARSE_CRASH}


@pytest.mark.parametrize("name", PAGES_OF_MARKUP)
def test_hostile_markup_takes_nothing_down(
    result: CrawlResult, server: RawServer, name: str
) -> None:
    """If a page is made to break extractors, then it is dealt with all the same."""
    url = server.url(f"/page/{name}")
    assert result.statuses(url)
    assert not set(result.faults(url)) & {Reason.INTERNAL, Reason.PARSE_CRASH}


@pytest.mark.parametrize("packing", PACKERS)
def test_statements_before_the_bomb_are_kept(
    result: CrawlResult, server: RawServer, packing: str
) -> None:
    """If an archive is a bomb, then the statements at its begin are stored."""
    assert TRIPLE in result.about(server.url(f"/bomb.nt.{packing}"))


def test_member_names_are_no_paths(result: CrawlResult, server: RawServer) -> None:
    """If member names lead out of a folder, then they are read, and lead nowhere."""
    assert result.about(server.url("/paths.tar")) == {TRIPLE}
    assert not list(result.folder.parent.rglob("*escape*"))


def test_namespace_entities_are_read(result: CrawlResult, server: RawServer) -> None:
    """If entities are only names of namespaces, as in OWL files, then they are read."""
    assert result.about(server.url("/owl.rdf")) == {TRIPLE}
    assert result.faults(server.url("/owl.rdf")) == []


def test_contexts_at_loopback_are_not_requested(
    result: CrawlResult, server: RawServer
) -> None:
    """If a context is in a private network, then the fault says so."""
    for name in ("loopback", "private", "file"):
        details = result.details(server.url(f"/{name}.jsonld"))
        assert len(details) == 2, "the context, and a term that it may define"
