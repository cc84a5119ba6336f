"""SPARQL services in the statements of a document, and their endpoints.

A service may be described at the URL of its endpoint without naming that URL:

    [] a sd:Service ; sd:supportedLanguage sd:SPARQL11Query .

Source: SPARQL 1.1 Service Description, 2 and 3.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, urlsplit

from rdfcrawl.core.namespaces import SD
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
