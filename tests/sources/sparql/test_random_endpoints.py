"""Endpoints with random data, limits and refusals."""

from __future__ import annotations

import random

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.source_tasks import SparqlTask
from rdfcrawl.sources.sparql.exchange import (
    SparqlFailure,
    SparqlRequest,
    SparqlResponse,
)
from rdfcrawl.sources.sparql.plan import EndpointPlan
from tests.support.sparql_driver import Harvested, harvest_all
from tests.support.sparql_endpoints import failed
from tests.support.sparql_planner import CostlyEndpoint, EndpointLimits, described
from tests.support.sparql_stores import canonical

_E, _G = "http://e.org", "<http://e.org/g>"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_WORDS: tuple[tuple[str, ...], ...] = (
    *((), (), ("CONCAT",), ("MD5",)),
    *(("GROUP BY",), ("COUNT",), ("VALUES",), ("SUM",)),
)


def harvest(lines: tuple[str, ...], limits: EndpointLimits) -> Harvested:
    """Harvest an endpoint that knows no functions but those of the standard."""
    endpoint = CostlyEndpoint(lines, limits)

    def ask(request: SparqlRequest) -> SparqlResponse | SparqlFailure:
        try:
            return endpoint(request)
        except RuntimeError:
            return failed(400, "unknown function")

    return harvest_all(EndpointPlan(f"{_E}/sparql"), ask, max_requests=4_000)


def random_lines(rng: random.Random) -> tuple[str, ...]:
    """Return statements of hubs, blank nodes, and subjects whose IRIs are alike."""
    lines = []
    for h in range(rng.randint(1, 20)):
        graph = rng.randint(1, 3)
        ends = ("", "x", "!", " x" if rng.random() < 0.1 else "é")
        subject = f"<{_E}/{h}{rng.choice(ends)}>".replace(" ", "%20")
        if rng.random() < 0.2:
            subject = f"_:g{graph}b{h}"
        n_rows, is_one = rng.choice([1, 8, 8, 8, 60, 200]), rng.random() < 0.15
        for i in range(n_rows):
            obj = rng.choice([f'"v{i}"', f"<{_E}/o{i}>", f'"v{i}"@en'])
            if rng.random() < 0.05:
                obj = f"_:g{graph}c{i % 7}"
            predicate, obj = (i, '"one"') if is_one else (i % 5, obj)
            lines.append(f"{subject} <{_E}/p{predicate}> {obj} <{_E}/g{graph}> .\n")
    return tuple(dict.fromkeys(lines))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.in_turn(3)
def test_harvests_are_equal_or_say_that_they_are_not(seed: int) -> None:
    """If an endpoint has any data and limits, then no loss goes without a fault."""
    rng = random.Random(seed)
    lines = random_lines(rng)
    limits = EndpointLimits(
        cap=rng.choice([20, 50, 100, 333]),
        every=rng.choice([0, 0, 4, 7]),
        offset=rng.choice([0, 200]),
        sorted=rng.choice([0, 0, 300]),
        rows=rng.choice([0, 0, 35]),
        local_labels=rng.random() < 0.3,
        without=rng.choice(_WORDS),
    )
    found = harvest(lines, limits)
    if canonical(found.document) != canonical("".join(lines).encode()):
        assert not found.is_complete, limits
        assert Reason.INCOMPLETE in {fault.reason for fault in found.faults}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.in_turn(3)
def test_tasks_that_are_done_twice_store_no_blank_node_twice(seed: int) -> None:
    """If workers are killed, and a flaky endpoint answers otherwise, nothing is double.

    Both responses of a task are stored, and what follows from them.
    """
    rng, lost = random.Random(seed), set[SparqlTask]()
    lines = tuple(
        line.replace("_:b", f"_:g{n}b")
        for n in range(rng.randint(1, 8))
        for line in described(
            rng.randint(1, 12),
            n_blank=rng.randint(0, 12),
            graph=f"{_E}/g{n}",
        )
    )

    def is_lost(task: SparqlTask) -> bool:
        is_first = task not in lost
        lost.add(task)
        return is_first and rng.random() < 0.5

    endpoint = CostlyEndpoint(
        lines,
        EndpointLimits(
            cap=rng.choice([50, 100, 1_000]),
            every=rng.choice([3, 4, 5]),
            sorted=rng.choice([0, 0, 300]),
            local_labels=seed % 3 > 0,
        ),
    )
    plan = EndpointPlan(f"{_E}/sparql")
    found = harvest_all(plan, endpoint, max_requests=4_000, is_lost=is_lost)
    assert canonical(found.document) == canonical("".join(lines).encode())


def lists_of(n_members: int) -> tuple[str, ...]:
    """Return five lists of blank nodes."""
    lines = []
    for n in range(5):
        nodes = [f"_:l{n}m{i}" for i in range(n_members)]
        lines.append(f"<{_E}/x{n}> <{_E}/list> {nodes[0]} {_G} .\n")
        for i, node in enumerate(nodes):
            rest = nodes[i + 1] if i + 1 < n_members else f"<{_RDF}nil>"
            lines.append(f'{node} <{_RDF}first> "v{n} {i}" {_G} .\n')
            lines.append(f"{node} <{_RDF}rest> {rest} {_G} .\n")
    return tuple(lines)


@pytest.mark.parametrize(("n_members", "is_complete"), [(8, True), (20, False)])
def test_long_lists_are_complete_or_left_out(
    n_members: int, *, is_complete: bool
) -> None:
    """If labels are of one response, then no list is stored in parts."""
    lines = lists_of(n_members)
    found = harvest(lines, EndpointLimits(cap=50, local_labels=True))
    assert found.is_complete == is_complete
    n_first = found.document.count(f"{_RDF}first".encode())
    assert n_first % n_members == 0
    assert (n_first == 5 * n_members) == is_complete
