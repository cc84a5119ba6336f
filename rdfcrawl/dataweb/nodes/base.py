"""Base of all kinds of node."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyoxigraph as ox

from rdfcrawl.core.namespaces import RDF_TYPE as _RDF_TYPE
from rdfcrawl.core.namespaces import RDFS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.dataweb.config import NodeKind
    from rdfcrawl.dataweb.messages import NodeRequest, NodeResponse

RDF_TYPE = f"<{_RDF_TYPE}>"
LABEL = f"<{RDFS}label>"
SEE_ALSO = f"<{RDFS}seeAlso>"

Statement = tuple[str, str, str]  # subject, predicate, object as in N-Triples


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlan:
    """Properties of a node before its data exist.

    Attributes:
        index: node id.
        kind: how it publishes.
        address: its IPv4 address on loopback.
        port: TCP port.
        access_uri: target of links from other nodes.
        links: `access_uri` of the nodes it links to.
    """

    index: int
    kind: NodeKind
    address: str
    port: int
    access_uri: str
    links: tuple[str, ...] = field(default=())

    @property
    def origin(self) -> str:
        """`http://ADDRESS:PORT`, without port 80."""
        return origin_of(self.address, self.port)


class WebNode(ABC):
    """One host of the web."""

    def __init__(self, plan: NodePlan) -> None:
        self.plan = plan

    @property
    def disallowed(self) -> frozenset[str]:
        """Paths that robots.txt disallows."""
        return frozenset()

    @property
    def delay_secs(self) -> float:
        """`Crawl-delay` of robots.txt; 0 if there is none."""
        return 0.0

    @abstractmethod
    def respond(self, request: NodeRequest) -> NodeResponse:
        """Return the response; 4xx if the request is wrong."""

    @abstractmethod
    def iter_truth(self) -> Iterator[Statement]:
        """Yield the quads that a crawler should find; a blank node matches any term."""


def origin_of(address: str, port: int) -> str:
    """Return `http://ADDRESS:PORT`, without the default port."""
    return f"http://{address}" if port == 80 else f"http://{address}:{port}"


def to_ntriples(statements: Iterable[Statement]) -> bytes:
    """Write statements as N-Triples."""
    return "".join(f"{s} {p} {o} .\n" for s, p, o in statements).encode()


def serialize(statements: Iterable[Statement], rdf_format: ox.RdfFormat) -> bytes:
    """Write statements in any format that pyoxigraph can write."""
    ntriples = to_ntriples(statements)
    # N-Triples is a subset of N-Quads: the default graph's quads.
    if rdf_format in (ox.RdfFormat.N_TRIPLES, ox.RdfFormat.N_QUADS):
        return ntriples
    quads = ox.parse(ntriples, format=ox.RdfFormat.N_TRIPLES)
    return ox.serialize(quads, format=rdf_format) or b""
