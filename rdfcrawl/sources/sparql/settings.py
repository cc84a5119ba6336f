"""Settings and limits of the harvest of an endpoint."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from rdfcrawl.sources.sparql.exchange import MAX_GET_CHARS

if TYPE_CHECKING:
    from rdfcrawl.rdf.graphs import Trust
    from rdfcrawl.rdf.queries import UserQuery

# Internal graphs of stores; a `*` matches anything.
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
class ResultLimits:
    """Limits of one response; rows before a limit are kept."""

    body_bytes: int = 2**30  # of the response
    rows: int = 10_000_000  # of the table
    row_chars: int = 4 * 2**20  # length of one row, and of any other single value
    variables: int = 1_000  # names in the head of a table
    # of a service description; some servers return the entire store
    description_bytes: int = 4 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestSettings:
    """Scope and limits of the harvest of an endpoint."""

    # all triples, descriptions of datasets, or a user's query
    mode: Literal["all", "datasets", "query"] = "all"
    query: UserQuery | None = None  # for the mode `query`
    # named graphs, all if empty; a `*` matches anything. Without a `*`, the graphs of
    # the endpoint are not listed.
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()  # skipped named graphs
    # name of the default graph in the output; if empty, its statements have no graph
    default_graph: str = ""
    # graphs that keep their names in the output; see `rdf.graphs`
    trust: Trust = "named"
    # `auto` skips the union of the named graphs
    take_default_graph: Literal["auto", "always", "never"] = "auto"
    page_rows: int = 10_000  # of the first requests; default limit of Virtuoso
    min_rows: int = 10  # of the smallest requests
    pages_per_part: int = 100  # larger partitions are split, if possible
    sort_rows: int = 1_000_000  # larger partitions are not sorted
    max_fails: int = 8  # consecutive failures before giving up
    max_cuts: int = 16  # how often a partition is cut in two
    # steps from a node to blank nodes, at endpoints with labels valid in one response
    # only
    depth: int = 4
    n_roots: int = 50  # blank nodes per request at such endpoints
    max_get_chars: int = MAX_GET_CHARS  # longer requests are sent by POST
    by_parameter: bool = False  # formats are named in the URL, see `query_request`
    limits: ResultLimits = field(default_factory=ResultLimits)  # of one response

    def takes(self, graph: str) -> bool:
        """Return whether a named graph is in the scope."""
        if self.include and not _is_one_of(graph, self.include):
            return False
        if _is_one_of(graph, self.exclude):
            return False
        return graph in self.include or not _is_one_of(graph, SYSTEM_GRAPHS)

    @property
    def listed(self) -> tuple[str, ...]:
        """The graphs in the scope, if all names are known; otherwise empty."""
        if any("*" in name for name in self.include):
            return ()
        return tuple(name for name in self.include if self.takes(name))

    @property
    def paging(self) -> Literal["once", "offset", "after"]:
        """Paging of the user's query."""
        return self.query.paging if self.query else "once"

    @property
    def is_construct(self) -> bool:
        """Whether the result of the user's query is a graph, not a table."""
        return self.query is not None and self.query.form == "construct"


def _is_one_of(graph: str, patterns: tuple[str, ...]) -> bool:
    return any(
        re.fullmatch(".*".join(map(re.escape, x.split("*"))), graph, re.DOTALL)
        for x in patterns
    )
