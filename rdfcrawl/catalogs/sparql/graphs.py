"""What the graphs of an endpoint are called in what is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from rdfcrawl.errors import Reason
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.graphs import GraphRule

if TYPE_CHECKING:
    from rdfcrawl.catalogs.sparql.settings import HarvestTarget
    from rdfcrawl.faultlog import FaultLog

_MAX_KNOWN = 4096  # names remembered


class EndpointGraph(NamedTuple):
    """A graph.

    Attributes:
        term: of N-Quads; empty for a default graph that has no name.
        is_foreign: it has another name than in the endpoint, as that is not its own.
    """

    term: str
    is_foreign: bool = False


class GraphTerms:
    """The names of an endpoint's graphs, in one answer.

    A graph whose name is not the endpoint's to write gets one that is, made of both:

        <http://example.org/sparql#graph=http%3A%2F%2Fother.example%2Fdocument>

    Args:
        harvest: of the endpoint.
        log: takes `FOREIGN_GRAPH`.
    """

    def __init__(self, harvest: HarvestTarget, log: FaultLog) -> None:
        settings = harvest.settings
        self._endpoint, self._log = harvest.endpoint, log
        self._rule = GraphRule(harvest.endpoint, settings.trust)
        name = settings.default_graph
        self._default = EndpointGraph(terms.iri(name) if name else "")
        self._known: dict[str, EndpointGraph] = {}

    def graph(self, name: str) -> EndpointGraph:
        """Return a graph by its name in the endpoint; empty is the default graph."""
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
