"""Web archives in other forms: Zstandard, ARC, and records without lines between."""

from __future__ import annotations

import gzip
import io
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from backports import zstd

from tests.support.web_archives import HOST, raw_record, statement

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

LEVEL: dict[int, int] = {zstd.CompressionParameter.checksum_flag: 1}


def http(name: str) -> bytes:
    """Return a response with a statement."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/turtle\r\n\r\n" + statement(name)


def record(name: str, **options: Any) -> bytes:
    """Return a record of WARC."""
    return raw_record(http(name), url=f"{HOST}/{name}", **options)


def arc_record(name: str, end: bytes = b"\n") -> bytes:
    """Return a record of ARC 1."""
    body = http(name)
    line = f"{HOST}/{name} 127.0.0.1 20250301120000 text/turtle {len(body)}\n"
    return line.encode() + body + end


VERSION = (
    b"1 0 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n"
)
ARC_HEAD = (
    b"filedesc://a.arc 0.0.0.0 20250301120000 text/plain %d\n" % len(VERSION)
    + VERSION
    + b"\n"
)
VERSION_2 = (
    b"2 0 InternetArchive\nURL IP-address Archive-date Content-type Result-code "
    b"Checksum Location Offset Filename Archive-length\n"
)


def arc_2_record(name: str) -> bytes:
    """Return a record of ARC 2."""
    body = http(name)
    fields = f"{HOST}/{name} 127.0.0.1 20250301120000 text/turtle 200 - - 0 a.arc"
    return f"{fields} {len(body)}\n".encode() + body + b"\n"


ARC_2_HEAD = (
    b"filedesc://a.arc 0.0.0.0 20250301120000 text/plain 200 - - 0 a.arc %d\n"
    % len(VERSION_2)
    + VERSION_2
    + b"\n"
)


def wacz(*names: str) -> bytes:
    """Return a WACZ with a file for each record, and an index."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("datapackage.json", "{}", zipfile.ZIP_DEFLATED)
        for name in names:
            archive.writestr(f"archive/{name}.warc.gz", gzip.compress(record(name)))
        index = gzip.compress(b"example,archived)/ 2025 {}\n")
        archive.writestr("indexes/index.cdx.gz", index)
        archive.writestr("pages/pages.jsonl", '{"id": "pages"}\n')
    return out.getvalue()


WORDS = [record(f"w{n}") for n in range(200)]
DICTIONARY = zstd.train_dict(WORDS, 4096)


def with_dictionary(*records: bytes, packed: bool) -> bytes:
    """Return frames with a dictionary before them."""
    content = DICTIONARY.dict_content
    content = zstd.compress(content) if packed else content
    head = b"\x5d\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content
    return head + b"".join(
        zstd.compress(each, options=LEVEL, zstd_dict=DICTIONARY) for each in records
    )


def without_lines(*names: str) -> bytes:
    """Return records that no empty line follows."""
    return b"".join(record(name).removesuffix(b"\r\n\r\n") for name in names)


def torn(pack: Callable[[bytes], bytes], *parts: bytes) -> bytes:
    """Return packed records, the second of which is damaged."""
    packed = [pack(part) for part in parts]
    packed[1] = packed[1][: len(packed[1]) // 2]
    return b"".join(packed)


def frame(content: bytes) -> bytes:
    """Return a frame with a checksum."""
    return zstd.compress(content, options=LEVEL)


FORMS: dict[str, tuple[bytes, str]] = {
    "a.arc": (ARC_2_HEAD + arc_2_record("v1") + arc_2_record("v2"), "v1 v2"),
    "a.arc.gz": (
        b"".join(map(gzip.compress, (ARC_2_HEAD, *map(arc_2_record, ("v3", "v4"))))),
        "v3 v4",
    ),
    "a.wacz": (wacz("z1", "z2"), "z1 z2"),
    "plain.warc": (without_lines("p1", "p2", "p3"), "p1 p2 p3"),
    "member.warc.gz": (gzip.compress(without_lines("m1", "m2")), "m1 m2"),
    "short.warc": (
        record("s1") + record("s2", length="40") + record("s3"),
        "s1 s3",
    ),
    "frames.warc.zst": (frame(record("f1")) + frame(record("f2")), "f1 f2"),
    "one.warc.zst": (frame(record("o1") + record("o2")), "o1 o2"),
    "skips.warc.zst": (
        frame(record("k1")) + b"\x50\x2a\x4d\x18\3\0\0\0abc" + frame(record("k2")),
        "k1 k2",
    ),
    "raw.warc.zst": (
        with_dictionary(record("r1"), record("r2"), packed=False),
        "r1 r2",
    ),
    "dict.warc.zst": (
        with_dictionary(record("d1"), record("d2"), packed=True),
        "d1 d2",
    ),
    "torn.warc.zst": (torn(frame, *map(record, ("t1", "t2", "t3"))), "t1 t3"),
    "cut.warc.zst": (frame(record("c1")) + frame(record("c2"))[:-20], "c1"),
    "plain.arc": (ARC_HEAD + arc_record("a1") + arc_record("a2"), "a1 a2"),
    "dense.arc": (
        ARC_HEAD + arc_record("n1", b"") + arc_record("n2", b""),
        "n1 n2",
    ),
    "members.arc.gz": (
        b"".join(map(gzip.compress, (ARC_HEAD, arc_record("g1"), arc_record("g2")))),
        "g1 g2",
    ),
    "torn.arc.gz": (
        torn(gzip.compress, *map(arc_record, ("b1", "b2", "b3"))),
        "b1 b3",
    ),
}
N_DAMAGED = 4  # short, two torn, cut


def names(result: Any) -> list[str]:
    """Return the names of the statements that a crawl has stored."""
    return sorted(o.strip('"') for _, p, o, _ in result.quads if p == "urn:x:in")


@pytest.mark.parametrize("part_bytes", [10**6, 600], ids=["one-part", "small-parts"])
def test_archives_of_all_forms_are_read(
    commands: Commands, tmp_path: Path, part_bytes: int
) -> None:
    """If an archive is of Zstandard or ARC, or lacks lines, its records are read."""
    for name, (content, _) in FORMS.items():
        (tmp_path / name).write_bytes(content)
    result = commands.crawl(
        spider="warc",
        arguments={"files": tmp_path / "*a[rc]*"},
        settings={"WARC_PART_BYTES": part_bytes},
    )
    assert result.code == 0, result.stderr[-3000:]
    wanted = " ".join(found for _, found in FORMS.values()).split()
    assert names(result) == sorted(wanted)
    bad = result.ask("?x rc:fault [rc:reason 'bad_archive']")
    assert len(bad) == N_DAMAGED


def test_archives_of_servers_have_their_dictionary(
    commands: Commands, loopback: Loopback
) -> None:
    """If a server has a file with a dictionary, then all of its records are read."""
    content = with_dictionary(*WORDS, packed=True)
    site = loopback({"/a.warc.zst": loopback.response(content, "application/warc")})
    result = commands.crawl(
        spider="warc",
        arguments={"files": site.url("/a.warc.zst")},
        settings={"WARC_PART_BYTES": 2000},
    )
    assert result.code == 0, result.stderr[-3000:]
    assert names(result) == sorted(f"w{n}" for n in range(200))
