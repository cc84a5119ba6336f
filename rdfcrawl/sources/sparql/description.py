"""The self-description of an endpoint: SPARQL 1.1 Service Description."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyoxigraph as ox

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.namespaces import RDF_TYPE, SD

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog

MAX_STATEMENTS: Final = 200_000
MAX_GRAPHS: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceDescription:
    """Facts about an endpoint."""

    graphs: tuple[str, ...] = ()  # names of the named graphs, in order
    has_union: bool = False  # the default graph is the union of the named graphs
    is_service: bool = False  # a service is described


def read_description(
    chunks: Iterable[bytes], log: FaultLog, *, endpoint: str = ""
) -> ServiceDescription:
    """Return the description in some statements.

    Args:
        chunks: N-Quads in complete lines; the first `MAX_STATEMENTS` are read.
        log: receives `TOO_MANY_ENTRIES` if there are more.
        endpoint: URL that selects one of several services.

    Source: SPARQL 1.1 Service Description, 3.
    """
    statements = _read_statements(chunks, log)
    services = {s for s, types in statements[RDF_TYPE].items() if _SERVICE in types}
    services |= {s for name in ("endpoint", "url") for s in statements[SD + name]}
    own = {
        service
        for service in services
        if endpoint and endpoint in _objects(statements, {service}, "endpoint", "url")
    }
    services = own or services
    datasets = _objects(statements, services, "defaultDataset", "availableGraphs")
    names = _objects(statements, _objects(statements, datasets, "namedGraph"), "name")
    graphs = sorted(name for name in names if name and not name.startswith("_:"))
    features = _objects(statements, services, "feature")
    return ServiceDescription(
        graphs=tuple(graphs[:MAX_GRAPHS]),
        has_union=f"{SD}UnionDefaultGraph" in features,
        is_service=bool(services),
    )


_SERVICE: Final = f"{SD}Service"
_Statements = dict[str, dict[str, list[str]]]  # predicate -> subject -> objects


def _objects(statements: _Statements, subjects: set[str], *names: str) -> set[str]:
    """Return the objects of some properties of the vocabulary."""
    found = [statements[SD + name].get(s, []) for name in names for s in subjects]
    return {obj for objects in found for obj in objects}


def _read_statements(chunks: Iterable[bytes], log: FaultLog) -> _Statements:
    statements: _Statements = defaultdict(lambda: defaultdict(list))
    n_statements = 0
    for chunk in chunks:
        if SD.encode() not in chunk:
            continue
        for quad in ox.parse(chunk, ox.RdfFormat.N_QUADS):
            n_statements += 1
            if n_statements > MAX_STATEMENTS:
                log.note(Reason.TOO_MANY_ENTRIES, "statements of a description")
                return statements
            predicate = quad.predicate.value
            if predicate.startswith((SD, RDF_TYPE)):
                subject, obj = _text(quad.subject), _text(quad.object)
                statements[predicate][subject].append(obj)
    return statements


def _text(term: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> str:
    if isinstance(term, ox.BlankNode):
        return f"_:{term.value}"
    return "" if isinstance(term, ox.Triple) else term.value
