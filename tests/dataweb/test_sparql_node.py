"""Responses of a node with a SPARQL endpoint, without a network."""

from __future__ import annotations

import csv
import io
import json
from urllib.parse import quote, urlencode
from xml.etree import ElementTree as ET

import pyoxigraph as ox
import pytest

from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.messages import NodeRequest, NodeResponse
from rdfcrawl.dataweb.nodes.sparql import MAX_ROWS, SparqlNode
from tests.support.web_nodes import OBJECTS, fields, get, plan, triples


def sparql_node() -> SparqlNode:
    """A SPARQL node."""
    return SparqlNode(plan(NodeKind.SPARQL), OBJECTS)


def ask(node: SparqlNode, query: str, accept: str = "") -> NodeResponse:
    """Query by GET."""
    return get(node, f"/sparql?query={quote(query)}", accept)


def test_sparql_constructs_the_truth_by_pages() -> None:
    """If all triples are constructed page by page, they are the node's triples."""
    node = sparql_node()
    found: set[ox.Triple] = set()
    for offset in range(0, 6, 2):
        query = (
            "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"
            f" ORDER BY ?s ?p ?o LIMIT 2 OFFSET {offset}"
        )
        response = ask(node, query, "application/n-triples")
        assert fields(response)["Content-Type"] == "application/n-triples"
        quads = ox.parse(response.body, format=ox.RdfFormat.N_TRIPLES)
        found |= {quad.triple for quad in quads}
    assert found == triples(node)


def test_sparql_has_its_data_in_a_named_graph() -> None:
    """If graphs are requested, there is one; the default graph is the union."""
    node = sparql_node()
    rows = ask(node, "SELECT ?g { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g", "text/csv")
    assert rows.body.decode().split() == ["g", node.graph]
    count = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
    assert ask(node, count, "text/csv").body.split() == [b"n", b"4"]
    named = f"/sparql?{urlencode({'query': count, 'default-graph-uri': node.graph})}"
    assert get(node, named, "text/csv").body.split() == [b"n", b"4"]
    other = f"/sparql?{urlencode({'query': count, 'default-graph-uri': 'http://x/'})}"
    assert get(node, other, "text/csv").body.split() == [b"n", b"0"]


def test_sparql_takes_the_three_ways_to_ask() -> None:
    """If a query is sent by GET, by form or directly, the answer is the same."""
    node, query = sparql_node(), "SELECT ?s { ?s ?p ?o } ORDER BY ?s"
    form = NodeRequest(
        "POST",
        "/sparql",
        "text/csv",
        "application/x-www-form-urlencoded; charset=utf-8",
        urlencode({"query": query}).encode(),
    )
    direct = NodeRequest(
        "POST", "/sparql", "text/csv", "application/sparql-query", query.encode()
    )
    bodies = {
        ask(node, query, "text/csv").body,
        node.respond(form).body,
        node.respond(direct).body,
    }
    assert len(bodies) == 1
    assert bodies.pop().count(b"\r\n") == 5


_TERMS = """SELECT ?iri ?none ?plain ?tagged ?typed {
  VALUES (?iri ?plain ?tagged ?typed) {
    (<http://e/?a&b> "a<b> \\"q\\", \\n\\r" "x"@en-gb 3.5) } }"""


def test_sparql_results_agree_in_all_formats() -> None:
    """If terms of all kinds are selected, each format gives them back unchanged."""
    node = sparql_node()
    plain = 'a<b> "q", \n\r'
    answer = json.loads(ask(node, _TERMS, "application/sparql-results+json").body)
    (row,) = answer["results"]["bindings"]
    assert "none" not in row
    assert row["plain"] == {"type": "literal", "value": plain}
    assert row["tagged"]["xml:lang"] == "en-gb"
    assert row["typed"]["datatype"].endswith("#decimal")
    for accept, results_format in [
        ("application/sparql-results+json", ox.QueryResultsFormat.JSON),
        ("application/sparql-results+xml", ox.QueryResultsFormat.XML),
        ("text/tab-separated-values", ox.QueryResultsFormat.TSV),
    ]:
        body = ask(node, _TERMS, accept).body
        parsed = ox.parse_query_results(body, format=results_format)
        assert isinstance(parsed, ox.QuerySolutions)
        (solution,) = parsed
        assert [solution[i] for i in range(5)] == [
            ox.NamedNode("http://e/?a&b"),
            None,
            ox.Literal(plain),
            ox.Literal("x", language="en-gb"),
            ox.Literal("3.5", datatype=ox.NamedNode(f"{XSD}decimal")),
        ]
    text = ask(node, _TERMS, "text/csv").body.decode()
    head, values = csv.reader(io.StringIO(text, newline=""))
    assert head == ["iri", "none", "plain", "tagged", "typed"]
    assert values == ["http://e/?a&b", "", plain, "x", "3.5"]


XSD = "http://www.w3.org/2001/XMLSchema#"


def test_sparql_cuts_results_silently() -> None:
    """If a result has more than 10,000 rows, it ends there with status 200."""
    node = SparqlNode(plan(NodeKind.SPARQL), [list(range(150)) for _ in range(100)])
    table = ask(node, "SELECT * { ?s ?p ?o }", "text/csv")
    assert table.status == 200
    assert table.body.count(b"\r\n") == MAX_ROWS + 1
    graph = ask(node, "CONSTRUCT WHERE { ?s ?p ?o }", "application/n-triples")
    assert graph.body.count(b"\n") == MAX_ROWS


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (NodeRequest("GET", "/sparql?query=SELEC"), 400),
        (NodeRequest("GET", "/sparql?query=ASK{}&query=ASK{}"), 400),
        (NodeRequest("GET", "/sparql?query=ASK{}&default-graph-uri=%20"), 400),
        (NodeRequest("POST", "/sparql", "", "text/plain", b"ASK{}"), 400),
        (NodeRequest("POST", "/sparql", "", "application/sparql-query", b"\xff"), 400),
        (
            NodeRequest(
                "POST", "/sparql", "", "application/x-www-form-urlencoded", b"a=b"
            ),
            400,
        ),
        (NodeRequest("GET", "/sparql?query=ASK{}", "image/png"), 406),
        (NodeRequest("GET", "/sparql?query=CONSTRUCT{}WHERE{}", "image/png"), 406),
        (NodeRequest("GET", "/sparql", "image/png"), 406),
        (NodeRequest("GET", "/data/dataset-0/resource-0"), 404),
        (NodeRequest("GET", "/robots.txt"), 404),
    ],
)
def test_sparql_refuses(request_: NodeRequest, status: int) -> None:
    """If a request is no valid query, it is refused with the right status."""
    assert sparql_node().respond(request_).status == status


def test_sparql_answers_ask_and_describes_itself() -> None:
    """If ASK or no query is sent, the response is a boolean or the description."""
    node = sparql_node()
    assert json.loads(ask(node, "ASK { ?s ?p ?o }").body)["boolean"] is True
    xml = ask(node, "ASK { <x:x> ?p ?o }", "application/sparql-results+xml").body
    assert ET.fromstring(xml)[1].text == "false"
    assert json.loads(ask(node, "ASK {}", "text/csv").body)["boolean"] is True
    description = get(node, "/sparql", "text/turtle")
    assert b"sparql-service-description#Service" in description.body
    assert b"<form" in get(node, "/sparql", "text/html").body
