"""Endpoints whose counts are wrong or missing, and that refuse single requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.sources.sparql.plan import EndpointPlan
from tests.support.sparql_driver import Harvested, harvest_all
from tests.support.sparql_planner import CostlyEndpoint, EndpointLimits

if TYPE_CHECKING:
    from collections.abc import Callable

_G, _E = "<http://e.org/g>", "http://e.org"
# One subject, one predicate, one object; and small graphs.
HUBS = {
    "subject": tuple(f"<{_E}/s> <{_E}/p> <{_E}/o{i}> {_G} .\n" for i in range(180)),
    "predicate": tuple(f'<{_E}/s{i}> <{_E}/p> "v{i}" {_G} .\n' for i in range(180)),
    "object": tuple(
        f"<{_E}/s{i}> <{_E}/p{i % 9}> <{_E}/o> {_G} .\n" for i in range(180)
    ),
}
GRAPHS = tuple(f'<{_E}/s{i}> <{_E}/p> "v{i}" <{_E}/g{i % 23}> .\n' for i in range(180))


def _harvest(lines: tuple[str, ...], limits: EndpointLimits) -> tuple[int, Harvested]:
    found = harvest_all(
        EndpointPlan("http://e.org/sparql"), CostlyEndpoint(lines, limits)
    )
    return len({line.encode() for line in lines} - found.lines), found


@pytest.mark.parametrize("hub", HUBS)
def test_one_refusal_loses_nothing(hub: str) -> None:
    """If an endpoint without ORDER BY refuses one request, then all rows come."""
    for number in range(4, 16):
        limits = EndpointLimits(
            cap=50, without=("ORDER BY",), refusals=range(number, number + 1)
        )
        n_lost, found = _harvest(HUBS[hub], limits)
        assert n_lost == 0, (number, found.queries[number])


def test_refusals_of_a_part_are_faults() -> None:
    """If an endpoint refuses all requests of its parts, then the harvest says so."""
    limits = EndpointLimits(cap=50, without=("ORDER BY", "MD5(?o)", "?h <", "OFFSET"))
    n_lost, found = _harvest(HUBS["predicate"], limits)
    assert n_lost > 0
    assert Reason.INCOMPLETE in {fault.reason for fault in found.faults}


@pytest.mark.parametrize("words", [(), ("ORDER BY",)], ids=["sorted", "unsorted"])
@pytest.mark.parametrize(
    "counted",
    [
        lambda _n: 0,
        lambda _n: 1,
        lambda n: n // 2,
        lambda n: min(n, 50),
        lambda _n: None,
    ],
    ids=["nothing", "one", "half", "the limit", "without numbers"],
)
def test_wrong_counts_lose_nothing_in_silence(
    counted: Callable[[int], int | None], words: tuple[str, ...]
) -> None:
    """If counts of an endpoint are wrong, then all rows come, or there is a fault."""
    limits = EndpointLimits(cap=50, without=words, counted=counted)
    for lines in HUBS.values():
        n_lost, found = _harvest(lines, limits)
        reasons = {fault.reason for fault in found.faults}
        assert n_lost == 0 or Reason.INCOMPLETE in reasons


@pytest.mark.parametrize("cap", [10, 20, 50])
def test_short_list_of_graphs_that_is_cut(cap: int) -> None:
    """If a list of graphs without an order is cut at few rows, then all graphs come."""
    n_lost, _ = _harvest(GRAPHS, EndpointLimits(cap=cap, without=("ORDER BY",)))
    assert n_lost == 0


@pytest.mark.parametrize(("cap", "size"), [(400, 390), (1_000, 600), (20, 13)])
def test_graphs_that_fill_a_response_alone_keep_their_names(
    cap: int, size: int
) -> None:
    """If one graph of several fits into a response, then its rows keep its name."""
    lines = tuple(
        f'<{_E}/s{i}> <{_E}/p> "v{i}" <{_E}/g{n}> .\n'
        for n in range(6)
        for i in range(size)
    )
    n_lost, found = _harvest(lines, EndpointLimits(cap=cap))
    assert n_lost == 0
    assert found.lines <= {line.encode() for line in lines}
