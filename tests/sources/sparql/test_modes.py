"""Descriptions of datasets, queries of users, and bad endpoints in both modes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.queries import parse_user_query
from rdfcrawl.sources.sparql.components import labelled
from rdfcrawl.sources.sparql.exchange import SparqlFailure, SparqlResponse
from rdfcrawl.sources.sparql.plan import EndpointPlan
from rdfcrawl.sources.sparql.settings import HarvestSettings
from tests.support.sparql_driver import Harvested, harvest_all
from tests.support.sparql_endpoints import Endpoint, failed, store_of
from tests.support.sparql_stores import canonical, iter_catalog, iter_store

if TYPE_CHECKING:
    from collections.abc import Callable

URL = "http://example.org/sparql"
GRAPH = "http://example.org/graph/catalog"
CATALOG = tuple(iter_catalog(45, GRAPH))
# Blank datasets cannot be listed where nothing computes with their labels.
NAMED = tuple(x for x in CATALOG if "_:dataset" not in x)
WANTED = tuple(
    line
    for line in NAMED
    if "unrelated" not in line
    and not any(f"/dataset/{n}/" in line.split()[0] for n in (0, 10, 20, 30, 40))
    and not any(
        line.startswith((f"_:contact{n} ", f"_:place{n} ", f"_:sum{n}x"))
        for n in (0, 10, 20, 30, 40)
    )
)


def _harvest(endpoint: Endpoint, **changes: object) -> Harvested:
    plan = EndpointPlan(URL, HarvestSettings(**changes))  # type: ignore[arg-type]
    return harvest_all(plan, endpoint)


# -- datasets ----------------------------------------------------------------------


@pytest.mark.parametrize("cap", [10_000, 100])
def test_datasets_come_with_related_descriptions(cap: int) -> None:
    """If only datasets are wanted, then nothing else is read, at any limit."""
    found = _harvest(Endpoint(store_of(NAMED), max_rows=cap), mode="datasets")
    assert canonical(found.document) == canonical("".join(WANTED).encode())


def test_dataset_larger_than_an_answer_comes_in_pages() -> None:
    """If one dataset is more than the cap, then its parts come page by page."""
    dataset = "<http://example.org/dataset/1>"
    more = tuple(
        f'{dataset} <http://example.org/p/word> "{n}" <{GRAPH}> .\n' for n in range(333)
    )
    endpoint = Endpoint(store_of(NAMED + more), max_rows=100)
    found = _harvest(endpoint, mode="datasets")
    want = "".join(WANTED + more).encode()
    assert canonical(found.document) == canonical(want)


def test_datasets_that_time_out_come_in_smaller_batches() -> None:
    """If descriptions of many datasets time out, then fewer are requested."""

    def refuse(query: str) -> SparqlFailure | None:
        is_much = query.count("<http://example.org/dataset/2") > 40
        return SparqlFailure.TIMEOUT if is_much else None

    found = _harvest(Endpoint(store_of(NAMED), refuse=refuse), mode="datasets")
    assert canonical(found.document) == canonical("".join(WANTED).encode())


@pytest.mark.parametrize(("most", "is_complete"), [(20, True), (0, False)])
def test_list_of_datasets_that_times_out_gets_shorter(
    most: int, *, is_complete: bool
) -> None:
    """If lists of datasets time out, then shorter ones are read, or a fault says so."""
    limits = []

    def refuse(query: str) -> SparqlFailure | None:
        found = re.search(r"ORDER BY \?k LIMIT (\d+)$", query)
        if found is None:
            return None
        limits.append(int(found[1]))
        return SparqlFailure.TIMEOUT if limits[-1] > most else None

    endpoint = Endpoint(store_of(NAMED), refuse=refuse)
    found = _harvest(endpoint, mode="datasets", min_rows=5)
    want = "".join(WANTED if is_complete else ())
    assert canonical(found.document) == canonical(want.encode())
    assert found.is_complete is is_complete
    assert max(limits) == 1_000
    assert min(limits) <= 20


def test_datasets_that_never_come_are_reported() -> None:
    """If descriptions are always refused, then the harvest ends and says so."""

    def refuse(query: str) -> SparqlResponse | None:
        return failed(500, "Internal error") if "VALUES" in query else None

    found = _harvest(Endpoint(store_of(NAMED[:200]), refuse=refuse), mode="datasets")
    assert not found.lines
    assert not found.is_complete


# -- queries of users --------------------------------------------------------------

_LINES = tuple(
    f"<http://e/{n:03}> <http://e/p> <http://e/o> <http://e/g{n % 2}> .\n"
    for n in range(90)
)


_ROWS = "SELECT ?s ?p ?o ?g { GRAPH ?g { ?s ?p ?o } }"
_AFTER = "SELECT * { GRAPH ?g { ?s ?p ?o } FILTER(STR(?s) > {{after}}) }"


@pytest.mark.parametrize(
    ("text", "n_requests"),
    [
        (_ROWS, 1),
        (f"{_ROWS} ORDER BY ?s LIMIT {{{{limit}}}} OFFSET {{{{offset}}}}", 4),
        (f"{_AFTER} ORDER BY STR(?s) LIMIT {{{{limit}}}}", 4),
    ],
)
def test_own_queries_keep_graphs_and_page(text: str, n_requests: int) -> None:
    """If a query selects graphs, then their names are kept on all pages."""
    query = parse_user_query(text, name="own.rq")
    endpoint = Endpoint(store_of(_LINES))
    found = _harvest(endpoint, mode="query", query=query, page_rows=30)
    assert {x.decode() for x in found.lines} == set(_LINES)
    assert found.n_requests == n_requests
    assert found.is_complete


def test_own_query_that_times_out_gets_smaller_pages() -> None:
    """If pages of a query of the user's own time out, then they get shorter."""

    def refuse(query: str) -> SparqlFailure | None:
        is_long = "LIMIT 10 " not in query
        return SparqlFailure.TIMEOUT if is_long else None

    text = f"{_ROWS} ORDER BY ?s LIMIT {{{{limit}}}} OFFSET {{{{offset}}}}"
    query = parse_user_query(text, name="own.rq")
    endpoint = Endpoint(store_of(_LINES), refuse=refuse)
    found = _harvest(endpoint, mode="query", query=query, page_rows=40, min_rows=10)
    assert {x.decode() for x in found.lines} == set(_LINES)
    assert found.is_complete


