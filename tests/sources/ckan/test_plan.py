"""The walk through a CKAN portal: nothing lost, nothing doubled, nothing invented."""

from __future__ import annotations

import json
import tracemalloc

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.core.source_tasks import CkanOrder, CkanStep, CkanTask
from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.messages import NodeRequest
from rdfcrawl.dataweb.nodes.base import NodePlan
from rdfcrawl.dataweb.nodes.ckan import CkanNode
from rdfcrawl.sources.ckan import envelope
from rdfcrawl.sources.ckan.api import CkanRequest, PortalAddress
from rdfcrawl.sources.ckan.envelope import CkanResponse
from rdfcrawl.sources.ckan.mapping import iter_statements
from rdfcrawl.sources.ckan.paging import PlanLimits
from rdfcrawl.sources.ckan.plan import advance, first_task, request_of
from tests.support.ckan_harvests import PORTAL, all_ids, harvest
from tests.support.ckan_portals import FakePortal, id_of
from tests.support.examples import examples

N_TRIPLES = pyoxigraph.RdfFormat.N_TRIPLES


# -- the entire portal --------------------------------------------------------------


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
    """If a portal caps, refuses, disorders or misdates, then all datasets are read."""
    fake = FakePortal(333, **quirks)  # type: ignore[arg-type]
    done = harvest(fake).go()
    assert done.written.keys() == all_ids(fake)
    assert done.is_swept


def test_all_of_one_time_are_counted() -> None:
    """If thousands have one time, as after a bulk import, then all are read."""
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
    """If any changes happen between any pages, then all unchanged datasets are read."""
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
    # Rows of a list of names have no overlap; the next harvest finds missed rows.
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


# -- bad answers -----------------------------------------------------------------------


def test_a_page_that_is_cut_off_is_read_in_smaller_ones() -> None:
    """If responses are cut at a size, then complete rows are kept and all are read."""
    fake = FakePortal(300, max_bytes=6000)
    done = harvest(fake).go()
    assert done.written.keys() == all_ids(fake)
    assert done.log.count(Reason.BAD_ANSWER)


def test_a_portal_that_fails_on_large_pages_gets_smaller_ones() -> None:
    """If 500 comes for large pages only, then smaller ones have all."""

    class Weak(FakePortal):
        def _page(
            self, rows: list[tuple[int, str, int]], count: int, request: CkanRequest
        ) -> CkanResponse:
            if len(rows) > 20:
                return CkanResponse(status=500, body=b"")
            return super()._page(rows, count, request)

    fake = Weak(300)
    done = harvest(fake).go()
    assert done.written.keys() == all_ids(fake)


@pytest.mark.parametrize("refused", ["", "fq"])
def test_one_dataset_that_is_too_large_is_passed_over(
    refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If one dataset cannot be read even alone, then all others are read."""

    class Fat(FakePortal):
        def package(self, row: tuple[int, str, int]) -> dict[str, object]:
            found = super().package(row)
            return {**found, "notes": "x" * 50_000} if row[2] == 77 else found

    monkeypatch.setattr(envelope, "MAX_RESPONSE_BYTES", 40_000)
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
        advance(task, CkanResponse(status=200, body=empty.encode()), PORTAL, FaultLog())
    assert caught.value.fault.reason is Reason.INCOMPLETE


def test_too_many_pages_end_the_walk() -> None:
    """If a walk has more pages than the limit, then the pages read are kept."""
    done = harvest(FakePortal(500), limits=PlanLimits(n_pages=3)).go(rows=50)
    assert 100 < len(done.written) < 500
    assert not done.is_swept
    assert done.log.count(Reason.TOO_MANY_ENTRIES)


@given(st.binary(max_size=200), st.sampled_from(list(CkanStep)), st.integers(0, 599))
@settings(max_examples=examples(300), deadline=None)
def test_any_answer_is_a_named_fault(body: bytes, step: CkanStep, status: int) -> None:
    """If a response is any bytes, then nothing but a `SourceFault` is raised."""
    task = CkanTask(step=step, ids=("a", "b"), rows=10)
    try:
        outcome = advance(
            task, CkanResponse(status=status, body=body), PORTAL, FaultLog()
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
    """If a response is any JSON, then nothing but a `SourceFault` is raised."""
    body = json.dumps({"success": True, "result": value}).encode()
    task = CkanTask(step=step, ids=("a",), rows=10)
    for text in (body, json.dumps(value).encode()):
        try:
            advance(task, CkanResponse(status=status, body=text), PORTAL, FaultLog())
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
        response = node.respond(NodeRequest(method="GET", target=target))
        n_requests += 1
        outcome = advance(
            task, CkanResponse(status=response.status, body=response.body), portal, log
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
