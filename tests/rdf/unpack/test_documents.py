"""Nested packings, and the formats of their documents."""

from __future__ import annotations

import gzip
import io
import json
import os
import tempfile
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.core.formats import PackingKind
from rdfcrawl.rdf.unpack.documents import PackedDocument, iter_documents
from rdfcrawl.rdf.unpack.limits import UnpackLimits
from rdfcrawl.rdf.unpack.members import graph_of_member
from rdfcrawl.rdf.unpack.scratch import FileScratch, MemoryScratch
from tests.support.unpack_archives import (
    ARCHIVES,
    CODECS,
    EXTENSIONS,
    URL,
    reasons,
    seven_zipped,
    statements,
    tarred,
    unpack,
    zipped,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rdfcrawl.rdf.unpack.scratch import ScratchSpace

NT = statements(20_000)  # much longer than one piece
SHORTER_NT = statements(6_000)  # longer than one
TTL = b"((1)) <http://example.org/a> 1 .\n"  # not recognizable as Turtle
LONG_TTL = b"@prefix e: <http://example.org/> .\n" + NT
KEPT = {"nt": NT, "ttl": LONG_TTL}


@pytest.fixture
def file_scratch() -> Iterator[FileScratch]:
    """Give a scratch file."""
    with tempfile.TemporaryFile() as file:
        yield FileScratch(file.fileno(), 2**26)


def documents(
    packed: bytes,
    packing: PackingKind,
    *,
    url: str = URL,
    scratch: ScratchSpace | None = None,
    log: FaultLog | None = None,
) -> Iterator[PackedDocument]:
    """Return the documents with the usual limits."""
    return iter_documents(
        ByteSource(packed),
        packing,
        url=url,
        media_type="",
        limits=UnpackLimits(),
        scratch=scratch,
        log=log or FaultLog(),
        is_read=lambda *_: False,
    )


@cache
def packed_once(kind: str) -> bytes:
    """Return N-Triples in a packing."""
    if kind in CODECS:
        return CODECS[kind](SHORTER_NT)
    return ARCHIVES[kind]({"data.nt": SHORTER_NT})


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("inner", [*CODECS, *ARCHIVES])
@pytest.mark.parametrize("outer", [*CODECS, *ARCHIVES])
def test_all_packings_nest(outer: str, inner: str, file_scratch: FileScratch) -> None:
    """If any packing is in another one, then its document is read."""
    name = f"data.nt.{EXTENSIONS[inner]}"
    packed = packed_once(inner)
    if outer in CODECS:
        packed = CODECS[outer](packed)
    else:
        packed = ARCHIVES[outer]({name: packed})
    url = f"http://example.org/{name}.{EXTENSIONS[outer]}"
    found, faults = unpack(packed, url=url, scratch=file_scratch)
    assert [(each.data, each.format) for each in found] == [(SHORTER_NT, "N-Triples")]
    assert found[0].packings == (outer, inner)
    assert not faults
    assert os.fstat(file_scratch.fd).st_size == 0


def test_depth_is_limited() -> None:
    """If packings are in one another too deeply, then the rest is read, and named."""
    deep = gzip.compress(gzip.compress(tarred({"deep.nt.gz": gzip.compress(NT)})))
    packed = zipped({"a.nt": NT, "deep.gz": deep, "b.nt": NT[:70]})
    found, faults = unpack(packed)
    assert [each.name for each in found] == ["a.nt", "b.nt"]
    assert reasons(faults) == {Reason.TOO_DEEP}
    found, faults = unpack(packed, depth=5)
    assert [each.name for each in found] == ["a.nt", "deep.gz!/deep.nt.gz", "b.nt"]
    assert found[1].packings == ("zip", "gzip", "gzip", "tar", "gzip")
    assert not faults


def test_a_file_that_holds_itself_ends() -> None:
    """If a gzip unpacks to itself for ever, then the depth ends it."""
    packed = NT[:9_000]
    for _ in range(50):
        packed = gzip.compress(packed)
    found, faults = unpack(packed)
    assert not found
    assert reasons(faults) == {Reason.TOO_DEEP}


@pytest.mark.parametrize("codec", CODECS)
def test_nested_bomb_ends(codec: str) -> None:
    """If each of two layers is within the ratio, then both together are not."""
    compress = CODECS[codec]
    bomb = compress(compress(bytes(2**26)) + os.urandom(4096))
    extension = EXTENSIONS[codec]
    found, faults = unpack(bomb, url=f"http://example.org/x.nt.{extension}.{extension}")
    assert sum(len(each.data) for each in found) < 2**25
    assert reasons(faults) <= {Reason.TOO_LARGE, Reason.BAD_ARCHIVE}
    assert faults


def test_bomb_of_many_archives_ends(file_scratch: FileScratch) -> None:
    """If archives hold archives that hold files, then members count over all."""
    leaf = zipped({f"{i}.nt": b"" for i in range(60)})
    packed = zipped({f"{i}.zip": leaf for i in range(60)})
    found, faults = unpack(packed, scratch=file_scratch, n_members=500)
    assert len(found) < 500
    assert reasons(faults) == {Reason.TOO_MANY_MEMBERS}


# -- formats ---------------------------------------------------------------------------

INHERITED = {
    "extension within an archive": ("dumpFile.ttl.zip", "", "ldcbench.dump", "Turtle"),
    "of a tar in gzip": ("data.ttl.tar.gz", "", "data", "Turtle"),
    "short for tar": ("data.ttl.tgz", "", "part-00000", "Turtle"),
    "media type": ("download", "text/turtle; charset=utf-8", "data", "Turtle"),
    "own extension first": ("data.nq.zip", "application/rdf+xml", "a.ttl", "Turtle"),
    "own extension and packing": ("data.zip", "", "a.ttl", "Turtle"),
    "no clue": ("download", "application/zip", "data", ""),
    "type of pages tells nothing": ("download", "text/html", "data", ""),
    "prose stays prose": ("dump.ttl.zip", "", "README", ""),
    "licence stays prose": ("dump.ttl.zip", "text/turtle", "doc/LICENSE.txt", ""),
    "tables stay tables": ("dump.ttl.zip", "", "table.csv", ""),
}


@pytest.mark.parametrize("case", INHERITED)
def test_formats_are_inherited(case: str) -> None:
    """If a member has no known extension, then the names around it decide."""
    outer, media_type, name, expected = INHERITED[case]
    packed = zipped({name: TTL})
    if ".tar" in outer or ".tgz" in outer:
        packed = gzip.compress(tarred({name: TTL}))
    found, faults = unpack(
        packed, url=f"http://example.org/{outer}", media_type=media_type
    )
    assert [each.format for each in found] == ([expected] if expected else [])
    assert bool(faults) is not bool(expected)


def test_inner_names_are_nearer() -> None:
    """If an archive in an archive has an extension, then it counts within."""
    packed = zipped({"inner.ttl.zip": zipped({"data": TTL}), "outer": NT[:70]})
    found, faults = unpack(packed, url="http://example.org/dump.nt.zip")
    assert [each.format for each in found] == ["Turtle", "N-Triples"]
    assert not faults


def test_content_refutes_names() -> None:
    """If the content is something else than names say, then it counts."""
    found, _ = unpack(
        zipped({"a.rdf": NT[:700], "b": b"%PDF-1.7"}), url=f"{URL}.ttl.zip"
    )
    assert [(each.name, each.format) for each in found] == [("a.rdf", "N-Triples")]


def test_what_is_no_data_is_passed_by_and_counted() -> None:
    """If an archive has other files, then they are noted by their type."""
    members = {
        "README": b"Dear reader", "logo.png": b"\x89PNG\r\n", "b.png": b"\x89PNG\r\n",
        "page.html": b"<!DOCTYPE html><title>x</title>", "a.nt": NT[:70],
        "package.json": b'{"name": 1}', "__MACOSX/._a.nt": b"\0\5\x16\7\0\2" * 20,
    }  # fmt: skip
    found, faults = unpack(zipped(members))
    assert [(each.name, each.format) for each in found] == [
        ("page.html", "HTML"),
        ("a.nt", "N-Triples"),
    ]
    counts = {fault.reason: fault.count for fault in faults}
    assert counts == {Reason.UNKNOWN_FORMAT: 2, Reason.UNSUPPORTED_FORMAT: 3}


def test_members_that_extractors_read_are_documents() -> None:
    """If XML or JSON of an archive is read as alone it would be, it is given out."""
    members = {"a.svg": b"<svg/>", "b.xml": b"<x><y/></x>", "c.json": b'{"a": 1}'}
    log = FaultLog()
    found = [
        each.name
        for each in iter_documents(
            ByteSource(zipped(members)),
            PackingKind.ZIP,
            url=URL,
            media_type="",
            limits=UnpackLimits(),
            scratch=None,
            log=log,
            is_read=lambda _, source, decision: (
                decision.found == "JSON" or b"svg" in source.head()
            ),
        )
    ]
    assert found == ["a.svg", "c.json"]
    assert [(each.reason, each.count) for each in log.all()] == [
        (Reason.UNSUPPORTED_FORMAT, 1)
    ]


def test_what_is_compressed_alone_is_given_out() -> None:
    """If one file is compressed that is no RDF, then the reader is to say so."""
    found, faults = unpack(gzip.compress(b"%PDF-1.7"))
    assert [(each.format, each.data) for each in found] == [("", b"%PDF-1.7")]
    assert not faults


# -- names -----------------------------------------------------------------------------


def test_equal_names_are_told_apart() -> None:
    """If an archive has a name twice, as tars that were added to, both have one."""
    tar = tarred({"a.nt": NT[:70], "b.nt": NT[:140]})
    packed = tar.rstrip(b"\0") + bytes(-len(tar.rstrip(b"\0")) % 512) + tar
    found, _ = unpack(packed)
    assert [each.name for each in found] == ["a.nt", "b.nt", "a.nt#2", "b.nt#2"]


@pytest.mark.parametrize(
    ("name", "graph"),
    [
        ("http%3A%2F%2Fexample.org%2Fa", "http://example.org/a"),
        ("HTTPS%3a%2f%2fexample.org%2Fa%23me", "HTTPS://example.org/a#me"),
        ("dump/2024/http%3A%2F%2Fexample.org%2Fa%2520b", "http://example.org/a%20b"),
        ("http%3A%2F%2Fexample.org%2Fcaf%C3%A9.rdf", "http://example.org/café.rdf"),
        ("http%3A%2F%2Fexample.org%2Fa%20b", None),
        ("http%3A%2F%2Fexample.org%2F%3Cscript%3E", None),
        ("http%3A%2F%2Fexample.org%2F%0A", None),
        ("http%3A%2F%2Fexample.org%2F%FF", None),
        ("http%3A%2F%2F", None),
        ("http%3A%2F%2F%5B", None),
        ("file%3A%2F%2F%2Fetc%2Fpasswd", None),
        ("http://example.org/a", None),
        ("data.nt", None),
        ("", None),
        ("http%3A%2F%2Fexample.org%2F" + "a" * 2000, None),
    ],
)
def test_names_may_be_graphs(name: str, graph: str | None) -> None:
    """If a member's name is a URL-encoded URI, then it is used (Sitemaps 2.3)."""
    assert graph_of_member(name) == graph


@pytest.mark.parametrize(
    ("extension", "head", "is_named_so"),
    [
        ("rdf", '<rdf:Description rdf:about="http://e.example/d/a?b&amp;c">', False),
        ("rdf", '<rdf:Description rdf:about="http://e.example/d/a?b&amp;c#me">', False),
        ("rdf", '<e:T rdf:about="http://e.example/d/a?b&amp;c.rdf">', True),
        ("rdf", '<e:T rdf:about="http://e.example/d/other">', True),
        ("ttl", "@prefix d: <http://e.example/d/> .\nd:a?b&c a d:T .", False),
        (
            "nt",
            "<http://e.example/d/a?b&c> <urn:p> <http://e.example/d/a?b&c.nt>",
            True,
        ),
        ("nt", "", True),
        ("v2", "<http://e.example/d/a?b&c> <urn:p> 'x' .", True),
    ],
)
def test_extension_of_a_member_is_no_part_of_its_uri(
    extension: str, head: str, *, is_named_so: bool
) -> None:
    """If a member only names its URI without an extension, then this is its graph."""
    uri = "http://e.example/d/a?b&c"
    name = f"{quote(uri, safe='')}.{extension}"
    graph = graph_of_member(name, head.encode())
    assert graph == (f"{uri}.{extension}" if is_named_so else uri)


# -- sources ---------------------------------------------------------------------------


def pack(kind: str, data: bytes) -> tuple[bytes, PackingKind]:
    """Return data packed in some way, without name."""
    packs: dict[str, tuple[Callable[[bytes], bytes], PackingKind]] = {
        "gzip": (gzip.compress, PackingKind.GZIP),
        "gzip in zip": (lambda x: zipped({"data": gzip.compress(x)}), PackingKind.ZIP),
        "7z": (lambda x: seven_zipped({"data": x}), PackingKind.SEVEN_ZIP),
        "solid 7z": (
            lambda x: seven_zipped({"README": b"x", "data": x}),
            PackingKind.SEVEN_ZIP,
        ),
        "tar in gzip": (lambda x: gzip.compress(tarred({"data": x})), PackingKind.GZIP),
        "gzip in tar": (lambda x: tarred({"data": gzip.compress(x)}), PackingKind.TAR),
        "zip": (lambda x: zipped({"data": x}), PackingKind.ZIP),
    }
    packed, packing = packs[kind]
    return packed(data), packing


KINDS = "gzip", "gzip in zip", "7z", "solid 7z", "tar in gzip", "gzip in tar", "zip"


@pytest.mark.parametrize("kind", KINDS)
def test_long_documents_can_be_opened_again(
    kind: str, file_scratch: FileScratch
) -> None:
    """If a reader looks at a place again, then the document is there once more."""
    packed, packing = pack(kind, LONG_TTL)
    log = FaultLog()
    n_found = 0
    for each in documents(packed, packing, scratch=file_scratch, log=log):
        n_found += 1
        assert each.source.data is None
        assert each.source.head() == LONG_TTL[:4096]
        with each.source.open() as first, each.source.open() as second:
            assert first.read(100_000) == LONG_TTL[:100_000]
            assert second.read(10) == LONG_TTL[:10]
            assert first.read() == LONG_TTL[100_000:]
            assert second.read() == LONG_TTL[10:]
        with each.source.open() as third:
            assert third.readline() == LONG_TTL[:35]
    assert n_found == 1
    assert {fault.reason for fault in log.all()} <= {Reason.UNKNOWN_FORMAT}
    assert os.fstat(file_scratch.fd).st_size == 0


def test_documents_too_long_to_keep_are_read_once() -> None:
    """If there is no room to keep a document, then it is read, but once."""
    packed, packing = pack("tar in gzip", LONG_TTL)
    for each in documents(packed, packing, scratch=MemoryScratch(2**18)):
        with each.source.open() as first:
            assert first.read() == LONG_TTL
        with pytest.raises(SourceFault) as caught:
            each.source.open()
        assert caught.value.fault.reason is Reason.TOO_LARGE


def test_archives_too_long_to_keep_are_named() -> None:
    """If there is no room to read an archive out of order, then that is named."""
    packed = gzip.compress(zipped({"a.nt": NT}))
    for limit in ({"scratch": MemoryScratch(1000)}, {"seekable_bytes": 1000}):
        found, faults = unpack(packed, **limit)
        assert not found
        assert reasons(faults) == {Reason.TOO_LARGE}


@pytest.mark.parametrize("kind", KINDS)
def test_short_documents_are_in_memory(kind: str) -> None:
    """If a document is short, then it is given out as bytes."""
    packed, packing = pack(kind, NT[:700])
    assert [each.source.data for each in documents(packed, packing)] == [NT[:700]]


@pytest.mark.parametrize("kind", KINDS)
def test_giving_up_early_leaves_nothing(kind: str, file_scratch: FileScratch) -> None:
    """If the documents are not read to their end, then nothing is kept of them."""
    packed, packing = pack(kind, LONG_TTL)
    for each in documents(packed, packing, scratch=file_scratch):
        with each.source.open() as stream:
            stream.read(1000)
        break
    assert os.fstat(file_scratch.fd).st_size == 0


def test_one_fault_for_one_cut() -> None:
    """If the outermost layer is cut off, then inner layers have no further fault."""
    inner = zipped({"a.nt": NT, "b.nt": NT})
    packed = gzip.compress(tarred({"x.zip": inner, "y.nt": NT}), 1)
    found, faults = unpack(packed[: len(packed) // 2])
    assert [each.name for each in found] == ["x.zip!/a.nt", "x.zip!/b.nt"]
    assert [(fault.reason, fault.detail) for fault in faults] == [
        (Reason.BAD_ARCHIVE, "gzip: cut off")
    ]


# -- limits and scratch ----------------------------------------------------------------


def test_limits_go_through_json() -> None:
    """If limits are sent to another process, then they are the same there."""
    limits = UnpackLimits(n_bytes=5, ratio=2.5, n_members=3, depth=1)
    assert UnpackLimits(**json.loads(json.dumps(asdict(limits)))) == limits


@pytest.mark.parametrize("is_file", [False, True], ids=["memory", "file"])
def test_scratch_keeps_what_is_put_aside(
    file_scratch: FileScratch, is_file: bool
) -> None:
    """If bytes are put aside, then they can be read in any order, and as a buffer."""
    scratch: ScratchSpace = file_scratch if is_file else MemoryScratch(2**26)
    outer = scratch.hold(io.BytesIO(NT))
    inner = scratch.hold(io.BytesIO(LONG_TTL))
    assert outer.read_at(1000, 50) == NT[1000:1050]
    assert inner.read_at(inner.n_bytes - 5, 50) == LONG_TTL[-5:]
    assert inner.read_at(inner.n_bytes + 5, 50) == b""
    with inner.map() as whole:
        assert whole == LONG_TTL
    assert outer.read_at(0, len(NT)) == NT
    outer.close()
    assert inner.read_at(0, 9) == LONG_TTL[:9]
    inner.close()
    inner.close()
    empty = scratch.begin()
    with empty.map() as whole:
        assert len(whole) == 0
    empty.close()


def test_scratch_that_is_looked_at_does_not_shrink(file_scratch: FileScratch) -> None:
    """If a place is closed under a buffer of it, then the buffer can be read still."""
    held = file_scratch.hold(io.BytesIO(NT))
    whole = held.map()
    held.close()
    assert whole == NT
    whole.release()
    file_scratch.hold(io.BytesIO(NT)).close()
    assert os.fstat(file_scratch.fd).st_size == 0


def test_full_disks_are_named() -> None:
    """If the scratch file cannot be written to, then there is no room."""
    with (
        Path("/dev/full").open("r+b", buffering=0) as full,
        pytest.raises(SourceFault) as caught,
    ):
        FileScratch(full.fileno(), 2**26).hold(io.BytesIO(NT))
    assert caught.value.fault.reason is Reason.TOO_LARGE


def test_scratch_is_bounded(file_scratch: FileScratch) -> None:
    """If more is put aside than there is room, then it is named and given back."""
    small = FileScratch(file_scratch.fd, 10_000)
    for scratch in (small, MemoryScratch(10_000)):
        for _ in range(3):
            with pytest.raises(SourceFault) as caught:
                scratch.hold(io.BytesIO(NT))
            assert caught.value.fault.reason is Reason.TOO_LARGE
        scratch.hold(io.BytesIO(NT[:9000])).close()
        with pytest.raises(SourceFault):
            scratch.hold(io.BytesIO(NT[:9000]), max_bytes=8000)


def test_only_the_last_place_grows(file_scratch: FileScratch) -> None:
    """If a place lies behind another one, then that one cannot grow into it."""
    first, second = file_scratch.begin(), file_scratch.begin()
    second.append(b"second")
    with pytest.raises(SourceFault):
        first.append(b"first")
    assert second.read_at(0, 9) == b"second"
