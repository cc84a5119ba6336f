"""7z: headers, codings, and damage."""

from __future__ import annotations

import io
import struct
import zlib
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason
from tests.support.unpack_archives import (
    MEMBERS,
    NT,
    reasons,
    seven_zipped,
    unpack,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("has_header", [False, True], ids=["data", "names too"])
def test_encrypted_7z_is_named(has_header: bool) -> None:
    """If a 7z archive needs a password, then that is its fault."""
    packed = seven_zipped(MEMBERS, password="x", header_encryption=has_header)
    found, faults = unpack(packed)
    assert not found
    assert reasons(faults) == {Reason.ENCRYPTED}


def test_ppmd_is_refused_by_name() -> None:
    """If a 7z archive is coded with PPMd, then the fault names it."""
    ppmd = [{"id": "PPMD", "order": 6, "mem": 24}]
    found, faults = unpack(seven_zipped(MEMBERS, ppmd))
    assert not found
    assert reasons(faults) == {Reason.BAD_ARCHIVE}
    assert "PPMd" in faults[0].detail


def test_large_dictionary_of_7z_is_refused() -> None:
    """If a 7z archive asks for more memory than allowed, then it is not begun."""
    packed = seven_zipped(MEMBERS, [{"id": "LZMA2", "dict_size": 2**24}])
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
    import py7zr  # slow

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
