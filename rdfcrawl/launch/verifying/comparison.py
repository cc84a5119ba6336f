"""Judge the documents of a site by two logs: of its crawl, and of a verification."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias

from rdfcrawl.core.namespaces import RC
from rdfcrawl.launch.verifying.fetches import SiteFetch, SiteFetches
from rdfcrawl.launch.verifying.spider import VerificationPlan
from rdfcrawl.launch.verifying.values import (
    MatchVerdict,
    SourceKind,
    SourceName,
    SourceReport,
)
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.stores.followers.verification import (
    GraphKind,
    compare_statements,
    is_same,
    quads_of,
)
from rdfcrawl.stores.log.crawl_log import CrawlLog, iter_latest_documents
from rdfcrawl.stores.log.documents import LogDocument

_GONE: Final = (404, 410)
_CUT: Final = "its source was not read completely"
_LISTING: Final = (SourceKind.SITEMAP, SourceKind.RESOURCESYNC)
_Finding: TypeAlias = tuple[MatchVerdict, str]
_Documents = Mapping[str, LogDocument]


def read_documents(root: Path, graphs: set[str], scratch: Path) -> _Documents:
    """Return the documents of a log that have statements, by graph.

    Their statements are not held.
    """
    return {
        each.graph: replace(each, quads=None)
        for each in iter_latest_documents(CrawlLog(root), scratch=scratch)
        if not each.is_tombstone and each.graph in graphs
    }


class HeldSite:
    """The documents that a crawl has of a site.

    Attributes:
        fetches: of them.
        last: the last fetch of each page or dump.
        graphs: the graph of the last statements of each page or dump.
        documents: those with statements, by graph.
    """

    def __init__(self, root: Path, host: str, scratch: Path) -> None:
        self.fetches = SiteFetches(root, host)
        self.last: dict[str, SiteFetch] = {}
        self.graphs: dict[str, str] = {}
        self._read: dict[str, SiteFetch] = {}
        for each in self.fetches.fetches:
            if each.is_of_source:
                continue
            self.last[each.url] = each
            if each.graph:
                self.graphs[each.url] = each.graph
            if each.status in ("SUCCESSFUL", "UNCHANGED"):
                if each.http_status == 304 and each.url in self._read:
                    continue
                self._read[each.url] = each
            elif each.status != "FAILED":
                self._read.pop(each.url, None)
        graphs = {each.graph for each in self.fetches.fetches if each.graph}
        self.documents = read_documents(root, graphs, scratch)

    def has(self, url: str) -> bool:
        """Return whether there are statements of a page or dump."""
        return self.graphs.get(url, "") in self.documents

    def plan(self, n_sampled: int | None, seed: int) -> VerificationPlan:
        """Return the requests that verify the site.

        Args:
            n_sampled: pages of each source; None: all.
            seed: of the sample.
        """
        leading = {
            each.parent
            for each in self.fetches.fetches
            if each.task.startswith("dump(") or (each.is_of_source and not each.payload)
        }
        validators = {
            url: each.validators
            for url, each in self._read.items()
            if self.has(url)
            and self.graphs[url] == graph_iri(url)
            and any(each.validators)
            and url not in leading
        }
        pages: dict[SourceName, list[str]] = defaultdict(list)
        for url in sorted(self.last):
            source = self.fetches.source(self.last[url])
            if source is None:
                continue
            is_listed = source.kind in (SourceKind.SITEMAP, SourceKind.PORTAL)
            if is_listed or (is_linked(source) and self.has(url)):
                pages[source].append(url)
        if n_sampled is not None:
            chosen = random.Random(seed)
            for source, urls in pages.items():
                if len(urls) > n_sampled:
                    must = leading.intersection(urls)
                    some = chosen.sample(urls, n_sampled)
                    pages[source] = sorted(must.union(some))
        linked = {source: x for source, x in pages.items() if is_linked(source)}
        listed = {source: x for source, x in pages.items() if not is_linked(source)}
        sample = None if n_sampled is None else frozenset(chain(*listed.values()))
        return VerificationPlan(
            roots=tuple(self.fetches.roots()),
            pages=tuple(chain(*linked.values())),
            validators=validators,
            sample=sample,
        )


def is_linked(source: SourceName) -> bool:
    """Return whether a source is the linked pages of a host."""
    return source.kind is SourceKind.LINKED


class SiteComparison:
    """The verdicts on the documents of a site.

    Args:
        held: that the crawl has.
        root: folder of the verification.
        host: of the site.
        scratch: folder of temporary files.
    """

    def __init__(self, held: HeldSite, root: Path, host: str, scratch: Path) -> None:
        self._held, self._scratch = held, scratch
        self._now = HeldSite(root, host, scratch)
        self.reports: dict[SourceName, SourceReport] = defaultdict(SourceReport)
        self._broken = set[SourceName]()
        self._count_requests()
        self._judge_pages()
        self._judge_parts()
        self._judge_endpoints()
        self.reports = {
            source: report
            for source, report in sorted(self.reports.items())
            if report.counts or report.n_unsampled or not is_linked(source)
        }

    def _count_requests(self) -> None:
        fetches = self._now.fetches
        seen: set[tuple[str, str, str]] = set()
        for each in fetches.fetches:
            source = fetches.source(each)
            if source is None:
                continue
            key = each.url, each.task, each.started
            if each.http_status and key not in seen:
                seen.add(key)
                hops = f"{RC}redirects" in each.facts
                self.reports[source].n_requests += 1 + hops
            is_cut = each.status == "PARTIAL" and source.kind in _LISTING
            if each.is_of_source and (is_cut or each.status == "FAILED"):
                self._broken.add(source)

    def _source(self, url: str) -> SourceName | None:
        for site in (self._held, self._now):
            if url in site.last:
                return site.fetches.source(site.last[url])
        return None

    def _judge_pages(self) -> None:
        for url in sorted({*self._held.last, *self._now.last}):
            source = self._source(url)
            if source is None or url.endswith(("/robots.txt", "/.well-known/void")):
                continue
            report, now = self.reports[source], self._now.last.get(url)
            if now is not None and now.is_unsampled and url in self._held.last:
                report.n_unsampled += self._held.has(url)
                continue
            if now is None and is_linked(source):
                report.n_unsampled += self._held.has(url)
                continue
            found = self._verdict(url, source, now)
            if found is not None:
                report.add(url, *found)

    def _verdict(
        self, url: str, source: SourceName, now: SiteFetch | None
    ) -> _Finding | None:
        """Return the verdict on a page or dump; None if there is nothing to judge."""
        found: _Finding | None = None
        has_held = self._held.has(url)
        if now is None and source in self._broken:
            found = MatchVerdict.UNKNOWN, _CUT
        elif now is None:
            found = MatchVerdict.SURPLUS, "its source does not list it"
        elif now.is_unsampled:
            return MatchVerdict.MISSING, "its source lists it"
        elif now.http_status == 304:
            found = MatchVerdict.EQUAL, "not modified"
        elif now.http_status in _GONE:
            found = MatchVerdict.SURPLUS, f"status {now.http_status}"
        elif now.status == "FAILED":
            found = MatchVerdict.UNKNOWN, ", ".join(now.reasons) or "no response"
            if url not in self._held.last:
                return found
        elif now.status == "REDIRECTED":
            found = MatchVerdict.STALE, "it redirects to another host"
        else:
            return self._compared(url)
        return found if has_held else None

    def _compared(self, url: str) -> _Finding | None:
        graph, held_graph = self._now.graphs.get(url, ""), self._held.graphs.get(url)
        document = self._now.documents.get(graph)
        held = self._held.documents.get(held_graph or "")
        if document is None:
            return (MatchVerdict.STALE, "no statements there") if held else None
        if held is None:
            return MatchVerdict.MISSING, "no statements here"
        if graph != held_graph:
            return MatchVerdict.STALE, f"it redirects to {graph}"
        return _judge(held, document, self._scratch)

    def _judge_parts(self) -> None:
        """Judge the documents within the responses of portals and the like."""
        held, now = _parts(self._held), _parts(self._now)
        for graph in sorted({*held, *now}):
            source = held.get(graph) or now[graph]
            one = self._held.documents.get(graph)
            other = self._now.documents.get(graph)
            report = self.reports[source]
            if one is not None and other is not None:
                report.add(graph, *_judge(one, other, self._scratch))
            elif other is not None:
                report.add(graph, MatchVerdict.MISSING, "its source has it")
            elif one is not None and source in self._broken:
                report.add(
                    graph, MatchVerdict.UNKNOWN, "its source was not read completely"
                )
            elif one is not None:
                report.add(graph, MatchVerdict.SURPLUS, "its source does not have it")

    def _judge_endpoints(self) -> None:
        held, now = _endpoints(self._held), _endpoints(self._now)
        for source in sorted({*held, *now}):
            report = self.reports[source]
            kinds = compare_statements(
                _statements(held.get(source, ()), source.name),
                _statements(now.get(source, ()), source.name),
                self._scratch,
            )
            for graph, kind in sorted(kinds.items()):
                is_clear = source not in self._broken or kind == "equal"
                report.add(graph, *_OF_GRAPH[kind if is_clear else "not_compared"])


_OF_GRAPH: Final[Mapping[GraphKind, _Finding]] = {
    "equal": (MatchVerdict.EQUAL, ""),
    "missing": (MatchVerdict.SURPLUS, "the endpoint does not have it"),
    "surplus": (MatchVerdict.MISSING, "the endpoint has it"),
    "stale": (MatchVerdict.STALE, "other statements"),
    "not_compared": (MatchVerdict.UNKNOWN, "it could not be compared"),
}


def _judge(one: LogDocument, other: LogDocument, scratch: Path) -> _Finding:
    """Compare two documents; long ones on disk."""
    if one.digest == other.digest:
        return MatchVerdict.EQUAL, ""
    statements = _lasting(one), _lasting(other)
    if max(one.n_bytes, other.n_bytes) <= _HELD_BYTES:
        same = is_same(*map(quads_of, statements))
    else:
        kinds = {*compare_statements(*statements, scratch).values()} - {"equal"}
        same = None if kinds == {"not_compared"} else not kinds
    if same is None:
        return MatchVerdict.UNKNOWN, "it could not be compared"
    return (
        (MatchVerdict.EQUAL, "") if same else (MatchVerdict.STALE, "other statements")
    )


def _lasting(document: LogDocument) -> Iterator[bytes]:
    """Yield the statements of a document, without those about its last change.

    The description of a resource has these if a list of changes led to it.
    """
    for piece in document.pieces():
        yield _without_changes(b"", piece) if _CHANGES in piece else piece


_HELD_BYTES: Final = 1024 * 1024
_CHANGES: Final = b"<http://www.openarchives.org/rs/terms/"
_without_changes: Final = re.compile(
    rb"^<[^>\n]*> <http://www\.openarchives\.org/rs/terms/(?:change|datetime)> .*\n",
    re.MULTILINE,
).sub


def _parts(site: HeldSite) -> dict[str, SourceName]:
    """Return the sources of the documents in the responses of sources, by graph."""
    found = {}
    for each in site.fetches.fetches:
        if not (each.is_of_source and each.graph):
            continue
        source = site.fetches.source(each)
        if source is None or source.kind in (SourceKind.SITEMAP, SourceKind.ENDPOINT):
            continue
        is_list = "do=" not in each.task or "do=unpack" in each.task
        is_whole = graph_iri(each.url) == each.graph
        if source.kind is SourceKind.RESOURCESYNC and is_list and is_whole:
            continue
        if "/api/" in each.graph and source.kind is SourceKind.PORTAL:
            continue
        found[each.graph] = source
    return found


def _endpoints(site: HeldSite) -> dict[SourceName, list[LogDocument]]:
    found: dict[SourceName, dict[str, LogDocument]] = defaultdict(dict)
    for each in site.fetches.fetches:
        source = site.fetches.source(each) if each.is_of_source else None
        document = site.documents.get(each.graph)
        if source and source.kind is SourceKind.ENDPOINT and document:
            found[source][each.graph] = document
    return {source: list(some.values()) for source, some in found.items()}


def _statements(documents: Iterable[LogDocument], endpoint: str) -> Iterator[bytes]:
    """Yield the statements of an endpoint, without those about its harvest."""
    own = tuple(f"<{endpoint}{end}".encode() for end in ("#answer-", "#service>", ">"))
    for document in documents:
        for piece in document.pieces():
            lines = piece.splitlines(keepends=True)
            yield b"".join(
                x for x in lines if not x[x.rfind(b" <") + 1 :].startswith(own)
            )
