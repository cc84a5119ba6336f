"""Large members of logs are read in pieces."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.analysis.crawl_index import members
from rdfcrawl.analysis.crawl_index.building import IndexBuilder
from rdfcrawl.analysis.crawl_index.database import IndexDatabase
from rdfcrawl.analysis.crawl_index.members import iter_new_members
from rdfcrawl.analysis.crawl_index.tallies import all_tallies
from rdfcrawl.analysis.crawl_index.uri_places import PlaceRole, UriIndex
from rdfcrawl.uri import NormalForm, fingerprint
from tests.bench.page_logs import HUB, uri_of, write_datasets, write_logs

if TYPE_CHECKING:
    from pathlib import Path

_QUERIES = (
    "SELECT host, n_documents, n_statements, n_targets FROM web_host ORDER BY host",
    """SELECT a.host, b.host, n FROM host_link JOIN web_host AS a ON a.id = source
    JOIN web_host AS b ON b.id = target ORDER BY 1, 2""",
    "SELECT * FROM history",
    "SELECT reason, n_documents FROM fault ORDER BY 1",
    "SELECT name, kinds, title, n_stated FROM dataset ORDER BY name",
    "SELECT name, offset FROM checkpoint ORDER BY name",
)


def contents(root: Path) -> list[Any]:
    """Return the content of a new index of some logs, and places of some URIs."""
    with closing(IndexBuilder(root, all_tallies(NormalForm()))) as builder:
        builder.catch_up()
    with closing(IndexDatabase.open(root, is_read=True)) as database:
        found: list[Any] = [database.rows(query) for query in _QUERIES]
    index = UriIndex.open(root, NormalForm())
    assert index is not None
    with closing(index):
        for uri in (HUB, *(uri_of(number, 9) for number in range(200))):
            mark = fingerprint(uri)
            places = {
                (role, each.segment, each.offset)
                for role in PlaceRole
                for each in index.find(mark, role).places
            }
            found.append(places)
    return found


@pytest.mark.parametrize("n_bytes", [1, 3000])
def test_pieces_say_what_the_member_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_bytes: int
) -> None:
    """If members are read in pieces, then the index is the same."""
    for name in ("whole", "pieces"):
        asyncio.run(write_logs(tmp_path / name, 200, 9))
        asyncio.run(write_datasets(tmp_path / name, 30))
    whole = contents(tmp_path / "whole")
    monkeypatch.setattr(members, "PIECE_BYTES", n_bytes)
    monkeypatch.setattr("rdfcrawl.stores.segment_file._INFLATE_BYTES", 1000)
    read = list(iter_new_members(tmp_path / "pieces", {}))
    assert sum(not each.is_last for each in read) > 20
    assert max(len(each.content) for each in read) < n_bytes + 8000
    assert contents(tmp_path / "pieces") == whole


def test_stop_within_a_member_leaves_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a builder is stopped within a member, then nothing of the member is kept."""
    asyncio.run(write_logs(tmp_path, 200, 9))
    monkeypatch.setattr(members, "PIECE_BYTES", 3000)
    monkeypatch.setattr("rdfcrawl.stores.segment_file._INFLATE_BYTES", 1000)
    with closing(IndexBuilder(tmp_path, all_tallies(NormalForm()))) as builder:
        asked = iter([False] * 3)
        builder.catch_up(lambda: next(asked, True))
    with closing(IndexDatabase.open(tmp_path, is_read=True)) as database:
        assert database.rows("SELECT * FROM checkpoint") == []
        assert database.rows("SELECT * FROM history") == []
