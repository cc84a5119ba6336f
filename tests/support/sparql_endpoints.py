"""An endpoint in this process, with the manners of bad ones."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyoxigraph as ox

from rdfcrawl.core.content import ByteSource
from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.messages import NodeRequest as WebRequest
from rdfcrawl.dataweb.nodes.base import NodePlan
from rdfcrawl.dataweb.nodes.results import WRITERS
from rdfcrawl.dataweb.nodes.sparql import ENDPOINT_PATH, SparqlNode
from rdfcrawl.sources.sparql.exchange import SparqlFailure, SparqlResponse
from tests.support.sparql_driver import query_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rdfcrawl.sources.sparql.exchange import SparqlRequest
    from tests.support.sparql_driver import Ask

    Term = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple | None

_FORMATS = {
    "json": (ox.QueryResultsFormat.JSON, "application/sparql-results+json"),
    "xml": (ox.QueryResultsFormat.XML, "application/sparql-results+xml"),
    "tsv": (ox.QueryResultsFormat.TSV, "text/tab-separated-values"),
    "csv": (ox.QueryResultsFormat.CSV, "text/csv"),
}


@dataclass(slots=True)
class Endpoint:
    """Evaluates queries on its own store.

    Attributes:
        store: its quads.
        max_rows: longer results are cut silently.
        local_labels: blank nodes have other labels in each answer.
        union: the default graph is the union of all.
        table: format of the tables.
        refuse: query -> a failure or an answer in place of the right one.
        description: answer to a request without a query.
    """

    store: ox.Store
    max_rows: int = 10_000
    local_labels: bool = False
    union: bool = False
    table: str = "json"
    refuse: Callable[[str], SparqlResponse | SparqlFailure | None] = lambda _query: None
    description: SparqlResponse = field(
        default_factory=lambda: SparqlResponse(status=400)
    )
    n_answers: int = 0

    def __call__(self, request: SparqlRequest) -> SparqlResponse | SparqlFailure:
        """Answer a request."""
        query = query_of(request)
        if not query:
            return self.description
        refused = self.refuse(query)
        if refused is not None:
            return refused
        self.n_answers += 1
        try:
            found = self.store.query(query, use_default_graph_as_union=self.union)
        except (SyntaxError, RuntimeError) as error:
            return failed(400, f"Parse error: {error}")
        if isinstance(found, ox.QueryTriples):
            body = ox.serialize(found, format=ox.RdfFormat.N_TRIPLES) or b""
            return _answer("application/n-triples", body)
        if isinstance(found, ox.QueryBoolean):
            body = b'{"head":{},"boolean":true}' if found else b'{"boolean":false}'
            return _answer("application/sparql-results+json", body)
        names = [x.value for x in found.variables]
        rows = self._rows(found, len(names))
        result_format, media_type = _FORMATS[self.table]
        return _answer(media_type, WRITERS[result_format](names, rows).encode())

    def _rows(
        self, found: Iterable[ox.QuerySolution], width: int
    ) -> Iterator[Sequence[Term]]:
        labels: dict[Term, ox.BlankNode] = {}
        for n, solution in enumerate(found):
            if n >= self.max_rows:
                return
            row: list[Term] = [solution[i] for i in range(width)]
            if self.local_labels:
                row = [_relabel(x, labels) for x in row]
            yield row


def _relabel(term: Term, labels: dict[Term, ox.BlankNode]) -> Term:
    if not isinstance(term, ox.BlankNode):
        return term
    return labels.setdefault(term, ox.BlankNode(f"b{len(labels)}"))


def _answer(media_type: str, body: bytes) -> SparqlResponse:
    return SparqlResponse(
        status=200, headers={"content-type": media_type}, body=ByteSource(body)
    )


def failed(status: int, text: str = "") -> SparqlResponse:
    """Return a response that reports an error."""
    return SparqlResponse(status=status, body=ByteSource(text.encode()))


def store_of(lines: Iterable[str]) -> ox.Store:
    """Return a store with some N-Quads."""
    store = ox.Store()
    store.extend(ox.parse("".join(lines).encode(), ox.RdfFormat.N_QUADS))
    return store


def data_web_endpoint() -> tuple[Ask, str, set[bytes]]:
    """Return a client of an endpoint of the data web, its URL, and its statements."""
    origin = "http://127.42.0.9:8085"
    plan = NodePlan(
        index=0,
        kind=NodeKind.SPARQL,
        address="127.42.0.9",
        port=8085,
        access_uri=origin,
    )
    node = SparqlNode(plan, [list(range(n, n + 120)) for n in range(30)])

    def ask(request: SparqlRequest) -> SparqlResponse:
        response = node.respond(
            WebRequest(
                method="POST" if request.body else "GET",
                target=request.url.removeprefix(origin),
                accept=request.headers["accept"],
                content_type=request.headers.get("content-type", ""),
                body=request.body,
            )
        )
        found = re.search(rb"Content-Type: (.*)\r", response.head)
        headers = {"content-type": found[1].decode() if found else ""}
        return SparqlResponse(
            status=response.status, headers=headers, body=ByteSource(response.body)
        )

    truth = {" ".join(line).encode() for line in node.iter_truth()}
    return ask, f"{origin}{ENDPOINT_PATH}", truth
