"""SPARQL services in the statements of a document, and their endpoints.

A service may be described at the URL of its endpoint without naming that URL:

    [] a sd:Service ; sd:supportedLanguage sd:SPARQL11Query .

Source: SPARQL 1.1 Service Description, 2 and 3.2.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, urlsplit

import pyoxigraph as ox

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.namespaces import RDF_TYPE, SD
from rdfcrawl.sources.sparql.recognition import is_file, is_query

MAX_SERVICES: Final = 1_000  # of one document
_MAX_OBJECTS: Final = 100  # of one service

# Properties whose subjects are services, the older names among them.
_OF_SERVICES: Final = (
    "endpoint", "url", "feature", "resultFormat", "inputFormat", "supportedLanguage",
    "languageExtension", "propertyFeature", "extensionFunction", "extensionAggregate",
    "defaultEntailmentRegime", "defaultSupportedEntailmentProfile", "defaultDataset",
    "availableGraphs", "defaultDatasetDescription", "availableGraphDescriptions",
)  # fmt: skip
_NODE: Final = rb"<[^>\n]*+>|_:[^ \n]*+"
_find_services = re.compile(
    rb"\n(%s) <http://www\.w3\.org/(?:ns/sparql-service-description#(%s)> (%s)"
    rb"|1999/02/22-rdf-syntax-ns#type> <http://www\.w3\.org/ns"
    rb"/sparql-service-description#Service>)"
    % (_NODE, "|".join(_OF_SERVICES).encode(), _NODE)
).findall
# Statements that a service is elsewhere, or is part of another description.
_find_elsewhere = re.compile(
    rb"\n(?:(%s) <http://(?:www\.w3\.org/ns/dcat#endpointURL"
    rb"|rdfs\.org/ns/void#sparqlEndpoint)> "
    rb"|[^\n ]++ <http://www\.w3\.org/ns/dcat#(?:accessService|service)> (%s))"
    % (_NODE, _NODE)
).findall
_UPDATE: Final = f"<{SD}SPARQL11Update>"


@dataclass(slots=True)
class _Service:
    endpoints: set[str] = field(default_factory=set)
    languages: set[str] = field(default_factory=set)
    is_described: bool = False  # apart from its type

    @property
    def takes_queries(self) -> bool:
        return self.languages != {_UPDATE}


@dataclass(slots=True)
class ServiceScan:
    """Collects the described services from the statements of a document."""

    _services: dict[str, _Service] = field(default_factory=dict)
    _elsewhere: set[str] = field(default_factory=set)

    def feed(self, chunk: bytes) -> None:
        """Process the next complete lines of canonical N-Quads."""
        lines = b"\n" + chunk
        for subject, name, obj in _find_services(lines):
            self._take(subject.decode(), name.decode(), obj.decode())
        for named, part in _find_elsewhere(lines):
            if len(self._elsewhere) < MAX_SERVICES:
                self._elsewhere.add((named or part).decode())

    def _take(self, subject: str, name: str, obj: str) -> None:
        service = self._services.get(subject)
        if service is None:
            if len(self._services) >= MAX_SERVICES:
                return
            service = self._services[subject] = _Service()
        service.is_described |= bool(name)
        if name in ("endpoint", "url") and len(service.endpoints) < _MAX_OBJECTS:
            service.endpoints.add(obj[1:-1].partition("#")[0])
        elif name == "supportedLanguage" and len(service.languages) < _MAX_OBJECTS:
            service.languages.add(obj)

    @property
    def has_some(self) -> bool:
        """Whether any service is described."""
        return bool(self._services)

    def own_endpoint(self, document_url: str) -> str:
        """Return the URL of the document if it describes its own endpoint; or "".

        There must be exactly one service for queries that is not declared to be
        elsewhere; and the URL must not be that of a file or of a query. A host name
        without a dot, or another scheme or port, counts as the document's URL.
        """
        url = document_url
        if is_file(url) or is_query(url) or "/.well-known/" in url:
            return ""
        services = {s: x for s, x in self._services.items() if x.takes_queries}
        own = [s for s in services if self._is_own(s, document_url)]
        if len(own) != 1:
            return ""
        is_alone = len(services) == 1
        is_document = _document_of(own[0]) == document_url.rstrip("/")
        return document_url if is_alone or is_document else ""

    def replaced(self, document_url: str) -> Iterator[str]:
        """Yield endpoints for updates only, and other names of `own_endpoint`."""
        own = self.own_endpoint(document_url)
        services = self._services.values()
        taken = {x for s in services if s.takes_queries for x in s.endpoints}
        for service in services:
            for url in service.endpoints:
                is_update = not service.takes_queries and url not in taken
                if is_update or (own and url != own and _stands_for(url, own)):
                    yield url

    def _is_own(self, subject: str, document_url: str) -> bool:
        service = self._services[subject]
        if subject in self._elsewhere:
            return False
        if service.endpoints:
            return all(_stands_for(url, document_url) for url in service.endpoints)
        if subject.startswith("_:"):
            return service.is_described
        return _document_of(subject) == document_url.rstrip("/")


def _document_of(term: str) -> str:
    return term[1:-1].partition("#")[0].rstrip("/") if term.startswith("<") else ""


def _stands_for(named: str, url: str) -> bool:
    """Return whether a named URL must be the requested one.

    Stores behind a proxy name their local address: `http://localhost:8890/sparql`.
    """
    try:
        one, other = urlsplit(named), urlsplit(url)
        names = one.hostname or "", other.hostname or ""
    except ValueError:
        return False
    if names[0] == names[1]:
        return _path(one) == _path(other)
    is_local = "." not in names[0] and ":" not in names[0]
    return bool(names[0]) and is_local and "." in names[1]


def _path(parts: SplitResult) -> tuple[str, str]:
    return parts.path.rstrip("/"), parts.query


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
