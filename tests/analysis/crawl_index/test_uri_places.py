"""Places of URIs in the index: found, limited, and reported when stale."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.analysis.crawl_index import uri_places
from rdfcrawl.analysis.crawl_index.building import IndexBuilder
from rdfcrawl.analysis.crawl_index.database import IndexDatabase
from rdfcrawl.analysis.crawl_index.members import LogMember
from rdfcrawl.analysis.crawl_index.tallies import all_tallies
from rdfcrawl.analysis.crawl_index.uri_places import (
    MOST_PLACES,
    PlaceRole,
    UriIndex,
    UriPlaceTally,
)
from rdfcrawl.monitor.explaining.logs import UriSearch
from rdfcrawl.monitor.explaining.sources import SearchedLogs
from rdfcrawl.stores.log.compaction import compact
from rdfcrawl.stores.log.crawl_log import CrawlLog
from rdfcrawl.stores.log.documents import read_places
from rdfcrawl.uri import NormalForm, fingerprint
from tests.support.written_logs import Written, write_log

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FORM = NormalForm()
HUB = "http://hub.example/"


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sort the staged records every 500 records."""
    monkeypatch.setattr(uri_places, "_STAGED_RECORDS", 500)


def index(root: Path, members: Iterable[LogMember]) -> UriIndex:
    """Return an index of some members."""
    tally = UriPlaceTally(FORM)
    database = IndexDatabase.open(root, schemas=[tally.schema], is_read=False)
    with closing(database):
        for member in members:
            tally.take(database.connection, member)
        database.connection.commit()
    found = UriIndex.open(root, FORM)
    assert found is not None
    return found


def links(number: int, *targets: str) -> LogMember:
    """Return a member with the links of one document."""
    lines = "".join(f"<http://p.example/p> <{target}>\n" for target in targets)
    content = f"#\tdocument <http://d.example/{number}> 1\n{lines}".encode()
    return LogMember("links", "w-00000.txt.gz", number * 100, 100, content)


@pytest.mark.usefixtures("small_batches")
def test_each_uri_is_found_where_it_stands(tmp_path: Path) -> None:
    """If members are spread over batches, then each URI has exactly its members."""
    targets = [
        [f"http://t.example/{(n * k) % 97}" for k in range(3)] for n in range(900)
    ]
    members = [links(n, *some) for n, some in enumerate(targets)]
    with closing(index(tmp_path, members)) as found:
        for target in {each for some in targets for each in some[1:]}:
            mark = fingerprint(target)
            places = found.find(mark, PlaceRole.LINKS_TO)
            expected = {n * 100: some.count(target) for n, some in enumerate(targets)}
            assert {x.offset: x.times for x in places.places} == {
                offset: times for offset, times in expected.items() if times
            } or places.n_left_out
            n_all = sum(each.times for each in places.places) + places.n_left_out
            assert n_all == sum(expected.values())
            assert found.find(mark, PlaceRole.DECISION).places == ()


@pytest.mark.usefixtures("small_batches")
def test_hub_has_few_places_and_the_right_count(tmp_path: Path) -> None:
    """If all documents link to one URI, then a few places and a counter are kept."""
    members = [links(n, HUB, f"http://t.example/{n}") for n in range(2000)]
    with closing(index(tmp_path, members)) as found:
        places, n_left_out = found.find(fingerprint(HUB), PlaceRole.LINKS_TO)
        assert len(places) + n_left_out == 2000
        assert len(places) <= 12 * MOST_PLACES + 500 // 3
        assert (places[0].offset, places[-1].offset) == (0, 199_900)


def test_spellings_share_their_places(tmp_path: Path) -> None:
    """If a URI is spelled in several ways, then one look finds all."""
    member = links(0, "http://t.example/%61", "http://t.example/a#x", "not a URI", "")
    with closing(index(tmp_path, [member])) as found:
        places, _ = found.find(fingerprint("http://t.example/a"), PlaceRole.LINKS_TO)
        assert [each.times for each in places] == [2]


def test_index_by_another_form_is_made_anew(tmp_path: Path) -> None:
    """If session parameters have changed, then the index of before is of no use."""
    other = NormalForm(("visit",))
    write_log(tmp_path, [Written(HUB, 1, [(HUB, "x")])])
    with closing(IndexBuilder(tmp_path, all_tallies(FORM))) as builder:
        builder.catch_up()
    assert UriIndex.open(tmp_path, other) is None
    with closing(IndexBuilder(tmp_path, all_tallies(other))) as builder:
        assert builder.catch_up()
    assert UriIndex.open(tmp_path, FORM) is None
    found = UriIndex.open(tmp_path, other)
    assert found is not None
    with closing(found):
        assert found.find(fingerprint(HUB), PlaceRole.STATEMENTS).places


def test_compacted_segments_are_looked_through(tmp_path: Path) -> None:
    """If a compaction moved or dropped versions, then lookups find or report them."""
    write_log(tmp_path, [Written(HUB, n, [(HUB, str(n))]) for n in range(3)])
    write_log(tmp_path, [Written(HUB, 3, [(HUB, "3")])], "x")
    with closing(IndexBuilder(tmp_path, all_tallies(FORM))) as builder:
        builder.catch_up()
    before = versions(tmp_path)
    assert [is_kept for _, is_kept in before] == [True] * 4
    compact(CrawlLog(tmp_path))
    after = versions(tmp_path)
    assert after == [*((ms, False) for ms in range(3)), (3, True)]
    with closing(IndexBuilder(tmp_path, all_tallies(FORM))) as builder:
        builder.catch_up()
    assert versions(tmp_path) == after


def versions(root: Path) -> list[tuple[int, bool]]:
    """Return time of each version of the hub, and whether its statements are there."""
    with SearchedLogs.indexed(root, FORM) as logs:
        assert logs.caught_up_ms
        found, _ = UriSearch(logs, HUB, FORM).versions()
        places = [each.place for each in found if each.place]
        assert len(list(read_places(root / "quads", places))) == len(places)
    return [(each.version_ms, each.place is not None) for each in found]


def test_index_of_other_logs_is_not_used(tmp_path: Path) -> None:
    """If there is no index, or one of other logs, then none is used."""
    assert UriIndex.open(tmp_path, FORM) is None
    with closing(index(tmp_path, [links(0, HUB)])):
        pass
    write_log(tmp_path, [Written(HUB, 1, [(HUB, "x")])])
    assert UriIndex.open(tmp_path, FORM) is None
