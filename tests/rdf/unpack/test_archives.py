"""Archives of all kinds: members, names, limits, and truncation."""

from __future__ import annotations

import io
import itertools
import zipfile
import zlib
from functools import partial
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason
from tests.support.unpack_archives import (
    ARCHIVE_KINDS,
    ARCHIVES,
    MEMBERS,
    NT,
    SEVEN_ZIP_FILTERS,
    URL,
    packed_members,
    reasons,
    seven_zipped,
    unpack,
    zipped,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MIB = 2**20


def start(packed: bytes, tmp_path: Path, *, is_file: bool) -> bytes | Path:
    """Return the packed bytes, in memory or in a file."""
    if not is_file:
        return packed
    path = tmp_path / "packed"
    path.write_bytes(packed)
    return path


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("is_file", [False, True], ids=["memory", "file"])
@pytest.mark.parametrize("kind", ARCHIVE_KINDS)
def test_members_are_read_in_order(kind: str, is_file: bool, tmp_path: Path) -> None:
    """If documents are in an archive, then each is read, in the archive's order."""
    if "program" in kind:
        packed = start(b"PK\3\4" + packed_members(kind), tmp_path, is_file=is_file)
    else:
        packed = start(packed_members(kind), tmp_path, is_file=is_file)
    found, faults = unpack(packed)
    assert [(each.name, each.data) for each in found] == list(MEMBERS.items())
    assert {each.format for each in found} == {"N-Triples", "Turtle"}
    assert not faults


@pytest.mark.parametrize("wanted", [[0], [1], [2], [0, 2], [9]])
@pytest.mark.parametrize("kind", ["zip deflate", "tar pax", "7z lzma2"])
def test_members_may_be_left(kind: str, wanted: list[int]) -> None:
    """If a member is not read, then the next ones are read all the same."""
    found, faults = unpack(packed_members(kind), read=wanted)
    for i, (each, data) in enumerate(zip(found, MEMBERS.values(), strict=False)):
        assert each.data == (data if i in wanted else b"")
    assert not faults


@pytest.mark.parametrize("kind", ARCHIVES)
def test_empty_archive_is_named(kind: str) -> None:
    """If an archive is empty, then that is its only fault."""
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
    import py7zr  # slow

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


@pytest.mark.parametrize("kind", ARCHIVE_KINDS)
def test_cut_archive_is_named(kind: str) -> None:
    """If an archive is cut off, then it is named; no statement is made up."""
    packed = packed_members(kind)
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


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("kind", BOMBS)
def test_bomb_in_an_archive_ends_at_the_ratio(kind: str) -> None:
    """If a member swells beyond the ratio, then it ends there and is named."""
    packed = BOMBS[kind]({"a.nt": bytes(24 * MIB), "b.nt": NT})
    found, faults = unpack(packed, ratio=100)
    n_bytes = sum(len(each.data) for each in found)
    assert n_bytes < 8 * MIB  # 100 times the 64 KiB of one read
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
