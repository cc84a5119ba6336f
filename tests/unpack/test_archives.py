"""Archives: their kinds, members of all sorts, limits, and what is broken."""

from __future__ import annotations

import io
import itertools
import lzma
import struct
import tarfile
import zipfile
import zlib
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import inflate64
import py7zr
import pytest
from backports import zstd
from py7zr import properties as seven

from rdfcrawl.errors import Reason
from tests.support.unpack_archives import (
    ARCHIVES,
    SEVEN_ZIP_FILTERS,
    URL,
    ZIP_METHODS,
    reasons,
    seven_zipped,
    statements,
    tarred,
    unpack,
    zipped,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NT = statements(6_000)
TTL = b"@prefix e: <http://example.org/> .\ne:a e:b e:c .\n"
MIB = 2**20
MEMBERS = {"z/b.nt": NT, "a.ttl": TTL, "c.nt": NT[: len(NT) // 2], "empty.nt": b""}
PACKERS: dict[str, Callable[[], bytes]] = {
    **{
        f"zip {name}": partial(zipped, MEMBERS, kind)
        for name, kind in ZIP_METHODS.items()
    },
    "zip streamed": partial(zipped, MEMBERS, is_streamed=True),
    "zip with a program before": lambda: b"#!/bin/sh\n" * 9 + zipped(MEMBERS),
    "tar ustar": partial(tarred, MEMBERS, tarfile.USTAR_FORMAT),
    "tar gnu": partial(tarred, MEMBERS, tarfile.GNU_FORMAT),
    "tar pax": partial(tarred, MEMBERS, tarfile.PAX_FORMAT),
    **{
        f"7z {name}": partial(seven_zipped, MEMBERS, kind)
        for name, kind in SEVEN_ZIP_FILTERS.items()
    },
}


@cache
def packed_as(kind: str) -> bytes:
    """Return the members in an archive of this kind."""
    return PACKERS[kind]()


def start(packed: bytes, tmp_path: Path, *, is_file: bool) -> bytes | Path:
    """Return what is packed, in memory or in a file."""
    if not is_file:
        return packed
    path = tmp_path / "packed"
    path.write_bytes(packed)
    return path


@pytest.mark.parametrize("is_file", [False, True], ids=["memory", "file"])
@pytest.mark.parametrize("kind", PACKERS)
def test_members_are_read_in_order(kind: str, is_file: bool, tmp_path: Path) -> None:
    """If documents are in an archive, then each is read, in the archive's order."""
    if "program" in kind:
        packed = start(b"PK\3\4" + packed_as(kind), tmp_path, is_file=is_file)
    else:
        packed = start(packed_as(kind), tmp_path, is_file=is_file)
    found, faults = unpack(packed)
    assert [(each.name, each.data) for each in found] == list(MEMBERS.items())
    assert {each.format for each in found} == {"N-Triples", "Turtle"}
    assert not faults


@pytest.mark.parametrize("wanted", [[0], [1], [2], [0, 2], [9]])
@pytest.mark.parametrize("kind", ["zip deflate", "tar pax", "7z lzma2"])
def test_members_may_be_left(kind: str, wanted: list[int]) -> None:
    """If a member is not read, then the next ones are read all the same."""
    found, faults = unpack(packed_as(kind), read=wanted)
    for i, (each, data) in enumerate(zip(found, MEMBERS.values(), strict=False)):
        assert each.data == (data if i in wanted else b"")
    assert not faults


@pytest.mark.parametrize("kind", ARCHIVES)
def test_empty_archive_is_named(kind: str) -> None:
    """If nothing is in an archive, then that is what is told of it."""
    found, faults = unpack(ARCHIVES[kind]({}), url=f"{URL}.{kind}")
    assert not found
    assert reasons(faults) == {Reason.EMPTY}


HOSTILE = [
    "../../../etc/passwd.nt", "/etc/cron.d/x.nt", "C:\\Windows\\x.nt", "..\\..\\x.nt",
    "a/../../b.nt", "\x1b[31mred.nt", "x" * 300 + ".nt", "ünï/中文.nt", "http://e/x.nt",
    "a?b#c.nt", "//[.nt", "%00.nt", " .nt", "a\nb.nt",
]  # fmt: skip


def renamed_seven_zip(members: dict[str, bytes]) -> bytes:
    """Return a 7z archive with names that its writer refuses."""
    dummies = [f"{i}".zfill(len(name)) for i, name in enumerate(members)]
    out = io.BytesIO()
    with py7zr.SevenZipFile(out, "w") as archive:
        archive.set_encoded_header_mode(False)
        for dummy, data in zip(dummies, members.values(), strict=True):
            archive.writestr(data, dummy)
    packed = bytearray(out.getvalue())
    for dummy, name in zip(dummies, members, strict=True):
        old, new = (f"{each}\0".encode("utf-16-le") for each in (dummy, name))
        at = packed.rindex(old)
        packed[at : at + len(old)] = new
    offset = int.from_bytes(packed[12:20], "little")
    packed[28:32] = zlib.crc32(packed[32 + offset :]).to_bytes(4, "little")
    packed[8:12] = zlib.crc32(packed[12:32]).to_bytes(4, "little")
    return bytes(packed)


@pytest.mark.parametrize("kind", ARCHIVES)
def test_names_are_data(kind: str, tmp_path: Path) -> None:
    """If names are those of an attack, then nothing is written and all is read."""
    members = {name: NT[: 70 * i] for i, name in enumerate(HOSTILE, 1)}
    pack = renamed_seven_zip if kind == "7z" else ARCHIVES[kind]
    found, faults = unpack(start(pack(members), tmp_path, is_file=True))
    read = {each.data for each in found}
    assert read == set(members.values())
    assert all(each.name.isprintable() or "\ufffd" in each.name for each in found)
    assert not any(char in each.name for each in found for char in "\x1b\n\0")
    assert [path.name for path in tmp_path.iterdir()] == ["packed"]
    assert not faults


# -- tar -------------------------------------------------------------------------------


def entries(*added: tuple[tarfile.TarInfo, bytes], **options: Any) -> bytes:
    """Return a tar of these entries."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", **options) as archive:
        for entry, data in added:
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    """Return an entry of a kind."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def test_what_is_no_file_is_passed_by() -> None:
    """If a tar has folders, links and devices, then they are passed by in silence."""
    kinds = [
        entry("d.nt", tarfile.DIRTYPE),
        entry("s.nt", tarfile.SYMTYPE, "/etc/passwd"),
        entry("h.nt", tarfile.LNKTYPE, "../../x"),
        entry("f.nt", tarfile.FIFOTYPE),
        entry("c.nt", tarfile.CHRTYPE),
        entry("b.nt", tarfile.BLKTYPE),
    ]
    found, faults = unpack(
        entries(*((each, b"") for each in kinds), (entry("a.nt"), NT))
    )
    assert [(each.name, each.data) for each in found] == [("a.nt", NT)]
    assert not faults


def test_old_tar_without_magic_is_read() -> None:
    """If a tar is older than its magic, then its name tells, and it is read."""
    packed = bytearray(tarred({"a.nt": NT}, tarfile.USTAR_FORMAT))
    packed[257:265] = bytes(8)
    blank = packed[:148] + b" " * 8 + packed[156:512]
    packed[148:156] = b"%06o\0 " % sum(blank)
    found, faults = unpack(bytes(packed), url="http://e/x.tar")
    assert [each.data for each in found] == [NT]
    assert not faults


def test_tar_without_end_mark_is_read() -> None:
    """If the zeros at the end of a tar are missing, then nothing is wrong."""
    packed = tarred({"a.nt": NT}, tarfile.USTAR_FORMAT)
    end = 512 + len(NT) + -len(NT) % 512
    found, faults = unpack(packed[:end])
    assert [each.data for each in found] == [NT]
    assert not faults


def test_large_sizes_in_binary_are_read() -> None:
    """If GNU's binary size says more than there is, then what there is is read."""
    packed = bytearray(tarred({"a.nt": NT}, tarfile.GNU_FORMAT))
    packed[124:136] = b"\x80" + (2**60).to_bytes(11)
    blank = packed[:148] + b" " * 8 + packed[156:512]
    packed[148:156] = b"%06o\0 " % sum(blank)
    found, faults = unpack(bytes(packed))
    assert found[0].data.startswith(NT)
    assert reasons(faults) == {Reason.BAD_ARCHIVE}


@pytest.mark.parametrize("kind", [b"L", b"x", b"g"])
def test_headers_of_any_length_take_no_memory(kind: bytes) -> None:
    """If a header says that it is gigabytes long, then it is refused."""
    packed = bytearray(entries((entry("a.nt", kind), b"")))
    packed[124:136] = b"77777777777\0"
    blank = packed[:148] + b" " * 8 + packed[156:512]
    packed[148:156] = b"%06o\0 " % sum(blank)
    found, faults = unpack(bytes(packed))
    assert not found
    assert reasons(faults) == {Reason.BAD_ARCHIVE}


def test_long_names_of_gnu_are_read() -> None:
    """If a name is longer than its field, then GNU's own header before it counts."""
    name = "d/" * 100 + "a.nt"
    found, faults = unpack(
        entries((entry(name), NT), (entry("b.nt"), NT), format=tarfile.GNU_FORMAT)
    )
    assert [each.name for each in found] == [name, "b.nt"]
    assert not faults


def test_prefixes_of_ustar_are_read() -> None:
    """If a name is longer than its field, then the prefix of ustar is before it."""
    name = "d" * 90 + "/" + "e" * 60 + ".nt"
    found, faults = unpack(tarred({name: NT}, tarfile.USTAR_FORMAT))
    assert [each.name for each in found] == [name]
    assert not faults


def test_sizes_of_pax_count() -> None:
    """If a pax header has a size, then that is the size, not the one in the field."""
    first = entry("a.nt")
    first.pax_headers = {"size": str(len(NT)), "comment": "x"}
    packed = bytearray(entries((first, NT), (entry("b.nt"), NT)))
    at = packed.index(b"a.nt\0")
    packed[at + 124 : at + 136] = b"00000000000\0"
    blank = packed[at : at + 148] + b" " * 8 + packed[at + 156 : at + 512]
    packed[at + 148 : at + 156] = b"%06o\0 " % sum(blank)
    found, faults = unpack(bytes(packed))
    assert [each.data for each in found] == [NT, NT]
    assert not faults


def sparse(n_more: int) -> bytes:
    """Return an old GNU sparse file with so many more headers of holes, and a file."""
    packed = bytearray(entries((entry("s.nt"), NT), (entry("b.nt"), NT)))
    packed[156:157] = b"S"
    packed[257:265] = b"ustar  \0"
    packed[482] = bool(n_more)
    blank = packed[:148] + b" " * 8 + packed[156:512]
    packed[148:156] = b"%06o\0 " % sum(blank)
    more = b"".join(
        bytes(504) + bytes([i < n_more]) + bytes(7) for i in range(1, n_more + 1)
    )
    return bytes(packed[:512] + more + packed[512:])


@pytest.mark.parametrize("n_more", [0, 1, 3])
def test_files_with_holes_are_passed_by(n_more: int) -> None:
    """If a tar has a sparse file, then it is left out and the next one is read."""
    found, faults = unpack(sparse(n_more))
    assert [(each.name, each.data) for each in found] == [("b.nt", NT)]
    assert not faults


def test_pax_files_with_holes_are_passed_by() -> None:
    """If a pax header speaks of holes, then the file is left out."""
    first = entry("GNUSparseFile.0/s.nt")
    first.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.name": "s.nt"}
    found, faults = unpack(entries((first, NT), (entry("b.nt"), NT)))
    assert [each.name for each in found] == ["b.nt"]
    assert not faults


@pytest.mark.parametrize("number", [b"\xff" * 12, b"9" * 12, b"-1".ljust(12)])
def test_bad_numbers_of_tar_are_named(number: bytes) -> None:
    """If a size is negative or no number, then the tar is broken there."""
    packed = bytearray(tarred({"a.nt": NT}, tarfile.USTAR_FORMAT))
    packed[124:136] = number
    blank = packed[:148] + b" " * 8 + packed[156:512]
    packed[148:156] = b"%06o\0 " % sum(blank)
    found, faults = unpack(bytes(packed))
    assert not found
    assert reasons(faults) == {Reason.BAD_ARCHIVE}


def test_names_in_odd_charsets_are_read() -> None:
    """If a name of a tar is no UTF-8, then it is taken for Latin-1."""
    packed = entries(
        (entry("caf\u00e9.nt"), NT), format=tarfile.USTAR_FORMAT, encoding="latin-1"
    )
    found, _ = unpack(packed)
    assert found[0].name == "café.nt"


# -- zip -------------------------------------------------------------------------------


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
    stored = NT[: MIB // 4]
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
    """If a zip has a name in Unicode beside the old one, then it counts (4.6.9)."""
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


# -- 7z --------------------------------------------------------------------------------


@pytest.mark.parametrize("has_header", [False, True], ids=["data", "names too"])
def test_encrypted_7z_is_named(has_header: bool) -> None:
    """If a 7z archive needs a password, then that is its fault."""
    packed = seven_zipped(MEMBERS, password="x", header_encryption=has_header)
    found, faults = unpack(packed)
    assert not found
    assert reasons(faults) == {Reason.ENCRYPTED}


def test_ppmd_is_refused_by_name() -> None:
    """If a 7z archive is coded with PPMd, then its name is told."""
    ppmd = [{"id": seven.FILTER_PPMD, "order": 6, "mem": 24}]
    found, faults = unpack(seven_zipped(MEMBERS, ppmd))
    assert not found
    assert reasons(faults) == {Reason.BAD_ARCHIVE}
    assert "PPMd" in faults[0].detail


def test_large_dictionary_of_7z_is_refused() -> None:
    """If a 7z archive asks for more memory than allowed, then it is not begun."""
    packed = seven_zipped(MEMBERS, [{"id": seven.FILTER_LZMA2, "dict_size": 2**24}])
    found, faults = unpack(packed, codec_memory_bytes=2**22)
    assert not found
    assert reasons(faults) == {Reason.TOO_LARGE}


def test_folders_and_links_of_7z_are_passed_by(tmp_path: Path) -> None:
    """If a 7z archive has folders, links and empty files, then they are passed by."""
    folder = tmp_path / "d"
    (folder / "inner.nt").mkdir(parents=True)
    (folder / "a.nt").write_bytes(NT)
    (folder / "empty.nt").write_bytes(b"")
    (folder / "link.nt").symlink_to("a.nt")
    (folder / "z.nt").write_bytes(NT[:70])
    out = io.BytesIO()
    with py7zr.SevenZipFile(out, "w") as archive:
        archive.writeall(folder, "d")
    found, faults = unpack(out.getvalue())
    read = {each.name: each.data for each in found if each.data}
    assert read == {"d/a.nt": NT, "d/z.nt": NT[:70]}
    assert not faults


def with_header(header: bytes, packed: bytes = b"") -> bytes:
    """Return a 7z archive with this header."""
    start = struct.pack("<QQI", len(packed), len(header), zlib.crc32(header))
    return (
        b"7z\xbc\xaf\x27\x1c\0\4"
        + zlib.crc32(start).to_bytes(4, "little")
        + start
        + packed
        + header
    )


CRC_OF_ABC = b"\x0a\1" + zlib.crc32(b"abc").to_bytes(4, "little")
NAME_OF_A = b"\x05\1\x11\x0b\0" + "a.nt\0".encode("utf-16-le") + b"\0"
HEADERS: dict[str, tuple[bytes, Reason | None]] = {
    "one file": (
        b"\1\4\6\0\1\x09\3\0\7\x0b\1\0\1\1\0\x0c\3\0\0" + NAME_OF_A + b"\0", None
    ),
    "its CRC with the folder": (
        b"\1\4\6\0\1\x09\3\0\7\x0b\1\0\1\1\0\x0c\3" + CRC_OF_ABC + b"\0\0"
        + NAME_OF_A + b"\0", None
    ),
    "wrong CRC": (
        b"\1\4\6\0\1\x09\3\0\7\x0b\1\0\1\1\0\x0c\3\x0a\1abcd\0\0"
        + NAME_OF_A + b"\0", Reason.CHECKSUM
    ),
    "CRC of the packed bytes": (
        b"\1\4\6\0\1\x09\3\x0a\0\x80abcd\0\7\x0b\1\0\1\1\0\x0c\3\0\0"
        + NAME_OF_A + b"\0", None
    ),
    "properties of the archive": (
        b"\1\2\x19\2xx\0\4\6\0\1\x09\3\0\7\x0b\1\0\1\1\0\x0c\3\0\0" + NAME_OF_A
        + b"\0", None
    ),
    "more data than there is": (
        b"\1\4\6\0\1\x09\x30\0\7\x0b\1\0\1\1\0\x0c\x30\0\0" + NAME_OF_A + b"\0",
        Reason.BAD_ARCHIVE,
    ),
    "files without data": (b"\1\5\2\x11\1\0\0\0", Reason.BAD_ARCHIVE),
    "a coder with two inputs": (
        b"\1\4\6\0\1\x09\3\0\7\x0b\1\0\1\x11\0\2\1\0\1\x0c\3\0\0" + NAME_OF_A + b"\0",
        Reason.BAD_ARCHIVE,
    ),
    "no coders": (b"\1\4\6\0\1\x09\3\0\7\x0b\1\0\0", Reason.BAD_ARCHIVE),
    "bad coder": (b"\1\4\6\0\1\x09\3\0\7\x0b\1\0\1\xff", Reason.BAD_ARCHIVE),
    "folders elsewhere": (b"\1\4\7\x0b\1\1\0", Reason.BAD_ARCHIVE),
    "a header in nothing": (b"\x17\0", Reason.BAD_ARCHIVE),
    "unknown property": (b"\1\x42", Reason.BAD_ARCHIVE),
    "unknown header": (b"\x42", Reason.BAD_ARCHIVE),
    "billions of files": (b"\1\5\xf0\xff\xff\xff\xff", Reason.TOO_MANY_MEMBERS),
    "more files than bytes": (b"\1\5\xc0\xff\7", Reason.BAD_ARCHIVE),
    "a number beyond all": (b"\1\5\xff" + b"\xff" * 8, Reason.BAD_ARCHIVE),
    "cut off": (b"\1\4\6", Reason.BAD_ARCHIVE),
    "nothing": (b"", Reason.EMPTY),
}  # fmt: skip


@pytest.mark.parametrize("case", HEADERS)
def test_headers_of_7z_are_read_or_refused(case: str) -> None:
    """If a header of 7z is odd, then it is read, or refused by name."""
    header, reason = HEADERS[case]
    found, faults = unpack(with_header(header, b"abc"))
    if reason in (None, Reason.CHECKSUM):
        assert [each.name for each in found] == ["a.nt"]
        assert found[0].data.startswith(b"abc")
    assert reasons(faults) == ({reason} if reason else set())


def test_header_of_7z_is_checked() -> None:
    """If a header of 7z has a wrong CRC or size, then it is not read."""
    packed = seven_zipped(MEMBERS)
    for at in (8, 20, len(packed) - 1):
        damaged = bytearray(packed)
        damaged[at] ^= 1
        found, faults = unpack(bytes(damaged))
        assert not found
        assert reasons(faults) == {Reason.CHECKSUM}
    start = struct.pack("<QQI", 0, 2**40, 0)
    crc = zlib.crc32(start).to_bytes(4, "little")
    found, faults = unpack(packed[:8] + crc + start)
    assert not found
    assert reasons(faults) == {Reason.TOO_LARGE}


# -- all -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PACKERS)
def test_cut_archive_is_named(kind: str) -> None:
    """If an archive is cut off, then it is named; no statement is made up."""
    packed = packed_as(kind)
    if kind.startswith("tar"):
        packed = packed.rstrip(b"\0")
    for share in (0.05, 0.5, 0.97):
        cut = packed[: int(len(packed) * share)]
        if "program" in kind:
            cut = cut[90:]
        found, faults = unpack(cut)
        assert Reason.BAD_ARCHIVE in reasons(faults) or share == 0.97
        for each in found:
            assert MEMBERS[each.name].startswith(each.data)


BOMBS: dict[str, Callable[[dict[str, bytes]], bytes]] = {
    "zip": zipped,
    "zip of bzip2": partial(zipped, method=zipfile.ZIP_BZIP2),
    "zip of lzma": partial(zipped, method=zipfile.ZIP_LZMA),
    "7z": partial(seven_zipped, filters=SEVEN_ZIP_FILTERS["lzma2"]),
    "7z of bzip2": partial(seven_zipped, filters=SEVEN_ZIP_FILTERS["bzip2"]),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_bomb_in_an_archive_ends_at_the_ratio(kind: str) -> None:
    """If a member swells beyond the ratio, then it ends there and is named."""
    packed = BOMBS[kind]({"a.nt": bytes(24 * MIB), "b.nt": NT})
    found, faults = unpack(packed, ratio=100)
    n_bytes = sum(len(each.data) for each in found)
    assert n_bytes < 8 * MIB  # 100 times the 64 KiB that are taken at once
    assert reasons(faults) <= {Reason.TOO_LARGE, Reason.UNKNOWN_FORMAT}
    assert Reason.TOO_LARGE in reasons(faults)


@pytest.mark.parametrize("kind", ARCHIVES)
def test_archive_of_many_members_ends_at_the_limit(kind: str) -> None:
    """If an archive has too many members, then so many are read, and it is named."""
    members = {f"{i}.nt": NT[: 70 + i] for i in range(300)}
    found, faults = unpack(ARCHIVES[kind](members), n_members=200)
    assert [each.data for each in found] == list(
        itertools.islice(members.values(), 200)
    )
    assert reasons(faults) == {Reason.TOO_MANY_MEMBERS}


@pytest.mark.parametrize("kind", ARCHIVES)
def test_archive_ends_at_the_limit_of_bytes(kind: str) -> None:
    """If members unpack to more than the limit together, then the rest is not read."""
    members = {f"{i}.nt": NT for i in range(10)}
    packed, url = ARCHIVES[kind](members), URL
    if kind == "tar":  # does not grow by itself
        packed, url = zlib.compress(packed, wbits=31), f"{URL}.tar.gz"
    found, faults = unpack(packed, url=url, n_bytes=3 * len(NT))
    assert sum(len(each.data) for each in found) <= 3 * len(NT)
    assert found[0].data == NT
    assert reasons(faults) == {Reason.TOO_LARGE}
