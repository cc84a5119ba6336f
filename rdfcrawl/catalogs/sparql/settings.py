"""What is wanted of an endpoint, and how much is asked for at once."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from rdfcrawl.catalogs.sparql.exchange import MAX_GET_CHARS
from rdfcrawl.catalogs.sparql.limits import ResultLimits

if TYPE_CHECKING:
    from rdfcrawl.catalogs.sparql.userquery import UserQuery
    from rdfcrawl.rdf.graphs import Trust

# Graphs that stores make for themselves; a `*` stands for anything.
SYSTEM_GRAPHS = (
    # Virtuoso
    "http://www.openlinksw.com/schemas/*",
    "http://www.openlinksw.com/virtrdf-label",
    "http://localuriqaserver/sparql",
    "http://localhost:8890/sparql",
    "http://localhost:8890/DAV*",
    "http://www.w3.org/2002/07/owl#",
    "http://www.w3.org/ns/ldp#",
    "urn:activitystreams-owl:map",
    "urn:core:services:sparql",
    "urn:rules.skos",
    "urn:virtuoso:*",
    "b3sifp",
    "b3sonto",
    "dbprdf-label",
    "facets",
    "virtrdf-label",
    "virtrdf-url",
    "virtpivot-rules",
    # Jena
    "urn:x-arq:*",
    # GraphDB and RDF4J
    "http://www.ontotext.com/explicit",
    "http://www.ontotext.com/implicit",
    "http://www.ontotext.com/owlim/*",
    "http://rdf4j.org/schema/rdf4j#SHACLShapeGraph",
    "http://www.openrdf.org/schema/sesame#nil",
    # Stardog
    "tag:stardog:api:*",
    "urn:stardog:*",
    # Blazegraph
    "http://www.bigdata.com/rdf/graph/*",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestSettings:
    """What a harvest takes, and its bounds.

    Attributes:
        mode: all triples, the descriptions of datasets, or a query of the user's.
        query: for the mode `query`.
        include: graphs that are taken, all if empty; a `*` stands for anything. If
            none has one, the graphs of the endpoint are not listed.
        exclude: graphs that are not taken.
        with_system_graphs: `SYSTEM_GRAPHS` are taken too.
        default_graph: name of the default graph in what is written; empty leaves
            its statements without a graph.
        trust: which graphs are written under their own names; see `rdf.graphs`.
        take_default_graph: `auto` leaves it out where it is the union of the others.
        page_rows: rows asked for at first; a stock Virtuoso sorts no more.
        min_rows: rows asked for at least.
        pages_per_part: a partition of more pages is cut, if it can be.
        sort_rows: a partition of more rows is not sorted.
        max_fails: tries in a row before something is given up.
        max_cuts: times a partition is cut in two by a subject.
        depth: blank nodes from a node to the last one taken with it, where an
            endpoint gives no names that hold from one answer to the next.
        n_roots: blank nodes asked for at once there.
        max_get_chars: longer requests are sent by POST.
        limits: of one answer.
    """

    mode: Literal["all", "datasets", "query"] = "all"
    query: UserQuery | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    with_system_graphs: bool = False
    default_graph: str = ""
    trust: Trust = "named"
    take_default_graph: Literal["auto", "always", "never"] = "auto"
    page_rows: int = 10_000
    min_rows: int = 10
    pages_per_part: int = 100
    sort_rows: int = 1_000_000
    max_fails: int = 8
    max_cuts: int = 16
    depth: int = 4
    n_roots: int = 50
    max_get_chars: int = MAX_GET_CHARS
    limits: ResultLimits = field(default_factory=ResultLimits)

    def takes(self, graph: str) -> bool:
        """Return whether a named graph is wanted."""
        if self.include and not _is_one_of(graph, self.include):
            return False
        if _is_one_of(graph, self.exclude):
            return False
        is_named = graph in self.include
        return (
            is_named or self.with_system_graphs or not _is_one_of(graph, SYSTEM_GRAPHS)
        )

    @property
    def listed(self) -> tuple[str, ...]:
        """Return the graphs that are wanted, if they are all known by name."""
        if any("*" in name for name in self.include):
            return ()
        return tuple(name for name in self.include if self.takes(name))


class HarvestTarget:
    """An endpoint, and what is wanted of it.

    Attributes:
        endpoint: its URL.
        settings: what is taken, and its bounds.
    """

    def __init__(self, endpoint: str, settings: HarvestSettings | None = None) -> None:
        self.endpoint = endpoint
        self.settings = settings or HarvestSettings()


def _is_one_of(graph: str, patterns: tuple[str, ...]) -> bool:
    return any(
        re.fullmatch(".*".join(map(re.escape, x.split("*"))), graph, re.DOTALL)
        for x in patterns
    )
