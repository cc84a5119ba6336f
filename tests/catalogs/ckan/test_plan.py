"""The walk through a CKAN portal: nothing lost, nothing doubled, nothing invented."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.catalogs.ckan import envelope
from rdfcrawl.catalogs.ckan.api import CkanRequest, PortalAddress, PortalScope
from rdfcrawl.catalogs.ckan.envelope import CkanAnswer
from rdfcrawl.catalogs.ckan.mapping import iter_statements
from rdfcrawl.catalogs.ckan.outcome import PlanLimits
from rdfcrawl.catalogs.ckan.plan import advance, first_task, request_of
from rdfcrawl.catalogs.ckan.times import since_for_next, solr_time
from rdfcrawl.codec import decode, encode
from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.messages import NodeRequest
from rdfcrawl.dataweb.nodes.base import NodePlan
from rdfcrawl.dataweb.nodes.ckan import CkanNode
from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.faultlog import FaultLog
from rdfcrawl.tasks.ckan import CkanOrder, CkanStep, CkanTask
from tests.support.ckan_portals import FakePortal, Harvest, Memory, id_of, time_of
from tests.support.examples import examples

N_TRIPLES = pyoxigraph.RdfFormat.N_TRIPLES
PORTAL = PortalAddress(url="https://data.example")


def harvest(fake: FakePortal, memory: Memory | None = None, **more: object) -> Harvest:
    """Return a harvest that is not begun."""
    one = Harvest(fake, PORTAL, memory if memory is not None else Memory())
    return replace(one, **more)  # type: ignore[arg-type]


def all_ids(fake: FakePortal) -> set[str]:
    """Return the ids of all datasets there are."""
    return {row[1] for row in fake.rows}


# -- the whole of a portal ---------------------------------------------------------


@pytest.mark.parametrize(
    ("n_datasets", "rows"),
    [
        *((n, rows) for n in (0, 1, 2, 99, 100, 101) for rows in (1, 2, 7, 100)),
        *((1234, 7), (1234, 100)),
    ],
)
def test_every_dataset_is_given_out(n_datasets: int, rows: int) -> None:
    """If a portal has any number of datasets, then pages of any size bring all."""
    fake = FakePortal(n_datasets)
    done = harvest(fake).go(rows=rows)
    assert done.written.keys() == all_ids(fake)
    assert done.is_swept
    assert done.deleted == []
    assert done.log.all() == []


def test_one_request_is_enough_for_a_small_portal() -> None:
    """If all datasets fit on a page, then one request is made, in any order."""
    fake = FakePortal(50, without_times=True, disorder=True)
    done = harvest(fake).go()
    assert (fake.n_requests, len(done.written)) == (1, 50)
    assert done.log.all() == []


@pytest.mark.parametrize(
    "quirks",
    [
        {"cap": 10},
        {"cap": 1},
        {"cap": 1, "refuses": frozenset({"fq"})},
        {"cap": 2, "refuses": frozenset({"package_search", "package_list"})},
        {"refuses": frozenset({"fq"})},
        {"refuses": frozenset({"fq", "sort"})},
        {"refuses": frozenset({"sort"})},
        {"refuses": frozenset({"package_search"})},
        {"refuses": frozenset({"package_search", "package_list"})},
        {"disorder": True},
        {"without_times": True},
        {"without_times": True, "disorder": True, "cap": 7},
        {"shifted": 7200},
        {"shifted": -7200},
    ],
    ids=lambda quirks: "-".join(map(str, quirks)),  # a set has no order
)
def test_a_quirk_costs_requests_and_no_dataset(quirks: dict[str, object]) -> None:
    """If a portal caps, refuses, disorders or misdates, then all datasets come."""
    fake = FakePortal(333, **quirks)  # type: ignore[arg-type]
    done = harvest(fake).go()
    assert done.written.keys() == all_ids(fake)
    assert done.is_swept


def test_all_of_one_time_are_counted() -> None:
    """If thousands have one time, as after a bulk import, then all of them come."""
    fake = FakePortal(50)
    for number in range(1000, 1950):
        fake.touch(number, time=70)
    for number in range(2000, 2050):
        fake.touch(number, time=number)
    done = harvest(fake).go(rows=30)
    assert done.written.keys() == all_ids(fake)
    assert done.log.all() == []


@pytest.mark.parametrize("order", ["keyset", "sorted"])
def test_changes_meanwhile_are_neither_lost_nor_doubled(order: str) -> None:
    """If datasets change, come and go while pages are read, then none is lost."""
    refuses = frozenset({"fq"}) if order == "sorted" else frozenset[str]()
    fake = FakePortal(1000, refuses=refuses)

    def change(n_requests: int) -> None:
        fake.touch((n_requests * 37) % 700)
        fake.touch(5000 + n_requests)
        if order == "keyset" or n_requests % 3 == 0:
            fake.delete(700 + n_requests)

    fake.before = change
    before = all_ids(fake)
    done = harvest(fake).go(rows=50)
    assert done.written.keys() >= before & all_ids(fake)
    assert done.is_swept


@given(
    st.lists(
        st.tuples(st.integers(1, 30), st.sampled_from("tdc"), st.integers(0, 119)),
        max_size=40,
    ),
    st.integers(1, 20),
    st.booleans(),
    st.sampled_from(["", "fq", "package_search"]),
)
@settings(max_examples=examples(80), deadline=None)
def test_what_stays_is_given_out(
    events: list[tuple[int, str, int]], rows: int, is_tied: bool, refused: str
) -> None:
    """If any changes happen between any pages, then what was always there comes."""
    fake = FakePortal(120, refuses=frozenset({refused}))
    if is_tied:
        for number in range(30, 90):
            fake.touch(number, time=500)
    gone: set[int] = set()

    def happen(n_requests: int) -> None:
        for at, kind, number in events:
            if at != n_requests:
                continue
            if kind == "d" and number in fake.by_number:
                fake.delete(number)
                gone.add(number)
            elif kind == "t" and number in fake.by_number:
                fake.touch(number, time=1000 + n_requests)
            elif kind == "c":
                fake.touch(1000 + number, time=1000 + n_requests)

    fake.before = happen
    done = harvest(fake).go(rows=rows)
    lost = {id_of(n) for n in range(120) if n not in gone} - done.written.keys()
    # Rows of a list of names have no overlap; what slips is met by the next harvest.
    assert len(lost) == 0 or refused == "package_search"


def test_a_bulk_deletion_between_pages_loses_nothing() -> None:
    """If hundreds before the page are deleted, then the walk goes back far enough."""
    fake = FakePortal(1000, refuses=frozenset({"fq"}))

    def purge(n_requests: int) -> None:
        if n_requests == 20:
            for one in sorted(fake.numbers)[:600:2]:
                fake.delete(fake.numbers[one])

    fake.before = purge
    done = harvest(fake).go(rows=40)
    assert done.written.keys() >= all_ids(fake)
    assert done.is_swept


def test_a_crash_costs_one_page() -> None:
    """If every task is done twice, then the result is the same."""
    fake = FakePortal(400)
    done = harvest(fake)
    done.n_known = 0
    queue = [encode(first_task(PORTAL))]
    while queue:
        task = queue.pop()
        again = done.step(task)
        assert done.step(task) == again
        queue += [encode(one) for one in again]
    assert done.written.keys() == all_ids(fake)


# -- incremental -------------------------------------------------------------------


def test_a_second_harvest_reads_what_changed_and_finds_the_deleted() -> None:
    """If 500 of 20,000 change and 300 go, then only these are asked for and gone."""
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
    """If only a part is harvested, then what the walk does not meet is asked for."""
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
    """If `package_list` is refused, then a walk over all finds what was deleted."""
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
    """If a name is missing but the id answers, then the dataset is written again."""
    fake = FakePortal(100)
    memory = Memory()
    first = harvest(fake, memory).go()
    fake.names[fake.names.index("dataset-5")] = "dataset-five"
    since = since_for_next(2_000_000_000_000, first.newest, margin_secs=1)
    second = harvest(fake, memory).go(since=since)
    assert second.deleted == []
    assert id_of(5) in second.written


@pytest.mark.parametrize("left", [0, 9_000])
def test_a_portal_that_forgot_is_at_fault(left: int) -> None:
    """If a portal of 20,000 lists none or few, then nothing becomes a tombstone."""
    memory = Memory({id_of(n): f"dataset-{n}" for n in range(20_000)})
    for since in ("", "2100-01-01T00:00:00.000Z"):
        done = harvest(FakePortal(left), memory)
        with pytest.raises(SourceFault) as caught:
            done.go(since=since, rows=1000)
        assert caught.value.fault.reason is Reason.BAD_ANSWER
        assert done.deleted == []


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
    """If a proxy answers for a dataset, then it is no tombstone."""
    task = CkanTask(step=CkanStep.CONFIRM, ids=("a",), is_alone=True)
    answer = CkanAnswer(status=status, body=body)
    with pytest.raises(SourceFault):
        advance(task, answer, PORTAL, FaultLog())


@pytest.mark.parametrize("quirk", [{"cap": 5}, {"refuses": frozenset({"fq"})}])
def test_a_search_by_id_that_is_not_whole_is_not_believed(
    quirk: dict[str, object],
) -> None:
    """If the search by ids gives fewer or is refused, then each is asked for."""
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


# -- bad answers -----------------------------------------------------------------------


def test_a_page_that_is_cut_off_is_read_in_smaller_ones() -> None:
    """If answers are cut at a size, then what is whole is kept and all comes."""
    fake = FakePortal(300, max_bytes=6000)
    done = harvest(fake).go()
    assert done.written.keys() == all_ids(fake)
    assert done.log.count(Reason.BAD_ANSWER)


def test_a_portal_that_fails_on_large_pages_gets_smaller_ones() -> None:
    """If 500 comes for large pages only, then smaller ones bring all."""

    class Weak(FakePortal):
        def _page(
            self, rows: list[tuple[int, str, int]], count: int, request: CkanRequest
        ) -> CkanAnswer:
            if len(rows) > 20:
                return CkanAnswer(status=500, body=b"")
            return super()._page(rows, count, request)

    fake = Weak(300)
    done = harvest(fake).go()
    assert done.written.keys() == all_ids(fake)


@pytest.mark.parametrize("refused", ["", "fq"])
def test_one_dataset_that_is_too_large_is_passed_over(
    refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If one dataset cannot be read even alone, then all others come."""

    class Fat(FakePortal):
        def package(self, row: tuple[int, str, int]) -> dict[str, object]:
            found = super().package(row)
            return {**found, "notes": "x" * 50_000} if row[2] == 77 else found

    monkeypatch.setattr(envelope, "MAX_ANSWER_BYTES", 40_000)
    fake = Fat(300, refuses=frozenset({refused}))
    done = harvest(fake).go(rows=60)
    assert all_ids(fake) - done.written.keys() == {id_of(77)}
    assert done.is_swept
    assert done.log.count(Reason.INCOMPLETE)
    assert fake.n_requests < 60


