"""A compacted log has the same content, also while it is read or written."""

from __future__ import annotations

import asyncio
import os
import random
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy.settings import Settings

from rdfcrawl.core.errors import ConfigError, StoreFault
from rdfcrawl.stores.followers.following import LogFollowing
from rdfcrawl.stores.followers.oxigraph import OxigraphFollower
from rdfcrawl.stores.log import compaction, crawl_log
from rdfcrawl.stores.log.compaction import BackgroundCompaction, compact
from rdfcrawl.stores.log.crawl_log import (
    CrawlLog,
    find_latest,
    iter_latest,
    iter_latest_documents,
)
from rdfcrawl.stores.nquads import NQuadsStore
from rdfcrawl.stores.options import StoreOptions
from rdfcrawl.stores.reading import COMPACTION, iter_quads, locked_alone, reading
from rdfcrawl.stores.segment_file import PREFIX, list_segments
from rdfcrawl.stores.segments import SegmentLimits
from tests.support.examples import few
from tests.support.written_logs import RawVersion, Written, put, said_in, write_log

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

A, B, C = "http://e/a", "http://e/b", "http://e/c"

documents = st.builds(
    Written,
    st.sampled_from((A, B, C)),
    st.integers(1, 5),
    st.lists(st.tuples(st.sampled_from((A, B, C)), st.sampled_from("xyz")), max_size=2),
)


def meaning(root: Path) -> dict[str, tuple[int, bytes]]:
    """Return the latest version of each document of a log."""
    return {
        each.graph: (each.version_ms, b"".join(each.pieces()))
        for each in iter_latest_documents(CrawlLog(root))
    }


def write_together(root: Path, written: Sequence[Written], worker: str) -> None:
    """Write documents to a log, all of them in one member."""

    async def write() -> None:
        store = NQuadsStore(root / "quads", worker)
        await store.open()
        for each in written:
            if each.quads:
                await put(store, each.graph, each.version_ms, each.quads)
            else:
                await (await store.begin(each.graph, each.version_ms)).end()
        await store.close()

    asyncio.run(write())


def follow(root: Path, follower: OxigraphFollower) -> set[tuple[str, str]]:
    """Follow a log to its end; return the content of the store."""
    following = LogFollowing(CrawlLog(root), follower, patience_secs=0)
    try:
        following.open()
        following.catch_up()
        return said_in(follower.store)
    finally:
        follower.close()


