"""Segments have complete documents, in ordinary gzip."""

from __future__ import annotations

import asyncio
import gzip
import os
import random
import re
import resource
import subprocess
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import ConfigError, FaultLog, StoreFault
from rdfcrawl.rdf.text import iter_line_blocks
from rdfcrawl.stores.reading import iter_lines, iter_quads
from rdfcrawl.stores.segment_file import SEAL, SegmentFile, iter_members, list_segments
from rdfcrawl.stores.segments import QuadSegments, SegmentLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SMALL = SegmentLimits(rotate_bytes=20_000, member_bytes=2_000, spill_bytes=4_000)


def document(number: int, n_quads: int = 3, *, seed: int | None = None) -> bytes:
    """Return N-Quads; with `seed`, of random text that hardly compresses."""
    rng = random.Random(seed)
    return b"".join(
        b'<urn:d:%d> <urn:p> "%d %s" <urn:d:%d> .\n'
        % (
            number,
            i,
            b"" if seed is None else rng.randbytes(200).hex().encode(),
            number,
        )
        for i in range(n_quads)
    )


def gunzip(directory: Path) -> bytes:
    """Return the output of the gunzip program for all segments."""
    paths = [os.fspath(path) for path in list_segments(directory)]
    return subprocess.run(
        ["gzip", "-dc", *paths], check=True, capture_output=True
    ).stdout


async def test_small_documents_come_back_in_order(tmp_path: Path) -> None:
    """If small documents are written and closed, then gunzip reads them in order."""
    segments = QuadSegments(tmp_path, "w")
    documents = [document(i) for i in range(100)]
    for quads in documents:
        segments.write_document(quads)
    await segments.close()
    assert gunzip(tmp_path) == b"".join(documents)
    assert b"".join(iter_quads(tmp_path)) == b"".join(documents)


async def test_nothing_written_leaves_no_file(tmp_path: Path) -> None:
    """If nothing was written, then no segment is left behind."""
    segments = QuadSegments(tmp_path, "w")
    await segments.flush()
    await segments.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "no_sync"])
async def test_flushed_document_is_readable_before_close(
    tmp_path: Path, *, sync: bool
) -> None:
    """If a document has ended and is flushed, then another process can read it."""
    segments = QuadSegments(tmp_path, "w")
    segments.write_document(document(1))
    assert not list_segments(tmp_path)
    await segments.flush(sync=sync)
    assert gunzip(tmp_path) == document(1)
    await segments.close()


async def test_documents_written_at_once_do_not_mix(tmp_path: Path) -> None:
    """If documents of all sizes are open at once, then each stays in one piece."""
    segments = QuadSegments(tmp_path, "w", SMALL)
    documents = [document(i, 1 + 300 * (i % 4), seed=i) for i in range(12)]
    opened = [segments.begin() for _ in documents]
    lines = [quads.splitlines(keepends=True) for quads in documents]
    for position in range(max(map(len, lines))):
        for handle, of_document in zip(opened, lines, strict=True):
            segments.write(handle, b"".join(of_document[position : position + 1]))
    for handle in opened:
        segments.end(handle)
    await segments.close()
    content = gunzip(tmp_path)
    assert all(quads in content for quads in documents)
    assert len(content) == sum(map(len, documents))


async def test_large_document_streams_into_its_own_segment(tmp_path: Path) -> None:
    """If a document outgrows `spill_bytes`, then it is one member of its own file."""
    segments = QuadSegments(tmp_path, "w", SMALL)
    segments.write_document(document(1))
    await segments.flush()
    large = segments.begin()
    segments.write(large, document(2, 1500, seed=2))
    segments.write(large, document(2, 1500, seed=3))
    spilled = tmp_path / "w-00001.nq.gz"
    assert spilled.stat().st_size > 100_000
    assert gunzip_of_whole_members(spilled) == 0
    segments.end(large)
    await segments.flush()
    assert gunzip_of_whole_members(spilled) == 2  # the document and the seal
    await segments.close()
    with gzip.open(spilled) as file:
        assert file.read() == document(2, 1500, seed=2) + document(2, 1500, seed=3)


def gunzip_of_whole_members(path: Path) -> int:
    """Return how many members a segment has by its headers."""
    with path.open("rb") as file:
        return sum(1 for _ in iter_members(file.fileno(), path.stat().st_size))


