"""Later harvests of a CKAN portal read changed datasets and delete missing ones."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rdfcrawl.core.errors import FaultLog, SourceFault
from rdfcrawl.core.source_tasks import CkanStep, CkanTask
from rdfcrawl.sources.ckan.api import PortalScope
from rdfcrawl.sources.ckan.envelope import CkanResponse
from rdfcrawl.sources.ckan.plan import advance, request_of
from rdfcrawl.sources.ckan.values import since_for_next, solr_time
from tests.support.ckan_harvests import PORTAL, harvest
from tests.support.ckan_portals import FakePortal, Harvest, Memory, id_of, time_of

# -- incremental -------------------------------------------------------------------


def test_a_second_harvest_reads_what_changed_and_finds_the_deleted() -> None:
    """If 500 of 20,000 change and 300 go, then only these are requested and deleted."""
    fake = FakePortal(20_000)
    memory = Memory()
    first = harvest(fake, memory).go(rows=1000)
    assert len(first.written) == 20_000
    assert first.count == 20_000
    since = since_for_next(2_000_000_000_000, first.newest, margin_secs=5)
    changed = range(0, 1000, 2)
    for number in changed:
        fake.touch(number)
    gone = range(1, 600, 2)
    for number in gone:
        fake.delete(number)
    fake.n_requests = 0
    second = harvest(fake, memory).go(since=since)
    assert second.written.keys() >= {id_of(n) for n in changed}
    assert len(second.written) <= 510
    assert sorted(second.deleted) == sorted(id_of(n) for n in gone)
    assert len(memory.known) == 19_700
    # 6 pages of changes, 21 of names (the cap is 1000), 15 to confirm
    assert fake.n_requests <= 45


def test_nothing_new_costs_little() -> None:
    """If nothing changed, then it costs a page, the names and nothing else."""
    fake = FakePortal(3000)
    memory = Memory()
    first = harvest(fake, memory).go(rows=1000)
    fake.n_requests = 0
    second = harvest(fake, memory).go(
        since=since_for_next(2_000_000_000_000, first.newest)
    )
    assert fake.n_requests <= 42
    assert second.deleted == []


def test_the_margin_takes_the_earlier_clock() -> None:
    """If the portal's clock is behind or ahead, then the next harvest starts early."""
    started = 1_700_000_000_000  # 2023-11-14T22:13:20Z
    behind, ahead = "2023-11-14T20:00:00.000Z", "2099-01-01T00:00:00.000Z"
    assert since_for_next(started, behind) == "2023-11-14T19:00:00.000Z"
    assert since_for_next(started, ahead) == "2023-11-14T21:13:20.000Z"
    assert since_for_next(started, "", margin_secs=0) == "2023-11-14T22:13:20.000Z"


@pytest.mark.parametrize("refused", ["fq", "sort", "package_search"])
def test_incremental_without_filters(refused: str) -> None:
    """If a portal refuses filters, then changes and deletions are found."""
    fake = FakePortal(500, refuses=frozenset({refused}))
    memory = Memory()
    first = harvest(fake, memory).go()
    for number in range(20):
        fake.touch(number)
    fake.delete(77)
    since = since_for_next(2_000_000_000_000, first.newest, margin_secs=1)
    second = harvest(fake, memory).go(since=since)
    assert {id_of(n) for n in range(20)} <= second.written.keys()
    # Where each dataset is asked for by itself, it is written too.
    assert len(second.written) <= (499 if refused == "package_search" else 25)
    assert second.deleted == [id_of(77)]


def test_newest_first_stops_early() -> None:
    """If only the filter is refused, then reading stops where it is old."""
    fake = FakePortal(5000, refuses=frozenset({"fq"}))
    for number in range(30):
        fake.touch(number)
    done = harvest(fake).go(since=solr_time(time_of(5001)))
    assert len(done.written) == 30
    assert fake.n_requests <= 3


