"""What an endpoint says about itself: SPARQL 1.1 Service Description and VoID."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyoxigraph as ox

from rdfcrawl.errors import Reason
from rdfcrawl.rdf.namespaces import RDF_TYPE, SD, VOID

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.faultlog import FaultLog

MAX_STATEMENTS: Final = 200_000
MAX_GRAPHS: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGraph:
    """A graph of an endpoint.

    Attributes:
        name: IRI; empty for the default graph.
        n_triples: `void:triples`; -1 if it is not said.
    """

    name: str = ""
    n_triples: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceDescription:
    """What an endpoint says about itself; empty where it says nothing.

    Attributes:
        endpoints: `sd:endpoint` (and the older `sd:url`) of its services, and
            `void:sparqlEndpoint` of datasets.
        languages: `sd:supportedLanguage`.
        default_graph: the default graph, if it is described.
        graphs: the named graphs, each once, in the order of their names.
        n_triples: the largest `void:triples` of any dataset; -1 if it is not said.
        has_union: the default graph is the union of the named graphs.
        is_service: a service is described.
    """

    endpoints: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    default_graph: DescribedGraph | None = None
    graphs: tuple[DescribedGraph, ...] = ()
    n_triples: int = -1
    has_union: bool = False
    is_service: bool = False


def read_description(
    chunks: Iterable[bytes], log: FaultLog, *, endpoint: str = ""
) -> ServiceDescription:
    """Return the description in some statements.

    Args:
        chunks: N-Quads, whole lines; the first `MAX_STATEMENTS` are read.
        log: takes `TOO_MANY_ENTRIES` if there are more.
        endpoint: where several services are described, the one of this URL counts.

    Source: SPARQL 1.1 Service Description, 3; VoID, 3.2 and 4.6.
    """
    graph = _Statements(chunks, log)
    services = graph.subjects(RDF_TYPE, f"{SD}Service")
    services |= {s for name in ("endpoint", "url") for s in graph.having(f"{SD}{name}")}
    own = {s for s in services if endpoint and endpoint in _endpoints_of(graph, s)}
    return _describe(graph, sorted(own or services))


def _endpoints_of(graph: _Statements, service: str) -> set[str]:
    found = [graph.objects(service, f"{SD}{name}") for name in ("endpoint", "url")]
    return {iri for iris in found for iri in iris}


def _describe(graph: _Statements, services: list[str]) -> ServiceDescription:
    def told(name: str) -> tuple[str, ...]:
        found = {x for s in services for x in graph.objects(s, f"{SD}{name}")}
        return tuple(sorted(found))

    endpoints = {x for s in services for x in _endpoints_of(graph, s)}
    endpoints |= {
        x
        for s in graph.having(f"{VOID}sparqlEndpoint")
        for x in graph.objects(s, f"{VOID}sparqlEndpoint")
    }
    datasets = {
        x
        for s in services
        for name in ("defaultDataset", "availableGraphs")
        for x in graph.objects(s, f"{SD}{name}")
    }
    sizes = (graph.size(s) for s in graph.having(f"{VOID}triples"))
    return ServiceDescription(
        endpoints=tuple(sorted(x for x in endpoints if not x.startswith("_:"))),
        languages=told("supportedLanguage"),
        default_graph=_default_graph(graph, datasets),
        graphs=_named_graphs(graph, datasets),
        n_triples=max(sizes, default=-1),
        has_union=f"{SD}UnionDefaultGraph" in told("feature"),
        is_service=bool(services),
    )


def _default_graph(graph: _Statements, datasets: set[str]) -> DescribedGraph | None:
    for dataset in sorted(datasets):
        for node in graph.objects(dataset, f"{SD}defaultGraph"):
            return DescribedGraph(n_triples=graph.size(node))
    return None


def _named_graphs(graph: _Statements, datasets: set[str]) -> tuple[DescribedGraph, ...]:
    sizes: dict[str, int] = {}
    for dataset in datasets:
        named = (*graph.objects(dataset, f"{SD}namedGraph"),)
        for node in named:
            size = max(
                (graph.size(x) for x in graph.objects(node, f"{SD}graph")), default=-1
            )
            for name in graph.objects(node, f"{SD}name"):
                if not name.startswith("_:") and len(sizes) < MAX_GRAPHS:
                    sizes[name] = max(size, sizes.get(name, -1))
    return tuple(DescribedGraph(name=x, n_triples=sizes[x]) for x in sorted(sizes))


class _Statements:
    """The statements of the two vocabularies, in memory; IRIs and labels as strings."""

    def __init__(self, chunks: Iterable[bytes], log: FaultLog) -> None:
        self._by_subject: dict[str, dict[str, list[str]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self._by_predicate: dict[str, set[str]] = defaultdict(set)
        for subject, predicate, obj in _iter_triples(chunks, log):
            self._by_subject[subject][predicate].append(obj)
            self._by_predicate[predicate].add(subject)

    def objects(self, subject: str, predicate: str) -> list[str]:
        by_predicate = self._by_subject.get(subject)
        return by_predicate.get(predicate, []) if by_predicate else []

    def subjects(self, predicate: str, obj: str) -> set[str]:
        return {s for s in self.having(predicate) if obj in self.objects(s, predicate)}

    def having(self, predicate: str) -> set[str]:
        return self._by_predicate.get(predicate, set())

    def size(self, node: str) -> int:
        """Return `void:triples` of a node; -1 if it is not a number."""
        told = [x for x in self.objects(node, f"{VOID}triples") if _is_number(x)]
        return max(map(int, told), default=-1)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


def _iter_triples(
    chunks: Iterable[bytes], log: FaultLog
) -> Iterator[tuple[str, str, str]]:
    n_statements = 0
    for chunk in chunks:
        if SD.encode() not in chunk and VOID.encode() not in chunk:
            continue
        for quad in ox.parse(chunk, ox.RdfFormat.N_QUADS):
            n_statements += 1
            if n_statements > MAX_STATEMENTS:
                log.note(Reason.TOO_MANY_ENTRIES, "statements of a description")
                return
            predicate = quad.predicate.value
            if not predicate.startswith((SD, VOID, RDF_TYPE)):
                continue
            yield _text(quad.subject), predicate, _text(quad.object)


def _text(term: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> str:
    if isinstance(term, ox.BlankNode):
        return f"_:{term.value}"
    return "" if isinstance(term, ox.Triple) else term.value
