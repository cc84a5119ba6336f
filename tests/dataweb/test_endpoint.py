"""A SPARQL endpoint with limits: refusals, cuts, and their announcements."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pyoxigraph as ox
import pytest

from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.messages import NodeRequest, NodeResponse
from rdfcrawl.dataweb.nodes.base import NodePlan
from rdfcrawl.dataweb.nodes.endpoint import SYSTEM_GRAPH, EndpointNode, EndpointOptions

JSON = "application/sparql-results+json"
ALL_NAMED = "SELECT * WHERE { GRAPH ?g { ?s ?p ?o } }"
ALL_DEFAULT = "SELECT * WHERE { ?s ?p ?o }"


def endpoint(**options: Any) -> EndpointNode:
    """An endpoint that is not served."""
    plan = NodePlan(
        index=0,
        kind=NodeKind.ENDPOINT,
        address="127.0.0.9",
        port=8085,
        access_uri="http://127.0.0.9:8085/sparql",
        links=("http://127.0.0.1/x",),
    )
    return EndpointOptions(**options).build(plan)


def ask(node: EndpointNode, query: str, accept: str = JSON) -> NodeResponse:
    """The answer to a query."""
    target = "/sparql?" + urlencode({"query": query})
    return node.respond(NodeRequest("GET", target, accept))


def rows(node: EndpointNode, query: str) -> list[dict[str, dict[str, str]]]:
    """The rows of a table; the query has to succeed."""
    response = ask(node, query)
    assert response.status == 200, response.body
    found: list[dict[str, dict[str, str]]] = json.loads(response.body)["results"][
        "bindings"
    ]
    return found


def count(node: EndpointNode, query: str) -> int:
    """The one number of a table."""
    (row,) = rows(node, query)
    return int(row["n"]["value"])


def test_the_data_are_not_easy() -> None:
    """If an endpoint is made, it has graphs, blank nodes, languages and datatypes."""
    node = endpoint(n_triples=600, n_named=3)
    quads = node.quads()
    assert len(quads) == node.n_quads() == len(list(node.iter_truth())) >= 600
    graphs = {str(one.graph_name) for one in quads}
    assert graphs == {"DEFAULT", *(f"<{name}>" for name in node.graphs)}
    literals = [one.object for one in quads if isinstance(one.object, ox.Literal)]
    assert {one.language for one in literals} == {None, "en", "de"}
    assert len({one.datatype for one in literals}) >= 4
    assert any(isinstance(one.subject, ox.BlankNode) for one in quads)
    assert any(str(one.object) == "<http://127.0.0.1/x>" for one in quads)


def test_rows_are_cut_at_the_cap_and_nothing_says_so() -> None:
    """If an answer has more rows than the cap, the rest is left out silently."""
    node = endpoint(n_triples=600, row_cap=100)
    assert len(rows(node, ALL_NAMED)) == 100
    construct = ask(node, "CONSTRUCT WHERE { ?s ?p ?o }", "application/n-triples")
    assert construct.body.count(b" .\n") == 100
    assert b"MaxRows" not in construct.head
    assert len(rows(node, ALL_NAMED + " OFFSET 100")) == 100
    told = endpoint(n_triples=600, row_cap=100, states_cap=True)
    assert b"X-SPARQL-MaxRows: 100" in ask(told, ALL_NAMED).head
    assert b"X-SPARQL-MaxRows" not in ask(told, ALL_NAMED + " LIMIT 5").head


@pytest.mark.parametrize("is_union", [False, True])
def test_the_default_graph_is_its_own_or_the_union(is_union: bool) -> None:
    """If the default graph is the union, it has all triples; otherwise its own."""
    node = endpoint(is_union=is_union, has_system_graph=False)
    own = sum(isinstance(one.graph_name, ox.DefaultGraph) for one in node.quads())
    n_found = count(node, "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }")
    assert n_found == (node.n_quads() if is_union else own)
    bare = endpoint(has_default=False)
    assert rows(bare, ALL_DEFAULT) == []


@pytest.mark.parametrize(
    "query",
    [
        ALL_NAMED + " ORDER BY ?s ?p ?o LIMIT 10",
        "SELECT ?s WHERE { ?s ?p ?o } ORDER BY STR(?s) LIMIT 1 OFFSET 3",
        "SELECT (COUNT(*) AS ?n) WHERE { GRAPH ?g { ?s ?p ?o } }",
        "SELECT ?g (COUNT(*) AS ?n) WHERE { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g",
        "SELECT DISTINCT ?s WHERE { GRAPH ?g { ?s ?p ?o } } ORDER BY ?s",
        ALL_NAMED + " OFFSET 5000",
    ],
)
def test_queries_that_are_too_big_are_refused(query: str) -> None:
    """If a query sorts or counts too much, it is refused, and the text is kept."""
    node = endpoint(n_triples=2000, max_sorted=100, max_counted=400, max_offset=1000)
    response = ask(node, query)
    assert response.status == 500
    assert response.body.startswith(b"Virtuoso 42000 Error")
    assert node.refused == [query]


def test_queries_of_a_part_are_answered_whatever_is_refused_of_all() -> None:
    """If a query is of a small part, sorting and counting it is no matter."""
    node = endpoint(n_triples=2000, max_sorted=100, max_counted=400)
    graph, subject = node.graphs[0], f"{node.origin}/r/1"
    part = f"GRAPH <{graph}> {{ <{subject}> ?p ?o }}"
    assert rows(node, f"SELECT * WHERE {{ {part} }} ORDER BY ?p ?o LIMIT 100")
    assert count(node, f"SELECT (COUNT(*) AS ?n) WHERE {{ {part} }}")
    assert node.refused == []


@pytest.mark.parametrize(
    ("refusal", "status"), [("virtuoso", 500), ("timeout", 504), ("fuseki", 503)]
)
def test_a_refusal_is_that_of_a_product(refusal: Any, status: int) -> None:
    """If a query is too big, the status is that of the product that is played."""
    node = endpoint(max_counted=10, refusal=refusal)
    response = ask(node, "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }")
    assert response.status == status
    assert b"Retry-After" not in response.head


def test_an_anytime_query_gives_a_part() -> None:
    """If too big queries are answered in part, a field of the head says so."""
    node = endpoint(n_triples=2000, max_sorted=10, refusal="anytime", row_cap=100)
    response = ask(node, ALL_NAMED + " ORDER BY ?s")
    assert response.status == 200
    assert b"X-SQL-State: S1TAT" in response.head
    assert len(json.loads(response.body)["results"]["bindings"]) == 10


def test_a_busy_endpoint_says_when_to_come_again() -> None:
    """If every second query is refused, it is a 503 with Retry-After."""
    node = endpoint(unavailable_every=2, retry_after_secs=7)
    answers = [ask(node, "ASK {}") for _ in range(4)]
    assert [one.status for one in answers] == [200, 503, 200, 503]
    assert b"Retry-After: 7" in answers[1].head


def test_blank_nodes_have_other_labels_in_each_answer() -> None:
    """If labels are fresh, none comes again; within an answer they join."""
    node = endpoint(blank_share=1.0, has_system_graph=False)
    query = "SELECT ?b ?c WHERE { GRAPH ?g { ?a ?part ?b . ?b ?part ?c } }"
    first, second = (rows(node, query) for _ in range(2))
    labels = [{one["b"]["value"] for one in each} for each in (first, second)]
    assert len(labels[0]) == len(labels[1]) > 1
    assert not labels[0] & labels[1]
    kept = endpoint(blank_share=1.0, fresh_labels=False)
    assert ask(kept, query).body == ask(kept, query).body


def test_the_description_names_graphs_and_their_sizes() -> None:
    """If an endpoint describes itself, its graphs and counts are those of the store."""
    node = endpoint()
    response = node.respond(NodeRequest("GET", "/sparql", "text/turtle"))
    store = ox.Store()
    store.bulk_load(response.body, format=ox.RdfFormat.TURTLE)
    found: Any = store.query(
        "PREFIX sd: <http://www.w3.org/ns/sparql-service-description#> SELECT ?g ?n "
        "WHERE { ?x sd:name ?g ; sd:graph/<http://rdfs.org/ns/void#triples> ?n }"
    )
    sizes = {row["g"].value: int(row["n"].value) for row in found}
    assert set(sizes) == set(node.graphs)
    for name, size in sizes.items():
        query = f"SELECT (COUNT(*) AS ?n) WHERE {{ GRAPH <{name}> {{ ?s ?p ?o }} }}"
        assert count(node, query) == size
    void = node.respond(NodeRequest("GET", "/.well-known/void"))
    assert f'"{node.n_quads()}"' in void.body.decode() or (
        f" {node.n_quads()} " in void.body.decode()
    )
    mute = endpoint(describes=False)
    assert mute.respond(NodeRequest("GET", "/.well-known/void")).status == 404
    assert b"html" in mute.respond(NodeRequest("GET", "/sparql", "text/turtle")).head


def test_the_graph_of_the_system_is_not_in_the_truth() -> None:
    """If there is a graph of the system's own, it is found, but not to be found."""
    node = endpoint()
    query = "SELECT DISTINCT ?g WHERE { GRAPH ?g { ?s ?p ?o } }"
    assert {one["g"]["value"] for one in rows(node, query)} == {
        SYSTEM_GRAPH,
        *node.graphs,
    }
    assert SYSTEM_GRAPH not in "".join(s for s, _, _ in node.iter_truth())


