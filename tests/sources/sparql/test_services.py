"""Harvests of Virtuoso and Fuseki: every triple, blank nodes isomorphic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyoxigraph import RdfFormat, parse

from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.queries import parse_user_query
from rdfcrawl.sources.sparql.plan import EndpointPlan
from rdfcrawl.sources.sparql.recognition import recognize
from rdfcrawl.sources.sparql.settings import HarvestSettings
from rdfcrawl.stores.reading import iter_quads
from tests.support.sparql_driver import Harvested, harvest_all, over_http, with_cap
from tests.support.sparql_services import Servers, sparql_servers
from tests.support.sparql_stores import canonical, iter_catalog, iter_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback
    from tests.support.sparql_services import SparqlServer

__all__ = ["sparql_servers"]
pytestmark = [pytest.mark.service, pytest.mark.in_turn(2)]
# Items: more statements than Virtuoso's usual cap. The crawl's tests have ten times
# as many, and as many in Fuseki.
LARGE = 1_500

Store = tuple["Path", list[str]]


@pytest.fixture(scope="module")
def new_store(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Store]:
    """Return what writes a store to a file."""

    def write(n_items: int, *, with_default: bool) -> Store:
        lines = list(iter_store(n_items, with_default=with_default))
        lines += iter_catalog(30, "http://example.org/graph/catalog")
        path = tmp_path_factory.mktemp("statements") / "store.nq"
        path.write_text("".join(lines), encoding="utf-8")
        return path, lines

    return write


def _assert_all(found: Harvested, lines: list[str]) -> None:
    want, got = canonical("".join(lines).encode()), canonical(found.document)
    assert got == want
    assert found.is_complete
    assert not [x for x in found.faults if x.reason is Reason.INCOMPLETE]


def _harvest(server: SparqlServer, **changes: object) -> Harvested:
    settings = HarvestSettings(**changes)  # type: ignore[arg-type]
    with over_http() as ask:
        return harvest_all(EndpointPlan(server.endpoint, settings), ask)


# -- Virtuoso ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def virtuoso(
    sparql_servers: Servers, new_store: Callable[..., Store]
) -> tuple[SparqlServer, list[str]]:
    """Return a Virtuoso with its usual limit, and its quads."""
    path, lines = new_store(LARGE, with_default=False)
    return sparql_servers.virtuoso(path, max_rows=10_000), lines


def test_virtuoso_with_its_usual_cap(virtuoso: tuple[SparqlServer, list[str]]) -> None:
    """If Virtuoso cuts responses at 10,000 rows, then every triple is read."""
    server, lines = virtuoso
    assert len(set(lines)) > 14_000
    found = _harvest(server)
    _assert_all(found, lines)
    assert found.n_requests < 40


@pytest.fixture(scope="module")
def terse_virtuoso(
    sparql_servers: Servers, new_store: Callable[..., Store]
) -> tuple[SparqlServer, list[str]]:
    """Return a Virtuoso with a low limit, and its quads."""
    path, lines = new_store(60, with_default=False)
    return sparql_servers.virtuoso(path, max_rows=100), lines


def test_virtuoso_with_a_cap_of_100(
    terse_virtuoso: tuple[SparqlServer, list[str]],
) -> None:
    """If Virtuoso cuts responses at 100 rows, then every triple is read."""
    server, lines = terse_virtuoso
    _assert_all(_harvest(server), lines)


def test_virtuoso_is_recognized(virtuoso: tuple[SparqlServer, list[str]]) -> None:
    """If Virtuoso responds to a browser, then its form identifies it."""
    _assert_recognized(virtuoso[0], {"accept": "text/html"})


# -- Fuseki ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fuseki(
    sparql_servers: Servers, new_store: Callable[..., Store]
) -> tuple[SparqlServer, list[str]]:
    """Return a Fuseki, and its quads."""
    path, lines = new_store(200, with_default=True)
    return sparql_servers.fuseki(path), lines


def test_fuseki(fuseki: tuple[SparqlServer, list[str]]) -> None:
    """If Fuseki is harvested, then every triple of its graphs is read."""
    server, lines = fuseki
    found = _harvest(server)
    _assert_all(found, lines)
    assert found.n_requests < 40


def test_fuseki_cut_at_100_rows(fuseki: tuple[SparqlServer, list[str]]) -> None:
    """If a proxy cuts Fuseki's responses at 100 rows, then every triple is read."""
    server, lines = fuseki
    with over_http() as ask:
        found = harvest_all(EndpointPlan(server.endpoint), with_cap(ask, 100))
    _assert_all(found, lines)