@pytest.mark.parametrize("refused", ["package_search", "package_search package_list"])
def test_an_offset_that_is_not_heeded_is_a_loop(refused: str) -> None:
    """If every page is the first one, then the walk ends with a named fault."""
    fake = FakePortal(
        500, ignores_start=True, refuses=frozenset(refused.split()), cap=50
    )
    done = harvest(fake)
    if "package_list" in refused:
        with pytest.raises(SourceFault) as caught:
            done.go()
        assert caught.value.fault.reason is Reason.PAGING_LOOP
    else:
        done.go()
        assert done.log.count(Reason.PAGING_LOOP)
    assert fake.n_requests < 120
    assert len(done.written) == 50


def test_an_empty_page_before_the_end_is_incomplete() -> None:
    """If a page is empty though more is counted, then the harvest has failed."""
    empty = json.dumps({"success": True, "result": {"count": 900, "results": []}})
    task = CkanTask(
        step=CkanStep.SEARCH, order=CkanOrder.SORTED, start=100, page=1, last="x"
    )
    with pytest.raises(SourceFault) as caught:
        advance(task, CkanAnswer(status=200, body=empty.encode()), PORTAL, FaultLog())
    assert caught.value.fault.reason is Reason.INCOMPLETE


def test_too_many_pages_end_the_walk() -> None:
    """If a walk has more pages than the limit, then what was read is kept."""
    done = harvest(FakePortal(500), limits=PlanLimits(n_pages=3)).go(rows=50)
    assert 100 < len(done.written) < 500
    assert not done.is_swept
    assert done.log.count(Reason.TOO_MANY_ENTRIES)