@settings(max_examples=few(5))
@given(
    segments=st.lists(
        st.tuples(st.lists(documents, max_size=5), st.booleans()), max_size=4
    ),
    later=st.lists(documents, max_size=4),
    n_read=st.integers(0, 4),
)
def test_meaning_stays_and_followers_at_any_checkpoint_end_equal(
    segments: list[tuple[list[Written], bool]], later: list[Written], n_read: int
) -> None:
    """If a log is compacted, its latest versions and all stores that follow stay."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        write_log(root, [], "empty")
        early = OxigraphFollower(root / "early")
        for number, (written, is_together) in enumerate(segments):
            if number == n_read:
                follow(root, early)
            write = write_together if is_together else write_log
            write(root, written, f"w{number}")
        before = meaning(root)
        report = compact(CrawlLog(root))
        assert meaning(root) == before
        n_written = sum(len(written) for written, _ in segments)
        assert report.n_dropped == n_written - len(before)
        assert compact(CrawlLog(root)).n_written == 0
        said = follow(root, OxigraphFollower(root / "late"))
        assert follow(root, early) == said
        # Workers go on, under names that are new to all.
        write_log(root, later, "w0")
        compact(CrawlLog(root))
        assert follow(root, early) == follow(root, OxigraphFollower(root / "last"))


def test_log_is_smaller_and_says_what_was_dropped(tmp_path: Path) -> None:
    """If versions are dropped, their statements are gone, and time and digest stay."""
    long = b"".join(b'<%s> <x:p> "%d" <%s> .\n' % (A.encode(), n, A.encode())
                    for n in range(90_000))  # fmt: skip
    written = [RawVersion(A, n, long) for n in range(1, 4)]
    write_log(tmp_path, [*written, Written(B, 1, [(B, "x")]), Written(C, 1)])
    write_log(tmp_path, [Written(B, 2), Written(C, 1)], "x")
    n_before = sum(path.stat().st_size for path in list_segments(tmp_path / "quads"))
    report = compact(CrawlLog(tmp_path))
    assert (report.n_segments, report.n_written, report.n_dropped) == (2, 1, 4)
    paths = list((tmp_path / "quads").glob("*.nq.gz"))
    assert {path.name for path in paths} == {"x-00000.nq.gz", "w-00000.1.nq.gz"}
    n_after = sum(path.stat().st_size for path in paths)
    assert n_after < n_before / 2
    assert n_before - n_after == report.n_bytes_before - report.n_bytes_after
    (batch,) = CrawlLog(tmp_path).read(CrawlLog(tmp_path).begin())
    assert [(x.graph, x.version_ms, x.n_bytes > 0) for x in batch.dropped] == [
        (A, 1, True), (A, 2, True), (B, 1, True), (C, 1, False)
    ]  # fmt: skip
    # Tombstones stay: another log may have an earlier version.
    assert {each.graph for each in batch.documents if each.is_tombstone} == {B, C}
    quads = b"".join(iter_quads(tmp_path / "quads"))
    assert sum(1 for line in quads.splitlines() if not line.startswith(b"#")) == 90_000
    # The segment that a worker would continue with keeps its number.
    write_log(tmp_path, [Written(A, 4)])
    write_log(tmp_path, [Written(B, 4)], "x")
    compact(CrawlLog(tmp_path))
    names = {path.name for path in (tmp_path / "quads").glob("*.nq.gz")}
    assert names == {
        *("w-00000.2.nq.gz", "w-00001.nq.gz"),
        *("x-00000.1.nq.gz", "x-00001.nq.gz"),
    }
    assert meaning(tmp_path) == {A: (4, b""), B: (4, b""), C: (1, b"")}


def test_small_documents_of_a_member_stay_packed_together(tmp_path: Path) -> None:
    """If one of many small documents is dropped, then only a line about it is added."""
    names = [f"http://e/{n}" for n in range(20)]
    write_together(tmp_path, [Written(each, 1, [(A, "x")]) for each in names], "w")
    write_log(tmp_path, [Written(names[0], 2)], "x")
    report = compact(CrawlLog(tmp_path))
    assert report.n_dropped == 1
    assert report.n_bytes_after < report.n_bytes_before + 150


@pytest.mark.parametrize("step", [19, pytest.param(1, marks=pytest.mark.soak)])
def test_killed_at_any_line_the_log_means_the_same(step: int, tmp_path: Path) -> None:
    """If a compaction is killed anywhere, nothing is lost, and the next one ends."""
    n_lines = 0
    while True:
        n_lines += step
        root = tmp_path / str(n_lines)
        write_together(
            root, [Written(A, 1, [(A, "x")]), Written(B, 1, [(B, "x")])], "v"
        )
        write_together(
            root, [Written(A, 2, [(A, "y")]), Written(A, 1, [(A, "x")])], "w"
        )
        before = meaning(root)
        is_killed = _killed_after(root, n_lines)
        assert meaning(root) == before
        report = compact(CrawlLog(root))
        assert meaning(root) == before
        names = {path.name for path in (root / "quads").glob("[!.]*.nq.gz")}
        assert names == {"v-00000.1.nq.gz", "w-00000.1.nq.gz"}
        assert list((root / "quads").glob(".*.draft")) == []
        if not is_killed:
            assert report.n_written == 0
            break
    assert n_lines > 200


def _killed_after(root: Path, n_lines: int) -> bool:
    """Compact in a process that dies after some lines of it; return whether it did."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    left = n_lines

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename != compaction.__file__:
            return None
        left -= event == "line"
        if left <= 0:
            os._exit(9)
        return trace

    code = 1
    try:
        sys.settrace(trace)
        compact(CrawlLog(root), patience_secs=0)
        code = 0
    finally:
        os._exit(code)


