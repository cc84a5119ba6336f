"""The log is read from any checkpoint, while it grows, and with any tail."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.content import QuadChunk
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.stores.log import crawl_log
from rdfcrawl.stores.log.crawl_log import CrawlLog
from rdfcrawl.stores.nquads import NQuadsStore, recover
from rdfcrawl.stores.segment_file import SEAL, iter_members
from rdfcrawl.stores.segments import SegmentLimits
from tests.support.written_logs import RawVersion, Written, put, write_log

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.stores.log.documents import Checkpoint

A, B = "http://e/a", "http://e/b"


def read(
    root: Path, after: Checkpoint | None = None
) -> tuple[list[tuple[str, int, bytes]], Checkpoint]:
    """Return the documents behind a checkpoint, and the next checkpoint."""
    log = CrawlLog(root)
    checkpoint = after or log.begin()
    found = []
    for batch in log.read(checkpoint):
        found += [
            (each.graph, each.version_ms, b"".join(each.pieces()))
            for each in batch.documents
        ]
        checkpoint = batch.checkpoint
    return found, checkpoint


def test_each_checkpoint_goes_on_where_it_was_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If reading goes on behind any batch, then nothing is missing or comes twice."""
    monkeypatch.setattr(crawl_log, "BATCH_DOCUMENTS", 2)
    written = [Written(f"http://e/{n}", n, [(A, str(n))]) for n in range(5)]
    write_log(tmp_path, written, "one")
    write_log(tmp_path, [Written(A, 9), *written[:2]], "two")
    everything, _ = read(tmp_path)
    assert len(everything) == 8
    n_read = 0
    log = CrawlLog(tmp_path)
    for batch in log.read(log.begin()):
        n_read += len(batch.documents)
        assert read(tmp_path, batch.checkpoint)[0] == everything[n_read:]


def test_what_comes_later_is_read_from_the_checkpoint_on(tmp_path: Path) -> None:
    """If the same segment grows, and others come, then just these are read."""

    async def grow() -> None:
        store = NQuadsStore(tmp_path / "quads", "w")
        await store.open()
        await put(store, A, 1, Written(A, 1, [(A, "x")]).quads)
        await store.flush()
        first, checkpoint = read(tmp_path)
        assert [graph for graph, _, _ in first] == [A]
        await put(store, B, 2, Written(B, 2, [(B, "x")]).quads)
        await store.flush()
        then, checkpoint = read(tmp_path, checkpoint)
        assert [graph for graph, _, _ in then] == [B]
        assert read(tmp_path, checkpoint) == ([], checkpoint)
        await store.close()
        assert read(tmp_path, checkpoint)[0] == []

    asyncio.run(grow())


def test_torn_tail_is_left_and_read_once_it_is_whole(tmp_path: Path) -> None:
    """If the last member is cut anywhere, then all before it is read, and no more."""
    write_log(tmp_path, [Written(g, 1, [(g, "x" * 50)]) for g in (A, B)])
    (path,) = (tmp_path / "quads").glob("*.nq.gz")
    whole = path.read_bytes()
    for n_bytes in range(0, len(whole), 7):
        path.write_bytes(whole[:n_bytes])
        found, checkpoint = read(tmp_path)
        path.write_bytes(whole)
        rest, _ = read(tmp_path, checkpoint)
        assert [graph for graph, _, _ in found + rest] == [A, B]


def test_zeros_that_a_power_loss_left_are_no_documents(tmp_path: Path) -> None:
    """If a page of the last member was never written, then that member is not read."""
    write_log(tmp_path, [Written(g, 1, [(g, "x" * 50)]) for g in (A, B)])
    (path,) = (tmp_path / "quads").glob("*.nq.gz")
    content = bytearray(path.read_bytes())
    content[-60:] = bytes(60)
    path.write_bytes(content)
    found, checkpoint = read(tmp_path)
    assert [graph for graph, _, _ in found] == [A]
    recover(tmp_path / "quads")
    assert read(tmp_path, checkpoint)[0] == []


