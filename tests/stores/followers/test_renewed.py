"""Stores that are renewed have the latest version of each document."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import StoreFault
from rdfcrawl.stores.followers.following import LogFollowing
from rdfcrawl.stores.followers.log_comparison import compare
from rdfcrawl.stores.followers.verification import StoreComparison
from rdfcrawl.stores.log.crawl_log import CrawlLog
from tests.support.examples import few
from tests.support.follower_kinds import (
    KINDS,
    A,
    B,
    C,
    FollowerKind,
    documents,
    follow,
    follow_until,
    truth,
)
from tests.support.small_disk import small_disk
from tests.support.written_logs import RawVersion, Written, write_log

each_kind = pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])


@pytest.mark.in_turn(2)
@each_kind
@settings(max_examples=few(4))
@given(
    logs=st.lists(st.lists(documents, max_size=6), min_size=1, max_size=3),
    turns=st.lists(st.integers(0, 2), max_size=6),
    deaths=st.lists(st.integers(1, 400), max_size=4),
)
def test_whatever_order_logs_come_in_the_store_has_the_latest(
    kind: FollowerKind, logs: list[list[Written]], turns: list[int], deaths: list[int]
) -> None:
    """If logs grow, are read in any order and die at any line, the latest is left."""
    with tempfile.TemporaryDirectory() as name:
        roots = [Path(name, f"log{n}") for n in range(len(logs))]
        path = Path(name, "store")
        left = [list(each) for each in logs]
        for number, turn in enumerate([*turns, *range(len(logs))]):
            which = turn % len(logs)
            n_now = len(left[which]) if number >= len(turns) else 2
            write_log(roots[which], left[which][:n_now], f"w{number}")
            del left[which][:n_now]
            while deaths and follow_until(roots[which], kind.build(path), deaths.pop()):
                kind.read(path)  # its content can be read
            follow(roots[which], kind.build(path))
        assert kind.read(path) == truth(each for log in logs for each in log)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("step", [31, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("kind", [KINDS[0], KINDS[3]], ids=lambda kind: kind.name)
def test_every_line_may_be_the_last(
    kind: FollowerKind, step: int, tmp_path: Path
) -> None:
    """If a follower dies at each of its lines in turn, readers see old or new."""
    path = tmp_path / "store"
    before = [Written(A, 1, [(A, "1"), (C, "s")]), Written(C, 1, [(C, "1")])]
    after = [Written(A, 2, [(A, "2"), (C, "s")]), Written(C, 2), Written(B, 2)]
    write_log(tmp_path, before, "1")
    follow(tmp_path, kind.build(path))
    write_log(tmp_path, after, "2")
    n_lines, seen = 1, [truth(before), truth([*before, *after])]
    while follow_until(tmp_path, kind.build(path), n_lines):
        found = kind.read(path)
        assert found in seen if kind.is_whole else found <= seen[0] | seen[1]
        n_lines += step
    assert kind.read(path) == seen[1]
    assert n_lines > 200


@each_kind
def test_statement_stays_as_long_as_one_document_says_it(
    kind: FollowerKind, tmp_path: Path
) -> None:
    """If two documents say one thing, it goes with the second, not with the first."""
    path, both = tmp_path / "store", [(C, "x")]
    write_log(tmp_path, [Written(A, 1, [*both, (A, "a")]), Written(B, 1, both)], "1")
    follow(tmp_path, kind.build(path))
    assert kind.read(path) == {(C, "x"), (A, "a")}
    write_log(tmp_path, [Written(A, 2, [(A, "b")])], "2")
    follow(tmp_path, kind.build(path))
    assert kind.read(path) == {(C, "x"), (A, "b")}
    write_log(tmp_path, [Written(B, 2), Written(A, 3)], "3")
    follow(tmp_path, kind.build(path))
    assert kind.read(path) == set()


@each_kind
def test_document_that_is_no_rdf_is_set_aside(
    kind: FollowerKind, tmp_path: Path
) -> None:
    """If a document has lines that are no statements, then the others are stored."""
    bad = RawVersion(B, 1, b'<http://e/s> <http://e/p> "\\uD800" <http://e/g> .\n')
    write_log(tmp_path, [Written(A, 1, [(A, "x")]), bad, Written(C, 1, [(C, "y")])])
    follower = kind.build(tmp_path / "store")
    following = LogFollowing(CrawlLog(tmp_path), follower, patience_secs=0)
    following.open()
    following.catch_up()
    following.renew(at_once=True)
    follower.close()
    assert kind.read(tmp_path / "store") == {(A, "x"), (C, "y")}
    assert list(following.counts.set_aside) == [B]


@each_kind
def test_store_in_use_is_refused_in_one_line(
    kind: FollowerKind, tmp_path: Path
) -> None:
    """If another process has the store open, then the second one fails."""
    write_log(tmp_path, [Written(A, 1, [(A, "x")])])
    first, second = (kind.build(tmp_path / "store") for _ in range(2))
    first.open(CrawlLog(tmp_path).identity)
    second._lock_secs = 0  # type: ignore[attr-defined]
    with pytest.raises(StoreFault, match="another process has the store open"):
        second.open(CrawlLog(tmp_path).identity)
    first.close()


@pytest.mark.in_turn(2)
@each_kind
def test_full_disk_is_waited_for(kind: FollowerKind, tmp_path: Path) -> None:
    """If the disk of a store is full, then readers see the old content."""
    (tmp_path / "disk").mkdir()
    first = [Written(A, 1, [(A, "x")])]
    write_log(tmp_path, first, "1")
    text = "".join(
        f'<{A}> <http://e/p> "{random.Random(n).randbytes(99).hex()}" <{A}> .\n'
        for n in range(6000)
    )
    with small_disk(tmp_path / "disk") as disk:
        path = disk.path / "store"
        follow(tmp_path, kind.build(path))
        write_log(tmp_path, [RawVersion(A, 2, text.encode())], "2")
        n_faults = 0
        for n_left in (0, 100_000, 2_000_000):
            disk.fill(n_left)
            try:
                follow(tmp_path, kind.build(path))
            except StoreFault as fault:
                n_faults += fault.may_pass
                seen = kind.read(path)
                assert seen == {(A, "x")} or len(seen) == 6000
            finally:
                disk.empty()
        assert n_faults >= 2
        follow(tmp_path, kind.build(path))
        assert len(kind.read(path)) == 6000


@each_kind
def test_store_is_compared_with_the_log(kind: FollowerKind, tmp_path: Path) -> None:
    """If a store is behind its log, then the graphs are named that differ."""

    def compared() -> StoreComparison:
        follower = kind.build(tmp_path / "store")
        follower.open(CrawlLog(tmp_path).identity)
        try:
            return compare(CrawlLog(tmp_path), follower, tmp_path)
        finally:
            follower.close()

    blank = b"_:b1 <http://e/p> _:b2 <%s> .\n" % C.encode()
    write_log(tmp_path, [*(Written(g, 1, [(g, "x")]) for g in (A, B))], "1")
    write_log(tmp_path, [RawVersion(C, 1, blank)], "2")
    follow(tmp_path, kind.build(tmp_path / "store"))
    assert compared().is_equal
    write_log(tmp_path, [Written(A, 2, [(A, "y")]), Written(B, 2)], "3")
    found = compared()
    assert (found.stale.names, found.surplus.names) == ([A], [B])
    assert not found.missing.names
