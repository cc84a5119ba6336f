"""SPARQL endpoints that fail: closed connections, time-outs, stores being loaded."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
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
            assert stored(result, server.url) == expected
            is_doubted = endpoint is few and expected is ALL
            assert ("fault/copy_kept" in result.statistics) is is_doubted


def of_graph(name: str, version: str, n: int) -> tuple[str, ...]:
    """Return statements of one graph in a version."""
    return tuple(
        f'<urn:x:{k}> <urn:x:says> "{version} {k}" <http://e.org/{name}> .\n'
        for k in range(n)
    )


def test_graph_that_fails_keeps_its_last_statements(commands: Commands) -> None:
    """If one graph of an endpoint fails, then it keeps all of its last statements.

    The summary names the endpoint, and `FAILED_EXIT_CODE` is the exit code.

    No graph has statements of two versions. A graph that fails in part again, with nine
    tenths of its statements, is believed.
    """
    names, folder = ("a", "b", "c"), commands.folder()
    limits = EndpointLimits(cap=50)

    def endpoint(version: str, n: int, limits: EndpointLimits) -> CostlyEndpoint:
        lines = [line for name in names for line in of_graph(name, version, n)]
        return CostlyEndpoint(tuple(lines), limits)

    with CostlyServer("127.94.9.14", endpoint("1", 90, limits)) as server:

        def harvested(*, lacks: bool = False) -> dict[str, set[str]]:
            result = harvest(commands, server.url, folder, FAILED_EXIT_CODE=5)
            assert result.code == (5 if lacks else 0), result.stderr
            end = re.findall(r"^(?:outcome|incomplete) .*", result.stderr, re.MULTILINE)
            assert ("; 1 source is incomplete" in end[0]) is lacks
            assert (f" {server.url} (" in end[-1]) is lacks
            found = stored(result, server.url)
            return {x: {q for q in found if f"e.org/{x}>" in q} for x in names}

        def told(version: str, n: int) -> dict[str, set[str]]:
            return {
                x: canonical(
                    ox.parse("".join(of_graph(x, version, n)), ox.RdfFormat.N_QUADS)
                )
                for x in names
            }

        assert harvested() == (first := told("1", 90))
        broken = replace(limits, without=("<http://e.org/b>",))
        server.endpoint = endpoint("2", 99, broken)
        found, second = harvested(lacks=True), told("2", 99)
        assert found["b"] == first["b"]
        assert all(found[x] in (first[x], second[x]) for x in names)
        server.endpoint = endpoint("3", 80, limits)
        assert harvested() == told("3", 80)
        more = replace(limits, counted=lambda n: n + 5)
        server.endpoint = endpoint("4", 85, more)
        assert harvested(lacks=True) == told("3", 80)
        assert harvested(lacks=True) == told("4", 85)
