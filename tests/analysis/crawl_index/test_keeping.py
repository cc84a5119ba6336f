"""The index of a crawl equals its logs, even if its writer is killed."""

from __future__ import annotations

import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.analysis.crawl_index.building import IndexBuilder
from rdfcrawl.analysis.crawl_index.database import IndexReaders, index_path
from rdfcrawl.analysis.crawl_index.keeping import keep_index
from tests.support.written_logs import Written, write_log

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

    from rdfcrawl.analysis.crawl_index.members import LogMember

LENGTH = "SELECT sum(n_bytes) FROM length"


class LengthTally:
    """Counts what it is given."""

    schema = "CREATE TABLE IF NOT EXISTS length (n_bytes INTEGER);"

    def take(self, connection: sqlite3.Connection, member: LogMember) -> None:
        """Add the length of a member."""
        connection.execute("INSERT INTO length VALUES (?)", (len(member.content),))


class FailingTally(LengthTally):
    """Fails in the middle of a transaction."""

    def take(self, connection: sqlite3.Connection, member: LogMember) -> None:
        """Add the length of a member, and fail."""
        super().take(connection, member)
        raise OSError("out of order")


def build(root: Path, tally: LengthTally) -> None:
    """Bring an index up to date."""
    with closing(IndexBuilder(root, [tally])) as builder:
        builder.catch_up()


def length(root: Path) -> int:
    """Return the counts of an index."""
    readers = IndexReaders(root)
    ((found,),) = readers.rows(LENGTH)
    readers.close()
    return int(found or 0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the folder of a crawl with two documents."""
    write_log(tmp_path, [Written("http://e/a", 1, [("http://e/a", "1")])])
    write_log(tmp_path, [Written("http://e/b", 2, [("http://e/b", "2")])], "other")
    return tmp_path


def test_each_member_counts_once(root: Path) -> None:
    """If an index is brought up to date again and again, each member counts once."""
    build(root, LengthTally())
    before = length(root)
    build(root, LengthTally())
    assert length(root) == before > 0
    write_log(root, [Written("http://e/a", 3, [("http://e/a", "3")])], "third")
    build(root, LengthTally())
    assert length(root) > before


def test_broken_off_transaction_leaves_nothing(root: Path) -> None:
    """If the builder dies within a member, then the member is read again, and once."""
    with pytest.raises(OSError, match="out of order"):
        build(root, FailingTally())
    build(root, LengthTally())
    found = length(root)
    index_path(root).unlink()
    build(root, LengthTally())
    assert length(root) == found > 0


def test_index_of_other_logs_is_made_anew(root: Path, tmp_path: Path) -> None:
    """If a crawl is restarted, then its index has nothing of the earlier one."""
    builder = IndexBuilder(root, [LengthTally()])
    builder.catch_up()
    before = length(root)
    (root / "quads").rename(tmp_path / "before")
    write_log(root, [Written("http://e/z", 9, [("http://e/z", "9")])])
    builder.catch_up()
    builder.close()
    assert 0 < length(root) < before


@contextmanager
def kept(root: Path) -> Iterator[IndexReaders]:
    """Keep an index meanwhile."""
    stopped = threading.Event()
    thread = threading.Thread(target=keep_index, args=(root, stopped))
    readers = IndexReaders(root)
    thread.start()
    try:
        yield readers
    finally:
        stopped.set()
        thread.join()
        readers.close()


def wait_for_table(readers: IndexReaders) -> None:
    """Wait until the tables of an index are there."""
    for _ in range(3000):
        if readers.rows("SELECT name FROM checkpoint"):
            return
        threading.Event().wait(0.01)
    pytest.fail("waited in vain")


@pytest.mark.parametrize("content", [b"no database" * 1000, b""], ids=["junk", "empty"])
def test_damaged_index_is_made_anew(root: Path, content: bytes) -> None:
    """If the file of an index is damaged, then it is replaced, and queries work."""
    index_path(root).parent.mkdir()
    index_path(root).write_bytes(content)
    with kept(root) as readers:
        wait_for_table(readers)
        ((found,),) = readers.rows("SELECT count(*) FROM history")
        assert found == 0


def test_second_keeper_stands_back(root: Path) -> None:
    """If two processes keep an index, then one writes, and both read."""
    with kept(root) as first:
        wait_for_table(first)
        with kept(root) as second:
            ((found,),) = second.rows("SELECT count(*) FROM checkpoint")
            assert found == 2
