"""Requests of harvests, compared with a planner that knows data and limits."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.source_tasks import PageSize, SparqlTask
from rdfcrawl.sources.sparql.exchange import (
    SparqlFailure,
    SparqlRequest,
    SparqlResponse,
)
from rdfcrawl.sources.sparql.plan import EndpointPlan
from rdfcrawl.sources.sparql.sizes import grown, shrunk
from tests.support.sparql_driver import Harvested, harvest_all, query_of
from tests.support.sparql_planner import (
    CostlyEndpoint,
    EndpointLimits,
    described,
    ideal_requests,
)
from tests.support.sparql_stores import canonical

if TYPE_CHECKING:
    from collections.abc import Callable

RESOURCES = described(600)
HUB = described(400, n_hub=800)
BLANKS = described(500, n_blank=250, n_hub=250)
MANY_RESOURCES = described(1_250)
LARGE_HUB = described(800, n_hub=1_600)
MANY_BLANKS = described(1_000, n_blank=500, n_hub=500)
GRAPHS = tuple(
    f'<http://e/{n}/{i}> <http://e/p> "v{i}" <http://e/g{n}> .\n'
    for n in range(300)
    for i in range(10)
)
FEW_GRAPHS = GRAPHS[:1_500]
_NEW: tuple[str, ...] = ("COUNT", "MD5", "BIND", "VALUES", "NOT EXISTS", " AS ?")
FEW_RESOURCES = described(200, n_hub=400)
HUBS = tuple(
    f"<http://e.org/hub{h}> <http://e.org/m> <http://e.org/m{i}> <http://e.org/g> .\n"
    for h in range(40)
    for i in range(60)
)
HUBS_OF_GRAPHS = tuple(
    line
    for n in range(5)
    for line in described(50, n_hub=500, graph=f"http://e.org/g{n}")
)
LARGE_GRAPHS = tuple(
    line
    for n in range(12)
    for line in described(60 + 10 * n, n_hub=100 * (n % 3), graph=f"http://e/g{n:02}")
)
_PROBE = "?b (STR(?b)"

CASES = {
    "cap": (RESOURCES, EndpointLimits(cap=50)),
    "odd cap": (RESOURCES, EndpointLimits(cap=61)),
    "every 4th": (RESOURCES, EndpointLimits(cap=50, every=4)),
    "every 7th": (RESOURCES, EndpointLimits(cap=50, every=7)),
    "outage": (RESOURCES, EndpointLimits(cap=50, outages=range(30, 37))),
    "outage at first": (RESOURCES, EndpointLimits(cap=50, outages=range(4, 11))),
    "small parts sorted": (MANY_RESOURCES, EndpointLimits(cap=100, sorted=1_000)),
    "nothing sorted": (MANY_RESOURCES, EndpointLimits(cap=100, sorted=1)),
    "few rows": (RESOURCES, EndpointLimits(cap=250, rows=35)),
    "more rows": (RESOURCES, EndpointLimits(cap=250, rows=65)),
    "closed at a count": (RESOURCES, EndpointLimits(cap=50, breaks=("GROUP BY",))),
    "hub": (HUB, EndpointLimits(cap=50)),
    "hub, small parts sorted": (LARGE_HUB, EndpointLimits(cap=100, sorted=1_000)),
    "hub, every 5th": (HUB, EndpointLimits(cap=50, every=5)),
    "blank nodes": (BLANKS, EndpointLimits(cap=50)),
    "blank nodes, small offsets": (BLANKS, EndpointLimits(cap=50, offset=200)),
    "blank nodes, small parts sorted": (
        MANY_BLANKS,
        EndpointLimits(cap=100, sorted=1_000),
    ),
    "blank nodes, every 5th": (BLANKS, EndpointLimits(cap=50, every=5)),
    "blank nodes, closed at a probe": (
        BLANKS,
        EndpointLimits(cap=50, breaks=(_PROBE,)),
    ),
    "new labels": (BLANKS, EndpointLimits(cap=50, local_labels=True)),
    "new labels, every 5th": (
        BLANKS,
        EndpointLimits(cap=50, local_labels=True, every=5),
    ),
    "small graphs": (GRAPHS, EndpointLimits(cap=100)),
    "small graphs, every 5th": (GRAPHS, EndpointLimits(cap=100, every=5)),
    "small graphs, sizes unknown": (
        GRAPHS,
        EndpointLimits(cap=100, without=("GROUP BY",)),
    ),
    "small graphs, no VALUES": (GRAPHS, EndpointLimits(cap=100, without=("VALUES",))),
    "graphs": (LARGE_GRAPHS, EndpointLimits(cap=100)),
    "graphs, few rows": (LARGE_GRAPHS, EndpointLimits(cap=100, rows=60)),
    "graphs, small parts sorted": (LARGE_GRAPHS, EndpointLimits(cap=100, sorted=300)),
    "graphs, small parts sorted, every 5th": (
        LARGE_GRAPHS,
        EndpointLimits(cap=100, sorted=300, every=5),
    ),
    "nothing sorted, no MD5": (
        FEW_RESOURCES,
        EndpointLimits(cap=50, sorted=1, without=("MD5",)),
    ),
    "nothing sorted, MD5 too slow": (
        FEW_RESOURCES,
        EndpointLimits(cap=50, sorted=1, breaks=("MD5",)),
    ),
    "no COUNT": (HUB, EndpointLimits(cap=50, without=("COUNT",))),
    "no COUNT, blank nodes": (BLANKS, EndpointLimits(cap=50, without=("COUNT",))),
    "SPARQL 1.0": (RESOURCES, EndpointLimits(cap=50, without=_NEW)),
    "SPARQL 1.0, blank nodes": (BLANKS, EndpointLimits(cap=50, without=_NEW)),
    "no FILTER": (RESOURCES, EndpointLimits(cap=50, without=("FILTER",))),
    "many hubs": (HUBS, EndpointLimits(cap=50)),
    "many hubs, every 5th": (HUBS, EndpointLimits(cap=50, every=5)),
    "hubs of graphs": (HUBS_OF_GRAPHS, EndpointLimits(cap=200)),
    "cap of few rows": (FEW_RESOURCES, EndpointLimits(cap=20)),
    "small graphs, nothing sorted": (FEW_GRAPHS, EndpointLimits(cap=100, sorted=1)),
    "nothing sorted, few rows": (FEW_RESOURCES, EndpointLimits(cap=20, sorted=1)),
    "nothing sorted, few rows, large graph": (
        RESOURCES,
        EndpointLimits(cap=20, sorted=1),
    ),
    "nothing sorted, blank nodes": (
        described(80, n_blank=40),  # of one class
        EndpointLimits(cap=20, sorted=1),
    ),
    "nothing sorted, many blank nodes": (
        described(200, n_blank=200),
        EndpointLimits(cap=50, sorted=1),
    ),
    "nothing sorted, sums refused": (
        FEW_RESOURCES,
        EndpointLimits(cap=50, sorted=1, without=("SUM",)),
    ),
    "nothing sorted, sums too slow": (
        FEW_RESOURCES,
        EndpointLimits(cap=50, sorted=1, breaks=("SUM",)),
    ),
    "nothing sorted, every 5th": (
        RESOURCES,
        EndpointLimits(cap=50, every=5, sorted=1),
    ),
}


@pytest.mark.in_turn(6)
@pytest.mark.parametrize("name", CASES)
def test_requests_are_few_and_statements_complete(name: str) -> None:
    """If an endpoint has limits, then at most 1.5 times the least requests are made."""
    lines, limits = CASES[name]
    endpoint = CostlyEndpoint(lines, limits)
    found = harvest_all(EndpointPlan("http://e.org/sparql"), endpoint, max_requests=500)
    assert canonical(found.document) == canonical("".join(lines).encode())
    assert found.is_complete, found.faults
    assert endpoint.n_queries <= 1.5 * ideal_requests(lines, limits), found.steps


def test_scans_that_time_out_leave_offsets() -> None:
    """If neither counts nor hashes are possible, then rows are read by OFFSET."""
    limits = EndpointLimits(cap=50, scanned=2_500)
    endpoint = CostlyEndpoint(RESOURCES, limits)
    found = harvest_all(EndpointPlan("http://e.org/sparql"), endpoint, max_requests=500)
    assert canonical(found.document) == canonical("".join(RESOURCES).encode())
    assert endpoint.n_queries <= 1.5 * ideal_requests(RESOURCES, limits)


def harvest_answers(
    lines: tuple[str, ...], word: str, change: Callable[[list[Any]], list[Any]]
) -> Harvested:
    """Harvest an endpoint that cannot sort, and changes rows if a query has a word."""
    endpoint = CostlyEndpoint(lines, EndpointLimits(cap=20, sorted=1))

    def ask(request: SparqlRequest) -> SparqlResponse | SparqlFailure:
        response = endpoint(request)
        if isinstance(response, SparqlFailure) or response.status != 200:
            return response
        if word not in query_of(request):
            return response
        table = json.loads(response.body.data or b"")
        table["results"]["bindings"] = change(table["results"]["bindings"])
        return replace(response, body=ByteSource(json.dumps(table).encode()))

    return harvest_all(EndpointPlan("http://e.org/sparql"), ask, max_requests=500)


def test_sums_that_are_wrong_are_left_out() -> None:
    """If the sums of a table are not its count, then tables without them are read."""

    def without_last(rows: list[Any]) -> list[Any]:
        return [{x: y for x, y in row.items() if x != "n3"} for row in rows]

    found = harvest_answers(FEW_RESOURCES, "SUM", without_last)
    assert canonical(found.document) == canonical("".join(FEW_RESOURCES).encode())
    assert found.is_complete, found.faults
    assert sum("SUM" in query for query in found.queries) == 1


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_rows_with_one_hash_are_sure_if_they_keep_their_places(
    *, is_shuffled: bool
) -> None:
    """If more rows have one hash than fit into a response, then their places count.

    An endpoint that cannot sort may still give its rows in one order. If it does not,
    then nothing shows that they are all, and the fault says so.
    """
    lines = described(80, n_blank=40)  # of one class
    n_pages = count()

    def rotated(rows: list[Any]) -> list[Any]:
        n = next(n_pages) if is_shuffled else 0
        return rows[n:] + rows[:n]

    found = harvest_answers(lines, "LIMIT 20 OFFSET", rotated)
    assert canonical(found.document) == canonical("".join(lines).encode())
    told = ["40 of 40 rows of offset: <http://e.org/g>"] if is_shuffled else []
    assert [x.detail for x in found.faults] == told


def test_sizes_recover() -> None:
    """If a page fails, then later ones grow up to the size that works, or as before."""
    for largest in (10, 70, 333, 9_999, 10_000):
        task, n_rows, n_failed = SparqlTask(step="page", limit=10_000), 0, 0
        for _ in range(200):
            if task.limit > largest:
                task, n_failed = shrunk(task, 10), n_failed + 1
            else:
                n_rows += task.limit
                task = grown(task)
        assert n_rows > 0.75 * 200 * largest
        assert n_failed < 25
    task = shrunk(SparqlTask(step="page", limit=10_000), 10)
    for _ in range(40):
        task = grown(task)
    assert (task.limit, task.size) == (10_000, PageSize())
