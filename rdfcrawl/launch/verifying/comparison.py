"""Judge the documents of a site by two logs: of its crawl, and of a verification."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Final, TypeAlias

from rdfcrawl.analysis.verifications import (
    MatchVerdict,
    SourceKind,
    SourceName,
    SourceReport,
)
from rdfcrawl.core.errors import Reason
from rdfcrawl.core.formats import HTML
from rdfcrawl.core.last_copies import are_too_few, is_plausible
from rdfcrawl.core.reservations import WITHHELD
from rdfcrawl.launch.verifying.fetches import SiteFetch
from rdfcrawl.launch.verifying.held import HeldSite, HeldUnit
from rdfcrawl.launch.verifying.other_places import OtherPlaces
from rdfcrawl.launch.verifying.statements import are_same, lasting
from rdfcrawl.stores.followers.verification import GraphKind, compare_statements
from rdfcrawl.stores.log.documents import LogDocument

_GONE: Final = (404, 410)
_CUT: Final = "its source was not read completely"
_LISTING: Final = (SourceKind.SITEMAP, SourceKind.RESOURCESYNC)
# Each of their documents is led to by the one that is its parent.
_OF_PARENTS: Final = (SourceKind.SITEMAP, SourceKind.DATASET, SourceKind.COLLECTION)
_ENDS: Final = WITHHELD | {Reason.NOT_WANTED}
# Verdicts on documents that the crawl may lack.
_OF_SITE: Final = (MatchVerdict.MISSING, MatchVerdict.UNKNOWN)
_Finding: TypeAlias = tuple[MatchVerdict, str]


class SiteComparison:
    """The verdicts on the documents of a site.

    Args:
        held: that the crawl has.
        now: that the verification has.
        scratch: folder of temporary files.

    Attributes:
        reports: by source.
        n_requests: for all of them, without robots.txt.
    """

    def __init__(self, held: HeldSite, now: HeldSite, scratch: Path) -> None:
        self._held, self._now, self._scratch = held, now, scratch
        self._reports: dict[SourceName, SourceReport] = defaultdict(SourceReport)
        self._broken = set[SourceName]()
        self._lists = dict[str, SiteFetch]()  # now, by URL and by graph
        self._read_lists()
        self._doubt_parts()
        self._elsewhere = OtherPlaces(held, now, scratch)
        for name, unit in sorted((now.units | held.units).items(), key=itemgetter(0)):
            self._judge_unit(name, unit)
        self._judge_endpoints()
        self.n_requests = sum(each.n_requests for each in self._reports.values())
        self.reports: Mapping[SourceName, SourceReport] = {
            source: report
            for source, report in sorted(self._reports.items())
            if report.counts or report.n_unsampled or not _is_linked(source)
        }

    def _read_lists(self) -> None:
        """Count the requests, and note which lists were not read completely.

        A guessed list that the site has never had says nothing about the others.
        """
        fetches = self._now.fetches
        read = {x.url for x in self._held.fetches.fetches if x.is_read}
        seen: set[tuple[str, str, int]] = set()
        for each in fetches.fetches:
            source = fetches.source(each)
            if source is None:
                continue
            key = each.crawled, each.task, each.started_ms
            if key not in seen:  # a response may have several documents
                seen.add(key)
                self._reports[source].n_requests += each.n_requests
            is_cut = each.status == "PARTIAL" and source.kind in _LISTING
            is_broken = is_cut or each.status == "FAILED"
            is_absent = each.url not in read and _is_conclusive(each)
            if not each.is_page and is_broken and not is_absent:
                self._broken.add(source)
            self._lists[each.url] = self._lists[each.graph] = each

    def _doubt_parts(self) -> None:
        """Doubt sources that have lost more than half of their documents."""
        held, now = _counts_of_parts(self._held), _counts_of_parts(self._now)
        self._broken.update(x for x, n in held.items() if are_too_few(now[x], n))

    def _judge_unit(self, name: str, unit: HeldUnit) -> None:
        """Judge a document, which either side or both have requested."""
        now = self._now.units.get(name)
        has_held = self._held.document(name) is not None
        found: _Finding | None
        if name in self._elsewhere.taken:
            return  # judged as the document that the crawl has
        elsewhere = self._elsewhere.verdicts.get(name)
        is_equal = elsewhere is not None and elsewhere[0] is MatchVerdict.EQUAL
        if elsewhere is not None and (now is None or not is_equal):
            found = elsewhere
        elif now is None:
            found = self._of_unrequested(unit)
        elif now is not unit and now.fetch.is_unsampled:
            found = None
        elif (found := self._verdict(name, unit.fetch, now.fetch)) is None:
            return
        report = self._reports[unit.source]
        if found is None:
            report.n_unsampled += has_held
        elif found is _OTHER:
            for each, verdict in self._verdicts_by_graph(name):
                report.add(each, *verdict)
        elif has_held or found[0] in _OF_SITE:
            report.add(name, *found)

    def _of_unrequested(self, unit: HeldUnit) -> _Finding | None:
        """Return the verdict on a document that was not requested.

        None if the sample leaves it out.
        """
        if _is_linked(unit.source):
            return None
        surplus = MatchVerdict.SURPLUS, "its source does not have it"
        unknown = MatchVerdict.UNKNOWN, _CUT
        if unit.source.kind not in _OF_PARENTS:
            return unknown if unit.source in self._broken else surplus
        lists = list(self._lists_above(unit.fetch.url))
        if any(each.is_unsampled for each in lists):
            return None
        is_clear = lists and all(map(self._is_complete, lists))
        return surplus if is_clear else unknown

    def _is_complete(self, fetch: SiteFetch) -> bool:
        """Return whether a document would lead to all that it led to before.

        A robots.txt without sitemaps says nothing about their pages.
        """
        if fetch.is_of_source:
            return fetch.is_read and fetch.payload != "robots"
        return fetch.is_read and self._now.document(fetch.url) is not None

    def _lists_above(self, url: str) -> Iterator[SiteFetch]:
        """Yield the nearest requested documents that have led to a URL."""
        waiting, seen = [url], {url}
        while waiting:
            for parent in self._held.parents.get(waiting.pop(), ()):
                if (found := self._lists.get(parent)) is not None:
                    yield found
                elif parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)

    def _verdict(self, name: str, before: SiteFetch, now: SiteFetch) -> _Finding | None:
        """Return the verdict on a requested document; None if neither side has it."""
        if now.is_unsampled:
            return MatchVerdict.MISSING, "its source lists it"
        if now.status == "FAILED" and not _is_conclusive(now):
            reasons = ", ".join(now.reasons) or "no response"
            is_new = name not in self._held.units
            has_held = self._held.document(name) is not None
            return (MatchVerdict.UNKNOWN, reasons) if is_new or has_held else None
        return _of_status(now) or self._compared(name, before, now)

    def _compared(
        self, name: str, before: SiteFetch, now: SiteFetch
    ) -> _Finding | None:
        one, other = self._held.document(name), self._now.document(name)
        if other is None:
            return _without_statements(before, now) if one else None
        if one is None:
            return MatchVerdict.MISSING, "no statements here"
        if one.graph != other.graph:
            return MatchVerdict.STALE, f"it redirects to {other.graph}"
        found = _judge(one, other, self._scratch)
        is_cut = now.status == "PARTIAL" and before.status != "PARTIAL"
        if found[0] is MatchVerdict.STALE and is_cut:
            return MatchVerdict.UNKNOWN, ", ".join(now.reasons) or "it was cut"
        return found

    def _verdicts_by_graph(self, name: str) -> Iterator[tuple[str, _Finding]]:
        """Yield the verdict on each graph of a document that is not equal.

        A document with one graph is judged by its own name.
        """
        documents = self._held.document(name), self._now.document(name)
        one, other = (lasting(each) for each in documents if each is not None)
        kinds = compare_statements(one, other, self._scratch)
        if len(kinds) == 1:
            yield name, _OTHER
            return
        for graph, kind in sorted(kinds.items()):
            verdict, _ = _OF_GRAPH[kind]
            yield graph, (verdict, f"{_IN_DOCUMENT[verdict]} {name}")

    def _judge_endpoints(self) -> None:
        for source in sorted({*self._held.endpoints, *self._now.endpoints}):
            one, other = (
                _EndpointStatements(_documents(site, source), source.name)
                for site in (self._held, self._now)
            )
            kinds = compare_statements(one, other, self._scratch)
            is_clear = source not in self._broken and is_plausible(
                other.n_statements, one.n_statements
            )
            for graph, kind in sorted(kinds.items()):
                is_known = is_clear or kind == "equal"
                found = _OF_GRAPH[kind if is_known else "not_compared"]
                self._reports[source].add(graph, *found)


_OTHER: Final = (MatchVerdict.STALE, "other statements")
_IN_DOCUMENT: Final = {
    MatchVerdict.EQUAL: "as in",
    MatchVerdict.SURPLUS: "not in",
    MatchVerdict.MISSING: "only in",
    MatchVerdict.STALE: "other statements in",
    MatchVerdict.UNKNOWN: "not comparable with",
}
_OF_GRAPH: Final[Mapping[GraphKind, _Finding]] = {
    "equal": (MatchVerdict.EQUAL, ""),
    "missing": (MatchVerdict.SURPLUS, "the endpoint does not have it"),
    "surplus": (MatchVerdict.MISSING, "the endpoint has it"),
    "stale": _OTHER,
    "not_compared": (MatchVerdict.UNKNOWN, "it could not be compared"),
}


def _counts_of_parts(site: HeldSite) -> Counter[SourceName]:
    """Return the number of documents in the responses of each source."""
    return Counter(
        unit.source
        for name, unit in site.units.items()
        if not unit.fetch.is_page and site.document(name) is not None
    )


def _is_linked(source: SourceName) -> bool:
    return source.kind is SourceKind.LINKED


def _is_conclusive(fetch: SiteFetch) -> bool:
    """Return whether a failure says that the document is not there any more."""
    return fetch.http_status in _GONE or not _ENDS.isdisjoint(fetch.reasons)


def _of_status(fetch: SiteFetch) -> _Finding | None:
    """Return the verdict on a document of the crawl, if no statements are needed."""
    if fetch.http_status == 304:
        return MatchVerdict.EQUAL, "not modified"
    if fetch.http_status in _GONE:
        return MatchVerdict.SURPLUS, f"status {fetch.http_status}"
    if reserved := WITHHELD.intersection(fetch.reasons):
        return MatchVerdict.SURPLUS, f"its publisher reserves it: {min(reserved)}"
    if fetch.status == "REDIRECTED" or Reason.NOT_WANTED in fetch.reasons:
        return MatchVerdict.STALE, "it redirects elsewhere"
    return None


def _without_statements(before: SiteFetch, now: SiteFetch) -> _Finding:
    """Return the verdict on a response without statements.

    It may be true only of a page that was one before: see `core.last_copies`.
    """
    formats = [each.activity.format for each in (before, now)]
    is_true = formats == [HTML.name] * 2 and now.status != "PARTIAL"
    verdict = MatchVerdict.STALE if is_true else MatchVerdict.UNKNOWN
    return verdict, "no statements there"


def _judge(one: LogDocument, other: LogDocument, scratch: Path) -> _Finding:
    """Compare two documents of one graph."""
    same = are_same([one], [other], scratch)
    if same is None:
        return MatchVerdict.UNKNOWN, "it could not be compared"
    return (MatchVerdict.EQUAL, "") if same else _OTHER


def _documents(site: HeldSite, source: SourceName) -> Iterator[LogDocument]:
    """Yield the documents of an endpoint."""
    for graph in site.endpoints.get(source, ()):
        if (document := site.documents.get(graph)) is not None:
            yield document


class _EndpointStatements:
    """The statements of an endpoint, without those about its harvest.

    Attributes:
        n_statements: that were read so far.
    """

    def __init__(self, documents: Iterable[LogDocument], endpoint: str) -> None:
        self._documents = documents
        ends = ("#answer-", "#service>", ">")
        self._own = tuple(f"<{endpoint}{end}".encode() for end in ends)
        self.n_statements = 0

    def __iter__(self) -> Iterator[bytes]:
        for document in self._documents:
            for piece in document.pieces():
                lines = piece.splitlines(keepends=True)
                kept = [x for x in lines if not self._is_own(x)]
                self.n_statements += len(kept)
                yield b"".join(kept)

    def _is_own(self, line: bytes) -> bool:
        return line[line.rfind(b" <") + 1 :].startswith(self._own)