# -- deletions -----------------------------------------------------------------------


def test_a_part_of_a_portal_is_its_own_listing() -> None:
    """If only a part is harvested, then datasets missing in the walk are requested."""
    fake = FakePortal(300)
    memory = Memory()
    portal = replace(PORTAL, scope=PortalScope(organization="town"))
    first = Harvest(fake, portal, memory).go()
    for number in range(5):
        fake.delete(number)
    since = since_for_next(2_000_000_000_000, first.newest, margin_secs=2)
    second = Harvest(fake, portal, memory).go(since=since)
    assert sorted(second.deleted) == sorted(map(id_of, range(5)))
    assert len(second.written) <= 5
    assert second.names == set()


def test_without_a_list_of_names_the_walk_is_the_listing() -> None:
    """If `package_list` is refused, then a walk over all datasets finds deletions."""
    fake = FakePortal(300, refuses=frozenset({"package_list"}))
    memory = Memory()
    first = harvest(fake, memory).go()
    fake.delete(7)
    fake.touch(9)
    since = since_for_next(2_000_000_000_000, first.newest, margin_secs=2)
    second = harvest(fake, memory).go(since=since)
    assert second.deleted == [id_of(7)]
    assert id_of(9) in second.written
    assert len(second.written) <= 5


def test_a_renamed_dataset_is_not_deleted() -> None:
    """If a name is missing but the id exists, then the dataset is written again."""
    fake = FakePortal(100)
    memory = Memory()
    first = harvest(fake, memory).go()
    fake.names[fake.names.index("dataset-5")] = "dataset-five"
    since = since_for_next(2_000_000_000_000, first.newest, margin_secs=1)
    second = harvest(fake, memory).go(since=since)
    assert second.deleted == []
    assert id_of(5) in second.written


def test_the_index_may_be_empty_while_the_database_is_not() -> None:
    """If the search index is being rebuilt, then nothing becomes a tombstone."""
    fake = FakePortal(500)
    memory = Memory()
    first = harvest(fake, memory).go()
    empty = {"success": True, "result": {"count": 0, "results": []}}
    fake.broken["package_search"] = 200, json.dumps(empty).encode()
    done = harvest(fake, memory).go(
        since=since_for_next(2_000_000_000_000, first.newest)
    )
    assert done.deleted == []


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (502, b"<html>Bad gateway"),
        (404, b"<html>Not found"),
        (403, b"<html>Who are you?"),
        (200, b"<html>Please log in"),
        (0, b""),
    ],
)
def test_only_ckan_itself_says_what_is_gone(status: int, body: bytes) -> None:
    """If a proxy responds for a dataset, then there is no tombstone."""
    task = CkanTask(step=CkanStep.CONFIRM, ids=("a",), is_alone=True)
    answer = CkanResponse(status=status, body=body)
    with pytest.raises(SourceFault):
        advance(task, answer, PORTAL, FaultLog())


@pytest.mark.parametrize("quirk", [{"cap": 5}, {"refuses": frozenset({"fq"})}])
def test_incomplete_search_by_id_deletes_nothing(
    quirk: dict[str, object],
) -> None:
    """If the search by ids gives fewer or is refused, then each is requested."""
    fake = FakePortal(30, **quirk)  # type: ignore[arg-type]
    ids = (*map(id_of, range(12)), "gone")
    task = CkanTask(step=CkanStep.CONFIRM, ids=ids, rows=1)
    if "cap" in quirk:
        page = fake._page(fake.rows[:5], 12, request_of(task, PORTAL))
        outcome = advance(task, page, PORTAL, FaultLog())
    else:
        answer = fake.answer(request_of(task, PORTAL))
        outcome = advance(task, answer, PORTAL, FaultLog())
    assert outcome.deleted == ()
    assert [one.ids for one in outcome.tasks] == [(one,) for one in ids]
    assert all(one.is_alone for one in outcome.tasks)
