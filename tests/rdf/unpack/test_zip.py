"""zip: directories, methods, names, and damage."""

from __future__ import annotations

import io
import lzma
import re
import stat
import struct
import zipfile
import zlib

import inflate64
import pytest
from backports import zstd

from rdfcrawl.core.errors import Reason
from tests.support.unpack_archives import (
    MEMBERS,
    NT,
    reasons,
    unpack,
    zipped,
)


def test_zip_without_directory_is_read_from_its_begin() -> None:
    """If the end of a zip is missing, then the members that are there are read."""
    for packed in (zipped(MEMBERS), zipped(MEMBERS, is_streamed=True)):
        found, faults = unpack(packed[:-150])
        assert [(each.name, each.data) for each in found] == list(MEMBERS.items())
        assert reasons(faults) == {Reason.BAD_ARCHIVE}


def test_zip64_is_read() -> None:
    """If sizes and places are in fields of 64 bits, then they count."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("a.nt", "w", force_zip64=True) as member:
            member.write(NT)
        archive.writestr("b.nt", NT[:70])
    packed = bytearray(out.getvalue())
    # The end record of 64 bits, with the one of 32 bits saying nothing
    end = packed.rindex(b"PK\5\6")
    n, size, offset = struct.unpack_from("<HII", packed, end + 10)
    end64 = struct.pack(
        "<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, n, n, size, offset
    ) + struct.pack("<4sIQI", b"PK\6\7", 0, end, 1)
    packed[end + 8 : end + 20] = b"\xff" * 12
    packed[end:end] = end64
    found, faults = unpack(bytes(packed))
    assert [each.data for each in found] == [NT, NT[:70]]
    assert not faults


def zip_with_modes() -> bytes:
    """Return a zip with links, devices and folders of Unix, and a file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for i, kind in enumerate((stat.S_IFLNK, stat.S_IFCHR, stat.S_IFDIR)):
            for system in (3, 19):
                info = zipfile.ZipInfo(f"{i}{system}.nt")
                info.create_system, info.external_attr = system, (kind | 0o777) << 16
                archive.writestr(info, "a.nt")
        dos = zipfile.ZipInfo("a.nt")
        dos.create_system, dos.external_attr = 0, stat.S_IFLNK << 16
        archive.writestr(dos, NT)
    return out.getvalue()


def damaged_directory() -> bytes:
    """Return a zip whose directory has a bad second entry."""
    packed = bytearray(zipped({f"{x}.nt": NT for x in "abc"}))
    at = [each.start() for each in re.finditer(b"PK\1\2", packed)][1]
    packed[at : at + 4] = b"????"
    return bytes(packed)


def with_comment(comment: bytes) -> bytes:
    """Return a zip with a comment."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.nt", NT)
        archive.comment = comment
    return out.getvalue()


A = {"a.nt": NT}
ABC = ["a.nt", "b.nt", "c.nt"]
STORED = zipped({f"{x}.nt": NT for x in "abc"}, zipfile.ZIP_STORED, is_streamed=True)
ODD_ZIPS = [
    pytest.param(zip_with_modes(), ["a.nt"], set(), id="links-and-devices"),
    pytest.param(b"#!/bin/sh\n" + zipped(A), ["a.nt"], set(), id="program-before"),
    pytest.param(bytes(3000) + zipped(A), ["a.nt"], set(), id="zeros-before"),
    pytest.param(zipped(A) + b"<!-- x -->", ["a.nt"], set(), id="bytes-after"),
    pytest.param(with_comment(b"x" * 60_000), ["a.nt"], set(), id="long-comment"),
    pytest.param(
        with_comment(b"PK\5\6" + bytes(40)), ["a.nt"], set(), id="magic-in-comment"
    ),
    pytest.param(damaged_directory(), ABC, {Reason.BAD_ARCHIVE}, id="bad-entry"),
    pytest.param(
        STORED[: STORED.index(b"PK\1\2")], ABC, {Reason.BAD_ARCHIVE}, id="stored-cut"
    ),
    pytest.param(
        b"PK\7\10" + STORED[:-9], ABC, {Reason.BAD_ARCHIVE}, id="spanned-and-cut"
    ),
]


@pytest.mark.parametrize(("packed", "names", "expected"), ODD_ZIPS)
def test_odd_zips_are_read(
    packed: bytes, names: list[str], expected: set[Reason]
) -> None:
    """If a zip has links, other bytes around it or damage, then its files are read."""
    found, faults = unpack(packed, url="http://e/x.zip")
    assert [(each.name, each.data) for each in found] == [(x, NT) for x in names]
    assert reasons(faults) == expected


def zip_of(method: int, data: bytes, packed: bytes, flags: int = 0) -> bytes:
    """Return a zip of one member `a.nt`."""
    common = struct.pack(
        "<5H3I2H", 45, flags, method, 0, 0, zlib.crc32(data), len(packed), len(data),
        4, 0,
    )  # fmt: skip
    local = b"PK\3\4" + common + b"a.nt" + packed
    central = b"PK\1\2" + struct.pack("<H", 45) + common + bytes(14) + b"a.nt"
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(central), len(local), 0)
    return local + central + end


def test_sizes_of_64_bits_are_read() -> None:
    """If a directory's sizes and place are in its extra field, then they count."""
    packed = bytearray(zip_of(0, NT, NT))
    at = packed.index(b"PK\1\2")
    extra = struct.pack("<HHQQQ", 1, 24, len(NT), len(NT), 0)
    packed[at + 20 : at + 28] = b"\xff" * 8
    packed[at + 30 : at + 32] = len(extra).to_bytes(2, "little")
    packed[at + 42 : at + 46] = b"\xff" * 4
    packed[at + 50 : at + 50] = extra
    end = packed.index(b"PK\5\6")
    packed[end + 12 : end + 16] = (end - at).to_bytes(4, "little")
    found, faults = unpack(bytes(packed))
    assert [each.data for each in found] == [NT]
    assert not faults


