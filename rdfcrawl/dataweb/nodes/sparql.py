"""A node with a SPARQL endpoint, and manners like a stock Virtuoso's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import pyoxigraph as ox

from rdfcrawl.core.namespaces import SD
from rdfcrawl.dataweb.messages import (
    NOT_ACCEPTABLE,
    NOT_FOUND,
    NodeRequest,
    NodeResponse,
    parse_fields,
    text_response,
)
from rdfcrawl.dataweb.negotiation import (
    RDF_MEDIA_TYPES,
    RDF_NEGOTIATOR,
    MediaTypeChooser,
)
from rdfcrawl.dataweb.nodes.base import (
    RDF_TYPE,
    NodePlan,
    WebNode,
    serialize,
    to_ntriples,
)
from rdfcrawl.dataweb.nodes.results import WRITERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rdfcrawl.dataweb.nodes.base import Statement

ENDPOINT_PATH = "/sparql"
MAX_ROWS = 10_000  # `ResultSetMaxRows` of a stock Virtuoso; further rows are cut off

RESULTS = MediaTypeChooser(
    {
        "application/sparql-results+json": ox.QueryResultsFormat.JSON,
        "application/sparql-results+xml": ox.QueryResultsFormat.XML,
        "text/csv": ox.QueryResultsFormat.CSV,
        "text/tab-separated-values": ox.QueryResultsFormat.TSV,
        "application/json": ox.QueryResultsFormat.JSON,
        "application/xml": ox.QueryResultsFormat.XML,
    }
)
# Without a query: the service description, or a form for people.
FRONT: MediaTypeChooser[ox.RdfFormat | str] = MediaTypeChooser(
    {"text/html": "text/html", **RDF_MEDIA_TYPES}
)
FORM = b"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>SPARQL Query Editor</title></head>
<body><form action="/sparql"><textarea name="query"></textarea>
<button>Run</button></form></body></html>
"""


@dataclass(frozen=True, slots=True)
class SparqlQuery:
    """One query of the SPARQL protocol."""

    text: str
    default_graphs: tuple[str, ...]
    named_graphs: tuple[str, ...]


class SparqlNode(WebNode):
    """The graph behind `/sparql`; its resource IRIs return 404.

    The data are in one named graph, and the default graph is the union of all.
    """

    def __init__(self, plan: NodePlan, objects: Sequence[Sequence[int | str]]) -> None:
        super().__init__(plan)
        self._objects = objects
        self.graph = f"{plan.origin}/graph"

    def respond(self, request: NodeRequest) -> NodeResponse:
        """Respond to queries by GET, form and direct POST; elsewhere 404."""
        if request.path != ENDPOINT_PATH:
            return NOT_FOUND
        return answered(request, self._describe, self._evaluate)

    def iter_truth(self) -> Iterator[Statement]:
        """Yield all triples of the store."""
        base = f"{self.plan.origin}/data/dataset-0"
        predicate = f"<{base}/property-0>"
        for resource, items in enumerate(self._objects):
            subject = f"<{base}/resource-{resource}>"
            for item in items:
                iri = f"{base}/resource-{item}" if isinstance(item, int) else item
                yield subject, predicate, f"<{iri}>"

    @cached_property
    def _store(self) -> ox.Store:
        store = ox.Store()
        store.load(
            to_ntriples(self.iter_truth()),
            format=ox.RdfFormat.N_TRIPLES,
            to_graph=ox.NamedNode(self.graph),
        )
        return store

    def _evaluate(self, query: SparqlQuery, accept: str) -> NodeResponse:
        # The lists' types are wider than their content: lists are invariant.
        default: list[ox.NamedNode | ox.BlankNode | ox.DefaultGraph] = [
            ox.NamedNode(iri) for iri in query.default_graphs
        ]
        named: list[ox.NamedNode | ox.BlankNode] = [
            ox.NamedNode(iri) for iri in query.named_graphs
        ]
        answer = self._store.query(
            query.text,
            use_default_graph_as_union=not default,
            default_graph=default or None,
            named_graphs=named or None,
        )
        if isinstance(answer, ox.QueryTriples):
            return _respond_triples(answer, accept)
        table_format = RESULTS.choose(accept)
        if table_format is None:
            return NOT_ACCEPTABLE
        if isinstance(answer, ox.QueryBoolean):
            return respond_boolean(answer, table_format)
        variables = [variable.value for variable in answer.variables]
        rows = ([row[i] for i in range(len(variables))] for row in answer)
        body = WRITERS[table_format](variables, islice(rows, MAX_ROWS)).encode()
        return NodeResponse(200, body, content_type=table_format.media_type)

    def _describe(self, request: NodeRequest) -> NodeResponse:
        chosen = FRONT.choose(request.accept)
        if chosen is None:
            return NOT_ACCEPTABLE
        if isinstance(chosen, str):
            return NodeResponse(200, FORM, content_type="text/html; charset=utf-8")
        body = serialize(self._description(), chosen)
        return NodeResponse(200, body, content_type=chosen.media_type)

    def _description(self) -> Iterator[Statement]:
        """SPARQL 1.1 Service Description of this endpoint."""
        service = f"<{self.plan.origin}{ENDPOINT_PATH}>"
        yield service, RDF_TYPE, f"<{SD}Service>"
        yield service, f"<{SD}endpoint>", service
        yield service, f"<{SD}supportedLanguage>", f"<{SD}SPARQL11Query>"
        yield service, f"<{SD}feature>", f"<{SD}UnionDefaultGraph>"


