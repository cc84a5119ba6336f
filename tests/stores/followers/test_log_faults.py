"""A log that cannot be read for a while, and tables of followers that are damaged."""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import ConfigError, StoreFault, UnusableStore
from rdfcrawl.stores.crawl_folder import ensure_identity
from rdfcrawl.stores.followers import following as following_module
from rdfcrawl.stores.followers.following import LogFollowing
from rdfcrawl.stores.followers.local_disk import DocumentsFile
from rdfcrawl.stores.followers.log_comparison import compare
from rdfcrawl.stores.followers.oxigraph import OxigraphFollower
from rdfcrawl.stores.followers.parquet import ParquetFollower
from rdfcrawl.stores.log.crawl_log import CrawlLog
from rdfcrawl.stores.log.documents import Checkpoint
from rdfcrawl.stores.nquads import NQuadsStore
from rdfcrawl.stores.shapes.follower import ShapesFollower
from tests.support.written_logs import RawVersion, Written, said_in, write_log

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rdfcrawl.stores.followers.protocol import Follower
    from rdfcrawl.stores.log.documents import LogDocument

A, B = "http://e/a", "http://e/b"
N_DOCUMENTS = 3000


def test_log_that_cannot_be_read_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a segment cannot be read, that is reported, and retried until it can be."""
    monkeypatch.setattr(following_module, "_FIRST_WAIT_SECS", 0.01)
    write_log(tmp_path, [Written(A, 1, [(A, "x")])])
    bad = tmp_path / "quads" / "z-00000.nq.gz"
    bad.mkdir()
    told = []

    def report(state: str, detail: str) -> None:
        told.append((state, detail))
        if len(told) == 3:
            bad.rmdir()

    follower = OxigraphFollower(tmp_path / "store")
    following = LogFollowing(
        CrawlLog(tmp_path), follower, is_over=lambda: False, report=report
    )
    following.open()
    assert following.catch_up() == 1
    assert said_in(follower.store) == {(A, "x")}
    follower.close()
    unreadable = f"the log cannot be read: {bad}: Is a directory"
    assert told[0] == ("following", "")
    assert told[1:3] == [("unusable", unreadable)] * 2
    assert told[-1] == ("following", "")
    # By hand, the first failure is reported.
    bad.mkdir()
    following = LogFollowing(CrawlLog(tmp_path), follower, ends_if_unusable=True)
    following.open()
    with pytest.raises(UnusableStore, match=unreadable):
        following.catch_up()
    follower.close()


class SlowFollower(OxigraphFollower):
    """A follower before whose first batch something happens."""

    event: Callable[[], None] | None = None

    def apply(self, documents: Sequence[LogDocument]) -> None:
        """Replace documents."""
        event, self.event = self.event, None
        if event is not None:
            event()
        super().apply(documents)


def test_log_that_is_moved_aside_is_left_for_the_next(tmp_path: Path) -> None:
    """If `fresh=1` moves a long document that a store is to get, nothing hangs."""
    long = f'<{A}> <{A}> "{"x" * 700_000}" <{A}> .\n<{A}> <{A}> "y" <{A}> .\n'
    write_log(tmp_path, [RawVersion(A, 1, long.encode() * 2)])

    def move() -> None:
        (tmp_path / "before-1").mkdir()
        (tmp_path / "quads").rename(tmp_path / "before-1" / "quads")
        write_log(tmp_path, [Written(B, 2, [(B, "z")])])

    follower = SlowFollower(tmp_path / "store")
    follower.event = move
    following = LogFollowing(CrawlLog(tmp_path), follower, is_over=lambda: False)
    following.open()
    following.catch_up()
    assert said_in(follower.store) == {(B, "z")}
    follower.close()


def damage(path: Path) -> None:
    """Overwrite a database but for its first pages."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    content = path.read_bytes()
    kept = 24 * 4096
    path.write_bytes(content[:kept] + b"\xff" * (len(content) - kept))


def write_gone(root: Path, version_ms: int) -> None:
    """Append to a log that many documents are gone."""

    async def write() -> None:
        store = NQuadsStore(root / "quads", f"w{version_ms}")
        await store.open()
        for number in range(N_DOCUMENTS):
            await (await store.begin(f"http://e/{number}", version_ms)).end()
        await store.close()

    asyncio.run(write())


def follow(root: Path, follower: Follower) -> LogFollowing:
    """Follow a log to its end."""
    following = LogFollowing(CrawlLog(root), follower)
    try:
        following.open()
        following.catch_up()
    finally:
        follower.close()
    return following