@given(st.binary(max_size=200), st.sampled_from(list(CkanStep)), st.integers(0, 599))
@settings(max_examples=examples(300), deadline=None)
def test_any_answer_is_a_named_fault(body: bytes, step: CkanStep, status: int) -> None:
    """If an answer is any bytes, then nothing but a `SourceFault` is raised."""
    task = CkanTask(step=step, ids=("a", "b"), rows=10)
    try:
        outcome = advance(
            task, CkanAnswer(status=status, body=body), PORTAL, FaultLog()
        )
    except SourceFault:
        return
    assert outcome.deleted == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["success", "result", "results", "count", "error", "id", "name"]
            )
            | st.text(max_size=4),
            inner,
            max_size=6,
        )
    ),
    max_leaves=25,
)


@given(
    JSON, st.sampled_from(list(CkanStep)), st.sampled_from([200, 400, 403, 404, 500])
)
@settings(max_examples=examples(300), deadline=None)
def test_any_json_is_a_named_fault(value: object, step: CkanStep, status: int) -> None:
    """If an answer is any JSON, then nothing but a `SourceFault` is raised."""
    body = json.dumps({"success": True, "result": value}).encode()
    task = CkanTask(step=step, ids=("a",), rows=10)
    for text in (body, json.dumps(value).encode()):
        try:
            advance(task, CkanAnswer(status=status, body=text), PORTAL, FaultLog())
        except SourceFault:
            continue