def test_own_construct_goes_into_the_default_graph() -> None:
    """If a query constructs, then its triples have the name of the default graph."""
    text = "CONSTRUCT { ?s ?p ?o } { GRAPH ?g { ?s ?p ?o } } "
    text += "LIMIT {{limit}} OFFSET {{offset}}"
    query = parse_user_query(text, name="own.rq")
    settings: dict[str, object] = {"default_graph": "http://e/default", "page_rows": 40}
    found = _harvest(Endpoint(store_of(_LINES)), mode="query", query=query, **settings)
    assert len(found.lines) == 90
    assert all(b"<http://e/default>" in x for x in found.lines)


def test_own_query_that_looks_cut_is_reported() -> None:
    """If the number of rows is a common limit, then a fault is logged."""
    lines = [f"<http://e/{n}> <http://e/p> <http://e/o> .\n" for n in range(1_500)]
    query = parse_user_query("SELECT * { ?s ?p ?o }", name="own.rq")
    endpoint = Endpoint(store_of(lines), max_rows=1_000)
    found = _harvest(endpoint, mode="query", query=query)
    assert len(found.lines) == 1_000
    assert Reason.INCOMPLETE in {x.reason for x in found.faults}


@pytest.mark.parametrize("form", ["SELECT *", "CONSTRUCT { ?s ?p ?o }"])
def test_own_query_that_does_not_page_ends(form: str) -> None:
    """If pages are always the same, then the harvest ends and says so."""
    text = form + " { ?s ?p ?o } LIMIT 10 # {{limit}} {{offset}}"
    query = parse_user_query(text, name="own.rq")
    lines = [f"<http://e/{n}> <http://e/p> _:b{n} .\n" for n in range(30)]
    found = _harvest(Endpoint(store_of(lines)), mode="query", query=query)
    assert found.n_requests == 2
    assert Reason.PAGING_LOOP in {x.reason for x in found.faults}


