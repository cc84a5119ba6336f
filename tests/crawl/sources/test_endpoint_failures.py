"""SPARQL endpoints that fail: closed connections, time-outs, stores being loaded."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest

from tests.crawl.sources.test_sparql import canonical, harvest, stored
from tests.support.sparql_planner import (
    CostlyEndpoint,
    CostlyServer,
    EndpointLimits,
    described,
    ideal_requests,
)

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands

LINES = described(150, n_hub=300, n_blank=40)
GROUND = described(500, n_hub=1_000)
ALL = canonical(ox.parse("".join(LINES).encode(), ox.RdfFormat.N_QUADS))
ALL_GROUND = canonical(ox.parse("".join(GROUND).encode(), ox.RdfFormat.N_QUADS))


@pytest.mark.in_turn(2, rooms=("sources",))
@pytest.mark.parametrize("words", [("STR(?b)",), ("GROUP BY",), ("STR(?b)", "COUNT")])
def test_closed_connections_are_asked_in_another_way(
    commands: Commands, words: tuple[str, ...]
) -> None:
    """If a connection closes at some queries, then others bring all statements."""
    endpoint = CostlyEndpoint(LINES, EndpointLimits(cap=100, breaks=words))
    with CostlyServer("127.94.9.1", endpoint) as server:
        result = harvest(commands, server.url)
        assert result.code == 0, result.stderr
        assert stored(result, server.url) == ALL


@pytest.mark.in_turn(2, rooms=("sources",))
def test_time_outs_cost_few_requests(commands: Commands) -> None:
    """If queries time out, and a worker is killed, few requests bring everything."""
    limits = EndpointLimits(cap=50, sorted=400, every=6)
    endpoint = CostlyEndpoint(GROUND, limits)
    with CostlyServer("127.94.9.2", endpoint) as server:
        folder = commands.folder()
        running = commands.start_crawl(
            arguments={"endpoints": server.url},
            spider="sparql",
            folder=folder,
            FRONTIER_LEASE_SECS=2,
        )
        commands.wait_until(lambda: endpoint.n_queries > 25)
        running.send(signal.SIGKILL)
        running.process.wait()
        result = harvest(commands, server.url, folder, FRONTIER_LEASE_SECS=2)
        assert stored(result, server.url) == ALL_GROUND
        assert endpoint.n_queries <= 1.5 * ideal_requests(GROUND, limits) + 40


@pytest.mark.in_turn(2, rooms=("sources",))
@pytest.mark.parametrize("rest", [(), LINES[:100]], ids=["empty", "far smaller"])
def test_store_that_is_being_loaded_deletes_nothing(
    commands: Commands, rest: tuple[str, ...]
) -> None:
    """If an endpoint has lost most of its data, they stay until the next run agrees."""
    whole, few = (CostlyEndpoint(x, EndpointLimits()) for x in (LINES, rest))
    left = canonical(ox.parse("".join(rest).encode(), ox.RdfFormat.N_QUADS))
    folder = commands.folder()
    with CostlyServer("127.94.9.3", whole) as server:
        for endpoint, expected in (
            (whole, ALL),
            (few, ALL),  # not believed
            (whole, ALL),
            (few, ALL),  # not believed again
            (few, left),
        ):
            server.endpoint = endpoint
            result = harvest(commands, server.url, folder)
            assert result.code == 0, result.stderr
            assert stored(result, server.url) >= ALL or expected is left
            is_doubted = endpoint is few and expected is ALL
            assert ("fault/copy_kept" in result.statistics) is is_doubted
            if not is_doubted:
                assert stored(result, server.url) == expected
