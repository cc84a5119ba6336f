"""The fetches of a site's documents, from the provenance of a crawl."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rdfcrawl.analysis.description.figures import iter_provenance
from rdfcrawl.core.errors import Reason
from rdfcrawl.core.namespaces import HTTP, PROV, RC, SQUIRREL
from rdfcrawl.core.records import Kind
from rdfcrawl.launch.verifying.values import SourceKind, SourceName, SourceRoot
from rdfcrawl.rdf.terms import text_of_term, whole_number
from rdfcrawl.uri import host_of
from rdfcrawl.uri.hosts import origin_of

_find_facts: Final = re.compile(
    rf"^<([^>\n]*)> <{PROV}wasGeneratedBy> <urn:rdfcrawl:activity:"
    r"|^<(urn:rdfcrawl:activity:[0-9a-f]{32})(?::(response|fault:[0-9]+))?>"
    r" <([^>\n]*)> (?:<([^>\n]*)>|(\"(?:[^\"\\\n]|\\.)*\"))".encode(),
    re.MULTILINE,
).findall
_PAYLOAD: Final = re.compile(r"payload=([a-z]+)\(")
_HARVESTER: Final = re.compile(r"payload=custom\(harvester=([^,)]+)")
_DATASET: Final = re.compile(r"(?:dump|sample|described)\(dataset=(.*), (?:way|uri)=")
_KINDS: Final = {
    "robots": SourceKind.SITEMAP,
    "sitemap": SourceKind.SITEMAP,
    "consent": SourceKind.SITEMAP,
    "ckan": SourceKind.PORTAL,
    "sparql": SourceKind.ENDPOINT,
    "search": SourceKind.RESOURCESYNC,
    "sync": SourceKind.RESOURCESYNC,
    "custom": SourceKind.REPOSITORY,
}
_ROOT_KINDS: Final = {
    SourceKind.SITEMAP: Kind.SITEMAP,
    SourceKind.PORTAL: Kind.CKAN,
    SourceKind.ENDPOINT: Kind.SPARQL,
    SourceKind.RESOURCESYNC: Kind.RESOURCESYNC,
}


@dataclass(slots=True)
class SiteFetch:
    """One activity of a crawl.

    Attributes:
        facts: its properties and those of its response, by IRI.
        reasons: of its faults.
        graph: of the document that it generated; empty if there is none.
    """

    facts: dict[str, str] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    graph: str = ""

    @property
    def url(self) -> str:
        """The URI that was crawled."""
        return self.facts.get(f"{SQUIRREL}crawled", "")

    @property
    def parent(self) -> str:
        """The document that named the URI."""
        return self.facts.get(f"{RC}parent", "")

    @property
    def task(self) -> str:
        """The text of the task."""
        return self.facts.get(f"{RC}task", "")

    @property
    def status(self) -> str:
        """The result; see `docs/reference/provenance.md`."""
        return self.facts.get(f"{SQUIRREL}status", "")

    @property
    def http_status(self) -> int:
        """The status of the response; 0 if there was none."""
        return whole_number(self.facts.get(f"{HTTP}statusCodeValue", ""))

    @property
    def started(self) -> str:
        """When it began; these texts are in the order of time."""
        return self.facts.get(f"{PROV}startedAtTime", "")

    @property
    def validators(self) -> tuple[str, str]:
        """`ETag` and `Last-Modified` of the response."""
        facts = self.facts
        return facts.get(f"{RC}etag", ""), facts.get(f"{RC}lastModified", "")

    @property
    def is_of_source(self) -> bool:
        """Whether it is a step of a source, and not the fetch of a page or a dump."""
        return self.task.startswith("source(")

    @property
    def is_unsampled(self) -> bool:
        """Whether the sample of a verification has left it out."""
        return Reason.NOT_WANTED in self.reasons

    @property
    def payload(self) -> str:
        """The tag of the step of a source; empty for its first one."""
        found = _PAYLOAD.search(self.task)
        return found[1] if found else ""


class SiteFetches:
    """All fetches of the documents of one site, and their sources.

    Args:
        root: folder of the crawl.
        host: of the site.

    Attributes:
        fetches: in order of time.
    """

    def __init__(self, root: Path, host: str) -> None:
        self.host = host
        concerning = (
            each
            for each in _iter_fetches(root)
            if host in (host_of(each.url), host_of(each.parent))
        )
        self.fetches = sorted(concerning, key=lambda each: each.started)
        self._endpoints = {x.url for x in self.fetches if x.payload == "sparql"}
        self._portals = {x.url for x in self.fetches if x.payload == "ckan"}
        self._of_graph = {
            x.graph: self._named(x) for x in self.fetches if x.is_of_source and x.graph
        }
        self.sources: dict[str, SourceName] = {}
        # The task of a refresh replaces that of the source.
        for each in sorted(self.fetches, key=lambda x: x.task.startswith("refreshed")):
            if not each.is_of_source:
                self.sources.setdefault(each.url, self._source_of_page(each))

    def source(self, fetch: SiteFetch) -> SourceName | None:
        """Return the source of a fetch; None if it is of another site."""
        named = self._named(fetch) if fetch.is_of_source else self.sources[fetch.url]
        return named if self._is_own(named) else None

    def _is_own(self, named: SourceName) -> bool:
        if named.kind in (SourceKind.LINKED, SourceKind.RESOURCESYNC):
            return named.name == self.host
        if named.kind is SourceKind.DATASET:
            return True  # a document of the site describes it
        return host_of(named.name) == self.host

    def _named(self, fetch: SiteFetch) -> SourceName:
        kind = _KINDS.get(fetch.payload)
        if kind is None and fetch.url in self._endpoints:
            kind = SourceKind.ENDPOINT
        elif kind is None and fetch.url in self._portals:
            kind = SourceKind.PORTAL
        elif kind is None:
            kind = SourceKind.SITEMAP
        if kind is SourceKind.RESOURCESYNC:
            return SourceName(kind, host_of(fetch.url))
        if kind is SourceKind.REPOSITORY:
            return SourceName(kind, fetch.url.partition("?")[0])
        if kind is SourceKind.SITEMAP:
            return SourceName(kind, origin_of(fetch.url) + "/")
        return SourceName(kind, fetch.url)

    def _source_of_page(self, fetch: SiteFetch) -> SourceName:
        if f"{RC}source" in fetch.facts:
            return SourceName(SourceKind.SITEMAP, origin_of(fetch.parent) + "/")
        if found := _DATASET.match(fetch.task):
            return SourceName(SourceKind.DATASET, found[1])
        above = self._of_graph.get(fetch.parent)
        if above is not None and above.kind is SourceKind.PORTAL:
            return above
        return SourceName(SourceKind.LINKED, host_of(fetch.url))

    def roots(self) -> Iterator[SourceRoot]:
        """Yield the first request of each source."""
        found: dict[tuple[Kind | str, str], bool] = {}
        for each in self.fetches:
            if not each.is_of_source or host_of(each.url) != self.host:
                continue
            kind: Kind | str | None = _ROOT_KINDS.get(self._named(each).kind)
            if harvester := _HARVESTER.search(each.task):
                kind = harvester[1]
            is_first = each.payload in ("", "robots", "search") or not each.parent
            if kind and is_first:
                is_named = "is_named=True" in each.task
                found[kind, each.url] = found.get((kind, each.url), False) or is_named
        for (kind, url), is_named in found.items():
            yield SourceRoot(kind, url, is_named)


def _iter_fetches(root: Path) -> Iterator[SiteFetch]:
    """Yield the activities in the provenance of a crawl; their lines are adjacent."""
    current, fetch = b"", SiteFetch()
    for block in iter_provenance(root / "provenance"):
        for graph, name, node, predicate, iri, text in _find_facts(block):
            if graph:
                fetch.graph = graph.decode()
                continue
            if name != current:
                yield fetch
                current, fetch = name, SiteFetch()
            if not node.startswith(b"fault"):
                fetch.facts[predicate.decode()] = text_of_term(iri, text)
            elif predicate.endswith(b"#reason"):
                fetch.reasons.append(text_of_term(iri, text))
    yield fetch