def test_own_query_that_is_refused_is_reported() -> None:
    """If an endpoint does not accept the query, then a fault is logged."""
    query = parse_user_query("SELECT * { ?s ?p ?o LIMIT }", name="own.rq")
    found = _harvest(Endpoint(store_of(_LINES)), mode="query", query=query)
    assert {x.reason for x in found.faults} == {Reason.BAD_ANSWER, Reason.INCOMPLETE}


# -- labels of one answer ----------------------------------------------------------


@pytest.mark.parametrize("cap", [10_000, 400])
def test_components_are_complete_and_unique(cap: int) -> None:
    """If blank nodes exceed one response, then complete components are read."""
    lines = tuple(
        x
        for x in iter_store(60, with_default=True)
        if "shared" not in x and "hub" not in x
    )
    endpoint = Endpoint(store_of(lines), local_labels=True, max_rows=cap)
    found = _harvest(endpoint, page_rows=100, n_roots=5, depth=6)
    assert found.steps["components"] > 5
    assert canonical(found.document) == canonical("".join(lines).encode())


def test_component_larger_than_an_answer_is_reported() -> None:
    """If a component exceeds the limit, then a fault is logged and the rest is read."""
    lines = [f'_:hub <http://e/p> "{n}" <http://e/g> .\n' for n in range(300)]
    lines += [f'_:a{n} <http://e/q> "{n}" <http://e/g> .\n' for n in range(20)]
    endpoint = Endpoint(store_of(lines), local_labels=True, max_rows=100)
    found = _harvest(endpoint)
    assert not found.is_complete
    assert sum(b"/q>" in x for x in found.lines) >= 20


@pytest.mark.parametrize(("most", "is_complete"), [(4, True), (0, False)])
def test_components_that_time_out_come_a_few_at_a_time(
    most: int, *, is_complete: bool
) -> None:
    """If many components time out, then fewer are read; if each does, with a fault."""

    def refuse(query: str) -> SparqlFailure | None:
        found = re.search(r"ORDER BY \?s LIMIT (\d+) OFFSET", query)
        is_much = found is not None and int(found[1]) > most
        return SparqlFailure.TIMEOUT if is_much else None

    lines = [f'_:a{n} <http://e/q> "{n}" <http://e/g> .\n' for n in range(40)]
    store = store_of(lines)
    endpoint = Endpoint(store, local_labels=True, max_rows=30, refuse=refuse)
    found = _harvest(endpoint, n_roots=16, page_rows=10, depth=2)
    assert len(found.lines) == (40 if is_complete else 0)
    assert found.is_complete is is_complete
    assert found.steps["components"] >= 10


def test_component_that_times_out_costs_itself_only() -> None:
    """If one component always fails, then all others are read, with a fault."""

    def refuse(query: str) -> SparqlFailure | None:
        found = re.search(r"ORDER BY \?s LIMIT (\d+) OFFSET (\d+)", query)
        first = int(found[2]) if found else 99
        is_among = found is not None and first <= 17 < first + int(found[1])
        return SparqlFailure.TIMEOUT if is_among else None

    lines = [f'_:a{n} <http://e/q> "{n}" <http://e/g> .\n' for n in range(40)]
    store = store_of(lines)
    endpoint = Endpoint(store, local_labels=True, max_rows=30, refuse=refuse)
    found = _harvest(endpoint, n_roots=8, page_rows=10, depth=2)
    assert len(found.lines) == 39
    assert not found.is_complete


