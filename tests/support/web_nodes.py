"""Single nodes of a data web, and their responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyoxigraph as ox

from rdfcrawl.dataweb.messages import NodeRequest, NodeResponse
from rdfcrawl.dataweb.nodes.base import NodePlan, WebNode, to_ntriples

if TYPE_CHECKING:
    from rdfcrawl.dataweb.config import NodeKind


ORIGIN = "http://127.42.0.9:8085"
LINKS = ("http://127.42.0.1:8085/", "http://127.42.0.2:8085/sparql")
OBJECTS: list[list[int | str]] = [[1, 2], [LINKS[0]], [1], []]


def plan(kind: NodeKind) -> NodePlan:
    """A node's plan for tests."""
    return NodePlan(
        index=0,
        kind=kind,
        address="127.42.0.9",
        port=8085,
        access_uri=ORIGIN,
        links=LINKS,
    )


def get(node: WebNode, target: str, accept: str = "") -> NodeResponse:
    """GET a target."""
    return node.respond(NodeRequest("GET", target, accept))


def fields(response: NodeResponse) -> dict[str, str]:
    """Header fields."""
    lines = response.head.decode().split("\r\n")[1:-2]
    return dict(line.split(": ", 1) for line in lines)


def triples(node: WebNode) -> set[ox.Triple]:
    """The truth of a node without blank nodes."""
    quads = ox.parse(to_ntriples(node.iter_truth()), format=ox.RdfFormat.N_TRIPLES)
    return {quad.triple for quad in quads}