def spoil(path: Path) -> None:
    """Write something else in place of a database."""
    path.write_bytes(b"no database" * 1000)


@pytest.mark.parametrize("harm", [damage, spoil])
def test_damaged_findings_are_made_anew(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    """If the table of findings is damaged, it is put aside, and all is judged again."""
    shapes, report = tmp_path / "shapes.ttl", tmp_path / "report"
    shapes.write_text("")
    write_gone(tmp_path, 1)
    follow(tmp_path, ShapesFollower(shapes, report))
    path = report / "findings.sqlite"
    harm(path)
    write_gone(tmp_path, 2)
    follow(tmp_path, ShapesFollower(shapes, report))
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT COUNT(*), MIN(version) FROM documents").fetchone()
    assert rows == (N_DOCUMENTS, 2)
    assert path.with_name("findings.sqlite.damaged").exists()


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        (OxigraphFollower, "store/rdfcrawl.sqlite"),
        (ParquetFollower, ".store.rdfcrawl/documents.sqlite"),
    ],
)
def test_damaged_table_of_a_store_is_told_with_what_to_do(
    tmp_path: Path, kind: Callable[[Path], Follower], place: str
) -> None:
    """If the table of a store is damaged within, one line says so, and what helps."""
    write_gone(tmp_path, 1)
    follow(tmp_path, kind(tmp_path / "store"))
    damage(tmp_path / place)
    write_gone(tmp_path, 2)
    with pytest.raises(StoreFault, match=r"store: .*delete it to fill the store again"):
        follow(tmp_path, kind(tmp_path / "store"))


def test_what_a_killed_comparison_has_left_is_removed(tmp_path: Path) -> None:
    """If a comparison was killed, the next one removes its folder, and no other."""
    write_log(tmp_path, [Written(A, 1, [(A, "x")])])
    follower = OxigraphFollower(tmp_path / "store")
    follow(tmp_path, follower)
    for name in ("verify-dead", "verify-live"):
        (tmp_path / name / "expected").mkdir(parents=True)
    fd = os.open(tmp_path / "verify-live", os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    log = CrawlLog(tmp_path)
    follower.open(log.identity)
    assert compare(log, follower, tmp_path).is_equal
    follower.close()
    os.close(fd)
    assert [path.name for path in tmp_path.glob("verify-*")] == ["verify-live"]


def test_checkpoint_costs_what_has_changed() -> None:
    """If a log has many segments, then a commit writes the offsets of few."""
    offsets = {f"quads/w-{n:05}.nq.gz": n for n in range(1000)}
    with closing(DocumentsFile(Path(":memory:"))) as file:
        file.put_checkpoint(Checkpoint("x", 1, offsets))
        file.put_checkpoint(Checkpoint("y", 1, offsets))
        n_before = file.db.total_changes
        del offsets["quads/w-00001.nq.gz"]
        offsets |= {"quads/w-00002.nq.gz": 7, "quads/w-00002.1.nq.gz": 8}
        checkpoint = Checkpoint("x", 2, offsets)
        file.put_checkpoint(checkpoint)
        assert file.db.total_changes - n_before < 10
        assert file.checkpoint("x") == checkpoint


def test_name_of_a_log_is_on_disk_before_its_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If power fails, then a log keeps its name: under another, stores are refilled."""
    synced, sync = [], os.fsync

    def sync_noted(fd: int) -> None:
        synced.append(Path(f"/proc/self/fd/{fd}").readlink())
        sync(fd)

    monkeypatch.setattr(os, "fsync", sync_noted)
    (tmp_path / "quads").mkdir()
    identity = ensure_identity(tmp_path / "quads")
    assert ensure_identity(tmp_path / "quads") == identity
    assert synced.count(tmp_path / "quads") == 1


def test_comparison_beside_a_crawl_begun_anew_is_refused(tmp_path: Path) -> None:
    """If `fresh=1` moves the log aside meanwhile, then no store is called wrong."""
    write_log(tmp_path, [Written(A, 1, [(A, "x")])])
    follower = OxigraphFollower(tmp_path / "store")
    follow(tmp_path, follower)
    log = CrawlLog(tmp_path)
    (tmp_path / "before-1").mkdir()
    (tmp_path / "quads").rename(tmp_path / "before-1" / "quads")
    write_log(tmp_path, [Written(B, 2, [(B, "y")])])
    follower.open(log.identity)
    with pytest.raises(ConfigError, match="was replaced while it was read"):
        compare(log, follower, tmp_path)
    follower.close()