def test_alike_components_stay_apart() -> None:
    """If two components look the same, then they are two."""
    triples = [("_:a", "<p>", '"x"'), ("_:b", "<p>", '"x"'), ("_:c", "<p>", '"y"')]
    names = [subject for subject, _, _ in labelled(triples)]
    assert len(set(names)) == 3
    again = [(s.replace("_:", "_:other"), p, o) for s, p, o in reversed(triples)]
    assert {s for s, _, _ in labelled(again)} == set(names)


def test_ring_has_the_same_labels_wherever_it_is_begun() -> None:
    """If a component has symmetries, then its labels are the same in each response."""

    def ring(first: int) -> set[tuple[str, str, str]]:
        nodes = [f"_:n{(i * 5 + first) % 7}" for i in range(7)]
        return set(labelled([(nodes[i], "<p>", nodes[(i + 1) % 7]) for i in range(7)]))

    assert ring(0) == ring(3)
    assert len(ring(0)) == 7


# -- failures ----------------------------------------------------------------------


def _answer(body: str, media_type: str) -> SparqlResponse:
    headers = {"content-type": media_type}
    return SparqlResponse(status=200, headers=headers, body=ByteSource(body.encode()))


def test_graphs_that_cannot_be_listed_are_those_described() -> None:
    """If listing graphs is refused, then those of the description are taken."""
    turtle = """@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .
    [] a sd:Service ; sd:endpoint <http://example.org/sparql> ;
      sd:defaultDataset [ sd:namedGraph [ sd:name <http://e/g0> ] ,
        [ sd:name <http://e/g1> ] , [ sd:name <urn:x-arq:UnionGraph> ] ] ."""

    def refuse(query: str) -> SparqlResponse | None:
        is_list = query.startswith(("SELECT ?g", "SELECT DISTINCT ?g"))
        return failed(400, "not supported") if is_list else None

    endpoint = Endpoint(store_of(_LINES), refuse=refuse)

    def ask(request: object) -> SparqlResponse | SparqlFailure:
        endpoint.description = _answer(turtle, "text/turtle")
        return endpoint(request)  # type: ignore[arg-type]

    found = harvest_all(EndpointPlan(URL), ask)
    assert {x.decode() for x in found.lines} == set(_LINES)
    assert b"Service" in found.description
    endpoint.description = failed(404)
    found = harvest_all(EndpointPlan(URL), endpoint)
    assert not found.lines
    assert "the named graphs cannot be listed" in {x.detail for x in found.faults}


@pytest.mark.parametrize(
    "refuse",
    [
        lambda query: SparqlFailure.TIMEOUT if "COUNT" in query else None,
        lambda query: SparqlFailure.TIMEOUT if "DISTINCT ?b" in query else None,
        lambda query: failed(400, "syntax") if "?k" in query else None,
        lambda query: failed(400, "syntax") if "STR(" in query else None,
    ],
    ids=["no-counts", "no-labels", "no-keys", "no-strings"],
)
def test_stores_with_blank_nodes_on_poor_endpoints(
    refuse: Callable[[str], SparqlResponse | SparqlFailure | None],
) -> None:
    """If an endpoint can do little, then triples without blank nodes are still read."""
    lines = tuple(x for x in iter_store(40, with_default=True) if "hub" not in x)
    endpoint = Endpoint(store_of(lines), refuse=refuse)
    found = _harvest(endpoint, page_rows=200)
    ground = {x for x in canonical("".join(lines).encode()) if "_:" not in x}
    assert ground <= {str(x) for x in canonical(found.document)}


def test_everything_times_out() -> None:
    """If no request succeeds, then the harvest ends after a bounded number of tries."""
    found = harvest_all(EndpointPlan(URL), lambda _request: SparqlFailure.TIMEOUT)
    assert found.n_requests < 60
    assert not found.lines
    assert found.faults
