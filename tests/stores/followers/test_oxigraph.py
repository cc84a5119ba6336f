"""The embedded store has exactly the latest version of each document."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import StoreFault
from rdfcrawl.stores.crawl_folder import LogIdentity
from rdfcrawl.stores.followers.following import LogFollowing, SetAside
from rdfcrawl.stores.followers.oxigraph import OxigraphFollower
from rdfcrawl.stores.log.crawl_log import CrawlLog
from tests.support.command_forks import shared_forks
from tests.support.examples import few
from tests.support.small_disk import MIB, small_disk
from tests.support.written_logs import RawVersion, Written, said_in, truth, write_log

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rdfcrawl.stores.log.documents import LogDocument

A, B, C = "http://e/a", "http://e/b", "http://e/c"
GRAPHS = (A, B, C, "http://e/other")

documents = st.builds(
    Written,
    st.sampled_from((A, B, C)),
    st.integers(1, 4),
    st.lists(
        st.tuples(st.sampled_from(GRAPHS), st.sampled_from("xyz")),
        max_size=3,
        unique=True,
    ).map(tuple),
)


class FailingFollower(OxigraphFollower):
    """Follower that dies at given steps."""

    def __init__(self, path: Path, deaths: Iterable[str]) -> None:
        super().__init__(path)
        self.deaths = list(deaths)

    def _die(self, step: str) -> None:
        if self.deaths and self.deaths[0] == step:
            del self.deaths[0]
            raise KeyboardInterrupt

    def _replace(self, *given: object) -> None:
        self._die("intended")
        super()._replace(*given)  # type: ignore[arg-type]

    def _remove_orphans(self) -> None:
        self._die("written")
        super()._remove_orphans()

    def commit(self, *given: object) -> None:
        """Commit, or die before."""
        self._die("applied")
        super().commit(*given)  # type: ignore[arg-type]


def follow(root: Path, follower: OxigraphFollower) -> set[tuple[str, str]]:
    """Follow a log to its end; return the content of the store."""
    following = LogFollowing(CrawlLog(root), follower, patience_secs=0)
    try:
        following.open()
        following.catch_up()
        return said_in(follower.store)
    finally:
        follower.close()


@settings(max_examples=few(6))
@given(
    logs=st.lists(st.lists(documents, max_size=6), min_size=1, max_size=3),
    turns=st.lists(st.integers(0, 2), max_size=6),
    deaths=st.lists(st.sampled_from(["intended", "written", "applied"]), max_size=3),
)
def test_whatever_order_logs_come_in_the_store_has_the_latest(
    logs: list[list[Written]], turns: list[int], deaths: list[str]
) -> None:
    """If logs grow, are read in any order and die anywhere, then the latest is left."""
    with tempfile.TemporaryDirectory() as name:
        roots = [Path(name, f"log{n}") for n in range(len(logs))]
        follower = FailingFollower(Path(name, "store"), deaths)
        left = [list(each) for each in logs]
        found = set()
        for number, turn in enumerate([*turns, *range(len(logs))]):
            which = turn % len(logs)
            n_now = len(left[which]) if number >= len(turns) else 2
            write_log(roots[which], left[which][:n_now], f"w{number}")
            del left[which][:n_now]
            while True:
                try:
                    found = follow(roots[which], follower)
                    break
                except KeyboardInterrupt:
                    continue
        assert found == truth(each for log in logs for each in log)


def test_statement_stays_as_long_as_one_document_says_it(tmp_path: Path) -> None:
    """If two documents say one thing, it goes with the second, not with the first."""
    follower = OxigraphFollower(tmp_path / "store")
    both = [(C, "x")]
    write_log(tmp_path, [Written(A, 1, [*both, (A, "a")]), Written(B, 1, both)], "1")
    assert follow(tmp_path, follower) == {(C, "x"), (A, "a")}
    write_log(tmp_path, [Written(A, 2, [(A, "b")])], "2")
    assert follow(tmp_path, follower) == {(C, "x"), (A, "b")}
    write_log(tmp_path, [Written(B, 2)], "3")
    assert follow(tmp_path, follower) == {(A, "b")}


def test_graph_of_a_page_keeps_what_a_dump_says_in_it(tmp_path: Path) -> None:
    """If a page is gone that a dump has statements about, then these stay."""
    follower = OxigraphFollower(tmp_path / "store")
    write_log(tmp_path, [Written(A, 1, [(A, "1"), (A, "page")])], "1")
    follow(tmp_path, follower)
    write_log(tmp_path, [Written(B, 1, [(A, "1"), (A, "dump")])], "2")
    assert follow(tmp_path, follower) == {(A, "1"), (A, "page"), (A, "dump")}
    write_log(tmp_path, [Written(A, 2)], "3")
    assert follow(tmp_path, follower) == {(A, "1"), (A, "dump")}


def test_numbers_that_the_store_writes_otherwise_are_removed(tmp_path: Path) -> None:
    """If a store has `1` for `01`, then the statement still goes with its document."""
    line = f'<{C}> <{C}> "01"^^<http://www.w3.org/2001/XMLSchema#integer> <{C}> .\n'
    follower = OxigraphFollower(tmp_path / "store")
    write_log(tmp_path, [RawVersion(g, 1, line.encode()) for g in (A, B)], "1")
    assert follow(tmp_path, follower) == {(C, "1")}
    write_log(tmp_path, [Written(A, 2), Written(B, 2)], "2")
    assert follow(tmp_path, follower) == set()


def test_blank_nodes_of_a_document_stay_together(tmp_path: Path) -> None:
    """If a blank node is in many pieces of a large document, it is one node."""
    lines = (f'_:b <{B}> "{"x" * 700}{n}" <{A}> .\n' for n in range(4_000))
    write_log(tmp_path, [RawVersion(A, 1, "".join(lines).encode())])
    follower = OxigraphFollower(tmp_path / "store")
    assert len(follow(tmp_path, follower)) == 4_000
    store = ox.Store(str(tmp_path / "store"))
    assert len({quad.subject for quad in store}) == 1


def test_store_filled_by_hand_has_the_log_afterwards(tmp_path: Path) -> None:
    """If a database was filled otherwise, its graphs are replaced by those crawled."""
    store = ox.Store(str(tmp_path / "store"))
    for graph in (A, B):
        store.add(
            ox.Quad(
                ox.NamedNode(A),
                ox.NamedNode(A),
                ox.Literal("by hand"),
                ox.NamedNode(graph),
            )
        )
    del store
    write_log(tmp_path, [Written(A, 1, [(A, "crawled")])])
    follower = OxigraphFollower(tmp_path / "store")
    assert follow(tmp_path, follower) == {(A, "crawled"), (B, "by hand")}


def test_store_in_use_is_refused_in_one_line(tmp_path: Path) -> None:
    """If another process has the store open, then the second one fails."""
    write_log(tmp_path, [Written(A, 1, [(A, "x")])])
    first = OxigraphFollower(tmp_path / "store")
    first.open(CrawlLog(tmp_path).identity)
    second = OxigraphFollower(tmp_path / "store", lock_secs=0)
    with pytest.raises(StoreFault, match="another process has the store open"):
        second.open(CrawlLog(tmp_path).identity)
    first.close()


class RefusingFollower(OxigraphFollower):
    """Follower of a store that does not take one document.

    Attributes:
        n_refused: number of attempts with this document.
    """

    n_refused = 0

    def apply(self, documents: Sequence[LogDocument]) -> None:
        """Refuse one document."""
        from rdfcrawl.stores.followers.protocol import DocumentRefused

        for each in documents:
            if each.graph == B:
                self.n_refused += 1
                raise DocumentRefused(B, "no")
        super().apply(documents)


def test_document_is_set_aside_after_its_third_failure(tmp_path: Path) -> None:
    """If a store refuses a document, it is named, and all others are in the store."""
    write_log(tmp_path, [Written(g, 1, [(g, "x")]) for g in (A, B, C)])
    follower = RefusingFollower(tmp_path / "store")
    following = LogFollowing(CrawlLog(tmp_path), follower)
    following.open()
    following.catch_up()
    assert said_in(follower.store) == {(A, "x"), (C, "x")}
    assert following.counts.set_aside == {B: SetAside(1, "no")}
    assert follower.n_refused == 3
    follower.close()


_FOLLOW = """
import sys, time
from pathlib import Path
from rdfcrawl.stores.followers.following import LogFollowing, SetAside
from rdfcrawl.stores.followers.oxigraph import OxigraphFollower
from rdfcrawl.stores.log import crawl_log
crawl_log.BATCH_DOCUMENTS = 5
root = Path(sys.argv[1])
follower = OxigraphFollower(root / "store")
following = LogFollowing(crawl_log.CrawlLog(root), follower)
following.open()
print("opened", flush=True)
following.catch_up()
follower.close()
"""


def test_follower_that_is_killed_again_and_again_loses_nothing(tmp_path: Path) -> None:
    """If a follower is killed with SIGKILL anywhere, the store is right in the end."""
    chance = random.Random(7)

    def some() -> str:
        return f"http://e/{chance.randrange(40)}"

    written = [
        Written(some(), version, [(some(), str(chance.randrange(9)))])
        for version in range(400)
    ]
    write_log(tmp_path, written)
    for n in range(7):
        reader, writer = os.pipe()
        with os.fdopen(reader) as told, os.fdopen(writer, "wb") as out:
            process = shared_forks().start(["-c", _FOLLOW, str(tmp_path)], out)
            out.close()
            told.readline()
        if n < 6:
            time.sleep(chance.uniform(0, 0.05))
            process.kill()
        process.wait()
    assert follow(tmp_path, OxigraphFollower(tmp_path / "store")) == truth(written)


@pytest.mark.service
@pytest.mark.parametrize("n_left", [0, MIB // 2])
def test_store_goes_on_when_its_disk_has_room_again(
    tmp_path: Path, n_left: int
) -> None:
    """If the disk is full before or while a store writes, it is right afterwards."""
    place, log = tmp_path / "disk", tmp_path / "log"
    place.mkdir()
    write_log(log, [Written(g, 1, [(C, str(n)) for n in range(900)]) for g in (A, B)])
    with small_disk(place) as disk:
        follower = OxigraphFollower(disk.path / "store")
        following = LogFollowing(CrawlLog(log), follower, patience_secs=0)
        following.open()
        following.catch_up()
        said = [(C, f"new {n}") for n in range(6_000)]
        write_log(log, [Written(A, 2, said)], "2")
        disk.fill(n_left)
        for _ in range(2):
            with pytest.raises(StoreFault, match=r"full|No space left"):
                following.catch_up()
        disk.empty()
        following.catch_up()
        assert said_in(follower.store) == {*said, *((C, str(n)) for n in range(900))}
        follower.close()


@pytest.mark.service
def test_full_disk_of_a_new_store_passes(tmp_path: Path) -> None:
    """If the disk gets full while a store is made, it is opened when there is room."""
    place, log = tmp_path / "disk", LogIdentity(log="a" * 32)
    place.mkdir()
    with small_disk(place) as disk:
        faults = []
        for n_left in range(0, MIB // 2, MIB // 64):
            disk.fill(n_left)
            follower = OxigraphFollower(disk.path / f"store{n_left}")
            try:
                follower.open(log)
                follower.close()
            except StoreFault as fault:
                faults.append(fault)
            disk.empty()
            follower.open(log)
            follower.close()
            shutil.rmtree(disk.path / f"store{n_left}")
    assert len(faults) > 5
    assert all(fault.may_pass for fault in faults), faults
