"""The documents that a crawl, or its verification, has of a site."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rdfcrawl.analysis.verifications import SourceKind, SourceName
from rdfcrawl.launch.verifying.fetches import (
    SiteFetch,
    SiteFetches,
    SiteScope,
    gather_fetches,
)
from rdfcrawl.launch.verifying.spider import PlannedPage, VerificationPlan
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.stores.log.crawl_log import CrawlLog, iter_latest_documents
from rdfcrawl.stores.log.documents import LogDocument

_SAMPLED: Final = frozenset(
    {
        *(SourceKind.SITEMAP, SourceKind.PORTAL),
        *(SourceKind.COLLECTION, SourceKind.LINKED),
    }
)


def read_sites(
    root: Path, scopes: Sequence[SiteScope], scratch: Path
) -> list[HeldSite]:
    """Return the documents that a crawl has of some sites; read its logs once.

    Args:
        root: folder of the crawl.
        scopes: of the sites; those on other hosts are added.
        scratch: folder of temporary files.
    """
    fetches = gather_fetches(root, scopes)
    graphs = {each.graph for some in fetches for each in some if each.graph}
    documents = {
        each.graph: replace(each, quads=None)
        for each in iter_latest_documents(CrawlLog(root), scratch=scratch)
        if not each.is_tombstone and each.graph in graphs
    }
    return [
        HeldSite(SiteFetches(scope, some), documents)
        for scope, some in zip(scopes, fetches, strict=True)
    ]


@dataclass(slots=True)
class HeldUnit:
    """A page, a file, or a document within a response of a source.

    Attributes:
        source: that leads to it.
        fetch: the last one.
        graph: of its last statements; empty if it never had some.
    """

    source: SourceName
    fetch: SiteFetch
    graph: str = ""


class HeldSite:
    """The documents that a crawl has of a site.

    Args:
        fetches: of them.
        documents: those with statements, by graph; their statements are not held.

    Attributes:
        fetches: of them.
        units: by URL or graph, except graphs of endpoints.
        endpoints: graphs of each endpoint.
        parents: documents that have led to each URL.
        documents: those with statements, by graph.
    """

    def __init__(
        self, fetches: SiteFetches, documents: Mapping[str, LogDocument]
    ) -> None:
        self.fetches, self.documents = fetches, documents
        self.units: dict[str, HeldUnit] = {}
        self.endpoints: dict[SourceName, set[str]] = defaultdict(set)
        self.parents: dict[str, set[str]] = defaultdict(set)
        self._read: dict[str, SiteFetch] = {}
        for each in self.fetches.fetches:
            source = self.fetches.source(each)
            if source is not None:
                self.parents[each.url].add(each.parent)
                self._add(each, source)

    def _add(self, fetch: SiteFetch, source: SourceName) -> None:
        if fetch.is_page:
            name = fetch.url if source.kind is not SourceKind.RESOURCESYNC else ""
            self._note(name or graph_iri(fetch.url), fetch, source)
            self._note_validators(fetch)
        elif source.kind is SourceKind.ENDPOINT:
            self.endpoints[source].add(fetch.graph)
        elif source.kind is not SourceKind.SITEMAP and not _is_of_list(fetch, source):
            self._note(fetch.graph, fetch, source)

    def _note(self, name: str, fetch: SiteFetch, source: SourceName) -> None:
        unit = self.units.setdefault(name, HeldUnit(source, fetch))
        unit.fetch, unit.graph = fetch, fetch.graph or unit.graph

    def _note_validators(self, fetch: SiteFetch) -> None:
        if fetch.status in ("SUCCESSFUL", "UNCHANGED"):
            if fetch.http_status != 304 or fetch.url not in self._read:
                self._read[fetch.url] = fetch
        elif fetch.status != "FAILED":
            self._read.pop(fetch.url, None)

    def document(self, name: str) -> LogDocument | None:
        """Return the statements of a unit; None if it has none."""
        unit = self.units.get(name)
        return self.documents.get(unit.graph) if unit is not None else None

    def plan(self, n_sampled: int | None, seed: int) -> VerificationPlan:
        """Return the requests that verify the site.

        Args:
            n_sampled: pages of each source; None: all.
            seed: of the sample.
        """
        leading = self._leading()
        requested: list[str] = []
        sample: set[str] = set()
        for source, urls in self._pages().items():
            is_sampled = n_sampled is not None and len(urls) > n_sampled
            is_tree = source.kind is SourceKind.COLLECTION
            chosen = set(urls)
            if is_sampled:
                chosen = {*random.Random(seed).sample(urls, n_sampled or 0)}
                chosen |= {source.name} if is_tree else leading.intersection(urls)
            if source.kind is SourceKind.LINKED or (is_sampled and is_tree):
                requested += chosen
            elif is_tree:
                requested.append(source.name)  # leads to the others
            sample |= chosen
        return VerificationPlan(
            roots=tuple(self.fetches.roots()),
            pages=tuple(map(self._planned, sorted(requested))),
            validators=self._validators(leading),
            sample=None if n_sampled is None else frozenset(sample),
        )

    def _leading(self) -> set[str]:
        """Return the documents that lead to others; these are always read."""
        return {
            each.parent
            for each in self.fetches.fetches
            if each.task.startswith("dump(")
            or each.collection is not None
            or (each.is_of_source and not each.payload)
        }

    def _validators(self, leading: set[str]) -> dict[str, tuple[str, str]]:
        return {
            url: each.validators
            for url, each in self._read.items()
            if self.document(url) is not None
            and self.units[url].graph == graph_iri(url)
            and any(each.validators)
            and url not in leading
        }

    def _pages(self) -> Mapping[SourceName, list[str]]:
        """Return the pages of each source that a sample is taken of."""
        pages: dict[SourceName, list[str]] = defaultdict(list)
        for url, unit in sorted(self.units.items(), key=lambda each: each[0]):
            kind = unit.source.kind
            is_listed = kind not in (SourceKind.LINKED, SourceKind.COLLECTION)
            has_held = self.document(url) is not None
            is_wanted = is_listed or has_held or _had_statements(unit)
            if kind in _SAMPLED and unit.fetch.is_page and is_wanted:
                pages[unit.source].append(url)
        return pages

    def _planned(self, url: str) -> PlannedPage:
        fetch = self.units[url].fetch if url in self.units else None
        root, number = (fetch and fetch.collection) or ("", 0)
        return PlannedPage(url, root, number)


def _had_statements(unit: HeldUnit) -> bool:
    """Return whether the last fetch of a page left it with statements.

    Without a document in the log, these are lost: a disk has damaged its segment.
    """
    fetch = unit.fetch
    is_unchanged = fetch.status == "UNCHANGED" and bool(unit.graph)
    return is_unchanged or (fetch.status == "SUCCESSFUL" and fetch.n_statements > 0)


def _is_of_list(fetch: SiteFetch, source: SourceName) -> bool:
    """Return whether a response of a source has no documents, but leads to some."""
    if not fetch.graph:
        return True
    if source.kind is SourceKind.RESOURCESYNC:
        is_read = "do=" not in fetch.task or "do=unpack" in fetch.task
        return is_read and graph_iri(fetch.url) == fetch.graph
    return source.kind is SourceKind.PORTAL and "/api/" in fetch.graph
