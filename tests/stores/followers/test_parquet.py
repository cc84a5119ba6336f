"""Datasets of Parquet: how they are parted, merged, and refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import ConfigError, StoreFault
from rdfcrawl.stores.followers import parquet_files
from rdfcrawl.stores.followers.following import LogFollowing
from rdfcrawl.stores.followers.parquet import ParquetFollower
from rdfcrawl.stores.log.crawl_log import CrawlLog
from tests.support.follower_kinds import follow, parquet_rows
from tests.support.written_logs import RawVersion, Written, write_log

if TYPE_CHECKING:
    from pathlib import Path

DAY_MS = 86_400_000


def files(path: Path) -> list[str]:
    """Return the files of a dataset."""
    return sorted(str(each.relative_to(path)) for each in path.rglob("*.parquet"))


@pytest.mark.parametrize(
    ("graph", "partition", "value"),
    [
        ("http://Data.Example./x", "host", "data.example"),
        ("https://data.example:8443/x", "host", "data.example"),
        ("http://[::1]:80/x", "host", "[::1]"),
        ("urn:isbn:1", "host", None),
        ("http://e/x", "day", "1970-01-03"),
    ],
)
def test_parts_are_read_as_a_column(
    graph: str, partition: str, value: str | None, tmp_path: Path
) -> None:
    """If a dataset has parts, then readers have a column of their names."""
    write_log(tmp_path, [Written(graph, 2 * DAY_MS + 5, [(graph, "x")])])
    follow(tmp_path, ParquetFollower(tmp_path / "it", partition=partition))
    rows = parquet_rows(tmp_path / "it", f"{partition}::VARCHAR, document, version")
    assert rows == [(value, graph, 2 * DAY_MS + 5)]


def test_small_files_are_merged_and_what_is_gone_is_dropped(tmp_path: Path) -> None:
    """If documents come one by one, then there are few files, with no old rows."""
    path = tmp_path / "it"
    for n in range(24):
        graph = f"http://e/{n % 20}"
        write_log(tmp_path, [Written(graph, n + 1, [(graph, str(n))])], f"w{n}")
        follow(tmp_path, ParquetFollower(path))
        assert len(files(path)) <= 6
    found = parquet_rows(path, "object::INT")
    assert sorted(found) == [(n,) for n in range(4, 24)]
    write_log(tmp_path, [Written(f"http://e/{n}", 99) for n in range(20)], "end")
    follow(tmp_path, ParquetFollower(path))
    assert files(path) == []


def test_full_files_are_left_alone_until_a_document_in_them_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a file is full, then others are begun, and only a change rewrites it."""
    monkeypatch.setattr(parquet_files, "FULL_ROWS", 10)
    path, graphs = tmp_path / "it", [f"http://e/{n:02}" for n in range(12)]

    def write(n_version: int, some: list[str]) -> set[str]:
        documents = [
            Written(g, n_version, [(g, f"{n_version} {k}") for k in range(4)])
            for g in some
        ]
        write_log(tmp_path, documents, f"w{n_version}")
        before = set(files(path)) if path.exists() else set()
        follow(tmp_path, ParquetFollower(path))
        return before & set(files(path))

    write(1, graphs)
    assert len(files(path)) == 6  # two documents in each
    assert len(write(2, graphs[:1])) == 5
    assert len(write(3, ["http://e/new"])) >= 5
    rows = parquet_rows(path, "document, object")
    assert len(rows) == 13 * 4
    assert ("http://e/00", "2 0") in rows
    long = "".join(
        f'<{graphs[5]}> <http://e/p> "{n}" <http://e/g> .\n' for n in range(99)
    )
    write_log(tmp_path, [RawVersion(graphs[5], 9, long.encode() * 2)], "long")
    follow(tmp_path, ParquetFollower(path))
    assert len(parquet_rows(path)) == 12 * 4 + 99  # repeated statements are stored once


def test_only_a_new_folder_is_taken(tmp_path: Path) -> None:
    """If something else is at the path, or the parts are others, one line says so."""
    write_log(tmp_path, [Written("http://e/a", 1, [("http://e/a", "x")])])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(ConfigError, match="was not created by rdfcrawl"):
        follow(tmp_path, ParquetFollower(tmp_path / "other"))
    (tmp_path / "it").mkdir()  # empty: it can be taken
    follow(tmp_path, ParquetFollower(tmp_path / "it"))
    with pytest.raises(ConfigError, match="created with partition=host; delete"):
        follow(tmp_path, ParquetFollower(tmp_path / "it", partition="day"))
    (tmp_path / "it").unlink()  # the link alone
    (tmp_path / ".it.rdfcrawl" / "versions" / ".DS_Store").touch()  # by a file manager
    follow(tmp_path, ParquetFollower(tmp_path / "it"))
    assert len(parquet_rows(tmp_path / "it")) == 1


@pytest.mark.parametrize(
    ("uri", "options", "told"),
    [
        ("parquet:", {}, "must be parquet:PATH"),
        ("parquet:x", {"parts": "host"}, "no option 'parts', only partition"),
        (
            "parquet:x",
            {"partition": "week"},
            "partition='week': must be one of",
        ),
        ("parquet:x", {"renew_secs": "1"}, "renew_secs='1': must be 0 to 86400"),
    ],
)
def test_wrong_options_are_told(uri: str, options: dict[str, str], told: str) -> None:
    """If the URI or an option is wrong, then one line says how."""
    with pytest.raises(ConfigError, match=told):
        ParquetFollower.from_options(uri, options)


def test_readers_wait_for_renewals_but_not_the_checkpoint(tmp_path: Path) -> None:
    """If a dataset is not due, it is committed; the next process shows it."""
    write_log(tmp_path, [Written("http://e/a", 1, [("http://e/a", "x")])])
    follower = ParquetFollower(tmp_path / "it", renew_secs=999)
    following = LogFollowing(CrawlLog(tmp_path), follower)
    following.open()
    assert following.catch_up() == 1
    follower.close()
    assert not (tmp_path / "it").exists()
    follower = ParquetFollower(tmp_path / "it", renew_secs=0)
    following = LogFollowing(CrawlLog(tmp_path), follower)
    following.open()
    assert following.catch_up() == 0
    assert len(parquet_rows(tmp_path / "it")) == 1
    (tmp_path / ".it.rdfcrawl" / "versions" / "1").rename(tmp_path / "away")
    follower.close()
    with pytest.raises(StoreFault, match="files are missing; delete it"):
        follower.open(CrawlLog(tmp_path).identity)