# -- tasks ---------------------------------------------------------------------------


def test_a_task_survives_its_text() -> None:
    """If a task is written and read, then it is the same, and short."""
    task = CkanTask(
        step=CkanStep.SEARCH,
        since="2024-02-29T12:00:00.123Z",
        cursor="2024-03-01T12:00:00.123Z",
        last=id_of(1),
        expected=100_000,
        page=999,
        finds_deleted=True,
    )
    text = encode(task)
    assert decode(text, CkanTask) == task
    assert text.isascii()
    assert len(text) < 200


# -- scale -----------------------------------------------------------------------------


def test_a_portal_of_30_000_datasets_in_flat_memory() -> None:
    """If a portal has 30,000 datasets, then memory is that of a page."""
    fake = FakePortal(30_000)
    seen = bytearray(30_000)
    log = FaultLog()
    task: CkanTask | None = first_task(PORTAL, rows=1000)
    while task is not None:
        request = request_of(task, PORTAL)
        answer = fake.answer(request)
        if fake.n_requests == 20:
            tracemalloc.start()
        outcome = advance(task, answer, PORTAL, log)
        for package in outcome.packages:
            seen[fake.numbers[package.id]] = 1
        if fake.n_requests == 20:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        # All that is kept from page to page is one short text.
        assert len(outcome.tasks) <= 1
        task = outcome.tasks[0] if outcome.tasks else None
        assert task is None or len(encode(task)) < 220
    assert all(seen)
    assert fake.n_requests <= 32
    assert peak < 4 * 2**20


# -- the portals of the benchmark ----------------------------------------------------


@pytest.mark.parametrize("n_links", [1, 20, 350])
def test_all_that_orca_expects_of_a_portal(n_links: int) -> None:
    """If a node of the benchmark is read, then each expected statement is there."""
    links = tuple(f"http://10.0.0.{n}:8890/sparql" for n in range(n_links))
    plan = NodePlan(
        index=0,
        kind=NodeKind.CKAN,
        address="10.1.1.1",
        port=5000,
        access_uri="http://10.1.1.1:5000/",
        links=links,
    )
    node = CkanNode(plan)
    portal = PortalAddress(url="http://10.1.1.1:5000")
    log = FaultLog()
    queue = [first_task(portal)]
    triples: set[tuple[str, ...]] = set()
    n_requests = 0
    while queue:
        request = request_of(task := queue.pop(), portal)
        target = request.url.removeprefix(portal.url)
        response = node.answer(NodeRequest(method="GET", target=target))
        n_requests += 1
        outcome = advance(
            task, CkanAnswer(status=response.status, body=response.body), portal, log
        )
        queue += outcome.tasks
        for package in outcome.packages:
            lines = iter_statements(package.load(), portal, log)
            for quad in pyoxigraph.parse("".join(lines).encode(), N_TRIPLES):
                s, p, o = map(str, quad.triple)
                triples |= {(s, p, o), ("_:", p, o), (s, p, "_:"), ("_:", p, "_:")}
    for wanted in node.iter_truth():
        pattern = tuple("_:" if term.startswith("_:") else term for term in wanted)
        assert pattern in triples
    assert n_requests == (1 if n_links <= 100 else 5)
