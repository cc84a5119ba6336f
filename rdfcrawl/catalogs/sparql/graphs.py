"""Names under which the graphs of an endpoint are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from rdfcrawl.errors import Reason
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.graphs import GraphRule

if TYPE_CHECKING:
    from rdfcrawl.catalogs.sparql.settings import HarvestSettings
    from rdfcrawl.faultlog import FaultLog

_MAX_KNOWN = 4096  # names remembered


class EndpointGraph(NamedTuple):
    """A graph.

    Attributes:
        term: of N-Quads; empty for a default graph without a name.
        is_foreign: the endpoint may not write its name, so that it has another one.
    """

    term: str
    is_foreign: bool = False


class GraphTerms:
    """The names of an endpoint's graphs in one response.

    A foreign graph (`FOREIGN_GRAPH`) is written under a name made of both URLs:

        <http://example.org/sparql#graph=http%3A%2F%2Fother.example%2Fdocument>
    """

    def __init__(self, endpoint: str, settings: HarvestSettings, log: FaultLog) -> None:
        self._endpoint, self._log = endpoint, log
        self._rule = GraphRule(endpoint, settings.trust)
        name = settings.default_graph
        self._default = EndpointGraph(terms.iri(name) if name else "")
        self._known: dict[str, EndpointGraph] = {}

    def graph(self, name: str) -> EndpointGraph:
        """Return a graph by its name at the endpoint; empty is the default graph."""
        if not name:
            return self._default
        graph = self._known.get(name)
        if graph is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            graph = self._known[name] = self._judge(name)
        return graph

    def _judge(self, name: str) -> EndpointGraph:
        if self._rule.admits(name):
            return EndpointGraph(terms.iri(name))
        own = f"{self._endpoint}#graph={quote(name, safe='')}"
        return EndpointGraph(terms.iri(own), is_foreign=True)

    def note(self, name: str, n_statements: int = 1) -> None:
        """Note statements of a foreign graph."""
        detail = f"statements in graph <{name[:200]}>"
        self._log.note(Reason.FOREIGN_GRAPH, detail, n_statements)