def test_fuseki_is_recognized(fuseki: tuple[SparqlServer, list[str]]) -> None:
    """If Fuseki is requested without a query, then its error identifies it."""
    _assert_recognized(fuseki[0], {})


# -- both --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["virtuoso", "fuseki"])
def test_datasets_alone(name: str, request: pytest.FixtureRequest) -> None:
    """If only datasets are wanted, then they are read with related descriptions."""
    server, _ = request.getfixturevalue(name)
    found = _harvest(server, mode="datasets")
    graph = "http://example.org/graph/catalog"
    want = [x for x in iter_catalog(30, graph) if "unrelated" not in x]
    _assert_all(found, want)


@pytest.mark.parametrize("name", ["terse_virtuoso", "fuseki"])
def test_real_stores_are_harvested_when_they_are_linked(
    commands: Commands, loopback: Loopback, name: str, request: pytest.FixtureRequest
) -> None:
    """If a document links to a store's endpoint, then the store's statements come."""
    server, lines = request.getfixturevalue(name)
    link = f"<> <urn:x:see> <{server.endpoint}> ."
    site = loopback({"/": loopback.response(link.encode())})
    result = commands.crawl([site.url("/")], arguments={"depth": 3})
    assert result.code == 0, result.stderr
    named = "".join(line for line in lines if "_:" not in line).encode()
    wanted = {quad.triple for quad in parse(named, format=RdfFormat.N_QUADS)}
    assert wanted
    stored = b"".join(iter_quads(result.folder / "quads"))
    assert wanted <= {x.triple for x in parse(stored, format=RdfFormat.N_QUADS)}


@pytest.mark.parametrize("name", ["virtuoso", "fuseki"])
@pytest.mark.parametrize("form", ["offset", "after", "construct"])
def test_own_query(name: str, form: str, request: pytest.FixtureRequest) -> None:
    """If the user has a query, then its pages give its results."""
    server, lines = request.getfixturevalue(name)
    where = (
        "GRAPH <http://example.org/graph/small> { ?s <http://example.org/p/spoke> ?o }"
    )
    text = {
        "offset": f"SELECT ?s (<http://e/p> AS ?p) ?o {{ {where} }} ORDER BY STR(?o) "
        "LIMIT {{limit}} OFFSET {{offset}}",
        "after": f"SELECT ?s (<http://e/p> AS ?p) ?o (STR(?o) AS ?k) {{ {where} "
        "FILTER(STR(?o) > {{after}}) } ORDER BY STR(?o) LIMIT {{limit}}",
        "construct": f"CONSTRUCT {{ ?s <http://e/p> ?o }} {{ {where} "
        "FILTER isIRI(?o) } LIMIT {{limit}} OFFSET {{offset}}",
    }[form]
    query = parse_user_query(text, name="own.rq")
    found = _harvest(server, mode="query", query=query, page_rows=97)
    n_all = sum("p/spoke>" in line for line in lines)
    assert len({x.split()[2] for x in found.lines}) == (
        450 if form == "construct" else n_all
    )


def _assert_recognized(server: SparqlServer, headers: dict[str, str]) -> None:
    from http.client import HTTPConnection
    from urllib.parse import urlsplit

    parts = urlsplit(server.endpoint)
    connection = HTTPConnection(str(parts.hostname), parts.port, timeout=20)
    try:
        connection.request("GET", parts.path, headers=headers)
        response = connection.getresponse()
        head = response.read(64 * 1024)
    finally:
        connection.close()
    found = recognize(
        server.endpoint,
        status=response.status,
        headers={name.lower(): text for name, text in response.getheaders()},
        head=head,
    )
    assert found == server.endpoint