def test_deflate64_is_read() -> None:
    """If a member is packed by deflate64, as Windows does beyond 2 GB, it is read."""
    encoder = inflate64.Deflater()
    packed = encoder.deflate(NT) + encoder.flush()
    found, faults = unpack(zip_of(9, NT, packed))
    assert [each.data for each in found] == [NT]
    assert not faults


@pytest.mark.parametrize(
    ("flags", "method", "reason"),
    [
        (1, 0, Reason.ENCRYPTED),
        (0x40, 8, Reason.ENCRYPTED),
        (0, 99, Reason.ENCRYPTED),
        (0, 97, Reason.BAD_ARCHIVE),
    ],
    ids=["encrypted", "strongly", "AES", "WavPack"],
)
def test_members_that_cannot_be_read_are_named(
    flags: int, method: int, reason: Reason
) -> None:
    """If a member of a zip is encrypted or oddly packed, then it is named as that."""
    found, faults = unpack(zip_of(method, NT, NT, flags))
    assert not found
    assert reasons(faults) == {reason}


def test_one_encrypted_member_leaves_the_others() -> None:
    """If one member is encrypted or damaged, then the others are read."""
    packed = bytearray(zipped(MEMBERS))
    at = packed.rindex(b"PK\1\2", 0, packed.rindex(b"a.ttl"))
    packed[at + 8] |= 1
    at = packed.index(NT[:0] + b"c.nt") + 40
    packed[at : at + 8] = bytes(8)
    found, faults = unpack(bytes(packed))
    assert [each.name for each in found] == ["z/b.nt", "c.nt", "empty.nt"]
    assert found[0].data == NT
    assert Reason.ENCRYPTED in reasons(faults)
    assert reasons(faults) & {Reason.BAD_ARCHIVE, Reason.CHECKSUM}


def test_wrong_checksum_of_a_member_is_named() -> None:
    """If a member's CRC does not fit, then it is read, and named."""
    found, faults = unpack(zip_of(0, NT, NT[:-3] + b"x.\n"))
    assert len(found[0].data) == len(NT)
    assert reasons(faults) == {Reason.CHECKSUM}


def test_overlapping_members_are_refused() -> None:
    """If members share their bytes, as in bombs that need no ratio, it ends early."""
    stored = NT[: 2**18]
    name = b"a.nt"
    common = struct.pack(
        "<5H3I2H", 20, 0, 0, 0, 0, zlib.crc32(stored), len(stored), len(stored), 4, 0
    )
    local = b"PK\3\4" + common + name + stored
    central = b"PK\1\2" + struct.pack("<H", 20) + common + bytes(14) + name
    directory = central * 1000
    end = struct.pack(
        "<4s4H2IH", b"PK\5\6", 0, 0, 1000, 1000, len(directory), len(local), 0
    )
    found, faults = unpack(local + directory + end)
    assert 1 <= len(found) < 5
    assert {each.data for each in found} == {stored}
    assert reasons(faults) == {Reason.BAD_ARCHIVE}


def test_unicode_names_beside_old_ones_count() -> None:
    """If a zip has a Unicode name besides the old one, then it counts (4.6.9)."""
    name = "中文.nt".encode()
    extra = struct.pack("<BI", 1, zlib.crc32(b"a.nt")) + name
    extra = struct.pack("<HH", 0x7075, len(extra)) + extra
    packed = bytearray(zip_of(0, NT, NT))
    at = packed.index(b"PK\1\2")
    packed[at + 30 : at + 32] = len(extra).to_bytes(2, "little")
    packed[at + 50 : at + 50] = extra
    end = packed.index(b"PK\5\6")
    packed[end + 12 : end + 16] = (end - at).to_bytes(4, "little")
    found, faults = unpack(bytes(packed))
    assert [(each.name, each.data) for each in found] == [("中文.nt", NT)]
    assert not faults


@pytest.mark.parametrize("method", [20, 93, 95])
def test_newer_methods_of_zip_are_read(method: int) -> None:
    """If a member is packed by zstd or xz, then it is read."""
    packed = lzma.compress(NT) if method == 95 else zstd.compress(NT)
    found, faults = unpack(zip_of(method, NT, packed))
    assert [each.data for each in found] == [NT]
    assert not faults


def test_names_of_old_zips_are_read() -> None:
    """If a name of a zip has no flag of UTF-8, then it is CP437."""
    packed = zip_of(0, NT, NT).replace(b"a.nt", b"\x82.nt")
    found, _ = unpack(packed)
    assert found[0].name == "é.nt"
