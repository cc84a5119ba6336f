"""Recovery: after a crash, complete documents are kept and torn ends are cut."""

from __future__ import annotations

import asyncio
import os
import random
import re
import subprocess
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.stores.nquads import recover
from rdfcrawl.stores.reading import iter_quads
from rdfcrawl.stores.segment_file import SEAL, TornMember, list_segments, pack_member
from rdfcrawl.stores.segments import QuadSegments, SegmentLimits
from tests.support.command_forks import shared_forks

if TYPE_CHECKING:
    from pathlib import Path


def gunzip(directory: Path) -> bytes:
    """Return the output of the gunzip program for all segments."""
    paths = [os.fspath(path) for path in list_segments(directory)]
    if not paths:
        return b""
    return subprocess.run(
        ["gzip", "-dc", *paths], check=True, capture_output=True
    ).stdout


def members_of(*contents: bytes, synced: bool = False) -> list[bytes]:
    """Return one member for each content."""
    return [
        pack_member(content, is_synced=synced or not position)
        for position, content in enumerate(contents)
    ]


def test_missing_directory_is_nothing_to_recover(tmp_path: Path) -> None:
    """If there is not a directory yet, then recovery finds nothing."""
    assert recover(tmp_path / "none") == 0


def test_segment_torn_at_any_byte_keeps_its_whole_members(tmp_path: Path) -> None:
    """If a file ends at any byte, then exactly the members before it stay."""
    contents = [b"a" * 50 + b"\n", b"b" * 500 + b"\n", b"c\n"]
    members = members_of(*contents)
    content = b"".join(members)
    ends = [sum(map(len, members[:n])) for n in range(4)]
    path = tmp_path / "w-00000.nq.gz"
    for n_bytes in range(len(content) + 1):
        path.write_bytes(content[:n_bytes])
        n_bytes_cut = recover(tmp_path)
        n_whole = sum(end <= n_bytes for end in ends) - 1
        assert n_bytes_cut == n_bytes - ends[n_whole]
        assert path.exists() is (n_whole > 0)
        if path.exists():
            assert path.read_bytes() == content[: ends[n_whole]] + SEAL
            assert b"".join(iter_quads(tmp_path)) == b"".join(contents[:n_whole])


def test_segment_with_zeros_from_any_byte_keeps_its_whole_members(
    tmp_path: Path,
) -> None:
    """If power loss leaves zeros from any byte on, then the members before stay."""
    contents = [b"a" * 50 + b"\n", b"b" * 500 + b"\n", b"c\n"]
    members = members_of(*contents)
    content = b"".join(members)
    path = tmp_path / "w-00000.nq.gz"
    ends = [sum(map(len, members[:n])) for n in range(4)]
    for n_bytes in range(len(content)):
        torn = content[:n_bytes].ljust(len(content) + 100, b"\0")
        path.write_bytes(torn)
        n_bytes_cut = recover(tmp_path)
        # A byte that was zero anyway is no loss.
        n_whole = sum(torn[:end] == content[:end] for end in ends) - 1
        assert n_bytes_cut == len(torn) - ends[n_whole]
        assert b"".join(iter_quads(tmp_path)) == b"".join(contents[:n_whole])
        path.unlink(missing_ok=True)


def test_zeros_in_the_middle_cut_from_there(tmp_path: Path) -> None:
    """If an unsynced member is damaged and a later one intact, then both are cut."""
    members = members_of(b"a\n", b"b" * 300 + b"\n", b"c\n")
    damaged = members[1][:30] + bytes(4) + members[1][34:]
    path = tmp_path / "w-00000.nq.gz"
    path.write_bytes(members[0] + damaged + members[2])
    assert recover(tmp_path) == len(damaged) + len(members[2])
    assert gunzip(tmp_path) == b"a\n"


def test_members_before_a_synced_one_are_not_read_again(tmp_path: Path) -> None:
    """If a member says that all before it was on disk, then only it is inflated."""
    members = members_of(b"a\n", b"b" * 300 + b"\n", b"c\n", synced=True)
    damaged = members[1][:30] + bytes(4) + members[1][34:]
    path = tmp_path / "w-00000.nq.gz"
    path.write_bytes(members[0] + damaged + members[2])
    assert recover(tmp_path) == 0
    with pytest.raises(TornMember):
        list(iter_quads(tmp_path))


def test_damage_before_a_synced_member_cuts_nothing(tmp_path: Path) -> None:
    """If a header rots that was on disk, then the members behind it are not lost."""
    first, second = members_of(b"a\n", b"b" * 300 + b"\n")
    third, last = members_of(b"c\n", b"d\n", synced=True)
    path = tmp_path / "w-00000.nq.gz"
    content = first + b"x" + second[1:] + third + last
    path.write_bytes(content + b"torn")
    assert recover(tmp_path) == 4
    assert path.read_bytes() == content + SEAL
    with pytest.raises(TornMember, match=f"damaged at byte {len(first)}"):
        list(iter_quads(tmp_path))


def test_recovered_segment_is_sealed_and_left_alone(tmp_path: Path) -> None:
    """If a segment was recovered once, then the next time it is only looked at."""
    path = tmp_path / "w-00000.nq.gz"
    path.write_bytes(b"".join(members_of(b"a\n", b"b\n")) + b"\x1f\x8b")
    assert recover(tmp_path) == 2
    before = path.read_bytes()
    assert recover(tmp_path) == 0
    assert path.read_bytes() == before


