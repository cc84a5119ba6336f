"""tar: entries of all sorts, sizes, names, and damage."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from rdfcrawl.core.errors import Reason
from tests.support.unpack_archives import (
    NT,
    reasons,
    tarred,
    unpack,
)

needs_gnu_tar = pytest.mark.skipif(not shutil.which("tar"), reason="tar is missing")


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
    """If a tar is older than its magic, then it is recognized by its name."""
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
    """If GNU's binary size exceeds the data, then the available data is read."""
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


def with_holes(files: dict[str, list[tuple[int, bytes]]], *options: str) -> bytes:
    """Return what GNU tar makes of sparse files, each of data at places."""
    with TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        for name, parts in files.items():
            with Path(folder, name).open("wb") as file:
                for at, data in parts:
                    file.truncate(max(at, file.tell()))
                    file.seek(at)
                    file.write(data)
        command = ["tar", *options, "-cSf", "-", "-C", folder, *files]
        return subprocess.run(command, check=True, capture_output=True).stdout


LINE = b'<http://e.example/s> <http://e.example/p> "%d" .\n'
SPARSE = {
    "some.nt": [(0, LINE % 1), (300_000, b"\n" + LINE % 2), (2**20 - 1, b"\n")],
    "many.nt": [(i * 16_384, LINE % i) for i in range(60)],
    "hole.nt": [(50_000, b"")],
    "b.nt": [(0, NT)],
}


@needs_gnu_tar
@pytest.mark.parametrize("kind", ["gnu", "oldgnu", "0.0", "0.1", "1.0"])
def test_files_with_holes_are_read(kind: str) -> None:
    """If a tar has sparse files of any format, then their holes are read as zeros."""
    sparse = (f"--sparse-version={kind}",) if "." in kind else ()
    found, faults = unpack(
        with_holes(SPARSE, f"--format={'posix' if sparse else kind}", *sparse)
    )
    assert not faults
    assert {each.name: each.data.rstrip(b"\0\n") for each in found} == {
        name: b"".join(
            data.rjust(at - before + len(data), b"\0")
            for (at, data), before in zip(
                parts, [0, *(at + len(x) for at, x in parts)], strict=False
            )
        ).rstrip(b"\0\n")
        for name, parts in SPARSE.items()
    }


@needs_gnu_tar
def test_holes_are_no_bomb() -> None:
    """If the holes of a sparse file are gigabytes, then it ends at the ratio."""
    found, faults = unpack(
        with_holes({"a.nt": [(0, NT), (2**33, b"")], "b.nt": [(0, NT)]})
    )
    assert [each.name for each in found] == ["a.nt", "b.nt"]
    assert len(found[0].data) < 201 * len(NT)
    assert reasons(faults) == {Reason.TOO_LARGE}


def test_bad_places_of_holes_cost_their_file() -> None:
    """If the places of sparse data are no numbers, then the next file is read."""
    first = entry("GNUSparseFile.0/s.nt")
    first.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.name": "s.nt"}
    found, faults = unpack(entries((first, NT), (entry("b.nt"), NT)))
    assert [each.name for each in found] == ["b.nt"]
    assert reasons(faults) == {Reason.BAD_ARCHIVE}


def test_members_after_a_bad_header_are_read() -> None:
    """If a header is damaged, then that is noted once, and the others are read."""
    packed = bytearray(tarred({f"{x}.nt": NT for x in "abcd"}, tarfile.USTAR_FORMAT))
    at = packed.index(b"b.nt\0")
    packed[at : at + 300] = b"?" * 300
    found, faults = unpack(bytes(packed))
    assert [each.name for each in found] == ["a.nt", "c.nt", "d.nt"]
    assert [(each.reason, each.count) for each in faults] == [(Reason.BAD_ARCHIVE, 1)]


def test_unknown_types_are_files() -> None:
    """If an entry has an unknown type, then it is a file; a rest of one is a fault."""
    found, faults = unpack(
        entries(
            (entry("a.nt", b"Z"), NT),
            (entry("m.nt", b"M"), NT),
            (entry("v.nt", b"V"), b""),
            (entry("b.nt"), NT),
        )
    )
    assert [(each.name, each.data) for each in found] == [("a.nt", NT), ("b.nt", NT)]
    assert [each.reason for each in faults] == [Reason.BAD_ARCHIVE]
    assert "m.nt" in faults[0].detail


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
