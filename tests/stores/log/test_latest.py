"""The latest version of each document is found without a table of all of them."""

from __future__ import annotations

import random
from hashlib import blake2b
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.stores.log import crawl_log
from rdfcrawl.stores.log.crawl_log import CrawlLog, iter_latest_documents
from tests.support.written_logs import Written, write_log

if TYPE_CHECKING:
    from pathlib import Path


def test_latest_versions_are_those_that_a_table_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If versions come in any order from several workers, each latest is found once."""
    monkeypatch.setattr(crawl_log, "_PART_RECORDS", 2)  # files are read in parts
    monkeypatch.setattr(crawl_log, "_HELD_BYTES", 100)  # files go to the disk
    monkeypatch.setattr(crawl_log, "_READ_RECORDS", 3)
    chance = random.Random(5)
    expected: dict[str, tuple[int, bytes, bytes]] = {}
    for worker in range(4):
        written = [
            Written(
                graph := f"http://e/{chance.randrange(30)}",
                chance.randrange(6),
                [(graph, str(chance.randrange(3)))] * chance.randrange(2),
            )
            for _ in range(60)
        ]
        write_log(tmp_path, written, f"w{worker}")
        for each in written:
            digest = blake2b(each.quads, digest_size=16).digest()
            found = (each.version_ms, digest, each.quads)
            expected[each.graph] = max(found, expected.get(each.graph, found))
    log = CrawlLog(tmp_path)
    got = [(x.graph, b"".join(x.pieces())) for x in iter_latest_documents(log)]
    assert len(got) == len(expected)
    assert dict(got) == {graph: quads for graph, (_, _, quads) in expected.items()}


def test_parts_have_all_records_of_a_document(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If a scratch file does not fit in memory, then it comes in parts that do."""
    monkeypatch.setattr(crawl_log, "_PART_RECORDS", 4)
    with crawl_log.ScratchRecords("Q", None) as records:
        for n in range(3000):
            records.add(f"http://e/{n % 1000}", n)
        parts = [list(part) for part in records.parts()]
    keys = [{key for key, _ in part} for part in parts]
    assert sorted(n for part in parts for _, n in part) == list(range(3000))
    assert sum(map(len, keys)) == len(set().union(*keys)) == 1000
    assert max(map(len, parts)) < 30
    assert sum(map(bool, parts)) > 400


def test_what_comes_between_both_readings_is_left_out(tmp_path: Path) -> None:
    """If the log grows while it is read, then the latest of before are yielded."""
    write_log(tmp_path, [Written(f"http://e/{n}", 1) for n in range(3)], "m")
    found = iter_latest_documents(CrawlLog(tmp_path))
    first = next(found)
    write_log(tmp_path, [Written(f"http://e/{n}", 2) for n in range(3)], "z")
    write_log(tmp_path, [Written(f"http://e/{n}", 2) for n in range(3)], "a")
    assert [(x.graph, x.version_ms) for x in (first, *found)] == [
        (f"http://e/{n}", 1) for n in range(3)
    ]


def test_log_that_is_moved_aside_meanwhile_is_told(tmp_path: Path) -> None:
    """If `fresh=1` moves a log that is being read, then the reader fails."""
    for worker in "ab":
        write_log(tmp_path, [Written(f"http://e/{worker}", 1)], worker)
    found = iter_latest_documents(CrawlLog(tmp_path))
    next(found)
    (tmp_path / "before-1").mkdir()
    (tmp_path / "quads").rename(tmp_path / "before-1" / "quads")
    write_log(tmp_path, [Written("http://e/c", 2)], "c")
    with pytest.raises(ConfigError, match="was replaced while it was read"):
        list(found)