@pytest.mark.parametrize("n_quads", [2, 700, 3000], ids=["small", "packed", "spilled"])
async def test_abandoned_document_leaves_nothing(tmp_path: Path, n_quads: int) -> None:
    """If a document is abandoned, then nothing of it stays and the rest does."""
    segments = QuadSegments(tmp_path, "w", SegmentLimits(spill_bytes=400_000))
    segments.write_document(document(1))
    handle = segments.begin()
    segments.write(handle, document(2, n_quads, seed=2))
    segments.write(handle, document(2, 1))
    segments.abandon(handle)
    segments.write_document(document(3))
    await segments.close()
    assert gunzip(tmp_path) == document(1) + document(3)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("n_quads", [2, 700, 3000], ids=["small", "packed", "spilled"])
async def test_abandon_after_end_changes_nothing(tmp_path: Path, n_quads: int) -> None:
    """If a document has ended, then abandoning it has no effect."""
    segments = QuadSegments(tmp_path, "w", SegmentLimits(spill_bytes=400_000))
    handle = segments.begin()
    segments.write(handle, document(2, n_quads, seed=2))
    segments.end(handle)
    segments.abandon(handle)
    await segments.close()
    assert gunzip(tmp_path) == document(2, n_quads, seed=2)


async def test_open_document_at_close_leaves_nothing(tmp_path: Path) -> None:
    """If a document is still open at close, then its segment is removed."""
    segments = QuadSegments(tmp_path, "w", SMALL)
    segments.write(segments.begin(), document(1, 3000, seed=1))
    assert len(list_segments(tmp_path)) == 1
    await segments.close()
    assert list_segments(tmp_path) == []


async def test_segments_rotate_by_size_and_are_sealed(tmp_path: Path) -> None:
    """If a segment reaches its size, then the next begins and each ends in a seal."""
    segments = QuadSegments(tmp_path, "w", SMALL)
    documents = [document(i, 5, seed=i) for i in range(200)]
    for quads in documents:
        segments.write_document(quads)
    await segments.flush(sync=False)
    await segments.close()
    paths = list_segments(tmp_path)
    assert [path.name for path in paths[:2]] == ["w-00000.nq.gz", "w-00001.nq.gz"]
    assert len(paths) > 3
    assert all(path.read_bytes().endswith(SEAL) for path in paths)
    assert all(path.stat().st_size < 20_000 + 4_000 for path in paths)
    assert gunzip(tmp_path) == b"".join(documents)


async def test_next_run_goes_on_with_the_next_number(tmp_path: Path) -> None:
    """If a worker starts again, then it adds segments and leaves the old ones."""
    for run in range(3):
        segments = QuadSegments(tmp_path, "w-00007", SMALL)
        segments.write_document(document(run))
        await segments.close()
    names = [path.name for path in list_segments(tmp_path)]
    assert names == [f"w-00007-{run:05}.nq.gz" for run in range(3)]
    assert gunzip(tmp_path) == b"".join(document(run) for run in range(3))


async def test_segments_are_listed_by_number_not_by_name(tmp_path: Path) -> None:
    """If numbers outgrow their five digits, then the order of writing is kept."""
    for name in ("w-100000.nq.gz", "w-99999.nq.gz", "v-00001.nq.gz", "notes.txt"):
        (tmp_path / name).touch()
    names = [path.name for path in list_segments(tmp_path)]
    assert names == ["v-00001.nq.gz", "w-99999.nq.gz", "w-100000.nq.gz"]
    assert len(list_segments(tmp_path, worker="w")) == 2


@pytest.mark.parametrize("worker", ["", "a/b", "..", ".w", "a b", "ä", "w" * 101])
def test_worker_name_that_is_no_file_name_is_refused(
    tmp_path: Path, worker: str
) -> None:
    """If the worker's name cannot be part of a file name, then the operator hears."""
    with pytest.raises(ConfigError, match="worker name"):
        QuadSegments(tmp_path, worker)


async def test_flushes_at_once_all_cover_their_documents(tmp_path: Path) -> None:
    """If many visits flush at once, then each finds its documents in the file."""
    segments = QuadSegments(tmp_path, "w", SMALL)

    async def visit(number: int) -> None:
        segments.write_document(document(number, 5, seed=number))
        await segments.flush()
        assert document(number, 5, seed=number) in b"".join(iter_quads(tmp_path))

    await asyncio.gather(*map(visit, range(50)))
    await segments.close()
    assert len(gunzip(tmp_path)) == sum(len(document(i, 5, seed=i)) for i in range(50))


async def test_cancelled_flush_harms_no_later_one(tmp_path: Path) -> None:
    """If a flush is cancelled half-way, then the next one still covers all."""
    segments = QuadSegments(tmp_path, "w", SMALL)
    for number in range(50):
        segments.write_document(document(number, 5, seed=number))
    flush = asyncio.create_task(segments.flush())
    await asyncio.sleep(0)
    flush.cancel()
    with pytest.raises(asyncio.CancelledError):
        await flush
    await segments.close()
    assert len(gunzip(tmp_path)) == sum(len(document(i, 5, seed=i)) for i in range(50))