def test_a_hub_has_as_many_triples_as_it_should() -> None:
    """If one subject has more triples than the cap, they are all to be found."""
    node = endpoint(n_hub=5000)
    graph = node.graphs[-1]
    query = (
        f"SELECT (COUNT(*) AS ?n) WHERE {{ GRAPH <{graph}> "
        f"{{ <{node.origin}/r/hub> ?p ?o }} }}"
    )
    assert count(node, query) == 5000


def test_a_revision_replaces_labels() -> None:
    """If labels are replaced, the number of triples stays and the labels are new."""
    node = endpoint(n_triples=200)
    before = {str(one) for one in node.quads()}
    assert node.revise(4) == 4
    after = {str(one) for one in node.quads()}
    assert len(after - before) == len(before - after) == 4


def test_text_that_is_no_query_is_refused() -> None:
    """If a query is not SPARQL or the path another, the status says so."""
    node = endpoint()
    assert ask(node, "SELECT nothing").status == 400
    assert ask(node, "SELECT * WHERE { ?s ?p ?o } ORDER BY").status == 400
    assert ask(node, ALL_DEFAULT, "image/png").status == 406
    assert ask(node, "CONSTRUCT WHERE { ?s ?p ?o }", "image/png").status == 406
    assert ask(node, "ASK {}", "text/csv").status == 200
    assert node.respond(NodeRequest("GET", "/r/1")).status == 404
    assert node.respond(NodeRequest("GET", "/")).status == 200