def test_file_of_another_maker_is_left_alone(tmp_path: Path) -> None:
    """If a file was not written by segments, then it is not touched."""
    path = tmp_path / "w-00000.nq.gz"
    for content in (
        b"\x1f\x8b\x08\0\0\0\0\0\0\x03rest",
        b"<urn:a> <urn:b> <urn:c> .\n",
    ):
        path.write_bytes(content)
        assert recover(tmp_path) == 0
        assert path.read_bytes() == content


async def test_segments_of_a_live_writer_are_left_alone(tmp_path: Path) -> None:
    """If a writer lives, then recovery touches neither its small nor its large file."""
    living = QuadSegments(tmp_path, "living", SegmentLimits(spill_bytes=1000))
    living.write_document(b"<urn:a> <urn:b> <urn:c> .\n")
    await living.flush()
    large = living.begin()
    chunk = b"".join(b"<urn:d> <urn:b> <urn:%d> .\n" % i for i in range(50_000))
    living.write(large, chunk)
    dead = tmp_path / "dead-00000.nq.gz"
    dead.write_bytes(members_of(b"x\n")[0][:-1])
    recover(tmp_path)
    assert not dead.exists()
    living.write(large, chunk)
    living.end(large)
    await living.close()
    assert recover(tmp_path) == 0
    assert all(x.read_bytes().endswith(SEAL) for x in list_segments(tmp_path))
    assert gunzip(tmp_path) == b"<urn:a> <urn:b> <urn:c> .\n" + chunk * 2


async def test_recovery_at_the_begin_of_a_segment_loses_nothing(
    tmp_path: Path,
) -> None:
    """If recoveries run while segments begin, then no segment is lost to them."""
    ended = threading.Event()

    def recover_all_the_time() -> None:
        while not ended.is_set():
            recover(tmp_path)

    recovering = asyncio.create_task(asyncio.to_thread(recover_all_the_time))
    documents = [b"<urn:%d> <urn:b> <urn:c> .\n" % number for number in range(100)]
    try:
        for quads in documents:
            segments = QuadSegments(tmp_path, "w")
            segments.write_document(quads)
            await segments.flush(sync=False)
            await asyncio.sleep(0)
            await segments.close()
    finally:
        ended.set()
        await recovering
    assert sorted(gunzip(tmp_path).splitlines(keepends=True)) == sorted(documents)


WRITER = """
import asyncio, os, random, sys
from pathlib import Path
from rdfcrawl.stores.segments import QuadSegments, SegmentLimits

def quads(number, n):
    text = random.Random(number).randbytes(50 * n).hex()
    return "".join(
        '<urn:d> <urn:%d:%d:%d> "%s" .\\n' % (number, i, n, text[100 * i :][:100])
        for i in range(n)
    ).encode()

async def main(directory, first):
    limits = SegmentLimits(rotate_bytes=60_000, member_bytes=4_000, spill_bytes=8_000)
    segments = QuadSegments(Path(directory), "w", limits)
    number = first
    while True:
        large, large_number = segments.begin(), number
        segments.write(large, quads(number, 4000))
        for number in range(number + 1, number + 8):
            segments.write_document(quads(number, 1 + number % 40))
            await segments.flush(sync=number % 7 == 0)
        segments.write(large, quads(large_number, 4000))
        segments.end(large)
        await segments.flush(sync=number % 3 == 0)
        os.write(1, b"%d\\n" % number)
        number += 1

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def n_stored(directory: Path) -> int:
    """Return how many octets all files have."""
    total = 0
    for path in directory.rglob("*"):
        with suppress(FileNotFoundError):  # it has got its last name meanwhile
            total += path.stat().st_size
    return total


def run_and_kill(directory: Path, first: int, n_bytes: int) -> int:
    """Run a writer and kill it when it has written some octets after its first report.

    Returns:
        The last number that it reported flushed.
    """
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as told, os.fdopen(writer, "wb") as out:
        words = ["-c", WRITER, str(directory), str(first)]
        process = shared_forks().start(words, out)
        out.close()
        reported = told.readline()
        begun = n_stored(directory)
        while n_stored(directory) < begun + n_bytes:
            time.sleep(0.001)
        process.kill()
        process.wait()
        reported += told.read()
    return int(reported.split()[-1])


def check_documents(content: bytes) -> set[int]:
    """Return the numbers of the documents in `content`; each must be complete."""
    lines: dict[int, list[int]] = {}
    wanted: dict[int, int] = {}
    for match in re.finditer(rb'<urn:d> <urn:(\d+):(\d+):(\d+)> "\w+" \.\n', content):
        number, position, n_quads = map(int, match.groups())
        lines.setdefault(number, []).append(position)
        wanted[number] = n_quads
    for number, positions in lines.items():
        n_times = 2 if wanted[number] == 4000 else 1
        assert positions == list(range(wanted[number])) * n_times, number
    assert len(re.findall(rb"\n", content)) == sum(map(len, lines.values()))
    return set(lines)


def test_killed_writer_leaves_whole_documents_and_all_flushed_ones(
    tmp_path: Path,
) -> None:
    """If a writer is killed at any moment, then all flushed documents are there."""
    rng = random.Random(11)
    flushed: set[int] = set()
    first = n_cut = 0
    for run in range(60):
        last = run_and_kill(tmp_path, first, rng.randrange(80_000))
        flushed |= set(range(first, last + 1))
        n_cut += recover(tmp_path) > 0
        written = check_documents(gunzip(tmp_path))
        assert flushed <= written
        first = max(written) + 1000
        if n_cut and run >= 5:
            return
    pytest.fail("no kill has torn a file")