async def test_line_longer_than_a_block_comes_back_whole(tmp_path: Path) -> None:
    """If a literal is longer than a block of the reader, then its line is not cut."""
    segments = QuadSegments(tmp_path, "w")
    line = (
        b'<urn:a> <urn:b> "%s" .\n' % random.Random(1).randbytes(400_000).hex().encode()
    )
    segments.write_document(line)
    segments.write_document(b"# the end, without a line feed")
    await segments.close()
    blocks = list(iter_quads(tmp_path))
    assert blocks[0] == line
    assert b"".join(blocks[1:]) == b"# the end, without a line feed"


class Piece(bytes):
    """Bytes that count how many are copied as they are added to others."""

    n_copied = 0

    def __radd__(self, other: bytes) -> bytes:
        """Return both, counted."""
        Piece.n_copied += len(other) + len(self)
        return bytes(other) + bytes(self)


@pytest.mark.parametrize(
    "lines_of",
    [
        iter_lines,
        lambda pieces: iter_line_blocks(
            lambda _: next(pieces, b""), max_line_bytes=10**9, log=FaultLog()
        ),
    ],
    ids=["segments", "documents"],
)
def test_line_of_many_pieces_costs_no_more_than_its_length(
    lines_of: Callable[[Iterator[bytes]], Iterator[bytes]],
) -> None:
    """If a line comes in many pieces, then earlier ones are not copied."""
    pieces = [b"x\ny", *[b"y" * 100] * 1000, b"y\nz", b"\n", b"end"]
    Piece.n_copied = 0
    found = list(lines_of(Piece(piece) for piece in pieces))
    assert b"".join(found) == b"".join(pieces)
    assert all(lines.endswith(b"\n") for lines in found[:-1])
    assert Piece.n_copied <= 2 * len(b"".join(pieces))


def test_segment_never_takes_a_file_that_is_there(tmp_path: Path) -> None:
    """If a name is taken, then the file behind it stays as it is."""
    path = tmp_path / "w-00000.nq.gz"
    path.write_bytes(b"mine")
    assert SegmentFile.create(path) is None
    assert path.read_bytes() == b"mine"


@pytest.fixture
def full_disk() -> Iterator[None]:
    """Let no file of this process grow beyond 30,000 bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("full_disk")
async def test_full_disk_loses_nothing_and_tears_nothing(tmp_path: Path) -> None:
    """If a write fails half-way, then the file stays valid, and the data are kept."""
    segments = QuadSegments(tmp_path, "w")
    segments.write_document(document(1, 40, seed=1))
    await segments.flush()
    segments.write_document(document(2, 400, seed=2))
    with pytest.raises(StoreFault, match="too large"):
        await segments.flush()
    assert gunzip(tmp_path) == document(1, 40, seed=1)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    await segments.close()
    assert gunzip(tmp_path) == document(1, 40, seed=1) + document(2, 400, seed=2)


@pytest.mark.usefixtures("full_disk")
async def test_full_disk_refuses_a_large_document(tmp_path: Path) -> None:
    """If a large document does not fit on the disk, then it can be abandoned."""
    segments = QuadSegments(tmp_path, "w", SMALL)
    handle = segments.begin()
    with pytest.raises(StoreFault, match="too large"):
        segments.write(handle, document(1, 1000, seed=1))
    segments.abandon(handle)
    segments.write_document(document(2))
    await segments.close()
    assert gunzip(tmp_path) == document(2)


async def test_a_file_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    """If the next file cannot be created, then the fault has its path."""
    segments = QuadSegments(tmp_path / "gone", "w")
    (tmp_path / "gone").rmdir()
    segments.write_document(document(1))
    with pytest.raises(StoreFault, match=re.escape(f"{tmp_path}/gone/w-00000")):
        await segments.flush()


async def test_failed_sync_is_never_forgotten(tmp_path: Path) -> None:
    """If `fdatasync` fails once, then no later flush claims that all is on disk."""
    segments = QuadSegments(tmp_path, "w")
    segments.write_document(document(1))
    await segments.flush(sync=False)
    assert segments._current is not None
    broken, segments._current._fd = segments._current._fd, os.pipe()[1]
    with pytest.raises(StoreFault):
        await segments.flush()
    segments._current._fd = broken
    segments.write_document(document(2))
    for _ in range(2):
        with pytest.raises(StoreFault):
            await segments.flush()
    with pytest.raises(StoreFault):
        await segments.close()
    assert gunzip(tmp_path) == document(1)
