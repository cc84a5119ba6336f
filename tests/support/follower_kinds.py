"""Stores that follow logs, each read back by a program that is not ours."""

from __future__ import annotations

import gzip
import os
import sys
import traceback
import warnings
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import pyoxigraph as ox
from hypothesis import strategies as st

from rdfcrawl.stores.followers.following import LogFollowing
from rdfcrawl.stores.followers.parquet import ParquetFollower
from rdfcrawl.stores.followers.rdf_files import FileFollower
from rdfcrawl.stores.log.crawl_log import CrawlLog
from tests.support.written_logs import Written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path
    from types import FrameType

    from rdfcrawl.stores.followers.protocol import Follower

A, B, C = "http://e/a", "http://e/b", "http://f/c"
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

Said = set[tuple[str, str]]  # graph and value of each statement


class FollowerKind(NamedTuple):
    """A store, and how others read it.

    Attributes:
        name: for the names of tests.
        build: makes the follower of a path.
        read: returns the content, by another program.
        is_whole: readers see all changes together.
    """

    name: str
    build: Callable[[Path], Follower]
    read: Callable[[Path], Said]
    is_whole: bool = False


def parquet_rows(path: Path, columns: str = "*") -> list[tuple[object, ...]]:
    """Return the rows that DuckDB finds in a folder."""
    if not any(path.rglob("*.parquet")):
        return []
    files = f"read_parquet('{path}/**/*.parquet', hive_partitioning=true)"
    with duckdb.connect() as db:
        return db.execute(f"SELECT {columns} FROM {files}").fetchall()


def _read_parquet(path: Path) -> Said:
    rows = parquet_rows(path, "graph, object, document, subject, predicate")
    assert len(set(rows)) == len(rows)  # none is there twice
    return {(str(graph), str(value)) for graph, value, *_ in rows}


def _read_files(path: Path) -> Said:
    """Return the content found by pyoxigraph and gzip; graph names may be lost."""
    found = set()
    for file in path.rglob("[!.]*"):
        if file.is_dir() or ".rdfcrawl" in file.parts:
            continue
        open_file = gzip.open if file.suffix == ".gz" else open
        with open_file(file, "rb") as content:
            kind = ox.RdfFormat.from_extension(
                file.name.split(".")[-1 - (file.suffix == ".gz")]
            )
            for quad in ox.parse(content.read(), format=kind):
                found.add((quad.graph_name.value, quad.object.value))
    return found


def files(uri: str, **options: object) -> Callable[[Path], Follower]:
    """Return a function that makes the follower of a URI and a path."""
    return lambda path: FileFollower.from_options(f"{uri}:{path}", options)


KINDS = (
    FollowerKind("parquet", ParquetFollower, _read_parquet, is_whole=True),
    FollowerKind(
        "parquet-day",
        lambda path: ParquetFollower(path, partition="day", renew_secs=0),
        _read_parquet,
        is_whole=True,
    ),
    FollowerKind("trig-document", files("trig"), _read_files),
    FollowerKind("nquads-host", files("nquads", per="host", renew_secs=0), _read_files),
    FollowerKind(
        "jsonld-all", files("jsonld", per="all", compression="gz"), _read_files
    ),
)


def truth(written: Iterable[Written]) -> Said:
    """Return the statements of the latest versions."""

    def version(each: Written) -> tuple[int, bytes]:
        return each.version_ms, blake2b(each.quads, digest_size=16).digest()

    latest: dict[str, Written] = {}
    for each in written:
        if each.graph not in latest or version(each) > version(latest[each.graph]):
            latest[each.graph] = each
    return {said for each in latest.values() for said in each.said}


def follow(root: Path, follower: Follower) -> None:
    """Follow a log to its end."""
    following = LogFollowing(CrawlLog(root), follower, patience_secs=0)
    try:
        following.open()
        following.catch_up()
        following.renew(at_once=True)
    finally:
        follower.close()


def follow_until(root: Path, follower: Follower, n_lines: int) -> bool:
    """Follow in a process that dies before a line of our code; return if it died."""
    return dies_before(n_lines, lambda: follow(root, follower))


def dies_before(n_lines: int, act: Callable[[], object]) -> bool:
    """Act in a process that dies before a line of our code; return whether it did.

    It dies as by SIGKILL: nothing is closed, and no exception is raised.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads are idle
        pid = os.fork()
    if not pid:
        try:
            sys.settrace(_death_after(n_lines))
            act()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in {0, 9}
    return code == 9


def _death_after(n_lines: int) -> Any:
    left = n_lines

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if "/rdfcrawl/stores/followers/" not in frame.f_code.co_filename:
            return None
        if event == "line":
            left -= 1
            if not left:
                os._exit(9)
        return trace

    return trace