def test_reader_in_the_middle_keeps_the_old_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a log is read while it is compacted, then its old segments stay until then."""
    monkeypatch.setattr(crawl_log, "BATCH_DOCUMENTS", 1)
    long = b'<x:s> <x:p> "%s" <x:g> .\n' % (b"x" * 100_000)
    lines = b"".join(long.replace(b"x:s", b"x:%d" % n) for n in range(12))
    write_log(
        tmp_path, [RawVersion(A, 1, lines), Written(B, 1), RawVersion(C, 1, lines)]
    )
    write_log(tmp_path, [RawVersion(A, 2, lines), RawVersion(C, 2, lines)], "x")
    log = CrawlLog(tmp_path)
    before = meaning(tmp_path)
    batches = log.read(log.begin())
    first = next(batches)
    latest = iter_latest_documents(CrawlLog(tmp_path))
    found = [next(latest)]
    report = compact(CrawlLog(tmp_path), patience_secs=0)
    assert (report.n_written, report.n_read) == (1, 1)
    documents = [*first.documents, *(x for batch in batches for x in batch.documents)]
    assert [(x.graph, x.version_ms) for x in documents] == [
        (A, 1), (B, 1), (C, 1), (A, 2), (C, 2)
    ]  # fmt: skip
    found += latest
    assert {x.graph: (x.version_ms, b"".join(x.pieces())) for x in found} == before
    assert len(list((tmp_path / "quads").glob("w-*"))) == 2
    assert compact(CrawlLog(tmp_path)).n_read == 0
    assert len(list((tmp_path / "quads").glob("w-*"))) == 1
    assert meaning(tmp_path) == before


def test_crawl_goes_on_while_its_log_is_compacted(tmp_path: Path) -> None:
    """If workers write while others compact and follow, all end with the latest."""
    root, chance = tmp_path, random.Random(2)
    written = [
        [
            Written(graph := f"http://e/{chance.randrange(40)}", n, [(graph, str(n))])
            for n in range(start, 600, 2)
        ]
        for start in range(2)
    ]
    is_over = threading.Event()
    write_log(root, [], "first")

    async def write(name: str, versions: list[Written]) -> None:
        limits = SegmentLimits(rotate_bytes=2000, member_bytes=400)
        store = NQuadsStore(root / "quads", name, limits)
        await store.open()
        for number, each in enumerate(versions):
            await put(store, each.graph, each.version_ms, each.quads)
            if number % 20 == 0:
                await store.flush()
                await asyncio.sleep(0.01)
        await store.close()

    def work() -> None:
        async def both() -> None:
            await asyncio.gather(*(write(f"w{n}", v) for n, v in enumerate(written)))

        try:
            asyncio.run(both())
        finally:
            is_over.set()

    thread = threading.Thread(target=work)
    thread.start()
    n_dropped = 0
    follower = OxigraphFollower(root / "store")
    while not is_over.is_set():
        n_dropped += compact(CrawlLog(root), patience_secs=0).n_dropped
        follow(root, follower)
    thread.join()
    n_dropped += compact(CrawlLog(root)).n_dropped
    expected: dict[str, Written] = {}
    for each in sorted((*written[0], *written[1]), key=lambda x: x.version_ms):
        expected[each.graph] = each
    assert {x.graph: x.quads for x in iter_latest(root / "quads")} == {
        graph: each.quads for graph, each in expected.items()
    }
    assert follow(root, follower) == {x.said[0] for x in expected.values()}
    assert n_dropped == 600 - len(expected)


def test_only_segments_with_enough_to_drop_are_written_anew(tmp_path: Path) -> None:
    """If a share is given, then segments that would lose less stay as they are."""
    write_log(tmp_path, [Written(g, 1, [(g, "x")]) for g in (A, B, C)], "one")
    write_log(tmp_path, [Written(A, 2, [(A, "x")])], "two")
    assert compact(CrawlLog(tmp_path), least_share=0.5).n_written == 0
    write_log(tmp_path, [Written(B, 2, [(B, "x")])], "three")
    assert compact(CrawlLog(tmp_path), least_share=0.5).n_written == 1


def test_damaged_segment_is_left_alone(tmp_path: Path) -> None:
    """If a segment is damaged, then its bytes stay."""
    write_log(tmp_path, [Written(A, 1, [(A, "x")]), Written(B, 1, [(B, "x")])], "one")
    write_log(tmp_path, [Written(A, 2), Written(B, 2)], "two")
    path = tmp_path / "quads" / "one-00000.nq.gz"
    content = bytearray(path.read_bytes())
    content[40] ^= 1
    path.write_bytes(content)
    report = compact(CrawlLog(tmp_path))
    assert (report.n_segments, report.n_written) == (2, 0)
    assert path.read_bytes() == bytes(content)


def test_two_compactions_do_not_meet(tmp_path: Path) -> None:
    """If a log is being compacted, then a second command says so in one line."""
    write_log(tmp_path, [Written(A, 1)])
    directory_fd = os.open(tmp_path / "quads", os.O_RDONLY)

    with (
        locked_alone(directory_fd, COMPACTION),
        pytest.raises(ConfigError, match="another compaction"),
    ):
        compact(CrawlLog(tmp_path))
    os.close(directory_fd)


def test_two_compactions_without_locks_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If two machines do not see each other's locks, then neither harms the other."""
    write_log(tmp_path, [Written(A, 1, [(A, "x")]), Written(B, 1, [(B, "x")])], "one")
    write_log(tmp_path, [Written(A, 2, [(A, "y")])], "two")
    before = meaning(tmp_path)
    is_over = threading.Event()
    are_writing = threading.Event(), threading.Event()
    iter_kept, threads = compaction._iter_kept, list[str]()

    def iter_kept_late(*args: Any) -> Iterator[bytes]:
        number = threads.index(threading.current_thread().name)
        are_writing[number].set()
        (is_over if number else are_writing[1]).wait(60)
        yield from iter_kept(*args)

    def run() -> None:
        threads.append(threading.current_thread().name)
        compact(CrawlLog(tmp_path), patience_secs=0)

    monkeypatch.setattr("fcntl.flock", lambda *_: None)
    monkeypatch.setattr(compaction, "_iter_kept", iter_kept_late)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(run)
        assert are_writing[0].wait(60)
        second = pool.submit(run)
        with pytest.raises(StoreFault, match="No such file"):
            first.result(60)
        is_over.set()
        second.result(60)
    assert meaning(tmp_path) == before