@pytest.mark.parametrize("width", [1, 60])
def test_damage_in_a_finished_segment_costs_its_documents_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, width: int
) -> None:
    """If bytes of a segment change anywhere, the members they are in are named once."""
    graphs = [f"http://e/{n}" for n in range(6)]
    write_log(tmp_path, [Written(g, 1, [(g, "x" * 30)]) for g in graphs])
    (path,) = (tmp_path / "quads").glob("*.nq.gz")
    whole = path.read_bytes()
    with path.open("rb") as file:
        members = list(iter_members(file.fileno(), len(whole)))
    for at in range(0, len(whole) - len(SEAL) - width, 11):
        content = bytearray(whole)
        content[at : at + width] = bytes(255 - byte for byte in whole[at : at + width])
        path.write_bytes(content)
        hit = [
            n
            for n, member in enumerate(members)
            if member.offset < at + width and at < member.offset + member.n_bytes
        ]
        caplog.clear()
        log = CrawlLog(tmp_path)
        for _ in range(2):
            (batch,) = log.read(log.begin())
            found = [document.graph for document in batch.documents]
            assert found == [g for n, g in enumerate(graphs) if n not in hit], at
        (damage,) = log.damages
        n_lost = sum(members[n].n_bytes for n in hit)
        assert (damage.offset, damage.n_bytes) == (members[hit[0]].offset, n_lost)
        assert len(caplog.records) == 1
        assert str(damage) in caplog.text
        assert list(log.read(batch.checkpoint)) == []


def test_document_that_is_still_written_is_not_read(tmp_path: Path) -> None:
    """If a dump streams into a separate segment, then only its end makes it valid."""

    async def stream() -> None:
        limits = SegmentLimits(spill_bytes=1024)
        store = NQuadsStore(tmp_path / "quads", "w", limits)
        await store.open()
        document = await store.begin(A, 1)
        for n in range(20):
            lines = (
                f'<{A}> <{B}> "{os.urandom(40).hex()}" <{A}> .\n' for _ in range(2000)
            )
            await document.write(QuadChunk("".join(lines).encode()))
            assert read(tmp_path)[0] == [], n
        await document.end()
        ((graph, _, quads),), _ = read(tmp_path)
        assert graph == A
        assert quads.count(b"\n") == 40_000
        await store.close()

    asyncio.run(stream())


def test_long_document_is_not_held(tmp_path: Path) -> None:
    """If a document is longer than 1 MiB, then its statements are read when needed."""
    long = "".join(f'<{A}> <{B}> "{n:0500}" <{A}> .\n' for n in range(4000)).encode()
    write_log(tmp_path, [RawVersion(A, 1, long), Written(B, 1, [(B, "x")])])
    log = CrawlLog(tmp_path)
    (batch,) = log.read(log.begin())
    first, second = batch.documents
    assert first.quads is None
    assert first.n_bytes == len(long)
    assert b"".join(first.pieces()) == long
    assert b"".join(first.pieces()) == long
    assert max(map(len, first.pieces())) < 300_000
    assert second.quads is not None


def test_log_of_a_later_version_is_refused(tmp_path: Path) -> None:
    """If a later rdfcrawl has written a log, then one line says so."""
    write_log(tmp_path, [Written(A, 1)])
    path = tmp_path / "quads" / "log.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))
    with pytest.raises(ConfigError, match=r"log\.json: the log has format 99"):
        CrawlLog(tmp_path)
    with pytest.raises(ConfigError, match="format 99"):
        write_log(tmp_path, [])


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "1"}', "\0"])
def test_damaged_identity_is_refused(tmp_path: Path, text: str) -> None:
    """If the file that names a log is damaged, then one line says which."""
    (tmp_path / "quads").mkdir()
    (tmp_path / "quads" / "log.json").write_text(text)
    with pytest.raises(ConfigError, match=r"log\.json"):
        CrawlLog(tmp_path)


def test_crawl_begun_anew_is_the_next_generation(tmp_path: Path) -> None:
    """If the segments were moved aside, then checkpoints of before mean the start."""
    write_log(tmp_path, [Written(A, 1)])
    _, checkpoint = read(tmp_path)
    (tmp_path / "before-1").mkdir()
    (tmp_path / "quads").rename(tmp_path / "before-1" / "quads")
    write_log(tmp_path, [Written(B, 2)])
    found, after = read(tmp_path, checkpoint)
    assert found == [(B, 2, b"")]
    assert (after.log, after.generation) == (checkpoint.log, 2)