def answered(
    request: NodeRequest,
    describe: Callable[[NodeRequest], NodeResponse],
    evaluate: Callable[[SparqlQuery, str], NodeResponse],
) -> NodeResponse:
    """Return the response of an endpoint: its description without a query."""
    try:
        query = _parse_request(request)
        return evaluate(query, request.accept) if query else describe(request)
    # A function that the store lacks raises RuntimeError.
    except (SyntaxError, ValueError, RuntimeError) as error:
        return text_response(400, f"{type(error).__name__}: {error}")


def _parse_request(request: NodeRequest) -> SparqlQuery | None:
    """Read the three ways to send a query (SPARQL 1.1 Protocol, 2.1); None if none.

    Raises:
        ValueError: the body is not UTF-8 or not of a type that carries a query.
    """
    fields = request.query_fields()
    if request.method == "POST":
        body = request.body.decode()
        if request.media_type == "application/sparql-query":
            fields["query"] = [body]
        elif request.media_type == "application/x-www-form-urlencoded":
            fields |= parse_fields(body)
        else:
            raise ValueError(f"unsupported Content-Type {request.media_type!r}")
        if "query" not in fields:
            raise ValueError("query is missing")
    if "query" not in fields:
        return None
    if len(fields["query"]) > 1:
        raise ValueError("more than one query")
    return SparqlQuery(
        fields["query"][0],
        tuple(fields.get("default-graph-uri", ())),
        tuple(fields.get("named-graph-uri", ())),
    )


def _respond_triples(triples: ox.QueryTriples, accept: str) -> NodeResponse:
    rdf_format = RDF_NEGOTIATOR.choose(accept)
    if rdf_format is None:
        return NOT_ACCEPTABLE
    body = ox.serialize(islice(triples, MAX_ROWS), format=rdf_format) or b""
    return NodeResponse(200, body, content_type=rdf_format.media_type)


def respond_boolean(
    answer: ox.QueryBoolean, table_format: ox.QueryResultsFormat
) -> NodeResponse:
    """Evaluate an ASK query."""
    # CSV and TSV define no boolean result.
    if table_format not in (ox.QueryResultsFormat.JSON, ox.QueryResultsFormat.XML):
        table_format = ox.QueryResultsFormat.JSON
    body = answer.serialize(format=table_format) or b""
    return NodeResponse(200, body, content_type=table_format.media_type)
