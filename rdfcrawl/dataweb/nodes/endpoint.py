"""A SPARQL endpoint with the limits of real ones, and data that are not easy."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pyoxigraph as ox

from rdfcrawl.core.namespaces import SD, VOID, XSD
from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.messages import (
    NOT_ACCEPTABLE,
    NOT_FOUND,
    NodeResponse,
    text_response,
)
from rdfcrawl.dataweb.negotiation import RDF_NEGOTIATOR
from rdfcrawl.dataweb.nodes.base import RDF_TYPE, serialize
from rdfcrawl.dataweb.nodes.results import WRITERS
from rdfcrawl.dataweb.nodes.site import (
    FRONT_PAGE,
    HTML,
    TURTLE,
    ChangingSite,
    SiteOptions,
    respond,
)
from rdfcrawl.dataweb.nodes.sparql import (
    ENDPOINT_PATH,
    FORM,
    FRONT,
    RESULTS,
    SparqlQuery,
    answered,
    respond_boolean,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.dataweb.messages import NodeRequest
    from rdfcrawl.dataweb.nodes.base import NodePlan, Statement
    from rdfcrawl.dataweb.nodes.results import Term

SYSTEM_GRAPH = "http://www.openlinksw.com/schemas/virtrdf#"
WELL_KNOWN_VOID = "/.well-known/void"
_INTEGER = f"<{XSD}integer>"
_N_CLASSES, _N_PREDICATES = 5, 4

_ORDER = re.compile(r"\bORDER\s+BY\b", re.IGNORECASE)
_COUNTS = re.compile(r"\b(?:COUNT|GROUP\s+BY|DISTINCT)\b", re.IGNORECASE)
_TAIL = re.compile(
    r"\}\s*(?:(?:GROUP|ORDER)\s+BY|HAVING|LIMIT|OFFSET)\b[^{}]*\Z", re.IGNORECASE
)
_HEAD = re.compile(r"\bSELECT\b.*?(?:\bWHERE\b)?\s*(?=\{)", re.IGNORECASE | re.DOTALL)
_OFFSET = re.compile(r"\bOFFSET\s+([0-9]+)", re.IGNORECASE)

Graph = ox.NamedNode | ox.DefaultGraph


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointOptions(SiteOptions["EndpointNode"]):
    """Options of an endpoint.

    Attributes:
        n_triples: of all graphs, about: blank nodes come with several.
        n_named: named graphs; their triples are not in the default graph, unless it is
            the union.
        has_default: the default graph has separate triples.
        is_union: the default graph is the union of all.
        row_cap: maximum rows and triples of one response; the rest is silently cut.
        states_cap: truncated responses say so (`X-SPARQL-MaxRows`).
        max_sorted: rows that a query with ORDER BY may match before LIMIT; beyond, it
            is refused as too big. 0 is no limit.
        max_counted: rows that COUNT, GROUP BY or DISTINCT may match. 0 is no limit.
        max_offset: the largest OFFSET. 0 is no limit.
        refusal: how too big queries fail: `virtuoso` (500 immediately), `timeout`
            (504), `fuseki` (503 without `Retry-After`), `anytime` (200 with a part of
            the rows and `X-SQL-State: S1TAT`, as Virtuoso's partial results).
        unavailable_every: the response to every nth query is 503; 0 for none.
        retry_after_secs: of these 503.
        blank_share: share of subjects that are blank nodes.
        fresh_labels: blank nodes have other labels in each response.
        has_system_graph: there is a graph of Virtuoso's own, which is not in the truth.
        n_hub: triples of one subject with one predicate, in one graph; 0 for none.
        describes: service description and `/.well-known/void` name graphs and counts;
            otherwise there are none.
        seed: of the data.
    """

    kind: ClassVar[NodeKind] = NodeKind.ENDPOINT
    access_path: ClassVar[str] = ENDPOINT_PATH
    n_triples: int = 1000
    n_named: int = 3
    has_default: bool = True
    is_union: bool = False
    row_cap: int = 10_000
    states_cap: bool = False
    max_sorted: int = 0
    max_counted: int = 0
    max_offset: int = 0
    refusal: Literal["virtuoso", "timeout", "fuseki", "anytime"] = "virtuoso"
    unavailable_every: int = 0
    retry_after_secs: int = 1
    blank_share: float = 0.1
    fresh_labels: bool = True
    has_system_graph: bool = True
    n_hub: int = 0
    describes: bool = True
    seed: int = 1

    def build(self, plan: NodePlan) -> EndpointNode:
        """Make the node."""
        return EndpointNode(plan, self)


class _TooBig(Exception):
    """A query that is too expensive for the endpoint."""


class EndpointNode(ChangingSite):
    """The store behind `/sparql`; the IRIs of its resources return 404."""

    def __init__(self, plan: NodePlan, options: EndpointOptions) -> None:
        super().__init__(plan)
        self.options = options
        self.store = ox.Store()
        self.store.extend(self._draw())
        self._n_queries = 0
        self._n_answers = 0
        self.refused: list[str] = []

    # -- for tests -----------------------------------------------------------------

    @property
    def endpoint_url(self) -> str:
        """URL of the endpoint."""
        return self.origin + ENDPOINT_PATH

    @property
    def graphs(self) -> list[str]:
        """Names of the graphs that a crawler should find, without the default one."""
        return [f"{self.origin}/graph/{n}" for n in range(self.options.n_named)]

    def quads(self) -> list[ox.Quad]:
        """Return the quads to be found: all but the system's."""
        return [
            one
            for one in self.store
            if not (
                isinstance(one.graph_name, ox.NamedNode)
                and one.graph_name.value == SYSTEM_GRAPH
            )
        ]

    def n_quads(self) -> int:
        """Count the expected statements."""
        return len(self.quads())

    def revise(self, changed: int = 5, *, seed: int = 1) -> int:
        """Replace the label of some subjects by another; give their number."""
        with self._lock:
            label = ox.NamedNode(f"{self.origin}/label")
            old = [q for q in self.quads() if q.predicate == label]
            rng = random.Random(f"{seed}/{self._n_queries}")
            for quad in rng.sample(old, min(changed, len(old))):
                text = f"changed {rng.randrange(10**6)}"
                self.store.remove(quad)
                self.store.add(
                    ox.Quad(quad.subject, label, ox.Literal(text), quad.graph_name)
                )
            return min(changed, len(old))

    def change(self, **arguments: Any) -> object:
        """Do `revise`."""
        return self.revise(**arguments)

    def iter_truth(self) -> Iterator[Statement]:
        """Yield all triples but those of the system's graph."""
        for quad in self.quads():
            yield str(quad.subject), str(quad.predicate), str(quad.object)

    # -- for clients ---------------------------------------------------------------

    def respond_other(self, request: NodeRequest) -> NodeResponse:
        """Respond to queries, and serve the service description and VoID."""
        if request.path == "/":
            return respond(request, FRONT_PAGE, content_type=HTML)
        if request.path == WELL_KNOWN_VOID and self.options.describes:
            body = serialize(self._void(), ox.RdfFormat.TURTLE)
            return respond(request, body, content_type=TURTLE)
        if request.path != ENDPOINT_PATH:
            return NOT_FOUND
        return answered(request, self._describe, self._respond_query)

    def _respond_query(self, query: SparqlQuery, accept: str) -> NodeResponse:
        self._n_queries += 1
        every = self.options.unavailable_every
        if every and self._n_queries % every == 0:
            headers = (("Retry-After", str(self.options.retry_after_secs)),)
            return NodeResponse(
                503, b"busy\n", content_type="text/plain", headers=headers
            )
        try:
            self._check_size(query)
        except _TooBig as error:
            self.refused.append(query.text)
            if self.options.refusal != "anytime":
                return self._refuse(str(error))
            cap = max(self.options.row_cap // 10, 1)
            return self._evaluate(query, accept, cap, (("X-SQL-State", "S1TAT"),))
        return self._evaluate(query, accept, self.options.row_cap, ())

    def _refuse(self, message: str) -> NodeResponse:
        match self.options.refusal:
            case "timeout":
                return text_response(504, "Gateway Time-out")
            case "fuseki":
                return text_response(503, "Query timed out")
        return text_response(500, f"Virtuoso 42000 Error {message}")

    def _check_size(self, query: SparqlQuery) -> None:
        """Estimate the work by the rows that the pattern matches.

        Raises:
            _TooBig: sorting or counting it is refused, or the offset.
        """
        options, text = self.options, query.text
        offset = _OFFSET.search(text)
        if options.max_offset and offset and int(offset[1]) > options.max_offset:
            raise _TooBig(
                "SR353: Sorted TOP clause specifies more then"
                f" {offset[1]} rows to sort. Only {options.max_offset} are allowed"
            )
        for limit, pattern in (
            (options.max_sorted, _ORDER),
            (options.max_counted, _COUNTS),
        ):
            if limit and pattern.search(text) and self._matches_more(query, limit):
                raise _TooBig(
                    "SQ200: The estimated execution time 4711 (sec) exceeds"
                    " the limit of 400 (sec)"
                )

    def _matches_more(self, query: SparqlQuery, limit: int) -> bool:
        bare = _TAIL.sub("}", _HEAD.sub("SELECT * WHERE ", query.text, count=1))
        try:
            rows = self._query(SparqlQuery(bare, query.default_graphs, ()))
        except SyntaxError:
            return False
        if not isinstance(rows, ox.QuerySolutions):
            return False
        return sum(1 for _ in islice(rows, limit + 1)) > limit

    def _query(
        self, query: SparqlQuery
    ) -> ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples:
        default: list[ox.NamedNode | ox.BlankNode | ox.DefaultGraph] = [
            ox.NamedNode(iri) for iri in query.default_graphs
        ]
        named: list[ox.NamedNode | ox.BlankNode] = [
            ox.NamedNode(iri) for iri in query.named_graphs
        ]
        return self.store.query(
            query.text,
            use_default_graph_as_union=self.options.is_union and not default,
            default_graph=default or None,
            named_graphs=named or None,
        )

    def _evaluate(
        self,
        query: SparqlQuery,
        accept: str,
        cap: int,
        headers: tuple[tuple[str, str], ...],
    ) -> NodeResponse:
        self._n_answers += 1
        answer = self._query(query)
        relabel = _Labels(self._n_answers if self.options.fresh_labels else 0)
        if isinstance(answer, ox.QueryTriples):
            rdf_format = RDF_NEGOTIATOR.choose(accept)
            if rdf_format is None:
                return NOT_ACCEPTABLE
            triples = list(islice(answer, cap + 1))
            headers += self._cap_headers(len(triples), cap)
            body = ox.serialize(relabel.triples(triples[:cap]), format=rdf_format)
            return NodeResponse(
                200, body or b"", content_type=rdf_format.media_type, headers=headers
            )
        table_format = RESULTS.choose(accept)
        if table_format is None:
            return NOT_ACCEPTABLE
        if isinstance(answer, ox.QueryBoolean):
            return respond_boolean(answer, table_format)
        variables = [variable.value for variable in answer.variables]
        rows = [relabel.row(row, len(variables)) for row in islice(answer, cap + 1)]
        headers += self._cap_headers(len(rows), cap)
        text = WRITERS[table_format](variables, rows[:cap]).encode()
        media_type = table_format.media_type
        return NodeResponse(200, text, content_type=media_type, headers=headers)

    def _cap_headers(self, n_rows: int, cap: int) -> tuple[tuple[str, str], ...]:
        if self.options.states_cap and n_rows > cap:
            return (("X-SPARQL-MaxRows", str(cap)),)
        return ()

    def _describe(self, request: NodeRequest) -> NodeResponse:
        chosen = FRONT.choose(request.accept)
        if chosen is None:
            return NOT_ACCEPTABLE
        if isinstance(chosen, str) or not self.options.describes:
            return NodeResponse(200, FORM, content_type=HTML)
        body = serialize(self._description(), chosen)
        return respond(request, body, content_type=chosen.media_type)

    def _description(self) -> Iterator[Statement]:
        """SPARQL 1.1 Service Description, with the graphs and their sizes."""
        service, dataset = f"<{self.endpoint_url}>", "_:dataset"
        yield service, RDF_TYPE, f"<{SD}Service>"
        yield service, f"<{SD}endpoint>", service
        yield service, f"<{SD}supportedLanguage>", f"<{SD}SPARQL11Query>"
        if self.options.is_union:
            yield service, f"<{SD}feature>", f"<{SD}UnionDefaultGraph>"
        yield service, f"<{SD}defaultDataset>", dataset
        yield dataset, RDF_TYPE, f"<{SD}Dataset>"
        yield dataset, f"<{SD}defaultGraph>", "_:default"
        yield from self._size("_:default", ox.DefaultGraph())
        for position, name in enumerate(self.graphs):
            node, graph = f"_:named{position}", f"_:graph{position}"
            yield dataset, f"<{SD}namedGraph>", node
            yield node, RDF_TYPE, f"<{SD}NamedGraph>"
            yield node, f"<{SD}name>", f"<{name}>"
            yield node, f"<{SD}graph>", graph
            yield from self._size(graph, ox.NamedNode(name))

    def _size(self, node: str, graph: Graph) -> Iterator[Statement]:
        count = sum(1 for _ in self.store.quads_for_pattern(None, None, None, graph))
        yield node, RDF_TYPE, f"<{SD}Graph>"
        yield node, f"<{VOID}triples>", f'"{count}"^^{_INTEGER}'

    def _void(self) -> Iterator[Statement]:
        dataset = f"<{self.origin}/.well-known/void#dataset>"
        yield dataset, RDF_TYPE, f"<{VOID}Dataset>"
        yield dataset, f"<{VOID}sparqlEndpoint>", f"<{self.endpoint_url}>"
        yield dataset, f"<{VOID}triples>", f'"{self.n_quads()}"^^{_INTEGER}'
        yield dataset, f"<{VOID}uriSpace>", f'"{self.origin}/r/"'

    # -- the data --------------------------------------------------------------------

    def _draw(self) -> Iterator[ox.Quad]:
        """Draw resources with a class, a label and links, until there are enough."""
        rng = random.Random(f"{self.options.seed}/endpoint")
        names: list[Graph] = [ox.NamedNode(name) for name in self.graphs]
        if self.options.has_default or not names:
            names.insert(0, ox.DefaultGraph())
        n_left, number = self.options.n_triples, 0
        while n_left > 0:
            graph = names[number % len(names)]
            for triple in self._resource(number, rng):
                n_left -= 1
                yield ox.Quad(*triple, graph)
            number += 1
        last = names[-1]
        for nth in range(self.options.n_hub):
            yield ox.Quad(self._iri("hub"), self._iri("p0"), self._iri(f"o{nth}"), last)
        for position, link in enumerate(self.plan.links):
            subject = self._iri(str(position))
            yield ox.Quad(subject, self._iri("p0"), ox.NamedNode(link), names[0])
        if self.options.has_system_graph:
            system = ox.NamedNode(SYSTEM_GRAPH)
            for nth in range(20):
                one = ox.NamedNode(f"{SYSTEM_GRAPH}q{nth}")
                yield ox.Quad(one, self._iri("p0"), ox.Literal(nth), system)

    def _iri(self, name: str) -> ox.NamedNode:
        return ox.NamedNode(f"{self.origin}/r/{name}")

    def _resource(
        self, number: int, rng: random.Random
    ) -> Iterator[tuple[ox.NamedNode | ox.BlankNode, ox.NamedNode, Term]]:
        label = ox.NamedNode(f"{self.origin}/label")
        rdf_type = ox.NamedNode(RDF_TYPE[1:-1])
        if rng.random() < self.options.blank_share:
            # A resource with a part that has a part: none of both has a name.
            outer, inner = (ox.BlankNode(f"b{number}{part}") for part in "ab")
            yield self._iri(str(number)), self._iri("part"), outer
            yield outer, label, ox.Literal(f"part {number}")
            yield outer, self._iri("part"), inner
            yield inner, self._iri("p1"), ox.Literal(number)
            yield inner, self._iri("owner"), self._iri(str(number))
            return
        subject = self._iri(str(number))
        yield subject, rdf_type, self._iri(f"Class{number % _N_CLASSES}")
        yield subject, label, _draw_literal(number, rng)
        for _ in range(rng.randrange(1, 4)):
            predicate = self._iri(f"p{rng.randrange(_N_PREDICATES)}")
            yield subject, predicate, self._iri(str(rng.randrange(number + 10)))


class _Labels:
    """Labels of blank nodes that hold within one response; 0 changes none."""

    def __init__(self, answer: int) -> None:
        self._prefix = answer
        self._known: dict[ox.BlankNode, ox.BlankNode] = {}

    def term(self, term: Term) -> Term:
        """Return the term with its label in this response."""
        if not self._prefix or not isinstance(term, ox.BlankNode):
            return term
        if term not in self._known:
            label = f"a{self._prefix}n{len(self._known)}"
            self._known[term] = ox.BlankNode(label)
        return self._known[term]

    def row(self, row: ox.QuerySolution, n: int) -> list[Term | None]:
        """Return the terms of a row."""
        values = (row[position] for position in range(n))
        return [None if one is None else self.term(one) for one in values]

    def triples(self, triples: Iterable[ox.Triple]) -> Iterator[ox.Triple]:
        """Return triples with their labels in this response."""
        for one in triples:
            subject, obj = self.term(one.subject), self.term(one.object)
            if isinstance(subject, ox.NamedNode | ox.BlankNode):
                yield ox.Triple(subject, one.predicate, obj)


def _draw_literal(number: int, rng: random.Random) -> ox.Literal:
    """Draw a literal: each sixth of another kind."""
    match number % 6:
        case 0:
            return ox.Literal(f"Resource {number}", language="en")
        case 1:
            return ox.Literal(f"Wert {number} \u00e4\u00f6\u00fc", language="de")
        case 2:
            return ox.Literal(str(number), datatype=ox.NamedNode(f"{XSD}integer"))
        case 3:
            day = f"20{number % 90 + 10}-0{number % 9 + 1}-1{number % 10}"
            return ox.Literal(day, datatype=ox.NamedNode(f"{XSD}date"))
        case 4:
            return ox.Literal(
                f'line "{number}"\nnext\t\\ {rng.randrange(9)} \U0001f600'
            )
    return ox.Literal(f"{number}", datatype=ox.NamedNode("urn:dataweb:type"))