def test_log_is_compacted_in_the_background(tmp_path: Path) -> None:
    """If a setting says so, then a process compacts the log until the crawl ends."""
    write_log(tmp_path, [Written(A, 1, [(A, "x")])], "one")
    write_log(tmp_path, [Written(A, 2, [(A, "y")])], "two")
    (tmp_path / "quads" / "gone-00000.nq.gz").symlink_to("nowhere")  # as if removed
    background = BackgroundCompaction.begin(tmp_path, 0.1)
    while not (tmp_path / "quads" / "one-00000.1.nq.gz").exists():
        time.sleep(0.05)
    background.finish()
    assert meaning(tmp_path) == {A: (2, Written(A, 2, [(A, "y")]).quads)}
    log = (tmp_path / "logs" / "compaction.log").read_text()
    assert "n_dropped=1" in log
    BackgroundCompaction.begin(tmp_path, 0).finish()
    with pytest.raises(ConfigError, match="COMPACTION_SECS=-1"):
        StoreOptions.from_settings(Settings({"COMPACTION_SECS": -1}))


def test_full_disk_leaves_the_log_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the disk takes no draft, then a fault says so, and nothing is left of it."""
    write_log(tmp_path, [Written(A, 1, [(A, "x")]), Written(A, 2)])

    def fsync(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(StoreFault, match="No space left"):
        compact(CrawlLog(tmp_path))
    names = {path.name for path in (tmp_path / "quads").iterdir()}
    locks = {"readers.lock", "compaction.lock"}
    assert names - locks == {"log.json", "w-00000.nq.gz"}


def test_folder_that_cannot_be_written_to_is_read(tmp_path: Path) -> None:
    """If there is no lock to be had, then a log is read all the same."""
    with reading(tmp_path / "nowhere"):
        assert not (tmp_path / "nowhere").exists()


def test_compaction_does_not_hold_the_end_of_a_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a compaction takes long when a crawl ends, then it is given up."""
    monkeypatch.setattr(compaction, "_PATIENCE_SECS", 0.1)
    write_log(tmp_path, [Written(A, 1)])
    os.mkfifo(tmp_path / "quads" / "slow-00000.nq.gz")  # it is never written to
    background = BackgroundCompaction.begin(tmp_path, 0.1)
    while not (tmp_path / "quads" / "compaction.lock").exists():
        time.sleep(0.05)
    thread = threading.Thread(target=background.finish, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()


def test_segment_that_breaks_while_it_is_copied_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a header goes wrong between both readings, then nothing is replaced."""
    write_log(tmp_path, [Written(g, 1, [(g, "x")]) for g in (A, B, C)], "one")
    write_log(tmp_path, [Written(A, 2)], "two")
    path = tmp_path / "quads" / "one-00000.nq.gz"

    def find_and_break(*given: Any, **options: Any) -> Any:
        found = find_latest(*given, **options)
        content = path.read_bytes()
        at = content.index(PREFIX, 1)
        path.write_bytes(content[:at] + b"!" + content[at + 1 :])
        return found

    monkeypatch.setattr(compaction, "find_latest", find_and_break)
    with pytest.raises(StoreFault, match="damaged"):
        compact(CrawlLog(tmp_path))
    assert [each.name for each in path.parent.glob("one-*")] == [path.name]
